"""Just enough of the protocol buffer wire format to read TensorBoard events and W&B records without their libraries."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5


class Malformed(ValueError):
    """The bytes are not a message."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned number at `at` and the place behind it.

    Raises:
        Malformed: it is cut short or longer than ten bytes.
    """
    result = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise Malformed("a number is cut short")


def varint_bytes(value: int) -> bytes:
    """How an int64 is written."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """An int64 field's value: negative numbers are written as their 64-bit complement."""
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int | bytes]]:
    """Every field of a message, in order: number, wire type, value (an int, or the raw bytes).

    Raises:
        Malformed: the bytes are not a message.
    """
    end = len(data) if end is None else end
    at = start
    while at < end:
        key, at = varint(data, at, end)
        wire = key & 7
        if wire == VARINT:
            number, at = varint(data, at, end)
            yield key >> 3, wire, number
            continue
        if wire == BYTES:
            size, at = varint(data, at, end)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise Malformed(f"wire type {wire}")
        if at + size > end:
            raise Malformed("a field reaches beyond its message")
        yield key >> 3, wire, data[at : at + size]
        at += size


def double(raw: int | bytes) -> float:
    """A double field's value (Malformed when it is no such field)."""
    if not isinstance(raw, bytes) or len(raw) != 8:
        raise Malformed("not a double")
    return float(struct.unpack("<d", raw)[0])


def single(raw: int | bytes) -> float:
    """A float field's value (Malformed when it is no such field)."""
    if not isinstance(raw, bytes) or len(raw) != 4:
        raise Malformed("not a float")
    return float(struct.unpack("<f", raw)[0])


def blob(raw: int | bytes) -> bytes:
    """A bytes, string or message field's value (Malformed when it is no such field)."""
    if not isinstance(raw, bytes):
        raise Malformed("not bytes")
    return raw


def text(raw: int | bytes) -> str:
    """A string field's value (Malformed when it is no such field)."""
    return blob(raw).decode("utf-8", errors="replace")


def whole(raw: int | bytes) -> int:
    """An int64 field's value (Malformed when it is no such field)."""
    if not isinstance(raw, int):
        raise Malformed("not a whole number")
    return signed(raw)
