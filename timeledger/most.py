"""The budget the other way round: the most that fits into the hours there are, and how many runs a weekend holds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from timeledger import units
from timeledger.errors import ImpossiblePlan
from timeledger.plan import LABELS, LEAST_GROUP, PlanInputs, total_s


class Most(BaseModel):
    """The largest value of one input at which the run still fits, everything else as planned (None: not even the least)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    planned: float
    most: int | None


def most_within(inputs: PlanInputs, hours: float) -> tuple[Most, ...]:
    """What the most of each input is that fits into `hours`, one at a time."""
    found = []
    free = inputs.model_copy(update={"max_tokens": None, "longest": None, "single_tok_s": None})
    for what, least, base in (
        ("steps", 1, inputs),
        ("group_size", LEAST_GROUP, inputs),
        ("mean_length", 1, free),
        ("prompts", 1, inputs),
    ):
        most = _most(base, what, least, hours * units.HOUR)
        found.append(Most(what=LABELS[what], planned=getattr(inputs, what), most=most))
    return tuple(found)


def _most(inputs: PlanInputs, what: str, least: int, budget_s: float) -> int | None:
    def fits(value: int) -> bool:
        return total_s(inputs.model_copy(update={what: value})) <= budget_s

    if not fits(least):
        return None
    high = least
    while fits(high) and high < 10_000_000:
        high *= 2
    low = least
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


class Weekend(BaseModel):
    """How many runs fit into days of so many hours: `a_day` within one day each, `through` when a run may go on the next day."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    days: int
    hours_a_day: float
    run_s: float
    a_day: int
    runs: int
    through: int


def runs_within(inputs: PlanInputs, days: int, hours_a_day: float, load_s: float = 0.0) -> Weekend:
    """Runs of this plan in `days` of `hours_a_day` hours; `load_s` is paid before each.

    Raises:
        ImpossiblePlan: days or hours that are none.
    """
    if days < 1 or not 0 < hours_a_day <= 24:
        raise ImpossiblePlan("days", f"{days} days of {hours_a_day:g} hours: wanted at least one day of 0 to 24 hours.")
    run_s = total_s(inputs) + load_s
    day_s = hours_a_day * units.HOUR
    a_day = int(day_s / run_s)
    return Weekend(
        days=days,
        hours_a_day=hours_a_day,
        run_s=run_s,
        a_day=a_day,
        runs=a_day * days,
        through=int(days * day_s / run_s),
    )
