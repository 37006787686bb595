"""Extra work that may be coming though nothing is sure yet: counted with its odds, and the interval widened by the doubt."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from timeledger.results import Clock, Facts
from timeledger.rows import Rows
from timeledger.schedule import Extra, is_round, round_interval
from timeledger.units import show_seconds

#: How much more often a long stop is a pause than the first of a schedule, where its step tells nothing.
PAUSES_TO_SCHEDULES: Final = 1.5
#: The longest generation cycle thought of, in steps.
MAX_CYCLE: Final = 64
#: A first step this many times the next ones is either a slow start or a generation that serves many steps.
HUGE: Final = 8.0
#: Odds that a huge first step is a generation, before anything else is known: as likely as not.
CYCLE_ODDS: Final = 0.5
#: Odds that periodic work begins late, at the start of a run, and the share of the remaining time that it takes then.
UNSEEN_ODDS: Final = 0.25
UNSEEN_SHARE: Final = 0.12
#: Odds that a scheduled evaluation also comes after the last step.
LAST_ODDS: Final = 0.4


def suspected(clock: Clock, rows: Rows, position: int, total: int) -> Extra | None:
    """Work that may come: stops at round steps, a stop like the first step, or a huge first step that may come again."""
    if any(each.every for each in clock.periodic) or clock.cycle > 1:
        return None
    return (
        _like_the_first(clock, position, total)
        or _round_stops(clock, position, total)
        or _huge_first(rows, position, total)
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
        words = f"No evaluation has been seen; the upper bound allows for one that takes {UNSEEN_SHARE:.0%} of the time to come."
    return [Extra("evaluation", 0.0, 0.0, words, UNSEEN_ODDS * (1 - done) ** 4, most)]


def _counted(times: float, seconds: float, odds: float, words: str, most: float | None = None) -> Extra | None:
    """`times` x `seconds` at the given odds; at `most` times when more may come."""
    if times <= 0 or seconds <= 0:
        return None
    expected = odds * times * seconds
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
    stop = "One long stop" if stops.height == 1 else f"{stops.height} long stops"
    words = f"{stop} at multiples of {every} ({show_seconds(seconds)}) may be evaluations: {times} more are counted with {odds:.0%} odds."
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
    words = (
        f"Steps {', '.join(str(each) for each in at)} took {show_seconds(seconds)} more than the others, as a generation that"
        f" serves {every} steps does: {times} more are counted with {odds:.0%} odds."
    )
    return _counted(times, seconds, odds, words)


def _huge_first(rows: Rows, position: int, total: int) -> Extra | None:
    """A first step many times the next ones, in a log that shows no lengths yet: it may come again with the next generation."""
    timed = rows.pick(np.isfinite(rows.wall_s) & (rows.wall_s > 0))
    if len(timed) < 3 or np.isfinite(timed.len_mean).any() or timed.span[0] > 1 or position >= MAX_CYCLE:
        return None
    slow, fast = float(timed.wall_s[0]), float(np.median(timed.wall_s[1:]))
    if slow < HUGE * fast or float(np.max(timed.wall_s[1:])) > slow / 2:
        return None
    still = CYCLE_ODDS * math.log(MAX_CYCLE / position) / math.log(MAX_CYCLE)
    odds = still / (still + 1 - CYCLE_ODDS)
    times = (total - position) * mean_share(position)
    words = f"The first step took {slow / fast:.0f} times the others: a slow start, or a generation that will come again ({odds:.0%} odds)."
    return _counted(times, slow - fast, odds, words, most=(total - position) / (position + 1))


def mean_share(steps: float) -> float:
    """Expected share of generating steps when none came since the first of `steps`: each doubling of the cycle is as likely."""
    return (1 / steps - 1 / MAX_CYCLE) / math.log(MAX_CYCLE / steps) if steps < MAX_CYCLE else 1 / MAX_CYCLE


def _middle(values: pl.Series) -> float:
    good = values.drop_nulls().drop_nans().to_numpy()
    return float(np.median(good)) if len(good) else 0.0
