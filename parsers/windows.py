"""Which format a source has, judged in windows of 64 KiB while it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parsers.base import HEAD_BYTES, Format, Head, Origin, Sure
from parsers.formats import detect
from parsers.text import Pieces

#: How much is kept for the reader while the format is open (settings and start-up lines stand there).
_KEEP: Final = 4 * 1024 * 1024
#: Beyond `_KEEP`, every so many-th window of a source without a known format is looked at.
_STRIDE: Final = 16
#: Windows after which the usual shape of a format (LIKELY) is believed.
_ENOUGH: Final = 8
_TEXT_CONTROLS: Final = bytes({7, 8, 9, 10, 11, 12, 13, 27})
_CONTROLS: Final = bytes(set(range(32)) - set(_TEXT_CONTROLS) | {127})


def make_head(origin: Origin, data: bytes, whole: bool) -> Head:
    """The head that formats are asked about; `lines` is empty for binary data."""
    data = data[: 2 * HEAD_BYTES]
    text = data.replace(b"\0", b"") if b"\0" in data else data
    binary = len(text) < len(data) and text[:1024].translate(None, _CONTROLS) != text[:1024]
    lines = () if binary else tuple(piece.text for piece in Pieces().split(text))
    return Head(origin, data, lines, whole)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one window, or all so far, was taken for."""

    format: Format | None = None
    because: str = ""
    sure: Sure = Sure.NO


class Windows:
    """The first bytes of a source, judged in windows of 64 KiB until one answer can be believed."""

    def __init__(self) -> None:
        self.best = self._full = Answer()
        self.lost_lines = 0
        self.begins = 0
        self._kept = bytearray()
        self._next = 0
        self._judged = -1

    def add(self, data: bytes) -> None:
        self._kept += data
        self._judged = -1

    def clear(self) -> None:
        self._kept.clear()

    def since(self, place: int) -> bytes:
        """What is kept from this place of the source on."""
        return bytes(self._kept[place - self.begins :])

    @property
    def decided(self) -> bool:
        """True when what comes later cannot, or need not, change the answer."""
        found, sure = self._full.format, self._full.sure
        if found is None:
            return False
        if self.begins or found.kind != "lines" or self._next >= _KEEP // HEAD_BYTES:
            return True
        if found.role != "trainer":
            return False  # a trainer's lines may come late: behind an engine's start, or out of a buffer
        return sure is Sure.CERTAIN or (sure is Sure.LIKELY and self._next >= _ENOUGH)

    def judge_full(self, origin: Origin) -> None:
        """Judge the windows that became full, in order: what one block brought and what many brought is the same."""
        while not self.decided and len(self._kept) >= (self._next + 1) * HEAD_BYTES - self.begins:
            if self._next < _KEEP // HEAD_BYTES or self._next % _STRIDE == 0:
                self._full = self._better(origin, self._window((self._next + 1) * HEAD_BYTES - self.begins))
            self._next += 1
            if self._full.format is None and self._next > _KEEP // HEAD_BYTES:
                self.lost_lines += self._kept.count(b"\n", 0, HEAD_BYTES)
                del self._kept[:HEAD_BYTES]
                self.begins += HEAD_BYTES
        self.best = self._full

    def judge_rest(self, origin: Origin) -> None:
        """Judge the last, not yet full window too, for the answer so far."""
        if self._judged != len(self._kept):
            self._judged = len(self._kept)
            self.best = self._better(origin, self._window(len(self._kept)))

    def _window(self, end: int) -> bytes:
        """The next window up to `end`, begun at a line's start: half a bar or half a line may look like another's."""
        at = self._next * HEAD_BYTES - self.begins
        if self._next:
            before = max(self._kept.rfind(sign, max(0, at - HEAD_BYTES), at) for sign in (b"\n", b"\r"))
            after = min(
                (place for sign in (b"\n", b"\r") if (place := self._kept.find(sign, at, end)) >= 0), default=end
            )
            at = before + 1 if before >= 0 else after
        return bytes(self._kept[at:end])

    def _better(self, origin: Origin, window: bytes) -> Answer:
        """The weightier of the answer so far and this window's; of two equal ones the earlier."""
        if not window and self._next:
            return self._full
        old = self._full
        known = None if old.format is None else (old.format, old.sure)
        found, answer = detect(make_head(origin, window, whole=self._next == 0 and len(window) < HEAD_BYTES), known)
        if found is None or (self._next and found.kind != "lines"):
            return old
        return Answer(found, answer.because, answer.sure)
