"""Bytes on their way to a reader: files, uploads and live tails take the same road, and the same bytes give the same runs.

The rule of the last line: a line counts once it is ended by LF or CR. Two kinds of unended last line count all the
same, because they are complete in themselves: one `{...}` object (a JSON line of a writer that saves the line end), and
a state of the training progress bar (tqdm ends a bar only when it draws the next one). Everything else waits; only text
in memory that is one single line (something pasted) is read without a line end, since nothing more will come.

The format is found in windows of 64 KiB: a certain answer for the log of a trainer settles it; a fallback or an
engine's log stays provisional for the first 4 MiB, since a trainer's lines may come after a long start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from parsers.base import Confidence, Format, Origin, Reader, Sure
from parsers.lastline import is_whole_object, with_last_bar
from parsers.plain import Plain
from parsers.windows import Windows
from timeledger.errors import UnreadableSource
from timeledger.run import Note, Run
from timeledger.said import say

_BLOCK: Final = 1024 * 1024
#: Is told now and then how many bytes have been read.
Told = Callable[[int], None]
#: Archives and compressions, by their first bytes (gzip is read as it is).
_PACKED: Final = (
    (b"PK\x03\x04", say("a zip archive")), (b"7z\xbc\xaf\x27\x1c", say("a 7z archive")), (b"Rar!", say("a rar archive")),
    (b"\xfd7zXZ\0", say("an xz file")), (b"\x28\xb5\x2f\xfd", say("a zstd file")), (b"BZh", say("a bzip2 file")),
)  # fmt: skip


def origin_of(path: Path, mapping: tuple[tuple[str, str], ...] = ()) -> Origin:
    """The origin of a file on disk.

    Raises:
        UnreadableSource: it is not there or may not be looked at.
    """
    try:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise UnreadableSource(
            say("{path}: cannot be read ({error}).", path=path, error=error.strerror or error)
        ) from error
    return Origin(path.name, tuple(path.absolute().parent.parts[1:]), path, modified, mapping)


class Feeder:
    """One source being read: `feed` bytes as they come, `runs` at any time, `finish` when there is no more for now."""

    def __init__(self, origin: Origin, fixed: Format | None = None) -> None:
        self.origin = origin
        self.format: Format | None = fixed
        self.because = "chosen by --format" if fixed else ""
        self.sure = Sure.CERTAIN if fixed else Sure.NO
        #: True when what followed shows that a last line was taken too early: read the source again from its start.
        self.spoiled = False
        self._fixed = fixed is not None
        self._plain = Plain()
        self._windows = Windows()
        self._settled = False
        self._tail = bytearray()
        self._taken = False
        self._lines = False
        self.complete = False
        self._reader: Reader | None = None
        self._given = self._begins = 0
        self._first = b""

    # --- bytes in -----------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take the next raw bytes."""
        for part in self._plain.feed(data):
            self._take(part)

    def finish(self) -> None:
        """Take what was held back of a source shorter than its first marks (nothing may be fed after that)."""
        for part in self._plain.finish():
            self._take(part)

    def _take(self, data: bytes) -> None:
        if len(self._first) < 400:
            self._first += data[: 400 - len(self._first)]
        if self._settled:
            self._give(data)
            return
        self._windows.add(data)
        if not self._fixed:
            self._windows.judge_full(self.origin)
            self._settled = self._windows.decided
        if self._settled or self._fixed:
            self._open()
            self._settled = True
            self._windows.clear()

    def _open(self) -> None:
        """Bring the reader of the best answer so far up to date; a better answer begins again with what is kept."""
        if not self._fixed:
            best = self._windows.best
            found, self.because, self.sure = best.format, best.because, best.sure
            if found is not self.format or self._windows.begins != self._begins:
                self.format, self._reader = found, None
        if self.format is None:
            return
        self._catch_up()
        if self.spoiled:  # what is kept can be read again at once
            self._reader, self.spoiled = None, False
            self._catch_up()

    def _catch_up(self) -> None:
        assert self.format is not None
        if self._reader is None:
            self._reader = self.format.open(self.origin)
            self._given = self._begins = self._windows.begins
            self._tail.clear()
            self._taken = False
            if self._windows.lost_lines and self.format.kind == "lines":
                self._reader.feed(b"\n" * self._windows.lost_lines)  # keeps the count of lines
        new = self._windows.since(self._given)
        self._given += len(new)
        self._give(new)

    def _give(self, data: bytes) -> None:
        if self._reader is None or self.format is None or not data:
            return
        if self.format.kind != "lines":
            self._reader.feed(data)
            return
        if b"\0" in data:
            data = data.replace(b"\0", b"")
        if self._taken:
            data = self._after_taken(data)
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if cut:
            self._lines = self._lines or not data[:cut].isspace()
            self._reader.feed(bytes(self._tail) + data[:cut] if self._tail else data[:cut])
            self._tail.clear()
        self._tail += data[cut:]

    def _after_taken(self, data: bytes) -> bytes:
        """The line end of a last line that was taken without it is dropped; anything else spoils what was read."""
        rest = data.lstrip(b" \t") if not data.isspace() else data
        if rest.startswith(b"\r\n"):
            data, self._taken = rest[2:], False
        elif rest == b"\r":
            data = b""  # LF may follow
        elif rest.startswith((b"\n", b"\r")):
            data, self._taken = rest[1:], False
        else:
            self.spoiled = True
        return data

    # --- runs out -----------------------------------------------------------------------------------------

    def runs(self) -> tuple[Run, ...]:
        """The runs so far; empty while the format is not known."""
        if not self._settled:
            self._windows.judge_rest(self.origin)
            self._open()
        if self._reader is None or self.format is None:
            return ()
        only_line = self.complete and not self._lines  # nothing else to read, and nothing will come
        if self.format.kind == "lines" and self._tail and (only_line or is_whole_object(self._tail)):
            self._reader.feed(bytes(self._tail) + b"\n")
            self._tail.clear()
            self._taken = True
        runs = self._reader.runs()
        if self.format.kind == "lines" and runs and self._tail:
            runs = (*runs[:-1], with_last_bar(runs[-1], bytes(self._tail[-2000:])))
        return self._with_troubles(runs)

    def _with_troubles(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        notes = [Note("skipped", 0, text, 1, self.origin.name) for text in self._plain.troubles]
        if self._plain.cut_short:
            text = say("the gzip data has no end yet (still being written, or cut off); what is there was read")
            notes.append(Note("info", 0, text, 1, self.origin.name))
        return (*runs[:-1], runs[-1].with_notes(*notes)) if runs and notes else runs

    @property
    def waiting(self) -> bool:
        """True for a source so short that `finish` was needed to read it: when it grows, read it again."""
        return self._plain.waiting

    def guess(self) -> tuple[Format | None, Confidence]:
        """The format as known now, with the line that decided."""
        if not self._settled and not self._fixed:
            self._windows.judge_rest(self.origin)
            best = self._windows.best
            return best.format, Confidence(best.sure, best.because)
        return self.format, Confidence(self.sure, self.because)

    def packed_as(self) -> str | None:
        """What kind of archive or compressed file this is, when it is one that is not unpacked here."""
        return next((name for magic, name in _PACKED if self._first.startswith(magic)), None)

    def first_line(self) -> str:
        """The source's first line, shortened, for an error text."""
        start = self._first
        line = next(iter(start.decode("utf-8", errors="replace").strip().splitlines()), "")
        if b"\0" in start or not line.isprintable():
            return say("{bytes} (binary)", bytes=start[:8].hex(" "))
        if not line:
            return say("(nothing)")
        return f'"{line[:100]}{"…" if len(line) > 100 else ""}"'


def blocks_of(path: Path, start: int = 0) -> Iterator[bytes]:
    """The file's bytes from `start` on, in blocks.

    Raises:
        UnreadableSource: the file cannot be opened or read.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(start)
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise UnreadableSource(
            say("{path}: cannot be read ({error}).", path=path, error=error.strerror or error)
        ) from error


def _blocks(origin: Origin, data: bytes | memoryview | None) -> Iterator[bytes]:
    """Bytes in memory, or of the origin's file."""
    if data is None:
        assert origin.path is not None
        return blocks_of(origin.path)
    view = memoryview(data)
    return (bytes(view[start : start + _BLOCK]) for start in range(0, len(view), _BLOCK))


def read_whole(
    origin: Origin, fixed: Format | None, data: bytes | memoryview | None, told: Told | None = None
) -> Feeder:
    """A finished feeder over bytes in memory (never copied as a whole), or over the origin's file in blocks.

    Raises:
        UnreadableSource: the file cannot be opened or read.
    """
    feeder, done = Feeder(origin, fixed), 0
    for block in _blocks(origin, data):
        feeder.feed(block)
        done += len(block)
        if told is not None:
            told(done)
    feeder.finish()
    feeder.complete = data is not None
    return feeder


def further(told: Told | None, before: int) -> Told | None:
    """To be told of a source that is read after `before` bytes of others."""
    return None if told is None else lambda done: told(before + done)


def detect_head(origin: Origin, data: bytes) -> tuple[Format | None, Confidence]:
    """The format of a source's first bytes, unwrapped, window by window; (None, NO) when none recognises them."""
    feeder = Feeder(origin)
    feeder.feed(data)
    feeder.finish()
    return feeder.guess()
