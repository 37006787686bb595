"""What the calculator says of its inputs: the loud warnings, and the lesson's hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from timeledger import units
from timeledger.plan_inputs import PlanInputs
from timeledger.step_cost import StepCost, late_length, longest_answer

#: Below this many answers a question the group baseline is too noisy to learn from.
LEAST_GROUP: Final = 4
#: A mean this close to the limit is the limit itself, or a run in which nearly every answer is cut.
_NEAR_LIMIT: Final = 0.95
#: Typed means that look like a limit.
_ROUND_LIMITS: Final = frozenset(2**power for power in range(8, 18))
#: Above this truncated share a longer limit is wanted, never a shorter one.
MUCH_CUT: Final = 0.10


def loud(inputs: PlanInputs) -> list[str]:
    """Inputs that are very likely wrong."""
    found = []
    limit, mean = inputs.max_tokens, inputs.mean_length
    source = inputs.source("mean_length")
    typed = source.text == "typed in"
    if limit is not None and mean >= _NEAR_LIMIT * limit and source.kind == "measured":
        found.append(
            f"The measured mean length of {mean:,.0f} has (almost) reached the limit of {limit:,}: answers are cut, not finished."
        )
    elif limit is not None and mean >= _NEAR_LIMIT * limit:
        found.append(
            f"The mean length of {mean:g} is (almost) the limit of {limit}. Measured means are often 3 to 7 times below "
            "it: use the late mean length of a short run, never the limit."
        )
    elif limit is None and typed and mean in _ROUND_LIMITS:
        found.append(
            f"A mean length of exactly {mean:g} looks like a limit (max_tokens). Measured means are often 3 to 7 times "
            "below it: use the late mean length of a short run, never the limit."
        )
    if inputs.truncated is not None and inputs.truncated > MUCH_CUT:
        found.append(
            f"{units.show_share(inputs.truncated)} of the answers are cut at the limit: they are too long for it, and a "
            "tighter limit would cut more. Raise the limit or mask cut answers first."
        )
    if inputs.group_size < LEAST_GROUP:
        found.append(
            f"G = {inputs.group_size} is below {LEAST_GROUP}: the group baseline is so noisy that a run can look as if it did not learn."
        )
    return found


def hints(inputs: PlanInputs, share: Mapping[str, float], step: StepCost) -> list[str]:
    """What to look at first."""
    found = []
    sampling, training = share.get("sampling", 0.0), share.get("forward-backward", 0.0)
    fixed = sum(share.get(name, 0.0) for name in ("fixed overhead", "weight sync", "sleep/wake"))
    overlapped = inputs.mode == "one-step-off"
    if step.tail_bound and (longest := longest_answer(inputs)) is not None:
        found.append(
            f"The longest answer alone ({longest:,.0f} tokens at {units.show_rate(inputs.single_tok_s)}) takes "
            f"{units.show_seconds(step.floor_s)}: sampling cannot be shorter, so fewer answers or more throughput save "
            "nothing there. Only a shorter longest answer, or carrying unfinished answers over, does."
        )
    elif sampling >= 0.5:
        found.append(
            f"Sampling is {units.show_share(sampling)} of a step: raise the engine's memory utilisation and keep "
            "CUDA graphs on before touching length or group size; neither changes the result."
        )
    if not overlapped and training < 0.25:
        found.append(
            f"Training is {units.show_share(training)}: gradient checkpointing would slow that end, so "
            "check first that memory is really short."
        )
    if fixed >= 0.15:
        seconds = sum(step.shown.get(name, 0.0) for name in ("fixed overhead", "weight sync", "sleep/wake"))
        found.append(
            f"Fixed overhead is {units.show_seconds(seconds)} a step, {units.show_share(fixed)}: "
            "a larger batch per step dilutes it."
        )
    if overlapped:
        found.append(_overlap(step))
    if inputs.mode == "split" and not inputs.sleep_wake_s and inputs.fixed_s > 0:
        found.append("Pools of their own need no sleep/wake; how much of the fixed overhead that is was not given.")
    if inputs.first_length is not None and inputs.mean_length > 1.1 * inputs.first_length:
        found.append(
            f"Answers grow from {inputs.first_length:,.0f} to {late_length(inputs):,.0f} tokens: the plan stands on the "
            "late value, so the first steps will be faster than this."
        )
    return found


def _overlap(step: StepCost) -> str:
    name, beside = ("sampling", step.hidden) if "sampling" not in step.hidden else ("training", step.hidden)
    hidden = sum(beside.values())
    longer = step.plain_s
    idle = "training" if name == "sampling" else "sampling"
    return (
        f"One step off: {units.show_seconds(hidden)} of {idle} run beside {name} and cost no time of the "
        f"{units.show_seconds(longer)} step; the GPUs of the {idle} pool idle for the rest. Each update uses answers that are one step old."
    )
