"""Several runs side by side, and why one is slower."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_compare, differences, live, load, parts, saving, state, tables
from dashboard.charts_compare import CURVES, OVER, PER
from dashboard.language import shown, t

MOST = 12

opened = load.opened()
parts.problems(opened)
parts.page_title(t("Compare"))
if len(opened.entries) < 2:
    parts.empty(
        t("Two runs are needed to compare.") if opened.entries else t("No run is open."),
        t("Go to Runs and open more: drop several logs, name a folder that holds several runs, or take the samples."),
    )
    st.page_link("views/runs.py", label=t("Runs"), icon=":material/list:")
    st.stop()
names = {each.key: each.label for each in opened.entries}
known = [key for key in state.compared() if key in names]
start = known or [each.key for each in opened.entries if each.run.has_steps][:MOST]
picked = st.multiselect(t("Runs"), list(names), start, format_func=lambda key: names.get(key, key), max_selections=MOST)
state.compare(tuple(picked) if picked != start or known else ())
entries = [each for key in picked if (each := opened.find(key)) is not None]
if len(entries) < 2:
    parts.empty(t("Choose at least two runs."), t("Up to {most} can be compared.", most=MOST))
    st.stop()
comparison, dark = load.compared(entries), parts.is_dark()
live.watch_all(opened)
tables.side_by_side(comparison)

parts.head(t("Why one is slower"))
left, right = st.columns(2)
first = left.selectbox(t("From"), picked, 0, format_func=lambda key: names.get(key, key))
second = right.selectbox(t("To"), picked, 1, format_func=lambda key: names.get(key, key))
if first == second:
    parts.empty(t("Choose two different runs."))
else:
    differences.difference(load.difference(opened.find(first), opened.find(second)), dark)

parts.head(t("Where a step's time goes"))
per = st.segmented_control(
    t("Per"),
    list(PER),
    default="per step",
    required=True,
    key="per",
    label_visibility="collapsed",
    format_func=shown(list(PER)),
)
parts.chart(
    charts_compare.profiles(comparison, per or "per step", dark), "profiles", "",
    missing=t("None of these logs tells how long a step takes and how many answers it has."),
)  # fmt: skip

parts.head(t("Curves"))
left, right = st.columns(2)
if columns := charts_compare.drawable(comparison):
    column = left.selectbox(t("Of"), columns, format_func=shown(CURVES))
    over = right.selectbox(t("Over"), list(OVER), format_func=shown(OVER))
    parts.chart(
        charts_compare.curves(comparison, column, over, dark), "curves", "",
        missing=t("These logs do not hold what this axis needs."),
    )  # fmt: skip
saving.comparison(saving.names(comparison.analyses), comparison)
