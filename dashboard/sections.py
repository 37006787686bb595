"""The sections of the run view, from the answer down to the detail."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_health, charts_run, parts, sentences, summary
from timeledger import compare
from timeledger.results import Analysis


def answer(analysis: Analysis) -> None:
    """The numbers, the sentence, and what to beware of."""
    if analysis.run.has_steps:
        parts.cards(summary.cards(analysis, parts.zone()))
    parts.say(analysis.headline)
    parts.warnings(analysis.projection.warnings)


def evidence(analysis: Analysis) -> None:
    """The charts, each with what it says in words."""
    dark = parts.is_dark()
    if not analysis.run.has_steps:
        parts.empty("This log has no training steps.", sentences.how_to_log(analysis))
        the_engine(analysis, dark)
        return
    where_time_goes(analysis, dark)
    left, right = st.columns(2, gap="medium")
    with left:
        when_it_ends(analysis, dark)
        lengths(analysis, dark)
        pace(analysis, dark)
    with right:
        step_cost(analysis, dark)
        health(analysis, dark)
    the_engine(analysis, dark)


def where_time_goes(analysis: Analysis, dark: bool) -> None:
    """The profile, with its switch of units."""
    st.markdown("##### Where each step's time goes", anchors=False)
    units = charts_run.UNITS if charts_run.tokens_per_step(analysis).height else charts_run.UNITS[:2]
    if analysis.breakdown.by_step.is_empty():
        parts.empty("This log does not say where a step's time goes.", analysis.breakdown.why or "")
        return
    unit = st.segmented_control(
        "Unit",
        units,
        default=units[0],
        required=True,
        key="unit",
        label_visibility="collapsed",
        persist_state="session",
    )
    figure = charts_run.profile(analysis, unit or units[0], dark)
    parts.chart(figure, "profile", sentences.breakdown(analysis))
    if analysis.breakdown.why:
        st.caption(parts.quiet(analysis.breakdown.why))


def when_it_ends(analysis: Analysis, dark: bool) -> None:
    """Elapsed time and its projection."""
    head = "When it ended" if analysis.state == "finished" else "When it ends"
    missing = analysis.clock.why or analysis.projection.why or ""
    parts.chart(charts_run.fan(analysis, dark), "fan", sentences.projection(analysis), head=head, missing=missing)


def lengths(analysis: Analysis, dark: bool) -> None:
    """Answer lengths with forecast and limit."""
    growth = analysis.growth
    figure = charts_run.lengths(analysis.run.steps, growth, dark)
    parts.chart(figure, "lengths", growth.sentence, head="How long answers are", missing=growth.why or "")


def pace(analysis: Analysis, dark: bool) -> None:
    """Longer answers or a slower machine: the late part of the run against its early part."""
    ledger = compare.within(analysis)
    if ledger.step_s is None:
        return
    st.markdown("##### Longer answers or a slower machine", anchors=False)
    parts.difference(ledger, dark, "pace")


def step_cost(analysis: Analysis, dark: bool) -> None:
    """Step time against the length that drives it."""
    timing = analysis.timing
    figure = charts_run.step_cost(timing, dark)
    parts.chart(
        figure, "cost", timing.sentence, head="What a step costs", missing=timing.why or analysis.clock.why or ""
    )


def health(analysis: Analysis, dark: bool) -> None:
    """Whether it learns, and which signs the log lacks."""
    steps = analysis.run.steps
    missing = "This log holds none of the usual signs: reward, accuracy, entropy, KL and the like."
    parts.chart(
        charts_health.health(steps, dark),
        "health",
        sentences.health(analysis),
        head="Is it learning",
        missing=missing,
    )
    parts.absent(charts_health.absent(steps))


def the_engine(analysis: Analysis, dark: bool) -> None:
    """What the inference engine did, where the log holds its lines."""
    figure = charts_health.engine(analysis.run.engine, dark)
    if figure is not None:
        parts.chart(figure, "engine", sentences.engine(analysis), head="What the engine did")
