"""Runs being written: every poll equals reading everything anew, and reads only what is new."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers import Live, follow, read_all
from parsers.source import blocks_of
from tests.parsers import samples
from tests.parsers.test_discover import changed, put
from timeledger.errors import TimeledgerError, UnreadableSource
from timeledger.run import Run


def told(runs: tuple[Run, ...]) -> list[Any]:
    """All that runs say, comparable; the time of the last write is the file system's matter."""
    return sorted(
        repr((
            run.name, run.steps.to_dict(as_series=False), run.phases.to_dict(as_series=False), run.engine.to_dict(as_series=False),
            run.events.to_dict(as_series=False), run.progress.to_dict(as_series=False), run.extra.to_dict(as_series=False),
            run.info.model_dump(exclude={"last_write"}), run.notes,
        ))
        for run in runs
    )  # fmt: skip


def anew(path: Path) -> list[Any]:
    """What reading everything now gives; nothing while there is no log."""
    try:
        return told(read_all(path))
    except TimeledgerError:
        return []


def append(path: Path, data: bytes | str) -> None:
    with path.open("ab") as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


TEXTS = {
    "trl": ("console.log", samples.trl()), "verl": ("train.log", samples.verl()), "jsonl": ("metrics.jsonl", samples.jsonl()),
    "keyvalue": ("train.log", samples.keyvalue()), "vllm": ("server.log", samples.vllm()),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_growing_log_equals_the_whole_one_at_every_poll(name: str, tmp_path: Path) -> None:
    file, text = TEXTS[name]
    path = tmp_path / file
    path.touch()
    live = Live([tmp_path])
    data = text.encode()
    sizes = [0, 1, 2, 50, 63, 64, 65, *range(100, len(data), max(37, len(data) // 40)), len(data)]
    for start, end in pairwise(sizes):
        append(path, data[start:end])
        assert told(live.poll()) == anew(tmp_path), (start, end)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, len(TEXTS["trl"][1])), min_size=1, max_size=8))
def test_a_console_cut_anywhere_never_tells_half_a_number(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("live")
    data = TEXTS["trl"][1].encode()
    path = put(folder / "console.log", b"")
    live = Live([folder])
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    full = read_all(data, name="console.log")[0].steps
    rewards = dict(zip(full["step"], full["reward"], strict=True))
    for start, end in pairwise(places):
        append(path, data[start:end])
        for run in live.poll():
            for step, reward in zip(run.steps["step"], run.steps["reward"], strict=True):
                assert reward is None or reward == rewards[step]
    assert told(live.poll()) == anew(folder)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "train.log", samples.verl(4000))
    live = Live([tmp_path])
    live.poll()
    assert live.bytes_read == path.stat().st_size > 1_000_000
    line = samples.verl(4001)[len(samples.verl(4000)) :]
    append(path, line)
    (run,) = live.poll()
    assert live.bytes_read == len(line.encode())
    assert (live.changed, run.steps.height) == (True, 4001)
    again = live.poll()
    assert (live.changed, live.bytes_read) == (False, 0)
    assert again[0] is run


def test_a_truncated_a_replaced_and_a_rewritten_file_are_read_again(tmp_path: Path) -> None:
    path = put(tmp_path / "train.log", samples.keyvalue(8))
    live = Live([tmp_path])
    assert live.poll()[0].steps.height == 8
    path.write_text(samples.keyvalue(3))  # copytruncate
    assert live.poll()[0].steps.height == 3
    path.rename(tmp_path / "train.log.1")  # rotation
    put(path, changed(samples.keyvalue(5), 1.0).replace("reward 0.", "reward 1."))
    assert told(live.poll()) == anew(tmp_path)
    text = path.read_text()
    path.write_text(
        text.replace("reward 1.", "reward 2.") + samples.keyvalue(9)[len(samples.keyvalue(8)) :]
    )  # same inode, longer
    assert told(live.poll()) == anew(tmp_path)


def test_a_rewrite_far_behind_the_same_beginning_is_seen(tmp_path: Path) -> None:
    banner = "starting up, loading the model\n" * 300  # more than the mark that is kept of the start
    path = put(tmp_path / "train.log", banner + samples.keyvalue(20))
    live = Live([tmp_path])
    live.poll()
    path.write_text(banner + samples.keyvalue(30).replace("reward 0.", "reward 3."))
    assert told(live.poll()) == anew(tmp_path)


def test_new_files_of_a_run_and_whole_new_runs_appear(tmp_path: Path) -> None:
    live = Live([tmp_path])
    assert live.poll() == ()
    put(tmp_path / "a/console.log", samples.trl(6))
    assert [run.name for run in live.poll()] == ["a"]
    put(tmp_path / "a/out/checkpoint-4/trainer_state.json", samples.trainer_state(4))
    (run,) = live.poll()
    assert run.info.format == "trainer_state + trl"
    put(tmp_path / "a/out/checkpoint-6/trainer_state.json", samples.trainer_state(6))
    (run,) = live.poll()
    assert any("checkpoint-6" in source for source in run.info.sources)
    assert all("checkpoint-4" not in source for source in run.info.sources)
    put(tmp_path / "b/console.log", changed(samples.trl(5), 1.5))
    assert sorted(run.name for run in live.poll()) == ["a", "b"]
    assert told(live.poll()) == anew(tmp_path)


def test_two_files_of_one_run_may_grow_at_their_own_speed(tmp_path: Path) -> None:
    console, events = samples.trl(8).encode(), samples.tensorboard(8)
    a, b = (
        put(tmp_path / "console.log", b""),
        put(tmp_path / "runs/Mar01_10-00-00_h/events.out.tfevents.1772359200.h.1.0", b""),
    )
    live = Live([tmp_path])
    for part in range(1, 11):
        append(a, console[len(console) * (part - 1) // 10 : len(console) * part // 10])
        if part % 3 == 0 or part == 10:
            done = b.stat().st_size
            append(b, events[done : len(events) * part // 10])
        assert told(live.poll()) == anew(tmp_path), part
    (run,) = live.poll()
    assert run.steps.height == 8


def test_a_document_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = put(tmp_path / "trainer_state.json", samples.trainer_state(3))
    live = Live([path])
    assert live.poll()[0].steps.height == 3
    path.write_text(samples.trainer_state(7))
    assert live.poll()[0].steps.height == 7


def test_a_growing_gzip_file_gives_what_is_readable(tmp_path: Path) -> None:
    packed = gzip.compress(samples.keyvalue(400).encode())
    path = put(tmp_path / "train.log.gz", packed[:1200])
    live = Live([tmp_path])
    heights = []
    for start in range(1200, len(packed), 1500):
        append(path, packed[start : start + 1500])
        heights.append(live.poll()[0].steps.height)
        assert told(live.poll()) == anew(tmp_path)
    assert heights == sorted(heights)
    assert heights[-1] == 400


def test_a_file_that_becomes_a_log_is_found(tmp_path: Path) -> None:
    path = put(tmp_path / "train.log", "loading the model\n")
    live = Live([tmp_path])
    assert live.poll() == ()
    append(path, samples.keyvalue())
    assert live.poll()[0].steps.height == samples.STEPS


def test_a_deleted_file_leaves_the_others(tmp_path: Path) -> None:
    put(tmp_path / "a.log", samples.trl())
    gone = put(tmp_path / "b.log", changed(samples.trl(), 1.5))
    live = Live([tmp_path])
    assert len(live.poll()) == 2
    gone.unlink()
    assert [run.name for run in live.poll()] == ["a"]


def test_a_file_that_was_named_and_is_gone_keeps_its_last_state(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", samples.trl())
    live = Live([path])
    (run,) = live.poll()
    path.unlink()
    (after,) = live.poll()
    assert after.steps.equals(run.steps)
    assert any(note.kind == "skipped" for note in (*live.notes, *after.notes))
    put(path, samples.trl())
    assert live.poll()[0].notes == run.notes


def test_a_file_that_may_not_be_read_is_noted_on_the_runs_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.log", samples.trl())
    locked = put(tmp_path / "b.log", changed(samples.trl(), 1.5))
    live = Live([tmp_path])
    live.poll()

    def refuse(path: Path, start: int = 0) -> Iterator[bytes]:
        if path == locked:
            raise UnreadableSource(f"{path}: cannot be read (Permission denied).")
        return blocks_of(path, start)

    monkeypatch.setattr(follow, "blocks_of", refuse)
    for path in (tmp_path / "a.log", locked):
        append(path, " 45%|##        | 9/20 [04:09<09:59, 31.00s/it]\n")
    runs = {run.name: run for run in live.poll()}
    assert runs["a"].progress["step"][-1] == 9
    assert all(any("Permission denied" in note.text for note in run.notes) for run in runs.values())
    monkeypatch.undo()
    assert told(live.poll()) == anew(tmp_path)


def test_a_poll_from_many_threads_is_safe(tmp_path: Path) -> None:
    path = put(tmp_path / "train.log", "")
    live = Live([tmp_path])
    data = samples.verl(200).encode()
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                live.poll()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for start in range(0, len(data), 4000):
        append(path, data[start : start + 4000])
    for thread in threads:
        thread.join()
    assert problems == []
    assert told(live.poll()) == anew(tmp_path)


def test_a_missing_path_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(TimeledgerError, match="no such file"):
        Live([tmp_path / "none"])


class Stop(BaseException):
    """Somebody clicked elsewhere while a long log was being read."""


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_poll_that_is_interrupted_goes_on_where_it_was(after: int, tmp_path: Path) -> None:
    noise = "a line that says nothing of a step, over and over again\n" * 30_000
    text = samples.keyvalue()
    put(tmp_path / "one" / "train.log", text + noise + text.replace("step ", "step 1"))
    put(tmp_path / "two" / "train.log", text)
    seen: list[int] = []

    def stop(done: int) -> None:
        seen.append(done)
        if len(seen) == after:
            raise Stop

    live = Live([tmp_path])
    with pytest.raises(Stop):
        live.poll(stop)
    assert told(live.poll()) == anew(tmp_path)
    assert seen == sorted(seen)
