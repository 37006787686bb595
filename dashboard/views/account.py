"""The whole experiment, not only the run: set-up, smoke tests, evaluation; GPU-hours and money."""

from __future__ import annotations

import streamlit as st

from dashboard import accounting, load, parts, plan_inputs
from dashboard.language import t
from timeledger.account import account

opened = load.opened()
parts.page_title(t("What the whole experiment takes"))
top = st.container(key="tl_answer")
left, right = st.columns([2, 3], gap="large")
with left, st.container(key="tl_inputs"):
    plan_inputs.choose_source(opened)
    with plan_inputs.possible(top):
        around = accounting.ask()
        inputs = plan_inputs.ask(folded=True)
        found = account(inputs, around, plan_inputs.framework(opened))
with top:
    parts.cards(accounting.cards(found))
with right:
    accounting.table(found)
