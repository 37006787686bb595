"""Numbers, durations, moments and names of things as the page's language writes them. No Streamlit here."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from dashboard.language import mark, spoken, t
from timeledger import palette, units

_UNITS_ZH: Final = {"ms": "毫秒", "s": "秒", "m": "分", "h": "小时", "d": "天"}
_UNIT: Final = re.compile(r"(?<=\d) (ms|s|m|h|d)\b")
_DAYS_ZH: Final = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
_NEAR_ZH: Final = {-1: "昨天", 0: "今天", 1: "明天"}
#: The names of `timeledger.palette`, of kinds, of phases of a plan and of parts of a difference, for the catalogue.
NAMES: Final = (
    mark("Sampling"), mark("Reward"), mark("Old log-probs"), mark("Reference log-probs"), mark("Log-probs"), mark("Follows the answers"), mark("Critic values"),
    mark("Advantages"), mark("Forward-backward"), mark("Critic training"), mark("Weight sync"), mark("Sleep/wake"),
    mark("Fixed overhead"), mark("Data loading"), mark("Evaluation"), mark("Checkpoints"), mark("Waiting"),
    mark("Other"), mark("Unexplained"), mark("measured"), mark("inferred"), mark("assumed"), mark("not split"),
    mark("longer answers"), mark("shorter answers"), mark("batch"), mark("seconds a token"), mark("fixed overhead"),
    mark("evaluation and checkpoints"), mark("warm-up"), mark("lost time"), mark("rest"),
)  # fmt: skip


def seconds(value: float | None, *, short: bool = False) -> str:
    """A duration for people: `1 h 52 m`, `1 小时 52 分`."""
    return durations(units.show_seconds(value, short=short))


def durations(text: str) -> str:
    """A text with durations in it, their units in the page's language."""
    return text if spoken() == "en" else _UNIT.sub(lambda each: f" {_UNITS_ZH[each[1]]}", text)


def share(value: float | None) -> str:
    """A share of 0..1 as per cent."""
    told = units.show_share(value)
    return told if spoken() == "en" else told.replace(" %", "%")


def signed_share(change: float) -> str:
    """A change of 0..1 as per cent with its sign: `+12 %`."""
    told = f"{change:+.0%}".replace("-", "−")
    return told.replace("%", " %") if spoken() == "en" else told


def signed(value: float | None) -> str:
    """A difference in seconds with its sign: `+4.1 s`."""
    return "—" if value is None else ("+" if value > 0 else "") + seconds(value)


def moment(at: datetime | None, now: datetime | None = None, zone: tzinfo | None = None) -> str:
    """A moment near `now` in the reader's zone: `tomorrow 02:40`, `明天 02:40`."""
    if at is None or spoken() == "en":
        return units.show_time(at, now, zone)
    local, here = at.astimezone(zone), (now or datetime.now(UTC)).astimezone(zone)
    days, clock = (local.date() - here.date()).days, f"{local:%H:%M}"
    if days in _NEAR_ZH:
        return f"{_NEAR_ZH[days]} {clock}"
    if 0 < days < 7:
        return f"{_DAYS_ZH[local.weekday()]} {clock}"
    year = f"{local.year} 年 " if local.year != here.year else ""
    return f"{year}{local.month} 月 {local.day} 日 {clock}"


def phase(name: str) -> str:
    """A phase as people call it."""
    return t(palette.look(name).label)


def lower(text: str) -> str:
    """A name in the middle of a sentence."""
    return text[:1].lower() + text[1:]
