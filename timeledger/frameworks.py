"""How the five frameworks name what a plan sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from timeledger.plan_inputs import PlanInputs
from timeledger.said import say


@dataclass(frozen=True, slots=True)
class Framework:
    """One framework: its name, and its own names for steps, prompts, G and the limit.

    `answers_batch`: its batch settings count answers, not prompts. `quiet` switches evaluation and checkpoints off in a
    smoke test; `command` is how a setting is given, with `{name}` and `{value}`; `joined` stands between settings.
    """

    key: str
    title: str
    steps: str | None
    prompts: str
    group: str
    limit: str
    answers_batch: bool
    command: str
    lead: str
    quiet: tuple[tuple[str, str], ...]
    joined: str = " "
    tail: str = ""


_TRL: Final = Framework(
    "trl",
    "TRL",
    steps="max_steps",
    prompts="per_device_train_batch_size x GPUs x gradient_accumulation_steps",
    group="num_generations",
    limit="max_completion_length",
    answers_batch=True,
    command="{name}={value}",
    lead="GRPOConfig(",
    quiet=(("logging_steps", "1"), ("save_strategy", '"no"'), ("eval_strategy", '"no"')),
    joined=", ",
    tail=", ...)",
)
#: Unsloth trains with TRL, on one GPU.
FRAMEWORKS: Final[dict[str, Framework]] = {
    each.key: each
    for each in (
        _TRL,
        Framework(
            "verl",
            "verl",
            steps="trainer.total_training_steps",
            prompts="data.train_batch_size",
            group="actor_rollout_ref.rollout.n",
            limit="data.max_response_length",
            answers_batch=False,
            command="{name}={value}",
            lead="python3 -m verl.trainer.main_ppo ",
            quiet=(("trainer.val_before_train", "False"), ("trainer.test_freq", "-1"), ("trainer.save_freq", "-1")),
            tail=" ...",
        ),
        Framework(
            "openrlhf",
            "OpenRLHF",
            steps=None,
            prompts="--rollout.batch_size",
            group="--rollout.n_samples_per_prompt",
            limit="--rollout.max_new_tokens",
            answers_batch=False,
            command="{name} {value}",
            lead="python3 -m openrlhf.cli.train_ppo_ray ",
            quiet=(("--eval.steps", "-1"), ("--ckpt.save_steps", "-1")),
            tail=" ...",
        ),
        Framework(
            "ms-swift",
            "ms-swift",
            steps="--max_steps",
            prompts="--per_device_train_batch_size x GPUs x --gradient_accumulation_steps",
            group="--num_generations",
            limit="--max_completion_length",
            answers_batch=True,
            command="{name} {value}",
            lead="swift rlhf --rlhf_type grpo ",
            quiet=(("--logging_steps", "1"), ("--save_strategy", "no"), ("--eval_strategy", "no")),
            tail=" ...",
        ),
        replace(
            _TRL,
            key="unsloth",
            title="Unsloth",
            prompts="per_device_train_batch_size x gradient_accumulation_steps",
        ),
    )
}
#: OpenRLHF has no setting for the number of steps: the number of questions read decides.
OPENRLHF_DATA: Final = "--data.max_samples"


def find_framework(name: str | None) -> Framework | None:
    """The framework whose name a log's begins with (`TRL 1.16`, `verl`, `ms-swift 3.9`), or None."""
    lower = (name or "").lower().replace("_", "-").replace(" ", "-")
    short = {"swift": "ms-swift", "open-rlhf": "openrlhf"}
    for key in (*FRAMEWORKS, *short):
        if lower.startswith(key):
            return FRAMEWORKS[short.get(key, key)]
    return None


def settings(framework: Framework | None, inputs: PlanInputs) -> dict[str, str]:
    """The plan's steps, batch, G and limit under the framework's own names (plain names without a framework)."""
    if framework is None:
        plain = {
            say("steps"): inputs.steps,
            say("prompts per step"): inputs.prompts,
            say("answers per prompt (G)"): inputs.group_size,
        }
        found = {name: str(value) for name, value in plain.items()}
        return found | ({} if inputs.max_tokens is None else {say("limit on answer tokens"): str(inputs.max_tokens)})
    batch = inputs.prompts * inputs.group_size if framework.answers_batch else inputs.prompts
    found = steps_setting(framework, inputs, inputs.steps)
    found |= {framework.prompts: str(batch), framework.group: str(inputs.group_size)}
    if framework.key == "verl":
        found["actor_rollout_ref.actor.ppo_mini_batch_size"] = say("at most {count}", count=inputs.prompts)
    return found | ({} if inputs.max_tokens is None else {framework.limit: str(inputs.max_tokens)})


def steps_setting(framework: Framework, inputs: PlanInputs, steps: int) -> dict[str, str]:
    """What makes a run of so many steps."""
    if framework.steps is not None:
        return {framework.steps: str(steps)}
    wanted = steps * inputs.prompts
    once = wanted if inputs.data_size is None else min(wanted, inputs.data_size)
    return {OPENRLHF_DATA: str(once), "--train.num_episodes": str(math.ceil(wanted / once))}


def written(framework: Framework, values: dict[str, str]) -> str:
    """Settings as they are typed for this framework."""
    parts = [framework.command.format(name=name, value=value) for name, value in values.items()]
    return f"{framework.lead}{framework.joined.join(parts)}{framework.tail}"
