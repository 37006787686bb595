"""A plan against the run that followed: "planned 33.6 s a step, measured 41.2: answers 18 % longer, throughput 6 % lower"."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from timeledger import units
from timeledger.calibrate import Calibration, calibrate
from timeledger.errors import NotEnoughSteps
from timeledger.forecast import steps_done
from timeledger.plan_inputs import LABELS, PlanInputs
from timeledger.results import Analysis, Span
from timeledger.step_cost import late_length, step_cost, total_s

#: Changes below this are not worth a word.
_SAME: Final = 0.02
#: What may differ, in the order in which the planned step is turned into the measured one.
_ORDER: Final = (
    ("batch", ("prompts", "group_size")),
    ("answers", ("mean_length", "length_growth", "max_tokens", "first_length", "longest", "single_tok_s")),
    ("generation throughput", ("gen_tok_s",)),
    ("training throughput", ("train_tok_s", "logprob_tok_s", "logprob_s")),
    ("fixed overhead", ("fixed_s", "sync_s", "sleep_wake_s", "reward_s")),
)


class Difference(BaseModel):
    """One reason: seconds of a step it adds, planned and measured value (None: not comparable), and the words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: str
    seconds: float
    planned: float | None
    measured: float | None
    words: str


class Against(BaseModel):
    """Planned and measured step; the differences add up to `measured_s` - `planned_s`.

    `measured_total_s` is the run's total (a projection while it runs) over `steps`; `planned_total_s` the plan's over as many.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    planned_s: float
    measured_s: float
    differences: tuple[Difference, ...]
    steps: int
    planned_total_s: float
    measured_total_s: Span | None
    sentence: str


def against(inputs: PlanInputs, analysis: Analysis) -> Against:
    """The plan against a run's late steps.

    Raises:
        NotEnoughSteps: the run has no step time yet.
    """
    found = calibrate(analysis, {"prompts": inputs.prompts, "group_size": inputs.group_size})
    if found.number("fixed_s") is None:
        raise NotEnoughSteps(0, 1, "comparing the plan with the run")
    now, before = inputs, step_cost(inputs).plain_s
    planned_s = before
    differences = []
    for part, fields in _ORDER:
        now = now.model_copy(update=_measured(found, inputs, fields))
        after = step_cost(now).plain_s
        differences.append(_difference(part, after - before, inputs, now))
        before = after
    steps = analysis.projection.total_steps or steps_done(analysis.run, analysis.clock) or inputs.steps
    return Against(
        run=analysis.run.name,
        planned_s=planned_s,
        measured_s=before,
        differences=tuple(differences),
        steps=steps,
        planned_total_s=total_s(inputs.model_copy(update={"steps": steps})),
        measured_total_s=analysis.projection.total_s,
        sentence=_sentence(planned_s, before, differences),
    )


def _measured(found: Calibration, inputs: PlanInputs, fields: tuple[str, ...]) -> dict[str, Any]:
    """The run's values of these fields. What the run does not tell stays as planned where the step needs it, else is dropped."""
    needed = {"prompts", "group_size", "mean_length", "gen_tok_s", "train_tok_s", "fixed_s"}
    return {
        name: found.number(name) if name in found.values else getattr(inputs, name) if name in needed else None
        for name in fields
    }


def _difference(part: str, seconds: float, planned: PlanInputs, now: PlanInputs) -> Difference:
    """One part with its values and words."""
    values = {
        "batch": (planned.prompts * planned.group_size, now.prompts * now.group_size, "answers a step"),
        "answers": (late_length(planned), late_length(now), "answers"),
        "generation throughput": (planned.gen_tok_s, now.gen_tok_s, "generation throughput"),
        "training throughput": (planned.train_tok_s, now.train_tok_s, "training throughput"),
        "fixed overhead": (
            planned.fixed_s + (planned.reward_s or 0.0),
            now.fixed_s + (now.reward_s or 0.0),
            LABELS["fixed_s"],
        ),
    }
    old, new, name = values[part]
    up, down = {"answers": ("longer", "shorter"), "batch": ("more", "fewer")}.get(part, ("higher", "lower"))
    change = new / old - 1 if old else None
    if change is None or abs(change) < _SAME:
        words = f"{name} as planned"
    else:
        words = f"{name} {units.show_share(abs(change))} {up if change > 0 else down}"
    return Difference(part=part, seconds=seconds, planned=float(old), measured=float(new), words=words)


def _sentence(planned: float, measured: float, differences: list[Difference]) -> str:
    """Planned, measured and why, the largest reason first."""
    lead = f"Planned {units.show_seconds(planned)} a step, measured {units.show_seconds(measured)}"
    told = sorted(
        (each for each in differences if abs(each.seconds) >= _SAME * planned), key=lambda each: -abs(each.seconds)
    )
    return f"{lead}: {', '.join(each.words for each in told)}." if told else f"{lead}: as planned."
