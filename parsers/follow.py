"""One file being followed: what is new is read, what was replaced is read again."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Final

from parsers.base import Format, Origin
from parsers.source import Feeder, Told, blocks_of, origin_of
from timeledger.errors import UnreadableSource
from timeledger.run import Run

#: Bytes at the start and before the place reached, by which a rewritten file shows itself.
_MARK: Final = 4096


class Follower:
    """Reads one file as it grows. `poll` says whether anything changed; `runs` are the runs as of the last poll.

    A file that shrank, was replaced (another inode) or differs in the bytes already read is read from its start.
    Documents (one JSON text, a database) are read again as a whole when their size or time changes. A file that is
    gone keeps its last state; `error` says so.
    """

    def __init__(self, path: Path, mapping: tuple[tuple[str, str], ...] = (), fixed: Format | None = None) -> None:
        self.path = path
        self.runs: tuple[Run, ...] = ()
        self.error = ""
        #: Bytes read by the last poll, and the size reached.
        self.bytes_read = 0
        self.size = 0
        self._mapping = mapping
        self._fixed = fixed
        self._feeder: Feeder | None = None
        self._stamp: tuple[object, ...] = ()
        self._place: tuple[int, int] = (-1, -1)
        self._head = self._before = b""

    @property
    def format(self) -> Format | None:
        """The file's format, None while it is not known."""
        return self._feeder.format if self._feeder is not None else None

    def poll(self, told: Told | None = None) -> bool:
        """Read what is new; True when the runs may have changed."""
        self.bytes_read = 0
        try:
            stamp = _stamp(self.path)
            if stamp == self._stamp and not self.error:
                return False
            self._read(stamp, told)
        except (UnreadableSource, OSError) as error:
            changed = not self.error
            self.error = error.text if isinstance(error, UnreadableSource) else error.strerror or str(error)
            return changed
        self._stamp = stamp
        self.error = ""
        return True

    def _read(self, stamp: tuple[object, ...], told: Told | None) -> None:
        origin = origin_of(self.path, self._mapping)
        place = (int(str(stamp[0])), int(str(stamp[1])))
        if self._feeder is None or self._must_restart(place, int(str(stamp[2]))):
            self._restart(origin)
        assert self._feeder is not None
        self._place = place
        self._take_new(told)
        if self._feeder.spoiled:
            self._restart(origin)
            self._take_new(told)
        if self._feeder.waiting:
            self._feeder.finish()
        runs = self._feeder.runs()
        self.runs = tuple(_written(run, origin.modified) for run in runs)

    def _must_restart(self, place: tuple[int, int], size: int) -> bool:
        assert self._feeder is not None
        document = self._feeder.format is not None and self._feeder.format.kind == "document"
        if document or place != self._place or size < self.size or self._feeder.waiting:
            return True
        with self.path.open("rb") as stream:
            if stream.read(len(self._head)) != self._head:
                return True
            stream.seek(self.size - len(self._before))
            return stream.read(len(self._before)) != self._before

    def _restart(self, origin: Origin) -> None:
        self._feeder = Feeder(origin, self._fixed)
        self.size = 0
        self._head = self._before = b""

    def _take_new(self, told: Told | None) -> None:
        assert self._feeder is not None
        for block in blocks_of(self.path, self.size):
            self._feeder.feed(block)
            self.size += len(block)
            self.bytes_read += len(block)
            if len(self._head) < _MARK:
                self._head += block[: _MARK - len(self._head)]
            self._before = (self._before + block[-_MARK:])[-_MARK:]
            if told is not None:
                told(self.bytes_read)


def _written(run: Run, modified: datetime | None) -> Run:
    """The run with the file's present time of change (its reader may have been opened long ago)."""
    if run.info.last_write == modified:
        return run
    return Run(
        info=run.info.model_copy(update={"last_write": modified}),
        steps=run.steps, phases=run.phases, engine=run.engine, events=run.events, progress=run.progress,
        extra=run.extra, notes=run.notes,
    )  # fmt: skip


def _stamp(path: Path) -> tuple[object, ...]:
    """What changes when the source does: place, size and time of the file and of what a database or store keeps beside it."""
    at = path.stat()
    stamp: tuple[object, ...] = (at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns)
    if path.suffix.lower() in {".db", ".sqlite", ".sqlite3"}:
        stamp += _beside(path.with_name(path.name + "-wal"))
    elif path.name == "meta.yaml":
        stamp += _store(path.parent / "metrics")
    return stamp


def _beside(path: Path) -> tuple[object, ...]:
    try:
        at = path.stat()
    except OSError:
        return ()
    return (at.st_size, at.st_mtime_ns)


def _store(folder: Path) -> tuple[object, ...]:
    """Number, size and newest change of an MLflow run's metric files."""
    count = size = newest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            at = Path(parent, name).stat()
            count, size, newest = count + 1, size + at.st_size, max(newest, at.st_mtime_ns)
    return (count, size, newest)
