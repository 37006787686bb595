"""The list of open runs: a table on a wide screen, cards on a narrow one; it follows every open path by itself."""

from __future__ import annotations

import streamlit as st

from dashboard import language, live, load, parts, state, summary, tables
from dashboard.language import retold, t
from dashboard.load import Entry, Opened
from timeledger.results import Analysis

_CARDS = 12


@st.fragment(run_every=live.EVERY_S)
def runs() -> None:
    """One line a run, what needs a look on top; looked at again while the page is open."""
    language.speak(state.language_code())
    opened = load.opened()
    wanted = _filtered(opened)
    with st.spinner(t("Looking at {count} runs …", count=len(wanted))):
        pairs = [(each, load.analysed(each, patient=True)) for each in wanted]
    pairs.sort(key=lambda pair: tables.urgency(pair[1]))
    if len(opened.entries) == 1 and pairs:
        _alone(pairs[0][1])
    else:
        _list(pairs)
    _buttons(pairs)
    _freshness(pairs)


def _alone(analysis: Analysis) -> None:
    """A single run needs no table: its answers at once."""
    parts.title(analysis)
    parts.bar(analysis)
    if analysis.run.trains:
        parts.cards(summary.cards(analysis, state.zone()), lead=True)
    parts.say(retold(analysis.headline))


def _list(pairs: list[tuple[Entry, Analysis]]) -> None:
    """A table on a wide screen, cards on a narrow one."""
    with st.container(key="tl_wide"):
        picked = tables.runs(pairs, state.zone())
        if picked is not None:
            _open(picked)
        st.caption(t("Click a run to look at it."))
    with st.container(key="tl_narrow"):
        for entry, analysis in pairs[:_CARDS]:
            _card(entry, analysis)


def _filtered(opened: Opened) -> list[Entry]:
    needle = ""
    if len(opened.entries) > 5:
        needle = st.text_input(
            t("Filter"), placeholder=t("part of a name"), key="filter", label_visibility="collapsed", live=True
        )
    return [each for each in opened.entries if needle.casefold() in each.label.casefold()]


def _card(entry: Entry, analysis: Analysis) -> None:
    with st.container(border=True, gap="xxsmall", key=f"tl_run_{entry.key}"):
        if st.button(parts.quiet(entry.label), key=f"open_{entry.key}", type="tertiary"):
            _open(entry.key)
        parts.title(analysis, named=False)
        parts.bar(analysis)
        st.caption(parts.quiet(tables.finish_line(analysis, state.zone())))


def _buttons(pairs: list[tuple[Entry, Analysis]]) -> None:
    if not pairs:
        parts.empty(t("No open run has that in its name."))
        return
    several, first = len(pairs) > 1, pairs[0][0]
    with st.container(horizontal=True):
        if several and st.button(t("Compare them"), type="primary", icon=":material/compare_arrows:"):
            st.switch_page("views/compare.py", query_params=state.query())
        label = t("Open {run}", run=parts.quiet(first.label, 40)) if several else t("Open the run")
        if st.button(label, type="secondary" if several else "primary"):
            _open(first.key)


def _freshness(pairs: list[tuple[Entry, Analysis]]) -> None:
    followed = [each for each, analysis in pairs if each.path is not None and analysis.state in live.OPEN_ENDED]
    if followed:
        grown = [load.follower(each.path).grew_at for each in followed if each.path is not None]
        last = live.last_line(max((at for at in grown if at is not None), default=None))
        st.caption(
            f":material/sync: {t('Followed live: {count} of {total}.', count=len(followed), total=len(pairs))} {last}"
        )


def _open(key: str) -> None:
    state.choose(key)
    st.switch_page("views/run.py", query_params=state.query())
