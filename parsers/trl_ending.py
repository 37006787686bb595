"""How a console says that training ended: an exception, Ctrl-C, a kill from outside."""

from __future__ import annotations

import re
from typing import Final, Literal

from parsers.text import strip_actor

_ERROR: Final = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failure|Timeout|Warning)?(?::|$)"
)
_STOPPED: Final = re.compile(r"KeyboardInterrupt|SignalException|SIGINT|DUE TO TIME LIMIT|CANCELLED AT|\^C$")
_KILLED: Final = re.compile(r"(?:.*\s)?Killed(?:\s|$)|.*\boom-kill|.*Segmentation fault|Bus error")


How = Literal["finished", "crashed", "interrupted"]


class Ending:
    """Collects signs of an end. A traceback ends nothing when the bar moves on behind it."""

    def __init__(self) -> None:
        self.finished = False
        self.kind: Literal["crashed", "interrupted"] | None = None
        self.text = ""
        self.line = 0
        self._open = False

    def take(self, text: str, line: int) -> bool:
        """Look at one line; True when it is a sign of the end."""
        if self.finished:
            return False
        if "Traceback (most recent call last)" in text:
            self._open, self.line = True, line
            self.kind = self.kind or "crashed"
            return True
        if _STOPPED.search(text) and (self._open or len(text) < 200):
            self._set("interrupted", text, line)
            return True
        if self._open and text[:1] not in " \t" and _ERROR.match(plain := strip_actor(text).text):
            self._set(self.kind or "crashed", plain, line)
            self._open = False
            return True
        if len(text) < 200 and _KILLED.match(text):
            self._set("crashed", text, line)
            return True
        return False

    def _set(self, kind: Literal["crashed", "interrupted"], text: str, line: int) -> None:
        self.kind, self.text, self.line = kind, text.strip(), line

    def moved(self) -> None:
        """Training goes on: what looked like the end was not."""
        self.kind, self.text, self._open = None, "", False

    def restarted(self) -> None:
        """Another session of the run begins."""
        self.moved()
        self.finished = False
