"""trackio's database: one row of JSON a call, the configuration beside it. Rows written within half a second share one time."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Final

from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.settings import from_config
from parsers.text import stamp
from parsers.trackers import MetricRows, has_metrics
from timeledger.run import Run
from timeledger.said import say

_LONGEST: Final = 4 << 20


def is_trackio(tables: dict[str, set[str]]) -> bool:
    """True for a database of trackio."""
    return {"timestamp", "run_name", "step", "metrics"} <= tables.get("metrics", set())


def read_runs(connection: sqlite3.Connection, tables: dict[str, set[str]], origin: Origin) -> tuple[Run, ...]:
    """Every run of the database, in the order of their first rows."""
    key = "run_id" if "run_id" in tables["metrics"] else "run_name"
    builders: dict[Any, MetricRows] = {}
    held: dict[Any, _Batch] = {}
    rows = connection.execute(f"SELECT {key}, run_name, timestamp, step, metrics FROM metrics ORDER BY rowid")
    for run, name, at, step, blob in rows:
        if run not in builders:
            build = RunBuilder(origin, "trackio")
            build.name = str(name or run)
            builders[run] = MetricRows(build)
        row = _json(blob)
        if not isinstance(row, dict):
            builders[run].build.note("skipped", say("a row whose metrics are not JSON"))
            continue
        wall = _wall(at)
        if run in held and held[run].wall != wall:
            held.pop(run).give(builders[run])
        held.setdefault(run, _Batch(wall)).rows.append((row, step if isinstance(step, int) else None))
    for run, batch in held.items():
        batch.give(builders[run])
    _configs(connection, tables, key, builders)
    return tuple(each.run() for each in builders.values())


class _Batch:
    """Rows written at one time. Only the last training row has that time: the others are older by up to half a second."""

    def __init__(self, wall: float | None) -> None:
        self.wall = wall
        self.rows: list[tuple[dict[str, Any], int | None]] = []

    def give(self, rows: MetricRows) -> None:
        """Add the rows to their run."""
        timed = [at for at, (row, _) in enumerate(self.rows) if has_metrics(row)]
        if len(timed) > 1:
            rows.build.note(
                "info", say("trackio gives rows of one half second one time: only the last of them keeps it")
            )
        for at, (row, step) in enumerate(self.rows):
            rows.add(row, self.wall if timed and at == timed[-1] else None, step)


def _configs(
    connection: sqlite3.Connection, tables: dict[str, set[str]], key: str, builders: dict[Any, MetricRows]
) -> None:
    if not {key, "config"} <= tables.get("configs", set()):
        return
    for run, blob in connection.execute(f"SELECT {key}, config FROM configs"):
        if run in builders:
            from_config(builders[run].build, _json(blob), "trackio: config")


def _json(blob: Any) -> Any:
    if not isinstance(blob, str | bytes) or len(blob) > _LONGEST:
        return None
    try:
        return json.loads(blob)
    except (ValueError, RecursionError):
        return None


def _wall(at: Any) -> float | None:
    moment = stamp(at) if isinstance(at, str) else None
    return None if moment is None else moment.timestamp()
