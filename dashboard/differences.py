"""Why one step takes longer than another: the waterfall and its sentence."""

from __future__ import annotations

import streamlit as st

from dashboard import parts
from dashboard.charts_compare import waterfall
from dashboard.language import mark, retold, t
from timeledger.compare import Ledger, LedgerPart
from timeledger.said import upper

_SMALLER = mark("smaller parts")


def difference(found: Ledger | None, dark: bool, key: str, *, lead: bool = False) -> None:
    """The ledger of a difference: bars that add up, and the sentence (`lead`: above them); it alone where there is none."""
    if found is None or found.from_s is None or not found.parts:
        parts.empty(t("The difference cannot be split."), "" if found is None else retold(found.sentence))
        return
    sentence = retold(upper(found.sentence))
    if found.verdict == "same pace":
        parts.empty(t("The same pace."), sentence)
        return
    floor = 0.005 * max(found.from_s, found.from_s + (found.step_s or 0.0))
    bars = [(t(_named(each)), each.seconds) for each in found.parts if abs(each.seconds) >= floor]
    small = sum(each.seconds for each in found.parts if abs(each.seconds) < floor)
    bars += [(t(_SMALLER), small)] if small else []
    if lead:
        parts.say(sentence)
    parts.chart(waterfall(retold(found.a), retold(found.b), found.from_s, bars, dark), key, sentence, told=not lead)
    if found.why:
        st.caption(parts.quiet(retold(found.why)))


def _named(part: LedgerPart) -> str:
    return "shorter answers" if part.part == "longer answers" and part.seconds < 0 else part.part
