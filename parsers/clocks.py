"""Times whose role only their behaviour tells: `time 33.1s` of each step, or `628s` since the start?

Readers keep such values in `extra` under a tagged name while they read; `settle` looks at all rows and moves each of them
to `step_s` or `elapsed_s`. It depends on the rows alone, never on how the bytes were cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from parsers.behaviour import role, unbroken
from parsers.calls import told_apart
from parsers.cumulative import untangled, without_clock, without_means
from parsers.evaluations import told_at
from parsers.fields import Meaning
from parsers.sampled import between_rows
from parsers.wholes import apart, once
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
#: Seconds since midnight or since 1970 on the last line before a row that carries no time.
NEAR_CLOCK: Final = f"{_TAG}near:"
#: Times that were not written on the rows themselves.
_MOMENTS: Final = {"day", "near"}
_DATED: Final = 1e8
_DAY: Final = 86_400.0
#: Lines before the rows tell the time where they do so for this share of them.
_NEARLY: Final = 0.8
#: A running mean times the step count is a clock good to its last digit times the steps; it is used where it has moved by this many digits.
_STEADY: Final = 20.0


def key(name: str, meaning: Meaning) -> str:
    """The tagged name under which a value waits in `extra`. `meaning.name` is what the key says on its own."""
    role = "mean" if meaning.kind == "mean_step" else meaning.name
    return f"{_TAG}{role}:{name}"


def settle(run: Run, step_key: str = "step_time") -> Run:
    """The run with every waiting time put where its behaviour says it belongs; `step_key` is what the log calls `step_s`."""
    run = _percent(run)
    waiting = _waiting(run)
    if parts := [name for name in waiting if name.startswith(PART)]:
        run = _updates(run, parts)
        waiting = _waiting(run)
    steps, told = _beside(run.steps, run.extra, waiting), []
    roles = {name: _role_of(steps, name) for name in waiting}
    running = [name for name in waiting if roles[name] not in {"step_s", "near"}]
    for name in running:
        steps, text = _settle_one(steps, name, roles[name])
        told.append(text)
    steps, phases, texts = untangled(
        steps, run.phases, [own_name(name) for name in running if roles[name] == "elapsed_s"]
    )
    steps, phases, text = apart(steps, phases)
    told.append(text)
    done = _done(run)
    singles = {"step_s": step_key} | {name: own_name(name) for name in waiting if roles[name] == "step_s"}
    for name, own in singles.items():
        steps, text = _of_steps(steps, name, own, done)
        told.append(text)
        if name != "step_s":
            told.append("" if name.startswith(STEP) else say("{name} falls: read as the time of one step", name=own))
    steps = steps.with_columns(pl.coalesce("step_s", *(name for name in singles if name != "step_s")).alias("step_s"))
    phases, text = told_apart(steps, once(phases))
    told.append(text)
    if NEAR_CLOCK in waiting and phases.is_empty() and run.progress.is_empty():
        steps, text = _date(steps, NEAR_CLOCK)
        told.append(text)
    notes = tuple(_note(run, text) for text in [*told, *texts] if text)
    extra = _without(run.extra, waiting)
    return replace(run, steps=steps.drop(waiting), phases=phases, extra=extra, notes=run.notes + notes)


def _waiting(run: Run) -> list[str]:
    return [name for name in run.extra.columns if name.startswith(_TAG)]


def own_name(name: str) -> str:
    """The log's own name of a waiting time."""
    return name.split(":", 2)[2]


def _role_of(steps: pl.DataFrame, name: str) -> str:
    told = name.split(":", 2)[1]
    return told if told in {"mean", *_MOMENTS} else role(steps, name, told)


def _of_steps(steps: pl.DataFrame, name: str, own: str, done: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows with the step times of one name as means over the rows' steps."""
    if steps[name].null_count() == steps.height:
        return steps, ""
    steps, text = without_means(without_clock(steps, name), name)
    return (steps, text) if text else between_rows(steps, name, own, done)


def _done(run: Run) -> pl.DataFrame:
    """`segment` and `step` of each evaluation and checkpoint."""
    events = run.events.filter(pl.col("kind").is_in(["evaluation", "checkpoint"])).select("segment", "step")
    return pl.concat([events, told_at(run)]).drop_nulls().unique()


def _without(extra: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The other metrics without these columns, and without rows that hold nothing else."""
    if not names:
        return extra
    extra = extra.drop(names)
    left = [column for column in extra.columns if column not in {"segment", "step"}]
    return extra.filter(~pl.all_horizontal(pl.col(left).is_null())) if left else extra.clear()


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


def _settle_one(steps: pl.DataFrame, name: str, found: str) -> tuple[pl.DataFrame, str]:
    """Put one time that counts on where it belongs; the text says what was guessed ("" when its name said so already)."""
    if found in _MOMENTS:
        return _date(steps, name)
    own = own_name(name)
    if found == "mean":
        text = say(
            "{name} is a running mean: the first row's step time, from then on the time since the start",
            name=own or "s/step",
        )
        return _spread_mean(steps, name), text
    steps = steps.with_columns(pl.coalesce("elapsed_s", unbroken(steps, name)).alias("elapsed_s"))
    surprising = name.startswith(STEP)
    return steps, say("{name} only rises: read as the time since the start", name=own) if surprising else ""


def _date(steps: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str]:
    """Times of day as the time since the first of them, where nothing better is known; midnight is where they fall."""
    near = name == NEAR_CLOCK
    others = ["elapsed_s", "at", *(["step_s"] if near else [])]
    known = steps[name].count()
    if known < 2 or (near and known < _NEARLY * steps.height) or any(steps[other].count() for other in others):
        return steps, ""
    dated = bool(steps.select((pl.col(name) > _DATED).mean() > 0.5).item())
    clock: list[float | None] = []
    days, last, start = 0, None, None
    for value in steps[name].to_list():
        if value is None or (value > _DATED) is not dated:
            clock.append(None)
            continue
        days += not dated and last is not None and value < last - _DAY / 2
        last = value
        start = value if start is None else start
        clock.append(value + days * _DAY - start)
    elapsed = pl.Series("elapsed_s", clock, dtype=pl.Float64)
    if near:
        text = say("the rows carry no time: the one on the line before each is taken, as the time since the first row")
    else:
        text = say("the lines carry a time of day and no date: read as the time since the first row")
    return steps.with_columns(elapsed), text


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
