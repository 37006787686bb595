"""English that is left on a page in another language: every text the page sends to the browser, and a look for sentences in it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from streamlit.testing.v1 import AppTest

#: Parts of an element that nobody reads: identities, styles, what a script or a chart library is told.
_UNREAD = {
    "id", "form_id", "key", "icon", "page_script_hash", "url", "query_string", "format", "config", "element_id", "type", "language",
    "default", "value", "kind", "data", "fragment_id",
}  # fmt: skip
_CODE = re.compile(r"<code>.*?</code>|`[^`]*`|<style>.*?</style>|<script>.*?</script>", re.DOTALL)
_SENTENCE = re.compile(r"[A-Za-z][a-z']+(?: [a-z][a-z']*){2,}")


def texts(app: AppTest) -> Iterator[str]:
    """Everything on the page that a person may read or hear, code and lines of a log left out."""
    for element in app.main:
        yield from _of(element)
    for element in app.sidebar:
        yield from _of(element)


def _of(element: Any) -> Iterator[str]:
    if type(element).__name__ == "Code":
        return
    message = getattr(element, "proto", None)
    if message is None:
        return
    for text in _strings(message):
        yield from _visible(text)


def _strings(message: Any) -> Iterator[str]:
    """Every text in a protobuf message."""
    for field, value in message.ListFields():
        for each in value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else (value,):
            if field.name == "spec":
                yield from _of_chart(json.loads(each))
            elif field.name in _UNREAD:
                continue
            elif hasattr(each, "ListFields"):
                yield from _strings(each)
            elif isinstance(each, str):
                yield each


def _of_chart(value: Any) -> Iterator[str]:
    """Names, titles, hovers and labels of a chart."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in {"template", "customdata", "line", "marker", "font"}:
                yield from _of_chart(each)
    elif isinstance(value, list):
        for each in value:
            yield from _of_chart(each)
    elif isinstance(value, str):
        yield value


def _visible(text: str) -> Iterator[str]:
    """The words of HTML or Markdown, titles that a hover shows included."""
    text = _CODE.sub(" ", text)
    yield from (html.unescape(each) for each in re.findall(r'(?:title|aria-label|alt)="([^"]*)"', text))
    yield html.unescape(re.sub(r"<[^>]*>", "\n", text))


def sentences(app: AppTest) -> list[str]:
    """English of three words or more that is left."""
    return sorted({found[0] for text in texts(app) for found in _SENTENCE.finditer(text)})
