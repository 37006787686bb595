"""Times whose role only their behaviour tells: `time 33.1s` of each step, or `628s` since the start?

Readers keep such values in `extra` under a tagged name while they read; `settle` looks at all rows and moves each of them
to `step_s` or `elapsed_s`. It depends on the rows alone, never on how the bytes were cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from parsers.fields import Meaning
from timeledger.run import Note, Run
from timeledger.said import say

_TAG: Final = "\0clock:"
#: A time that its name takes for one step's.
STEP: Final = f"{_TAG}step_s:"
#: A time on a line tagged as training: of the update, where other phases are timed, else of the step.
PART: Final = f"{_TAG}part:"
#: The rate that a progress bar shows beside the metrics of a row (a smoothed mean).
BAR_RATE: Final = f"{_TAG}mean:"
#: Seconds since midnight, from log prefixes that hold a time of day and no date.
DAY_CLOCK: Final = f"{_TAG}day:"
_DAY: Final = 86_400.0
_ENOUGH: Final = 4
#: A clock may be set back now and then (a resume); a time that falls more often is of single steps.
_RESETS: Final = 0.2
#: A running mean times the step count is a clock good to its last digit times the steps; it is used where it has moved by this many digits.
_STEADY: Final = 20.0


def key(name: str, meaning: Meaning) -> str:
    """The tagged name under which a value waits in `extra`. `meaning.name` is what the key says on its own."""
    role = "mean" if meaning.kind == "mean_step" else meaning.name
    return f"{_TAG}{role}:{name}"


def settle(run: Run) -> Run:
    """The run with every waiting time put where its behaviour says it belongs."""
    run = _spaced(_percent(run))
    waiting = [name for name in run.extra.columns if name.startswith(_TAG)]
    if not waiting:
        return run
    if parts := [name for name in waiting if name.startswith(PART)]:
        run = _updates(run, parts)
        waiting = [name for name in run.extra.columns if name.startswith(_TAG)]
    steps = _beside(run.steps, run.extra, waiting)
    told = []
    for name in waiting:
        steps, text = _settle_one(steps, name)
        told += [text] if text else []
    extra = run.extra.drop(waiting)
    names = [column for column in extra.columns if column not in {"segment", "step"}]
    extra = extra.filter(~pl.all_horizontal(pl.col(names).is_null())) if names else extra.clear()
    return replace(
        run, steps=steps.drop(waiting), extra=extra, notes=run.notes + tuple(_note(run, text) for text in told)
    )


def _spaced(run: Run) -> Run:
    """The run with the step times that its rows name, where rows are several steps apart."""
    if run.steps["step_s"].null_count() == run.steps.height:
        return run
    steps, text = _between_rows(run.steps, "step_s", "step_time")
    return replace(run, steps=steps, notes=(*run.notes, _note(run, text))) if text else run


def _beside(steps: pl.DataFrame, extra: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The steps with these columns of the other metrics, which mostly have the same rows."""
    place = ["segment", "step"]
    if steps.height == extra.height and steps.select(place).equals(extra.select(place)):
        return steps.with_columns(extra.select(names))
    return steps.join(extra.select(*place, *names), on=place, how="left", maintain_order="left")


def _updates(run: Run, names: list[str]) -> Run:
    """The run with the times of lines tagged as training put where other tagged lines say they belong."""
    own_names = [f" {name.removeprefix(PART)}" for name in names]
    if not any(str(name).endswith(each) for name in run.phases["name"].unique() for each in own_names):
        return replace(run, extra=run.extra.rename({name: f"{STEP}{name.removeprefix(PART)}" for name in names}))
    own = [
        run.extra.select(
            "segment",
            "step",
            phase=pl.lit("update"),
            name=pl.lit(f"train {name.removeprefix(PART)}"),
            seconds=pl.col(name),
        ).drop_nulls("seconds")
        for name in names
    ]
    added = pl.concat([run.phases, *own], how="diagonal_relaxed").select(run.phases.columns)
    return replace(run, phases=added, extra=run.extra.drop(names))


def _note(run: Run, text: str) -> Note:
    return Note("guessed", 0, text, 1, run.info.sources[0] if run.info.sources else "")


def _settle_one(steps: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str]:
    """Put one waiting time where it belongs; the text says what was guessed ("" when its name said so already)."""
    _, role, own = name.split(":", 2)
    if role == "day":
        return _date(steps, name)
    if role == "mean":
        text = say(
            "{name} is a running mean: the first row's step time, from then on the time since the start",
            name=own or "s/step",
        )
        return _spread_mean(steps, name), text
    found = _role(steps, name, role)
    if found == "elapsed_s":
        steps = steps.with_columns(_unbroken(steps, name).alias(name))
        apart = ""
    else:
        steps, apart = _between_rows(steps, name, own)
    steps = steps.with_columns(pl.coalesce(found, name).alias(found))
    if found == role:
        return steps, apart
    if found == "elapsed_s":
        return steps, say("{name} only rises: read as the time since the start", name=own)
    return steps, say("{name} falls: read as the time of one step", name=own)


def _between_rows(steps: pl.DataFrame, name: str, own: str) -> tuple[pl.DataFrame, str]:
    """A time that stands in every k-th step's row is one step's, or that of all steps since the row before.

    The rows' own clock tells which; without one it is read as one step's, and that is noted as a guess.
    """
    rows = steps.with_row_index("row").filter(pl.col(name).is_not_null())
    at = pl.coalesce(pl.col("at").dt.epoch("us") / 1e6, "elapsed_s")
    rows = rows.select("row", value=name, gap=pl.col("step").diff().over("segment"), wall=at.diff().over("segment"))
    usual = rows["gap"].median()
    if not isinstance(usual, float) or usual <= 1:
        return steps, ""
    timed = rows.filter((pl.col("wall") > 0) & (pl.col("gap") > 0))
    if timed.height < _ENOUGH - 1:
        return steps, say(
            "{name} stands in rows {steps} steps apart: read as the time of one step",
            name=own or "time",
            steps=f"{usual:g}",
        )
    of_all = (timed["value"] - timed["wall"]).abs().median()
    of_one = (timed["value"] * timed["gap"] - timed["wall"]).abs().median()
    if not (isinstance(of_all, float) and isinstance(of_one, float) and of_all < of_one):
        return steps, ""
    shared = rows.select("row", (pl.col("value") / pl.col("gap").fill_null(round(usual)).clip(1)).alias(name))
    joined = steps.with_row_index("row").drop(name).join(shared, on="row", how="left", maintain_order="left")
    steps = joined.select(steps.columns)
    return steps, say("{name} is the time of all steps since the row before: shared out among them", name=own or "time")


def _role(steps: pl.DataFrame, name: str, role: str) -> str:
    """`step_s` or `elapsed_s`: by the lines' own time stamps, else by whether the value falls and how it grows."""
    rows = steps.filter(pl.col(name).is_not_null()).select("segment", "step", "at", value=name)
    moves = rows.with_columns(
        gain=pl.col("value").diff().over("segment"),
        gap=pl.col("step").diff().over("segment"),
        wall=pl.col("at").diff().over("segment").dt.total_microseconds() / 1e6,
    ).filter(pl.col("gain").is_not_null())
    if moves.is_empty():
        return role
    falls = (moves["gain"] < 0).sum()
    if falls > _RESETS * moves.height or (falls and role == "step_s"):
        return "step_s"
    timed = moves.filter(pl.col("wall") > 0)
    if timed.height >= _ENOUGH - 1:
        as_clock = (timed["gain"] - timed["wall"]).abs().median()
        as_step = (timed["value"] * timed["gap"] - timed["wall"]).abs().median()
        if isinstance(as_clock, float) and isinstance(as_step, float) and as_clock != as_step:
            return "elapsed_s" if as_clock < as_step else "step_s"
    if role == "elapsed_s" or moves.height < _ENOUGH - 1:
        return role
    return "elapsed_s" if _accumulates(rows, moves) else role


def _unbroken(steps: pl.DataFrame, name: str) -> pl.Series:
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


def _accumulates(rows: pl.DataFrame, moves: pl.DataFrame) -> bool:
    """True when a value that never falls begins near one typical gain: a sum over steps, not a slowly growing time."""
    typical = (moves["gain"] / moves["gap"].clip(1)).median()
    first = rows.group_by("segment", maintain_order=True).first()
    if not isinstance(typical, float) or typical <= 0:
        return False
    done = (first["step"] + 1).clip(1)
    return bool((first["value"] <= 5 * typical * done).all())


def _date(steps: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str]:
    """Times of day as the time since the first of them, where nothing better is known; midnight is where they fall."""
    known = steps[name].drop_nulls().len()
    if known < 2 or steps["elapsed_s"].null_count() < steps.height or steps["at"].null_count() < steps.height:
        return steps, ""
    clock: list[float | None] = []
    days, last, start = 0, None, None
    for value in steps[name].to_list():
        if value is None:
            clock.append(None)
            continue
        days += last is not None and value < last - _DAY / 2
        last = value
        start = value if start is None else start
        clock.append(value + days * _DAY - start)
    elapsed = pl.Series("elapsed_s", clock, dtype=pl.Float64)
    return steps.with_columns(elapsed), say(
        "the lines carry a time of day and no date: read as the time since the first row"
    )


def _spread_mean(steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """A running mean: the step time of a session's first row, and a clock (mean x step) where it is sharp enough."""
    values, rows = steps[name].to_list(), steps["step"].to_list()
    segments, elapsed, first = steps["segment"].to_list(), steps["elapsed_s"].to_list(), steps["step_s"].to_list()
    anchor, last_segment = 0.0, None
    for place, value in enumerate(values):
        if value is None:
            continue
        if segments[place] != last_segment:
            anchor, last_segment = 0.0, segments[place]
            first[place] = value if first[place] is None else first[place]
        clock, blur = value * rows[place], 0.05 * max(rows[place], 1)
        if elapsed[place] is None and clock - anchor >= _STEADY * blur:
            elapsed[place] = anchor = clock
    return steps.with_columns(
        pl.Series("elapsed_s", elapsed, dtype=pl.Float64), pl.Series("step_s", first, dtype=pl.Float64)
    )


def _percent(run: Run) -> Run:
    """An accuracy column with values over 1 was written in per cent without a sign."""
    acc = run.steps["acc"]
    top = acc.max()
    if not isinstance(top, float) or top <= 1.0 + 1e-9:
        return run
    steps = run.steps.with_columns((pl.col("acc") / 100).alias("acc"))
    note = _note(run, say("the accuracy goes over 1: read as per cent"))
    return replace(run, steps=steps, notes=(*run.notes, note))
