"""The documents of what comes before a run: `plan`, `budget`, `steps`, `account`."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import AliasChoices, Field

from timeledger.account import Account
from timeledger.against import Against
from timeledger.budget import Budget, Nearest
from timeledger.document_base import Part, PhasePart, Range
from timeledger.ladder import Ladder
from timeledger.most import Most, Weekend
from timeledger.plan import Cost, Estimate
from timeledger.steps import StepCount


class PlanPart(Part):
    """The calculator's answer. `hidden` runs beside the step; `total_s` is `step_s` x steps + `once_s`; `because` explains its interval."""

    inputs: dict[str, Any]
    sequences_per_step: int
    tokens_per_step: float
    parts: tuple[PhasePart, ...]
    step_s: float
    total_s: Range
    cost: Cost | None
    hints: tuple[str, ...]
    hidden: tuple[PhasePart, ...] = ()
    once_s: float = 0.0
    floor_s: float | None = None
    because: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class SweepRow(Part):
    """The calculator's answer at one value of the swept input."""

    value: float | str
    step_s: float
    total_s: Range
    sampling_share: float
    training_share: float
    fixed_share: float


class SweepPart(Part):
    """One input swept, everything else as planned."""

    field: str
    rows: tuple[SweepRow, ...]


class PlanDocument(Part):
    """What `timeledger plan --json` prints; the last three only where asked for."""

    version: Literal[1] = Field(default=1, alias="schema")
    plan: PlanPart
    sweep: SweepPart | None = None
    ladder: Ladder | None = None
    against: Against | None = None


class CutPart(Part):
    """One cut, with what it saves and what it does to the conclusion. `data` counts the questions of the whole run."""

    what: Literal["steps", "data", "max_tokens", "group_size", "eval_questions"]
    before: int = Field(validation_alias=AliasChoices("before", "from"), serialization_alias="from")
    after: int = Field(validation_alias=AliasChoices("after", "to"), serialization_alias="to")
    saves_s: float
    effect: str


class BudgetPart(Part):
    """What has to give. `kept`: levers that were not used, and why. `most`, `weekend`: the other way round, where asked for."""

    hours: float
    fits: bool
    before_s: float
    after_s: float
    cuts: tuple[CutPart, ...]
    kept: dict[str, str]
    plan: PlanPart
    settings: dict[str, str]
    nearest: Nearest | None
    most: tuple[Most, ...]
    weekend: Weekend | None


class BudgetDocument(Part):
    """What `timeledger budget --json` prints."""

    version: Literal[1] = Field(default=1, alias="schema")
    budget: BudgetPart


class StepsDocument(Part):
    """What `timeledger steps --json` prints."""

    version: Literal[1] = Field(default=1, alias="schema")
    steps: StepCount


class AccountDocument(Part):
    """What `timeledger account --json` prints."""

    version: Literal[1] = Field(default=1, alias="schema")
    account: Account
    plan: PlanPart


PLANNING: Final[dict[str, type[Part]]] = {
    "plan": PlanDocument,
    "budget": BudgetDocument,
    "steps": StepsDocument,
    "account": AccountDocument,
}


def plan_part(answer: Estimate) -> PlanPart:
    """The calculator's answer as a part of a document."""
    return PlanPart(
        inputs=answer.inputs.model_dump(mode="json"),
        sequences_per_step=answer.sequences_per_step,
        tokens_per_step=answer.tokens_per_step,
        parts=tuple(PhasePart.model_validate(part) for part in answer.parts),
        step_s=answer.step_s,
        total_s=Range.model_validate(answer.total_s),
        cost=answer.cost,
        hints=answer.hints,
        hidden=tuple(PhasePart.model_validate(part) for part in answer.hidden),
        once_s=answer.once_s,
        floor_s=answer.floor_s,
        because=answer.because,
        warnings=answer.warnings,
    )


def plan_document(
    answer: Estimate, *, sweep: SweepPart | None = None, ladder: Ladder | None = None, against: Against | None = None
) -> PlanDocument:
    """The document of `plan`."""
    return PlanDocument(plan=plan_part(answer), sweep=sweep, ladder=ladder, against=against)


def sweep_part(field: str, answers: tuple[Estimate, ...]) -> SweepPart:
    """Estimates along one input."""
    fixed = ("fixed overhead", "weight sync", "sleep/wake")
    rows = (
        SweepRow(
            value=getattr(answer.inputs, field),
            step_s=answer.step_s,
            total_s=Range.model_validate(answer.total_s),
            sampling_share=answer.share("sampling"),
            training_share=answer.share("forward-backward") + answer.share("log-probs"),
            fixed_share=sum(answer.share(name) for name in fixed),
        )
        for answer in answers
    )
    return SweepPart(field=field, rows=tuple(rows))


def budget_document(found: Budget, most: tuple[Most, ...] = (), weekend: Weekend | None = None) -> BudgetDocument:
    """The document of `budget`."""
    return BudgetDocument(
        budget=BudgetPart(
            hours=found.hours,
            fits=found.fits,
            before_s=found.before_s,
            after_s=found.after_s,
            cuts=tuple(CutPart.model_validate(cut) for cut in found.cuts),
            kept=found.kept,
            plan=plan_part(found.plan),
            settings=found.settings,
            nearest=found.nearest,
            most=most,
            weekend=weekend,
        )
    )
