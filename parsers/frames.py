"""Rows on their way into frames: what is old is frozen, so that a frame costs what is new and not what is there."""

from __future__ import annotations

from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import polars as pl

from timeledger import schema

#: Rows that may still change (late keys of a recent step); older ones are frozen into frames of so many rows.
OPEN_ROWS: Final = 1024
_CHUNK_ROWS: Final = 1024
#: So many frames of a size become one: few pieces however long the log, and each row is copied only now and then.
_FANOUT: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def frame_of(rows: list[dict[str, Any]], types: pl.Schema) -> pl.DataFrame:
    """The rows as a frame of those columns that any of them has.

    Column by column, and moments as counts: several times as fast as row by row.
    """
    given = set().union(*rows)
    columns: list[pl.Series] = []
    for name, dtype in types.items():
        if name not in given:
            continue
        if dtype == schema.UTC_TIME:
            moments = [row.get(name) for row in rows]
            counts = [None if at is None else _microseconds(at - _EPOCH) for at in moments]
            columns.append(pl.Series(name, counts, dtype=pl.Int64).cast(dtype))
        else:
            columns.append(pl.Series(name, [row.get(name) for row in rows], dtype=dtype))
    return pl.DataFrame(columns)


def _microseconds(since: timedelta) -> int:
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class Table:
    """Rows of one schema: frozen frames and a short open end."""

    def __init__(self, types: pl.Schema | None = None, keep_open: int = 0) -> None:
        self._types = types
        self._keep = keep_open
        self._frames: list[pl.DataFrame] = []
        self.rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        """Add a row; it may be changed until `keep_open` more have come."""
        self.rows.append(row)
        if len(self.rows) >= _CHUNK_ROWS + self._keep:
            self._frames.append(self._frame(self.rows[:_CHUNK_ROWS]))
            del self.rows[:_CHUNK_ROWS]
            while len(self._frames) >= _FANOUT and self._frames[-_FANOUT].height == self._frames[-1].height:
                self._frames[-_FANOUT:] = [pl.concat(self._frames[-_FANOUT:], how="diagonal", rechunk=True)]

    def _frame(self, rows: list[dict[str, Any]]) -> pl.DataFrame:
        assert self._types is not None
        return frame_of(rows, self._types)

    @property
    def is_empty(self) -> bool:
        """True when there is no row."""
        return not self._frames and not self.rows

    def frame(self) -> pl.DataFrame:
        """All rows, with all columns of the schema; columns that no row has cost no memory."""
        assert self._types is not None
        frames = [*self._frames, self._frame(self.rows)] if self.rows else self._frames
        if not frames:
            return schema.empty(self._types)
        whole = pl.concat(frames, how="diagonal")
        return whole.select(
            name if name in whole.columns else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in self._types.items()
        )

    def copy(self) -> Table:
        """A copy whose rows may be changed without changing these."""
        other = copy(self)
        other._frames, other.rows = list(self._frames), [dict(row) for row in self.rows]
        return other


class ExtraTable(Table):
    """Metrics without a column, one row a step; the columns grow as names appear."""

    def _frame(self, rows: list[dict[str, Any]]) -> pl.DataFrame:
        names = dict.fromkeys(name for row in rows for name in row)
        types: dict[str, Any] = {"segment": pl.Int64, "step": pl.Int64} | dict.fromkeys(names, pl.Float64)
        types |= {"segment": pl.Int64, "step": pl.Int64}
        return pl.DataFrame(
            [pl.Series(name, [row.get(name) for row in rows], dtype=dtype) for name, dtype in types.items()]
        )

    def frame(self) -> pl.DataFrame:
        """All rows that hold a metric."""
        return pl.concat([*self._frames, self._frame([row for row in self.rows if len(row) > 2])], how="diagonal")
