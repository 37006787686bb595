"""The clock's rows with the quantities that may explain them, as plain arrays: what every fit works on."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger.keys import joined, one_a_step
from timeledger.results import Clock
from timeledger.run import Run

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: No step, length or token count of a real run is this large.
BEYOND = 1e15
#: A step that takes less than a nanosecond was not timed.
SHORTEST_S = 1e-9
QUANTITIES = ("len_mean", "len_max", "truncated", "tokens", "sequences")


@dataclass(frozen=True, slots=True)
class Rows:
    """One row a logged span: seconds of ONE ordinary step (`wall_s`), tokens, NaN where the log is silent.

    `mixed` rows held an ordinary step and periodic work; `wall_s` is without that work.
    """

    segment: Array
    step: Array
    span: Array
    wall_s: Array
    end_s: Array
    ordinary: Mask
    mixed: Mask
    len_mean: Array
    len_max: Array
    truncated: Array
    tokens: Array
    sequences: Array

    def __len__(self) -> int:
        return len(self.step)

    def pick(self, mask: Mask) -> Rows:
        """The rows where `mask` is true."""
        return self if mask.all() else Rows(**{each.name: getattr(self, each.name)[mask] for each in fields(self)})

    def usable(self) -> Rows:
        """Ordinary rows with a finite positive time; where most rows hold periodic work too, those without it as well."""
        timed = np.isfinite(self.wall_s) & (self.wall_s > 0)
        plain = self.ordinary & timed
        mixed = self.mixed & timed
        return self.pick(plain | mixed if plain.sum() < max(5, mixed.sum()) else plain)


def floats(frame: pl.DataFrame, name: str) -> Array:
    """A column as floats, NaN for null, for anything that is not finite, and for what no run can reach."""
    values = frame[name].cast(pl.Float64).to_numpy().astype(np.float64, copy=True)
    values[~(np.abs(values) < BEYOND)] = np.nan
    return values


def make_rows(run: Run, clock: Clock) -> Rows:
    """Rows of the clock joined with the run's lengths; generation cycles are merged into one row each.

    `wall_s` of a row with an evaluation or a checkpoint is without it, so that the row still tells of the step inside it.
    """
    frame = joined(clock.steps, one_a_step(run.steps.select("segment", "step", *QUANTITIES)))
    span = np.maximum(np.nan_to_num(floats(frame, "span"), nan=1.0), 1.0)
    extra = np.nan_to_num(floats(frame, "extra_s")) / span
    kinds = frame["kind"].fill_null("ordinary")
    ordinary = (kinds == "ordinary").to_numpy()
    mixed = kinds.is_in(("evaluation", "checkpoint", "periodic")).to_numpy()
    wall = floats(frame, "wall_s")
    wall = np.where(mixed, wall - extra, wall)
    wall = np.where(wall < SHORTEST_S, np.minimum(wall, 0.0), wall)
    rows = Rows(
        floats(frame, "segment"),
        floats(frame, "step"),
        span,
        wall,
        floats(frame, "end_s"),
        np.asarray(ordinary, dtype=np.bool_),
        np.asarray(mixed, dtype=np.bool_),
        *(floats(frame, name) for name in QUANTITIES),
    )
    return merge_cycles(rows, clock.cycle)


def merge_cycles(rows: Rows, cycle: int) -> Rows:
    """Rows of one generation cycle merged: step time is the mean over the cycle, lengths those of its generation.

    Cycles start at step 1, 1 + cycle, ...; an incomplete or disturbed cycle is kept as not ordinary.
    """
    if cycle <= 1 or len(rows) == 0 or np.median(rows.span) >= cycle:
        return rows
    block = (rows.step - 1) // cycle + rows.segment * 1e9
    starts = np.flatnonzero(np.r_[True, np.diff(block) != 0])
    ends = np.r_[starts[1:], len(rows)] - 1
    weight = np.where(np.isfinite(rows.wall_s), rows.span, 0.0)
    steps = np.add.reduceat(weight, starts)
    wall = np.add.reduceat(np.nan_to_num(rows.wall_s) * weight, starts) / np.maximum(steps, 1.0)
    whole = (np.add.reduceat(rows.ordinary * rows.span, starts) >= cycle) & (steps >= cycle)
    merged = {name: _mean_of(getattr(rows, name), starts) for name in QUANTITIES}
    return replace(
        rows,
        segment=rows.segment[ends],
        step=rows.step[ends],
        span=np.add.reduceat(rows.span, starts),
        wall_s=np.where(steps > 0, wall, np.nan),
        end_s=rows.end_s[ends],
        ordinary=whole,
        mixed=np.zeros(len(ends), dtype=np.bool_),
        **merged,
    )


def _mean_of(values: Array, starts: NDArray[np.intp]) -> Array:
    """Mean of the finite values from each start to the next; NaN where there is none."""
    finite = np.isfinite(values)
    count = np.add.reduceat(finite.astype(np.float64), starts)
    total = np.add.reduceat(np.where(finite, values, 0.0), starts)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
