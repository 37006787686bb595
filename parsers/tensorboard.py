"""TensorBoard event files, without TensorFlow: TFRecord framing, scalars of either style, the trainer's arguments as text.

A record is `uint64 length, uint32 masked crc of the length, data, uint32 masked crc of the data` (little endian). The
checksum of the length is checked whenever a length looks odd: after damage the next record cannot be found, so reading
stops there. What a record's own checksum says is not asked.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Final

from parsers import protobuf
from parsers.axes import AxisRows
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.crc32c import masked
from parsers.moments import moment
from parsers.protobuf import Malformed
from parsers.settings import from_config
from parsers.tag_times import settled
from timeledger.run import Run
from timeledger.said import say

_LENGTH: Final = struct.Struct("<QI")
_DOUBLE: Final = struct.Struct("<d")
_FLOAT: Final = struct.Struct("<f")
#: Records up to this size are taken without a look at the checksum of their length.
_USUAL: Final = 4096
_LARGEST: Final = 256 * 1024 * 1024
_MAX_SHAPES: Final = 20_000
#: An event with a time and a float is at least this long.
_SHORTEST: Final = 20
_TEXTS: Final = {"args/text_summary": "args", "model_config/text_summary": "model_config"}


def recognises(head: Head) -> Confidence:
    """An event file says `brain.Event:` in its first record."""
    if b"brain.Event:" in head.data[:64]:
        return Confidence(Sure.CERTAIN, "the first record is brain.Event")
    if ".tfevents." in f".{head.name}" and len(head.data) >= 12 and _sound(head.data):
        return Confidence(Sure.LIKELY, f"the file name {head.name} and a sound first record")
    return NO


def _sound(data: bytes) -> bool:
    size, crc = _LENGTH.unpack_from(data)
    return bool(size < _LARGEST and masked(data[:8]) == crc)


class EventReader:
    """Reads one event file as it grows."""

    def __init__(self, origin: Origin) -> None:
        self.build = RunBuilder(origin, "tensorboard")
        self.rows = AxisRows(self.build)
        self._rest = b""
        self._read = 0
        self._stopped = False
        self._shapes: dict[bytes, str] = {}

    def feed(self, data: bytes) -> None:
        """Take the next bytes; a record that is not all there yet waits."""
        if self._stopped:
            return
        data = self._rest + data if self._rest else data
        at, end = 0, len(data)
        while at + 12 <= end:
            size, crc = _LENGTH.unpack_from(data, at)
            if size > _USUAL and (size > _LARGEST or masked(data[at : at + 8]) != crc):
                self._damaged(self._read + at)
                return
            stop = at + 12 + size
            if stop + 4 > end:
                break
            if not self._usual(data, at + 12, stop) and not self._record(data, at + 12, stop, crc):
                self._damaged(self._read + at)
                return
            at = stop + 4
        self._rest = data[at:]
        self._read += at

    def _damaged(self, place: int) -> None:
        self._stopped, self._rest = True, b""
        self.build.note(
            "skipped", say("the event file is damaged at byte {place}: what follows was not read", place=place)
        )

    def _usual(self, data: bytes, start: int, end: int) -> bool:
        """Read the usual event (time, step, one float) when its layout was seen before; False for any other.

        What stands between the step and the last four bytes is the layout: it holds the tag and nothing that varies.
        """
        if end - start < _SHORTEST or data[start] != 0x09:
            return False
        at, step = start + 9, 0
        if data[at] == 0x10:
            step, more, at = data[at + 1], data[at + 2], at + 2
            if step > 0x7F and more <= 0x7F:  # steps below 16,384: two bytes
                step, at = step & 0x7F | more << 7, at + 1
            elif step > 0x7F:
                try:
                    step, at = protobuf.varint(data, at - 1, end)
                except Malformed:
                    return False
                step = protobuf.signed(step)
        tag = self._shapes.get(data[at : end - 4])
        if tag is None:
            return False
        self.rows.add(step, tag, _FLOAT.unpack_from(data, end - 4)[0], _DOUBLE.unpack_from(data, start + 1)[0])
        return True

    def _record(self, data: bytes, start: int, end: int, crc: int) -> bool:
        """Read one event field by field; False when its place or its checksum shows that the file is damaged."""
        try:
            self._any_event(data[start:end])
        except Malformed:
            if masked(data[start - 12 : start - 4]) != crc:
                return False
            self.build.note("skipped", say("an event that cannot be decoded"))
        return True

    def _any_event(self, event: bytes) -> None:
        wall, step = math.nan, 0
        summaries: list[bytes] = []
        for number, _, raw in protobuf.fields(event):
            if number == 1:
                wall = protobuf.double(raw)
            elif number == 2:
                step = protobuf.whole(raw)
            elif number == 3 and self.build.started_at is None:
                self.build.started_at = moment(wall)
            elif number == 5:
                summaries.append(protobuf.blob(raw))
        if math.isnan(wall):
            raise Malformed("an event without a time")
        values = [protobuf.blob(raw) for each in summaries for number, _, raw in protobuf.fields(each) if number == 1]
        for value in values:
            tag, scalar = self._value(value)
            if scalar is not None:
                self.rows.add(step, tag, scalar, wall)
                if len(values) == 1:
                    self._remember(event, step, value, tag, scalar)

    def _remember(self, event: bytes, step: int, value: bytes, tag: str, scalar: float) -> None:
        """Keep the layout of an event that is a time, a step and one float, and ends with that float."""
        place = b"\x10" + protobuf.varint_bytes(step) if step else b""
        usual = event[:1] == b"\x09" and event[9 : 9 + len(place)] == place and event.endswith(value)
        if usual and value.endswith(b"\x15" + _FLOAT.pack(scalar)) and len(self._shapes) < _MAX_SHAPES:
            self._shapes[event[9 + len(place) : -4]] = tag

    def _value(self, value: bytes) -> tuple[str, float | None]:
        """One Summary.Value: its tag and number. Texts of the trainer's arguments become settings on the way."""
        tag, scalar, tensor, plugin = "", None, b"", b""
        for number, wire, raw in protobuf.fields(value):
            if number == 1:
                tag = protobuf.text(raw)
            elif number == 2 and wire == protobuf.FIXED32:
                scalar = protobuf.single(raw)
            elif number == 8:
                tensor = protobuf.blob(raw)
            elif number == 9:
                plugin = protobuf.blob(raw)
        if tensor and scalar is None:
            if tag in _TEXTS:
                self._text(tag, tensor)
            elif b"text" not in plugin:
                scalar = _tensor_scalar(tensor)
        return tag, scalar

    def _text(self, tag: str, tensor: bytes) -> None:
        for number, _, raw in protobuf.fields(tensor):
            if number == 8:
                try:
                    config = json.loads(protobuf.text(raw))
                except ValueError:
                    self.build.note("skipped", say("{name} is not JSON", name=tag))
                    continue
                from_config(self.build, config, f"TensorBoard: {_TEXTS[tag]}")

    def runs(self) -> tuple[Run, ...]:
        """The run so far."""
        return (settled(self.rows.run()),)


_PACKED: Final = {1: ("<f", 5), 2: ("<d", 6)}
_WHOLE: Final = {3: "<i", 9: "<q", 4: "<B", 6: "<b", 5: "<h", 22: "<I", 23: "<Q"}


def _tensor_scalar(tensor: bytes) -> float | None:
    """The number of a tensor with one element; None for anything else (histograms, images, strings)."""
    kind, content, listed = 0, b"", {}
    for number, wire, raw in protobuf.fields(tensor):
        if number == 1 and isinstance(raw, int):
            kind = raw
        elif number == 4:
            content = protobuf.blob(raw)
        elif number in (5, 6, 7, 10):
            listed[number] = (wire, raw)
    form = _PACKED[kind][0] if kind in _PACKED else _WHOLE.get(kind)
    if form and len(content) == struct.calcsize(form):
        return float(struct.unpack(form, content)[0])
    if kind in _PACKED and (found := listed.get(_PACKED[kind][1])):
        packed = found[1]
        if isinstance(packed, bytes) and len(packed) == struct.calcsize(_PACKED[kind][0]):
            return float(struct.unpack(_PACKED[kind][0], packed)[0])
    if kind in (3, 9) and (found := listed.get(7 if kind == 3 else 10)):
        wire, raw = found
        if isinstance(raw, int):
            return float(protobuf.signed(raw))
        number, at = protobuf.varint(raw, 0, len(raw))
        return float(protobuf.signed(number)) if at == len(raw) else None
    return None


TENSORBOARD: Final = Format(
    name="tensorboard",
    title="TensorBoard event file",
    kind="records",
    recognises=recognises,
    open=EventReader,
    reads="scalars of any framework with their wall time, the trainer's arguments, evaluations, end of run",
    lacks="phases, where the framework does not log them as scalars (TRL does not)",
    more="log every step (`logging_steps=1`); TRL's phase times go to W&B, MLflow and trackio only",
)
