"""Times that count on from step to step, under names that say nothing of it: `train_time:52000ms step_avg:43.4ms`.

A time that only rises through the log is no step's. The time of the training as a whole is the run's clock; of any other
part, a step's share is what it rose by. A mean over all steps so far says the same as the clock it was made from.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from parsers.behaviour import ENOUGH, role, unbroken
from parsers.field_names import TIME_WORDS
from parsers.fields import spell
from timeledger.said import say

_KEY: Final = ["segment", "step"]
_WHOLE: Final = TIME_WORDS | {"train", "training", "total", "ms", "s", "info", "stats", "metrics"}
#: A mean over all steps times their number is the clock, give or take this share of the step's number, and this many steps.
_BLUR: Final = 0.02
_COUNTED: Final = 0.6
_CLEARLY: Final = 0.5
#: Two times of one row that differ by at most this share are one clock.
_SAME: Final = 0.05
_MANY: Final = 8
#: Rows of which may be said that a phase in them is longer than they are.
_LATE: Final = 3


def untangled(
    steps: pl.DataFrame, phases: pl.DataFrame, clocks: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The rows and phases with every time that counts on put where it belongs, and what was guessed in doing so.

    `clocks` are the names of times that were found to be the run's clock.
    """
    told: list[str] = []
    for name in clocks:
        steps, phases = _ended(steps, phases, name)
    for name in _rising(steps, phases):
        steps, phases, text = _settle(steps, phases, name)
        told.append(text)
    steps, phases = _without_clocks(steps, phases)
    return steps, phases, told


def without_means(steps: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str]:
    """The rows without the step times of a column where they are means over all steps so far, and the clock is known."""
    if steps[name].null_count() == steps.height or steps["elapsed_s"].null_count() == steps.height:
        return steps, ""
    rows = steps.select(
        "step", value=name, clock="elapsed_s", gap=pl.col("step").diff().over("segment"),
        gain=pl.col("elapsed_s").diff().over("segment"),
    )  # fmt: skip
    if not _is_mean(rows["clock"], rows["value"], rows["step"]):
        return steps, ""
    summed = (pl.col("value") * pl.col("gap")).fill_null(0.0).cum_sum()
    off = rows.with_columns(summed=summed, moved=pl.col("gain").fill_null(0.0).cum_sum()).filter(pl.col("clock") > 0)
    as_mean = ((off["value"] * off["step"] - off["clock"]) / off["clock"]).abs().median()
    as_step = ((off["summed"] - off["moved"]) / off["clock"]).abs().median()
    if not (isinstance(as_mean, float) and isinstance(as_step, float) and as_mean < _CLEARLY * as_step):
        return steps, ""  # at an even pace both are the same
    steps = steps.with_columns(pl.lit(None, pl.Float64).alias(name))
    return steps, say("the step time is a mean over all steps so far: the time since the start is taken instead")


def _is_mean(clock: pl.Series, value: pl.Series, step: pl.Series) -> bool:
    """True when clock over value counts the steps (a warm-up may have been left out of both)."""
    rows = pl.DataFrame({"clock": clock, "value": value, "step": step}).drop_nulls()
    rows = rows.filter((pl.col("value") > 0) & (pl.col("step") > 0)).with_columns(n=pl.col("clock") / pl.col("value"))
    if rows.height < ENOUGH - 1 or rows.select(pl.col("step").max() - pl.col("step").min()).item() < ENOUGH:
        return False
    off = pl.col("n") - pl.col("step")
    close = (off - off.median()).abs() <= _COUNTED + _BLUR * pl.col("step")
    return bool(rows.select(close.mean() >= 0.9).item())


def _rising(steps: pl.DataFrame, phases: pl.DataFrame) -> list[str]:
    """Names of phases whose time counts on. Cheap for the many that fall now and then."""
    if phases.height < ENOUGH - 1:
        return []
    gain = pl.col("seconds").diff().over("segment", "name")
    moves = phases.select("name", gain=gain).drop_nulls()
    names = moves.group_by("name", maintain_order=True).agg(
        falls=(pl.col("gain") < 0).mean(), rises=(pl.col("gain") > 0).any(), rows=pl.len()
    )
    # rows that are not in order, or a warm-up that sets the clock back once
    maybe = names.filter(pl.col("rises") & (pl.col("falls") <= 0.02) & (pl.col("rows") >= ENOUGH - 2))["name"].to_list()
    return [name for name in maybe if _counts_on(with_phase(steps, phases, name), name)]


def with_phase(steps: pl.DataFrame, phases: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows with the seconds of one phase as `own`: its name may be that of a column (`reward`)."""
    own = phases.filter(pl.col("name") == name).group_by(_KEY, maintain_order=True).agg(own=pl.col("seconds").first())
    return steps.join(own, on=_KEY, how="left", maintain_order="left")


def _counts_on(rows: pl.DataFrame, name: str) -> bool:
    if _is_mean(rows["own"], rows["step_s"], rows["step"]):
        return True
    # a part of the step may well grow for some steps
    enough = _is_whole(name) or rows["own"].count() >= _MANY
    return enough and role(rows, "own", "step_s") == "elapsed_s"


def _is_whole(name: str) -> bool:
    """True for the time of the training, which may be a step's or the run's."""
    return set(spell(name).replace("/", "_").split("_")) <= _WHOLE


def _settle(steps: pl.DataFrame, phases: pl.DataFrame, name: str) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    rows = with_phase(steps, phases, name)
    rows = rows.with_columns(unbroken(rows, "own"))
    if _is_whole(name) and (steps["elapsed_s"].null_count() == steps.height or _is_clock(rows)):
        filled = rows.with_columns(pl.coalesce("elapsed_s", "own").alias("elapsed_s")).select(steps.columns)
        steps, phases = _ended(filled, phases.filter(pl.col("name") != name), name)
        return steps, phases, say("{name} only rises: read as the time since the start", name=name)
    share = pl.col("own").diff().over("segment") / pl.col("step").diff().over("segment").clip(1)
    shares = rows.filter(pl.col("own").is_not_null()).select(*_KEY, share=share)
    joined = phases.join(shares, on=_KEY, how="left", maintain_order="left")
    mine = pl.col("name") == name
    joined = joined.with_columns(pl.when(mine).then("share").otherwise("seconds").alias("seconds"))
    kept = joined.filter(~mine | pl.col("share").is_not_null()).select(phases.columns)
    return steps, kept, say("{name} only rises: what it rose by is read as the time of the steps between", name=name)


def _is_clock(rows: pl.DataFrame) -> bool:
    off = rows.select(((pl.col("own") - pl.col("elapsed_s")) / pl.col("elapsed_s")).abs().median()).item()
    return off is not None and off <= _SAME


def _ended(steps: pl.DataFrame, phases: pl.DataFrame, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with what a last line tells of the clock, and the phases without it: `wallclock_cap train_time:600038ms`."""
    also = pl.col("name").str.ends_with(f" {name}")
    ends = phases.filter(also)
    return (steps, phases) if ends.is_empty() else (_filled(steps, ends), phases.filter(~also))


def _filled(steps: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """The rows with the clock from these phases, where it goes on from what is known."""
    own = ends.group_by(_KEY, maintain_order=True).agg(end=pl.col("seconds").max())
    rows = steps.join(own, on=_KEY, how="left", maintain_order="left")
    so_far = pl.col("elapsed_s").max().over("segment").fill_null(0.0)
    end = pl.when(pl.col("end") >= so_far).then("end")
    return rows.with_columns(pl.coalesce("elapsed_s", end).alias("elapsed_s")).select(steps.columns)


def _without_clocks(steps: pl.DataFrame, phases: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The phases without those that are the run's clock, which then is known in their rows too."""
    if phases.is_empty() or steps["elapsed_s"].null_count() == steps.height:
        return steps, phases
    placed = phases.join(steps.select(*_KEY, *_PLACE), on=_KEY, how="left", maintain_order="left")
    again = placed.select(_clock_again("seconds").alias("again"))["again"]
    return _filled(steps, phases.filter(again)), phases.filter(~again)


def without_clock(steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows without the times in a column that are the run's clock once more (`train_time` at the very end)."""
    if steps["elapsed_s"].null_count() == steps.height:
        return steps
    again = steps.with_columns(_PLACE).with_columns(pl.when(~_clock_again(name)).then(name).alias(name))
    return again.select(steps.columns)


_SO_FAR: Final = pl.col("elapsed_s").forward_fill().over("segment")
_GAIN: Final = pl.col("elapsed_s").diff().over("segment")
#: The clock at a row or last before it, how much of it the row took at most, and the how-manieth of its session it is.
_PLACE: Final = [
    _SO_FAR.alias("so_far"),
    # a coarse clock may stand still in a row
    pl.max_horizontal(pl.coalesce(_GAIN, 3 * _GAIN.mean().over("segment")), _GAIN.mean().over("segment")).alias("gain"),
    pl.int_range(pl.len()).over("segment").alias("place"),
]


def _clock_again(name: str) -> pl.Expr:
    """A time as long as all that went before, and longer than its own row."""
    longer = (pl.col(name) >= (1 - _SAME) * pl.col("so_far")) & (pl.col(name) > 2 * pl.col("gain"))
    return (longer & (pl.col("place") >= _LATE)).fill_null(False)
