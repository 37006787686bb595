"""Lines without a step number that one print statement wrote again and again: `2026-01-02 03:04:05 INFO loss: 2.31`."""

from __future__ import annotations

import re
from typing import Final

from parsers.keyvalue_lines import Line
from parsers.sorting import Sorted

_NUMBER: Final = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?")
#: What only training tells.
_TRAINS: Final = frozenset({"loss", "reward", "kl", "grad_norm", "entropy", "len_mean", "clipfrac", "ratio"})
#: So many alike lines are no chance; so many kinds of lines are watched.
ENOUGH: Final = 8
_KINDS: Final = 64


class Uncounted:
    """Waits until so many alike lines were seen that they can only be a loop's, one a step."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[Sorted, int]]] = {}
        #: the lines that are rows, without their numbers
        self.chosen: str | None = None

    def take(self, line: Line, no: int) -> list[tuple[Sorted, int]]:
        """The rows that are known to be such with this line, each with its place; a line must tell its time."""
        timed = line.at is not None or line.clock is not None or line.values.clocks or "step_s" in line.values.columns
        if not timed or line.sub or _TRAINS.isdisjoint(line.values.columns):
            return []
        style = _NUMBER.sub("#", line.text)
        if self.chosen is not None:
            return [(line.values, no)] if style == self.chosen else []
        if style not in self._seen and len(self._seen) >= _KINDS:
            return []
        alike = self._seen.setdefault(style, [])
        alike.append((line.values, no))
        if len(alike) < ENOUGH:
            return []
        self.chosen, self._seen = style, {}
        return alike
