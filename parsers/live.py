"""Runs that are still being written: every poll gives what reading everything anew would give, at the price of what is new."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from parsers.base import Format
from parsers.clusters import Cluster, Unit
from parsers.discover import Sniffed, as_roots, is_copy, merged, names_of, nothing_found, recognise, units_of
from parsers.follow import Follower
from parsers.group import Grouper
from parsers.homes import home_of, nested
from parsers.source import Told, further
from parsers.walk import Walk, walk
from timeledger.errors import UnreadableSource
from timeledger.run import Note, Run

#: A folder that changed this shortly before it was looked into may change again within one tick of the file clock.
_TICK_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Made:
    """A merged run and what it was made of."""

    cluster: Cluster
    name: str
    errors: tuple[Note, ...]
    run: Run


@dataclass(frozen=True, slots=True)
class _Kept:
    """The units of one file and what they were made of."""

    runs: tuple[Run, ...]
    copy: bool
    units: list[Unit]


class Live:
    """Follows files and folders. `poll` may be called from any thread, as often as wanted.

    A tick costs one `stat` for each followed file and known folder, the reading of the bytes that were added, and the
    merging of the runs that they belong to. Folders are walked again only when one of them changed or a file that was
    no log yet grew. A file that cannot be read is noted on the runs beside it; the others go on.
    """

    def __init__(
        self,
        paths: Path | str | Iterable[Path | str],
        mapping: tuple[tuple[str, str], ...] = (),
        format: Format | None = None,
    ) -> None:
        self.roots = as_roots(paths)
        #: True when the last poll found anything new; when that was (UTC).
        self.changed = False
        self.updated_at: datetime | None = None
        #: Bytes that the last poll read.
        self.bytes_read = 0
        self._mapping = mapping
        self._format = format
        self._lock = threading.Lock()
        self._followers: dict[Path, Follower] = {}
        self._walk = Walk()
        self._walked_at = 0
        self._undecided: dict[Path, tuple[int, int]] = {}
        self._grouper = Grouper()
        self._sniffed: Sniffed = {}
        self._units: dict[Path, _Kept] = {}
        self._made: dict[tuple[int, ...], _Made] = {}
        self._runs: tuple[Run, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was not looked at, and files that cannot be read now."""
        errors = [Note("skipped", 0, each.error, 1, str(path)) for path, each in self._followers.items() if each.error]
        return (*self._walk.notes, *errors)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files being followed."""
        return tuple(self._followers)

    def poll(self, told: Told | None = None) -> tuple[Run, ...]:
        """The runs as of now, by the place of their files; () while there is no log yet. Read errors become notes.

        `told` is called now and then with the number of bytes that this poll has read; it may raise, and the next poll goes on.
        """
        with self._lock:
            changed = self._find()
            self.bytes_read = 0
            for follower in self._followers.values():
                changed = follower.poll(further(told, self.bytes_read)) or changed
                self.bytes_read += follower.bytes_read
            self.changed = changed or self.updated_at is None
            if self.changed:
                self._runs = self._assemble()
                self.updated_at = datetime.now(UTC)
            return self._runs

    def nothing(self) -> UnreadableSource:
        """The error for folders in which no log was found."""
        return nothing_found(self.roots, self._walk)

    # --- which files ---------------------------------------------------------------------------------------

    def _find(self) -> bool:
        if not self._must_walk():
            return False
        self._walked_at = time.time_ns()
        self._walk = walk(self.roots)
        known = recognise(self._walk, self._sniffed)
        if self._format is None:
            wanted = [each.found.path for each in known]
        else:  # named files are read as what the user says they are, of a folder those that look like it
            of_format = {each.found.path for each in known if each.format is self._format}
            wanted = [each.path for each in self._walk.files if each.named or each.path in of_format]
        gone = [path for path in self._followers if path not in wanted]
        new = [path for path in wanted if path not in self._followers]
        for path in gone:
            del self._followers[path]
            self._units.pop(path, None)
        for path in new:
            self._followers[path] = Follower(path, self._mapping, self._format)
        self._followers = dict(sorted(self._followers.items(), key=lambda item: str(item[0])))
        followed = self._followers.keys()
        self._undecided = {
            each.path: (each.size, each.mtime_ns) for each in self._walk.files if each.path not in followed
        }
        return bool(gone or new)

    def _must_walk(self) -> bool:
        if not self._walked_at:
            return True
        for folder, changed in self._walk.folders.items():
            try:
                now = folder.stat().st_mtime_ns
            except OSError:
                return True
            if now != changed or now > self._walked_at - _TICK_NS:
                return True
        for path, seen in self._undecided.items():
            try:
                at = path.stat()
            except OSError:
                return True
            if (at.st_size, at.st_mtime_ns) != seen:
                return True
        return False

    # --- which runs ----------------------------------------------------------------------------------------

    def _assemble(self) -> tuple[Run, ...]:
        units: list[Unit] = []
        for path, follower in self._followers.items():
            units += self._units_of(path, follower)
        clusters = self._grouper.group(units)
        kept: dict[tuple[int, ...], _Made] = {}
        runs: list[Run] = []
        for cluster, name in zip(clusters, names_of(clusters), strict=True):
            key = tuple(id(unit.run) for unit in cluster.units)
            errors = self._errors(cluster)
            made = self._made.get(key)
            if made is None or (made.name, made.cluster.notes, made.errors) != (name, cluster.notes, errors):
                made = _Made(cluster, name, errors, merged([cluster], [name])[0].with_notes(*errors))
            kept[key] = made
            runs.append(made.run)
        self._made = kept
        return tuple(runs)

    def _units_of(self, path: Path, follower: Follower) -> list[Unit]:
        """The file's units; the same objects as long as nothing about the file changed."""
        copy = is_copy(path, self._followers)
        known = self._units.get(path)
        if known is None or known.runs is not follower.runs or known.copy != copy:
            known = _Kept(follower.runs, copy, units_of(path, follower.format, follower.runs, self.roots, copy))
            self._units[path] = known
        return known.units

    def _errors(self, cluster: Cluster) -> tuple[Note, ...]:
        """What cannot be read now in the homes of a run."""
        return tuple(
            Note("skipped", 0, each.error, 1, path.name)
            for path, each in self._followers.items()
            if each.error and any(nested(home_of(path, tuple(self.roots)), unit.home) for unit in cluster.units)
        )
