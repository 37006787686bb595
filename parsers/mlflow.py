"""MLflow: the database (`mlflow.db`) and the file store (`mlruns/<experiment>/<run>/`), one point a metric, step and time."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.moments import epoch
from parsers.settings import from_config
from parsers.trackers import MetricRows
from parsers.trl_profiling import PREFIX
from parsers.values import real, whole
from timeledger.run import Run
from timeledger.said import say

_ENDED: Final = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "interrupted",
                 "3": "finished", "4": "crashed", "5": "interrupted"}  # fmt: skip
_LARGEST: Final = 256 << 20
#: Calls of TRL's profiler that end after the calls inside them: the order of points with one time.
_CLOSING: Final = {"_calculate_rewards": 1, "_prepare_inputs": 2, "compute_loss": 2}


class Point(NamedTuple):
    """One value of one metric; `ms` is Unix milliseconds."""

    ms: int
    step: int
    key: str
    value: float


def is_mlflow(tables: dict[str, set[str]]) -> bool:
    """True for a database of MLflow."""
    return {"key", "value", "timestamp", "run_uuid", "step"} <= tables.get("metrics", set())


def read_runs(connection: sqlite3.Connection, tables: dict[str, set[str]], origin: Origin) -> tuple[Run, ...]:
    """Every run of the database, oldest first; runs that hold an evaluation only are left out when others train."""
    nan = "is_nan" if "is_nan" in tables["metrics"] else "0"
    points: dict[str, list[Point]] = {}
    for run, key, value, ms, step, is_nan in connection.execute(
        f"SELECT run_uuid, key, value, timestamp, step, {nan} FROM metrics ORDER BY timestamp, rowid"
    ):
        if isinstance(ms, int) and isinstance(step, int) and isinstance(value, int | float):
            points.setdefault(str(run), []).append(Point(ms, step, str(key), math.nan if is_nan else float(value)))
    params = _params(connection, tables)
    about = _about(connection, tables)
    runs = []
    for run, mine in points.items():
        build = RunBuilder(origin, "mlflow")
        name, status, start, end = about.get(run, ("", "", None, None))
        build.name = name or run
        _finish(build, status, start)
        runs.append(_run(build, mine, params.get(run, {}), _time(end)))
    return _training(runs)


def read_file_store(folder: Path) -> tuple[Run, ...]:
    """Every run below a folder `mlruns` (or of one experiment, or one run folder of it), oldest first."""
    found = []
    for metrics in _metric_folders(folder):
        home = metrics.parent
        build = RunBuilder(Origin(home.name, tuple(home.absolute().parent.parts[1:]), home), "mlflow")
        meta = _meta(home / "meta.yaml")
        build.name = meta.get("run_name") or _text(home / "tags" / "mlflow.runName") or home.name
        start, end = (int(meta[key]) if meta.get(key, "").isdigit() else None for key in ("start_time", "end_time"))
        _finish(build, meta.get("status", ""), start)
        points = sorted(_points(build, metrics), key=lambda point: (point.ms, _closing(point.key)))
        params = {path.name: _text(path) for path in _files(home / "params")}
        if points:
            found.append((start or points[0].ms, _run(build, points, params, _time(end))))
    return _training([run for _, run in sorted(found, key=lambda pair: pair[0])])


def _run(build: RunBuilder, points: Iterable[Point], params: dict[str, Any], end: datetime | None) -> Run:
    """Points become rows: those of one call share step and time; the profiler's come one by one."""
    from_config(build, params, "MLflow: params")
    rows = MetricRows(build)
    for (ms, step, _), group in groupby(points, lambda point: (point.ms, point.step, point.key.startswith(PREFIX))):
        batch = list(group)
        if batch[0].key.startswith(PREFIX):
            for point in batch:
                rows.add({point.key: point.value}, ms / 1000, step)
        else:
            rows.add({point.key: point.value for point in batch}, ms / 1000, step)
    if build.ended is not None:
        rows.tags.flush()
        build.event("finish" if build.ended == "finished" else "crash", at=end, text="MLflow: run status")
    return rows.run()


def _training(runs: list[Run]) -> tuple[Run, ...]:
    """The runs that train, when any does: `trainer.evaluate()` after training opens a run of its own."""
    return tuple(run for run in runs if run.has_steps) or tuple(runs)


def _finish(build: RunBuilder, status: str, start: int | None) -> None:
    build.ended = _ENDED.get(status)  # type: ignore[assignment]
    build.started_at = _time(start)


def _time(ms: Any) -> datetime | None:
    return epoch(real(ms))


# --- the database ------------------------------------------------------------------------------------------------


def _params(connection: sqlite3.Connection, tables: dict[str, set[str]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    if {"key", "value", "run_uuid"} <= tables.get("params", set()):
        for run, key, value in connection.execute("SELECT run_uuid, key, value FROM params"):
            found.setdefault(str(run), {})[str(key)] = value
    return found


def _about(
    connection: sqlite3.Connection, tables: dict[str, set[str]]
) -> dict[str, tuple[str, str, int | None, int | None]]:
    if not {"run_uuid", "name", "status", "start_time", "end_time"} <= tables.get("runs", set()):
        return {}
    rows = connection.execute("SELECT run_uuid, name, status, start_time, end_time FROM runs")
    return {str(run): (str(name or ""), str(status or ""), start, end) for run, name, status, start, end in rows}


# --- the file store ----------------------------------------------------------------------------------------------


def _metric_folders(folder: Path) -> Iterator[Path]:
    """`metrics` folders of runs at, one or two levels below the folder (run, experiment, mlruns); `.trash` is not read."""
    for pattern in ("metrics", "*/metrics", "*/*/metrics"):
        for path in sorted(folder.glob(pattern)):
            if path.is_dir() and (path.parent / "meta.yaml").is_file() and ".trash" not in path.parts:
                yield path


def _points(build: RunBuilder, metrics: Path) -> Iterator[Point]:
    for path in sorted(metrics.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        key = path.relative_to(metrics).as_posix()
        for line in _text(path).splitlines():
            parts = line.split()
            try:
                ms, step = int(parts[0]), whole(int(parts[2]))
                if step is None or ms.bit_length() > 63:
                    raise ValueError
                yield Point(ms, step, key, float(parts[1]))
            except (IndexError, ValueError):
                build.note("skipped", say("a line of a metric file that is not `time value step`"))


def _closing(key: str) -> int:
    return _CLOSING.get(key.rpartition(".")[2], 0) if key.startswith(PREFIX) else 3


def _meta(path: Path) -> dict[str, str]:
    """The `key: value` lines of a meta.yaml; MLflow writes nothing else there."""
    pairs = (line.partition(":") for line in _text(path).splitlines())
    return {key.strip(): value.strip().strip("'\"") for key, colon, value in pairs if colon and not key[:1].isspace()}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace") if path.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""


def recognises(head: Head) -> Confidence:
    """The `meta.yaml` of a run folder, which stands for the folder."""
    path = head.origin.path
    if head.name != "meta.yaml" or path is None or not (b"run_id:" in head.data or b"run_uuid:" in head.data):
        return NO
    return Confidence(Sure.CERTAIN, "meta.yaml of an MLflow run") if _trains(path.parent / "metrics") else NO


def _trains(metrics: Path) -> bool:
    """True for metrics of more than an evaluation (`trainer.evaluate()` after training opens a run of its own)."""
    try:
        return any(not path.name.startswith("eval_") and path.name != "epoch" for path in metrics.iterdir())
    except OSError:
        return False


class StoreReader:
    """Reads the run folder around a `meta.yaml`; the file itself holds no metrics."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    def feed(self, data: bytes) -> None:
        """The metrics stand in other files of the folder."""

    def runs(self) -> tuple[Run, ...]:
        """The folder's run."""
        found = read_file_store(self.origin.path.parent) if self.origin.path is not None else ()
        if not found:
            build = RunBuilder(self.origin, "mlflow")
            build.note("warning", say("no metrics beside this meta.yaml"))
            return (build.run(),)
        return found


MLFLOW_STORE: Final = Format(
    name="mlflow",
    title="MLflow run folder (mlruns/)",
    kind="document",
    recognises=recognises,
    open=StoreReader,
    reads="every metric with its time, TRL's phase times, settings, status",
    lacks="metrics that were never logged to MLflow",
    more='`report_to=["mlflow"]` in TRL and transformers',
)
