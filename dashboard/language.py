"""Which language the page speaks. English stands in the code, other languages in `texts/*.po`. No Streamlit here.

`t` gives a text of the page in its language, `retold` one that the model said; `mark` names a text that stands in a table
and passes through `t` later. A text without a translation is shown in English: a page with one English line is better than no page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final

from timeledger.said import Said

#: Code in the URL -> (the language's own name, its tag in HTML).
LANGUAGES: Final = {"en": ("English", "en"), "zh": ("中文", "zh-CN")}
TEXTS: Final = Path(__file__).parent / "texts"
_FILES: Final = {"zh": "zh_CN.po"}
_SPOKEN: ContextVar[str] = ContextVar("spoken", default="en")
_LINE: Final = re.compile(r'(?:(msgid|msgstr)\s+)?"((?:[^"\\]|\\.)*)"\s*$')
#: A space stands between Chinese and Latin letters or digits, never between two Chinese letters.
_BETWEEN: Final = re.compile(
    r"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]) (?=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])"
)
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
    """A text in the language that is spoken, with its `{placeholders}` filled; values that were said are retold as well."""
    return _filled(catalogue(spoken()).get(message) or message, values)


def retold(text: str) -> str:
    """What the model said, in the language that is spoken; any other text (a name, a line of a log) stays as it is."""
    if not isinstance(text, Said):
        return text
    template = catalogue(spoken()).get(text.template)
    return str(text) if template is None else _filled(template, text.values)


def _filled(template: str, values: Mapping[str, object]) -> str:
    if not values:
        return template
    made = template.format(**{name: retold(each) if isinstance(each, str) else each for name, each in values.items()})
    return made if spoken() == "en" else _BETWEEN.sub("", made)


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
