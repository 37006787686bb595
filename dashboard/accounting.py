"""The account of the whole experiment: what is asked for, the table, the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from dashboard import parts, planning, summary
from dashboard.language import mark, retold, t
from dashboard.localised import seconds
from dashboard.packed import Typed
from dashboard.summary import Card
from timeledger import units
from timeledger.account import Account, AccountInputs, account_inputs
from timeledger.results import Span


@dataclass(frozen=True, slots=True)
class Asked:
    """One input: field, label, and what one of its unit is (minutes in seconds; 1 for plain numbers)."""

    field: str
    label: str
    unit: float
    whole: bool = False


ASKED: Final = (
    Asked("setup_s", mark("Environment, minutes"), units.MINUTE),
    Asked("download_s", mark("Model and data, minutes"), units.MINUTE),
    Asked("baseline_s", mark("Throughput baseline, minutes"), units.MINUTE),
    Asked("coding_s", mark("Code at the desk, hours"), units.HOUR),
    Asked("load_s", mark("Loading the model, seconds"), 1.0),
    Asked("debug_s", mark("Debugging on the GPU, hours"), units.HOUR),
    Asked("runs", mark("Runs of this size"), 1.0, True),
    Asked("reruns", mark("Of each, runs done again"), 1.0, True),
    Asked("watts", mark("Watts of one GPU"), 1.0),
)
#: Times of the account's lines, for the catalogue.
_TIMES: Final = (mark("once"), mark("each run"), mark("by hand"))


def ask() -> AccountInputs:
    """What surrounds the run; empty means the usual time.

    Raises:
        ImpossiblePlan: a number that cannot be.
    """
    values: dict[str, float | int | None] = {}
    typed: dict[str, Typed] = {}
    known = planning.around()
    with st.expander(t("Around the run"), icon=":material/construction:"):
        st.caption(t("Leave empty what you do not know: the course's usual times stand in."))
        for at in range(0, len(ASKED), 2):
            for place, each in zip(st.columns(2), ASKED[at : at + 2], strict=False):
                with place:
                    typed[each.field] = value = _number(each, known.get(each.field))
                    values[each.field] = None if value is None else value * (1 if each.whole else each.unit)
    planning.type_around(typed)
    return account_inputs(values)


def _number(asked: Asked, known: float | None) -> float | int | None:
    key = f"account_{asked.field}"
    if asked.whole:
        least = 1 if asked.field == "runs" else 0
        return st.number_input(
            t(asked.label),
            min_value=least,
            value=None if known is None else max(least, int(known)),
            step=1,
            key=key,
            placeholder=str(least),
            persist_state="session",
        )
    return st.number_input(
        t(asked.label),
        min_value=0.0,
        value=None if known is None else float(known),
        step=None,
        format="%g",
        key=key,
        placeholder=t("usual"),
        persist_state="session",
    )


def cards(found: Account) -> list[Card]:
    """The sums."""
    sums = [
        Card(
            t("One experiment"),
            seconds(found.experiment_s.mid),
            (_range(found.experiment_s), t("smoke tests, the run, its evaluation")),
            "inferred",
        ),
        Card(t("Everything on the GPU"), seconds(found.total_s.mid), (_range(found.total_s),), "inferred"),
        Card(t("At the desk"), seconds(found.desk_s.mid), (_range(found.desk_s),), "assumed"),
    ]
    if found.cost is not None:
        money, hours = summary.money(found.cost), summary.gpu_hours(found.cost)
        under = [hours] if money else []
        if found.energy_kwh is not None:
            under.append(t("{energy} kWh", energy=units.show_number(found.energy_kwh)))
        sums.append(Card(t("Cost"), money or hours, tuple(under), "inferred"))
    else:
        sums.append(Card(t("Cost"), "—", (t("give GPUs and a price in the plan"),)))
    return sums


def table(found: Account) -> None:
    """Every line with its interval and how it is known; it prints."""
    rows = [
        (
            retold(each.name),
            t(each.when),
            seconds(each.seconds.mid),
            _range(each.seconds),
            t(each.kind),
            retold(each.text),
        )
        for each in found.items
    ]
    heads = (t("What"), t("When"), t("Time"), t("Interval"), t("Known"), t("How"))
    parts.table(heads, rows, caption=t("Account of the experiment"), left=2, right_to=4)
    parts.hints([retold(each) for each in found.hints])
    st.caption(t("To print: the browser's own print command; buttons and menus are left out."))


def _range(span: Span) -> str:
    if span.low == span.high:
        return ""
    return f"{seconds(span.low)} – {seconds(span.high)}"
