"""Advice, engine and checks in words that every front end shares; numbers come from the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from timeledger import units
from timeledger.advice.base import TIERS
from timeledger.document import AdvicePart, CheckPart, EnginePart, NotJudgedPart


def tier(number: int) -> str:
    """A tier's word: `free`."""
    return TIERS.get(number, str(number))


def gain(each: AdvicePart) -> str:
    """What an advice saves, short: `38 m`, `12 %` of a step, an em dash when the log does not tell."""
    if each.saves_s is not None:
        return units.show_seconds(each.saves_s.mid) if each.saves_s.mid >= 1 else "—"
    return units.show_share(each.share) if each.share else "—"


def saving(each: AdvicePart) -> str:
    """What an advice saves, in full, and of what."""
    if each.saves_s is None:
        return "What it saves cannot be told from this log." if each.tier in {1, 2} else ""
    low, mid, high = (units.show_seconds(value) for value in (each.saves_s.low, each.saves_s.mid, each.saves_s.high))
    if low == high:
        return f"Saves {mid} of {each.of}."
    return f"Saves about {mid} of {each.of} (between {low} and {high}; confidence {each.confidence})."


def rows(advice: Sequence[AdvicePart]) -> list[tuple[str, ...]]:
    """The table of a report: what to change, what it saves, what it costs, the settings."""
    return [
        (
            each.title,
            tier(each.tier),
            gain(each),
            each.symptom,
            "; ".join(f"{name}: {new}" for name, new in each.settings.items()),
        )
        for each in advice
    ]


HEAD: Final = ("change first", "kind", "saves about", "why", "setting")


def check_rows(checks: Sequence[CheckPart]) -> list[tuple[str, ...]]:
    """The checks that say something: gate, verdict, value, what it means."""
    return [(each.title, each.status, check_value(each), each.why) for each in checks if each.status != "unknown"]


CHECK_HEAD: Final = ("check", "verdict", "seen", "what it means")


def card(each: AdvicePart) -> list[str]:
    """An advice in full: symptom, saving, settings, cost, what others saw, source."""
    lines = [each.symptom, saving(each)]
    lines += [f"{name}: {change}" for name, change in each.settings.items()]
    lines += [f"Costs: {each.cost}." if each.cost not in {"", "none"} else "Costs nothing."] if each.tier else []
    lines += [f"Others saw (on their set-up): {each.published}."] if each.published else []
    lines.append(f"Source: {each.source}")
    return [line for line in lines if line]


def not_judged(rules: Sequence[NotJudgedPart]) -> list[str]:
    """The rules that cannot be judged: each way to log more, and what it would decide."""
    groups: dict[str, list[NotJudgedPart]] = {}
    for each in rules:
        for way in each.how:
            groups.setdefault(way, []).append(each)
    ordered = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return [
        f"{way} – would help to judge: {'; '.join(f'{each.title} ({each.rule})' for each in several)}."
        for way, several in ordered
    ]


def engine_states(found: EnginePart) -> list[tuple[str, str, str]]:
    """State, time (or windows), share of the whole, longest first."""
    whole = sum(found.states.values())
    rows = sorted(found.states.items(), key=lambda pair: -pair[1])
    show = units.show_seconds if found.timed else lambda value: f"{value:,.0f} lines"
    return [(state, show(amount), units.show_share(amount / whole)) for state, amount in rows] if whole else []


def check_value(each: CheckPart) -> str:
    """A check's value as people read it."""
    if each.value is None or isinstance(each.value, str):
        return each.value or ""
    shares = {"truncation", "signal", "gradient", "memory", "lost_time", "stuck", "entropy"}
    in_share = each.name in shares and 0 <= each.value <= 1
    return units.show_share(each.value) if in_share else units.show_number(float(each.value))
