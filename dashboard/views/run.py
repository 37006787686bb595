"""One run: the answer first, then its evidence, then its detail."""

from __future__ import annotations

import streamlit as st

from dashboard import facts, frame, live, load, parts, planning, saving, sections, sentences, state, ways_in
from dashboard.language import t

opened = load.opened()
parts.problems(opened)
live.wait_for(opened)
name, tools = parts.head_row()
with tools:
    entry = parts.pick_run(opened)
if entry is None:
    parts.page_title(t("Run"))
    parts.no_run()
    ways_in.ask()
else:
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
