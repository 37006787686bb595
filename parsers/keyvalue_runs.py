"""The runs of one hand-written log, one after the other: each is read for itself, with its own start-up in front of it."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from parsers.base import Origin
from parsers.keyvalue_reader import KeyValueReader
from parsers.text import Piece, Pieces
from parsers.vllm import mentions_engine
from timeledger.run import Run

#: So many lines behind a run's end are kept: they may be the start-up of the next.
_KEPT: Final = 500


class KeyValueRuns:
    """Reads a log with one reader for each run in it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._pieces = Pieces()
        self._reader = KeyValueReader(origin)
        self._done: list[Run] = []
        self._kept: deque[Piece] = deque(maxlen=_KEPT)

    def feed(self, data: bytes) -> None:
        """Take a block of whole lines."""
        self._reader.engines = mentions_engine(data)
        for piece in self._pieces.split(data):
            if self._reader.ending.over:
                self._behind(piece)
            else:
                self._reader.take(piece)

    def _behind(self, piece: Piece) -> None:
        """A line behind the end of a run: the next one's first row, or of its start-up, or the run goes on, or ends anew."""
        before, ending = self._reader, self._reader.ending
        at = ending.at
        before.take(piece)
        if not ending.another:
            if ending.at == at:
                self._kept.append(piece)
            else:
                self._kept.clear()
            return
        self._done += before.runs()
        self._reader = KeyValueReader(self._origin)
        self._reader.engines = before.engines
        for earlier in self._kept:
            self._reader.take(earlier)
        self._kept.clear()
        self._reader.take(piece)

    def runs(self) -> tuple[Run, ...]:
        """Every run so far, oldest first."""
        found = [*self._done, *self._reader.runs()]
        return tuple(_named(run, number) if number > 1 else run for number, run in enumerate(found, 1))


def _named(run: Run, number: int) -> Run:
    return replace(run, info=run.info.model_copy(update={"name": f"{run.info.name} #{number}"}))
