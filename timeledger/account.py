"""The account of a whole experiment: everything around the run that takes time, in GPU-hours, money and energy.

The times of what nobody measured are the lesson's: environment 1 h, model and data 10 min, throughput baseline 15 min.
Prices are the user's.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from timeledger import units
from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import Framework
from timeledger.ladder import ladder
from timeledger.plan import Cost, PlanInputs, cost, estimate
from timeledger.results import Span
from timeledger.run import Kind, Text
from timeledger.said import say
from timeledger.step_cost import eval_s, evaluations, late_length, rates

When = Literal["once", "each run", "by hand"]
SETUP_S: Final = 1.0 * units.HOUR
DOWNLOAD_S: Final = 10 * units.MINUTE
BASELINE_S: Final = 15 * units.MINUTE
#: Writing and debugging code, at a desk.
CODING_S: Final = Span(2 * units.HOUR, 3 * units.HOUR, 4 * units.HOUR)


class AccountInputs(BaseModel):
    """What surrounds the run. Seconds; None means the lesson's usual time (assumed).

    `runs`: experiments of this size. `reruns`: runs that are done again in full. `debug_s`: GPU time of debugging
    beyond the smoke tests. `watts` of one GPU give the energy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    setup_s: float | None = Field(default=None, ge=0)
    download_s: float | None = Field(default=None, ge=0)
    baseline_s: float | None = Field(default=None, ge=0)
    coding_s: float | None = Field(default=None, ge=0)
    load_s: float | None = Field(default=None, ge=0)
    debug_s: float = Field(default=0.0, ge=0)
    runs: int = Field(default=1, ge=1)
    reruns: int = Field(default=0, ge=0)
    watts: float | None = Field(default=None, ge=0)


class Item(BaseModel):
    """One line: seconds with interval, whether GPUs are paid for meanwhile, and how it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text
    when: When
    seconds: Span
    on_gpu: bool
    kind: Kind
    text: Text


class Account(BaseModel):
    """The lines and their sums. `experiment_s`: one run with its smoke tests and evaluation. `total_s`: everything but work at the desk.

    `cost`, `money` intervals and `energy_kwh` are None without GPUs, a price, or watts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[Item, ...]
    experiment_s: Span
    total_s: Span
    desk_s: Span
    gpu_hours: Span | None
    cost: Cost | None
    money: Span | None
    energy_kwh: float | None
    hints: tuple[Text, ...]


def account(inputs: PlanInputs, around: AccountInputs | None = None, framework: Framework | None = None) -> Account:
    """The account of a plan."""
    around = around or AccountInputs()
    items = _items(inputs, around, framework)
    each, once, desk = (_sum(items, when) for when in ("each run", "once", "by hand"))
    times = around.runs
    total = Span(once.low + times * each.low, once.mid + times * each.mid, once.high + times * each.high)
    rerun = next((item.seconds for item in items if item.name == "Re-runs"), Span(0.0, 0.0, 0.0))
    experiment = Span(each.low - rerun.low, each.mid - rerun.mid, each.high - rerun.high)
    spent = cost(inputs, total.mid)
    price = inputs.price_per_gpu_hour
    hours = None if inputs.gpus is None else _scaled(total, inputs.gpus / units.HOUR)
    watts = around.watts
    return Account(
        items=items,
        experiment_s=experiment,
        total_s=total,
        desk_s=desk,
        gpu_hours=hours,
        cost=spent,
        money=None if hours is None or price is None else _scaled(hours, price),
        energy_kwh=None if hours is None or watts is None else hours.mid * watts / 1000,
        hints=tuple(_hints(inputs, around)),
    )


def _items(inputs: PlanInputs, around: AccountInputs, framework: Framework | None) -> tuple[Item, ...]:
    answer = estimate(inputs)
    smoke = ladder(inputs, framework, around.load_s)
    evaluation = evaluations(inputs) * (eval_s(inputs) or 0.0)
    shaky = Span(answer.total_s.low / answer.total_s.mid, 1.0, answer.total_s.high / answer.total_s.mid)
    found = [
        _usual(say("Environment"), around.setup_s, SETUP_S, say("installing, drivers, first imports")),
        _usual(say("Model and data"), around.download_s, DOWNLOAD_S, say("downloads")),
        _usual(say("Throughput baseline"), around.baseline_s, BASELINE_S, say("measuring tok/s before planning")),
        _coding(around.coding_s),
        Item(
            name=say("Smoke tests"),
            when="each run",
            seconds=_scaled(shaky, smoke.smoke_s),
            on_gpu=True,
            kind="inferred",
            text=_smoke_words([f"{rung.steps:,}" for rung in smoke.rungs[:-1]], units.show_seconds(smoke.load_s)),
        ),
        Item(
            name=say("The run"),
            when="each run",
            seconds=_scaled(shaky, answer.total_s.mid - evaluation),
            on_gpu=True,
            kind="inferred",
            text=say(
                "{steps} steps of {time}",
                steps=f"{inputs.steps:,}",
                time=units.show_seconds((answer.total_s.mid - evaluation) / inputs.steps),
            ),
        ),
    ]
    if evaluation > 0:
        found.append(_evaluation(inputs, evaluation, shaky))
    if around.debug_s > 0:
        found.append(_typed(say("Debugging"), "each run", around.debug_s, say("on the GPU, beyond the smoke tests")))
    if around.reruns:
        again = _scaled(answer.total_s, float(around.reruns))
        text = say("{count} of the run in full", count=around.reruns)
        found.append(Item(name=say("Re-runs"), when="each run", seconds=again, on_gpu=True, kind="assumed", text=text))
    return tuple(found)


def _smoke_words(steps: list[str], load: str) -> str:
    if not steps:
        return say("no steps, {load} of loading each", load=load)
    return say("{steps} steps, {load} of loading each", steps=" + ".join(steps), load=load)


def _evaluation(inputs: PlanInputs, seconds: float, shaky: Span) -> Item:
    questions, times = inputs.eval_questions, evaluations(inputs)
    text = say("one evaluation") if times == 1 else say("{times} evaluations", times=f"{times:,}")
    if questions is not None and inputs.eval_s is None:
        length = inputs.eval_length or late_length(inputs)
        rate = inputs.gen_tok_s * rates(inputs)[0]
        text = say(
            "{evaluations} of {questions} questions x {length} tokens / {rate}",
            evaluations=text, questions=f"{questions:,}", length=f"{length:,.0f}", rate=units.show_rate(rate),
        )  # fmt: skip
    return Item(
        name=say("Evaluation"),
        when="each run",
        seconds=_scaled(shaky, seconds),
        on_gpu=True,
        kind="inferred",
        text=text,
    )


def _usual(name: str, typed: float | None, usual: float, text: str) -> Item:
    if typed is not None:
        return _typed(name, "once", typed, text)
    return Item(
        name=name,
        when="once",
        seconds=Span(usual / 2, usual, usual * 2),
        on_gpu=True,
        kind="assumed",
        text=say("{what}; a usual time", what=text),
    )


def _typed(name: str, when: When, seconds: float, text: str) -> Item:
    return Item(name=name, when=when, seconds=Span(seconds, seconds, seconds), on_gpu=True, kind="assumed", text=text)


def _coding(typed: float | None) -> Item:
    seconds = CODING_S if typed is None else Span(typed, typed, typed)
    return Item(
        name=say("Writing and debugging code"),
        when="by hand",
        seconds=seconds,
        on_gpu=False,
        kind="assumed",
        text=say("at the desk, no GPU needed"),
    )


def _sum(items: tuple[Item, ...], when: When) -> Span:
    """Sums of lows and of highs: what makes one line long makes the next one long as well."""
    spans = [item.seconds for item in items if item.when == when]
    return Span(sum(each.low for each in spans), sum(each.mid for each in spans), sum(each.high for each in spans))


def _scaled(span: Span, by: float) -> Span:
    return Span(span.low * by, span.mid * by, span.high * by)


def _hints(inputs: PlanInputs, around: AccountInputs) -> list[str]:
    found = []
    if not around.reruns and not around.debug_s:
        found.append(
            say(
                "No re-runs and no debugging are counted, yet a first experiment is seldom done in one go: a handful of small "
                "ones takes 20 to 40 GPU-hours with both."
            )
        )
    if inputs.gpus is None:
        found.append(say("Give the number of GPUs for GPU-hours, and a price for money."))
    return found


def account_inputs(values: dict[str, float | int | None]) -> AccountInputs:
    """Values checked; None means the usual time.

    Raises:
        ImpossiblePlan: a value that cannot be; the text names it.
    """
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        least = 1 if name == "runs" else 0
        if not value >= least or value == float("inf"):
            why = say("{value} cannot be used: must be at least {least}.", value=f"{value:g}", least=least)
            raise ImpossiblePlan(name.removesuffix("_s").replace("_", " "), why)
    return AccountInputs.model_validate(given)
