"""Following runs that grow: a small fragment looks for new lines and redraws the page only when there are some."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import streamlit as st

from dashboard import language, load, parts, state
from dashboard.language import mark, t
from dashboard.load import Entry, Opened
from dashboard.localised import seconds
from timeledger.errors import TimeledgerError
from timeledger.results import Analysis, State

EVERY_S: Final = 2.0
#: Without new lines the page is drawn anew this often: a run that stops must become "stalled", a finish time must move.
FRESH_S: Final = 60.0
#: States in which more lines may come.
OPEN_ENDED: Final[frozenset[State]] = frozenset({"running", "stalled", "unknown", "ended early"})


def follow(entry: Entry, analysis: Analysis) -> None:
    """The line that says how fresh the page is; for a path it keeps looking while the page is open."""
    before = state.changed(f"state_{entry.key}", analysis.state)
    if before == "running" and analysis.state == "finished":
        st.toast(
            t("{run} has finished.", run=parts.quiet(entry.label)), icon=":material/check_circle:", duration="infinite"
        )
    if entry.path is None:
        return
    if analysis.state not in OPEN_ENDED:
        st.caption(t("The run has finished; its log is no longer followed."))
        return
    drawn_at = analysis.facts.now.timestamp() if analysis.facts.now is not None else time.time()
    _watch(entry.path, entry.version, drawn_at, load.rest_s(entry), analysis.state, seconds(analysis.clock.step_s))


@st.fragment(run_every=EVERY_S)
def _watch(path: str, shown: int, drawn_at: float, rest_s: float, known: State, usual: str) -> None:
    language.speak(state.language_code())
    follower = load.follower(path)
    try:
        version, _ = follower.look()
    except TimeledgerError as error:
        lost = t("The log cannot be read any more; what was read stays. ({error})", error=type(error).__name__)
        st.warning(lost, icon=":material/link_off:")
        return
    age_s = time.time() - drawn_at
    held, last = state.held(), last_line(follower.grew_at)
    if not held and ((version != shown and age_s >= rest_s) or age_s > max(FRESH_S, rest_s)):
        st.rerun()
    if known == "stalled":
        stopped = t("No new step for a long time (a step takes {time}). Still looking.", time=usual)
        st.warning(f"{stopped} {last}", icon=":material/pause_circle:")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tl_follow"):
        told = t("Held still; the log has grown.") if version != shown else t("Held still.")
        st.caption(
            f":material/pause: {told}"
            if held
            else f":material/sync: {t('{a} {b}', a=t('Following the log.'), b=last)}",
            width="content",
        )
        st.button(
            t("Follow again") if held else t("Hold still"), key="tl_hold", on_click=state.hold, args=(not held,),
            type="tertiary", help=t("A page that is held still does not redraw itself, so that you can zoom and read."),
        )  # fmt: skip


def last_line(grew_at: float | None) -> str:
    """How long ago the log grew."""
    if grew_at is None:
        return ""
    ago = max(0.0, time.time() - grew_at)
    return t("Last new line {time} ago.", time=seconds(float(round(ago)), short=True).replace(".0 ", " "))


def watch_all(opened: Opened) -> None:
    """Draw the page anew when any of the open paths has grown."""
    paths = tuple(dict.fromkeys(each.path for each in opened.entries if each.path is not None))
    if paths:
        _watch_all(paths, max(each.version for each in opened.entries))


@st.fragment(run_every=2 * EVERY_S)
def _watch_all(paths: tuple[str, ...], shown: int) -> None:
    for path in paths:
        try:
            version, _ = load.follower(path).look()
        except TimeledgerError:
            continue
        if version > shown:
            st.rerun()


def wait_for(opened: Opened) -> None:
    """Look again, while the page is open, at paths that exist but hold nothing readable yet."""
    waiting = tuple(source for source, _ in opened.problems if Path(source).exists())
    if waiting:
        _wait(waiting)


_WAITING: Final = mark("Looking again: a log that is empty now may still begin.")


@st.fragment(run_every=3 * EVERY_S)
def _wait(paths: tuple[str, ...]) -> None:
    language.speak(state.language_code())
    if any(load.problem(path) is None for path in paths):
        st.rerun()
    st.caption(f":material/sync: {t(_WAITING)}")
