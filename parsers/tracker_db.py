"""The format of trackers that keep their runs in an SQLite file: trackio and MLflow. The tables say which one it is."""

from __future__ import annotations

from typing import Final

from parsers import mlflow, sqlite, trackio
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from timeledger.run import Run
from timeledger.said import say


def recognises(head: Head) -> Confidence:
    """An SQLite file; what it holds stands behind the first bytes."""
    if not head.data.startswith(sqlite.MAGIC):
        return NO
    return Confidence(Sure.LIKELY, "an SQLite database")


class DatabaseReader:
    """Collects the whole file; it is opened when runs are asked for."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._data = bytearray()
        self._runs: tuple[Run, ...] | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes; what is beyond the bound is dropped, and the bound is told."""
        if len(self._data) <= sqlite.LARGEST:
            self._data += data
        self._runs = None

    def runs(self) -> tuple[Run, ...]:
        """Every run of the database."""
        if self._runs is None:
            self._runs = self._read()
        return self._runs

    def _read(self) -> tuple[Run, ...]:
        try:
            with sqlite.opened(sqlite.with_wal(bytes(self._data), self.origin.path)) as connection:
                tables = sqlite.tables(connection)
                if trackio.is_trackio(tables):
                    return trackio.read_runs(connection, tables, self.origin) or self._nothing(say("no run in it yet"))
                if mlflow.is_mlflow(tables):
                    return mlflow.read_runs(connection, tables, self.origin) or self._nothing(say("no run in it yet"))
        except sqlite.Unusable as error:
            return self._nothing(say("the database cannot be read ({error})", error=error))
        return self._nothing(say("a database, but neither trackio's nor MLflow's: it has no table of their metrics"))

    def _nothing(self, why: str) -> tuple[Run, ...]:
        build = RunBuilder(self.origin, "tracker-db")
        build.note("warning", why)
        return (build.run(),)


TRACKER_DB: Final = Format(
    name="tracker-db",
    title="trackio or MLflow database",
    kind="document",
    recognises=recognises,
    open=DatabaseReader,
    reads="every metric row with its time, TRL's phase times, settings, several runs a file",
    lacks="exact times of fast steps in trackio (rows of half a second share one)",
    more='`report_to=["trackio"]` or `["mlflow"]` in TRL and transformers',
)
