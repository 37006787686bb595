"""One run: the answer first, then its evidence, then its detail."""

from __future__ import annotations

import streamlit as st

from dashboard import facts, frame, live, load, one_run, parts, planning, saving, sections, sentences, state
from dashboard.language import t

entry, name, tools = one_run.pick(t("Run"))
with tools:
    facts.ask(entry)
    analysis = load.analysed(entry, backtested=True)
    saving.run(entry.label, analysis)
with name:
    parts.title(analysis)
parts.bar(analysis)
parts.sideways()
frame.tab_title(analysis)
live.follow(entry, analysis)
sections.answer(entry, analysis)
sections.evidence(entry, analysis)
parts.notes(analysis.run.notes, sentences.sources(analysis))
if analysis.run.has_steps and st.button(t("Plan the next run from this one"), icon=":material/calculate:"):
    planning.plan_from(entry.key)
    st.switch_page("views/plan.py", query_params=state.query())
