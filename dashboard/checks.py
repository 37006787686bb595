"""The gates of the smoke test: is this run worth letting go on?"""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard import parts
from dashboard.language import mark, spoken, t
from timeledger.gates import Check, Checked

#: A shape and a word for every status.
_MARKS: Final = {
    "pass": ("✓", mark("passes")),
    "warn": ("!", mark("look at it")),
    "fail": ("✗", mark("fails")),
    "unknown": ("?", mark("cannot be told")),
}
_ORDER: Final = ("fail", "warn", "pass", "unknown")
#: What the checks are called, for the catalogue.
TITLES: Final = (
    mark("A full cycle"), mark("All numbers finite"), mark("Rewards arrive"), mark("Ratio near 1"), mark("Advantages sane"),
    mark("Reward and accuracy together"), mark("A gradient in every step"), mark("Not stuck"), mark("Memory to spare"),
    mark("Reward rising"), mark("Answers end by themselves"), mark("Groups with signal"), mark("Rewards differ"),
    mark("Answer length steady"), mark("Still exploring"), mark("Still going"), mark("Little time lost"),
)  # fmt: skip


def panel(found: Checked) -> None:
    """All gates, what needs a look on top."""
    parts.head(t("Smoke test"))
    parts.say(_sentence(found))
    with st.expander(t("All gates ({count})", count=len(found.checks)), icon=":material/checklist:"):
        rows = "".join(_row(each) for status in _ORDER for each in found.checks if each.status == status)
        st.html(f'<ul class="tl-checks">{rows}</ul>')


def _sentence(found: Checked) -> str:
    if spoken() == "en":
        return found.sentence
    count = {status: sum(each.status == status for each in found.checks) for status in _MARKS}
    told = t(", ").join(f"{count[status]} {t(word)}" for status, (_, word) in _MARKS.items() if count[status])
    verdict = {"pass": t("Passes"), "fail": t("Fails"), "unknown": t("Cannot tell")}[found.verdict]
    return t("{verdict}: {counts}.", verdict=verdict, counts=told)


def _row(found: Check) -> str:
    symbol, word = _MARKS[found.status]
    done = f' <span class="w">{parts.safe(found.do)}</span>' if found.do else ""
    return (
        f'<li class="{found.status}"><span class="m" title="{parts.safe(t(word))}">{symbol}</span> <b>{parts.safe(t(found.title))}</b> '
        f'{parts.safe(found.why)}{done} <span class="w">({parts.safe(t(found.gate))}: {parts.safe(found.want)})</span></li>'
    )
