"""Following a run that grows: a small fragment looks for new lines and redraws the page only when there are some."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import streamlit as st

from dashboard import load
from dashboard.load import Entry, Opened
from timeledger import units
from timeledger.errors import TimeledgerError
from timeledger.results import Analysis, State

EVERY_S: Final = 2.0
#: Without new lines the page is drawn anew this often: a run that stops must become "stalled", a finish time must move.
FRESH_S: Final = 60.0
#: States in which more lines may come.
_OPEN_ENDED: Final[frozenset[State]] = frozenset({"running", "stalled", "unknown", "ended early"})


def follow(entry: Entry, analysis: Analysis) -> None:
    """The line that says how fresh the page is; for a path it keeps looking while the page is open."""
    if entry.path is None:
        return
    if analysis.state not in _OPEN_ENDED:
        st.caption("The run has finished; its log is no longer followed.")
        return
    drawn_at = analysis.facts.now.timestamp() if analysis.facts.now is not None else time.time()
    _watch(entry.path, entry.version, drawn_at, analysis.state, units.show_seconds(analysis.clock.step_s))


@st.fragment(run_every=EVERY_S)
def _watch(path: str, shown: int, drawn_at: float, state: State, usual: str) -> None:
    follower = load.follower(path)
    try:
        version, _ = follower.look()
    except TimeledgerError as error:
        st.warning(
            f"The log cannot be read any more; what was read stays. ({type(error).__name__})",
            icon=":material/link_off:",
        )
        return
    if version != shown or time.time() - drawn_at > FRESH_S:
        st.rerun()
    last = _last_line(follower.grew_at)
    if state == "stalled":
        st.warning(
            f"No new step for a long time (a step takes {usual}). Still looking.{last}", icon=":material/pause_circle:"
        )
    else:
        st.caption(f":material/sync: Following the log.{last}")


def _last_line(grew_at: float | None) -> str:
    if grew_at is None:
        return ""
    ago = max(0.0, time.time() - grew_at)
    return (
        f" Last new line {round(ago)} s ago."
        if ago < 60
        else f" Last new line {units.show_seconds(ago, short=True)} ago."
    )


def wait_for(opened: Opened) -> None:
    """Look again, while the page is open, at paths that exist but hold nothing readable yet."""
    waiting = tuple(source for source, _ in opened.problems if Path(source).exists())
    if waiting:
        _wait(waiting)


@st.fragment(run_every=3 * EVERY_S)
def _wait(paths: tuple[str, ...]) -> None:
    if any(load.problem(path) is None for path in paths):
        st.rerun()
    st.caption(":material/sync: Looking again: a log that is empty now may still begin.")
