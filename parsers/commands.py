"""Command lines in a log: their pieces behind backslashes, and the overrides that Hydra takes."""

from __future__ import annotations

import shlex
from typing import Final

from parsers.literals import plain
from timeledger.run import SettingValue

_MOST_JOINED: Final = 100_000
_LONGEST: Final = 200_000


class CommandLine:
    """A command that may go on in the next line, behind a backslash."""

    def __init__(self) -> None:
        self._begun: str | None = None

    @property
    def is_open(self) -> bool:
        """True when the next line goes on with it."""
        return self._begun is not None

    def take(self, text: str) -> str | None:
        """One more line; the whole command once it has ended."""
        text = (self._begun or "") + text.rstrip()
        if text.endswith("\\") and len(text) < _MOST_JOINED:
            self._begun = text[:-1] + " "
            return None
        self._begun = None
        return text


def overrides(text: str) -> dict[str, SettingValue]:
    """The `path=value` overrides of a command line (`+path=value` adds one that the defaults lack)."""
    try:
        words = shlex.split(text[:_LONGEST])
    except ValueError:
        words = text[:_LONGEST].split()
    found: dict[str, SettingValue] = {}
    for word in words:
        path, sign, raw = word.lstrip("+~").partition("=")
        if sign and "." in path and (value := plain(raw)) is not None:
            found[path] = value
    return found
