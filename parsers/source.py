"""Bytes on their way to a reader: files, uploads and live tails take the same road.

gzip is unpacked, UTF-16 becomes UTF-8, a terminal recording becomes what the terminal showed; text is cut at whole
lines; the format is found from the first 64 KiB (or, when they hold nothing telling, from the first later 64 KiB that do).
"""

from __future__ import annotations

import codecs
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from parsers import asciinema
from parsers.base import HEAD_BYTES, Format, Head, Origin, Reader, Sure
from parsers.formats import detect
from parsers.text import Pieces
from timeledger.errors import UnreadableSource
from timeledger.run import Run

_BLOCK: Final = 1024 * 1024
#: How much text before the first telling line is kept for the reader (settings and start-up lines stand there).
_KEEP: Final = 4 * 1024 * 1024


def origin_of(path: Path, mapping: tuple[tuple[str, str], ...] = ()) -> Origin:
    """The origin of a file on disk."""
    try:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise UnreadableSource(f"{path}: cannot be read ({error.strerror or error}).") from error
    return Origin(path.name, tuple(path.absolute().parent.parts[1:]), path, modified, mapping)


def make_head(origin: Origin, data: bytes, whole: bool) -> Head:
    """The head that formats are asked about."""
    data = data[:HEAD_BYTES]
    binary = b"\0" in data[:1024]
    lines = () if binary else tuple(piece.text for piece in Pieces().split(data))
    return Head(origin, data, lines, whole)


class _Plain:
    """Takes off gzip, UTF-16 and terminal recordings, whatever the chunking."""

    def __init__(self) -> None:
        self._begun = False
        self._start = b""
        self._gzip: zlib._Decompress | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        self._recording: asciinema.Unwrapper | None = None

    def feed(self, data: bytes) -> bytes:
        if not self._begun:
            self._start += data
            if len(self._start) < 4:
                return b""
            data, self._start, self._begun = self._start, b"", True
            if data[:2] == b"\x1f\x8b":
                self._gzip = zlib.decompressobj(wbits=31)
        if self._gzip is not None:
            data = self._unpack(data)
        return self._text(data)

    def finish(self) -> bytes:
        rest, self._start = self._start, b""
        return rest

    def _unpack(self, data: bytes) -> bytes:
        assert self._gzip is not None
        out = b""
        while data:
            try:
                out += self._gzip.decompress(data)
            except zlib.error as error:
                raise UnreadableSource(f"the gzip data is damaged ({error}).") from error
            data = self._gzip.unused_data
            if self._gzip.eof and data:
                self._gzip = zlib.decompressobj(wbits=31)
        return out

    def _text(self, data: bytes) -> bytes:
        if self._decoder is None and self._recording is None:
            if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
                self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
            elif asciinema.is_recording(data):
                self._recording = asciinema.Unwrapper()
        if self._decoder is not None:
            return self._decoder.decode(data).encode()
        if self._recording is not None:
            return self._recording.feed(data)
        return data


class Feeder:
    """One source being read: `feed` bytes as they come, `runs` at any time, `finish` when nothing more will come."""

    def __init__(self, origin: Origin, fixed: Format | None = None) -> None:
        self.origin = origin
        self.format: Format | None = fixed
        self.because = "chosen by --format" if fixed else ""
        self._fixed = fixed is not None
        self._plain = _Plain()
        self._kept = bytearray()
        self._settled = False
        self._tail = bytearray()
        self._reader: Reader | None = None

    def feed(self, data: bytes) -> None:
        """Take the next raw bytes."""
        data = self._plain.feed(data)
        if self._settled:
            self._give(data)
            return
        self._kept += data
        if self._fixed or len(self._kept) >= HEAD_BYTES:
            self._look(whole=False)

    def finish(self) -> None:
        """No more bytes will come: an unfinished last line is read only if it is complete in itself."""
        self.feed(self._plain.finish())
        if not self._settled:
            self._look(whole=True)
        if self._reader is not None and self._tail and self.format is not None and self.format.kind == "lines":
            tail = bytes(self._tail)
            only_line = b"\n" not in self._kept and b"\r" not in self._kept and len(self._kept) == len(tail)
            if only_line or tail.rstrip().endswith((b"}", b"]")):
                self._reader.feed(tail + b"\n")
                self._tail.clear()

    def runs(self) -> tuple[Run, ...]:
        """The runs so far; empty while the format is not known."""
        if not self._settled:
            self._look(whole=False)
        return self._reader.runs() if self._reader is not None else ()

    def first_line(self) -> str:
        """The source's first line, shortened, for an error text."""
        start = bytes(self._kept[:400])
        if b"\0" in start or not start.strip():
            return f"{start[:8].hex(' ')} (binary)" if start else "(nothing)"
        line = start.decode("utf-8", errors="replace").strip().splitlines()[0]
        return f'"{line[:100]}{"…" if len(line) > 100 else ""}"'

    def _look(self, whole: bool) -> None:
        """Find the format from what is kept; settle once the head is full, the answer certain, or the source whole."""
        if not self._fixed:
            found, self.because = self._detect(whole)
            if found is None:
                del self._kept[: max(0, len(self._kept) - _KEEP)]
                return
            self.format, sure = found
        else:
            sure = Sure.CERTAIN
        assert self.format is not None
        self._reader = self.format.open(self.origin)
        self._tail.clear()
        kept = bytes(self._kept)
        self._settled = whole or sure is Sure.CERTAIN or len(kept) >= HEAD_BYTES
        self._give(kept)
        if self._settled and len(kept) > HEAD_BYTES:
            self._kept = self._kept[:HEAD_BYTES]

    def _detect(self, whole: bool) -> tuple[tuple[Format, Sure] | None, str]:
        for start in range(0, max(len(self._kept), 1), HEAD_BYTES):
            window = bytes(self._kept[start : start + HEAD_BYTES])
            found, confidence = detect(
                make_head(self.origin, window, whole and start == 0 and len(self._kept) <= HEAD_BYTES)
            )
            if found is not None:
                return (found, confidence.sure), confidence.because
            if b"\0" in window[:1024]:
                break
        return None, ""

    def _give(self, data: bytes) -> None:
        assert self._reader is not None
        assert self.format is not None
        if self.format.kind != "lines":
            self._reader.feed(data)
            return
        self._tail += data
        cut = max(self._tail.rfind(b"\n"), self._tail.rfind(b"\r")) + 1
        if cut:
            block = bytes(self._tail[:cut])
            del self._tail[:cut]
            self._reader.feed(block)


def read_whole(origin: Origin, fixed: Format | None, data: bytes | None) -> Feeder:
    """A finished feeder over bytes in memory, or over the origin's file in blocks.

    Raises:
        UnreadableSource: the file cannot be opened or its compressed data is damaged.
    """
    feeder = Feeder(origin, fixed)
    if data is not None:
        for start in range(0, len(data), _BLOCK):
            feeder.feed(data[start : start + _BLOCK])
    else:
        assert origin.path is not None
        try:
            with origin.path.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    feeder.feed(block)
        except OSError as error:
            raise UnreadableSource(f"{origin.path}: cannot be read ({error.strerror or error}).") from error
    feeder.finish()
    return feeder
