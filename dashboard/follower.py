"""What is kept of paths and runs that grow, for all sessions: one reader a path, and the newest of what was made of each run."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar

from parsers import Live, read_all
from timeledger.errors import TimeledgerError
from timeledger.run import Run

Made = TypeVar("Made")
#: A path is looked at no more often than this, however many sessions ask.
POLL_S: Final = 1.0
#: A run that grows is analysed anew no sooner than after so many times what its analysis costs.
PATIENCE: Final = 5.0
#: Versions are unlike over all paths: a new file in an old file's place is never taken for it.
_VERSIONS: Final = itertools.count(1)


class Follower:
    """One path, followed for all sessions: its runs, how often they changed, and when it last grew."""

    def __init__(self, path: str, mapping: tuple[tuple[str, str], ...] = ()) -> None:
        self._path = path
        self._mapping = mapping
        self._live: Live | None = None
        self._place: tuple[int, int] | None = None
        self._lock = Lock()
        self._looked = 0.0
        self._runs: tuple[Run, ...] = ()
        self.version = 0
        self.grew_at: float | None = None

    def look(self, told: Callable[[float], None] | None = None) -> tuple[int, tuple[Run, ...]]:
        """The version and the runs now; costs what is new. `told` is called with the share of the files that has been read.

        Raises:
            TimeledgerError: there is nothing to read (yet).
        """
        with self._lock:
            if not self._runs or time.monotonic() - self._looked >= POLL_S:
                self._poll(told)
                self._looked = time.monotonic()
            return self.version, self._runs

    def _poll(self, told: Callable[[float], None] | None) -> None:
        place = _place(self._path)
        if self._live is None or (place is not None and place != self._place):
            self._live, self._place = Live([self._path], mapping=self._mapping), place
        runs = self._live.poll(_share_of(self._live, told))
        if not runs and not self._runs:
            raise self._nothing(self._live)
        if runs and (self._live.changed or not self._runs):
            written = [run.info.last_write.timestamp() for run in runs if run.info.last_write is not None]
            self.grew_at = time.time() if self._runs else max(written, default=None)
            self._runs = runs
            self.version = next(_VERSIONS)

    def _nothing(self, live: Live) -> TimeledgerError:
        """Why a path gives no run: what a file begins with, or what was looked for in a folder."""
        if Path(self._path).is_file():
            try:
                read_all(self._path, mapping=self._mapping)
            except TimeledgerError as error:
                return error
        return live.nothing()


def _share_of(live: Live, told: Callable[[float], None] | None) -> Callable[[int], None] | None:
    """Bytes read told as the share of all files."""
    sizes: list[int] = []

    def tell(done: int) -> None:
        if not sizes:
            sizes.extend(each.stat().st_size for each in live.paths if each.exists())
        if told is not None:
            told(done / max(sum(sizes), 1))

    return None if told is None else tell


def _place(path: str) -> tuple[int, int] | None:
    """Device and inode: another file under an old name is read anew; None where nothing stands now (what was read stays)."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Newest(Generic[Made]):
    """What was made of the newest version of something; older versions are let go."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: tuple[Hashable, Made] | None = None
        self._made_at = 0.0
        #: Seconds that making it took the last time.
        self.cost_s = 0.0

    def of(self, version: Hashable, make: Callable[[], Made], *, patient: bool = False) -> Made:
        """What was made of this version, made now when it is not the one that is kept.

        `patient`: what is kept will do while it is younger than a few times its cost, so that a long run that grows
        all the time cannot take the whole machine.
        """
        with self._lock:
            fresh = patient and time.monotonic() - self._made_at < PATIENCE * self.cost_s
            if self._kept is None or (self._kept[0] != version and not fresh):
                begun = time.monotonic()
                self._kept = version, make()
                self._made_at = time.monotonic()
                self.cost_s = self._made_at - begun
            return self._kept[1]
