"""Numbers as people and logs write them: reading (`seconds`, `number`) and showing (`show_*`).

Reading never guesses: a text that is not wholly understood gives None. What is shown with a unit is `said`, so that
it can be shown in another language.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from timeledger.said import say

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0

_UNIT_S: Final = {
    "d": DAY, "day": DAY, "days": DAY, "天": DAY,
    "h": HOUR, "hr": HOUR, "hrs": HOUR, "hour": HOUR, "hours": HOUR, "小时": HOUR, "时": HOUR,
    "m": MINUTE, "min": MINUTE, "mins": MINUTE, "minute": MINUTE, "minutes": MINUTE, "分": MINUTE, "分钟": MINUTE,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "秒": 1.0,
    "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3, "毫秒": 1e-3,
    "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "microseconds": 1e-6,
}  # fmt: skip
#: From so many days on a duration is told in years, and from so many on without its hours.
_MANY_DAYS: Final = 730
_FEW_HOURS: Final = 100
_NEAR: Final = {-1: say("yesterday"), 0: say("today"), 1: say("tomorrow")}
_WEEKDAYS: Final = (say("Mon"), say("Tue"), say("Wed"), say("Thu"), say("Fri"), say("Sat"), say("Sun"))
_MONTHS: Final = (
    say("Jan"), say("Feb"), say("Mar"), say("Apr"), say("May"), say("Jun"), say("Jul"), say("Aug"), say("Sep"),
    say("Oct"), say("Nov"), say("Dec"),
)  # fmt: skip
_CLOCK: Final = re.compile(r"(?:(\d+)\s*(?:days?|d),?\s*)?(?:(\d+):)?(\d{1,3}):(\d{2}(?:\.\d+)?)$")
_PART: Final = re.compile(r"\s*([+-]?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?)\s*([a-zA-Zµμ一-鿿]+)")
_WRAPPED: Final = re.compile(r"(?:np\.|numpy\.|torch\.)?(?:float|int|uint|bfloat)\d*\((.*)\)$")
_TENSOR: Final = re.compile(
    r"(?:torch\.)?(?:tensor|array|Array|DeviceArray)\(\s*\[?\s*([^,\]\)]+?)\s*\]?\s*(?:,\s*\w+=.*)?\)$"
)
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
_NOT_FINITE: Final = {
    "nan": math.nan, "+nan": math.nan, "-nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf,
    "infinity": math.inf, "-infinity": -math.inf, "+infinity": math.inf,
}  # fmt: skip


def number(text: str) -> float | None:
    """A plain number in any of the spellings found in logs, or None.

    Accepts quotes, `np.float64(..)`, `tensor(.., device=..)`, thousands commas, a leading plus, nan and inf.
    Units are not accepted here; see `seconds` and `quantity`.
    """
    text = text.strip().strip("'\"").strip()
    if wrapped := (_WRAPPED.match(text) or _TENSOR.match(text)):
        return number(wrapped.group(1))
    if _NUMBER.match(text):
        return float(text.replace(",", ""))
    return _NOT_FINITE.get(text.lower())


def seconds(text: str) -> float | None:
    """A duration in seconds, or None: `33.1s`, `812ms`, `1m 12s`, `2h 5m`, `1:30:03`, `3 days, 4:29:51`, `157m`."""
    text = text.strip().strip("'\"").strip()
    if clock := _CLOCK.match(text):
        days, hours, minutes, secs = (float(part) if part else 0.0 for part in clock.groups())
        return days * DAY + hours * HOUR + minutes * MINUTE + secs
    total, at, found = 0.0, 0, False
    while part := _PART.match(text, at):
        unit = _UNIT_S.get(part.group(2).lower())
        if unit is None:
            return None
        total += float(part.group(1).replace(",", "")) * unit
        at, found = part.end(), True
        while at < len(text) and text[at] in ", ":
            at += 1
    return total if found and at >= len(text) else None


def show_seconds(value: float | None, *, short: bool = False) -> str:
    """A duration for people: `14 ms`, `0.31 s`, `33.6 s`, `4 m 12 s`, `1 h 52 m`, `2 d 3 h`, `180 d`, `3.4 years`; an em dash when unknown.

    `short` drops the second unit (`1 h`, `4 m`).
    """
    if value is None or math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞"
    sign, value = ("−" if value < 0 else ""), abs(value)
    if value == 0:
        return say("{n} s", n=0)
    if value < 0.0995:
        return say("{n} ms", n=f"{sign}{show_number(value * 1000, 2)}")
    if value < 59.95:
        digits = 2 if value < 1 else 1
        return say("{n} s", n=f"{sign}{value:.{digits}f}")
    if value < HOUR - 0.5:
        minutes, rest = divmod(round(value), 60)
        if short or not rest:
            return say("{n} m", n=f"{sign}{minutes}")
        return say("{m} m {s} s", m=f"{sign}{minutes}", s=f"{rest:02d}")
    if value < DAY - 30:
        hours, rest = divmod(round(value / MINUTE), 60)
        if short or not rest:
            return say("{n} h", n=f"{sign}{hours}")
        return say("{h} h {m} m", h=f"{sign}{hours}", m=f"{rest:02d}")
    days, rest = divmod(round(value / HOUR), 24)
    if days >= _MANY_DAYS:
        return say("{n} years", n=f"{sign}{show_number(value / (365.25 * DAY), 2)}")
    if short or not rest or days >= _FEW_HOURS:
        return say("{n} d", n=f"{sign}{days}")
    return say("{d} d {h} h", d=f"{sign}{days}", h=rest)


def show_share(value: float | None) -> str:
    """A share of 0..1 as per cent: no decimals, one below 1 % and where it would pass for the whole."""
    if value is None or math.isnan(value):
        return "—"
    percent = value * 100
    if 99.5 <= percent < 99.9999:
        return say("{n} %", n=f"{min(percent, 99.9):.1f}")
    return say("{n} %", n=f"{percent:.0f}" if abs(percent) >= 1 or percent == 0 else f"{percent:.1f}")


def show_number(value: float | None, digits: int = 3) -> str:
    """A number to `digits` significant digits, thousands separated, without an exponent where it can be helped."""
    if value is None or math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= digits - 1:
        return f"{value:,.0f}".replace("-", "−")
    if magnitude < -4:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    return f"{value:.{digits - 1 - magnitude}f}".replace("-", "−")


def show_rate(value: float | None) -> str:
    """Tokens a second: `3,050 tok/s`."""
    return "—" if value is None else f"{show_number(value)} tok/s"


def show_time(
    at: datetime | None, now: datetime | None = None, zone: tzinfo | None = None, *, exact: bool = False
) -> str:
    """A moment near `now`, in `zone` (default: the machine's): `today 18:42`, `tomorrow 02:40`, `Tue 02:40`, `12 Dec 02:40`; `exact` adds seconds."""
    if at is None:
        return "—"
    now = now or datetime.now(UTC)
    local, here = at.astimezone(zone), now.astimezone(zone)
    clock = _clock(local, exact)
    days = (local.date() - here.date()).days
    if days in _NEAR:
        return say("{day} {clock}", day=_NEAR[days], clock=clock)
    if 0 < days < 7:
        return say("{day} {clock}", day=_WEEKDAYS[local.weekday()], clock=clock)
    if local.year == here.year:
        return show_day(local, exact=exact)
    month = _MONTHS[local.month - 1]
    return say("{day} {month} {year} {clock}", day=local.day, month=month, year=local.year, clock=clock)


def show_day(local: datetime, *, exact: bool = False) -> str:
    """A wall clock's day and time as they stand: `12 Dec 02:40`."""
    clock = _clock(local, exact)
    return say("{day} {month} {clock}", day=local.day, month=_MONTHS[local.month - 1], clock=clock)


def _clock(local: datetime, exact: bool) -> str:
    return f"{local:%H:%M:%S}" if exact else f"{local:%H:%M}"


def show_interval(
    low: datetime, mid: datetime, high: datetime, now: datetime | None = None, zone: tzinfo | None = None
) -> str:
    """`Tue 02:40, between 01:55 and 03:30`: the day once where it is the same, seconds where minutes would say nothing."""
    exact = (high - low).total_seconds() < 15 * MINUTE
    here = mid.astimezone(zone)
    first, last = (
        _clock(local, exact) if local.date() == here.date() else show_time(local, now, zone, exact=exact)
        for local in (low.astimezone(zone), high.astimezone(zone))
    )
    middle = show_time(mid, now, zone, exact=exact)
    return say("{middle}, between {first} and {last}", middle=middle, first=first, last=last)


def shift(at: datetime | None, by_s: float | None) -> datetime | None:
    """`at` moved by seconds, or None when either is unknown or the result is beyond the calendar."""
    if at is None or by_s is None or not math.isfinite(by_s):
        return None
    try:
        return at + timedelta(seconds=by_s)
    except OverflowError:
        return None
