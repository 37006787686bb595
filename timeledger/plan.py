"""The calculator: how long a run will take, from throughputs that were measured and a length that was measured.

sequences per step = prompts x G
tokens per step    = sequences per step x mean answer length
sampling time      = tokens per step / generation throughput
training time      = tokens per step / training throughput
step time          = sampling + training + fixed overhead (weight sync, sleep/wake)
total              = step time x steps (+ evaluations and checkpoints where known)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from timeledger import units
from timeledger.errors import ImpossiblePlan
from timeledger.results import Analysis, PhaseShare, Span
from timeledger.run import Kind

#: How far a calculation from measured throughputs and a late mean length may be off; the calculator's interval.
ASSUMED_ERROR: Final = 0.30
#: Below this many answers a question the group baseline is too noisy to learn from.
LEAST_GROUP: Final = 4

LABELS: Final = {
    "prompts": "prompts per step",
    "group_size": "group size G",
    "mean_length": "mean answer length",
    "gen_tok_s": "generation throughput",
    "train_tok_s": "training throughput",
    "fixed_s": "fixed overhead",
    "steps": "steps",
    "max_tokens": "limit on answer tokens",
    "eval_every": "steps between evaluations",
    "eval_s": "seconds of one evaluation",
    "save_every": "steps between checkpoints",
    "save_s": "seconds of one checkpoint",
    "gpus": "GPUs",
    "price_per_gpu_hour": "price of a GPU-hour",
}


class Source(BaseModel):
    """Where an input comes from, as shown beside it: "typed in", "default", "run grpo-longer, last quarter"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    text: str


class PlanInputs(BaseModel):
    """What the calculator is given. Lengths and limits in tokens, throughputs in tok/s of the whole job, times in seconds.

    `mean_length` is the mean measured late in a run, never the limit. The defaults are the lesson's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    prompts: int = Field(default=8, ge=1, le=10_000_000)
    group_size: int = Field(default=8, ge=1, le=100_000)
    mean_length: float = Field(default=400.0, gt=0, le=10_000_000)
    gen_tok_s: float = Field(default=3000.0, gt=0)
    train_tok_s: float = Field(default=9000.0, gt=0)
    fixed_s: float = Field(default=5.0, ge=0)
    steps: int = Field(default=200, ge=1, le=1_000_000_000)
    max_tokens: int | None = Field(default=None, ge=1)
    eval_every: int | None = Field(default=None, ge=1)
    eval_s: float | None = Field(default=None, ge=0)
    save_every: int | None = Field(default=None, ge=1)
    save_s: float | None = Field(default=None, ge=0)
    gpus: int | None = Field(default=None, ge=1)
    price_per_gpu_hour: float | None = Field(default=None, ge=0)
    currency: str = ""
    sources: dict[str, Source] = {}

    def source(self, field: str) -> Source:
        """Where a field's value comes from."""
        return self.sources.get(field, Source(kind="assumed", text="default"))


class Cost(BaseModel):
    """GPU-hours, and money where a price was given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpu_hours: float
    money: float | None = None
    currency: str = ""


class Estimate(BaseModel):
    """The calculator's answer. `parts` are those of one step and add up to `step_s` (evaluation and checkpoint amortised)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: PlanInputs
    sequences_per_step: int
    tokens_per_step: float
    parts: tuple[PhaseShare, ...]
    step_s: float
    total_s: Span
    cost: Cost | None
    hints: tuple[str, ...]

    def share(self, phase: str) -> float:
        """A part's share of the step, 0..1; 0 when the plan has no such part."""
        return next((part.share for part in self.parts if part.phase == phase), 0.0)


def plan_inputs(values: Mapping[str, Any], sources: Mapping[str, Source] | None = None) -> PlanInputs:
    """Inputs from plain values; None means the default. Values without a source are taken as typed in.

    Raises:
        ImpossiblePlan: a value cannot describe a run; the text names the field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    typed = {name: Source(kind="assumed", text="typed in") for name in given}
    try:
        inputs = PlanInputs(**given, sources={**typed, **(sources or {})})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "input"
        text = first["msg"][0].lower() + first["msg"][1:]
        raise ImpossiblePlan(LABELS.get(name, name), f"{first.get('input')!r} cannot be used: {text}.") from error
    if inputs.max_tokens is not None and inputs.max_tokens < inputs.mean_length:
        raise ImpossiblePlan(
            LABELS["max_tokens"],
            f"{inputs.max_tokens} is below the mean answer length of {inputs.mean_length:g}; no answer can be longer than the limit.",
        )
    return inputs


def estimate(inputs: PlanInputs) -> Estimate:
    """What the run costs."""
    sequences = inputs.prompts * inputs.group_size
    tokens = sequences * inputs.mean_length
    seconds = {
        "sampling": tokens / inputs.gen_tok_s,
        "forward-backward": tokens / inputs.train_tok_s,
        "fixed overhead": inputs.fixed_s,
        "evaluation": _amortised(inputs.eval_s, inputs.eval_every),
        "checkpoint": _amortised(inputs.save_s, inputs.save_every),
    }
    step_s = sum(seconds.values())
    kinds: dict[str, tuple[str, ...]] = {
        "sampling": ("gen_tok_s", "mean_length"),
        "forward-backward": ("train_tok_s", "mean_length"),
        "fixed overhead": ("fixed_s",),
        "evaluation": ("eval_s", "eval_every"),
        "checkpoint": ("save_s", "save_every"),
    }
    parts = tuple(
        PhaseShare(phase, value, value / step_s if step_s else 0.0, _kind(inputs, kinds[phase]))
        for phase, value in seconds.items()
        if value > 0 or phase in {"sampling", "forward-backward", "fixed overhead"}
    )
    total = step_s * inputs.steps
    span = Span(total * (1 - ASSUMED_ERROR), total, total * (1 + ASSUMED_ERROR))
    return Estimate(
        inputs=inputs,
        sequences_per_step=sequences,
        tokens_per_step=tokens,
        parts=parts,
        step_s=step_s,
        total_s=span,
        cost=_cost(inputs, total),
        hints=tuple(_hints(inputs, parts, step_s)),
    )


def _amortised(one_s: float | None, every: int | None) -> float:
    return one_s / every if one_s and every else 0.0


def _kind(inputs: PlanInputs, fields: tuple[str, ...]) -> Kind:
    kinds = {inputs.source(field).kind for field in fields}
    return "measured" if kinds == {"measured"} else "assumed" if "assumed" in kinds else "inferred"


def _cost(inputs: PlanInputs, total_s: float) -> Cost | None:
    if inputs.gpus is None:
        return None
    hours = inputs.gpus * total_s / units.HOUR
    money = None if inputs.price_per_gpu_hour is None else hours * inputs.price_per_gpu_hour
    return Cost(gpu_hours=hours, money=money, currency=inputs.currency)


def _hints(inputs: PlanInputs, parts: tuple[PhaseShare, ...], step_s: float) -> list[str]:
    share = {part.phase: part.share for part in parts}
    hints = []
    if inputs.max_tokens is not None and inputs.mean_length >= 0.95 * inputs.max_tokens:
        hints.append(
            f"The mean length of {inputs.mean_length:g} is (almost) the limit of {inputs.max_tokens}. Measured means are "
            "often 3 to 7 times below it: use the late mean length of a short run, never the limit."
        )
    if share["sampling"] >= 0.5:
        hints.append(
            f"Sampling is {units.show_share(share['sampling'])} of a step: raise the engine's memory utilisation and keep "
            "CUDA graphs on before touching length or group size; neither changes the result."
        )
    if share["forward-backward"] < 0.25:
        hints.append(
            f"Training is {units.show_share(share['forward-backward'])}: gradient checkpointing would slow that end, so "
            "check first that memory is really short."
        )
    if share["fixed overhead"] >= 0.15:
        hints.append(
            f"Fixed overhead is {units.show_seconds(inputs.fixed_s)} a step, {units.show_share(share['fixed overhead'])}: "
            "a larger batch per step dilutes it."
        )
    if inputs.group_size < LEAST_GROUP:
        hints.append(
            f"G = {inputs.group_size} is below {LEAST_GROUP}: the group baseline is so noisy that a run can look as if it did not learn."
        )
    return hints


def from_analysis(analysis: Analysis) -> dict[str, tuple[float | int, Source]]:
    """What a run can tell the calculator: field -> (value, source). Fields it cannot tell are left out, never filled in."""
    run, timing, growth = analysis.run, analysis.timing, analysis.growth
    name = run.name
    found: dict[str, tuple[float | int, Source]] = {}

    def take(field: str, value: float | None, kind: Kind, text: str, whole: bool = False) -> None:
        if value is not None and value > 0:
            found[field] = (round(value) if whole else value, Source(kind=kind, text=f"{text} of {name}"))

    group, prompts = run.info.number("group_size"), run.info.number("prompts_per_step")
    sequences = run.info.number("sequences_per_step") or _late(analysis, "sequences")
    if prompts is None and sequences and group:
        prompts = sequences / group
    if group is None and sequences and prompts:
        group = sequences / prompts
    take("group_size", group, "measured", "settings", whole=True)
    take("prompts", prompts, "measured", "settings", whole=True)
    take("mean_length", growth.last, "measured", "late mean length")
    take("max_tokens", growth.limit, "measured", "limit", whole=True)
    take("gen_tok_s", timing.gen_tok_s, "measured", timing.gen_tok_s_from or "throughput")
    take("train_tok_s", timing.train_tok_s, "measured", timing.train_tok_s_from or "throughput")
    fixed = _fixed(analysis)
    take("fixed_s", fixed[0], fixed[1], fixed[2])
    take("steps", analysis.projection.total_steps, "measured", "planned steps", whole=True)
    for periodic in analysis.clock.periodic:
        fields = {"evaluation": ("eval_every", "eval_s"), "checkpoint": ("save_every", "save_s")}.get(periodic.kind)
        if fields and periodic.every and periodic.seconds:
            take(fields[0], periodic.every, "measured", periodic.known_from, whole=True)
            take(fields[1], periodic.seconds, "measured", periodic.known_from)
    take("gpus", run.info.number("gpus"), "measured", "settings", whole=True)
    return found


def _fixed(analysis: Analysis) -> tuple[float | None, Kind, str]:
    """Fixed seconds a step: measured phases first (weight sync, sleep/wake, the rest), else the fit's constant."""
    measured = sum(
        part.seconds
        for part in analysis.breakdown.phases
        if part.phase in {"weight_sync", "sleep_wake", "data", "other", "reward", "wait"}
    )
    if analysis.breakdown.phases and analysis.breakdown.unexplained_s is not None:
        return measured + max(analysis.breakdown.unexplained_s, 0.0), "measured", "phases outside sampling and training"
    if analysis.timing.fixed_s is not None:
        return analysis.timing.fixed_s.mid, "inferred", "fitted constant"
    return None, "inferred", ""


def _late(analysis: Analysis, column: str) -> float | None:
    values = analysis.run.steps[column].drop_nulls().tail(20)
    median = values.median() if values.len() else None
    return float(median) if isinstance(median, int | float) else None


#: The lesson's five experiments: title and the change; the last asks what fits into three hours.
EXPERIMENTS: Final[tuple[tuple[str, Callable[[PlanInputs], dict[str, Any]]], ...]] = (
    ("As it is: look at the sampling share", lambda inputs: {}),
    ("Group size doubled", lambda inputs: {"group_size": inputs.group_size * 2}),
    ("Group size halved", lambda inputs: {"group_size": max(LEAST_GROUP, inputs.group_size // 2)}),
    ("Answers twice as long", lambda inputs: {"mean_length": inputs.mean_length * 2, "max_tokens": None}),
    ("Four times the prompts: watch the overhead's share", lambda inputs: {"prompts": inputs.prompts * 4}),
    ("Only 3 hours: as many steps as fit", lambda inputs: {"steps": steps_within(inputs, 3 * units.HOUR)}),
)


def steps_within(inputs: PlanInputs, budget_s: float) -> int:
    """The most steps that fit into a time, at least 1."""
    return max(1, min(inputs.steps, int(budget_s / estimate(inputs).step_s)))


def experiment(inputs: PlanInputs, index: int) -> Estimate:
    """The estimate of one experiment of `EXPERIMENTS`, from these inputs."""
    return estimate(inputs.model_copy(update=EXPERIMENTS[index][1](inputs)))
