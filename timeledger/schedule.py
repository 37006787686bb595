"""Extra work to come: evaluations and checkpoints by their schedule, other extra time at the rate seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from timeledger.results import Clock, Facts, Periodic
from timeledger.units import show_seconds


#: How much more often a single long stop is a pause than the first of a schedule, where the step tells nothing.
PAUSES_TO_SCHEDULES: Final = 1.5


Work = Literal["evaluation", "checkpoint", "unknown"]


@dataclass(frozen=True, slots=True)
class Extra:
    """Extra seconds to come of one kind, how unsure, and the reason in words."""

    kind: Work
    seconds: float
    sd_s: float
    words: str


def extras_to_come(clock: Clock, facts: Facts, position: int, total: int) -> tuple[Extra, ...]:
    """All extra work between `position` and `total`."""
    known = with_facts(clock.periodic, facts)
    found = [_scheduled(each, position, total) for each in known]
    found += [] if any(each.every for each in known) else [_perhaps(clock, position, total)]
    return tuple(each for each in found if each is not None and (each.seconds > 0 or each.sd_s > 0))


def with_facts(periodic: tuple[Periodic, ...], facts: Facts) -> tuple[Periodic, ...]:
    """The periodic work with what a person typed put over what was found."""
    known: dict[Work, Periodic] = {each.kind: each for each in periodic}
    typed: tuple[tuple[Work, int | None, float | None], ...]
    typed = (("evaluation", facts.eval_every, facts.eval_s), ("checkpoint", facts.save_every, facts.save_s))
    for kind, every, seconds in typed:
        old = known.get(kind)
        at_end = bool(facts.eval_at_end) if kind == "evaluation" and facts.eval_at_end is not None else None
        if every is None and seconds is None and at_end is None:
            continue
        known[kind] = Periodic(
            kind,
            every if every is not None else old.every if old else None,
            seconds if seconds is not None else old.seconds if old else None,
            old.count if old else 0,
            "given",
            at_end if at_end is not None else old.at_end if old else False,
        )
    return tuple(known.values())


def times_to_come(each: Periodic, position: int, total: int) -> float:
    """How many times it still comes."""
    if each.every is not None and each.every > 0:
        count = total // each.every - position // each.every
        return count + (1 if each.at_end and total % each.every else 0)
    if each.at_end:
        return 1.0
    return each.count / max(position, 1) * (total - position)


def _scheduled(each: Periodic, position: int, total: int) -> Extra | None:
    if each.seconds is None:
        return None
    times = times_to_come(each, position, total)
    if times <= 0:
        return None
    seconds = times * each.seconds
    sure = 0.15 if each.every else 0.5
    how = f"every {each.every} steps" if each.every else "after the last step" if each.at_end else "at the rate seen"
    word = {"evaluation": "evaluations", "checkpoint": "checkpoints", "unknown": "slow steps"}[each.kind]
    words = f"{round(times, 1):g} {word} to come ({how}, {show_seconds(each.seconds)} each): {show_seconds(seconds)}."
    return Extra(each.kind, seconds, sure * seconds, words)


def _perhaps(clock: Clock, position: int, total: int) -> Extra | None:
    """Long stops at 100, 200, ... are more likely evaluations than pauses, even while there are too few to be sure.

    They are counted with the odds that stops at such steps are no chance: few rows hold a step as round as these.
    """
    stops = clock.steps.filter(pl.col("kind") == "pause")
    if not 1 <= stops.height <= 4:
        return None
    every = _suspected(stops["step"].to_list(), stops["span"].to_list(), position)
    if every is None:
        return None
    seconds = float(stops["extra_s"].median() or 0.0)
    span = max(float(stops["span"].max() or 1), 1.0)
    chance = sum(is_round(at) for at in range(1, min(position, 5000) + 1)) * span / max(min(position, 5000), 1)
    chance *= (span / every) ** (stops.height - 1)
    odds = 1 / (1 + PAUSES_TO_SCHEDULES * min(chance, 1.0))
    times = total // every - position // every
    words = (
        f"{stops.height} long stop{'s' if stops.height > 1 else ''} at multiples of {every} ({show_seconds(seconds)}) may be"
        f" evaluations: {times} more are counted with {odds:.0%} odds."
    )
    expected = odds * times * seconds
    return Extra("unknown", expected, times * seconds * (odds * (1 - odds)) ** 0.5 + 0.2 * expected, words)


def _suspected(steps: list[int], spans: list[int], position: int) -> int | None:
    """The round interval at whose every multiple so far there was a long stop, and nowhere else; None when there is none."""
    first, width = steps[0], max(spans[0], 1)
    # A stop after a row was written is paid in the next row, so the step may lie just before its row.
    every = next((at for at in range(first, max(first - width - 1, 0), -1) if is_round(at)), None)
    if every is None or position // every not in {len(steps), len(steps) + (position % every < width)}:
        return None
    fits = all(0 <= step - k * every <= width for k, step in enumerate(steps, start=1))
    return every if fits else None


def is_round(step: int) -> bool:
    """True for steps people choose as an interval: 10, 20, 25, 50, 100, 200, 250, 500, 1000, ..."""
    if step < 10:
        return False
    unit = 10 ** (len(str(step)) - 1)
    return step in {unit, 2 * unit, 5 * unit, 5 * unit // 2}
