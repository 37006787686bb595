"""Sentences that remember how they were made, so that a front end can make them again in another language.

`say("… {name} …", name=value)` gives the English sentence. It is a text like any other (command line, JSON and reports
take it as it is) with its `template` and `values` beside it. A value that was said itself is made again with the
sentence; any other text (a name, a number) is shown as it is. The template is always a literal, so that a test finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce


class Said(str):
    """An English text with the template and the values that it was made from."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, text: str, template: str, values: Mapping[str, object]) -> Said:
        """The text as it stands; it may differ from the filled template in its first letter and its full stop only."""
        made = super().__new__(cls, text)
        made.template = template
        made.values = values
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, object]]:  # type: ignore[override]
        """For pickle and copy."""
        return str(self), self.template, self.values


def say(template: str, /, **values: object) -> str:
    """The template filled with the values, as a `Said`; without values it is taken letter by letter."""
    return Said(template.format(**values) if values else template, template, values)


def lower(text: str) -> str:
    """The same in the middle of an English sentence: its first letter small."""
    return _changed(text, text[:1].lower() + text[1:])


def upper(text: str) -> str:
    """The same at the beginning of an English sentence: its first letter large."""
    return _changed(text, text[:1].upper() + text[1:])


def unstopped(text: str) -> str:
    """The same without the full stop at its end."""
    return _changed(text, text.rstrip("."))


def _changed(text: str, into: str) -> str:
    return Said(into, text.template, text.values) if isinstance(text, Said) else into


def sentences(*parts: str | None) -> str:
    """Sentences one after the other; empty ones are left out."""
    return _folded([each for each in parts if each], lambda a, b: say("{a} {b}", a=a, b=b))


def commas(parts: Iterable[str]) -> str:
    """`a, b, c`."""
    return _folded(list(parts), lambda a, b: say("{a}, {b}", a=a, b=b))


def clauses(parts: Iterable[str]) -> str:
    """`a; b; c`."""
    return _folded(list(parts), lambda a, b: say("{a}; {b}", a=a, b=b))


def listing(parts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = parts
    return say("{a} and {b}", a=commas(first), b=last) if first else last


def _folded(parts: list[str], by: Callable[[str, str], str]) -> str:
    return reduce(by, parts) if parts else ""
