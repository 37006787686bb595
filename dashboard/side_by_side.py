"""Runs side by side: a column a run, a row a fact, the best of a row marked; it fits a phone, prints, and can be read aloud."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

import streamlit as st

from dashboard import parts, summary
from dashboard.language import mark, t
from dashboard.localised import seconds, share, signed, signed_share
from dashboard.theme import theme
from timeledger import report, units
from timeledger.compare import Comparison
from timeledger.results import Analysis


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: its label, what a hover says, how a number is shown, and whether the smallest (-1) or largest (1) is best."""

    label: str
    help: str
    show: Callable[[Any], str]
    best: int = 0


def _plain(value: float) -> str:
    return f"{value:,.0f}"


def _fine(value: float) -> str:
    return t("{number} s", number=units.show_number(value, 3))


def _many(value: float) -> str:
    return f"{value / 1e6:,.1f} M" if value >= 1e6 else f"{value:,.0f}"


#: Rows by the columns of `Comparison.table`; `against`, `hours` and `total` are made here.
FACTS: Final = {
    "framework": Fact(mark("Framework"), "", str),
    "steps": Fact(mark("Steps"), "", _plain),
    "step_s": Fact(mark("A step"), mark("whole step: evaluation and checkpoints spread over all steps"), seconds, -1),
    "against": Fact(mark("Against the first"), mark("whole step, against that of the first run"), str),
    "now_s": Fact(mark("Step now"), mark("an ordinary step now"), seconds),
    "s_per_1k_tokens": Fact(mark("Per 1,000 tokens"), mark("seconds of a step per 1,000 answer tokens"), _fine, -1),
    "s_per_sample": Fact(mark("Per answer"), mark("seconds per answer"), _fine, -1),
    "steps_per_hour": Fact(mark("Steps an hour"), "", _plain, 1),
    "tokens_per_hour": Fact(mark("Tokens an hour"), mark("answer tokens"), _many, 1),
    "sampling_share": Fact(mark("Sampling"), mark("share of a step"), share),
    "len_last": Fact(mark("Answers"), mark("mean response length late in the run, tokens"), units.show_number),
    "hours": Fact(mark("GPU-hours"), "", units.show_number, -1),
    "total": Fact(mark("Whole run"), "", seconds),
}


def table(comparison: Comparison, names: Sequence[str], dark: bool, zone: tzinfo | None) -> None:
    """The table; `names` are the runs' names, short enough for a column."""
    rows = list(comparison.table.iter_rows(named=True))
    told = [_row(row, rows[0], analysis) for row, analysis in zip(rows, comparison.analyses, strict=True)]
    heads = "".join(
        f'<th scope="col" class="n" title="{parts.safe(row["run"])}"><i style="background:{colour}"></i>{parts.safe(name)}</th>'
        for row, name, colour in zip(rows, names, _colours(len(rows), dark), strict=True)
    )
    body = _line(t("State"), [parts.safe(t(parts.STATES[each.state])) for each in comparison.analyses])
    finishes = [summary.finish(each, zone) for each in comparison.analyses]
    body += _line(t("Finish"), [parts.safe(parts.together(each.value)) for each in finishes])
    for key, fact in FACTS.items():
        values = [each[key] for each in told]
        same = key == "framework" and len(set(values)) == 1
        if any(value is not None for value in values) and not same:
            body += _line(t(fact.label), _cells(fact, values), t(fact.help) if fact.help else "")
    caption = t("In bold with ◂: the best of a row.")
    st.html(
        f'<div class="tl-scroll" tabindex="0"><table class="tl-table tl-compare"><caption class="w">{parts.safe(caption)}</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _colours(count: int, dark: bool) -> list[str]:
    """The colours in which the curves draw the runs."""
    known = theme(dark).runs
    return [known[at % len(known)] for at in range(count)]


def _row(row: dict[str, Any], first: dict[str, Any], analysis: Analysis) -> dict[str, Any]:
    cost = report.cost(analysis)
    whole = row["total_s"] if row["total_s"] is not None else row["elapsed_s"]
    return row | {
        "against": _against(row["step_s"], first["step_s"], row["run"] == first["run"]),
        "hours": None if cost is None else cost.gpu_hours,
        "total": whole,
    }


def _against(own: float | None, first: float | None, same: bool) -> str | None:
    if same or own is None or not first:
        return None
    times = own / first
    return f"{signed(own - first)} ({f'{times:.1f}×' if times >= 3 else signed_share(times - 1)})"


def _cells(fact: Fact, values: Sequence[Any]) -> list[str]:
    known = [each for each in values if each is not None]
    best = (min(known) if fact.best < 0 else max(known)) if fact.best and len(set(known)) > 1 else None
    shown = ["—" if each is None else parts.safe(parts.together(fact.show(each))) for each in values]
    return [
        f"<b>◂ {text}</b>" if each is not None and each == best else text
        for each, text in zip(values, shown, strict=True)
    ]


def _line(label: str, cells: Sequence[str], hover: str = "") -> str:
    title = f' title="{parts.safe(hover)}"' if hover else ""
    return f'<tr><th scope="row"{title}>{parts.safe(label)}</th>{"".join(f"<td class=n>{each}</td>" for each in cells)}</tr>'
