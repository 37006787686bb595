"""What a plan, a budget and an account start from and what was typed over it; the typed part stands in the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard import keys
from dashboard.packed import Typed, numbers, pack, unpack

if TYPE_CHECKING:
    from timeledger.plan import PlanInputs


def hours() -> float | None:
    """The time budget in hours, as in the URL."""
    try:
        return float(st.session_state.get(keys.HOURS, "")) or None
    except ValueError:
        return None


def set_hours(value: float | None) -> None:
    """Keep the time budget."""
    st.session_state[keys.HOURS] = "" if value is None else f"{value:g}"
    keys.write()


def plan_source() -> str | None:
    """The key of the run that the plan starts from; empty for the defaults; None where nothing was chosen."""
    chosen = st.session_state.get(keys.PLAN_FROM)
    return None if not chosen else "" if chosen == keys.DEFAULTS else str(chosen)


def plan_from(key: str) -> None:
    """Start the plan from a run (empty: from the defaults); its inputs are filled anew."""
    if key != plan_source():
        st.session_state.pop(keys.PLAN, None)
        st.session_state[keys.PLANNED] = ""
    st.session_state[keys.PLAN_FROM] = key or keys.DEFAULTS
    keys.write()


def planned() -> PlanInputs | None:
    """What the plan started from."""
    found: PlanInputs | None = st.session_state.get(keys.PLAN)
    return found


def start_plan(inputs: PlanInputs) -> None:
    """Keep what the plan starts from."""
    st.session_state[keys.PLAN] = inputs


def plan_typed() -> dict[str, Typed]:
    """Inputs of the plan that were typed over what it starts from."""
    return unpack(str(st.session_state.get(keys.PLANNED, "")))


def type_plan(values: dict[str, Typed]) -> None:
    """Keep the inputs of the plan that were typed."""
    st.session_state[keys.PLANNED] = pack(values)
    keys.write()


def around() -> dict[str, float | int]:
    """What was typed of the time around the run."""
    return numbers(unpack(str(st.session_state.get(keys.AROUND, ""))))


def type_around(values: dict[str, Typed]) -> None:
    """Keep what was typed of the time around the run."""
    st.session_state[keys.AROUND] = pack(values)
    keys.write()


def pins() -> tuple[str, ...]:
    """What a budget must not cut, and `sure` where its upper end must fit."""
    found: tuple[str, ...] = st.session_state.get(keys.PINS, ())
    return found


def pin(names: tuple[str, ...]) -> None:
    """Keep what a budget must not cut."""
    st.session_state[keys.PINS] = names
    keys.write()
