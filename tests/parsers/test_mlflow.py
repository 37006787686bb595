"""MLflow: the database and the file store, points into rows, status, params, runs that only evaluate."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parsers import detect, read, read_all
from parsers.mlflow import read_file_store

MS = 1_800_000_000_000
MARK = "profiling/Time taken: GRPOTrainer."
Points = list[tuple[str, float, int, int]]


def points(steps: int = 3, ends: bool = True) -> Points:
    """Key, value, ms, step, in the order in which they were logged; `ends`: with the end-of-run metrics."""
    found: Points = []
    for step in range(1, steps + 1):
        now = MS + 4000 * step
        calls = {"transformers.generate": 1.0, "_calculate_rewards": 0.25, "_prepare_inputs": 1.5, "compute_loss": 0.5}
        found += [(MARK + name, seconds, now + at, step - 1) for at, (name, seconds) in enumerate(calls.items())]
        metrics = {"loss": 0.1, "completions/mean_length": 50.0 + step, "step_time": 3.0, "epoch": step / 10}
        found += [(key, value, now + 9, step) for key, value in metrics.items()]
    now = MS + 4000 * steps
    found += [("eval_loss", 0.2, now + 500, steps), ("eval_runtime", 1.25, now + 500, steps)]
    if not ends:
        return found
    found += [("train_runtime", 14.0, now + 600, steps), ("train_loss", 0.1, now + 600, steps)]
    return found


def database(runs: dict[str, tuple[str, Points]], params: dict[str, str] | None = None) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN)"
    )
    connection.execute("CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)")
    connection.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT, end_time BIGINT)")
    for run, (status, mine) in runs.items():
        rows = [(key, value, ms, run, step, 0) for key, value, ms, step in mine]
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (run, f"name of {run}", status, MS, MS + 20_000))
        connection.executemany(
            "INSERT INTO params VALUES (?, ?, ?)", [(key, value, run) for key, value in (params or {}).items()]
        )
    connection.commit()
    return connection.serialize()


PARAMS = {
    "per_device_train_batch_size": "4",
    "max_steps": "30",
    "use_vllm": "False",
    "logging_steps": "1",
    "learning_rate": "1e-05",
}


def test_points_become_rows() -> None:
    run = read(database({"u1": ("FINISHED", points())}, PARAMS), name="mlflow.db")
    assert (run.info.format, run.info.framework, run.info.name) == ("mlflow", "TRL", "name of u1")
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert run.steps["len_mean"].to_list() == [51.0, 52.0, 53.0]
    assert run.steps["at"][0] == datetime.fromtimestamp(MS / 1000 + 4.009, UTC)
    assert run.info.ended == "finished"
    assert run.info.train_runtime_s == 14.0
    assert run.info.started_at == datetime.fromtimestamp(MS / 1000, UTC)
    assert run.info.setting("total_steps") == 30
    assert run.info.setting("use_vllm") is False
    assert run.info.setting("learning_rate") == 1e-05
    evaluation = run.events.filter(kind="evaluation")
    assert evaluation.select("step", "seconds").rows() == [(3, 1.25)]


def test_calls_sum_to_the_step() -> None:
    run = read(database({"u1": ("RUNNING", points(ends=False))}), name="mlflow.db")
    top = run.phases.filter(run.phases["parent"].is_null())
    for step in (1, 2, 3):
        assert top.filter(step=step)["seconds"].sum() == pytest.approx(3.0)
    assert run.info.ended is None


@pytest.mark.parametrize(("status", "ended"), [("FAILED", "crashed"), ("KILLED", "interrupted"), ("RUNNING", None)])
def test_status(status: str, ended: str | None) -> None:
    assert read(database({"u": (status, points(ends=False))}), name="mlflow.db").info.ended == ended


def test_a_run_that_only_evaluates_is_left_out() -> None:
    late: Points = [("eval_loss", 0.2, MS + 90_000, 3)]
    runs = read_all(database({"u1": ("FINISHED", points()), "u2": ("FINISHED", late)}), name="mlflow.db")
    assert [run.info.name for run in runs] == ["name of u1"]
    alone = read_all(database({"u2": ("FINISHED", late)}), name="mlflow.db")
    assert [(run.has_steps, run.events.height) for run in alone] == [(False, 2)]


def test_system_metrics_are_on_another_axis() -> None:
    mine = points()
    mine[5:5] = [
        ("system/gpu_0_utilization_percentage", 90.0, MS + 5000, 400),
        ("system/disk_usage_percentage", 1.0, MS + 5000, 400),
    ]
    run = read(database({"u": ("FINISHED", mine)}), name="mlflow.db")
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert run.steps["segment"].to_list() == [0, 0, 0]


def write_store(home: Path, mine: Points, name: str, status: str = "3") -> None:
    for key, value, ms, step in mine:
        path = home / "metrics" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            stream.write(f"{ms} {value} {step}\n")
    (home / "params").mkdir()
    for key, text in PARAMS.items():
        (home / "params" / key).write_text(text)
    (home / "meta.yaml").write_text(
        f"run_id: {home.name}\nrun_name: {name}\nstatus: {status}\nstart_time: {MS}\nend_time: {MS + 20_000}\n"
    )


def test_file_store_is_the_database(tmp_path: Path) -> None:
    write_store(tmp_path / "mlruns" / "0" / "u1", points(), "the run")
    write_store(tmp_path / "mlruns" / "0" / "u2", [("eval_loss", 0.2, MS + 90_000, 3)], "late evaluation")
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("experiment_id: 0\n")
    run, *others = read_file_store(tmp_path / "mlruns")
    assert not others
    assert run.info.name == "the run"
    other = read(database({"u1": ("FINISHED", points())}, PARAMS), name="mlflow.db")
    for frame in ("steps", "phases", "events"):
        left, right = getattr(run, frame), getattr(other, frame)
        keys = ["segment", "step", *(["name"] if frame == "phases" else [])]
        assert left.sort(keys).equals(right.sort(keys))
    assert run.info.settings["total_steps"].value == 30
    assert read_file_store(tmp_path / "mlruns" / "0" / "u1")[0].steps.equals(run.steps)


def test_run_folder_is_read_by_its_meta_file(tmp_path: Path) -> None:
    home = tmp_path / "mlruns" / "0" / "u1"
    write_store(home, points(), "the run")
    write_store(
        tmp_path / "mlruns" / "0" / "u2", [("eval_loss", 0.2, MS + 90_000, 3), ("epoch", 1, MS + 90_000, 3)], "late"
    )
    run = read(home / "meta.yaml")
    assert (run.info.name, run.info.format, run.steps.height) == ("the run", "mlflow", 3)
    assert detect(home.parent / "u2" / "meta.yaml")[0] is None
    assert detect((home / "meta.yaml").read_bytes(), name="meta.yaml")[0] is None


def test_file_store_with_bad_lines(tmp_path: Path) -> None:
    home = tmp_path / "0" / "u1"
    write_store(home, points(), "the run")
    with (home / "metrics" / "loss").open("a") as stream:
        stream.write("not a line\n1 2\n\xff\n")
    run = read_file_store(tmp_path)[0]
    assert run.steps.height == 3
    assert [note.count for note in run.notes if note.kind == "skipped"] == [3]
    assert read_file_store(tmp_path / "nowhere") == ()
