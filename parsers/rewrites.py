"""Ways of writing a metric line that are turned into the usual one before the line is taken apart.

`loss.item()=0.5` of a debugging print, `'loss': 0.5,` of a dictionary printed over several lines, a row of a table
with two columns, `len mean/max/min 156/512/12`, `Avg reward (last 100): 0.5`, `Generation => Latency: 12.8s`.
"""

from __future__ import annotations

import re
from typing import Final

_CALL: Final = re.compile(r"\.(item|cpu|detach|float|tolist|numpy|mean|max|min|std|sum)\(\)")
_VALUE_ONLY: Final = frozenset({"item", "cpu", "detach", "float", "tolist", "numpy"})
#: Python's own writing only: JSON documents are everywhere.
_QUOTED_LINE: Final = re.compile(r"\s*\{?\s*'")
_QUOTED_KEY: Final = re.compile(r"'([A-Za-z][\w/ .@\-]{0,40})'\s*:\s*(?=['\"]?(?:[-+.\d\[]|nan|None))")
_TWO_CELLS: Final = re.compile(r"\s*\|\s*(?P<key>[^|:=]{1,40}?)\s*\|\s*(?P<value>[-+.\d][^|]{0,30}?)\s*\|\s*$")
_NUMBER: Final = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_NAMES: Final = r"(?:mean|avg|max|min|std|med|median|p\d\d?)"
_STATISTICS: Final = re.compile(
    rf"(?P<key>[A-Za-z][\w ]{{0,24}}?)[\s_]*[(\[]?(?P<names>{_NAMES}(?:/{_NAMES}){{1,4}})[)\]]?\s*[:=]?\s*"
    rf"(?P<numbers>{_NUMBER}(?:\s*/\s*{_NUMBER}){{1,4}})(?![\d/])"
)
#: `Loss(P/V/E): 0.1/0.2/0.3`
_PARTS: Final = re.compile(
    rf"(?P<key>[A-Za-z]\w{{0,24}}) ?[(\[](?P<names>[A-Za-z]\w{{0,12}}(?:/[A-Za-z]\w{{0,12}}){{1,4}})[)\]]\s*[:=]\s*"
    rf"(?P<numbers>{_NUMBER}(?:\s*/\s*{_NUMBER}){{1,4}})(?![\d/])"
)
_PARTED: Final = re.compile(r"/[A-Za-z]\w*[)\]]\s*[:=]")
#: What `_STATISTICS` needs: looked for at a small part of its price.
_SLASHED: Final = re.compile(r"/(?:mean|avg|max|min|std|med|p\d)")
_RECENT: Final = re.compile(
    r"(?P<key>[A-Za-z][\w ]{0,30}?)\s?\((?:last|past|recent|rolling|running)[ _-]?\d+[^()]{0,20}\)(?=\s*[:=])",
    re.IGNORECASE,
)
_ARROW: Final = re.compile(r"(?<=[A-Za-z])\s*=>\s*")


def usual(text: str) -> str:
    """The line in the usual writing (dictionaries that are whole were taken off before)."""
    if "()" in text:
        text = _CALL.sub(lambda match: "" if match[1] in _VALUE_ONLY else f"_{match[1]}", text)
    if "'" in text and _QUOTED_LINE.match(text):
        text = _QUOTED_KEY.sub(r"\1: ", text)
    if "|" in text and (cells := _TWO_CELLS.match(text)):
        text = f"{cells['key']}: {cells['value']}"
    if _SLASHED.search(text):
        text = _STATISTICS.sub(_each, text)
    if "/" in text and _PARTED.search(text):
        text = _PARTS.sub(_each_part, text)
    if "(" in text:
        text = _RECENT.sub(r"recent \g<key>", text)
    return _ARROW.sub(": ", text) if "=>" in text else text


def _each(match: re.Match[str]) -> str:
    names, numbers = match["names"].split("/"), [each.strip() for each in match["numbers"].split("/")]
    if len(names) != len(numbers):
        return match.group()
    return ", ".join(f"{match['key'].strip()} {name} {number}" for name, number in zip(names, numbers, strict=True))


def _each_part(match: re.Match[str]) -> str:
    names, numbers = match["names"].split("/"), [each.strip() for each in match["numbers"].split("/")]
    if len(names) != len(numbers):
        return match.group()
    return ", ".join(f"{match['key']}_{name}: {number}" for name, number in zip(names, numbers, strict=True))
