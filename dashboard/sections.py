"""The sections of the run view, from the answer down to the detail."""

from __future__ import annotations

import streamlit as st

from dashboard import (
    advising,
    charts_finish,
    charts_health,
    charts_run,
    checks,
    differences,
    judging,
    looking,
    parts,
    retold,
    sentences,
    state,
    summary,
)
from dashboard.language import shown, t
from dashboard.load import Entry
from timeledger.compare import Ledger
from timeledger.results import Analysis


def answer(entry: Entry, analysis: Analysis) -> None:
    """The numbers, the sentence, what to beware of, and what to change first."""
    if analysis.run.has_steps:
        parts.cards(summary.cards(analysis, state.zone()))
    parts.say(retold.headline(analysis, state.zone()))
    parts.warnings(analysis.projection.warnings)
    advising.change_first(entry, analysis)


def evidence(entry: Entry, analysis: Analysis) -> None:
    """The charts, each with what it says in words."""
    dark = parts.is_dark()
    if not analysis.run.has_steps:
        parts.empty(t("This log has no training steps."), sentences.how_to_log(analysis))
        the_engine(analysis, dark)
        return
    where_time_goes(analysis, dark)
    looking.at_a_step(entry, analysis)
    left, right = st.columns(2, gap="medium")
    with left:
        when_it_ends(analysis, dark)
        lengths(analysis, dark)
        pace(judging.judged(entry, analysis).pace, dark)
    with right:
        step_cost(analysis, dark)
        health(analysis, dark)
    checks.panel(judging.judged(entry, analysis).checked)
    the_engine(analysis, dark)


def where_time_goes(analysis: Analysis, dark: bool) -> None:
    """The profile, with its switch of units."""
    parts.head(t("Where each step's time goes"))
    units = charts_run.UNITS if charts_run.tokens_per_step(analysis).height else charts_run.UNITS[:2]
    if analysis.breakdown.by_step.is_empty():
        parts.empty(t("This log does not say where a step's time goes."), analysis.breakdown.why or "")
        return
    unit = st.segmented_control(
        t("Unit"), units, default=units[0], required=True, key="unit", label_visibility="collapsed",
        persist_state="session", format_func=shown(units),
    )  # fmt: skip
    figure = charts_run.profile(analysis, unit or units[0], dark)
    looking.chart_of_steps(figure, "profile", sentences.breakdown(analysis))
    if analysis.breakdown.why:
        st.caption(parts.quiet(analysis.breakdown.why))


def when_it_ends(analysis: Analysis, dark: bool) -> None:
    """Elapsed time and its projection, and what would have been said earlier."""
    title = t("When it ended") if analysis.state == "finished" else t("When it ends")
    missing = analysis.clock.why or analysis.projection.why or ""
    parts.chart(charts_finish.fan(analysis, dark), "fan", sentences.projection(analysis), title=title, missing=missing)
    if told := sentences.as_told(analysis):
        heads = (t("Asked at"), t("it would have said"), t("Interval"), t("a plain progress bar"))
        caption = " ".join(filter(None, (t("Had you asked earlier, of the whole run:"), sentences.truth(analysis))))
        parts.table(heads, told, caption=caption)


def lengths(analysis: Analysis, dark: bool) -> None:
    """Answer lengths with forecast and limit."""
    growth = analysis.growth
    figure = charts_run.lengths(analysis.run.steps, growth, dark)
    parts.chart(figure, "lengths", retold.growth(growth), title=t("How long answers are"), missing=growth.why or "")


def pace(ledger: Ledger, dark: bool) -> None:
    """Longer answers or a slower machine: the late part of the run against its early part."""
    if ledger.step_s is None:
        return
    parts.head(t("Longer answers or a slower machine"))
    differences.difference(ledger, dark, "pace")


def step_cost(analysis: Analysis, dark: bool) -> None:
    """Step time against the length that drives it."""
    timing = analysis.timing
    missing = timing.why or analysis.clock.why or ""
    figure = charts_run.step_cost(timing, dark)
    looking.chart_of_steps(figure, "cost", retold.timing(timing), title=t("What a step costs"), missing=missing)


def health(analysis: Analysis, dark: bool) -> None:
    """Whether it learns, and which signs the log lacks."""
    steps = analysis.run.steps
    missing = t("This log holds none of the usual signs: reward, accuracy, entropy, KL and the like.")
    figure = charts_health.health(steps, dark)
    parts.chart(figure, "health", sentences.health(analysis), title=t("Is it learning"), missing=missing)
    parts.absent(charts_health.absent(steps))


def the_engine(analysis: Analysis, dark: bool) -> None:
    """What the inference engine did, where the log holds its lines."""
    figure = charts_health.engine(analysis.run.engine, dark)
    if figure is not None:
        parts.chart(figure, "engine", sentences.engine(analysis), title=t("What the engine did"))
