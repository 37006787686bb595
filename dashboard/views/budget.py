"""Only so many hours: what has to give, in the order that costs the conclusion least."""

from __future__ import annotations

import streamlit as st

from dashboard import budgeting, load, parts, plan_inputs
from dashboard.language import t

opened = load.opened()
parts.page_title(t("What fits into the time?"))
top = st.container(key="tl_answer")
left, right = st.columns([2, 3], gap="large")
with left, st.container(key="tl_inputs"):
    hours, pins, sure = budgeting.ask()
    plan_inputs.choose_source(opened)
    with plan_inputs.possible(top):
        inputs = plan_inputs.ask(folded=True)
        found = budgeting.solved(inputs, hours, pins, sure, plan_inputs.framework(opened))
with top:
    parts.cards(budgeting.cards(inputs, found))
with right:
    budgeting.show(found, parts.is_dark())
