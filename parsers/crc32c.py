"""The checksum of TFRecord files: CRC-32C (Castagnoli), masked as TensorFlow writes it."""

from __future__ import annotations

from typing import Final


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C of the bytes (a few hundred kB a second: for lengths and single records, not for whole files)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """The checksum as it stands in the file: rotated and shifted by a constant."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
