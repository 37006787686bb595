"""The format of trackers that keep their runs in an SQLite file: trackio and MLflow. The tables say which one it is."""

from __future__ import annotations

from typing import Final

from parsers import mlflow, sqlite, trackio
from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.documents import DocumentReader
from timeledger.run import Run
from timeledger.said import say


def recognises(head: Head) -> Confidence:
    """An SQLite file; what it holds stands behind the first bytes."""
    if not head.data.startswith(sqlite.MAGIC):
        return NO
    return Confidence(Sure.LIKELY, "an SQLite database")


class DatabaseReader(DocumentReader):
    """Reads every run of the database."""

    format_name = "tracker-db"
    largest = sqlite.LARGEST

    def read(self) -> tuple[Run, ...]:
        """Its runs, or why there is none."""
        try:
            with sqlite.opened(sqlite.with_wal(bytes(self.data), self.origin.path)) as connection:
                tables = sqlite.tables(connection)
                if trackio.is_trackio(tables):
                    return trackio.read_runs(connection, tables, self.origin) or self.nothing(say("no run in it yet"))
                if mlflow.is_mlflow(tables):
                    return mlflow.read_runs(connection, tables, self.origin) or self.nothing(say("no run in it yet"))
        except sqlite.Unusable as error:
            return self.nothing(say("the database cannot be read ({error})", error=error))
        return self.nothing(say("a database, but neither trackio's nor MLflow's: it has no table of their metrics"))


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
