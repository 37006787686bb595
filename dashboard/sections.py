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
    facts,
    judging,
    looking,
    parts,
    sentences,
    state,
    summary,
)
from dashboard.language import retold, t
from dashboard.load import Entry
from dashboard.localised import seconds
from timeledger.compare import Ledger
from timeledger.results import Analysis


def answer(entry: Entry, analysis: Analysis) -> None:
    """The numbers, the sentence, what to beware of, and what to change first."""
    if analysis.run.trains:
        parts.cards(summary.cards(analysis, state.zone()), lead=True)
    parts.say(retold(analysis.headline))
    facts.ask_total(entry, analysis)
    parts.warnings([retold(each) for each in analysis.projection.warnings])
    advising.change_first(entry, analysis)


def evidence(entry: Entry, analysis: Analysis) -> None:
    """The charts, each with what it says in words."""
    dark = parts.is_dark()
    if not analysis.run.trains:
        parts.empty(t("This log has no training steps."), sentences.how_to_log(analysis))
        the_engine(analysis, dark)
        return
    where_time_goes(entry, analysis, dark)
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


def where_time_goes(entry: Entry, analysis: Analysis, dark: bool) -> None:
    """The profile with its switch of units; where the log does not split a step, how long each took."""
    split = charts_run.is_split(analysis)
    units = charts_run.UNITS if charts_run.tokens_per_step(analysis).height else charts_run.UNITS[:2]
    unit = state.choice("unit", units, units[0])
    with parts.head_line(t("Where each step's time goes") if split else t("How long each step takes"), "profile"):
        if split:
            unit = parts.switch(t("Unit"), units, unit, "unit")
        looking.ask(analysis)
    if split:
        figure, said = charts_run.profile(analysis, unit, dark), sentences.breakdown(analysis)
    else:
        figure, said = charts_run.step_times(analysis, dark), _ordinary(analysis)
    looking.chart_of_steps(figure, "profile", said, missing=retold(analysis.breakdown.why or ""))
    if analysis.breakdown.why and figure is not None:
        st.caption(parts.quiet(retold(analysis.breakdown.why)))
    looking.at_a_step(entry, analysis)


def _ordinary(analysis: Analysis) -> str:
    """Step times as a sentence."""
    times = analysis.clock.steps["wall_s"].drop_nulls()
    usual = summary.ordinary_step(analysis)
    low, high = times.min(), times.max()
    if usual is None or not isinstance(low, float) or not isinstance(high, float):
        return ""
    time, least, most = seconds(usual), seconds(low), seconds(high)
    if least == most:
        return t("Every step took {time}.", time=time)
    return t("An ordinary step takes {time} (median); all took {low} to {high}.", time=time, low=least, high=most)


def when_it_ends(analysis: Analysis, dark: bool) -> None:
    """Elapsed time and its projection, and what would have been said earlier."""
    title = t("When it ended") if analysis.state == "finished" else t("When it ends")
    missing = retold(analysis.clock.why or analysis.projection.why or "")
    parts.chart(charts_finish.fan(analysis, dark), "fan", sentences.projection(analysis), title=title, missing=missing)
    if told := sentences.as_told(analysis):
        heads = (t("Asked at"), t("Most likely"), t("Interval"), t("A plain progress bar"))
        caption = " ".join(filter(None, (sentences.truth(analysis), t("Asked earlier, the whole run was told as:"))))
        parts.table(heads, told, caption=caption)


def lengths(analysis: Analysis, dark: bool) -> None:
    """Answer lengths with forecast and limit."""
    growth = analysis.growth
    figure = charts_run.lengths(analysis.run.steps, growth, dark)
    parts.chart(
        figure, "lengths", retold(growth.sentence), title=t("How long answers are"), missing=retold(growth.why or "")
    )


def pace(ledger: Ledger, dark: bool) -> None:
    """Longer answers or a slower machine: the late part of the run against its early part."""
    if ledger.step_s is None:
        return
    parts.head(t("Longer answers or a slower machine"))
    differences.difference(ledger, dark, "pace")


def step_cost(analysis: Analysis, dark: bool) -> None:
    """Step time against the length that drives it."""
    timing = analysis.timing
    missing = retold(timing.why or analysis.clock.why or "")
    figure = charts_run.step_cost(timing, dark)
    looking.chart_of_steps(figure, "cost", retold(timing.sentence), title=t("What a step costs"), missing=missing)


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
