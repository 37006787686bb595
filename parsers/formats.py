"""The table of formats. A new format is one module and one line here; earlier lines win ties."""

from __future__ import annotations

from typing import Final

from parsers.base import NO, Confidence, Format, Head, Sure
from timeledger.errors import BadOption

FORMATS: Final[tuple[Format, ...]] = ()


def detect(head: Head) -> tuple[Format | None, Confidence]:
    """The format that is surest of this head, with the line that decided; (None, NO) when none recognises it."""
    best: Format | None = None
    answer = NO
    for each in FORMATS:
        confidence = each.recognises(head)
        if confidence.sure > answer.sure:
            best, answer = each, confidence
        if answer.sure is Sure.CERTAIN:
            break
    return best, answer


def by_name(name: str) -> Format:
    """The format of this name.

    Raises:
        BadOption: there is none; the text lists those there are.
    """
    for each in FORMATS:
        if each.name == name:
            return each
    raise BadOption(f"--format {name}: no such format. There are: {', '.join(each.name for each in FORMATS)}.")
