"""Printed tables of metrics: markdown, PrettyTable, box drawings, or columns set apart by blanks."""

from __future__ import annotations

import re
from typing import Final

from parsers.fields import resolve
from parsers.renames import Resolver
from parsers.sorting import Pair, Sorted, sort_out
from parsers.values import take

_RULE: Final = re.compile(r"[\s|+\-=:─━│┃┼╇╪┡┩├┤╞╡┌┐└┘┏┓┗┛┬┴┳┻┠┨]+$")
_DIGIT: Final = re.compile(r"\d")
_BOX: Final = str.maketrans("│┃", "||")
#: A table is at least so wide.
_CELLS: Final = 3


class TextTable:
    """Follows a text line by line; rows of a table that has a step column come out sorted."""

    def __init__(self, look: Resolver = resolve) -> None:
        self._look = look
        self._header: list[str] | None = None
        self._piped = False

    @property
    def is_open(self) -> bool:
        """True while a table's rows may follow."""
        return self._header is not None

    def take(self, text: str) -> Sorted | None:
        """The row that the line is, None for any other line."""
        text = text.translate(_BOX)
        piped = "|" in text
        if _RULE.match(text):
            return None
        row = self._row(_cells(text, piped)) if self._header is not None and piped == self._piped else None
        if row is not None:
            return row
        self._header = None
        if piped or text.lstrip(" *#")[:4].lower() in {"step", "iter", "upda", "glob"}:
            cells = _cells(text, piped)
            if self._is_header(cells):
                self._header, self._piped = cells, piped
        return None

    def _is_header(self, cells: list[str]) -> bool:
        if len(cells) < _CELLS or any(len(cell) > 40 or take(cell, 0) for cell in cells if cell):
            return False
        # the name of the step column has no number in it: a look at those of a row of values would be in vain
        if self._look is resolve and not any(
            self._look(cell, "").kind == "step" for cell in cells if cell and not _DIGIT.search(cell.partition("(")[0])
        ):
            return False
        kinds = [self._look(cell, "").kind for cell in cells if cell]
        return kinds.count("step") >= 1 and len(kinds) - kinds.count("extra") - kinds.count("step") >= 2

    def _row(self, cells: list[str]) -> Sorted | None:
        if self._header is None or len(cells) != len(self._header):
            return None
        pairs = [
            Pair(key, found[0])
            for key, cell in zip(self._header, cells, strict=True)
            if cell and (found := take(cell, 0))
        ]
        row = sort_out(pairs, self._look)
        return row if row.step is not None and row.known else None


def _cells(text: str, piped: bool) -> list[str]:
    if not piped:
        return text.split()
    return [cell.strip(" `*") for cell in text.strip().strip("|").split("|")]
