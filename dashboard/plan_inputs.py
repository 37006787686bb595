"""The calculator's inputs: typed, or prefilled from a run; each says where its value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import load, parts, planning, state
from dashboard.language import mark, retold, t
from dashboard.load import Entry, Opened
from dashboard.localised import seconds
from dashboard.packed import Typed, numbers
from timeledger import plan
from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import Framework, find_framework
from timeledger.ladder import ladder
from timeledger.plan import EXPERIMENTS, Estimate, PlanInputs, estimate
from timeledger.plan_inputs import WHOLE

_NONE: Final = mark("the defaults")
#: A swept input is shown at these multiples of its value.
_SWEPT: Final = (0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Input:
    """One input: field, label with its unit, smallest value, step of the buttons, hint."""

    field: str
    label: str
    least: float
    by: float
    help: str


MAIN: Final = (
    Input("prompts", mark("Prompts per step"), 1, 1, mark("Questions of one optimizer step, over all GPUs")),
    Input("group_size", mark("Answers per prompt, G"), 1, 1, mark("The group size; not below 4")),
    Input("mean_length", mark("Mean answer length, tokens"), 1.0, 50.0, mark("Measured late in a run; never the limit")),
    Input("gen_tok_s", mark("Generation throughput, tok/s"), 1.0, 250.0, mark("Of the whole job, measured: the log's, or `vllm bench`")),
    Input("train_tok_s", mark("Training throughput, tok/s"), 1.0, 250.0, mark("Tokens per second through forward and backward")),
    Input("fixed_s", mark("Fixed overhead of a step, s"), 0.0, 0.5, mark("Weight sync and sleep/wake: about 3 to 6 s on one GPU")),
    Input("steps", mark("Steps"), 1, 10, mark("Optimizer steps of the whole run")),
)  # fmt: skip
MORE: Final = (
    Input("max_tokens", mark("Limit on answer tokens"), 1, 64, mark("Only checked against the mean length")),
    Input("eval_every", mark("An evaluation every … steps"), 1, 10, ""),
    Input("eval_s", mark("Seconds of one evaluation"), 0.0, 10.0, ""),
    Input("eval_questions", mark("Evaluation questions"), 1, 100, mark("Of one evaluation: gives its error, and what fewer would cost")),
    Input("accuracy", mark("Accuracy now, 0 to 1"), 0.0, 0.05, mark("For the error of an evaluation and for groups without signal")),
    Input("truncated", mark("Share of answers cut, 0 to 1"), 0.0, 0.01, mark("A tighter limit is proposed only where few are cut now")),
    Input("save_every", mark("A checkpoint every … steps"), 1, 10, ""),
    Input("save_s", mark("Seconds of one checkpoint"), 0.0, 10.0, ""),
    Input("gpus", mark("GPUs"), 1, 1, mark("Gives GPU-hours")),
    Input("price_per_gpu_hour", mark("Price of a GPU-hour"), 0.0, 0.1, mark("Gives the cost")),
)  # fmt: skip
#: Changing one makes what was measured of the others untrue.
_DEPENDS: Final = {
    "mean_length": ("first_length", "length_growth", "longest"),
    "fixed_s": ("sync_s", "sleep_wake_s"),
    "max_tokens": ("truncated", "longest"),
}


@contextmanager
def possible(answer: DeltaGenerator) -> Iterator[None]:
    """Where numbers that cannot be a run are told in the place of the answer, which ends the page."""
    try:
        yield
    except ImpossiblePlan as error:
        with answer:
            parts.failure(t("These numbers cannot be a run."), retold(error.text))
        st.stop()


def choose_source(opened: Opened) -> None:
    """Start from an open run (first: the one looked at last, or the only one) or from the defaults; a change fills the inputs anew."""
    labels = {"": t(_NONE)} | {each.key: each.label for each in opened.entries if each.run.has_steps}
    wanted = _first(list(labels))
    if len(labels) > 1:
        keys = list(labels)
        wanted = (
            st.selectbox(t("Start from"), keys, keys.index(wanted), format_func=lambda key: labels.get(key, key)) or ""
        )
    known = planning.plan_source()
    if not planning.planned() or wanted != (known or ""):
        if known is not None or len(labels) > 1:
            planning.plan_from(wanted)
        entry = opened.find(wanted)
        start = _rounded(_from_run(entry)) if entry is not None else PlanInputs()
        planning.start_plan(start)
        _fill(start)
        _refill(planning.plan_typed())


def _first(keys: Sequence[str]) -> str:
    """What is proposed: what was chosen before, else the run looked at last, else the only run; what was typed stays."""
    known = planning.plan_source()
    if known is not None or planning.plan_typed():
        return known if known is not None and known in keys else ""
    chosen = state.chosen()
    return chosen if chosen is not None and chosen in keys else keys[1] if len(keys) == 2 else ""


def _from_run(entry: Entry) -> PlanInputs:
    analysis = load.analysed(entry)
    facts = analysis.facts
    given = {"gpus": facts.gpus, "price_per_gpu_hour": facts.price_per_gpu_hour, "currency": facts.currency or None}
    return plan.from_run(analysis, given)


def _rounded(inputs: PlanInputs) -> PlanInputs:
    """What is shown, to four digits: more would promise what a fit or a mean cannot hold."""
    shown = {each.field: getattr(inputs, each.field) for each in (*MAIN, *MORE)}
    return inputs.model_copy(
        update={name: float(f"{value:.4g}") for name, value in shown.items() if isinstance(value, float)}
    )


def framework(opened: Opened) -> Framework | None:
    """The framework of the run that the plan starts from."""
    entry = opened.find(planning.plan_source() or "")
    return None if entry is None else find_framework(entry.run.info.framework)


def compare_with_run(opened: Opened) -> None:
    """What the run that the plan starts from says itself: its measured step, and the inputs that its log does not hold."""
    entry, start = opened.find(planning.plan_source() or ""), planning.planned()
    if entry is None or start is None:
        return
    step_s = load.analysed(entry).clock.step_s
    if step_s is not None:
        st.caption(t("Measured in {run}: a step takes {time} now.", run=parts.quiet(entry.label), time=seconds(step_s)))
    lacking = [t(each.label) for each in MAIN if each.field not in start.sources]
    if lacking:
        names = t(", ").join(lacking)
        parts.warnings([t("Not in its log, so a default stands in: {names}. Type what you measured.", names=names)])


def ask(*, folded: bool = False) -> PlanInputs:
    """The inputs as they stand; `folded` puts them all behind a heading.

    Raises:
        ImpossiblePlan: numbers that cannot describe a run.
    """
    start = planning.planned() or PlanInputs()
    values: dict[str, Any] = {}
    with st.expander(t("The plan"), icon=":material/tune:") if folded else st.container():
        for at in range(0, len(MAIN), 2):
            for place, each in zip(st.columns(2), MAIN[at : at + 2], strict=False):
                with place:
                    values[each.field] = _number(each)
                    if start.sources:
                        st.caption(parts.quiet(_source(start, each.field, values[each.field])))
    with st.expander(t("Evaluations, checkpoints, cost"), icon=":material/more_horiz:"):
        for each in MORE:
            values[each.field] = _number(each)
        values["currency"] = st.text_input(t("Currency"), key=_key("currency"), max_chars=8, persist_state="session")
    planning.type_plan({name: value for name, value in values.items() if value != getattr(start, name)})
    return _typed_over(start, values)


def _typed_over(start: PlanInputs, values: dict[str, Any]) -> PlanInputs:
    """The start with what was typed; what was measured together with a value that is changed goes with it."""
    needed = {each.field for each in MAIN}
    kept = {name: value for name, value in values.items() if value is not None or name not in needed}
    changed = {name: value for name, value in kept.items() if (value or None) != (getattr(start, name) or None)}
    if not changed:
        return start
    gone = {name for each in changed for name in _DEPENDS.get(each, ())} - changed.keys()
    known = {name: value for name, value in start if name not in {"sources", "ranges", "spread", *gone}}
    sources = {name: source for name, source in start.sources.items() if name not in changed}
    ranges = {name: ends for name, ends in start.ranges.items() if name not in changed}
    return plan.plan_inputs(known | changed, sources, ranges, start.spread)


def _source(start: PlanInputs, field: str, value: float | int | None) -> str:
    source = start.source(field)
    return (
        f"{t(source.kind)}{t(': ')}{retold(source.text)}" if value == getattr(start, field) else t("assumed: typed in")
    )


def baseline() -> Estimate | None:
    """The estimate of what the inputs started from."""
    start = planning.planned()
    return None if start is None else estimate(start)


def same(one: PlanInputs, other: PlanInputs) -> bool:
    """Equal in every value, wherever the values come from."""
    return one.model_dump(exclude={"sources"}) == other.model_dump(exclude={"sources"})


def try_experiment(at: int) -> None:
    """Set the inputs to one of the lesson's experiments, from where they started."""
    start = planning.planned() or PlanInputs()
    _fill(start.model_copy(update=EXPERIMENTS[at][1](start)))


def reset() -> None:
    """Back to where the inputs started."""
    _fill(planning.planned() or PlanInputs())


def sweep_one(inputs: PlanInputs) -> tuple[str, list[tuple[str, Estimate]]]:
    """Choose one input and see the step over its values: the input's label, and an estimate a value."""
    labels = {each.field: t(each.label) for each in MAIN}
    names, usual = list(labels), MAIN[1].field
    start = names.index(state.choice("sweep", labels, usual))
    field = st.selectbox(t("Input"), names, format_func=lambda name: labels[name], index=start, key="sweep", width=260)
    state.choose_view("sweep", field, usual)
    now = getattr(inputs, field)
    values = [now * factor for factor in _SWEPT]
    if field in WHOLE:
        values = sorted({max(1, round(value)) for value in values})
    found = []
    for value in values:
        try:
            found += [(f"{value:,.6g}", each) for each in plan.sweep(inputs, field, [value])]
        except ImpossiblePlan:  # a mean length above the limit: that value is no run
            continue
    return labels[field], found


def smoke_ladder(inputs: PlanInputs, opened: Opened) -> None:
    """The short runs before the long one: what each takes and must show, and its command."""
    found = ladder(inputs, framework(opened))
    parts.head(t("Before the long run"))
    rows = [
        (t("{count} steps", count=f"{each.steps:,}"), seconds(each.seconds), retold(each.must_show))
        for each in found.rungs
    ]
    parts.table((t("Test"), t("Takes"), t("It must show")), rows, left=1, right_to=2)
    together = t(
        "The tests together take {time}, loading the model each time ({load}) included.",
        time=seconds(found.smoke_s),
        load=seconds(found.load_s),
    )
    st.caption(together)
    if commands := [each.command for each in found.rungs if each.command]:
        st.code("\n".join(commands), language=None, wrap_lines=True)


def _fill(inputs: PlanInputs) -> None:
    for each in (*MAIN, *MORE):
        st.session_state[_key(each.field)] = getattr(inputs, each.field)
    st.session_state[_key("currency")] = inputs.currency


def _refill(typed: Mapping[str, Typed]) -> None:
    """What a link says was typed over the start."""
    fields = {each.field: each for each in (*MAIN, *MORE)}
    for name, value in numbers(typed).items():
        if name in fields and value >= fields[name].least:
            st.session_state[_key(name)] = int(value) if name in WHOLE else float(value)
    if isinstance(currency := typed.get("currency"), str):
        st.session_state[_key("currency")] = currency[:8]


def _number(item: Input) -> float | int | None:
    if item.field in WHOLE:
        return st.number_input(
            t(item.label),
            min_value=int(item.least),
            step=int(item.by),
            key=_key(item.field),
            help=t(item.help) or None,
            value=None,
            persist_state="session",
        )
    return st.number_input(
        t(item.label),
        min_value=float(item.least),
        step=float(item.by),
        format="%g",
        key=_key(item.field),
        help=t(item.help) or None,
        value=None,
        persist_state="session",
    )


def _key(field: str) -> str:
    return f"plan_{field}"
