"""Takes the wrapping off: gzip, NUL padding, byte order marks, UTF-16, terminal recordings and collectors' envelopes.

Whatever the chunking, the same bytes come out.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from typing import Final

from parsers import asciinema, enveloped
from timeledger.said import say

#: Most bytes that one step of unpacking may give, so that a small file cannot fill the memory at once.
_PART: Final = 4 * 1024 * 1024
#: Compressed bytes that are unpacked at once.
_SLICE: Final = 64 * 1024
#: Bytes that are waited for before the wrapping of the text is decided.
_START: Final = 64
_NUL: Final = b"\0"
#: A log that was truncated while its writer kept its place begins with a hole of zeros; no binary format does.
_HOLE: Final = _NUL * 8


class Plain:
    """Feed raw bytes, take plain bytes. `troubles` says what was damaged; nothing is ever raised."""

    def __init__(self) -> None:
        self.troubles: list[str] = []
        self._gzip = _Gzip(self.troubles)
        self._text = _Text(self.troubles)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the new bytes give, in parts."""
        for part in self._gzip.feed(data):
            if plain := self._text.feed(part):
                yield plain

    def finish(self) -> Iterator[bytes]:
        """What was held back because the source is shorter than its first marks."""
        for part in self._gzip.finish():
            if plain := self._text.feed(part):
                yield plain
        if plain := self._text.finish():
            yield plain

    @property
    def waiting(self) -> bool:
        """True while the source is shorter than its first marks, so that `finish` would give what is held back."""
        return not self._text.begun

    @property
    def cut_short(self) -> bool:
        """True while gzip data is not at its end: still being written, or cut."""
        return self._gzip.cut_short


class _Gzip:
    """Unpacks gzip members one after the other; anything else goes through as it is."""

    def __init__(self, troubles: list[str]) -> None:
        self._troubles = troubles
        self._start = b""
        self._begun = False
        self._member: zlib._Decompress | None = None
        self._broken = False

    @property
    def cut_short(self) -> bool:
        return self._member is not None and not self._member.eof and not self._broken

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._begun:
            self._start += data
            if len(self._start) < 2:
                return
            data, self._start, self._begun = self._start, b"", True
            if data[:2] == b"\x1f\x8b":
                self._member = zlib.decompressobj(wbits=31)
        if self._member is None:
            yield data
        elif not self._broken:
            yield from self._unpack(data)

    def finish(self) -> Iterator[bytes]:
        rest, self._start = self._start, b""
        if rest:
            yield rest

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        view = memoryview(data)
        for start in range(0, len(view), _SLICE):
            if not self._broken:
                yield from self._slice(bytes(view[start : start + _SLICE]))

    def _slice(self, data: bytes) -> Iterator[bytes]:
        assert self._member is not None
        while data:
            if self._member.eof:
                data = data.lstrip(_NUL)  # tape and copy tools pad a gzip file with zeros
                if not data:
                    return
                self._member = zlib.decompressobj(wbits=31)
            before = self._member.copy()
            try:
                part = self._member.decompress(data, _PART)
            except zlib.error as error:
                self._broken = True
                self._troubles.append(say("the gzip data is damaged ({error}); what came before was read", error=error))
                yield _until_damage(before, data)
                return
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if part:
                yield part


def _until_damage(member: zlib._Decompress, data: bytes) -> bytes:
    """What the good beginning of a damaged slice gives: byte by byte, since an error takes its whole slice along."""
    out = b""
    try:
        for place in range(len(data)):
            out += member.decompress(data[place : place + 1])
    except zlib.error:
        pass
    return out


class _Text:
    """Makes UTF-8 of UTF-16, text of a terminal recording, and drops a byte order mark and leading NULs."""

    def __init__(self, troubles: list[str]) -> None:
        self._troubles = troubles
        self._start = b""
        self.begun = False
        self._hole = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._recording: asciinema.Unwrapper | enveloped.Unwrapper | None = None

    def feed(self, data: bytes) -> bytes:
        if self.begun:
            return self._turn(data)
        self._start += data
        if len(self._start) >= _START and (self._hole or self._start.startswith(_HOLE)):
            self._hole = True
            self._start = self._start.lstrip(_NUL)
        if len(self._start) < enveloped.LONGEST and enveloped.may_be(self._start) and b"\n" not in self._start:
            return b""
        return self._begin() if len(self._start) >= _START else b""

    def finish(self) -> bytes:
        return b"" if self.begun else self._begin()

    def _begin(self) -> bytes:
        data, self._start, self.begun = self._start, b"", True
        if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        elif (name := _unmarked_utf16(data)) is not None:
            self._decoder = codecs.getincrementaldecoder(name)(errors="replace")
        elif asciinema.is_recording(data):
            self._recording = asciinema.Unwrapper()
        else:
            data = data.removeprefix(codecs.BOM_UTF8)
            if enveloped.may_be(data) and enveloped.is_enveloped(data):
                self._recording = enveloped.Unwrapper()
        return self._turn(data)

    def _turn(self, data: bytes) -> bytes:
        if self._decoder is not None:
            return self._decoder.decode(data).encode(errors="replace")
        if self._recording is not None:
            return self._recording.feed(data)
        return data


def _unmarked_utf16(data: bytes) -> str | None:
    """UTF-16 without a byte order mark: every second byte of a plain text is zero."""
    start = data[:_START]
    if len(start) < 16:
        return None
    low, high = start[0::2], start[1::2]
    if not any(high) and all(32 <= byte < 127 or byte in b"\t\r\n\x1b" for byte in low):
        return "utf-16-le"
    if not any(low) and all(32 <= byte < 127 or byte in b"\t\r\n\x1b" for byte in high):
        return "utf-16-be"
    return None
