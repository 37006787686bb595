"""The training bar among the console's writes in a W&B run file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parsers import read
from tests.parsers import wire
from timeledger.clock import clock
from timeledger.run import Run

WALL = 1_800_000_000


def write(text: str, after: float) -> bytes:
    stamp = wire.number(1, WALL + int(after)) + wire.number(2, int((after % 1) * 1e9))
    return wire.blob(13, wire.number(1, 1) + wire.blob(2, stamp) + wire.blob(3, text))


def bar(n: int, total: int, seconds: float, desc: str = "") -> str:
    shown = f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
    return f"\r{desc}{100 * n // total:3d}%|{'#' * (10 * n // total):10}| {n}/{total} [{shown}<10:00, 1.00it/s]"


def cut(n: int, total: int, seconds: float) -> str:
    return bar(n, total, seconds)[:29]


def of(*records: bytes) -> Run:
    return read(wire.wandb_file([wire.run_record("mine", WALL), *records]), name="run-abc123.wandb")


@pytest.mark.parametrize("drawn", [bar, cut])
def test_a_file_without_rows_has_the_progress_of_its_bar(drawn: Callable[[int, int, float], str]) -> None:
    run = of(write("Loading\n", 0.0), *(write(drawn(n, 5000, 0.5 * n), 10.0 + 0.5 * n) for n in range(0, 2001, 5)))
    assert run.progress["step"].to_list()[-1] == 2000
    assert run.info.number("total_steps") == 5000
    found = clock(run)
    assert (found.source, found.position) == ("progress bar", 2000)
    assert found.elapsed_s == pytest.approx(1000.0, abs=2.0)


def rows_and_bars(bars: float) -> list[bytes]:
    """Rows every 10 steps of 2 s to step 80, and a bar to 88 of steps that take this long."""
    rows = [
        (2.0 * n, wire.history({"loss": 1.0, "_timestamp": WALL + 2.0 * n, "_step": n, "step": n}))
        for n in range(10, 81, 10)
    ]
    drawn = [(bars * n, write(bar(n, 88, bars * n), bars * n)) for n in range(89)]
    return [record for _, record in sorted(rows + drawn, key=lambda each: each[0])]


@pytest.mark.parametrize("config", [{"logging_steps": 10, "max_steps": 88}, {"logging_steps": 10}])
def test_a_bar_of_the_same_steps_goes_on_beyond_the_rows(config: dict[str, int]) -> None:
    run = of(wire.config(config), *rows_and_bars(2.0))
    assert run.info.number("total_steps") == 88
    assert clock(run).position == 88
    assert clock(run).elapsed_s == pytest.approx(176.0, abs=2.0)


def test_a_bar_of_another_plan_or_pace_is_not_the_rows() -> None:
    planned = of(wire.config({"logging_steps": 10, "max_steps": 500}), *rows_and_bars(2.0))
    slower = of(wire.config({"logging_steps": 10}), *rows_and_bars(4.0))
    for run in (planned, slower):
        assert run.progress.is_empty()
        assert (clock(run).source, clock(run).position) == ("timestamps", 80)


@pytest.mark.parametrize("desc", ["", "Epoch: "])
def test_a_bar_an_epoch_or_of_something_else_tells_nothing(desc: str) -> None:
    bars = [write(bar(n, 50, 1.0 * n, desc), 60.0 * epoch + n) for epoch in range(4) for n in range(51)]
    loading = [write(bar(n, 50, 1.0 * n, "Loading shards: "), float(n)) for n in range(51)]
    assert of(*bars).progress.is_empty()
    assert of(*loading).progress.is_empty()
