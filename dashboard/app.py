"""The page's frame: settings, style sheet, language, the views. Everything else is in `views/`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard import frame, language, state
from dashboard.language import t

HERE = Path(__file__).parent
# A file of our own: the browser would fetch a `:material/...:` icon of the tab from another machine.
st.set_page_config(page_title="timeledger", page_icon=str(HERE / "icon.svg"), layout="wide")
st.html(HERE / "style.css")
state.restore()
language.speak(state.language_code())
view = st.navigation(
    [
        st.Page("views/runs.py", title=t("Runs"), icon=":material/list:", default=True),
        st.Page("views/run.py", title=t("Run"), icon=":material/timeline:"),
        st.Page("views/optimise.py", title=t("Optimise"), icon=":material/speed:"),
        st.Page("views/compare.py", title=t("Compare"), icon=":material/compare_arrows:"),
        st.Page("views/plan.py", title=t("Plan"), icon=":material/calculate:"),
        st.Page("views/budget.py", title=t("Budget"), icon=":material/stairs:"),
        st.Page("views/account.py", title=t("Account"), icon=":material/receipt_long:"),
        st.Page("views/help.py", title=t("Help"), icon=":material/help:"),
    ],
    position="top",
)
frame.language_switch()
st.set_page_config(page_title=f"{view.title} · timeledger")
view.run()
