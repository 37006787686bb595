"""On real logs too: no line is thrown out unread in which something would have been read."""

from __future__ import annotations

from pathlib import Path

from parsers.fields import resolve
from parsers.keyvalue_lines import read_line
from parsers.prose import may_tell
from parsers.text import Pieces

_BYTES = 40_000


def test_nothing_that_is_read_is_thrown_out(corpus: Path) -> None:
    seen: set[str] = set()
    thrown = 0
    for path in sorted(corpus.rglob("*")):
        data = path.read_bytes()[:_BYTES] if path.is_file() else b""
        if b"\0" in data:
            continue
        for piece in Pieces().split(data):
            if piece.text in seen or may_tell(piece.text, piece.text.encode(errors="replace")):
                continue
            seen.add(piece.text)
            thrown += 1
            line = read_line(piece.text, resolve)
            assert line is None or line.kind == "other", (path, piece)
    assert thrown > 5000
