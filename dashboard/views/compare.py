"""Several runs side by side, and why one is slower."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_compare, comparing, live, load, parts, saving, side_by_side, state, ways_in
from dashboard.charts import distinct
from dashboard.charts_compare import PER
from dashboard.language import t

opened = load.opened()
parts.problems(opened)
name, tools = parts.head_row()
with name:
    parts.page_title(t("Compare"))
if len(opened.entries) < 2:
    parts.empty(
        t("Two runs are needed to compare.") if opened.entries else t("No run is open."),
        t("Drop several logs, name a folder that holds several runs, or take the samples."),
    )
    ways_in.ask()
    st.stop()
entries = comparing.ask(opened)
if len(entries) < 2:
    parts.empty(t("Choose at least two runs."), t("Up to {most} can be compared.", most=comparing.MOST))
    st.stop()
comparison, dark = load.compared(entries), parts.is_dark()
with tools:
    saving.comparison(saving.names(comparison.analyses), comparison)
parts.sideways()
live.watch_all(opened)
comparing.why_slower(entries, dark)
parts.head(t("Side by side"))
side_by_side.table(comparison, distinct([each.label for each in entries], 26), dark, state.zone())

per = state.choice("per", PER, "per step")
with parts.head_line(t("Where a step's time goes"), "profiles"):
    per = parts.switch(t("Per"), list(PER), per, "per")
parts.chart(
    charts_compare.profiles(comparison, per, dark), "profiles", "",
    missing=t("None of these logs tells how long a step takes and how many answers it has."),
)  # fmt: skip
comparing.curves(comparison, dark)
