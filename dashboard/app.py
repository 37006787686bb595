"""The page's frame: settings, style sheet, the five views. Everything else is in `views/`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard import state

HERE = Path(__file__).parent
# A file of our own: the browser would fetch a `:material/...:` icon of the tab from another machine.
st.set_page_config(page_title="timeledger", page_icon=str(HERE / "icon.svg"), layout="wide")
st.html(HERE / "style.css")
state.restore()
st.navigation(
    [
        st.Page("views/runs.py", title="Runs", icon=":material/list:", default=True),
        st.Page("views/run.py", title="Run", icon=":material/timeline:"),
        st.Page("views/compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page("views/plan.py", title="Plan", icon=":material/calculate:"),
        st.Page("views/help.py", title="Help", icon=":material/help:"),
    ],
    position="top",
).run()
