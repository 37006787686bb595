"""One run: the answer first, then its evidence, then its detail."""

from __future__ import annotations

import streamlit as st

from dashboard import facts, live, load, parts, sections, sentences, state
from timeledger import render

opened = load.opened()
parts.problems(opened)
live.wait_for(opened)
entry = parts.pick_run(opened)
if entry is None:
    parts.empty("No run is open.", "Go to Runs: drop a log, type a path, or open a bundled sample.")
    st.page_link("views/runs.py", label="Runs", icon=":material/list:")
else:
    head, typed = st.columns([5, 1], vertical_alignment="center")
    with typed:
        facts.ask(entry)
    analysis = load.analysed(entry)
    with head:
        parts.title(analysis)
    live.follow(entry, analysis)
    sections.answer(analysis)
    sections.evidence(analysis)
    parts.notes(analysis.run.notes, sentences.sources(analysis))
    with st.container(horizontal=True):
        if st.button("Plan the next run from this one", icon=":material/calculate:"):
            state.plan_from(entry.key)
            st.switch_page("views/plan.py", query_params=state.query())
        parts.save(entry.label, lambda: render.show_html([analysis]))
