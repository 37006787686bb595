"""A time that holds the others of its step: `sample processed in 276.8s`, and below it the seconds of each part."""

from __future__ import annotations

from typing import Final

import polars as pl

from parsers.cumulative import with_phase
from parsers.fields import spell
from timeledger.said import say

_KEY: Final = ["segment", "step"]
#: The parts of a whole come to nearly all of it, and hardly more.
_PARTS: Final = (0.9, 1.005)
_FEW: Final = 5
_ALWAYS: Final = 0.98
#: The parts follow a whole that changes; two phases that are as long as one another by chance do not do so as closely.
_CLOSELY: Final = 0.2
#: A name that ends so tells of something as a whole.
_DONE: Final = frozenset({"in", "processed", "done", "finished", "complete", "completed", "overall", "total"})


def apart(steps: pl.DataFrame, phases: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The rows with the time of a phase that holds all the others as the step's, and the phases without it."""
    names = phases["name"].unique(maintain_order=True).to_list() if phases.height else []
    if len(names) < 3 or len(names) > 40 or steps["step_s"].count():
        return steps, phases, ""
    whole = next((name for name in names if _is_whole(phases, name)), None)
    if whole is None:
        return steps, phases, ""
    rows = with_phase(steps, phases, whole)
    rows = rows.with_columns(pl.coalesce("step_s", "own").alias("step_s")).select(steps.columns)
    text = say("{name} is as long as the other times of its step together: read as the time of the step", name=whole)
    return rows, phases.filter(pl.col("name") != whole), text


def _is_whole(phases: pl.DataFrame, name: str) -> bool:
    """True when the other top-level phases make up this one in step after step."""
    tops = phases.filter(pl.col("parent").is_null() & ~pl.col("overlaps"))
    mine = pl.col("name") == name
    rows = tops.group_by(_KEY).agg(
        whole=pl.col("seconds").filter(mine).sum(), parts=pl.col("seconds").filter(~mine).sum(), n=(~mine).sum()
    )
    rows = rows.filter((pl.col("whole") > 0) & (pl.col("n") >= 2)).with_columns(share=pl.col("parts") / pl.col("whole"))
    if rows.height < _FEW:
        return False
    low, high = _PARTS
    if rows["share"].is_between(low, high).mean() < _ALWAYS:  # type: ignore[operator]
        return False
    if spell(name).split("_")[-1] in _DONE:
        return True
    moved = pl.col("whole").std() / pl.col("whole").mean()
    return bool(rows.select(pl.col("share").std() < _CLOSELY * moved).item())
