"""When a line was printed: its stamp, completed by the stamps before it. The run learns what a stamp leaves open."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from parsers.build import RunBuilder
from parsers.text import YearlessClock, stamp, stamp_has_zone
from parsers.values import EARLIEST
from timeledger.said import say

#: A number much larger than the seconds since 1970 counts milliseconds.
_MILLISECONDS: Final = 1e11


def dated(build: RunBuilder, clock: YearlessClock, text: str) -> datetime | None:
    """The stamp with a year in a text (a container's or a logger's), as UTC."""
    at = stamp(text)
    if at is not None:
        clock.see(at)
        build.zone_known = build.zone_known and stamp_has_zone(text)
    return at


def yearless(build: RunBuilder, clock: YearlessClock, text: str) -> datetime | None:
    """The stamp without year and zone in a text, completed; the run notes that the year is a guess, if it is one."""
    at = clock.read(text)
    if at is not None:
        build.zone_known = False
        if not clock.sure:
            build.note(
                "guessed", say("time stamps carry no year: the latest one before the file's last write is taken")
            )
    return at


def printed_at(build: RunBuilder, clock: YearlessClock, text: str) -> datetime | None:
    """The stamp in a text, with a year or without one."""
    return dated(build, clock, text) or yearless(build, clock, text)


def moment(wall: float | None) -> datetime | None:
    """Unix seconds as a UTC time; None for what no calendar holds."""
    if wall is None or not math.isfinite(wall) or wall <= 0:
        return None
    try:
        return datetime.fromtimestamp(wall, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def epoch(number: float | None) -> datetime | None:
    """Seconds since 1970, or milliseconds, as a UTC time; None for a number too small to be a moment."""
    if number is None or number < EARLIEST:
        return None
    return moment(number / 1000 if number > _MILLISECONDS else number)
