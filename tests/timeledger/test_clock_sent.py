"""Stamps of an upload: many rows within a second or two are no steps of a training."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from timeledger import schema
from timeledger.clock import WHY_SENT, clock
from timeledger.run import Run, RunInfo

START = datetime(2027, 1, 15, tzinfo=UTC)


def stamped(rows: int, apart_s: float, **columns: list[float]) -> Run:
    steps = pl.DataFrame(
        {
            "segment": [0] * rows,
            "step": list(range(1, rows + 1)),
            "at": [START + timedelta(seconds=apart_s * n) for n in range(rows)],
            **columns,
        }
    )
    return Run(
        info=RunInfo(name="made", format="made", sources=("made",)),
        steps=schema.conform(steps, schema.STEPS),
        phases=schema.empty(schema.PHASES),
        engine=schema.empty(schema.ENGINE),
        events=schema.empty(schema.EVENTS),
        progress=schema.empty(schema.PROGRESS),
        extra=pl.DataFrame(schema={"segment": pl.Int64, "step": pl.Int64}),
    )


@pytest.mark.parametrize(("rows", "apart_s"), [(150, 0.0005), (2000, 0.0008), (5000, 0.00001)])
def test_hundreds_of_rows_at_once_tell_no_time(rows: int, apart_s: float) -> None:
    found = clock(stamped(rows, apart_s))
    assert (found.source, found.elapsed_s, found.why) == ("none", None, WHY_SENT)


@pytest.mark.parametrize(("rows", "apart_s"), [(40, 0.0005), (500, 0.004), (20_000, 0.002)])
def test_few_rows_or_slower_ones_are_a_clock(rows: int, apart_s: float) -> None:
    found = clock(stamped(rows, apart_s))
    assert found.source == "timestamps"
    assert found.elapsed_s == pytest.approx(rows * apart_s, rel=0.05)


def test_the_rows_own_times_are_taken_instead() -> None:
    found = clock(stamped(300, 0.0005, step_s=[2.0] * 300))
    assert found.source == "step times"
    assert found.elapsed_s == pytest.approx(600.0)
