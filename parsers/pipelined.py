"""Steps that overlap: a loop that hands in the next batch before it waits for the one before.

tinker-cookbook's supervised loop does so (supervised/train.py). Its `time/total` runs from the start of a batch to its end
and holds the end of the batch before and the start of the next one: the totals of all steps are twice the time they took.
Where it has no `time/total` it times both ends of a batch: what they take together is the step's, and `time/step` is a part.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger.run import Note, Run
from timeledger.said import say

#: What is done as a batch is handed in, and as it is waited for.
_STARTS: Final = ("time/get_batch", "time/evals", "time/infrequent_evals")
_ENDS: Final = ("time/step", "time/save_checkpoint")
#: How a batch is handed in and waited for as a whole.
_BOTH: Final = ("time/submit_batch", "time/finish_batch")
#: The optimizer's step lies inside the wait in so many rows.
_MOSTLY: Final = 0.95
_FEWEST: Final = 6
_KEY: Final = ["segment", "step"]


def unpipelined(run: Run) -> Run:
    """The run with the time of each step by itself, where its step times overlap; any other run as it is."""
    run = _of_both_ends(run)
    names = set(run.phases["name"].unique().to_list()) if run.phases.height else set()
    if not {_STARTS[0], _ENDS[0]} <= names or run.steps["elapsed_s"].null_count() < run.steps.height:
        return run
    rows = run.steps.select(*_KEY, total="step_s")
    for column, parts in (("starts", _STARTS), ("ends", _ENDS)):
        sums = run.phases.filter(pl.col("name").is_in(parts)).group_by(_KEY).agg(pl.col("seconds").sum().alias(column))
        rows = rows.join(sums, on=_KEY, how="left", maintain_order="left").with_columns(pl.col(column).fill_null(0.0))
    if not _overlap(rows):
        return run
    ends = _ends(rows)
    if ends is None:
        steps = run.steps.with_columns(pl.col("step_s") / 2)
        text = say(
            "time/total holds the end of the step before and the start of the next one: half of it is read as the step's time"
        )
    else:
        elapsed = pl.Series("elapsed_s", ends, dtype=pl.Float64)
        own = pl.col("elapsed_s") - pl.col("elapsed_s").shift(1).over("segment").fill_null(0.0)
        steps = run.steps.with_columns(elapsed).with_columns(step_s=own)
        text = say(
            "time/total holds the end of the step before and the start of the next one: the steps' own times follow from all of them"
        )
    return replace(run, steps=steps.select(run.steps.columns)).with_notes(Note("info", 0, text))


def _of_both_ends(run: Run) -> Run:
    """The run with the step times of a loop that times how it hands a batch in, and how it waits for it."""
    both = [_seconds(run, name) for name in _BOTH]
    if any(each.height < _FEWEST for each in both) or run.steps["step_s"].null_count() == run.steps.height:
        return run
    rows = run.steps.select(*_KEY, "step_s", "elapsed_s")
    for name, each in zip(("start", "end"), both, strict=True):
        rows = rows.join(each.rename({"seconds": name}), on=_KEY, how="left", maintain_order="left")
    inside = rows.select((pl.col("step_s") <= 1.001 * pl.col("end")).mean()).item()
    if rows["elapsed_s"].count() or rows["end"].null_count() or inside < _MOSTLY:
        return run
    own = pl.col("start").fill_null(0.0) + pl.col("end")
    part = rows.select(*_KEY, phase=pl.lit("update"), name=pl.lit(_ENDS[0]), seconds="step_s").drop_nulls("seconds")
    others = run.phases.filter(~pl.col("name").is_in(_BOTH))
    phases = pl.concat([others, part], how="diagonal_relaxed").select(run.phases.columns)
    steps = run.steps.with_columns(rows.select(step_s=own)["step_s"])
    text = say("{names} make up the step: their sum is read as its time", names=" + ".join(_BOTH))
    return replace(run, steps=steps, phases=phases).with_notes(Note("info", 0, text))


def _seconds(run: Run, name: str) -> pl.DataFrame:
    """Segment, step and seconds of a time: a phase, or a number beside the metrics where a row times nothing that is known."""
    found = run.phases.filter(pl.col("name") == name).select(*_KEY, "seconds")
    if f"{name} (s)" in run.extra.columns:
        beside = run.extra.select(*_KEY, seconds=pl.col(f"{name} (s)").cast(pl.Float64)).drop_nulls()
        found = pl.concat([found, beside])
    return found.unique(_KEY, keep="first", maintain_order=True)


def _overlap(rows: pl.DataFrame) -> bool:
    """True where the parts of its neighbours explain a step's total, and its own parts alone do not."""
    own = pl.col("starts") + pl.col("ends")
    others = pl.col("ends").shift(1).over("segment") + pl.col("starts").shift(-1).over("segment")
    off = rows.select(alone=(pl.col("total") - own).abs(), among=(pl.col("total") - own - others).abs()).drop_nulls()
    alone, among = off["alone"].median(), off["among"].median()
    return off.height >= _FEWEST and isinstance(alone, float) and isinstance(among, float) and among < alone / 2


def _ends(rows: pl.DataFrame) -> list[float] | None:
    """When each step ended: a batch is handed in when the last but one has ended. None where steps are missing."""
    ends: list[float] = []
    before: tuple[int, int] | None = None
    first = 0.0
    here = 0
    for segment, step, total, starts in rows.select(*_KEY, "total", "starts").iter_rows():
        if before is None or segment != before[0]:
            here, first = 0, starts
        elif step != before[1] + 1:
            return None
        if total is None:
            return None
        began = 0.0 if here == 0 else first if here == 1 else ends[-2]
        ends.append(max(began + total, ends[-1] if here else 0.0))
        before, here = (segment, step), here + 1
    return ends
