"""The calculator: how long a run will take, from throughputs that were measured and a length that was measured.

sequences per step = prompts x G
tokens per step    = sequences per step x mean answer length
sampling time      = tokens per step / generation throughput, and never less than the longest answer takes alone
training time      = tokens per step / training throughput (+ log-probs where they are known apart)
step time          = sampling + training + reward + fixed overhead (weight sync, sleep/wake)
                     one-step-off: max(sampling, training) + reward + weight sync
total              = step time x steps (+ evaluations, checkpoints and the start-up where known)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from timeledger import units
from timeledger.calibrate import from_analysis, from_run
from timeledger.errors import ImpossiblePlan
from timeledger.plan_hints import LEAST_GROUP, hints, loud
from timeledger.plan_inputs import LABELS, MODES, Mode, PlanInputs, Source, plan_inputs
from timeledger.plan_interval import ASSUMED_ERROR, interval
from timeledger.results import PhaseShare, Span
from timeledger.run import Kind, Text
from timeledger.said import say
from timeledger.step_cost import checkpoints, eval_s, evaluations, late_length, step_cost, total_s

__all__ = [
    "ASSUMED_ERROR",
    "EXPERIMENTS",
    "LABELS",
    "LEAST_GROUP",
    "MODES",
    "Cost",
    "Estimate",
    "Mode",
    "PlanInputs",
    "Source",
    "estimate",
    "experiment",
    "from_analysis",
    "from_run",
    "plan_inputs",
    "steps_within",
    "sweep",
    "total_s",
]

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "sampling": ("gen_tok_s", "mean_length"),
    "log-probs": ("logprob_tok_s", "logprob_s"),
    "forward-backward": ("train_tok_s", "mean_length"),
    "reward": ("reward_s",),
    "weight sync": ("sync_s",),
    "sleep/wake": ("sleep_wake_s",),
    "fixed overhead": ("fixed_s",),
    "evaluation": ("eval_s", "eval_every"),
    "checkpoint": ("save_s", "save_every"),
}


class Cost(BaseModel):
    """GPU-hours, and money where a price was given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpu_hours: float
    money: float | None = None
    currency: str = ""


class Estimate(BaseModel):
    """The calculator's answer. `parts` are those of one step and add up to `step_s` (evaluation and checkpoint spread).

    `hidden` run beside the parts and cost no time (one-step-off). `once_s` is paid once: `total_s` = `step_s` x steps +
    `once_s`. `floor_s` is the longest answer's own time. `because` says what the interval is made of; `warnings` are
    inputs that are very likely wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: PlanInputs
    sequences_per_step: int
    tokens_per_step: float
    parts: tuple[PhaseShare, ...]
    step_s: float
    total_s: Span
    cost: Cost | None
    hints: tuple[Text, ...]
    hidden: tuple[PhaseShare, ...] = ()
    once_s: float = 0.0
    floor_s: float | None = None
    because: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()

    def share(self, phase: str) -> float:
        """A part's share of the step, 0..1; 0 when the plan has no such part."""
        return next((part.share for part in self.parts if part.phase == phase), 0.0)


def estimate(inputs: PlanInputs) -> Estimate:
    """What the run costs."""
    step = step_cost(inputs)
    total = total_s(inputs)
    step_s = (total - step.once_s) / inputs.steps
    seconds = step.shown | {
        "evaluation": evaluations(inputs) * (eval_s(inputs) or 0.0) / inputs.steps,
        "checkpoint": checkpoints(inputs) * (inputs.save_s or 0.0) / inputs.steps,
    }
    parts = tuple(
        _part(inputs, phase, value, step_s) for phase, value in seconds.items() if phase in step.shown or value > 0
    )
    span, because = interval(inputs)
    warnings = tuple(loud(inputs))
    return Estimate(
        inputs=inputs,
        sequences_per_step=inputs.prompts * inputs.group_size,
        tokens_per_step=inputs.prompts * inputs.group_size * late_length(inputs),
        parts=parts,
        step_s=step_s,
        total_s=span,
        cost=cost(inputs, total),
        hints=(*warnings, *hints(inputs, {part.phase: part.share for part in parts}, step)),
        hidden=tuple(_part(inputs, phase, value, step_s) for phase, value in step.hidden.items()),
        once_s=step.once_s,
        floor_s=step.floor_s,
        because=because,
        warnings=warnings,
    )


def _part(inputs: PlanInputs, phase: str, seconds: float, step_s: float) -> PhaseShare:
    return PhaseShare(phase, seconds, seconds / step_s if step_s else 0.0, _kind(inputs, phase))


def _kind(inputs: PlanInputs, phase: str) -> Kind:
    fields = [name for name in _FIELDS[phase] if getattr(inputs, name) is not None]
    kinds = {inputs.source(field).kind for field in fields}
    return "measured" if kinds == {"measured"} else "assumed" if "assumed" in kinds else "inferred"


def cost(inputs: PlanInputs, seconds: float) -> Cost | None:
    """What so many seconds of the plan's GPUs cost; None without a number of GPUs."""
    if inputs.gpus is None:
        return None
    hours = inputs.gpus * seconds / units.HOUR
    money = None if inputs.price_per_gpu_hour is None else hours * inputs.price_per_gpu_hour
    return Cost(gpu_hours=hours, money=money, currency=inputs.currency)


#: The lesson's five experiments: title and the change; the last asks what fits into three hours.
EXPERIMENTS: Final[tuple[tuple[str, Callable[[PlanInputs], dict[str, Any]]], ...]] = (
    (say("As it is: look at the sampling share"), lambda inputs: {}),
    (say("Group size doubled"), lambda inputs: {"group_size": inputs.group_size * 2}),
    (say("Group size halved"), lambda inputs: {"group_size": max(LEAST_GROUP, inputs.group_size // 2)}),
    (say("Answers twice as long"), lambda inputs: {"mean_length": inputs.mean_length * 2, "max_tokens": None}),
    (say("Four times the prompts: watch the overhead's share"), lambda inputs: {"prompts": inputs.prompts * 4}),
    (say("Only 3 hours: as many steps as fit"), lambda inputs: {"steps": steps_within(inputs, 3 * units.HOUR)}),
)


def steps_within(inputs: PlanInputs, budget_s: float, most: int | None = None) -> int:
    """The most steps that fit into a time: at least 1, at most `most` (default: the planned ones)."""
    low, high = 1, inputs.steps if most is None else most
    while low < high:
        middle = (low + high + 1) // 2
        if total_s(inputs.model_copy(update={"steps": middle})) <= budget_s:
            low = middle
        else:
            high = middle - 1
    return low


def experiment(inputs: PlanInputs, index: int) -> Estimate:
    """The estimate of one experiment of `EXPERIMENTS`, from these inputs."""
    return estimate(inputs.model_copy(update=EXPERIMENTS[index][1](inputs)))


def sweep(inputs: PlanInputs, field: str, values: Sequence[Any]) -> tuple[Estimate, ...]:
    """One estimate a value of one input, everything else as it is.

    Raises:
        ImpossiblePlan: no such input, or a value that cannot describe a run.
    """
    if field not in LABELS:
        raise ImpossiblePlan(field, say("no such input; the inputs are {names}.", names=", ".join(LABELS)))
    if not values:
        raise ImpossiblePlan(LABELS[field], say("a sweep needs at least one value."))
    given = {name: value for name, value in inputs if name not in {"sources", "ranges", "spread", field}}
    sources = {name: source for name, source in inputs.sources.items() if name != field}
    ranges = {name: ends for name, ends in inputs.ranges.items() if name != field}
    return tuple(estimate(plan_inputs({**given, field: value}, sources, ranges, inputs.spread)) for value in values)
