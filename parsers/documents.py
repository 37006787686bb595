"""The common part of every reader of a whole document: bytes are collected, and read when runs are asked for."""

from __future__ import annotations

from typing import ClassVar

from parsers.base import Origin
from parsers.build import RunBuilder
from timeledger.run import Run


class DocumentReader:
    """A reader of a document. A format overrides `read`, which finds the bytes in `data`."""

    format_name = ""
    framework: str | None = None
    #: What comes behind so many bytes is dropped.
    largest: ClassVar[int] = 1 << 29

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.data = bytearray()
        self._runs: tuple[Run, ...] | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if len(self.data) <= self.largest:
            self.data += data
        self._runs = None

    def runs(self) -> tuple[Run, ...]:
        """The runs of the document so far."""
        if self._runs is None:
            self._runs = self.read()
        return self._runs

    def read(self) -> tuple[Run, ...]:
        """Read `data` from its start."""
        raise NotImplementedError

    def text(self) -> str:
        """The document as text, without a byte order mark; what is no UTF-8 is replaced."""
        return self.data.decode("utf-8-sig", errors="replace")

    def builder(self) -> RunBuilder:
        """An empty run of this format."""
        return RunBuilder(self.origin, self.format_name, self.framework)

    def nothing(self, why: str) -> tuple[Run, ...]:
        """A run that holds nothing, and why."""
        build = self.builder()
        build.note("warning", why)
        return (build.run(),)
