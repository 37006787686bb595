"""The clock's rows as arrays, and the usual seconds a step around each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timeledger.clock_sources import Floats, Ints, finite, usual
from timeledger.keys import joined, one_a_step
from timeledger.periodic import Mask, spikes
from timeledger.run import Run


@dataclass(frozen=True, slots=True)
class Rows:
    """The clock's rows as arrays; `length` is the answers' length where the log has it (longest, else mean).

    `tail_s` passed after the last step (a bar that waits on it); `wall_s` is without it. `coarse_s` is the clock's
    resolution: a jump may have bled that much into the rows beside it. `whole`: the clock runs on between the rows; step
    times added up leave out what is done between two steps.
    """

    segment: Ints
    step: Ints
    span: Ints
    wall_s: Floats
    work_s: Floats
    length: Floats
    tail_s: float = 0.0
    coarse_s: float = 0.0
    whole: bool = True

    def __len__(self) -> int:
        return len(self.step)


def make_rows(
    run: Run, segment: Ints, step: Ints, span: Ints, wall_s: Floats, work_s: Floats,
    *, tail_s: float, coarse_s: float, whole: bool,
) -> Rows:  # fmt: skip
    """The clock's rows with the answers' length joined from the run, and the last one without what came after it."""
    wall_s = wall_s.copy()
    wall_s[-1] -= tail_s / span[-1]
    keys = pl.DataFrame({"segment": segment, "step": step}, schema={"segment": pl.Int64, "step": pl.Int64})
    own = run.steps.select("segment", "step", pl.coalesce("len_max", "len_mean").alias("length"))
    length = joined(keys, one_a_step(own))["length"]
    if run.steps.height < len(step):  # what a row tells is also of the bar's states before it
        length = keys.with_columns(length=length).select(pl.col("length").backward_fill().over("segment"))["length"]
    return Rows(segment, step, span, wall_s, work_s, finite(length), tail_s, coarse_s, whole)


# --- level -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds of one step, row by row, against their usual course.

    `values` are the whole step or only what lies beside the framework's step time; `level` is their usual value around
    each row, `scale` the usual whole step there, `sigma` the robust spread of ordinary rows as a share of `scale`.
    """

    values: Floats
    level: Floats
    scale: Floats
    sigma: float

    def excess_s(self, rows: Rows) -> Floats:
        """What each row took beyond the usual, in seconds of the row."""
        return (self.values - self.level) * rows.span

    def stands_out(self, rows: Rows) -> Mask:
        """Rows above their surroundings, by more than the clock's resolution can fake."""
        return spikes(self.values - self.level, self.scale, self.sigma) & (self.excess_s(rows) > 1.5 * rows.coarse_s)


def line_of(rows: Rows, residue: Ints, values: Floats, use: Mask, scale: Floats | None = None) -> Line:
    """The usual course of `values` among the rows in `use`, without what stands out of it."""
    found = _line(residue, values, use, scale)
    calm = use & ~found.stands_out(rows)
    return _line(residue, values, calm, scale) if calm.sum() >= 3 and not np.array_equal(calm, use) else found


def _line(residue: Ints, values: Floats, use: Mask, scale: Floats | None) -> Line:
    level = _rolling(residue, values, use)
    scale = level if scale is None else scale
    with np.errstate(all="ignore"):
        away = ((values - level) / scale)[use]
    away = away[np.isfinite(away)]
    sigma = float(1.4826 * np.median(np.abs(away - np.median(away)))) if len(away) else 0.0
    return Line(values, level, scale, sigma)


def _rolling(residue: Ints, values: Floats, use: Mask) -> Floats:
    """The median around each row, among rows of the same place in the generation cycle."""
    per_class = max(len(values) // (int(residue.max()) + 1), 1)
    window = int(np.clip(per_class // 3, 5, 41)) | 1
    frame = pl.DataFrame({"class": residue, "value": np.where(use, values, np.nan)})
    near = pl.col("value").fill_nan(None).rolling_median(window, min_samples=1, center=True)
    filled = near.forward_fill().backward_fill()
    wide = frame.select(filled.over("class") if residue.any() else filled)["value"]
    known = values[use] if use.any() else values
    known = known[np.isfinite(known)]
    return wide.fill_null(float(np.median(known)) if len(known) else 0.0).to_numpy()


def beside(rows: Rows) -> Floats | None:
    """Seconds of one step that the framework's step time leaves out; None where it says nothing of that."""
    own = rows.work_s / rows.span
    rest = rows.wall_s - own
    known = np.isfinite(rest)
    if known.sum() < max(3, 0.9 * len(rows)) or np.nanmax(np.abs(rest)) < 1e-6 * usual(rows.wall_s):
        return None
    covered = float(own[known].sum() / max(rows.wall_s[known].sum(), 1e-12))
    return rest if 0.25 <= covered <= 1.08 else None


def gathered(rows: Rows, excess: Floats, jumps: Mask) -> Floats:
    """The excess of rows with a jump, with what a coarse clock smeared into the rows beside it: a tick on either side."""
    row_s = usual(rows.wall_s * rows.span)
    reach = int(np.ceil(min(2 * rows.coarse_s / row_s, 5.0))) if row_s > 1e-9 * rows.coarse_s else 0
    at = np.flatnonzero(jumps)
    if row_s > 20 * rows.coarse_s or reach == 0 or len(at) == 0:
        return excess
    reach = min(reach, max(int(np.diff(at).min()) // 2 - 1, 0)) if len(at) > 1 else reach
    added = np.concatenate([[0.0], np.cumsum(np.nan_to_num(excess))])
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(excess))
    wider = excess.copy()
    wider[at] = np.clip(added[high] - added[low], excess[at], excess[at] + 2 * rows.coarse_s)
    return wider
