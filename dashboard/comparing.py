"""The choices of the compare view: which runs, in which order, which two are set against each other, which curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st

from dashboard import charts_compare, differences, load, parts, state
from dashboard.charts_compare import CURVES, OVER
from dashboard.language import shown, t
from dashboard.load import Entry, Opened
from timeledger.compare import Comparison

MOST: Final = 12


def ask(opened: Opened) -> list[Entry]:
    """The runs to compare, in the order in which they were chosen; the first is what the others are held against."""
    names = {each.key: each.label for each in opened.entries}
    known = [key for key in state.compared() if key in names]
    start = known or [each.key for each in opened.entries if each.run.has_steps][:MOST]
    picked = st.multiselect(
        t("Runs"), list(names), start, format_func=lambda key: names.get(key, key), max_selections=MOST
    )
    state.compare(tuple(picked) if picked != start or known else ())
    return [each for key in picked if (each := opened.find(key)) is not None]


def why_slower(entries: Sequence[Entry], dark: bool) -> None:
    """Two runs set against each other: the sentence, then the bars that add up to the difference."""
    with parts.head_line(t("Why one is slower"), "slower"):
        first = _side(t("From"), entries, "a", entries[0])
        second = _side(t("To"), entries, "b", entries[1])
    if first.key == second.key:
        parts.empty(t("Choose two different runs."))
    else:
        differences.difference(load.difference(first, second), dark, "waterfall", lead=True)


def _side(label: str, entries: Sequence[Entry], name: str, otherwise: Entry) -> Entry:
    labels = {f"k{each.key}": each.label for each in entries}
    start = f"k{otherwise.key}"
    keys, now = list(labels), state.choice(name, labels, start)
    picked = st.selectbox(label, keys, keys.index(now), format_func=lambda key: labels.get(key, key), width=220)
    state.choose_view(name, picked or start, start)
    return next(each for each in entries if f"k{each.key}" == (picked or start))


def curves(comparison: Comparison, dark: bool) -> None:
    """One quantity of all runs over steps, tokens or hours."""
    columns = charts_compare.drawable(comparison)
    if not columns:
        return
    with parts.head_line(t("Curves"), "curves"):
        column = _of(t("Of"), columns, "of", shown(CURVES))
        over = _of(t("Over"), list(OVER), "over", shown(OVER))
    figure = charts_compare.curves(comparison, column, over, dark)
    parts.chart(figure, "curves", "", missing=t("These logs do not hold what this axis needs."))


def _of(label: str, options: Sequence[str], name: str, told: Callable[[str], str]) -> str:
    now = state.choice(name, options, options[0])
    picked = st.selectbox(label, options, list(options).index(now), format_func=told, width=220)
    state.choose_view(name, picked or options[0], options[0])
    return picked or options[0]
