"""What must hold for every registered format, whatever the bytes."""

from __future__ import annotations

import gzip
import re
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers import FORMATS, read_all
from parsers.base import Format, Origin
from parsers.source import Feeder
from tests.parsers.alike import same, same_in_pieces
from tests.parsers.samples import samples
from timeledger.analysis import analyse
from timeledger.errors import TimeledgerError
from timeledger.report import report
from timeledger.run import Run

SAMPLES = samples()
BY_NAME = {each.name: each for each in FORMATS}
TEXT = sorted(name for name in SAMPLES if name in BY_NAME and BY_NAME[name].kind == "lines")
EVERY = sorted(name for name in SAMPLES if name in BY_NAME)
#: Reads the folder around its file, not bytes: see test_mlflow.
FOLDERS = {"mlflow"}
FEW = settings(
    max_examples=12, deadline=timedelta(seconds=5), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(name: str, data: bytes) -> tuple[Run, ...]:
    return read_all(data, name=SAMPLES[name][0])


def test_every_registered_format_has_a_sample() -> None:
    assert {each.name for each in FORMATS} == set(EVERY) | FOLDERS


@pytest.mark.parametrize("name", EVERY)
def test_a_sample_is_recognised_and_read(name: str) -> None:
    file, data = SAMPLES[name]
    feeder = Feeder(Origin(file))
    feeder.feed(data)
    feeder.finish()
    runs = feeder.runs()
    assert feeder.format is BY_NAME[name]
    assert any(run.has_steps or run.engine.height for run in runs)


@pytest.mark.parametrize("name", EVERY)
@FEW
@given(data=st.data())
def test_any_split_into_blocks_reads_the_same(name: str, data: st.DataObject) -> None:
    file, raw = SAMPLES[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    feeder = Feeder(Origin(file))
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        feeder.feed(raw[start:end])
    feeder.finish()
    assert same(feeder.runs(), read(name, raw))


@pytest.mark.parametrize("name", [each for each in EVERY if BY_NAME[each].kind == "document"])
@FEW
@given(data=st.data())
def test_a_document_may_come_in_blocks(name: str, data: st.DataObject) -> None:
    """A large one does: only its first blocks are collected before its format is known."""
    file, raw = SAMPLES[name]
    cut = data.draw(st.integers(0, len(raw)))
    assert same_in_pieces(BY_NAME[name], (raw[:cut], raw[cut:]), Origin(file))


@pytest.mark.parametrize("name", [each for each in EVERY if BY_NAME[each].kind != "document"])
@FEW
@given(data=st.data())
def test_a_log_cut_anywhere_gives_a_prefix(name: str, data: st.DataObject) -> None:
    raw = SAMPLES[name][1]
    whole = read(name, raw)
    first = next((place for place, byte in enumerate(raw) if byte in b"\r\n"), 0) + 1  # one line alone is read as it is
    cut = data.draw(st.integers(first, len(raw)))
    try:
        part = read(name, raw[:cut])
    except TimeledgerError:
        return
    assert len(part) <= len(whole)
    for run, known in zip(part, whole, strict=False):
        rows = {(row["segment"], row["step"]): row for row in known.steps.to_dicts()}
        for row in run.steps.to_dicts():
            full = rows[(row["segment"], row["step"])]
            told = {key: value for key, value in row.items() if value is not None and key != "line"}
            assert told == {key: full[key] for key in told}
        assert run.engine.height <= known.engine.height
        assert run.progress.height <= known.progress.height


@pytest.mark.parametrize("name", [*EVERY, "none"])
@FEW
@given(junk=st.binary(max_size=400), place=st.floats(0, 1), data=st.data())
def test_any_bytes_read_or_raise_our_error(name: str, junk: bytes, place: float, data: st.DataObject) -> None:
    file, raw = SAMPLES.get(name, ("x.log", b""))
    at = int(place * len(raw))
    gone = data.draw(st.integers(0, 200))
    fixed = BY_NAME.get(name)
    for bad in (junk, raw[:at] + junk + raw[at + gone :]):
        with suppress(TimeledgerError):
            read_all(bad, name=file)
        _forced(fixed, file, bad)


@pytest.mark.parametrize("name", [name for name in EVERY if name in TEXT or BY_NAME[name].kind == "document"])
@FEW
@given(
    place=st.floats(0, 1),
    huge=st.sampled_from(["1" + "0" * 400, "9" * 20, "1e300", "NaN", "-1", "9223372036854775807"]),
)
def test_no_number_is_too_large(name: str, place: float, huge: str) -> None:
    """Steps, totals, settings and values that no column holds: left out, never raised."""
    file, raw = SAMPLES[name]
    found = [*re.finditer(rb"\d+(?:\.\d+)?", raw)]
    at = found[int(place * (len(found) - 1))]
    bad = raw[: at.start()] + huge.encode() + raw[at.end() :]
    with suppress(TimeledgerError):
        for run in read_all(bad, name=file):
            report(analyse(run, backtested=False))
    _forced(BY_NAME[name], file, bad)


def _forced(fixed: Format | None, file: str, bad: bytes) -> None:
    """A format chosen by the user must cope with whatever it is given."""
    if fixed is None:
        return
    feeder = Feeder(Origin(file), fixed)
    feeder.feed(bad)
    feeder.finish()
    for run in feeder.runs():
        assert run.steps.height >= 0


@pytest.mark.parametrize("name", EVERY)
def test_gzip_reads_as_plain(name: str) -> None:
    raw = SAMPLES[name][1]
    assert same(read(name, gzip.compress(raw)), read(name, raw))


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_other_encodings_read_as_utf8(name: str, encoding: str) -> None:
    raw = SAMPLES[name][1]
    assert same(read(name, raw.decode().encode(encoding)), read(name, raw))


@pytest.mark.parametrize("name", TEXT)
def test_windows_line_ends_read_as_plain(name: str) -> None:
    raw = SAMPLES[name][1]
    assert same(read(name, raw.replace(b"\n", b"\r\n")), read(name, raw))


@pytest.mark.parametrize("name", [each for each in EVERY if BY_NAME[each].kind != "document"])
def test_asking_for_runs_in_between_changes_nothing(name: str) -> None:
    file, raw = SAMPLES[name]
    feeder = Feeder(Origin(file))
    for start in range(0, len(raw), 97):
        feeder.feed(raw[start : start + 97])
        if start % 5 == 0 and not feeder.waiting:
            feeder.runs()
    if not feeder.spoiled:
        assert same(feeder.runs(), read(name, raw))
