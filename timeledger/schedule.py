"""Extra work to come: evaluations and checkpoints by their schedule, other extra time at the rate seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import polars as pl

from timeledger.results import Clock, Facts, Periodic
from timeledger.said import say
from timeledger.units import show_number, show_seconds

#: Share of the steps between two of them that an announced evaluation is taken to cost before one was seen, and may cost, a
#: fifth more than the dearest (real runs that show it: 0, 0.02, 0.05, 0.06, 0.1, 0.1, 0.14, 0.14, 0.25, 0.3, 0.4 and 0.6).
UNPRICED_SHARE: Final = 0.1
UNPRICED_MOST: Final = 0.72
#: Steps that a single one after the last step is taken to cost, and may cost.
UNPRICED_STEPS: Final = 2.0
UNPRICED_MOST_STEPS: Final = 12.0
UNPRICED_ODDS: Final = 0.1
#: Work that comes less often than this, by the rate seen, is not expected.
_LEAST_TIMES: Final = 0.05
Work = Literal["evaluation", "checkpoint", "unknown"]


@dataclass(frozen=True, slots=True)
class Extra:
    """Extra seconds to come of one kind, how unsure, and the reason in words.

    Where it is not even sure that the work comes, `odds` are below 1, `seconds` are the expected ones and `most_s`
    those if it does come (none if it does not).
    """

    kind: Work
    seconds: float
    sd_s: float
    words: str
    odds: float = 1.0
    most_s: float = 0.0

    def reach_s(self, share: float) -> float:
        """How far quantile `share` lies from the expected seconds, by the doubt whether the work comes at all."""
        if self.odds >= 1:
            return 0.0
        if share > 0.5:
            return (self.most_s - self.seconds) * min(1.0, self.odds / (1 - share))
        return -self.seconds * min(1.0, (1 - self.odds) / share)


def extras_to_come(clock: Clock, facts: Facts, position: int, total: int) -> tuple[Extra, ...]:
    """Known extra work between `position` and `total`."""
    known = [_single(each, clock, position) for each in with_facts(clock.periodic, facts)]
    found = [_scheduled(each, position - _pending(each, clock, position), total, clock.step_s) for each in known]
    return tuple(each for each in found if each is not None and each.seconds > 0)


def _pending(each: Periodic, clock: Clock, position: int) -> int:
    """1 where work is due at the very step the run stands at and nothing shows that it is over: it still comes."""
    if not each.every or not each.count or position % each.every or clock.steps.is_empty():
        return 0
    paid = clock.steps.filter(pl.col("kind") == {"unknown": "periodic"}.get(each.kind, each.kind))["step"]
    # where it was always paid in the step after, its own row cannot have shown it yet
    return int(len(paid) > 0 and paid[-1] < position and bool(((paid % each.every) != 0).all()))


def _single(each: Periodic, clock: Clock, position: int) -> Periodic:
    """Work without a known interval: what was seen after the first step; seen at a round step and its multiples, that is it."""
    if each.every is not None or each.known_from == "residuals":
        return each
    # What came with the first step (a validation before training) is no schedule.
    rows = clock.steps.filter((pl.col("kind") == each.kind) & (pl.col("step") > (clock.first_step or 1)))
    each = replace(each, count=min(each.count, rows.height))
    if rows.is_empty():
        return each
    every = round_interval(rows["step"].to_list(), rows["span"].to_list(), position)
    return replace(each, every=every) if every else each


def round_interval(steps: list[int], spans: list[int], position: int) -> int | None:
    """The round interval (100, 250, ...) at whose every multiple so far something came, and nowhere else; None if none."""
    first, width = steps[0], max(spans[0], 1)
    # What comes after a row was written is paid in the next row, so the step may lie just before its row.
    every = next((at for at in range(first, max(first - width - 1, 0), -1) if is_round(at)), None)
    if every is None or position // every not in {len(steps), len(steps) + (position % every < width)}:
        return None
    return every if all(0 <= step - k * every <= width for k, step in enumerate(steps, start=1)) else None


def is_round(step: int) -> bool:
    """True for steps people choose as an interval: 10, 20, 25, 50, 100, 200, 250, 500, 1000, ..."""
    if step < 10:
        return False
    unit = 10 ** (len(str(step)) - 1)
    return step in {unit, 2 * unit, 5 * unit, 5 * unit // 2}


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


def _scheduled(each: Periodic, position: int, total: int, step_s: float | None) -> Extra | None:
    """What a schedule still costs. Work that is announced but has not been seen is priced in usual steps, and widely."""
    times = times_to_come(each, position, total)
    if times < _LEAST_TIMES:
        return None
    how = say("at the rate seen")
    if each.every or each.at_end:
        how = say("every {steps} steps", steps=each.every) if each.every else say("after the last step")
    word = {
        "evaluation": say("{times} evaluations", times=f"{round(times, 1):g}"),
        "checkpoint": say("{times} checkpoints", times=f"{round(times, 1):g}"),
        "unknown": say("{times} slow steps", times=f"{round(times, 1):g}"),
    }[each.kind]
    if each.seconds is None:
        if step_s is None or each.kind != "evaluation" or not (each.every or each.at_end):
            return None
        steps = UNPRICED_SHARE * each.every if each.every else UNPRICED_STEPS
        most = UNPRICED_MOST * each.every if each.every else UNPRICED_MOST_STEPS
        seconds = times * steps * step_s
        lack = say("not timed in this log") if each.count else say("none seen yet")
        words = say(
            "{work} to come ({how}; {lack}, taken as {steps} steps each): {time}.",
            work=word, how=how, lack=lack, steps=show_number(steps, 2), time=show_seconds(seconds),
        )  # fmt: skip
        return Extra(each.kind, seconds, 0.5 * seconds, words, UNPRICED_ODDS, times * most * step_s)
    seconds = times * each.seconds
    sure = 0.1 + 0.25 / max(each.count, 1) ** 0.5 if each.every else 0.5
    words = say(
        "{work} to come ({how}, {each} each): {time}.",
        work=word, how=how, each=show_seconds(each.seconds), time=show_seconds(seconds),
    )  # fmt: skip
    return Extra(each.kind, seconds, sure * seconds, words)
