"""Step times in rows several steps apart: of all steps since the row before, their mean, or of the one step that is shown."""

from __future__ import annotations

from typing import Final

import polars as pl

from parsers.behaviour import ENOUGH
from parsers.fields import spell
from timeledger.said import say

_KEY: Final = ["segment", "step"]
#: A time so many times the usual one holds something beside the step.
_LONG: Final = 1.5
#: One of so many times is a standstill and no sample of the steps between, wherever it lies.
_HUGE: Final = 10.0
#: Rows around one that say what is usual there.
_WINDOW: Final = 21
#: In so few rows nothing is usual.
_FEW: Final = 12
#: Long rows come at regular distances when so many of them do, and so many of the places are taken.
_REGULAR: Final = 0.6


def between_rows(steps: pl.DataFrame, name: str, own: str, done: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows with the time in column `name` (called `own`) as the mean over each row's steps, and what was guessed.

    The rows' own clock tells what it is of. Without one it is read as one step's, and what that step took beyond the usual
    for an evaluation or a checkpoint is counted once. `done` are the segments and steps of these.
    """
    rows = _rows(steps, name)
    usual = rows["gap"].median()
    if not isinstance(usual, float) or usual <= 1:
        return steps, ""
    timed = rows.filter((pl.col("wall") > 0) & (pl.col("gap") > 0))
    shown = own or "time"
    if timed.height < ENOUGH - 1:
        text = say(
            "{name} stands in rows {steps} steps apart: read as the time of one step", name=shown, steps=f"{usual:g}"
        )
        return (steps if _is_mean(own) else _once(steps, rows, name, _lone(rows, done, int(usual)))), text
    of_all = (timed["value"] - timed["wall"]).abs().median()
    of_one = (timed["value"] * timed["gap"] - timed["wall"]).abs().median()
    if not (isinstance(of_all, float) and isinstance(of_one, float) and of_all < of_one):
        return _once(steps, rows, name, _as_the_clock_says(rows)), ""
    shared = rows.select("row", new=pl.col("value") / pl.col("gap").fill_null(round(usual)).clip(1))
    return _replaced(steps, name, shared), say(
        "{name} is the time of all steps since the row before: shared out among them", name=shown
    )


def _rows(steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows that hold the time: how many steps apart, how long by their clock, and what is usual around them."""
    at = pl.coalesce(pl.col("at").dt.epoch("us") / 1e6, "elapsed_s")
    rows = steps.with_row_index("row").filter(pl.col(name).is_not_null())
    usual = pl.col(name).rolling_median(_WINDOW, min_samples=1, center=True).over("segment")
    return rows.select(
        "row", *_KEY, value=name, gap=pl.col("step").diff().over("segment"), wall=at.diff().over("segment"), usual=usual
    ).with_columns(long=(pl.col("value") > _LONG * pl.col("usual")) & (pl.col("gap") > 1).fill_null(False))


def _is_mean(own: str) -> bool:
    """True when the name says that the time is a mean over steps."""
    return not {"mean", "per"}.isdisjoint(spell(own).replace("/", "_per_").split("_"))


def _once(steps: pl.DataFrame, rows: pl.DataFrame, name: str, lone: pl.Series) -> pl.DataFrame:
    """The rows with what those in `lone` took beyond the usual counted once, not for each of their steps."""
    if not lone.any() or rows.height < _FEW:
        return steps
    mean = pl.col("usual") + (pl.col("value") - pl.col("usual")) / pl.col("gap")
    return _replaced(steps, name, rows.filter(lone).select("row", new=mean))


def _replaced(steps: pl.DataFrame, name: str, new: pl.DataFrame) -> pl.DataFrame:
    joined = steps.with_row_index("row").join(new, on="row", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("new", name).alias(name)).select(steps.columns)


def _lone(rows: pl.DataFrame, done: pl.DataFrame, apart: int) -> pl.Series:
    """Which rows are long because of something that the steps between did not do: it is seen beside them, or comes regularly."""
    seen = rows.select(_KEY).join(done.with_columns(seen=pl.lit(True)), on=_KEY, how="left", maintain_order="left")
    long = rows["long"]
    lone = long & (seen["seen"].fill_null(False) | (rows["value"] > _HUGE * rows["usual"]))
    steps = rows["step"].filter(long)
    if steps.len() < 2:
        return long
    distance = steps.diff().median()
    if not isinstance(distance, float) or distance < 2 * apart:
        return lone
    places = (rows["step"] - steps[0]) % round(distance) == 0
    fit = places & long
    regular = int(fit.sum()) >= _REGULAR * max(int(long.sum()), int(places.sum()))
    return lone | fit if regular else lone


def _as_the_clock_says(rows: pl.DataFrame) -> pl.Series:
    """The long rows, where the rows' clock shows that only one step of each was long; else none."""
    timed = rows.filter(pl.col("long") & (pl.col("wall") > 0))
    each = (timed["value"] * timed["gap"] - timed["wall"]).abs().median()
    once = (timed["value"] + timed["usual"] * (timed["gap"] - 1) - timed["wall"]).abs().median()
    fits = isinstance(each, float) and isinstance(once, float) and once < each
    return rows["long"] & fits
