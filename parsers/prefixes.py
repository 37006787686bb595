"""What loggers put around a message: time stamps, levels, names of modules and places in the source."""

from __future__ import annotations

import re
from typing import Final

_PREFIX: Final = re.compile(
    r"\s*(?:"
    r"\[?\d{4}[-/.]?\d{2}[-/.]?\d{2}(?:[T _-]|, )\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2})\b)?\]?"
    r"|\[?\d{2}[-/]\d{2} \d{2}:\d{2}:\d{2}(?:[.,]\d+)?\]?"
    r"|\[?(?P<clock>[012]?\d:[0-5]\d:[0-5]\d)(?:[.,]\d+)?\]?(?=\s|\])"
    r"|\[(?:INFO|DEBUG|WARNING)\|[^\]]{1,80}\]"
    r"|\[[^\[\]]{1,60}\](?=\s*(?:\[[^\[\]]{1,60}\]\s*){0,3}\[?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2})"
    r"|\[?(?:DEBUG|INFO|SUCCESS|WARNING|WARN|NOTICE|TRACE|METRICS?)\b\]?(?::[\w.]+:)?"
    r"|[\w.]+:[\w.<>]+:\d+(?=\s*[-|])"
    r"|[IWEF]\d{4} (?P<glog>\d\d:\d\d:\d\d)[.\d]*\s+\d+ [\w./]+:\d+\]"
    r"|[\w./\-]+\.(?:py|go|cc?|rs|jl|ts|js):\d+(?=\s|[\]:|-])"
    r"|\[[\w./\-]+\.py(?::\d+| ?\(\d+\))?(?::\w+)?\]"
    r"|\[(?:rank ?\d+|Rank ?\d+|PID \d+|[A-Z_]+ \d+ / \d+|pid[ :=]\d+|MainThread|MainProcess|cuda:\d)\]"
    r"|[\w.\-]{1,40} - (?=(?:[\w.\-]{1,40} - )?(?:INFO|DEBUG|WARNING)\b)"
    r"|(?:root|__main__|[\w.]*(?:logger|train|trainer|training|grpo|main)[\w.]*)(?=\s*(?:\||:? - ))"
    r"|[-|:>]+(?=\s)"
    r")"
)  # fmt: skip
#: A full time stamp inside a message, with the name before it.
_MOMENT: Final = re.compile(
    r"(?:\b(?P<name>[A-Za-z_]+)\s*[:=]?\s*)?[\[\"'(]?(?P<at>\d{4}[-/]\d{2}[-/]\d{2}(?:[T _]|, )\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2})\b)?)[\]\"')]?"
)
#: Such a stamp is the moment of its line only under these names, or under none.
_NOW: Final = {"time", "timestamp", "ts", "date", "datetime", "at", "now", "when", "logged", "on"}
_SUFFIX: Final = re.compile(r"\s{2,}[\w./\-]+\.py:\d+\s*$")


def strip_prefix(text: str) -> tuple[str, str, str | None]:
    """(prefix, rest, time of day): what loggers put before a message, as often as they do."""
    at, clock = 0, None
    while (match := _PREFIX.match(text, at)) and match.end() > at:
        clock = match["clock"] or match["glog"] or clock
        at = match.end()
    return text[:at], _SUFFIX.sub("", text[at:]), clock


def take_moments(text: str) -> tuple[str, str | None]:
    """(the message without full time stamps, the one that tells when it was written): a moment is never a duration."""
    found = list(_MOMENT.finditer(text))
    if not found:
        return text, None
    own = [each["at"] for each in found if (each["name"] or "at").lower() in _NOW]
    return _MOMENT.sub(" ", text), own[0] if len(own) == 1 else None
