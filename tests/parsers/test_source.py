"""Bytes on their way to a reader: wrappings, windows, the last line, damage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from parsers import detect, read, read_all
from parsers.base import HEAD_BYTES, Origin
from parsers.formats import by_name
from parsers.plain import Plain
from parsers.source import Feeder
from parsers.windows import make_head
from tests.parsers import samples
from timeledger.errors import BadLog, TimeledgerError, UnknownFormat, UnreadableSource


def plain(*blocks: bytes) -> bytes:
    unwrapped = Plain()
    out = b"".join(part for block in blocks for part in unwrapped.feed(block))
    return out + b"".join(unwrapped.finish())


def steps(text: str | bytes, name: str = "train.log") -> list[int]:
    data = text.encode() if isinstance(text, str) else text
    return [int(step) for step in read(data, name=name).steps["step"]]


# --- wrappings ---------------------------------------------------------------------------------------------------


def test_several_gzip_members_are_one_text() -> None:
    assert plain(gzip.compress(b"one\n") + gzip.compress(b"two\n")) == b"one\ntwo\n"


def test_gzip_padded_with_zeros_is_no_damage() -> None:
    unwrapped = Plain()
    out = b"".join(unwrapped.feed(gzip.compress(b"x" * 100) + b"\0" * 512))
    assert (out, unwrapped.troubles, unwrapped.cut_short) == (b"x" * 100, [], False)


def test_a_gzip_file_cut_off_keeps_what_was_readable_and_says_so() -> None:
    whole = gzip.compress(samples.keyvalue(400).encode())
    run = read(whole[: len(whole) // 2], name="train.log.gz")
    assert 10 < run.steps.height < 400
    assert any("no end yet" in note.text for note in run.notes)


def test_damaged_gzip_keeps_what_came_before_and_says_so() -> None:
    whole = bytearray(gzip.compress(samples.keyvalue(1500).encode(), mtime=0))
    middle = len(whole) // 2
    whole[middle : middle + 64] = b"\xff" * 64
    run = read(bytes(whole), name="train.log.gz")
    full = read(samples.keyvalue(1500).encode(), name="train.log")
    assert 100 < run.steps.height < 1500
    assert run.steps["reward"][:100].to_list() == full.steps["reward"][:100].to_list()
    assert any(note.kind == "skipped" and "damaged" in note.text for note in run.notes)
    with pytest.raises(BadLog, match="damaged"):
        read(bytes(whole), name="train.log.gz", strict=True)


def test_a_hole_of_zeros_before_and_inside_the_text_is_no_content() -> None:
    text = samples.keyvalue().encode()
    lines = text.splitlines(keepends=True)
    holed = b"\0" * 5000 + b"".join(lines[:4]) + b"\0" * 300 + b"".join(lines[4:])
    assert steps(holed) == steps(text)


def test_a_short_hole_in_single_bytes_is_stripped_alike() -> None:
    data = b"\0" * 200 + samples.keyvalue().encode()
    assert plain(*(data[i : i + 1] for i in range(len(data)))) == plain(data) == samples.keyvalue().encode()


@pytest.mark.parametrize("mark", [b"\x18\0\0\0\0\0\0\0", b"SQLite format 3\0"])
def test_binary_data_is_left_as_it_is(mark: bytes) -> None:
    data = mark + bytes(range(256))
    assert plain(data) == data
    assert make_head(Origin("x"), data, True).lines == ()


def test_a_terminal_recording_shows_what_the_terminal_showed() -> None:
    text = samples.keyvalue()
    pieces = [text[start : start + 37] for start in range(0, len(text), 37)]  # cut anywhere, inside lines too
    header = '{"version": 2, "width": 80, "height": 24}\n'
    recording = header + "".join(json.dumps([0.1 * i, "o", piece]) + "\n" for i, piece in enumerate(pieces))
    assert steps(recording, "demo.cast") == steps(text)


# --- windows -----------------------------------------------------------------------------------------------------


def test_a_long_start_without_metrics_does_not_hide_the_log() -> None:
    start = "".join(f"loading shard {'abcdef'[i % 6]} of the weights, please wait\n" for i in range(12_000))
    assert len(start) > 7 * HEAD_BYTES
    assert steps(start + samples.verl()) == list(range(1, samples.STEPS + 1))
    assert read((start + samples.verl()).encode()).steps["line"][0] == 12_001


def test_beyond_what_is_kept_lines_keep_their_numbers() -> None:
    start = ("x" * 99 + "\n") * 60_000
    run = read((start + samples.verl(300)).encode(), name="train.log")
    assert run.info.format == "verl"
    assert run.steps["line"][0] == 60_001 + 2 * (int(run.steps["step"][0]) - 1)


def test_a_trainer_after_an_engines_long_start_is_found() -> None:
    text = samples.vllm(4000) + samples.verl()
    assert len(samples.vllm(4000)) > 8 * HEAD_BYTES
    run = read(text.encode(), name="train.log")
    assert run.info.format == "verl"
    assert run.steps.height == samples.STEPS


def test_an_engines_log_alone_stays_an_engines_log() -> None:
    run = read(samples.vllm(4000).encode(), name="server.log")
    assert (run.info.format, run.has_steps, run.engine.height) == ("vllm", False, 4000)


def test_the_format_does_not_depend_on_the_blocks() -> None:
    data = (samples.vllm(2000) + samples.verl(40)).encode()
    formats = set()
    for block in (23_000, 65_536, 100_000, len(data)):
        feeder = Feeder(Origin("train.log"))
        for start in range(0, len(data), block):
            feeder.feed(data[start : start + block])
            feeder.runs()
        formats.add((feeder.format.name if feeder.format else None, feeder.runs()[0].steps.height))
    assert formats == {("verl", 40)}


# --- the last line ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(2, 30, 3))
def test_a_number_cut_in_the_middle_is_never_read(cut: int) -> None:
    text = samples.keyvalue()
    run = read(text[:-cut].encode(), name="train.log")
    assert run.steps["step"].to_list() == list(range(1, samples.STEPS))


def test_a_whole_object_without_a_line_end_counts() -> None:
    assert steps(samples.jsonl().rstrip("\n"), "m.jsonl") == list(range(1, samples.STEPS + 1))
    assert steps(samples.jsonl()[:-2], "m.jsonl") == list(range(1, samples.STEPS))


def test_an_object_that_went_on_spoils_the_reading() -> None:
    feeder = Feeder(Origin("m.jsonl"))
    feeder.feed(samples.jsonl().rstrip("\n").encode())
    feeder.runs()
    feeder.feed(b"\n")
    assert not feeder.spoiled
    feeder.feed(b'{"step": 9, "reward": 0.5, "loss": 0.1}')
    assert feeder.runs()[0].steps.height == 9
    feeder.feed(b", and more\n")
    assert feeder.runs()[0].steps.height == 8  # still in the first window: read again from what is kept
    assert not feeder.spoiled


def test_an_object_that_went_on_later_asks_for_a_new_reading() -> None:
    feeder = Feeder(Origin("m.jsonl"), by_name("jsonl"))
    feeder.feed(samples.jsonl().rstrip("\n").encode())
    feeder.runs()
    feeder.feed(b", and more\n")
    assert feeder.spoiled


def test_the_bar_at_the_end_counts_before_it_is_drawn_again() -> None:
    text = (
        samples.verl()
        + "\x1b[36m(TaskRunner pid=4711)\x1b[0m Training Progress:  45%|#   | 9/20 [09:10<40:00, 30.1s/it]"
    )
    assert read(text.encode()).progress["step"].to_list()[-1] == 9
    assert read(text[:-3].encode()).progress["step"].to_list()[-1] == 8


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_empty_file_says_that_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "train.log").touch()
    with pytest.raises(UnreadableSource, match="the file is empty"):
        read_all(tmp_path / "train.log")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    for ask in (read_all, detect):
        with pytest.raises(UnreadableSource, match=r"no such file|cannot be read"):
            ask(tmp_path / "none.log")


def test_an_unknown_file_shows_how_it_begins_and_what_was_looked_for() -> None:
    with pytest.raises(UnknownFormat, match=r'begins: "Dear diary') as found:
        read(b"Dear diary,\nnothing was trained today.\n", name="diary.txt")
    assert "trl" in str(found.value)
    assert "--format" in str(found.value)


def test_binary_junk_is_named_as_binary() -> None:
    with pytest.raises(UnknownFormat, match="89 50 4e 47"):
        read(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), name="plot.log")


def test_a_forced_format_never_raises_on_another_ones_log() -> None:
    for name in ("verl", "jsonl", "tensorboard", "csv"):
        try:
            read(samples.vllm().encode(), name="x.log", format=name)
        except TimeledgerError:
            continue


def test_bytes_are_not_copied_as_a_whole() -> None:
    data = memoryview(samples.keyvalue().encode())
    assert read(data, name="train.log").steps.height == samples.STEPS
    assert detect(data, name="train.log")[0] is not None
