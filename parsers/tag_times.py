"""Times under names that only their course explains, in what trackers keep: a total so far, all of a row, none of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from parsers.cumulative import untangled
from timeledger.run import Note, Run
from timeledger.said import say

_KEY: Final = ["segment", "step"]
#: In so many rows a time shows whose it is.
_ENOUGH: Final = 3
#: A time may be so much longer than its row, as clocks are read a little apart.
_LONGER: Final = 1.25
#: Where each of a row's steps would make it so much longer than it is, the time is of the row as a whole.
_FAR_LONGER: Final = 1.5


def settled(run: Run) -> Run:
    """The run with the times that no table of a framework explains read as their course and the rows' stamps say."""
    if run.info.framework is not None or run.phases.is_empty():
        return run
    steps, phases, told = untangled(run.steps, run.phases, [])
    rows = _rows(steps, phases)
    longer = _longer(rows)
    told += [say("{name} is longer than the time between its rows: left out", name=name) for name in longer]
    phases = phases.filter(~pl.col("name").is_in(longer))
    if _of_rows(rows.filter(~pl.col("name").is_in(longer))):
        gaps = steps.select(*_KEY, gap=pl.col("step").diff().over("segment"))
        gaps = gaps.with_columns(pl.col("gap").fill_null(pl.col("gap").median().round()).clip(1))
        shared = phases.join(gaps, on=_KEY, how="left", maintain_order="left")
        phases = shared.with_columns(pl.col("seconds") / pl.col("gap")).drop_nulls("seconds").select(phases.columns)
        told.append(say("the phases are of all steps since the row before: shared out among them"))
    source = run.info.sources[0] if run.info.sources else ""
    notes = tuple(Note("guessed", 0, text, 1, source) for text in told)
    return replace(run, steps=steps, phases=phases, notes=run.notes + notes)


def _rows(steps: pl.DataFrame, phases: pl.DataFrame) -> pl.DataFrame:
    """The times that pass one after another in their rows, beside the stamps' seconds and the steps since the row before."""
    place = steps.select(
        *_KEY, gap=pl.col("step").diff().over("segment"),
        wall=pl.col("at").diff().over("segment").dt.total_microseconds() / 1e6,
    ).filter((pl.col("gap") > 0) & (pl.col("wall") > 0))  # fmt: skip
    tops = phases.filter(pl.col("parent").is_null() & ~pl.col("overlaps") & ~pl.col("outside").fill_null(False))
    return tops.join(place, on=_KEY, how="inner", maintain_order="left")


def _longer(rows: pl.DataFrame) -> list[str]:
    """Names of times that do not fit between their rows."""
    times = rows.group_by("name", maintain_order=True).agg(
        share=pl.col("seconds").sum() / pl.col("wall").sum(), n=pl.len()
    )
    return times.filter((pl.col("n") >= _ENOUGH) & (pl.col("share") > _LONGER))["name"].to_list()


def _of_rows(rows: pl.DataFrame) -> bool:
    """True when the times fit into their rows once, and would not by far if each of the steps had taken them.

    All rows together decide: those of an update may follow one another at once, and their rollout come before the first.
    """
    sums = rows.group_by(_KEY).agg(pl.col("seconds").sum(), pl.col("gap", "wall").first())
    if sums.height < _ENOUGH:
        return False
    once, each, wall = sums.select(
        once=pl.col("seconds").sum(), each=(pl.col("seconds") * pl.col("gap")).sum(), wall=pl.col("wall").sum()
    ).row(0)
    return bool(each > _FAR_LONGER * wall and once <= _LONGER * wall)
