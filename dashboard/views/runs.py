"""The start: ways in, and one line for every open run, stalled runs first."""

from __future__ import annotations

import streamlit as st

from dashboard import live, load, overview, parts, ways_in
from dashboard.language import t

opened = load.opened()
parts.problems(opened)
live.wait_for(opened)
if not opened.entries:
    parts.page_title(t("Where did the time of this run go, and when will it end?"))
    st.markdown(
        t(
            "Give a log that you already have: a console capture, `trainer_state.json`, TensorBoard events, a metrics file, a vLLM log, or the prints of a loop of your own. Nothing leaves this machine."
        )
    )
    ways_in.ask()
else:
    parts.page_title(t("Runs"))
    overview.runs()
    with st.expander(t("Open more"), icon=":material/add:"):
        ways_in.ask()
    ways_in.sources(opened)
