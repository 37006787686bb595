"""Writers of the binary logs that the tests read: protocol buffer messages, event files, W&B run files."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from parsers.crc32c import masked
from parsers.protobuf import varint_bytes as varint


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def blob(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


# --- TensorBoard -------------------------------------------------------------------------------------------------


def record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", masked(size)) + data + struct.pack("<I", masked(data))


def event(wall: float, step: int, *values: bytes) -> bytes:
    """One event; step 0 is left out, as proto3 writers do."""
    place = number(2, step) if step else b""
    return record(double(1, wall) + place + blob(5, b"".join(blob(1, value) for value in values)))


def scalar(tag: str, value: float) -> bytes:
    return blob(1, tag) + single(2, value)


def text(tag: str, value: Any) -> bytes:
    tensor = number(1, 7) + blob(8, json.dumps(value))
    return blob(1, tag) + blob(8, tensor) + blob(9, blob(1, blob(1, "text")))


def start(wall: float) -> bytes:
    return record(double(1, wall) + blob(3, "brain.Event:2"))


def events(wall: float, rows: Iterable[tuple[int, float, Mapping[str, float]]]) -> bytes:
    """An event file: rows of (step, seconds after the start, metrics), one event a metric."""
    parts = [start(wall)]
    for step, after, metrics in rows:
        parts += [event(wall + after, step, scalar(tag, value)) for tag, value in metrics.items()]
    return b"".join(parts)


# --- W&B ---------------------------------------------------------------------------------------------------------

BLOCK = 32 * 1024


def item(key: str, value: Any, *, nested: bool = True) -> bytes:
    return (blob(2, key) if nested else blob(1, key)) + blob(16, json.dumps(value))


def history(row: Mapping[str, Any]) -> bytes:
    return blob(2, b"".join(blob(1, item(key, value)) for key, value in row.items()))


def config(values: Mapping[str, Any]) -> bytes:
    return blob(5, b"".join(blob(1, item(key, value, nested=False)) for key, value in values.items()))


def run_record(name: str, seconds: int) -> bytes:
    return blob(17, blob(1, "abc123") + blob(8, name) + blob(17, number(1, seconds) + number(2, 500_000_000)))


def exit_record(code: int) -> bytes:
    return blob(18, (number(1, code) if code else b"") + number(2, 60))


def wandb_file(records: Iterable[bytes]) -> bytes:
    """The log framing of a run file: fragments that do not cross 32 KiB blocks."""
    out = bytearray(b":W&B\xe1\xbe\x00")
    for data in records:
        first = True
        while True:
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += b"\0" * left
                continue
            part, data = data[: left - 7], data[left - 7 :]
            kind = (1 if first else 4) if not data else (2 if first else 3)
            crc = zlib.crc32(bytes([kind]) + part)
            out += struct.pack("<IHB", crc, len(part), kind) + part
            first = False
            if not data:
                break
    return bytes(out)
