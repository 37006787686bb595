"""W&B run files (`run-<id>.wandb`), without the wandb package: LevelDB log framing around protobuf records.

Blocks of 32 KiB hold fragments `uint32 crc, uint16 length, uint8 type`; the first seven bytes of the file are a header
of W&B's own. After damage the reader goes on at the next block, as LevelDB does. `_step` counts rows, not steps.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, Final

from parsers import protobuf
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.console_bars import ConsoleBars
from parsers.moments import moment
from parsers.protobuf import Malformed
from parsers.settings import from_config
from parsers.trackers import MetricRows, number
from timeledger.run import Run
from timeledger.said import say

_BLOCK: Final = 32 * 1024
_HEADER: Final = struct.Struct("<IHB")
_START: Final = b":W&B\xe1\xbe"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SEED: Final = tuple(zlib.crc32(bytes([kind])) for kind in range(5))
#: A record larger than this is no metric row.
_LARGEST: Final = 64 * 1024 * 1024
_HISTORY, _SUMMARY, _CONFIG, _OUTPUT, _RAW_OUTPUT, _RUN, _EXIT = 2, 3, 5, 4, 13, 17, 18


def recognises(head: Head) -> Confidence:
    """A run file begins with `:W&B` and a magic number."""
    return Confidence(Sure.CERTAIN, "the file begins with :W&B") if head.data.startswith(_START) else NO


class _Log:
    """Cuts the growing file into records."""

    def __init__(self) -> None:
        self._rest = b""
        self._place = self._skip = len(_START) + 1
        self._parts: list[bytes] = []
        self._size = 0
        self.damaged = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The records that the new bytes complete; an unfinished fragment waits."""
        if self._skip:
            cut = min(self._skip, len(data))
            self._skip -= cut
            data = data[cut:]
            if not data:
                return []
        data = self._rest + data if self._rest else data
        at, end, found = 0, len(data), []
        while at + _HEADER.size <= end:
            left = _BLOCK - (self._place + at) % _BLOCK
            if left < _HEADER.size:
                at += left
                continue
            crc, size, kind = _HEADER.unpack_from(data, at)
            sound = _FULL <= kind <= _LAST and size + _HEADER.size <= left
            if sound and at + _HEADER.size + size > end:
                break
            body = data[at + _HEADER.size : at + _HEADER.size + size]
            if not sound or zlib.crc32(body, _SEED[kind]) != crc:
                self.damaged += bool(crc or size or kind)
                self._parts = []
                at += left
                continue
            at += _HEADER.size + size
            if (record := self._fragment(kind, body)) is not None:
                found.append(record)
        self._rest, self._skip, self._place = data[at:], max(0, at - end), self._place + at
        return found

    def _fragment(self, kind: int, body: bytes) -> bytes | None:
        """The whole record that this fragment ends, or None."""
        if kind == _FULL:
            return body
        if kind == _FIRST:
            self._parts, self._size = [body], len(body)
            return None
        if not self._parts:
            return None
        self._size += len(body)
        self._parts.append(body if self._size <= _LARGEST else b"")
        if kind != _LAST:
            return None
        parts, self._parts = self._parts, []
        return b"".join(parts) if self._size <= _LARGEST else None


def _items(message: bytes, numbers: tuple[int, ...] = (1,)) -> dict[str, Any]:
    """The items of a history, config or summary message: name (a nested one joined by dots) -> JSON value."""
    found: dict[str, Any] = {}
    for number_, _, raw in protobuf.fields(message):
        if number_ not in numbers:
            continue
        key, nested, value = "", [], b"null"
        for field, _, part in protobuf.fields(protobuf.blob(raw)):
            if field == 1:
                key = protobuf.text(part)
            elif field == 2:
                nested.append(protobuf.text(part))
            elif field == 16:
                value = protobuf.blob(part)
        try:
            found[".".join(nested) if nested else key] = json.loads(value)
        except (ValueError, RecursionError):
            continue
    return found


def _seconds(stamp: bytes) -> float:
    """The Unix seconds of a time stamp message."""
    parts = {key: protobuf.whole(part) for key, _, part in protobuf.fields(stamp)}
    return parts.get(1, 0) + parts.get(2, 0) / 1e9


class WandbReader:
    """Reads one run file as it grows."""

    def __init__(self, origin: Origin) -> None:
        self.build = RunBuilder(origin, "wandb")
        self.rows = MetricRows(self.build, counts_rows=True)
        self._console = ConsoleBars(origin)
        self._log = _Log()
        self._damaged = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for record in self._log.feed(data):
            try:
                self._record(record)
            except Malformed:
                self.build.note("skipped", say("a record that cannot be decoded"))
        if self._log.damaged > self._damaged:
            self._damaged = self._log.damaged
            self.build.note("skipped", say("a damaged block of the run file: reading went on behind it"))

    def _record(self, record: bytes) -> None:
        for kind, wire, raw in protobuf.fields(record):
            if wire != protobuf.BYTES:
                continue
            body = protobuf.blob(raw)
            if kind == _HISTORY:
                self._history(body)
            elif kind == _CONFIG:
                self._config(body)
            elif kind == _SUMMARY and b"train_runtime" in body:
                runtime = number(_items(body).get("train_runtime"))
                self.build.train_runtime_s = runtime if runtime is not None else self.build.train_runtime_s
            elif kind == _RUN:
                self._run(body)
            elif kind == _EXIT:
                self._exit(body)
            elif kind in {_OUTPUT, _RAW_OUTPUT} and b"%|" in body:
                self._output(body)

    def _history(self, body: bytes) -> None:
        row = _items(body)
        counter = number(row.get("_step"))
        for field, _, raw in protobuf.fields(body):
            if field == 2 and counter is None:
                counter = float(next((protobuf.whole(part) for key, _, part in protobuf.fields(protobuf.blob(raw))
                                      if key == 1), 0))  # fmt: skip
        self.rows.add(row, number(row.get("_timestamp")), None if counter is None else int(counter))

    def _config(self, body: bytes) -> None:
        config = _items(body)
        config.pop("_wandb", None)
        from_config(self.build, config, "W&B: config")

    def _run(self, body: bytes) -> None:
        for field, _, raw in protobuf.fields(body):
            if field == 8 and (name := protobuf.text(raw).strip()):
                self.build.name = name
            elif field == 4:
                self._config(protobuf.blob(raw))
            elif field == 17:
                self.build.started_at = moment(_seconds(protobuf.blob(raw)))

    def _output(self, body: bytes) -> None:
        """A write of the console, with its moment."""
        text, wall = "", None
        for field, _, raw in protobuf.fields(body):
            if field == 2:
                wall = _seconds(protobuf.blob(raw))
            elif field == 3:
                text = protobuf.text(raw)
        self._console.take(text, wall)

    def _exit(self, body: bytes) -> None:
        """Exit code 0: the script ended well; 255: Ctrl-C; anything else: an exception."""
        code = next((protobuf.whole(raw) for field, _, raw in protobuf.fields(body) if field == 1), 0)
        self.rows.tags.flush()
        self.build.ended = "finished" if code == 0 else "interrupted" if code == 255 else "crashed"
        self.build.event("finish" if code == 0 else "crash", text=f"exit code {code}")

    def runs(self) -> tuple[Run, ...]:
        """The run so far."""
        return (self._console.beside(self.rows.run()),)


WANDB: Final = Format(
    name="wandb",
    title="W&B run file (run-*.wandb)",
    kind="records",
    recognises=recognises,
    open=WandbReader,
    reads="every metric row with its time, TRL's phase times, the configuration, how the run ended; where no row tells the time, the training's progress bar",
    lacks="rows that W&B dropped because their step went back",
    more="W&B writes this file in offline and online mode; point at the folder `wandb/`",
)
