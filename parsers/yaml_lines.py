"""A configuration that a program prints as YAML: nested keys with plain values, one a line."""

from __future__ import annotations

import re
from typing import Final

from parsers.literals import plain
from timeledger.run import SettingValue

_KEY: Final = re.compile(r"^(\s*)([\w.\-/]+):(?:\s+(\S.*?))?\s*$")
_ITEM: Final = re.compile(r"^\s*- ")
_MOST_LINES: Final = 4000


class YamlDump:
    """Feed it line by line, process prefixes off; what is no line of YAML ends it."""

    def __init__(self) -> None:
        self.found: dict[str, SettingValue] = {}
        self._path: list[tuple[int, str]] = []
        self._left = 0

    @property
    def active(self) -> bool:
        """True between the first and the last line."""
        return self._left > 0

    def begin(self) -> None:
        """The next line is the first one."""
        self.found, self._path, self._left = {}, [], _MOST_LINES

    def end(self) -> None:
        """Nothing more belongs to it."""
        self._left = 0

    def take(self, text: str) -> bool:
        """Read one line; False when the configuration ended before it."""
        self._left -= 1
        if self._left <= 0:
            return False
        if _ITEM.match(text):
            return True
        match = _KEY.match(text)
        if match is None:
            self._left = 0
            return False
        depth = len(match[1])
        while self._path and self._path[-1][0] >= depth:
            self._path.pop()
        self._path.append((depth, match[2]))
        if match[3] and (value := plain(match[3])) is not None:
            self.found[".".join(name for _, name in self._path)] = value
        return True
