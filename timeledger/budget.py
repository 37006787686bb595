"""What has to give when there are only so many hours: cuts in the lesson's order, each with its price for the conclusion.

Steps first (a shorter piece of the same curve), then data (fewer questions a step), the limit on answers (only where
few are cut now), G (never below 4), evaluation questions last. Each cut is the mildest that fits; the first that fits
ends the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from timeledger import units
from timeledger.answers import answers
from timeledger.budget_words import EVAL_FLOOR, data_effect, eval_effect, group_effect, limit_effect, steps_effect
from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import Framework, settings
from timeledger.plan import LEAST_GROUP, Estimate, PlanInputs, estimate, steps_within, total_s
from timeledger.plan_inputs import Source
from timeledger.run import Text
from timeledger.said import say, sentences
from timeledger.step_cost import eval_s, late_length

What = Literal["steps", "data", "max_tokens", "group_size", "eval_questions"]
#: The lesson's order.
ORDER: Final[tuple[What, ...]] = ("steps", "data", "max_tokens", "group_size", "eval_questions")
#: Other names under which a cut may be pinned.
_PINS: Final[dict[str, What]] = {
    "prompts": "data",
    "mean_length": "max_tokens",
    "G": "group_size",
    "eval": "eval_questions",
}
#: The lesson cuts 200 steps to 80: below this share of the planned steps the trend is hard to read.
STEPS_FLOOR: Final = 0.4
#: Steps below which no trend shows (the last rung of the smoke tests).
LEAST_STEPS: Final = 20
#: Questions of a step are halved at most.
DATA_FLOOR: Final = 0.5
#: Truncated share up to which a tighter limit may be thought of, and the share it may cut.
TRUNCATION_GATE: Final = 0.01
EXPECTED_CUT: Final = 0.02
_LIMIT_STEP: Final = 16
#: A cut that saves less than this share of the run is not worth its price.
WORTH: Final = 0.005


class Cut(BaseModel):
    """One cut: `before` and `after` are values of `what` (data: questions seen by the whole run)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: What
    before: int
    after: int
    saves_s: float
    effect: Text


class Nearest(BaseModel):
    """The nearest that fits when the cuts do not: the hours that the cut plan takes, and the steps that fit the time given.

    `steps` of the plan after the cuts, `steps_uncut` of the plan as it was; None: not even one fits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    hours: float
    steps: int | None
    steps_uncut: int | None
    sentence: Text


class Budget(BaseModel):
    """The answer. `kept` says of each lever that was not used why; `plan` is the plan after the cuts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hours: float
    fits: bool
    before_s: float
    after_s: float
    cuts: tuple[Cut, ...]
    kept: dict[str, Text]
    plan: Estimate
    settings: dict[Text, Text]
    nearest: Nearest | None


class Lever(BaseModel):
    """One lever: the smallest value it may go to, and the plan at a value; `blocked` says why it may not be used."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    now: int
    floor: int
    at: Callable[[int], PlanInputs]
    effect: Callable[[PlanInputs, PlanInputs], str]
    step: int = 1
    blocked: Text | None = None


def solve(
    inputs: PlanInputs,
    hours: float,
    pins: Collection[str] = (),
    framework: Framework | None = None,
    least_steps: int | None = None,
    *,
    sure: bool = False,
) -> Budget:
    """Cut in the lesson's order until the run fits into `hours`; pinned values are never touched.

    The middle of the estimate must fit; with `sure`, the upper end of its interval.

    Raises:
        ImpossiblePlan: hours that are no time, or a pin that names no lever.
    """
    if not math.isfinite(hours) or hours <= 0:
        raise ImpossiblePlan("hours", say("{hours} is no time that a run could fit into.", hours=f"{hours:g}"))
    budget_s = hours * units.HOUR
    if sure:
        span = estimate(inputs).total_s
        budget_s *= span.mid / span.high
    now, cuts, kept = _cut_down(inputs, budget_s, {_pin(name) for name in pins}, least_steps)
    after_s = total_s(now)
    fits = after_s <= budget_s
    return Budget(
        hours=hours,
        fits=fits,
        before_s=total_s(inputs),
        after_s=after_s,
        cuts=tuple(cuts),
        kept=kept,
        plan=estimate(now),
        settings=settings(framework, now) | _evaluation(now),
        nearest=None if fits else _nearest(inputs, now, budget_s),
    )


def _cut_down(
    inputs: PlanInputs, budget_s: float, pinned: Collection[str], least_steps: int | None
) -> tuple[PlanInputs, list[Cut], dict[str, str]]:
    """The plan after as many cuts as it takes, the cuts, and why a lever was not used."""
    now, before_s = inputs, total_s(inputs)
    cuts: list[Cut] = []
    kept: dict[str, str] = {}
    for what in ORDER:
        if total_s(now) <= budget_s:
            break
        lever = _lever(now, what, least_steps)
        why = say("pinned") if what in pinned else lever.blocked or _no_room(lever)
        smaller = now if why else _mildest(lever, budget_s)
        saves = total_s(now) - total_s(now if why else lever.at(lever.floor))
        if why is None and saves < WORTH * before_s:
            why = say("would save only {time} of the run", time=units.show_seconds(max(saves, 0.0)))
        if why is not None:
            kept[what] = why
            continue
        cuts.append(_cut(what, now, smaller, lever.effect(now, smaller)))
        now = smaller
    return now, cuts, kept


def _pin(name: str) -> What:
    wanted = name.strip().replace("-", "_")
    found = next((what for what in ORDER if what == wanted), _PINS.get(wanted))
    if found is None:
        raise ImpossiblePlan("pin", say("{value} is none of {names}.", value=repr(name), names=", ".join(ORDER)))
    return found


def _no_room(lever: Lever) -> str | None:
    return say("already at its floor ({floor})", floor=f"{lever.now:,}") if lever.floor >= lever.now else None


def _mildest(lever: Lever, budget_s: float) -> PlanInputs:
    """The largest value below the present one at which the run fits, else the floor. Cost falls with the value."""
    low, high = 0, (lever.now - 1 - lever.floor) // lever.step
    if total_s(lever.at(lever.floor)) > budget_s:
        return lever.at(lever.floor)
    while low < high:
        middle = (low + high + 1) // 2
        if total_s(lever.at(lever.floor + middle * lever.step)) <= budget_s:
            low = middle
        else:
            high = middle - 1
    return lever.at(lever.floor + low * lever.step)


def _cut(what: What, before: PlanInputs, after: PlanInputs, effect: str) -> Cut:
    def value(inputs: PlanInputs) -> int:
        return inputs.steps * inputs.prompts if what == "data" else int(getattr(inputs, what) or 0)

    saves = total_s(before) - total_s(after)
    return Cut(what=what, before=value(before), after=value(after), saves_s=saves, effect=effect)


def _with(inputs: PlanInputs, **changes: Any) -> PlanInputs:
    """The plan with values that the solver chose."""
    chosen = {name: Source(kind="inferred", text=say("budget")) for name in changes}
    return inputs.model_copy(update={**changes, "sources": {**inputs.sources, **chosen}})


# --- the levers ------------------------------------------------------------------------------------------------


def _lever(inputs: PlanInputs, what: What, least_steps: int | None) -> Lever:
    if what == "steps":
        usual = max(math.ceil(STEPS_FLOOR * inputs.steps - 1e-9), min(LEAST_STEPS, inputs.steps))
        floor = usual if least_steps is None else min(max(least_steps, 1), inputs.steps)
        return Lever(now=inputs.steps, floor=floor, at=lambda value: _with(inputs, steps=value), effect=steps_effect)
    if what == "data":
        floor = max(math.ceil(DATA_FLOOR * inputs.prompts), 1)
        return Lever(now=inputs.prompts, floor=floor, at=lambda value: _with(inputs, prompts=value), effect=data_effect)
    if what == "max_tokens":
        return _limit_lever(inputs)
    if what == "group_size":
        even = 2 if inputs.group_size % 2 == 0 else 1
        return Lever(
            now=inputs.group_size,
            floor=LEAST_GROUP,
            at=lambda value: _with(inputs, group_size=value),
            effect=group_effect,
            step=even,
        )
    return _eval_lever(inputs)


def _limit_lever(inputs: PlanInputs) -> Lever:
    """A tighter limit cuts the longest answers only, and only where hardly any is cut now."""
    limit, cut = inputs.max_tokens, inputs.truncated
    blocked = None
    if limit is None:
        blocked = say("the limit is not known")
    elif cut is None:
        blocked = say("the truncated share is not known: measure it before tightening the limit")
    elif cut > TRUNCATION_GATE:
        blocked = say(
            "{share} of the answers are cut already: a tighter limit would cut more", share=units.show_share(cut)
        )
    spread = answers(inputs)
    now = limit or 1
    floor = math.ceil(spread.quantile(1 - EXPECTED_CUT) / _LIMIT_STEP) * _LIMIT_STEP
    floor = max(floor, math.ceil(late_length(inputs)) + 1)

    def at(value: int) -> PlanInputs:
        mean = min(spread.mean_under(float(value)), late_length(inputs))
        return _with(
            inputs,
            max_tokens=value,
            mean_length=mean / (inputs.length_growth or 1.0),
            longest=None if inputs.longest is None else min(inputs.longest, float(value)),
            truncated=spread.share_above(float(value)),
        )

    return Lever(now=now, floor=floor, at=at, effect=limit_effect, step=_LIMIT_STEP, blocked=blocked)


def _eval_lever(inputs: PlanInputs) -> Lever:
    questions, seconds = inputs.eval_questions, eval_s(inputs)
    if not questions or not seconds:
        why = say("no evaluation questions in the plan")
        return Lever(now=1, floor=1, at=lambda value: inputs, effect=eval_effect, blocked=why)

    def at(value: int) -> PlanInputs:
        scaled = {} if inputs.eval_s is None else {"eval_s": inputs.eval_s * value / questions}
        return _with(inputs, eval_questions=value, **scaled)

    return Lever(now=questions, floor=EVAL_FLOOR, at=at, effect=eval_effect)


def _evaluation(inputs: PlanInputs) -> dict[str, str]:
    return {} if inputs.eval_questions is None else {say("evaluation questions"): f"{inputs.eval_questions:,}"}


def _nearest(inputs: PlanInputs, smallest: PlanInputs, budget_s: float) -> Nearest:
    """What the cut plan takes, and how many of its steps (and of the uncut plan's) fit."""
    needs, time = total_s(smallest), units.show_seconds(budget_s)
    cut, uncut = (_steps_that_fit(each, budget_s) for each in (smallest, inputs))
    text = say("Does not fit: with these cuts the run takes {time}.", time=units.show_seconds(needs))
    held = {"time": time, "steps": f"{cut:,}", "of": f"{smallest.steps:,}"} if cut is not None else {}
    if cut is None:
        more = say("Not even one step fits into {time}.", time=time)
    elif uncut is None:
        more = say("{time} hold {steps} of its {of} steps.", **held)
    else:
        more = say(
            "{time} hold {steps} of its {of} steps, or {uncut} steps of the run as it was.", **held, uncut=f"{uncut:,}"
        )
    return Nearest(hours=needs / units.HOUR, steps=cut, steps_uncut=uncut, sentence=sentences(text, more))


def _steps_that_fit(inputs: PlanInputs, budget_s: float) -> int | None:
    steps = steps_within(inputs, budget_s)
    return steps if total_s(inputs.model_copy(update={"steps": steps})) <= budget_s else None
