"""The projection's reasons and warnings in words, each with the numbers it rests on."""

from __future__ import annotations

import math
from typing import Final

from timeledger.forecast import Forecast
from timeledger.results import Clock, Facts, Growth, Timing
from timeledger.run import Run
from timeledger.units import show_number, show_seconds

#: The level must have moved this much against all ordinary steps before it is worth a sentence.
_MOVED: Final = 0.03
#: Timed rows below which a drift cannot be told from noise.
ENOUGH_ROWS: Final = 4


def reasons(made: Forecast, clock: Clock, timing: Timing, growth: Growth) -> tuple[str, ...]:
    """Why the projection says what it says."""
    level = made.level
    said = [f"{made.steps_left:,} steps to come at {show_seconds(made.step_s)} each."]
    if abs(level.recent / level.overall - 1) > _MOVED:
        said.append(
            f"The latest steps take {show_seconds(level.recent)}, all ordinary steps so far {show_seconds(level.overall)}."
        )
    said += [each.words for each in made.extras if each.words]
    said += _length(made, timing, growth)
    if clock.warmup_steps:
        cost = f" ({show_seconds(clock.warmup_s)})" if clock.warmup_s else ""
        steps = (
            "first step was a slow start and is"
            if clock.warmup_steps == 1
            else f"first {clock.warmup_steps} steps were slow starts and are"
        )
        said.append(f"The {steps} left out of the rate{cost}.")
    if clock.lost_s:
        said.append(f"{show_seconds(clock.lost_s)} of pauses and gaps have passed and are not expected again.")
    if clock.cycle > 1:
        said.append(f"One generation serves {clock.cycle} steps; the rate is that of whole cycles.")
    return tuple(said)


def _length(made: Forecast, timing: Timing, growth: Growth) -> list[str]:
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
            f"Steps to come take {change} on average for their length; on this run's own past, counting that was better."
        )
    if pull.rising and pull.above > 0.01:
        to = f" up to the limit of {show_number(limit, 4)} tokens" if limit else ""
        said.append(
            f"If the answers keep growing{to}, steps take up to {math.exp(pull.mid + pull.above) - 1:.0%} longer: the interval reaches there."
        )
    return said


def warnings(made: Forecast, run: Run, clock: Clock, growth: Growth, facts: Facts) -> tuple[str, ...]:
    """What could break the projection."""
    said: list[str] = []
    level = made.level
    if len(made.rows) < ENOUGH_ROWS:
        said.append(
            f"Only {len(made.rows)} timed row{'s' if len(made.rows) != 1 else ''} so far: a change of pace could not be seen yet, so the end may move a lot."
        )
    if level.recent / level.overall > 1.15 or level.recent / level.overall < 0.87:
        way = "slower" if level.recent > level.overall else "faster"
        said.append(
            f"The run has become {way}: {show_seconds(level.overall)} a step over all, {show_seconds(level.recent)} now. If this goes on, the end moves."
        )
    if made.pull.rising and growth.limit is None:
        said.append("The answers are growing and no limit is known: type max_tokens to see the worst case.")
    return tuple(said)
