"""A time that holds others of its step: `sample processed in 276.8s`, and below it the seconds of each part.

Or the same seconds under two names, as where a function and the one that it calls are both timed: they count once.
"""

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
#: The time of a step stands in this share of the rows at least.
_MOST: Final = 0.5
#: A name that ends so tells of something as a whole.
_DONE: Final = frozenset({"in", "processed", "done", "finished", "complete", "completed", "overall", "total"})

#: Two names of the same seconds are alike this far in nearly every row, and hardly farther apart in any.
_ALIKE: Final = 0.005
_NEARLY: Final = 0.9
_APART: Final = 0.03
#: Rows in which they must be, rows looked at, and names compared.
_SEEN: Final = 4
_LOOK: Final = 400
_NAMES: Final = 40


def once(phases: pl.DataFrame) -> pl.DataFrame:
    """The phases with each that stands in the same rows as another, with the same seconds, under that one."""
    tops = phases.filter(pl.col("parent").is_null() & (pl.col("seconds") > 0) & ~pl.col("overlaps").fill_null(False))
    names = tops.group_by("name", "phase", maintain_order=True).agg(rows=pl.len(), all=pl.col("seconds").sum())
    names = names.filter(pl.col("rows") >= _SEEN).sort(pl.col("phase") == "other", -pl.col("all"), maintain_order=True)
    names = names.with_row_index("rank")
    if not 2 <= names.height <= _NAMES:
        return phases
    tops = tops.join(names, on="name", maintain_order="left").select(*_KEY, "rank", "rows", "seconds")
    first = tops.with_columns(place=pl.int_range(pl.len()).over("rank")).filter(pl.col("place") < _LOOK)
    off = (1 - pl.col("seconds") / pl.col("seconds_in")).abs()
    same = (pl.col("rank_in") < pl.col("rank")) & (pl.col("rows_in") == pl.col("rows"))
    pairs = (
        first.join(tops, on=_KEY, suffix="_in")
        .filter(same)
        .group_by("rank", "rank_in", "rows")
        .agg(n=pl.len(), alike=(off <= _ALIKE).mean(), apart=off.max(), values=pl.col("seconds").n_unique())
    )
    pairs = pairs.filter(
        (pl.col("n") == pl.col("rows").clip(0, _LOOK)) & (pl.col("alike") >= _NEARLY) & (pl.col("apart") <= _APART)
        & (pl.col("values") >= _SEEN)
    )  # fmt: skip
    inside = dict(pairs.sort("rank_in").unique("rank", keep="first").select("rank", "rank_in").iter_rows())
    if not inside:
        return phases
    own = names["name"].to_list()
    above = {own[rank]: own[rank_in] for rank, rank_in in inside.items()}
    parent = pl.col("name").replace_strict(above, default=None, return_dtype=pl.String)
    return phases.with_columns(pl.coalesce("parent", parent).alias("parent"))


def apart(steps: pl.DataFrame, phases: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The rows with the time of a phase that holds all the others as the step's, and the phases without it."""
    names = phases["name"].unique(maintain_order=True).to_list() if phases.height else []
    if len(names) < 3 or len(names) > 40 or steps["step_s"].count():
        return steps, phases, ""
    whole = next((name for name in names if _is_whole(phases, name)), None)
    if whole is None:
        return steps, phases, ""
    rows = with_phase(steps, phases, whole)
    if rows["own"].count() < _MOST * steps.height:  # the parts of a save now and then
        return steps, phases, ""
    rows = rows.with_columns(pl.coalesce("step_s", "own").alias("step_s")).select(steps.columns)
    text = say("{name} is as long as the other times of its step together: read as the time of the step", name=whole)
    return rows, phases.filter(pl.col("name") != whole), text


def _is_whole(phases: pl.DataFrame, name: str) -> bool:
    """True when the other top-level phases make up this one in step after step; or all others, where names alone nest some."""
    added = phases.filter(~pl.col("overlaps").fill_null(False))
    return any(_made_up(rows, name) for rows in (added.filter(pl.col("parent").is_null()), added))


def _made_up(phases: pl.DataFrame, name: str) -> bool:
    mine = pl.col("name") == name
    rows = phases.group_by(_KEY).agg(
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
