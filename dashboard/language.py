"""Which language the page speaks. English stands in the code, other languages in `texts/*.po`. No Streamlit here.

`t` gives a text in the language of the page; `mark` names a text that stands in a table and passes through `t` later.
A text without a translation is shown in English: a page with one English line is better than no page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

#: Code in the URL -> (the language's own name, its tag in HTML).
LANGUAGES: Final = {"en": ("English", "en"), "zh": ("中文", "zh-CN")}
TEXTS: Final = Path(__file__).parent / "texts"
_FILES: Final = {"zh": "zh_CN.po"}
_SPOKEN: ContextVar[str] = ContextVar("spoken", default="en")
_LINE: Final = re.compile(r'(?:(msgid|msgstr)\s+)?"((?:[^"\\]|\\.)*)"\s*$')
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}


def speak(code: str) -> None:
    """Speak this language from here on, in this thread; English when the code is not known."""
    _SPOKEN.set(code if code in LANGUAGES else "en")


def spoken() -> str:
    """The code of the language that is spoken."""
    return _SPOKEN.get()


def preferred(locale: str | None) -> str:
    """The code for a browser's locale, such as `zh-CN`; English for a language without texts."""
    code = (locale or "").replace("_", "-").split("-")[0].lower()
    return code if code in LANGUAGES else "en"


def t(message: str, /, **values: object) -> str:
    """A text in the language that is spoken, with its `{placeholders}` filled."""
    told = catalogue(spoken()).get(message) or message
    return told.format(**values) if values else told


def shown(texts: Iterable[str] | Mapping[str, str]) -> Callable[[str], str]:
    """How options of a widget are shown, told now: a widget may ask for it later and elsewhere."""
    told = {name: t(text) for name, text in _pairs(texts)}
    return lambda name: told.get(name, name)


def _pairs(texts: Iterable[str] | Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return texts.items() if isinstance(texts, Mapping) else ((each, each) for each in texts)


def mark(message: str) -> str:
    """A text of a table, named for the catalogue; it passes through `t` where it is shown."""
    return message


@cache
def catalogue(code: str) -> dict[str, str]:
    """English text -> text; empty for English itself."""
    file = _FILES.get(code)
    return read_po((TEXTS / file).read_text(encoding="utf-8")) if file else {}


def read_po(text: str) -> dict[str, str]:
    """The entries of a gettext catalogue (`msgid`, `msgstr`, continued lines); the header and fuzzy marks are left out."""
    found: dict[str, str] = {}
    parts = {"msgid": "", "msgstr": ""}
    at = "msgid"
    for line in (*text.splitlines(), 'msgid ""'):
        read = _LINE.match(line)
        if read is None:
            continue
        if read[1] == "msgid":
            if parts["msgid"] and parts["msgstr"]:
                found[parts["msgid"]] = parts["msgstr"]
            parts = {"msgid": "", "msgstr": ""}
        at = read[1] or at
        parts[at] += re.sub(r'\\[nt"\\]', lambda each: _ESCAPES[each[0]], read[2])
    return found
