"""Configurations as Python prints them: dicts, dataclasses, pydantic models, over any number of lines."""

from __future__ import annotations

import re
from typing import Final

from parsers.literals import plain
from timeledger.run import SettingValue

_TEXT: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_TOKEN: Final = re.compile(
    rf"(?P<key>{_TEXT})\s*:\s*|(?P<name>[A-Za-z_]\w*)=(?!=)|(?P<open>(?:[A-Za-z_][\w.]*)?[\[{{(])|(?P<close>[\]}})])"
    rf"|(?P<value>{_TEXT}|[^\s,\[\]{{}}()'\"=]+)"
)
_QUOTED: Final = re.compile(_TEXT)
_MOST_LINES: Final = 4000
_LONGEST: Final = 400_000


def settings_of(text: str) -> dict[str, SettingValue]:
    """The plain values of a printed configuration by dotted path; lists, nulls and objects are left out."""
    found: dict[str, SettingValue] = {}
    path: list[str] = []
    pending = ""
    for token in _TOKEN.finditer(text[:_LONGEST]):
        if token["key"] or token["name"]:
            pending = token["name"] or token["key"][1:-1]
        elif token["open"]:
            path.append(pending)
            pending = ""
        elif token["close"]:
            if path:
                path.pop()
            pending = ""
        elif pending:
            if not token["value"].startswith("<") and (value := plain(token["value"])) is not None:
                found.setdefault(".".join([*(part for part in path if part), pending]), value)
            pending = ""
    return found


class ReprDump:
    """Gathers the lines of one printed value until its brackets close."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self.active = False

    def begin(self) -> None:
        """The value begins on the next line."""
        self._lines, self._depth, self.active = [], 0, True

    def take(self, text: str) -> dict[str, SettingValue] | None:
        """One more line; the values when it was the last one, else None."""
        bare = _QUOTED.sub("", text)
        self._depth += sum(bare.count(sign) for sign in "{[(") - sum(bare.count(sign) for sign in "}])")
        self._lines.append(text)
        if self._depth > 0 and len(self._lines) < _MOST_LINES:
            return None
        self.active = False
        return settings_of("\n".join(self._lines))
