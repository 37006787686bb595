"""trackio databases: rows of JSON, shared times, words for NaN, several runs, databases that mean harm."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parsers import detect, read, read_all

METRICS = (
    "CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics)"
)
CONFIGS = "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT, created_at TEXT)"
Row = tuple[str, str, int, dict[str, Any]]


def at(second: float) -> str:
    return datetime.fromtimestamp(1_800_000_000 + second, UTC).isoformat()


def row(step: int, second: float, run: str = "a", **more: Any) -> Row:
    values = {"train/loss": 0.5, "train/completions/mean_length": 90.0 + step, "train/global_step": step}
    return run, at(second), step, values | {key.replace("__", "/"): value for key, value in more.items()}


def fill(connection: sqlite3.Connection, rows: list[Row], config: dict[str, Any] | None = None) -> None:
    connection.execute(METRICS)
    connection.execute(CONFIGS)
    for run, stamp, step, values in rows:
        connection.execute(
            "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
            (f"id-{run}", stamp, f"run {run}", step, json.dumps(values).encode()),
        )
    if config is not None:
        connection.execute(
            "INSERT INTO configs (run_id, run_name, config) VALUES (?, ?, ?)", ("id-a", "a", json.dumps(config))
        )
    connection.commit()


def database(rows: list[Row], config: dict[str, Any] | None = None) -> bytes:
    connection = sqlite3.connect(":memory:")
    fill(connection, rows, config)
    return connection.serialize()


def test_rows_settings_and_names() -> None:
    config = {"per_device_train_batch_size": 4, "max_steps": 12, "num_generations": 4, "max_completion_length": 99}
    run = read(database([row(step, 10 * step) for step in (1, 2, 3)], config), name="project.db")
    assert (run.info.format, run.info.framework, run.info.name) == ("trackio", "TRL", "run a")
    assert run.steps["len_mean"].to_list() == [91.0, 92.0, 93.0]
    assert run.steps["at"][1] == datetime.fromtimestamp(1_800_000_020, UTC)
    assert (run.info.setting("total_steps"), run.info.setting("max_tokens")) == (12, 99)


def test_only_the_last_row_of_a_shared_time_has_it() -> None:
    rows = [
        row(1, 10),
        row(2, 10),
        row(3, 10),
        row(4, 12),
        ("a", at(12), 5, {"train/epoch": 1, "train/global_step": 4}),
    ]
    run = read(database(rows), name="project.db")
    assert [stamp is not None for stamp in run.steps["at"]] == [False, False, True, True]
    assert any("half a second" in note.text or "half second" in note.text for note in run.notes)


def test_words_for_numbers_and_null() -> None:
    more: dict[str, Any] = {"train__reward": "Infinity", "train__kl": "NaN", "train__entropy": None}
    run = read(database([row(1, 1, **more), row(2, 2)]), name="project.db")
    assert run.steps["reward"].to_list() == [float("inf"), None]
    assert run.steps["kl"].null_count() == 2
    assert run.steps["entropy"].null_count() == 2


def test_calls_of_the_profiler() -> None:
    mark = "profiling/Time taken: GRPOTrainer."
    rows: list[Row] = []
    for step in (1, 2):
        for name, seconds in {"vLLM.generate": 2.0, "_prepare_inputs": 2.5, "compute_loss": 0.5}.items():
            rows.append(("a", at(10 * step), step - 1, {mark + name: seconds}))
        rows.append(row(step, 10 * step, train__step_time=4.0))
    run = read(database(rows), name="project.db")
    top = run.phases.filter(run.phases["parent"].is_null(), step=2)
    assert top["seconds"].sum() == pytest.approx(4.0)
    assert top.filter(phase="rollout")["seconds"].to_list() == [2.0]


def test_several_runs_and_a_table_of_an_older_version() -> None:
    runs = read_all(database([row(1, 1, "a"), row(1, 2, "b"), row(2, 3, "a")]), name="project.db")
    assert [(run.info.name, run.steps.height) for run in runs] == [("run a", 2), ("run b", 1)]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE metrics (id INTEGER, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
    connection.execute("INSERT INTO metrics VALUES (1, ?, 'old', 4, ?)", (at(1), json.dumps({"loss": 0.25})))
    run = read(connection.serialize(), name="project.db")
    assert run.steps.select("step", "loss").rows() == [(4, 0.25)]


def test_write_ahead_log_beside_a_live_database(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    fill(connection, [row(1, 1), row(2, 2)])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute(
        "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('id-a', ?, 'run a', 3, ?)",
        (at(3), json.dumps(row(3, 3)[3])),
    )
    connection.commit()
    assert path.with_name("live.db-wal").stat().st_size > 0
    before = sorted(tmp_path.iterdir())
    assert read(path).steps["step"].to_list() == [1, 2, 3]
    assert sorted(tmp_path.iterdir()) == before
    assert read(path.read_bytes(), name="live.db").steps["step"].to_list() == [1, 2]
    connection.close()


def test_detected_by_its_first_bytes() -> None:
    found, confidence = detect(database([row(1, 1)])[:500], name="any")
    assert found is not None
    assert (found.name, confidence.sure.name) == ("tracker-db", "LIKELY")


def test_other_databases_say_so() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE recipes (name TEXT)")
    run = read(connection.serialize(), name="x.db")
    assert not run.has_steps
    assert "neither trackio's nor MLflow's" in run.notes[0].text


def test_damage_gives_a_note() -> None:
    good = database([row(step, step) for step in range(1, 200)])
    for bad in (good[:5000], good[:100], good[:4096] + b"\xff" * 9000 + good[13096:], good[:16] + b"\0" * 4000):
        run = read(bad, name="x.db")
        assert run.notes
    for place in range(100, len(good), 997):
        read(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :], name="x.db")


def test_views_and_virtual_tables_are_not_followed() -> None:
    connection = sqlite3.connect(":memory:")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    connection.execute(
        f"CREATE VIEW metrics AS SELECT i id, 'r' run_name, '' timestamp, i step, '' metrics FROM ({endless})"
    )
    run = read(connection.serialize(), name="x.db")
    assert not run.has_steps


def test_rows_that_are_no_json_are_counted() -> None:
    connection = sqlite3.connect(":memory:")
    fill(connection, [row(1, 1), row(2, 2)])
    for bad in (b"{", b"[1]", None, 5, b"[" * 100_000):
        connection.execute(
            "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('id-a', '', 'run a', 1, ?)",
            (bad,),
        )
    connection.commit()
    run = read(connection.serialize(), name="x.db")
    assert run.steps.height == 2
    assert [note.count for note in run.notes if note.kind == "skipped"] == [5]
