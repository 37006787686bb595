"""What each cut does to the conclusion, in words with numbers."""

from __future__ import annotations

import math
from typing import Final

from timeledger import units
from timeledger.answers import answers
from timeledger.plan_inputs import PlanInputs
from timeledger.said import say

#: The lesson's evaluation for trends; fewer questions say too little.
EVAL_FLOOR: Final = 300
#: The accuracy at which an evaluation is least sure; stands in where none was measured.
_LEAST_SURE: Final = 0.5
_Z95: Final = 1.96


def standard_error(accuracy: float, questions: int) -> float:
    """Standard error of an accuracy measured on so many questions, sqrt(p (1 - p) / n)."""
    return math.sqrt(accuracy * (1 - accuracy) / questions)


def silent_groups(accuracy: float, group: int) -> float:
    """Expected share of groups whose answers are all right or all wrong, p^G + (1-p)^G: they carry no signal."""
    return accuracy**group + (1 - accuracy) ** group


def accuracy_of(inputs: PlanInputs) -> tuple[float, str]:
    """The accuracy to compute with, and the words for it."""
    if inputs.accuracy is None:
        return _LEAST_SURE, say("at an accuracy of 50 % (not measured)")
    return inputs.accuracy, say("at the accuracy of {share}", share=units.show_share(inputs.accuracy))


def steps_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer steps: a shorter piece of the same curve."""
    return say(
        "The first {share} of the same curve: the trend stays readable, the end point is lower. "
        "Nothing about each step changes.",
        share=units.show_share(after.steps / before.steps),
    )


def data_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer questions a step: less data, as many updates."""
    seen = after.prompts * after.steps
    noise = math.sqrt(before.prompts / after.prompts)
    seen_of = f"{seen:,}"
    if after.data_size is not None:
        seen_of = say("{seen} of {size}", seen=f"{seen:,}", size=f"{after.data_size:,}")
    return say(
        "{after} instead of {before} questions a step, {seen} in all: RL is hardly driven by the amount of data, and there "
        "are as many updates; each averages over fewer questions (its noise x {noise}).",
        after=after.prompts, before=before.prompts, seen=seen_of, noise=f"{noise:.2f}",
    )  # fmt: skip


def limit_effect(before: PlanInputs, after: PlanInputs) -> str:
    """A tighter limit: the longest answers are cut."""
    spread = answers(before)
    limit = float(after.max_tokens or 1)
    return say(
        "{now} of the answers are cut now; about {then} would be at {limit} tokens (spread of the lengths: {known}). "
        "It may change the result: long answers get no reward.",
        now=units.show_share(before.truncated), then=units.show_share(spread.share_above(limit)), limit=f"{limit:,.0f}",
        known=spread.known_from,
    )  # fmt: skip


def group_effect(before: PlanInputs, after: PlanInputs) -> str:
    """A smaller group: a noisier baseline, and more groups that teach nothing."""
    p, words = accuracy_of(before)
    old, new = before.group_size, after.group_size
    noise = math.sqrt(p * (1 - p) / old), math.sqrt(p * (1 - p) / new)
    return say(
        "The group baseline's variance grows {times}x (its standard deviation from {sd_before} to {sd_after} of a right "
        "answer), and {after} of the groups instead of {before} carry no signal, {accuracy}: a run can look as if it did "
        "not learn.",
        times=f"{old / new:.3g}", sd_before=f"{noise[0]:.2f}", sd_after=f"{noise[1]:.2f}",
        after=units.show_share(silent_groups(p, new)), before=units.show_share(silent_groups(p, old)), accuracy=words,
    )  # fmt: skip


def eval_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer evaluation questions: a wider error."""
    p, words = accuracy_of(before)
    old, new = before.eval_questions or 1, after.eval_questions or 1
    errors = [100 * standard_error(p, n) for n in (old, new)]
    return say(
        "Standard error {before} -> {after} points, 95 % interval ±{wide_before} -> ±{wide_after} points, {accuracy}: fine "
        "for trends, too coarse for small differences.",
        before=f"{errors[0]:.1f}", after=f"{errors[1]:.1f}", wide_before=f"{_Z95 * errors[0]:.1f}",
        wide_after=f"{_Z95 * errors[1]:.1f}", accuracy=words,
    )  # fmt: skip
