"""Extra work that may be coming though nothing is sure yet: counted with its odds, and the interval widened by the doubt."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from timeledger.results import Clock, Facts
from timeledger.rows import Array, Rows
from timeledger.said import commas, say
from timeledger.schedule import Extra, is_round, round_interval
from timeledger.units import show_seconds

#: How much more often a long stop is a pause than the first of a schedule, where its step tells nothing.
PAUSES_TO_SCHEDULES: Final = 1.5
#: The longest generation cycle thought of, in steps.
MAX_CYCLE: Final = 64
#: Lengths of generation cycles, in steps (gradient accumulation and passes are nearly always powers of two).
CYCLES: Final = (2, 4, 8, 16, 32, MAX_CYCLE)
#: A first step this many times the next ones is either a slow start or a generation that serves many steps.
HUGE: Final = 8.0
#: Odds that a huge first step is a generation, before anything else is known: as likely as not.
CYCLE_ODDS: Final = 0.5
#: Steps whose times spread by less than this share are alike, once there are a few; and how much that says.
STEADY: Final = 0.05
STEADY_ROWS: Final = 4
STEADY_RATIO: Final = 4.0
#: Work at odds above this is counted whole: its middle is that it comes.
LIKELY: Final = 0.75
#: Work that no line has shown yet (evaluations that begin late, the last one, a long save at the end): the share of the
#: remaining time that it may take, the odds that it does, how much higher they are at the start of a run, and how they fade.
#: (Counted on about 200 real runs of 80 repositories: one in ten takes 10, 9, 5, 3, 3 and 3 % of what remains, or more, at
#: 2, 5, 10, 25, 50 and 75 % of the run; one in twenty 15, 15, 10, 8, 8 and 12 %.)
UNSEEN_SHARE: Final = 0.16
UNSEEN_ODDS: Final = 0.03
UNSEEN_EARLY: Final = 0.2
UNSEEN_FADES: Final = 4
#: Odds that a scheduled evaluation also comes after the last step.
LAST_ODDS: Final = 0.4


def suspected(clock: Clock, rows: Rows, position: int, total: int, generates: bool = False) -> Extra | None:
    """Work that may come: stops at round steps, a stop like the first step, or a huge first step that may come again."""
    if any(each.every for each in clock.periodic) or clock.cycle > 1:
        return None
    return (
        _like_the_first(clock, position, total)
        or _round_stops(clock, position, total)
        or _huge_first(rows, position, total, generates)
    )


def unseen(
    clock: Clock, facts: Facts, known: tuple[Extra, ...], step_s: float, position: int, total: int
) -> list[Extra]:
    """Doubts that reach the upper bound only: an evaluation schedule that has not begun, or one more evaluation at the end."""
    if facts.eval_every is not None or facts.eval_at_end is not None:
        return []
    for each in clock.periodic:
        if each.kind != "checkpoint" and each.every and each.seconds:
            open_end = not each.at_end and total % each.every != 0
            return [Extra("evaluation", 0.0, 0.0, "", LAST_ODDS, each.seconds)] if open_end else []
    if any(each.kind != "checkpoint" for each in known) or any(each.kind == "evaluation" for each in clock.periodic):
        return []
    done = position / total
    most = UNSEEN_SHARE * step_s * (total - position)
    words = ""
    if done < 0.3:
        words = say(
            "No evaluation has been seen since training began; the upper bound allows for one that takes {share} of the time to come.",
            share=f"{UNSEEN_SHARE:.0%}",
        )
    odds = UNSEEN_ODDS + UNSEEN_EARLY * (1 - done) ** UNSEEN_FADES
    return [Extra("evaluation", 0.0, 0.0, words, odds, most)]


def _counted(times: float, seconds: float, odds: float, words: str, most: float | None = None) -> Extra | None:
    """`times` x `seconds` at the given odds; at `most` times when more may come."""
    if times <= 0 or seconds <= 0:
        return None
    expected = (odds if odds < LIKELY else 1.0) * times * seconds
    return Extra("unknown", expected, 0.2 * expected, words, odds, (most or times) * seconds)


def _round_stops(clock: Clock, position: int, total: int) -> Extra | None:
    """Long stops at 100, 200, ... are more likely evaluations than pauses: few rows hold a step as round as these."""
    stops = clock.steps.filter(pl.col("kind") == "pause")
    if not 1 <= stops.height <= 4:
        return None
    every = round_interval(stops["step"].to_list(), stops["span"].to_list(), position)
    if every is None:
        return None
    span = max(float(stops["span"].to_numpy().max()), 1.0)
    seen = min(position, 5000)
    chance = sum(is_round(at) for at in range(1, seen + 1)) * span / max(seen, 1) * (span / every) ** (stops.height - 1)
    odds = 1 / (1 + PAUSES_TO_SCHEDULES * min(chance, 1.0))
    seconds, times = _middle(stops["extra_s"]), total // every - position // every
    count = say("One long stop") if stops.height == 1 else say("{count} long stops", count=stops.height)
    words = say(
        "{stops} at multiples of {every} ({time}) may be evaluations: {times} more are counted with {odds} odds.",
        stops=count, every=every, time=show_seconds(seconds), times=times, odds=f"{odds:.0%}",
    )  # fmt: skip
    return _counted(times, seconds, odds, words)


def _like_the_first(clock: Clock, position: int, total: int) -> Extra | None:
    """A stop as long as the slow first step: both may be generations, each of which serves the steps up to the next."""
    steps = clock.steps
    stops = steps.filter(pl.col("kind") == "pause")
    first = steps.head(1)
    if (
        not 1 <= stops.height <= 4
        or first.is_empty()
        or first["kind"][0] != "warmup"
        or clock.warmup_steps != first["span"][0]
    ):
        return None
    slow, seconds = float(first["extra_s"][0] or 0.0), _middle(stops["extra_s"])
    at = [int(first["step"][0]), *(int(step) for step in stops["step"])]
    apart = set(np.diff(at).tolist())
    if len(apart) > 1 or not 0.5 < seconds / max(slow, 1e-9) < 2:
        return None
    every = int(apart.pop())
    times = (total - at[0]) // every - (position - at[0]) // every
    odds = 0.8 if stops.height == 1 else 0.95
    words = say(
        "Steps {steps} took {time} more than the others, as a generation that serves {every} steps does: "
        "{times} more are counted with {odds} odds.",
        steps=commas(str(each) for each in at), time=show_seconds(seconds), every=every, times=times, odds=f"{odds:.0%}",
    )  # fmt: skip
    return _counted(times, seconds, odds, words)


def _huge_first(rows: Rows, position: int, total: int, generates: bool) -> Extra | None:
    """A first step many times the next ones, in a log that shows no lengths yet: it may come again with the next generation.

    A slow start is the rarer the more it cost. Steps that generate answers differ in time; where the trainer must
    generate and the steps after the first are all alike, the answers of all of them came from the first.
    """
    timed = rows.pick(np.isfinite(rows.wall_s) & (rows.wall_s > 0))
    if len(timed) < 2 or np.isfinite(timed.len_mean).any() or timed.span[0] > 1 or position > MAX_CYCLE:
        return None
    slow, later = float(timed.wall_s[0]), timed.wall_s[1:]
    fast = float(np.median(later))
    if slow < HUGE * fast or float(np.max(later)) > slow / 2:
        return None
    before = CYCLE_ODDS / (1 - CYCLE_ODDS) * slow / (HUGE * fast)
    now = before * still_open(position, total) * (_steadiness(later, fast) if generates else 1.0)
    odds = now / (1 + now)
    times = math.fsum(weight * ((total - 1) // cycle) for cycle, weight in open_cycles(position, total))
    words = say(
        "The first step took {ratio} times the others: a slow start, or a generation that will come again ({odds} odds).",
        ratio=f"{slow / fast:.0f}", odds=f"{odds:.0%}",
    )  # fmt: skip
    return _counted(times, slow - fast, odds, words, most=(total - 1) // open_cycles(position, total)[0][0])


def _steadiness(later: Array, fast: float) -> float:
    """How much likelier these times are without a generation in each of them."""
    if len(later) < STEADY_ROWS:
        return 1.0
    return STEADY_RATIO if float(np.std(later)) < STEADY * fast else 1 / STEADY_RATIO


def open_cycles(steps: float, total: float) -> tuple[tuple[int, float], ...]:
    """Lengths of a generation cycle that its first `steps` steps leave possible, and their weights: short ones are commoner.

    Nobody plans a run of `total` steps that generates only once, so that cycles as long as the plan are left out.
    """
    known = [(cycle, cycle**-0.5) for cycle in _planned(total) if cycle >= steps] or [(MAX_CYCLE, 1.0)]
    whole = math.fsum(weight for _, weight in known)
    return tuple((cycle, weight / whole) for cycle, weight in known)


def _planned(total: float) -> list[int]:
    return [cycle for cycle in CYCLES if cycle < total] or [CYCLES[0]]


def still_open(steps: float, total: float) -> float:
    """The share of generation cycles of such a plan that are at least `steps` long."""
    every = _planned(total)
    return math.fsum(cycle**-0.5 for cycle in every if cycle >= steps) / math.fsum(cycle**-0.5 for cycle in every)


def likely_cycles(steps: float, total: float) -> tuple[int, int, int]:
    """The 10 %, 50 % and 90 % quantiles of the length of a generation cycle when none came since the first of `steps`."""
    known = open_cycles(steps, total)
    below = np.cumsum([weight for _, weight in known])
    short, middle, long = (known[int(np.searchsorted(below, share - 1e-9))][0] for share in (0.1, 0.5, 0.9))
    return short, middle, long


def _middle(values: pl.Series) -> float:
    good = values.drop_nulls().drop_nans().to_numpy()
    return float(np.median(good)) if len(good) else 0.0
