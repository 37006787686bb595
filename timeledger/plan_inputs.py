"""What the calculator is given: values, where each comes from, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from timeledger import units
from timeledger.errors import ImpossiblePlan
from timeledger.run import Kind, Text
from timeledger.said import lower, say

Mode = Literal["colocate", "split", "one-step-off"]
#: colocate: sampling and training take turns on the same GPUs. split: two pools that take turns (no sleep/wake).
#: one-step-off: two pools that work at the same time, on answers of the step before.
MODES: Final[tuple[Mode, ...]] = ("colocate", "split", "one-step-off")
#: A range: the value lies between the two (about four times out of five).
Bounds = tuple[float, float]

LABELS: Final = {
    "prompts": say("prompts per step"),
    "group_size": say("group size G"),
    "mean_length": say("mean answer length"),
    "gen_tok_s": say("generation throughput"),
    "train_tok_s": say("training throughput"),
    "fixed_s": say("fixed overhead"),
    "steps": say("steps"),
    "max_tokens": say("limit on answer tokens"),
    "eval_every": say("steps between evaluations"),
    "eval_s": say("seconds of one evaluation"),
    "save_every": say("steps between checkpoints"),
    "save_s": say("seconds of one checkpoint"),
    "gpus": say("GPUs"),
    "price_per_gpu_hour": say("price of a GPU-hour"),
    "first_length": say("mean answer length at the start"),
    "length_growth": say("growth of the answers to come"),
    "longest": say("longest answer of a step"),
    "truncated": say("share of answers cut at the limit"),
    "single_tok_s": say("throughput of a single answer"),
    "logprob_tok_s": say("log-prob throughput"),
    "logprob_s": say("seconds of log-probs a step"),
    "sync_s": say("weight sync"),
    "sleep_wake_s": say("sleep/wake"),
    "reward_s": say("reward"),
    "startup_s": say("slow first steps"),
    "eval_questions": say("evaluation questions"),
    "eval_length": say("answer length in evaluations"),
    "accuracy": say("accuracy"),
    "data_size": say("questions in the training data"),
    "mode": say("mode"),
    "gen_gpus": say("GPUs that generate"),
    "measured_gpus": say("GPUs the throughputs were measured on"),
    "gpu_scaling": say("share of an added GPU's throughput that arrives"),
}
_TEXT: Final = ("mode", "currency")
#: Never a range: they say what is done, not how fast.
_EXACT: Final = ("gpus", "gen_gpus", "measured_gpus")


class Source(BaseModel):
    """Where an input comes from, as shown beside it: "typed in", "default", "run grpo-longer, last quarter"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    text: Text


class PlanInputs(BaseModel):
    """What the calculator is given. Lengths and limits in tokens, throughputs in tok/s of the whole job, times in seconds.

    `mean_length` is the mean measured late in a run, never the limit. The defaults are the lesson's. `fixed_s` is the
    lesson's sum; `sync_s` and `sleep_wake_s`, where known, are parts of it. An evaluation that is known without an
    interval comes once, at the end. `startup_s` is paid once: what the first steps take above ordinary ones (compiling).
    `ranges`: field -> (low, high). `spread`: low and high factor of the total, where a run measured it.
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
    first_length: float | None = Field(default=None, gt=0)
    length_growth: float | None = Field(default=None, gt=0, le=1000)
    longest: float | None = Field(default=None, gt=0)
    truncated: float | None = Field(default=None, ge=0, le=1)
    single_tok_s: float | None = Field(default=None, gt=0)
    logprob_tok_s: float | None = Field(default=None, gt=0)
    logprob_s: float | None = Field(default=None, ge=0)
    sync_s: float | None = Field(default=None, ge=0)
    sleep_wake_s: float | None = Field(default=None, ge=0)
    reward_s: float | None = Field(default=None, ge=0)
    startup_s: float | None = Field(default=None, ge=0)
    eval_every: int | None = Field(default=None, ge=1)
    eval_s: float | None = Field(default=None, ge=0)
    eval_questions: int | None = Field(default=None, ge=1)
    eval_length: float | None = Field(default=None, gt=0)
    accuracy: float | None = Field(default=None, ge=0, le=1)
    data_size: int | None = Field(default=None, ge=1)
    save_every: int | None = Field(default=None, ge=1)
    save_s: float | None = Field(default=None, ge=0)
    mode: Mode = "colocate"
    gpus: int | None = Field(default=None, ge=1)
    gen_gpus: int | None = Field(default=None, ge=1)
    measured_gpus: int | None = Field(default=None, ge=1)
    gpu_scaling: float | None = Field(default=None, ge=0, le=1)
    price_per_gpu_hour: float | None = Field(default=None, ge=0)
    currency: str = ""
    sources: dict[str, Source] = {}
    ranges: dict[str, Bounds] = {}
    spread: Bounds | None = None

    def source(self, field: str) -> Source:
        """Where a field's value comes from."""
        return self.sources.get(field, Source(kind="assumed", text=say("default")))


#: Fields that hold whole numbers.
WHOLE: Final = frozenset(
    name for name, field in PlanInputs.model_fields.items() if field.annotation in {int, int | None}
)
#: Fields that hold a number, in the order of the labels.
NUMBERS: Final = tuple(name for name in LABELS if name not in _TEXT)


def plan_inputs(
    values: Mapping[str, Any],
    sources: Mapping[str, Source] | None = None,
    ranges: Mapping[str, Bounds] | None = None,
    spread: Bounds | None = None,
) -> PlanInputs:
    """Inputs from plain values; None means the default. Values without a source are taken as typed in.

    A value may be a range: a text `low..high` or a pair; the calculator uses its middle. `sequences` (a step's answers)
    may stand in for `prompts`.

    Raises:
        ImpossiblePlan: a value cannot describe a run; the text names the field.
    """
    given = {name: value for name, value in values.items() if value is not None}
    typed = {name: Source(kind="assumed", text=say("typed in")) for name in given}
    if "sequences" in given:
        given["prompts"] = _prompts(given.pop("sequences"), given.get("group_size", PlanInputs().group_size))
    bounds: dict[str, Bounds] = dict(ranges or {})
    for name, value in given.items():
        read = _read(name, value)
        if isinstance(read, tuple):
            bounds[name] = read
            read = _middle(name, read)
        given[name] = read
    if "fixed_s" not in given and (parts := [given[name] for name in ("sync_s", "sleep_wake_s") if name in given]):
        given["fixed_s"] = math.fsum(parts)
    kept = {name: source for name, source in (sources or {}).items() if name in PlanInputs.model_fields}
    inputs = _checked({**given, "sources": {**typed, **kept}, "ranges": bounds, "spread": spread})
    for name, ends in bounds.items():
        for end in ends:
            _checked({name: round(end) if name in WHOLE else end})
    _fit_together(inputs)
    return inputs


def _checked(values: Mapping[str, Any]) -> PlanInputs:
    try:
        return PlanInputs(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "input"
        why = say("{value} cannot be used: {why}.", value=repr(first.get("input")), why=_why(first))
        raise ImpossiblePlan(LABELS.get(name, name), why) from error


def _why(first: ErrorDetails) -> str:
    """What pydantic says of a value, in words of our own where it is a bound."""
    bounds = first.get("ctx", {})
    if "ge" in bounds:
        return say("input should be greater than or equal to {bound}", bound=f"{bounds['ge']:.12g}")
    if "gt" in bounds:
        return say("input should be greater than {bound}", bound=f"{bounds['gt']:.12g}")
    if "le" in bounds:
        return say("input should be less than or equal to {bound}", bound=f"{bounds['le']:.12g}")
    return lower(first["msg"])


def _read(name: str, value: Any) -> Any:
    """A value as it is used: a text becomes a number or, as `low..high`, a pair."""
    if name in _TEXT or isinstance(value, int | float | bool):
        return value
    if isinstance(value, tuple | list) and len(value) == 2:
        return _bounds(name, value[0], value[1], f"{value[0]}..{value[1]}")
    if not isinstance(value, str):
        return value
    low, dots, high = value.partition("..")
    if dots:
        return _bounds(name, units.number(low), units.number(high), value)
    number = units.number(value)
    if number is None:
        raise ImpossiblePlan(
            LABELS.get(name, name), say("{value} is not a number (nor a range such as 2500..3500).", value=repr(value))
        )
    return int(number) if math.isfinite(number) and number.is_integer() and name in WHOLE else number


def _bounds(name: str, low: Any, high: Any, shown: str) -> Bounds:
    label = LABELS.get(name, name)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        raise ImpossiblePlan(label, say("{value} is not a range of two numbers such as 2500..3500.", value=repr(shown)))
    if name in _EXACT:
        raise ImpossiblePlan(label, say("{value}: one number is wanted, not a range.", value=repr(shown)))
    if not low <= high:
        raise ImpossiblePlan(label, say("{value}: the low end comes first.", value=repr(shown)))
    return float(low), float(high)


def _middle(name: str, ends: Bounds) -> float | int:
    """The geometric middle (the arithmetic one where an end is 0): factors up and down weigh the same."""
    low, high = ends
    middle = math.sqrt(low * high) if low > 0 and math.isfinite(low * high) else (low + high) / 2
    return max(round(middle), 1) if name in WHOLE and math.isfinite(middle) else middle


def _prompts(sequences: Any, group: Any) -> int:
    """Prompts of so many answers.

    Raises:
        ImpossiblePlan: the group size does not divide them.
    """
    whole, size = _read("prompts", sequences), _read("group_size", group)
    if not isinstance(whole, int) or not isinstance(size, int) or size < 1 or whole < 1 or whole % size:
        raise ImpossiblePlan(
            LABELS["group_size"],
            say(
                "{group} does not divide the {answers} answers of a step: a group would be cut.",
                group=group,
                answers=sequences,
            ),
        )
    return whole // size


def _fit_together(inputs: PlanInputs) -> None:
    """What no field shows alone.

    Raises:
        ImpossiblePlan: two values contradict each other.
    """
    limit = inputs.max_tokens
    if limit is not None and limit < inputs.mean_length:
        raise ImpossiblePlan(
            LABELS["max_tokens"],
            say(
                "{limit} is below the mean answer length of {mean}; no answer can be longer than the limit.",
                limit=limit,
                mean=f"{inputs.mean_length:g}",
            ),
        )
    if inputs.longest is not None and inputs.longest < inputs.mean_length:
        raise ImpossiblePlan(
            LABELS["longest"],
            say(
                "{longest} is below the mean answer length of {mean}.",
                longest=f"{inputs.longest:g}",
                mean=f"{inputs.mean_length:g}",
            ),
        )
    parts = (inputs.sync_s or 0.0) + (inputs.sleep_wake_s or 0.0)
    if parts > inputs.fixed_s * (1 + 1e-9):
        raise ImpossiblePlan(
            LABELS["fixed_s"],
            say(
                "{fixed} s is less than weight sync and sleep/wake together ({parts} s).",
                fixed=f"{inputs.fixed_s:g}",
                parts=f"{parts:g}",
            ),
        )
    if inputs.logprob_s is not None and inputs.logprob_tok_s is not None:
        raise ImpossiblePlan(LABELS["logprob_s"], say("give either seconds or a throughput, not both."))
    if inputs.gen_gpus is not None and inputs.mode == "colocate":
        raise ImpossiblePlan(
            LABELS["gen_gpus"], say("only the modes split and one-step-off have GPUs that only generate.")
        )
    if inputs.gen_gpus is not None and (inputs.gpus is None or inputs.gen_gpus >= inputs.gpus):
        have = say("no number of GPUs is given") if inputs.gpus is None else say("{gpus} GPUs in all", gpus=inputs.gpus)
        why = say("{gpus} leaves no GPU to train: {have}.", gpus=inputs.gen_gpus, have=have)
        raise ImpossiblePlan(LABELS["gen_gpus"], why)
