"""The gates of the smoke test: is this run worth letting go on?"""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard import parts
from dashboard.language import mark, retold, t
from timeledger.gates import Check, Checked

#: A shape and a word for every status.
_MARKS: Final = {
    "pass": ("✓", mark("passes")),
    "warn": ("!", mark("look at it")),
    "fail": ("✗", mark("fails")),
    "unknown": ("?", mark("cannot be told")),
}
_ORDER: Final = ("fail", "warn", "pass", "unknown")


def panel(found: Checked) -> None:
    """All gates, what needs a look on top."""
    parts.head(t("Smoke test"))
    parts.say(retold(found.sentence))
    with st.expander(t("All gates ({count})", count=len(found.checks)), icon=":material/checklist:"):
        rows = "".join(_row(each) for status in _ORDER for each in found.checks if each.status == status)
        st.html(f'<ul class="tl-checks">{rows}</ul>')


def _row(found: Check) -> str:
    symbol, word = _MARKS[found.status]
    done = f' <span class="w">{parts.safe(retold(found.do))}</span>' if found.do else ""
    return (
        f'<li class="{found.status}"><span class="m" title="{parts.safe(t(word))}">{symbol}</span> <b>{parts.safe(retold(found.title))}</b> '
        f'{parts.safe(retold(found.why))}{done} <span class="w">{parts.safe(t("({gate}: {want})", gate=found.gate, want=found.want))}</span></li>'
    )
