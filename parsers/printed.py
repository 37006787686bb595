"""The numbers of a dict as Python or JSON prints it, on one line or joined from several."""

from __future__ import annotations

import re
from typing import Final

from timeledger import units

_PAIR: Final = re.compile(
    r"(?:'(?P<a>[^'\n]{1,200})'|\"(?P<b>[^\"\n]{1,200})\")\s*:\s*"
    r"(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\w.]+\([^()]*(?:\([^()]*\)[^()]*)*\)|[^\s,}\]\[{(][^,}\]\[{]*)"
)
_LONGEST: Final = 1_000_000


def numbers(text: str) -> dict[str, float]:
    """Key -> number, in the order printed: numpy scalars, tensors and numbers in quotes too; texts, lists and truth values not.

    Of a nested dict the innermost keys are taken as they stand. A key that comes twice keeps its first number.
    """
    found: dict[str, float] = {}
    for pair in _PAIR.finditer(text[:_LONGEST]):
        value = units.number(pair["value"])
        if value is not None:
            found.setdefault(pair["a"] or pair["b"], value)
    return found
