"""What stands around every view: the switch of languages, the title of the browser's tab."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard import state
from dashboard.language import LANGUAGES, spoken
from dashboard.localised import moment, share
from timeledger.forecast import known_done
from timeledger.results import Analysis

#: A chart is drawn for the screen's width; on paper it must shrink with the page, which a drawing without a view box cannot.
_PRINT: Final = """
window.timeledgerPrint ||= addEventListener('beforeprint', () => document.querySelectorAll('.main-svg').forEach(
  each => each.setAttribute('viewBox', `0 0 ${each.width.baseVal.value} ${each.height.baseVal.value}`))) || true;
"""


def language_switch() -> None:
    """One button that speaks the other language; the page's language is told to the browser and to screen readers."""
    tag = LANGUAGES[spoken()][1]
    st.html(f"<script>document.documentElement.lang = '{tag}'; {_PRINT}</script>", unsafe_allow_javascript=True)
    with st.container(key="tl_language"):
        for code, (name, _) in LANGUAGES.items():
            if code != spoken():
                st.button(name, key=f"speak_{code}", on_click=state.switch_language, args=(code,), type="tertiary")


def tab_title(analysis: Analysis) -> None:
    """The browser tab says how far the run is and when it ends: it is read while another tab is open."""
    done, projection = known_done(analysis.run, analysis.clock), analysis.projection
    told = []
    if analysis.state == "finished":
        told.append("✓")
    elif done is not None and projection.total_steps:
        told.append(share(min(1.0, done / projection.total_steps)))
        if projection.finish_at is not None and analysis.state == "running" and not projection.too_early:
            told.append(moment(projection.finish_at[1], analysis.facts.now, state.zone()))
        elif analysis.state == "stalled":
            told.append("‖")
    st.set_page_config(page_title=" · ".join([*told, analysis.run.name[:60]]))
