"""Two counters on one line: `[Update 8/915] Step: 131072/15000000` counts updates, and samples of the environment as steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger.run import Run, Setting
from timeledger.said import say

#: The names under which a second counter, and its end, wait among the other metrics.
COUNT: Final = "\0count:step"
PLANNED: Final = "\0count:total"
#: An optimizer does not take so many steps an update; an environment does.
_MANY: Final = 64
_NEARLY: Final = 0.9


def renumbered(run: Run) -> tuple[Run, float | None]:
    """The run with its updates as steps, where what the log calls steps are samples; without the second counter.

    And what the planned samples come to in updates: the last one may not be a whole one.
    """
    if COUNT not in run.extra.columns:
        return run, None
    waiting = [name for name in (COUNT, PLANNED) if name in run.extra.columns]
    counted = run.extra.select("segment", "step", *waiting)
    run = replace(run, extra=run.extra.drop(waiting))
    each = _samples_an_update(counted, run.steps.height)
    if each is None:
        return run, None
    steps, phases, events, progress, extra = (
        _divided(frame, each) for frame in (run.steps, run.phases, run.events, run.progress, run.extra)
    )
    told = run.info.number("total_steps")
    exact = None if told is None else told / each
    run = replace(run, steps=steps, phases=phases, events=events, progress=progress, extra=extra)
    planned = counted[PLANNED].max() if PLANNED in waiting else exact
    if not isinstance(planned, int | float):
        return run, exact
    return run.with_settings(total_steps=Setting(value=int(planned), source=say("the step count's own total"))), exact


def _samples_an_update(counted: pl.DataFrame, rows: int) -> int | None:
    """By how much the steps rise from one update to the next, where it is always the same and more than a step can be."""
    known = counted.drop_nulls(COUNT).filter(pl.col(COUNT) > 0)
    if known.height < 2 or known.height < _NEARLY * (rows - 1):
        return None
    ratios = (known["step"] / known[COUNT]).unique()
    each = ratios[0]
    return int(each) if ratios.len() == 1 and each >= _MANY and each == int(each) else None


def _divided(frame: pl.DataFrame, each: int) -> pl.DataFrame:
    return frame.with_columns((pl.col("step") / each).round().cast(pl.Int64).alias("step"))
