"""One run: the answer first, then its evidence, then its detail."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_health, charts_run, facts, live, load, parts, state, summary
from timeledger.results import Analysis


def show(analysis: Analysis) -> None:
    """Everything of one run below its header."""
    dark = parts.is_dark()
    parts.cards(summary.cards(analysis, parts.zone()))
    parts.say(analysis.headline)
    for warning in analysis.projection.warnings:
        st.warning(parts.quiet(warning), icon=":material/warning:")
    if not analysis.run.has_steps:
        parts.empty("This log has no training steps.", summary.how_to_log(analysis))
        return
    where_time_goes(analysis, dark)
    left, right = st.columns(2, gap="medium")
    with left:
        parts.chart(
            charts_run.fan(analysis, dark), "fan", summary.fan_words(analysis), head="When it ends",
            missing=analysis.projection.why or analysis.clock.why or "",
        )  # fmt: skip
        parts.chart(
            charts_run.lengths(analysis.run.steps, analysis.growth, dark), "lengths", analysis.growth.sentence,
            head="How long answers are", missing=analysis.growth.why or "",
        )  # fmt: skip
    with right:
        parts.chart(
            charts_run.step_cost(analysis.timing, dark), "cost", analysis.timing.sentence, head="What a step costs",
            missing=analysis.timing.why or "",
        )  # fmt: skip
        parts.chart(
            charts_health.health(analysis.run.steps, dark), "health", summary.health_words(analysis), head="Is it learning",
            missing="This log holds none of the usual signs.",
        )  # fmt: skip
        parts.absent(charts_health.absent(analysis.run.steps))


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
    parts.chart(figure, "profile", summary.breakdown_words(analysis))
    if analysis.breakdown.why:
        st.caption(parts.quiet(analysis.breakdown.why))


opened = load.opened()
parts.problems(opened)
entry = parts.pick_run(opened)
if entry is None:
    parts.empty("No run is open.", "Go to Runs: drop a log, type a path, or open a bundled sample.")
    st.page_link("views/runs.py", label="Runs", icon=":material/list:")
else:
    head, typed = st.columns([5, 1], vertical_alignment="center")
    with typed:
        facts.ask(entry)
    analysis = load.analysed(entry)
    with head:
        parts.title(analysis)
    live.follow(entry, analysis)
    show(analysis)
    parts.notes(analysis.run.notes, summary.sources_words(analysis))
    if st.button("Plan the next run from this one", icon=":material/calculate:"):
        state.plan_from(entry.key)
        st.switch_page("views/plan.py", query_params=state.query())
