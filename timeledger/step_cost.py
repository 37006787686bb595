"""What one step and the whole run cost, in seconds, from the calculator's inputs: the arithmetic and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from timeledger.plan_inputs import PlanInputs

#: Share of an added GPU's throughput that arrives, where nobody measured it, and what it may be.
SCALING: Final = 0.8
SCALING_RANGE: Final = (0.6, 1.0)


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds of one step by part. `shown` add up to the step; `hidden` run beside them (one-step-off only).

    `floor_s`: a step's sampling cannot be shorter than its longest answer (None: not known). `once_s` is paid once a run.
    """

    shown: dict[str, float]
    hidden: dict[str, float]
    floor_s: float | None
    once_s: float

    @property
    def tail_bound(self) -> bool:
        """The longest answer, not the throughput, sets the time of sampling."""
        sampling = self.shown.get("sampling", self.hidden.get("sampling", 0.0))
        return self.floor_s is not None and sampling > 0 and self.floor_s >= sampling * (1 - 1e-9)

    @property
    def plain_s(self) -> float:
        """One step without evaluations and checkpoints."""
        return math.fsum(self.shown.values())


def late_length(inputs: PlanInputs) -> float:
    """The mean answer length that the plan uses: the late value, grown as said, never above the limit."""
    length = inputs.mean_length * (inputs.length_growth or 1.0)
    return length if inputs.max_tokens is None else min(length, float(inputs.max_tokens))


def longest_answer(inputs: PlanInputs) -> float | None:
    """The longest answer of a step: as given, else the limit where answers are known to be cut at it."""
    longest = inputs.longest
    if longest is None and inputs.truncated and inputs.max_tokens is not None:
        longest = float(inputs.max_tokens)
    return longest if longest is None or inputs.max_tokens is None else min(longest, float(inputs.max_tokens))


def speed_up(inputs: PlanInputs, gpus: float, measured_on: float) -> float:
    """Throughput on `gpus` over that on `measured_on`: each GPU added brings the share `gpu_scaling` of one."""
    scaling = SCALING if inputs.gpu_scaling is None else inputs.gpu_scaling
    more = gpus / measured_on
    return 1 + (more - 1) * scaling if more >= 1 else 1 / (1 + (1 / more - 1) * scaling)


def rates(inputs: PlanInputs) -> tuple[float, float]:
    """Speed-up of generation and of training over what was measured."""
    if inputs.gpus is None:
        return 1.0, 1.0
    base = float(inputs.measured_gpus or inputs.gpus)
    if inputs.gen_gpus is None:
        same = speed_up(inputs, inputs.gpus, base)
        return same, same
    return speed_up(inputs, inputs.gen_gpus, base), speed_up(inputs, inputs.gpus - inputs.gen_gpus, base)


def step_cost(inputs: PlanInputs) -> StepCost:
    """One step by part."""
    tokens = inputs.prompts * inputs.group_size * late_length(inputs)
    gen, train = rates(inputs)
    longest = longest_answer(inputs)
    floor = longest / inputs.single_tok_s if longest is not None and inputs.single_tok_s is not None else None
    sampling = {"sampling": max(tokens / (inputs.gen_tok_s * gen), floor or 0.0)}
    logprob = inputs.logprob_s or (tokens / (inputs.logprob_tok_s * train) if inputs.logprob_tok_s else 0.0)
    training = {"log-probs": logprob, "forward-backward": tokens / (inputs.train_tok_s * train)}
    between = {"reward": inputs.reward_s or 0.0, **_fixed(inputs)}
    startup = inputs.startup_s or 0.0
    if inputs.mode != "one-step-off":
        return StepCost(_present({**sampling, **training, **between}), {}, floor, startup)
    one, other = sum(sampling.values()), sum(training.values())
    longer, shorter = (sampling, training) if one >= other else (training, sampling)
    # The first step has nothing to overlap with.
    return StepCost(_present({**longer, **between}), _present(shorter), floor, startup + min(one, other))


def _fixed(inputs: PlanInputs) -> dict[str, float]:
    """The lesson's fixed overhead, with its known parts named; pools of their own never sleep."""
    sync = min(inputs.sync_s or 0.0, inputs.fixed_s)
    sleep = min(inputs.sleep_wake_s or 0.0, inputs.fixed_s - sync)
    rest = inputs.fixed_s - sync - sleep
    return {"weight sync": sync, "sleep/wake": sleep if inputs.mode == "colocate" else 0.0, "fixed overhead": rest}


def _present(parts: dict[str, float]) -> dict[str, float]:
    """Without parts that are not known; the lesson's three stay even at 0."""
    known = {"sampling", "forward-backward"} | ({"fixed overhead"} if not parts.get("weight sync") else set())
    return {name: seconds for name, seconds in parts.items() if seconds > 0 or name in known}


def eval_s(inputs: PlanInputs) -> float | None:
    """Seconds of one evaluation: as given, else questions x length / generation throughput; None when nothing is known."""
    if inputs.eval_s is not None or inputs.eval_questions is None:
        return inputs.eval_s
    length = inputs.eval_length or late_length(inputs)
    return inputs.eval_questions * length / (inputs.gen_tok_s * rates(inputs)[0])


def evaluations(inputs: PlanInputs) -> int:
    """How many evaluations the run has: every so many steps, or one at the end when no interval is given."""
    if not eval_s(inputs):
        return 0
    return inputs.steps // inputs.eval_every if inputs.eval_every else 1


def checkpoints(inputs: PlanInputs) -> int:
    """How many checkpoints the run writes."""
    return inputs.steps // inputs.save_every if inputs.save_s and inputs.save_every else 0


def total_s(inputs: PlanInputs) -> float:
    """Seconds of the whole run."""
    cost = step_cost(inputs)
    extra = evaluations(inputs) * (eval_s(inputs) or 0.0) + checkpoints(inputs) * (inputs.save_s or 0.0)
    return cost.plain_s * inputs.steps + extra + cost.once_s
