"""The common part of every text reader: pieces in, one or several runs out."""

from __future__ import annotations

from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.text import Piece, Pieces
from timeledger.run import Run


class LineReader:
    """A reader of text. A format overrides `take`, and `runs` when it has something to settle first."""

    format_name = ""
    framework: str | None = None

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.pieces = Pieces()
        self.build = RunBuilder(origin, self.format_name, self.framework)
        self._done: list[RunBuilder] = []

    def feed(self, data: bytes) -> None:
        """Take a block of whole lines."""
        for piece in self.pieces.split(data):
            self.take(piece)

    def take(self, piece: Piece) -> None:
        """Read one piece into `self.build`."""
        raise NotImplementedError

    def crashed(self, line: int, text: str) -> None:
        """The program was ended by an exception."""
        self.build.event("crash", line=line, text=text.strip())
        self.build.ended = "crashed"

    def next_run(self) -> None:
        """What follows belongs to another run (a finished run, then a fresh start in the same file)."""
        if not self.build.is_empty:
            self._done.append(self.build)
            self.build = RunBuilder(self.origin, self.format_name, self.framework)
            self.build.name = f"{self.build.name} #{len(self._done) + 1}"

    def runs(self) -> tuple[Run, ...]:
        """Every run of the source so far, oldest first."""
        return tuple(build.run() for build in [*self._done, self.build])
