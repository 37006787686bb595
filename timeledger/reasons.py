"""The projection's reasons and warnings in words, each with the numbers it rests on."""

from __future__ import annotations

import math
from typing import Final

from timeledger.forecast import Forecast
from timeledger.results import Clock, Growth
from timeledger.said import say
from timeledger.units import show_number, show_seconds

#: The level must have moved this much against all ordinary steps before it is worth a sentence.
_MOVED: Final = 0.03
#: Answers are said to grow when their trend is this many standard errors: many runs are looked at, and most are flat.
_SURE: Final = 3.5
#: Timed rows below which a drift cannot be told from noise.
ENOUGH_ROWS: Final = 4


def reasons(made: Forecast, clock: Clock, growth: Growth) -> tuple[str, ...]:
    """Why the projection says what it says."""
    level = made.level
    each = show_seconds(made.step_s)
    said = [say("{steps} steps to come at {time} each.", steps=f"{made.steps_left:,}", time=each)]
    if made.steps_left == 1:
        said = [say("One step to come: {time}.", time=each)]
    if abs(level.recent / level.overall - 1) > _MOVED:
        recent, overall = show_seconds(level.recent), show_seconds(level.overall)
        said.append(
            say("The latest steps take {recent}, all ordinary steps so far {overall}.", recent=recent, overall=overall)
        )
    if made.open_cycle:
        said.append(
            say(
                "Only the first step has generated answers so far: the cost of a whole generation cycle is not known yet."
            )
        )
    said += [each.words for each in made.extras if each.words]
    said += _length(made, growth)
    if clock.warmup_steps:
        said.append(_slow_start(clock))
    if clock.lost_s:
        lost = show_seconds(clock.lost_s)
        if any(each.kind == "unknown" and 0 < each.odds < 1 and each.seconds > 0 for each in made.extras):
            said.append(say("{time} of pauses and gaps have passed.", time=lost))  # some of them may come again
        else:
            said.append(say("{time} of pauses and gaps have passed and are not expected again.", time=lost))
    if clock.cycle > 1:
        said.append(_cycles(clock))
    return tuple(said)


def _cycles(clock: Clock) -> str:
    if clock.generates:
        return say("One generation serves {steps} steps; the rate is that of whole cycles.", steps=f"{clock.cycle}")
    return say("One step in {steps} is slow; the rate is that of whole cycles.", steps=f"{clock.cycle}")


def _slow_start(clock: Clock) -> str:
    steps, time = clock.warmup_steps, show_seconds(clock.warmup_s)
    if steps == 1:
        if not clock.warmup_s:
            return say("The first step was a slow start and is left out of the rate.")
        return say("The first step was a slow start and is left out of the rate ({time}).", time=time)
    if not clock.warmup_s:
        return say("The first {steps} steps were slow starts and are left out of the rate.", steps=steps)
    return say(
        "The first {steps} steps were slow starts and are left out of the rate ({time}).", steps=steps, time=time
    )


def _length(made: Forecast, growth: Growth) -> list[str]:
    """What the answers' length does to the projection."""
    said: list[str] = []
    pull, limit = made.pull, growth.limit
    changed = growth.growth is not None and abs(math.log(max(growth.growth, 1e-9))) > 0.1
    if changed or pull.rising or pull.falling:
        said.append(growth.sentence)
    found = pull.mid - math.log(pull.what_if)
    if abs(found) > 0.01:
        change = f"{math.exp(found) - 1:+.0%}".replace("-", "−")
        said.append(
            say(
                "Steps to come take {change} on average for their length; on this run's own past, counting that was better.",
                change=change,
            )
        )
    if pull.rising and pull.above > 0.01:
        most = f"{math.exp(pull.mid + pull.above) - 1:.0%}"
        if limit:
            said.append(
                say(
                    "If the answers keep growing up to the limit of {limit} tokens, steps take up to {most} longer: the interval reaches there.",
                    limit=show_number(limit, 4), most=most,
                )
            )  # fmt: skip
        else:
            said.append(
                say(
                    "If the answers keep growing, steps take up to {most} longer: the interval reaches there.",
                    most=most,
                )
            )
    return said


def warnings(made: Forecast, clock: Clock, growth: Growth) -> tuple[str, ...]:
    """What could break the projection."""
    said: list[str] = []
    level = made.level
    if len(made.rows) == 1:
        said.append(say("Only 1 timed row so far: a change of pace could not be seen yet, so the end may move a lot."))
    elif len(made.rows) < ENOUGH_ROWS:
        said.append(
            say(
                "Only {rows} timed rows so far: a change of pace could not be seen yet, so the end may move a lot.",
                rows=len(made.rows),
            )
        )
    if made.starting:
        said.append(
            say("Steps have only got faster so far: the slow start may not be over, and the end may come much earlier.")
        )  # fmt: skip
    before, now = show_seconds(level.overall), show_seconds(level.recent)
    if level.recent / level.overall > 1.15:
        said.append(
            say(
                "The run has become slower: {before} a step over all, {now} now. If this goes on, the end moves.",
                before=before, now=now,
            )
        )  # fmt: skip
    elif level.recent / level.overall < 0.87:
        said.append(
            say(
                "The run has become faster: {before} a step over all, {now} now. If this goes on, the end moves.",
                before=before, now=now,
            )
        )  # fmt: skip
    if made.pull.rising and made.pull.sure > _SURE and growth.limit is None:
        said.append(say("The answers are growing and no limit is known: type max_tokens to see the worst case."))
    return (*said, *_left_out(clock))


def _left_out(clock: Clock) -> list[str]:
    """Time that passed and that this log does not tell."""
    said: list[str] = []
    if any(each.lost_before_s is None for each in clock.segments[1:]):
        said.append(say("The time between two sessions is not in this log and is not counted."))
    untimed = [each.count for each in clock.periodic if each.kind == "evaluation" and each.seconds is None]
    if any(untimed):
        said.append(
            say(
                "This log does not time its evaluations ({count} so far): the time spent leaves them out, and what those to come take is a guess. Type the seconds of one.",
                count=sum(untimed),
            )
        )
    return said
