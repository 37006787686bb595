"""What the calculator says of its inputs: the loud warnings, and the lesson's hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from timeledger import units
from timeledger.plan_inputs import PlanInputs
from timeledger.said import say
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
            say(
                "The measured mean length of {mean} has (almost) reached the limit of {limit}: answers are cut, not finished.",
                mean=f"{mean:,.0f}",
                limit=f"{limit:,}",
            )
        )
    elif limit is not None and mean >= _NEAR_LIMIT * limit:
        found.append(
            say(
                "The mean length of {mean} is (almost) the limit of {limit}. Measured means are often 3 to 7 times below it: "
                "use the late mean length of a short run, never the limit.",
                mean=f"{mean:g}",
                limit=limit,
            )
        )
    elif limit is None and typed and mean in _ROUND_LIMITS:
        found.append(
            say(
                "A mean length of exactly {mean} looks like a limit (max_tokens). Measured means are often 3 to 7 times below "
                "it: use the late mean length of a short run, never the limit.",
                mean=f"{mean:g}",
            )
        )
    if inputs.truncated is not None and inputs.truncated > MUCH_CUT:
        found.append(
            say(
                "{share} of the answers are cut at the limit: they are too long for it, and a tighter limit would cut more. "
                "Raise the limit or mask cut answers first.",
                share=units.show_share(inputs.truncated),
            )
        )
    if inputs.group_size < LEAST_GROUP:
        found.append(
            say(
                "G = {group} is below {least}: the group baseline is so noisy that a run can look as if it did not learn.",
                group=inputs.group_size,
                least=LEAST_GROUP,
            )
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
            say(
                "The longest answer alone ({longest} tokens at {rate}) takes {time}: sampling cannot be shorter, so fewer "
                "answers or more throughput save nothing there. Only a shorter longest answer, or carrying unfinished "
                "answers over, does.",
                longest=f"{longest:,.0f}",
                rate=units.show_rate(inputs.single_tok_s),
                time=units.show_seconds(step.floor_s),
            )
        )
    elif sampling >= 0.5:
        found.append(
            say(
                "Sampling is {share} of a step: raise the engine's memory utilisation and keep CUDA graphs on before touching "
                "length or group size; neither changes the result.",
                share=units.show_share(sampling),
            )
        )
    if not overlapped and training < 0.25:
        found.append(
            say(
                "Training is {share}: gradient checkpointing would slow that end, so check first that memory is really short.",
                share=units.show_share(training),
            )
        )
    if fixed >= 0.15:
        seconds = sum(step.shown.get(name, 0.0) for name in ("fixed overhead", "weight sync", "sleep/wake"))
        found.append(
            say(
                "Fixed overhead is {time} a step, {share}: a larger batch per step dilutes it.",
                time=units.show_seconds(seconds),
                share=units.show_share(fixed),
            )
        )
    if overlapped:
        found.append(_overlap(step))
    if inputs.mode == "split" and not inputs.sleep_wake_s and inputs.fixed_s > 0:
        found.append(
            say("Pools of their own need no sleep/wake; how much of the fixed overhead that is was not given.")
        )
    if inputs.first_length is not None and inputs.mean_length > 1.1 * inputs.first_length:
        found.append(
            say(
                "Answers grow from {first} to {last} tokens: the plan stands on the late value, so the first steps will be "
                "faster than this.",
                first=f"{inputs.first_length:,.0f}",
                last=f"{late_length(inputs):,.0f}",
            )
        )
    return found


def _overlap(step: StepCost) -> str:
    hidden, longer = units.show_seconds(sum(step.hidden.values())), units.show_seconds(step.plain_s)
    if "sampling" in step.hidden:
        return say(
            "One step off: {hidden} of sampling run beside training and cost no time of the {step} step; the GPUs of the "
            "sampling pool idle for the rest. Each update uses answers that are one step old.",
            hidden=hidden, step=longer,
        )  # fmt: skip
    return say(
        "One step off: {hidden} of training run beside sampling and cost no time of the {step} step; the GPUs of the "
        "training pool idle for the rest. Each update uses answers that are one step old.",
        hidden=hidden, step=longer,
    )  # fmt: skip
