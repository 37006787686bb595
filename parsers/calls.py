"""Times of many calls at once: the mean and the longest of them (`sampling_time_mean`, `sampling_time_max`) are no parts of a step.

Of such statistics at most the longest counts, where it can be what the step waited for; the others lie inside it.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from parsers.fields import spell
from timeledger.said import say

_KEY: Final = ["segment", "step"]
#: What one time may be of many, the longest first.
_STATISTICS: Final = ("max", "mean", "median")
#: Processes that do the same together differ by this much at most; calls that come and go differ more.
_TOGETHER: Final = 1.2
#: In so many rows the longest call must fit into the step beside the other parts, to be one of them.
_FITS: Final = 0.9
_ROUNDED: Final = 1.01
#: Calls that take this share of all parts together matter to what a step takes.
_MATTERS: Final = 0.1


def told_apart(steps: pl.DataFrame, phases: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The phases with statistics of one thing under the largest of them, which runs beside the step unless it fits into it."""
    groups = _groups(phases)
    if not groups:
        return phases, ""
    inside = {name: longest for longest, others in groups.items() for name in others}
    own = pl.col("name").replace_strict(inside, default=None, return_dtype=pl.String)
    phases = phases.with_columns(pl.coalesce("parent", own).alias("parent"))
    beside = [longest for longest, others in groups.items() if not _together(phases, longest, others)]
    if not beside:
        return phases, ""
    rows = _rest(steps, phases, beside)
    beside = [name for name in beside if not _fits(rows, phases, name)]
    unknown = [name for name in beside if rows["wall"].null_count() == rows.height and _matters(rows, phases, name)]
    names = pl.col("name").is_in(beside) if not unknown else pl.lit(value=True)
    text = say("{names} are of many calls at once: not added", names=", ".join(beside)) if beside else ""
    if unknown:
        text = say("{names} are of many calls at once: what a step took does not follow from its parts", names=", ".join(beside))  # fmt: skip
    return phases.with_columns(pl.col("overlaps").fill_null(False) | names), text


def _groups(phases: pl.DataFrame) -> dict[str, list[str]]:
    """The name of the longest of each group of statistics of one thing, and the others."""
    found: dict[str, dict[str, str]] = {}
    for name in phases["name"].unique(maintain_order=True).to_list() if phases.height else []:
        words = spell(name).replace("/", "_").replace(":", "_").split("_")
        stat = [word for word in words if word in _STATISTICS]
        if len(stat) == 1:
            found.setdefault("_".join(word for word in words if word != stat[0]), {})[stat[0]] = name
    ranked = [[stats[stat] for stat in _STATISTICS if stat in stats] for stats in found.values() if len(stats) > 1]
    return {longest: others for longest, *others in ranked}


def _together(phases: pl.DataFrame, longest: str, others: list[str]) -> bool:
    both = _of(phases, longest).join(_of(phases, others[0]), on=_KEY, suffix="_other")
    share = both.filter(pl.col("own_other") > 0).select(pl.col("own") / pl.col("own_other")).to_series().median()
    return isinstance(share, float) and share <= _TOGETHER


def _of(phases: pl.DataFrame, name: str) -> pl.DataFrame:
    return phases.filter(pl.col("name") == name).group_by(_KEY).agg(own=pl.col("seconds").first())


def _rest(steps: pl.DataFrame, phases: pl.DataFrame, without: list[str]) -> pl.DataFrame:
    """`wall` of each row by its own words or its clock, and `parts`: the seconds of what else is timed in it."""
    moved = [
        (pl.col("at").diff().over("segment").dt.total_microseconds() / 1e6), pl.col("elapsed_s").diff().over("segment")
    ]  # fmt: skip
    gap = pl.col("step").diff().over("segment").clip(1)
    rows = steps.select(*_KEY, wall=pl.coalesce("step_s", *(each / gap for each in moved)))
    tops = phases.filter(
        pl.col("parent").is_null() & ~pl.col("overlaps").fill_null(False) & ~pl.col("name").is_in(without)
    )
    sums = tops.group_by(_KEY).agg(parts=pl.col("seconds").sum())
    return rows.join(sums, on=_KEY, how="left").with_columns(pl.col("parts").fill_null(0.0))


def _fits(rows: pl.DataFrame, phases: pl.DataFrame, name: str) -> bool:
    both = rows.join(_of(phases, name), on=_KEY).filter(pl.col("wall").is_not_null())
    room = both.select(pl.col("parts") + pl.col("own") <= _ROUNDED * pl.col("wall")).to_series().mean()
    return isinstance(room, float) and room >= _FITS


def _matters(rows: pl.DataFrame, phases: pl.DataFrame, name: str) -> bool:
    both = rows.join(_of(phases, name), on=_KEY)
    return bool(both.select(pl.col("own").sum() > _MATTERS * pl.col("parts").sum()).item())
