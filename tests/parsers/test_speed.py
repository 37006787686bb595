"""Reading costs what the log is long, and following it what is new: ratios of CPU time, so that a slow machine changes nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from benchmarks.made_logs import MADE, steps_of, text_of
from parsers.base import HEAD_BYTES, Origin, Reader
from parsers.formats import by_name, detect
from parsers.shapes import Shapes
from parsers.windows import make_head

MEGA = 1_000_000
BLOCK = 1 << 20


def _cpu(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds; the least of several tries, without what the garbage of other tests costs."""
    spent = []
    gc.collect()
    for _ in range(times):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


def _read(name: str, data: bytes) -> Reader:
    reader = by_name(MADE[name][1]).open(Origin("train.log"))
    lines = data.splitlines(keepends=True)
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= BLOCK:
            reader.feed(b"".join(block))
            block, size = [], 0
    reader.feed(b"".join(block))
    reader.runs()
    return reader


def _tick(reader: Reader, more: bytes) -> None:
    reader.feed(more)
    reader.runs()


@pytest.mark.parametrize("name", MADE)
def test_time_grows_with_the_log_and_a_tick_does_not(name: str) -> None:
    small, large = text_of(name, 2 * MEGA), text_of(name, 8 * MEGA)
    read: list[tuple[float, Reader]] = []

    def growth() -> float:
        """How much longer a megabyte takes in the larger log."""
        small_s = _cpu(lambda: _read(name, small), 2)
        begin = time.process_time()
        reader = _read(name, large)
        read.append((time.process_time() - begin, reader))
        return read[-1][0] / len(large) / (small_s / len(small))

    assert any(growth() < 1.5 for _ in range(3))  # again only when something else slowed the first try
    large_s, reader = read[-1]
    following = steps_of(name, first=10_000_000)
    assert _cpu(lambda: _tick(reader, next(following).encode()), 7) < 0.05 * large_s


def test_lines_of_one_print_statement_are_read_several_times_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    data = text_of("keyvalue", MEGA // 2)
    fast = _cpu(lambda: _read("keyvalue", data), 2)
    monkeypatch.setattr(Shapes, "known", lambda self, text, raw: None)
    monkeypatch.setattr(Shapes, "learn", lambda self, text, raw: None)
    assert _cpu(lambda: _read("keyvalue", data)) > 2.5 * fast


def test_text_between_the_metric_lines_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    data = text_of("keyvalue in prose", MEGA)
    fast = _cpu(lambda: _read("keyvalue in prose", data), 2)
    monkeypatch.setattr("parsers.keyvalue_reader.may_tell", lambda text, raw: True)
    assert _cpu(lambda: _read("keyvalue in prose", data)) > 1.5 * fast


@pytest.fixture(scope="module")
def megabyte_s() -> float:
    """CPU seconds of reading a megabyte of the kind that takes longest."""
    data = text_of("keyvalue", MEGA)
    return _cpu(lambda: _read("keyvalue", data), 2)


@pytest.mark.parametrize("name", MADE)
def test_finding_the_format_of_a_window_costs_little(name: str, megabyte_s: float) -> None:
    data = text_of(name, HEAD_BYTES)[:HEAD_BYTES]
    assert _cpu(lambda: detect(make_head(Origin("train.log"), data, whole=False)), 3) < 0.25 * megabyte_s
