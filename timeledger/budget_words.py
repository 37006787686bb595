"""What each cut does to the conclusion, in words with numbers."""

from __future__ import annotations

import math
from typing import Final

from timeledger import units
from timeledger.answers import answers
from timeledger.plan_inputs import PlanInputs

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
        return _LEAST_SURE, "at an accuracy of 50 % (not measured)"
    return inputs.accuracy, f"at the accuracy of {units.show_share(inputs.accuracy)}"


def steps_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer steps: a shorter piece of the same curve."""
    share = after.steps / before.steps
    return (
        f"The first {units.show_share(share)} of the same curve: the trend stays readable, the end point is lower. "
        "Nothing about each step changes."
    )


def data_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer questions a step: less data, as many updates."""
    seen = after.prompts * after.steps
    noise = math.sqrt(before.prompts / after.prompts)
    of = "" if after.data_size is None else f" of {after.data_size:,}"
    return (
        f"{after.prompts} instead of {before.prompts} questions a step, {seen:,}{of} in all: RL is hardly driven by the "
        f"amount of data, and there are as many updates; each averages over fewer questions (its noise x {noise:.2f})."
    )


def limit_effect(before: PlanInputs, after: PlanInputs) -> str:
    """A tighter limit: the longest answers are cut."""
    spread = answers(before)
    limit = float(after.max_tokens or 1)
    cut = units.show_share(before.truncated)
    return (
        f"{cut} of the answers are cut now; about {units.show_share(spread.share_above(limit))} would be at {limit:,.0f} "
        f"tokens (spread of the lengths: {spread.known_from}). It may change the result: long answers get no reward."
    )


def group_effect(before: PlanInputs, after: PlanInputs) -> str:
    """A smaller group: a noisier baseline, and more groups that teach nothing."""
    p, words = accuracy_of(before)
    old, new = before.group_size, after.group_size
    noise = math.sqrt(p * (1 - p) / old), math.sqrt(p * (1 - p) / new)
    return (
        f"The group baseline's variance grows {old / new:.3g}x (its standard deviation from {noise[0]:.2f} to {noise[1]:.2f} "
        f"of a right answer), and {units.show_share(silent_groups(p, new))} of the groups instead of "
        f"{units.show_share(silent_groups(p, old))} carry no signal, {words}: a run can look as if it did not learn."
    )


def eval_effect(before: PlanInputs, after: PlanInputs) -> str:
    """Fewer evaluation questions: a wider error."""
    p, words = accuracy_of(before)
    old, new = before.eval_questions or 1, after.eval_questions or 1
    errors = [100 * standard_error(p, n) for n in (old, new)]
    return (
        f"Standard error {errors[0]:.1f} -> {errors[1]:.1f} points, 95 % interval ±{_Z95 * errors[0]:.1f} -> "
        f"±{_Z95 * errors[1]:.1f} points, {words}: fine for trends, too coarse for small differences."
    )
