"""The common part of trainers' JSON lines (ms-swift, LLaMA-Factory): a row a logged step, which it names itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from parsers.base import NO, Confidence, Head, Origin, Sure
from parsers.lines import LineReader
from parsers.text import Piece
from parsers.trl_rows import RowWriter
from timeledger.said import say

#: Lines looked at to recognise a file.
_LOOK: Final = 20


class TrainerLines(LineReader):
    """A format overrides `row`."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self.writer = RowWriter(self.build)
        self.seen: list[int] = []

    def take(self, piece: Piece) -> None:
        """Read one JSON line."""
        try:
            row = json.loads(piece.text)
        except (ValueError, RecursionError):
            self.build.note("skipped", say("a line that is not JSON"), piece.no)
            return
        if isinstance(row, dict):
            self.row(row, piece.no)
        else:
            self.build.note("skipped", say("a line that is not a JSON object"), piece.no)

    def row(self, row: dict[str, Any], line: int) -> None:
        """Read one object."""
        raise NotImplementedError

    def restart(self, step: int, line: int) -> None:
        """Steps begin anew: another run when this one is finished, else another session of it."""
        if self.build.ended == "finished":
            self.next_run()
            self.writer = RowWriter(self.build)
        else:
            self.build.new_segment()
            self.build.event("resume", line=line, step=step)
        self.seen.clear()


def recognised(head: Head, telling: Callable[[str], bool]) -> Confidence:
    """CERTAIN: one of the first lines is an object with keys that tell, and all lines before it are objects."""
    for line in head.lines[:_LOOK]:
        text = line.lstrip()
        if not text.startswith("{"):
            return NO
        if telling(text):
            return Confidence(Sure.CERTAIN, text[:100])
    return NO
