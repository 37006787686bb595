"""Units that stand in brackets behind a key: `time (s): 4.8`, `memory(GiB)=61.2`, `lr(1e-3): 0.25`.

Brackets part the keys of a line. Such a unit belongs to its key, so it is hidden while the line is taken apart.
"""

from __future__ import annotations

import re
from typing import Final

from parsers.field_names import TIME_WORDS, UNITS

_KEY: Final = re.compile(
    r"(?P<word>[A-Za-z\u4e00-\u9fff][\w/.\-]*)(?P<apart> ?)\((?P<unit>[A-Za-zµμ%\u4e00-\u9fff]{1,8}(?:/[A-Za-z\u4e00-\u9fff]{1,6})?|\d(?:\.\d+)?[eE]-?\d+)\)"
    r"(?=\s*[:=]|\s+[-+.\d])"
)
#: The first of the private characters that stand for a bracket.
_FIRST: Final = 0xE100
#: `(m)` and the like are a unit only behind a word of time; `(s)` right behind one of these words is a plural.
_LETTERS: Final = frozenset({"m", "h", "d", "g", "w", "k"})
_PLURALS: Final = re.compile(
    r"(?:token|sample|step|prompt|example|completion|response|sequence|epoch|batch|question|group|rollout|item|gpu|node|answer|reward|layer"
    r"|model|file|row|worker|update|iteration|episode|trajectory)$",
    re.IGNORECASE,
)
#: How many were averaged says nothing about what the key is: `Avg reward (64 samples): 0.5`, `Accuracy (17/64): 26.6%`.
_REMARK: Final = re.compile(
    r"(?<=\w)\s?\((?:n ?= ?)?\d[\d,]*(?: ?/ ?\d[\d,]*)?(?: (?:samples?|rollouts?|completions?|prompts?|responses?|answers?|questions?|groups?|examples?))?\)"
    r"(?=\s*[:=])"
)
_SPLIT: Final = re.compile(r"[^a-z\u4e00-\u9fff]+")


class Bracketed:
    """The bracketed units of one line."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def hide(self, text: str) -> str:
        """The text with one private character in place of each unit in brackets."""
        if "(" not in text:
            return text
        return _KEY.sub(self._one, _REMARK.sub("", text))

    def show(self, key: str) -> str:
        """The key with its unit again, without a blank before it."""
        return "".join(self._shown.get(char, char) for char in key) if self._shown else key

    def _one(self, match: re.Match[str]) -> str:
        word, unit = match["word"], match["unit"]
        if not unit[0].isdigit() and not _is_unit(word, unit.lower(), bool(match["apart"])):
            return match.group()
        char = chr(_FIRST + len(self._shown))
        self._shown[char] = f"({unit})"
        return word + char


def _is_unit(word: str, unit: str, apart: bool) -> bool:
    if unit == "s":
        return apart or _PLURALS.search(word) is None
    if unit in _LETTERS:
        return not TIME_WORDS.isdisjoint(_SPLIT.split(word.lower()))
    return unit in UNITS
