"""How a time behaves over the rows of a run: does it count from the start, or is it of one step at a time?"""

from __future__ import annotations

from typing import Final

import polars as pl

#: So many rows show how a time behaves.
ENOUGH: Final = 4
#: A clock may be set back now and then (a resume); a time that falls more often is of single steps.
_RESETS: Final = 0.2


def role(steps: pl.DataFrame, name: str, own: str) -> str:
    """`step_s` or `elapsed_s` for a column of the rows, `own` being what its name says.

    The lines' own time stamps decide, else whether the value falls and how it grows.
    """
    rows = steps.filter(pl.col(name).is_not_null()).select("segment", "step", "at", value=name)
    moves = rows.with_columns(
        gain=pl.col("value").diff().over("segment"),
        gap=pl.col("step").diff().over("segment"),
        wall=pl.col("at").diff().over("segment").dt.total_microseconds() / 1e6,
    ).filter(pl.col("gain").is_not_null())
    if moves.is_empty():
        return own
    falls = (moves["gain"] < 0).sum()
    if falls > _RESETS * moves.height or (falls and own == "step_s"):
        return "step_s"
    timed = moves.filter(pl.col("wall") > 0)
    if timed.height >= ENOUGH - 1:
        as_clock = (timed["gain"] - timed["wall"]).abs().median()
        as_step = (timed["value"] * timed["gap"] - timed["wall"]).abs().median()
        if isinstance(as_clock, float) and isinstance(as_step, float) and as_clock != as_step:
            return "elapsed_s" if as_clock < as_step else "step_s"
    if own == "elapsed_s" or moves.height < ENOUGH - 1:
        return own
    return "elapsed_s" if _accumulates(rows, moves) else own


def _accumulates(rows: pl.DataFrame, moves: pl.DataFrame) -> bool:
    """True when a value that never falls begins near one typical gain: a sum over steps, not a slowly growing time."""
    typical = (moves["gain"] / moves["gap"].clip(1)).median()
    first = rows.group_by("segment", maintain_order=True).first()
    if not isinstance(typical, float) or typical <= 0:
        return False
    done = (first["step"] + 1).clip(1)
    return bool((first["value"] <= 5 * typical * done).all())


def unbroken(steps: pl.DataFrame, name: str) -> pl.Series:
    """A clock that was set back within a session (a resume that goes on with the next step) runs on."""
    values: list[float | None] = steps[name].to_list()
    segments = steps["segment"].to_list()
    offset, last, session = 0.0, None, None
    for place, value in enumerate(values):
        if value is None:
            continue
        if segments[place] != session:
            offset, last, session = 0.0, None, segments[place]
        if last is not None and value < last:
            offset += last
        last = value
        values[place] = value + offset
    return pl.Series(name, values, dtype=pl.Float64)
