"""What a format is: how it recognises a file, and an incremental reader that turns bytes into runs.

Batch reading and live tailing are the same code: `feed` takes what is new, `runs` says what is known so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from typing import Literal, Protocol

from timeledger.run import Run

HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from: the file's name (no folders), its folders (outermost first), its last write (UTC).

    `mapping` renames a log's own keys to columns (`--map "my_len=len_mean"`); readers of free-form keys apply it first.
    """

    name: str
    folders: tuple[str, ...] = ()
    path: Path | None = None
    modified: datetime | None = None
    mapping: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The first 64 KiB of a source, decompressed; `lines` are its clean pieces (no colour codes, split on CR and LF)."""

    origin: Origin
    data: bytes
    lines: tuple[str, ...] = field(default=())
    whole: bool = False

    @property
    def name(self) -> str:
        """The file's name."""
        return self.origin.name


class Sure(IntEnum):
    """How sure a format is. CERTAIN: only this format writes such a line. LIKELY: its usual shape. MAYBE: a fallback."""

    NO = 0
    MAYBE = 1
    LIKELY = 2
    CERTAIN = 3


@dataclass(frozen=True, slots=True)
class Confidence:
    """The answer to "is this mine?", with the line (shortened) or fact that decided."""

    sure: Sure
    because: str = ""


NO = Confidence(Sure.NO)


class Reader(Protocol):
    """Reads one source. For `lines` formats every block given to `feed` ends in a CR or LF (save the very last one of a finished read)."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Never raises on bad content: it is skipped, counted and noted."""

    def runs(self) -> tuple[Run, ...]:
        """The runs known so far, in the order of the file. Cheap enough to call at every tick."""


@dataclass(frozen=True, slots=True)
class Format:
    """One log surface.

    kind: `lines` = text, fed in blocks of whole lines; `records` = self-delimiting binary records, fed as they come;
    `document` = the whole file at once, read again when it changes (a fresh reader each time).
    `role`: whose log it is: a trainer's, an inference engine's, or any program's (rows of a general shape).
    `title`, `reads`, `lacks` and `more` are the row of the table of formats: what it is, what is read, what such a
    log does not hold, how to log more.
    """

    name: str
    title: str
    kind: Literal["lines", "records", "document"]
    recognises: Callable[[Head], Confidence]
    open: Callable[[Origin], Reader]
    reads: str
    lacks: str
    more: str
    role: Literal["trainer", "engine", "own"] = "trainer"
    #: The surest answer that `recognises` can give: it is not asked where that could not win.
    most: Sure = Sure.CERTAIN
