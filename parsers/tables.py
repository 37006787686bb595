"""Markdown tables of metrics: `| step | reward | step_time_s |`, a rule, rows."""

from __future__ import annotations

import re
from typing import Final

from parsers.fields import resolve
from parsers.rows import Pair, Resolver, Sorted, sort_out
from parsers.values import take

_RULE: Final = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*$")


class MarkdownTable:
    """Follows a text line by line; rows of a table that has a step column come out sorted."""

    def __init__(self, look: Resolver = resolve) -> None:
        self._look = look
        self._header: list[str] = []
        self._open: list[str] | None = None

    def take(self, text: str) -> Sorted | None:
        """The row that the line is, None for any other line."""
        cells = [cell.strip(" `*") for cell in text.strip().strip("|").split("|")]
        if _RULE.match(text):
            known = sum(self._look(key, "").kind != "extra" for key in self._header)
            good = known >= 2 and any(self._look(key, "").kind == "step" for key in self._header)
            self._open = self._header if good and len(cells) == len(self._header) else None
            return None
        if self._open is not None and len(cells) == len(self._open):
            pairs = [
                Pair(key, found[0]) for key, cell in zip(self._open, cells, strict=True) if (found := take(cell, 0))
            ]
            return sort_out(pairs, self._look)
        self._open, self._header = None, cells
        return None
