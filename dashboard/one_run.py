"""How a view of one run opens: what is open is told, a run is picked, and where there is none the ways in are shown."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import live, load, parts, ways_in
from dashboard.load import Entry


def pick(title: str) -> tuple[Entry, DeltaGenerator, DeltaGenerator]:
    """The run to look at, the place for its name and the one for tools; ends the page when no run is open."""
    opened = load.opened()
    parts.problems(opened)
    live.wait_for(opened)
    name, tools = parts.head_row()
    with tools:
        entry = parts.pick_run(opened)
    if entry is None:
        parts.page_title(title)
        parts.no_run()
        ways_in.ask()
        st.stop()
    return entry, name, tools
