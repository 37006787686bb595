"""Short texts for a link: what a person typed, as `name:value~name:value`. Never anything that stands in a log. No Streamlit here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

Typed = float | int | str | bool | None
#: More pairs, or a longer word, than a page can ask for are no link of ours.
_MOST, _LONGEST = 40, 24
_WHOLE = re.compile(r"\d{1,15}")


def pack(values: Mapping[str, Typed]) -> str:
    """What was typed, without what was left empty; numbers to twelve digits."""
    kept = {name: value for name, value in values.items() if value is not None and value is not False and value != ""}
    return "~".join(f"{name}:{_written(value)}" for name, value in kept.items())


def unpack(text: str) -> dict[str, Typed]:
    """The pairs of such a text; what is none of them is left out. Numbers are finite and not negative."""
    found: dict[str, Typed] = {}
    for pair in text.split("~")[:_MOST]:
        name, colon, told = pair.partition(":")
        value = _read(told)
        if colon and name.isidentifier() and value is not None:
            found[name] = value
    return found


def numbers(values: Mapping[str, Typed]) -> dict[str, float | int]:
    """Those whose value is a number."""
    return {
        name: value for name, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _written(value: Typed) -> str:
    if value is True:
        return "yes"
    if isinstance(value, int | float):
        return f"{value:.12g}" if isinstance(value, float) else str(value)
    return "".join(each for each in str(value) if each not in "~:")


def _read(told: str) -> Typed:
    if told == "yes":
        return True
    if _WHOLE.fullmatch(told):
        return int(told)
    try:
        value = float(told)
    except ValueError:
        return told[:_LONGEST] if told.isprintable() and told.strip() else None
    return value if math.isfinite(value) and value >= 0 else None
