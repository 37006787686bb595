"""A running clock that counts coarsely, or leaves the slow first steps out, beside step times that are exact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.timeledger.clocks import sound, walls
from timeledger import schema
from timeledger.clock import clock
from timeledger.clock_ticks import left_out, printed_tick
from timeledger.run import Run, RunInfo

Floats = np.ndarray[Any, np.dtype[np.float64]]


def _paces(rows: int, usual_s: float, first_s: float) -> Floats:
    """Seconds of each step, the first one slow."""
    taken = usual_s * (1 + 0.1 * np.sin(np.arange(rows)))
    taken[0] = first_s
    return taken


def _printed(seconds: Floats, unit_s: float, digits: int) -> Floats:
    return np.round(seconds / unit_s, digits) * unit_s


def _run(step: Any, elapsed_s: Any, step_s: Any, events: Any = ()) -> Run:
    steps = pl.DataFrame({"segment": 0, "step": step, "elapsed_s": elapsed_s, "step_s": step_s})
    told = pl.DataFrame(
        [{"segment": 0, "step": at, "kind": "evaluation", "seconds": seconds} for at, seconds in events],
        schema={name: schema.EVENTS[name] for name in ("segment", "step", "kind", "seconds")},
    )
    return Run(
        RunInfo(name="r", format="f", started_at=datetime(2026, 1, 1, tzinfo=UTC)),
        schema.conform(steps, schema.STEPS),
        events=schema.conform(told, schema.EVENTS),
    )


@pytest.mark.parametrize("usual_s", [0.004, 0.5, 14.0, 46.0])
def test_exact_step_times_come_before_a_coarse_clock_that_leaves_the_first_steps_out(usual_s: float) -> None:
    taken = _paces(300, usual_s, 20 * usual_s + 5)
    counted = np.where(np.arange(300) > 10, taken, 0.0)
    found = clock(_run(np.arange(300), _printed(np.cumsum(counted), 60.0, 2), taken))
    sound(found)
    assert found.source == "step times"
    assert found.elapsed_s == pytest.approx(taken.sum(), rel=1e-6)
    assert np.median(walls(found)) == pytest.approx(np.median(taken), rel=0.001)


def test_evaluations_that_such_a_clock_does_not_count_are_added() -> None:
    taken = _paces(300, 0.6, 12.0)
    counted = np.where(np.arange(300) > 10, taken, 0.0)
    run = _run(np.arange(300), _printed(np.cumsum(counted), 60.0, 2), taken, [(99, 40.0), (199, 40.0), (299, 40.0)])
    assert clock(run).elapsed_s == pytest.approx(taken.sum() + 120.0, rel=1e-6)


def test_a_coarse_clock_that_counts_more_than_the_steps_stays_the_clock() -> None:
    taken = _paces(400, 0.5, 0.5)
    counted = taken.copy()
    counted[99::100] += 30.0  # an evaluation after every hundredth step, which no step time holds
    found = clock(_run(np.arange(1, 401), _printed(np.cumsum(counted), 60.0, 2), taken))
    assert found.source == "elapsed column"
    assert found.elapsed_s == pytest.approx(counted.sum(), abs=0.6)
    assert found.resolution_s == pytest.approx(0.6)
    assert np.median(walls(found)) == pytest.approx(np.median(taken), rel=0.02)


def test_rows_of_every_so_many_steps_keep_the_clock_and_gain_the_first_step() -> None:
    """One step's time says little of two hundred; the first row's clock stands at zero all the same."""
    taken = _paces(4001, 0.8, 300.0)
    counted = np.where(np.arange(4001) > 10, taken, 0.0)
    rows = np.arange(0, 4001, 200)
    found = clock(_run(rows, _printed(np.cumsum(counted)[rows], 60.0, 2), taken[rows]))
    assert found.source == "elapsed column"
    assert found.elapsed_s == pytest.approx(taken.sum(), abs=15.0)
    assert np.median(walls(found)) == pytest.approx(0.8, rel=0.02)


def test_step_times_printed_more_coarsely_than_they_last_do_not_come_before_the_clock() -> None:
    taken = _paces(300, 0.14, 0.14)
    found = clock(_run(np.arange(1, 301), np.floor(np.cumsum(taken)), np.round(taken, 1)))
    assert found.source == "elapsed column"
    assert found.elapsed_s == pytest.approx(taken.sum(), abs=1.0)


@pytest.mark.parametrize(
    ("unit_s", "digits", "tick"), [(60.0, 2, 0.6), (60.0, 1, 6.0), (3600.0, 2, 36.0), (3600.0, 3, 3.6)]
)
def test_the_tick_of_printed_minutes_and_hours(unit_s: float, digits: int, tick: float) -> None:
    assert printed_tick(_printed(np.cumsum(_paces(900, 1.7, 1.7)), unit_s, digits)) == pytest.approx(tick)


@pytest.mark.parametrize(
    "seconds",
    [
        np.arange(1, 60) * 6.0,  # steps of six seconds each
        np.arange(1, 60) * 12.0,
        np.floor(np.cumsum(np.full(60, 1.7))),
        np.cumsum(np.full(60, 0.6)),
        np.zeros(60),
        np.array([0.6, 1.8]),
        np.array([]),
    ],
)
def test_other_clocks_have_no_such_tick(seconds: Floats) -> None:
    assert printed_tick(seconds) is None


def test_a_clock_that_has_not_ticked_yet_leaves_nothing_out() -> None:
    taken = np.full(200, 0.5)
    assert left_out(np.floor(np.cumsum(taken) / 60) * 60, taken, 60.0) == 0.0
    assert left_out(np.maximum(np.cumsum(taken) - 20.0, 0.0), taken, 0.6) == pytest.approx(20.0)
