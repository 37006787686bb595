"""The calculator's inputs: typed, or prefilled from a run; each says where its value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from dashboard import load, parts, state
from dashboard.language import mark, t
from dashboard.load import Opened
from dashboard.localised import seconds
from timeledger import plan
from timeledger.plan import EXPERIMENTS, Estimate, PlanInputs, estimate

_NONE: Final = mark("the defaults")


@dataclass(frozen=True, slots=True)
class Input:
    """One input: field, label with its unit, smallest value, step of the buttons, hint."""

    field: str
    label: str
    least: float
    by: float
    help: str
    optional: bool = False


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
    Input("max_tokens", mark("Limit on answer tokens"), 1, 64, mark("Only checked against the mean length"), True),
    Input("eval_every", mark("An evaluation every … steps"), 1, 10, "", True),
    Input("eval_s", mark("Seconds of one evaluation"), 0.0, 10.0, "", True),
    Input("save_every", mark("A checkpoint every … steps"), 1, 10, "", True),
    Input("save_s", mark("Seconds of one checkpoint"), 0.0, 10.0, "", True),
    Input("gpus", mark("GPUs"), 1, 1, mark("Gives GPU-hours"), True),
    Input("price_per_gpu_hour", mark("Price of a GPU-hour"), 0.0, 0.1, mark("Gives the cost"), True),
)  # fmt: skip
_WHOLE: Final = {"prompts", "group_size", "steps", "max_tokens", "eval_every", "save_every", "gpus"}


def choose_source(opened: Opened) -> None:
    """Start from the lesson's defaults or from an open run; a change fills the inputs anew."""
    labels = {"": t(_NONE)} | {each.key: each.label for each in opened.entries if each.run.has_steps}
    wanted = state.plan_source() if state.plan_source() in labels else ""
    if len(labels) > 1:
        keys = list(labels)
        wanted = (
            st.selectbox(t("Start from"), keys, keys.index(wanted), format_func=lambda key: labels.get(key, key)) or ""
        )
    if wanted != state.plan_source() or not state.planned():
        state.plan_from(wanted)
        entry = opened.find(wanted)
        found = plan.from_analysis(load.analysed(entry)) if entry is not None else {}
        found = {name: (_rounded(value), source) for name, (value, source) in found.items()}
        start = plan.plan_inputs(
            {name: value for name, (value, _) in found.items()}, {name: source for name, (_, source) in found.items()}
        )
        state.start_plan(start)
        _fill(start)


def _rounded(value: float | int) -> float | int:
    """To four digits: more would promise what a fit or a mean cannot hold."""
    return value if isinstance(value, int) else float(f"{value:.4g}")


def compare_with_run(opened: Opened) -> None:
    """What the run that the plan starts from says itself: its measured step, and the inputs that its log does not hold."""
    entry, start = opened.find(state.plan_source()), state.planned()
    if entry is None or start is None:
        return
    step_s = load.analysed(entry).clock.step_s
    if step_s is not None:
        st.caption(t("Measured in {run}: a step takes {time} now.", run=parts.quiet(entry.label), time=seconds(step_s)))
    lacking = [t(each.label) for each in MAIN if each.field not in start.sources]
    if lacking:
        names = t(", ").join(lacking)
        parts.warnings([t("Not in its log, so a default stands in: {names}. Type what you measured.", names=names)])


def ask() -> PlanInputs:
    """The inputs as they stand.

    Raises:
        ImpossiblePlan: numbers that cannot describe a run.
    """
    start = state.planned()
    values: dict[str, Any] = {}
    for at in range(0, len(MAIN), 2):
        for place, each in zip(st.columns(2), MAIN[at : at + 2], strict=False):
            with place:
                values[each.field] = _number(each)
                if start is not None and start.sources:
                    st.caption(parts.quiet(_source(start, each.field, values[each.field])))
    with st.expander(t("Evaluations, checkpoints, cost")):
        for each in MORE:
            values[each.field] = _number(each)
        values["currency"] = st.text_input(t("Currency"), key=_key("currency"), max_chars=8, persist_state="session")
    kept = (
        {}
        if start is None
        else {name: source for name, source in start.sources.items() if values.get(name) == getattr(start, name)}
    )
    return plan.plan_inputs(values, kept)


def _source(start: PlanInputs, field: str, value: float | int | None) -> str:
    source = start.source(field)
    return f"{t(source.kind)}: {t(source.text)}" if value == getattr(start, field) else t("assumed: typed in")


def baseline() -> Estimate | None:
    """The estimate of what the inputs started from."""
    start = state.planned()
    return None if start is None else estimate(start)


def same(one: PlanInputs, other: PlanInputs) -> bool:
    """Equal in every value, wherever the values come from."""
    return one.model_dump(exclude={"sources"}) == other.model_dump(exclude={"sources"})


def try_experiment(at: int) -> None:
    """Set the inputs to one of the lesson's experiments, from where they started."""
    start = state.planned() or PlanInputs()
    _fill(start.model_copy(update=EXPERIMENTS[at][1](start)))


def reset() -> None:
    """Back to where the inputs started."""
    _fill(state.planned() or PlanInputs())


def _fill(inputs: PlanInputs) -> None:
    values: dict[str, Any] = inputs.model_dump(exclude={"sources"})
    for name, value in values.items():
        st.session_state[_key(name)] = value


def _number(item: Input) -> float | int | None:
    if item.field in _WHOLE:
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
