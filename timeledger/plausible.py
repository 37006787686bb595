"""Numbers that no run can have are taken for missing before the model computes with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger.run import Note, Run
from timeledger.said import say

#: Thirty years in seconds; a longer time in a log is a time stamp, a counter or damage.
LONGEST_S: Final = 1e9
#: No length, count, rate, reward or loss is larger; squares of it stay finite.
LARGEST: Final = 1e15


def plausible(run: Run) -> Run:
    """The run without impossible numbers (infinities stay: they are what a log says of a reward); unchanged when it has none."""
    steps, bad_steps = _cleaned(run.steps)
    phases, bad_phases = _cleaned(run.phases)
    progress, bad_progress = _cleaned(run.progress)
    count = bad_steps + bad_phases + bad_progress
    if not count:
        return run
    note = Note(
        "skipped",
        0,
        say("numbers too large for a run (times over 30 years, counts over 10^15) are left out"),
        count,
    )
    return replace(run, steps=steps, phases=phases.drop_nulls("seconds"), progress=progress).with_notes(note)


def _cleaned(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    names = [name for name, kind in frame.schema.items() if kind == pl.Float64]
    limits = {
        name: LONGEST_S if (name.endswith("_s") and "tok" not in name) or name == "seconds" else LARGEST
        for name in names
    }
    if not names or frame.is_empty():
        return frame, 0
    odd = {name: pl.col(name).is_finite() & (pl.col(name).abs() > limit) for name, limit in limits.items()}
    count = int(frame.select(pl.sum_horizontal(each.sum() for each in odd.values())).item() or 0)
    if not count:
        return frame, 0
    return frame.with_columns(pl.when(~each).then(pl.col(name)).alias(name) for name, each in odd.items()), count
