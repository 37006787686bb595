"""What the words mean: the kinds of numbers, every metric on the pages, the formats that are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from dashboard import parts
from dashboard.language import t
from dashboard.terms import WORDS
from parsers.base import Format


def kinds() -> None:
    """Measured, inferred, assumed; the finish; what is never done."""
    st.markdown(
        "\n".join(
            f"- {line}"
            for line in (
                t(
                    "**measured** stands in the log; **inferred** was computed from it and carries its uncertainty; **assumed** was typed in or is a default."
                ),
                t(
                    "**Finishes** is the most likely end. The interval holds the true end in about 8 of 10 runs; the *worst case* is when every answer reaches the limit."
                ),
                t("What is not measured is never shown as zero, and never judged."),
                t("Nothing is sent anywhere: the page is served from this machine to this machine."),
            )
        )
    )


def table() -> None:
    """Every word, the field's own term, and what it means."""
    rows = [(t(word), term, t(meaning)) for word, term, meaning in WORDS]
    parts.table((t("Word"), t("Term"), t("Meaning")), rows, left=3)


def formats(known: Sequence[Format]) -> None:
    """What is read, what such a log lacks, and how to log more: one card a format."""
    lacks, more = t("lacks:"), t("more:")
    rows = "".join(
        f'<div class="tl-card"><b>{_coded(t(each.title))}</b><div class="u">{_coded(t(each.reads))}</div>'
        f'<div class="u"><i>{lacks}</i> {_coded(t(each.lacks))}</div><div class="u"><i>{more}</i> {_coded(t(each.more))}</div></div>'
        for each in known
    )
    st.html(f'<div class="tl-cards tl-wide">{rows}</div>')


def _coded(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", parts.safe(text))
