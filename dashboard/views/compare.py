"""Several runs side by side, and why one is slower."""

from __future__ import annotations

import streamlit as st

from dashboard import charts_compare, load, parts, state, tables
from dashboard.charts_compare import CURVES, OVER, PER
from timeledger import render

MOST = 12

opened = load.opened()
parts.problems(opened)
st.markdown("### Compare", anchors=False)
if len(opened.entries) < 2:
    parts.empty(
        "Two runs are needed to compare." if opened.entries else "No run is open.",
        "Go to Runs and open more: drop several logs, name a folder that holds several runs, or take the samples.",
    )
    st.page_link("views/runs.py", label="Runs", icon=":material/list:")
    st.stop()
names = {each.key: each.label for each in opened.entries}
start = [key for key in state.compared() if key in names] or [
    each.key for each in opened.entries if each.run.has_steps
][:MOST]
picked = st.multiselect("Runs", list(names), start, format_func=lambda key: names.get(key, key), max_selections=MOST)
state.compare(tuple(picked))
entries = [each for key in picked if (each := opened.find(key)) is not None]
if len(entries) < 2:
    parts.empty("Choose at least two runs.", f"Up to {MOST} can be compared.")
    st.stop()
comparison, dark = load.compared(entries), parts.is_dark()
names = {each.key: each.label for each in entries}
tables.side_by_side(comparison)

st.markdown("##### Where a step's time goes", anchors=False)
per = (
    st.segmented_control("Per", PER, default="per step", required=True, key="per", label_visibility="collapsed")
    or "per step"
)
parts.chart(
    charts_compare.profiles(comparison, per, dark), "profiles", "",
    missing="None of these logs tells how long a step takes and how many answers it has.",
)  # fmt: skip

st.markdown("##### Why one is slower", anchors=False)
left, right = st.columns(2)
first = left.selectbox("From", picked, 0, format_func=lambda key: names.get(key, key))
second = right.selectbox("To", picked, 1, format_func=lambda key: names.get(key, key))
if first == second:
    parts.empty("Choose two different runs.")
else:
    parts.difference(load.difference(opened.find(first), opened.find(second)), dark)

st.markdown("##### Curves", anchors=False)
left, right = st.columns(2)
columns = charts_compare.drawable(comparison)
if columns:
    column = left.selectbox("Of", columns, format_func=lambda name: CURVES[name])
    over = right.selectbox("Over", list(OVER), format_func=lambda name: OVER[name])
    parts.chart(
        charts_compare.curves(comparison, column, over, dark), "curves", "",
        missing="These logs do not hold what this axis needs.",
    )  # fmt: skip
parts.save("comparison", lambda: render.compare_html(comparison))
