"""The common part of consoles that name their metrics as trackers do: names in, rows out, with the engine's own lines between."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.lines import LineReader
from parsers.moments import dated
from parsers.tagrows import TagRows
from parsers.text import YearlessClock
from parsers.trl_ending import Ending
from parsers.vllm import EngineLines
from timeledger.run import Run

#: The stamp that a container's log puts before each line.
_STAMPED: Final = re.compile(r"^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2}) ")


class TaggedReader(LineReader):
    """A format overrides `take`, gives what it finds to `put`, and offers every line that it does not use to `rest`."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self.clock = YearlessClock(origin.modified)
        self.ending = Ending()
        self.rows = TagRows(self.build)
        self.engine = EngineLines(self.build)
        self._segment = 0

    def put(self, step: int, tags: Mapping[str, float], line: int, at: datetime | None = None) -> None:
        """Metrics of one step. Names that come back at a smaller step open a segment; `at` is the time the step ended."""
        wall = None if at is None else at.timestamp()
        self.rows.line = line
        for tag, value in tags.items():
            self.rows.add(step, tag, value, wall)
        if tags:
            if self.build.ended is not None and not self.ending.finished:
                self.build.ended = None  # of the session before
            if self.build.segment != self._segment:
                self._segment = self.build.segment
                self._left_behind(self._segment - 1)
                self.ending.restarted()
                self.build.ended = None
            self.ending.moved()

    def session(self, kind: Literal["restart", "resume"], line: int, text: str = "") -> None:
        """A start-up line: what follows is another session of this run, if steps were read before."""
        if self.rows.empty:
            return
        self.rows.session()
        self._segment = self.build.segment
        self._left_behind(self._segment - 1)
        self.build.event(kind, line=line, text=text or "another start")
        self.ending.restarted()

    def _left_behind(self, segment: int) -> None:
        """The session before ended as the lines between said."""
        if self.ending.kind == "crashed":
            event = self.build.event("crash", line=self.ending.line, text=self.ending.text)
            event["segment"] = segment

    def finish(self, line: int, text: str = "", at: datetime | None = None) -> None:
        """The log says that training is over."""
        self.rows.flush()
        if not self.ending.finished:
            self.build.event("finish", line=line, at=at, text=text)
        self.build.ended = "finished"
        self.ending.finished = True

    def moment(self, text: str) -> datetime | None:
        """The stamp with a year at a line's start (a container's or a logger's), as UTC."""
        return dated(self.build, self.clock, text)

    def rest(self, text: str, line: int) -> None:
        """A line that is none of the format's own: an engine's, or a sign of the end.

        What a worker prints ends nothing: its exceptions are handled, or the driver raises them once more.
        """
        if not self.engine.take(text, line, self.clock) and "pid=" not in text[:100]:
            self.ending.take(_STAMPED.sub("", text), line)

    def settle(self, build: RunBuilder) -> None:
        """Write on a copy of the builder what later lines may still revise."""

    def runs(self) -> tuple[Run, ...]:
        """The runs so far; a crash counts while nothing follows it."""
        build = self.rows.settled()
        self.settle(build)
        if not self.ending.finished and self.ending.kind is not None:
            build.ended = self.ending.kind
            if self.ending.kind == "crashed":
                build.event("crash", line=self.ending.line, text=self.ending.text)
        return (build.run(),)
