"""The time on the lines between the rows, where the rows themselves carry none: `[12:04:56] Step 1: optimizer done`."""

from __future__ import annotations

import re
from typing import Final

from parsers.text import stamp

_STAMPED: Final = re.compile(
    r"(?:[A-Z]{4,8} \d\d-\d\d |[IWE]\d{4} )?"  # `INFO 03-04 12:04:56`, `I0304 12:04:56.123456`
    r"\[?(?:(?P<date>\d{4}[-/]\d\d[-/]\d\d[T ])|(?P<day>[012]\d:[0-5]\d:[0-5]\d)(?:[.,]\d+)?\]?[\s:|-])"
)
#: What such a line begins with.
BEGINS: Final = frozenset("[0123456789IWED")


class Nearby:
    """The last moment seen since it was last asked for."""

    def __init__(self) -> None:
        self._last: float | None = None

    def see(self, text: str) -> None:
        """Any line between rows that begins with one of `BEGINS`."""
        if (found := _STAMPED.match(text)) is None:
            return
        if found["day"]:
            self._last = of_day(found["day"])
        elif (at := stamp(text[:40])) is not None:
            self._last = at.timestamp()

    def take(self) -> float | None:
        """Seconds since midnight, or since 1970; None when no line since the last question told it."""
        last, self._last = self._last, None
        return last


def of_day(clock: str) -> float:
    """Seconds since midnight of `12:04:56`."""
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds)
