"""Where a session begins: what its running clock counts from, and how many steps its first row covers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from timeledger.clock_sources import Floats, Ints, Session, usual
from timeledger.run import Run
from timeledger.schedule import is_round

#: A single first row at a step up to this one is the first of a log that prints every so many steps.
_EARLY: Final = 100


def from_own_start(before: Session, here: Session) -> Session:
    """A session whose running clock counts on from the one before, with its clock set to its own start."""
    bar_s, elapsed = here.bar_s, here.elapsed
    if _counts_on(before.bar_s, here.bar_step, bar_s):
        bar_s = bar_s - before.bar_s.max()
    known = np.isfinite(elapsed)
    earlier = before.elapsed[np.isfinite(before.elapsed)]
    if _counts_on(earlier, here.step[known], elapsed[known]):
        elapsed = elapsed - earlier.max()
    return replace(here, bar_s=bar_s, elapsed=elapsed)


def _counts_on(before_s: Floats, step: Ints, s: Floats) -> bool:
    """True when all values of a session are above the last one before, and far above what its first row can have taken."""
    if len(before_s) == 0 or len(s) < 2:
        return False
    pace = usual(np.diff(s) / np.maximum(np.diff(step), 1))
    rows = max(int(step[1] - step[0]), 1)
    return bool(s.min() >= before_s.max() > 5 * pace * rows)


def lone_spans(run: Run, steps: pl.DataFrame) -> pl.DataFrame:
    """`segment` and `lone`: the steps that the only row of a session covers, as far as the log tells; else null.

    A log that prints every ten steps has one row, at step 10, for a long time.
    """
    alone = steps.group_by("segment", maintain_order=True).agg(pl.len(), pl.col("step", "elapsed_s").first())
    alone = alone.filter(pl.col("len") == 1).select("segment", "step", pl.col("elapsed_s").is_finite().fill_null(False))
    found = [(segment, _lone_span(run, segment, step, timed)) for segment, step, timed in alone.iter_rows()]
    return pl.DataFrame(found, schema={"segment": pl.Int64, "lone": pl.Int64}, orient="row")


def _lone_span(run: Run, segment: int, step: int, timed: bool) -> int | None:
    """By the bar's states before the row, by the bar's own pace, or because a running clock tells of all steps up to this one.

    A step's own time tells of one step; how many have taken it is clear only at numbers that logs print at.
    """
    bars = run.progress.filter(pl.col("segment") == segment).drop_nulls("elapsed_s")
    before = bars.filter(pl.col("step") < step)["step"].min()
    if isinstance(before, int):
        return step - (before if before > 1 else 0)
    told = bars.filter((pl.col("step") == step) & (pl.col("remaining_s") > 0) & (pl.col("total") > step))
    if told.height:
        elapsed_s, remaining_s, total = told.select("elapsed_s", "remaining_s", "total").row(-1)
        covered: int = round(elapsed_s * (total - step) / remaining_s)
        return min(max(covered, 1), step)
    return step if segment == 0 and (timed or bars.height or step <= _EARLY or is_round(step)) else None
