"""Opens an SQLite database that somebody handed over: from its bytes, in memory, read only, with bounds."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MAGIC: Final = b"SQLite format 3\0"
#: A database larger than this is not copied into memory.
LARGEST: Final = 1 << 30
#: Virtual machine steps (in units of `_TICK`) after which a query is given up: minutes, not hours.
_MAX_TICKS: Final = 20_000
_TICK: Final = 100_000
_WAL: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_ALLOWED: Final = {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
}  # fmt: skip


class Unusable(Exception):
    """The bytes are no database that can be read; `str` says why."""


def with_wal(data: bytes, path: Path | None) -> bytes:
    """The database with the changes that still stand in the write-ahead log beside it (a run that is being written)."""
    if path is None:
        return data
    try:
        wal = path.with_name(path.name + "-wal").read_bytes()
    except OSError:
        return data
    if len(wal) < _WAL.size or _WAL.unpack_from(wal)[0] not in _WAL_MAGIC:
        return data
    _, _, page, _, *salts = _WAL.unpack_from(wal)[:6]
    if page < 512 or page & (page - 1) or len(wal) > LARGEST:
        return data
    pages, waiting, pages_now = {}, {}, 0
    for at in range(_WAL.size, len(wal) - _FRAME.size - page + 1, _FRAME.size + page):
        number, size, *seen = _FRAME.unpack_from(wal, at)[:4]
        if seen != salts or not 0 < number < LARGEST // page:
            break
        waiting[number] = wal[at + _FRAME.size : at + _FRAME.size + page]
        if size:
            pages.update(waiting)
            waiting, pages_now = {}, size
    if not pages or pages_now > LARGEST // page:
        return data
    whole = bytearray(data[: pages_now * page].ljust(pages_now * page, b"\0"))
    for number, content in pages.items():
        if number <= pages_now:
            whole[(number - 1) * page : number * page] = content
    return bytes(whole)


@contextmanager
def opened(data: bytes) -> Iterator[sqlite3.Connection]:
    """A connection that can only read the tables of these bytes.

    Raises:
        Unusable: no database, damaged, too large, or a query ran too long.
    """
    if len(data) > LARGEST:
        raise Unusable(f"a database of {len(data) >> 20} MiB is too large to read at once")
    connection = sqlite3.connect(":memory:")
    try:
        # Bytes 18 and 19 say "write-ahead log", which a database in memory cannot have.
        connection.deserialize(data[:18] + b"\x01\x01" + data[20:] if len(data) > 100 else data)
        connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        ticks = iter(range(_MAX_TICKS))
        connection.set_progress_handler(lambda: int(next(ticks, None) is None), _TICK)
        connection.set_authorizer(lambda action, *_: 0 if action in _ALLOWED else 1)
        yield connection
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError) as error:
        raise Unusable(str(error) or type(error).__name__) from error
    finally:
        connection.close()


def tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Real tables and their columns: no views, no virtual tables (they could run anything)."""
    found: dict[str, set[str]] = {}
    for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
        if not isinstance(name, str) or not name.isidentifier() or not isinstance(sql, str):
            continue
        if sql.lstrip()[:14].upper() == "CREATE VIRTUAL":
            continue
        columns = connection.execute(f'SELECT * FROM "{name}" LIMIT 0').description
        found[name] = {column[0] for column in columns}
    return found
