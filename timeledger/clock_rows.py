"""The clock's rows as arrays, and the usual seconds a step around each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timeledger.clock_sources import Floats, Ints, finite, usual
from timeledger.periodic import Mask, spikes
from timeledger.run import Run


@dataclass(frozen=True, slots=True)
class Rows:
    """The clock's rows as arrays; `length` is the answers' length where the log has it (longest, else mean).

    `tail_s` passed after the last step (a bar that waits on it); `wall_s` is without it. `coarse_s` is the clock's
    resolution: a jump may have bled that much into the rows beside it.
    """

    segment: Ints
    step: Ints
    span: Ints
    wall_s: Floats
    work_s: Floats
    length: Floats
    tail_s: float = 0.0
    coarse_s: float = 0.0

    def __len__(self) -> int:
        return len(self.step)


def make_rows(
    run: Run, segment: Ints, step: Ints, span: Ints, wall_s: Floats, work_s: Floats, *, tail_s: float, coarse_s: float
) -> Rows:
    """The clock's rows with the answers' length joined from the run, and the last one without what came after it."""
    wall_s = wall_s.copy()
    wall_s[-1] -= tail_s / span[-1]
    keys = pl.DataFrame({"segment": segment, "step": step}, schema={"segment": pl.Int64, "step": pl.Int64})
    own = run.steps.select("segment", "step", pl.coalesce("len_max", "len_mean").alias("length"))
    own = own.unique(["segment", "step"], keep="last")
    length = keys.join(own, on=["segment", "step"], how="left", maintain_order="left")["length"]
    return Rows(segment, step, span, wall_s, work_s, finite(length), tail_s, coarse_s)


# --- level ---


def level_of(rows: Rows, residue: Ints, use: Mask) -> Floats:
    """The usual seconds a step around each row, among rows of the same place in the generation cycle."""
    per_class = max(len(rows) // (int(residue.max()) + 1), 1) if len(rows) else 1
    window = int(np.clip(per_class // 3, 5, 41)) | 1
    frame = pl.DataFrame({"class": residue, "wall": np.where(use, rows.wall_s, np.nan)}).with_columns(
        pl.col("wall").fill_nan(None)
    )
    near = pl.col("wall").rolling_median(window, min_samples=1, center=True)
    wide = frame.select(near.forward_fill().backward_fill().over("class"))["wall"]
    overall = usual(rows.wall_s[use]) or usual(rows.wall_s)
    return wide.fill_null(overall).to_numpy()


def settled(rows: Rows, residue: Ints, use: Mask) -> tuple[Floats, float]:
    """The level without what stands out, and the robust spread of ordinary rows around it (a share)."""
    level = level_of(rows, residue, use)
    sigma = spread(rows, level, use)
    calm = use & ~stand_out(rows, level, sigma)
    if calm.sum() >= 3:
        level = level_of(rows, residue, calm)
        sigma = spread(rows, level, calm)
    return level, sigma


def spread(rows: Rows, level: Floats, use: Mask) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        away = (rows.wall_s / level - 1)[use]
    away = away[np.isfinite(away)]
    return float(1.4826 * np.median(np.abs(away - np.median(away)))) if len(away) else 0.0


def stand_out(rows: Rows, level: Floats, sigma: float) -> Mask:
    """Rows that stand out above their surroundings, by more than the clock's resolution can fake."""
    with np.errstate(invalid="ignore"):
        real = (rows.wall_s - level) * rows.span > 1.5 * rows.coarse_s
    return spikes(rows.wall_s, level, sigma) & real


def gathered(rows: Rows, excess: Floats, jumps: Mask) -> Floats:
    """The excess of rows with a jump, with what a coarse clock smeared into the rows beside it."""
    row_s = usual(rows.wall_s * rows.span)
    reach = int(np.ceil(2 * rows.coarse_s / row_s)) if row_s > 0 else 0
    at = np.flatnonzero(jumps)
    if row_s > 20 * rows.coarse_s or reach == 0 or len(at) == 0:
        return excess
    reach = min(reach, 5, max(int(np.diff(at).min()) // 2 - 1, 0)) if len(at) > 1 else min(reach, 5)
    added = np.concatenate([[0.0], np.cumsum(np.nan_to_num(excess))])
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(excess))
    gathered = excess.copy()
    gathered[at] = np.maximum(added[high] - added[low], excess[at])
    return gathered
