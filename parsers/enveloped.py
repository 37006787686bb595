"""Logs whose lines a collector put into JSON: Docker's json-file, Kaggle's session logs, Cloud Logging and the like.

Such an envelope holds one piece of the program's output under a name of its own, beside a stamp. What comes out is the
output, with the stamp in front of each line where it is a moment.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from parsers.moments import epoch
from parsers.values import real

#: Where the text is. Docker and Kaggle keep its own line ends, the others hold one message each.
_PIECES: Final = ("log", "data")
_MESSAGES: Final = ("message", "msg", "textPayload")
_STAMPS: Final = ("time", "timestamp", "@timestamp", "ts", "receiveTimestamp")
_BESIDE: Final = frozenset(
    {
        *_STAMPS,
        "stream",
        "stream_name",
        "level",
        "severity",
        "levelname",
        "logger",
        "logName",
        "insertId",
        "ingestionTime",
    }
)
#: A row of metrics is none, and what the format of its own reads stays as it is.
_ROW: Final = frozenset({"step", "global_step", "iteration", "epoch", "loss", "reward", "module"})
_BEGINS: Final = re.compile(
    rb'\s*\[?\s*\{\s*"(?:log|data|message|msg|textPayload|stream|stream_name|time|timestamp|@timestamp|ts|level|severity|levelname|logger|logName|insertId|ingestionTime|labels|resource)"\s*:'
)
#: The first line is waited for up to this size.
LONGEST: Final = 64 * 1024


def may_be(data: bytes) -> bool:
    """True when the first bytes may begin an envelope, so that the whole first line is needed to tell."""
    return _BEGINS.match(data[:400]) is not None


def is_enveloped(first: bytes) -> bool:
    """True when the source's first line is an envelope."""
    return _open(first.split(b"\n", 1)[0]) is not None


class Unwrapper:
    """Takes the envelopes off, fed in any chunks; other lines pass."""

    def __init__(self) -> None:
        self._rest = b""
        self._fresh = True

    def feed(self, data: bytes) -> bytes:
        """The output that the new bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._line(line) for line in lines)

    def _line(self, line: bytes) -> bytes:
        if line.strip() in {b"", b"[", b"]", b","}:
            return b""
        found = _open(line)
        if found is None:
            self._fresh = True
            return line + b"\n"
        stamp, text = found
        head = f"{stamp} " if stamp and self._fresh else ""
        self._fresh = text.endswith(("\n", "\r"))
        return f"{head}{text}".encode(errors="replace")


def _open(line: bytes) -> tuple[str, str] | None:
    """The stamp ("" for none) and the text of an envelope, None when the line is none."""
    text = line.strip().removeprefix(b"[").removeprefix(b",").removesuffix(b"]").removesuffix(b",")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not record.keys() & _BESIDE or record.keys() & _ROW:
        return None
    for name in _PIECES:
        if isinstance(found := record.get(name), str) and ("stream" in record or "stream_name" in record):
            return _stamp(record), found
    for name in _MESSAGES:
        if isinstance(found := record.get(name), str):
            return _stamp(record), found.rstrip("\n") + "\n"
    return None


def _stamp(record: dict[str, Any]) -> str:
    """The moment of the record as text; "" where there is none (Kaggle counts the session's seconds)."""
    for name in _STAMPS:
        found = record.get(name)
        if isinstance(found, str) and re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", found):
            return found
        if (at := epoch(real(found))) is not None:
            return at.isoformat()
    return ""
