"""Single values of configurations as Python, YAML and shells write them."""

from __future__ import annotations

import re
from typing import Final

from timeledger import units
from timeledger.run import SettingValue

_NOT_WHOLE: Final = re.compile(r"[.eE]")
_NOTHING: Final = {"", "null", "none", "~"}


def plain(text: str) -> SettingValue | None:
    """A truth value, number or text; None for null, for nothing, and for lists, dicts and other compounds."""
    text = text.strip()
    if text[:1] in {"'", '"'} and text[-1:] == text[:1]:
        return text[1:-1] or None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if (number := units.number(text)) is not None:
        return int(number) if number.is_integer() and not _NOT_WHOLE.search(text) else number
    return None if text.lower() in _NOTHING or text[0] in "[{(" else text
