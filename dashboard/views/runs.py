"""The start: ways in, and one line for every open run, stalled runs first."""

from __future__ import annotations

import streamlit as st

from dashboard import live, load, parts, state, tables, ways_in

opened = load.opened()
parts.problems(opened)
live.wait_for(opened)
if not opened.entries:
    st.markdown("## Where did the time of this run go, and when will it end?", anchors=False)
    st.markdown(
        "Give a log that you already have: a console capture, `trainer_state.json`, TensorBoard events, a metrics file, "
        "a vLLM log, or the prints of a loop of your own. Nothing leaves this machine."
    )
    ways_in.ask()
else:
    st.markdown("### Runs", anchors=False)
    needle = ""
    if len(opened.entries) > 5:
        needle = st.text_input(
            "Filter", placeholder="part of a name", key="filter", label_visibility="collapsed", live=True
        )
    wanted = [each for each in opened.entries if needle.casefold() in each.label.casefold()]
    with st.spinner(f"Looking at {len(wanted)} runs …"):
        analyses = [(each, load.analysed(each)) for each in wanted]
    analyses.sort(key=lambda pair: tables.urgency(pair[1]))
    picked = tables.runs(analyses, parts.zone())
    if picked is not None:
        state.choose(picked)
        st.switch_page("views/run.py", query_params=state.query())
    st.caption("Click a run to look at it.")
    with st.container(horizontal=True):
        if st.button("Open the first run" if len(analyses) > 1 else "Open the run", type="primary") and analyses:
            state.choose(analyses[0][0].key)
            st.switch_page("views/run.py", query_params=state.query())
        if len(analyses) > 1 and st.button("Compare them"):
            st.switch_page("views/compare.py", query_params=state.query())
    with st.expander("Open more", icon=":material/add:"):
        ways_in.ask()
    ways_in.sources(opened)
