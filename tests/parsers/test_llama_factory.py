"""LLaMA-Factory's trainer_log.jsonl: whole-second clock, last row once, evaluations apart."""

from __future__ import annotations

import json

import parsers
from timeledger.run import Run


def line(step: int, elapsed: str, total: int = 5100, **metrics: object) -> str:
    row = {"current_steps": step, "total_steps": total, **metrics, "epoch": step / total, "percentage": 100 * step / total,
           "elapsed_time": elapsed, "remaining_time": "3 days, 4:29:51"}  # fmt: skip
    return json.dumps(row) + "\n"


def read(text: str) -> Run:
    return parsers.read(text.encode(), name="trainer_log.jsonl")


def test_steps_clock_and_preference_accuracy() -> None:
    run = read(
        line(1, "0:01:03", loss=0.65, accuracy=1.0, lr=1e-9)
        + line(2, "0:01:48", loss=0.64, accuracy=0.5, lr=2e-9)
        + line(3, "3 days, 0:00:10", loss=0.6, accuracy=0.75, lr=3e-9)
    )
    assert run.info.format == "llama_factory"
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert run.steps["span"].to_list() == [1, 1, 1]
    assert run.steps["elapsed_s"].to_list() == [63, 108, 3 * 86400 + 10]
    assert run.steps["acc"].to_list() == [1.0, 0.5, 0.75]
    assert run.steps["lr"].to_list() == [1e-9, 2e-9, 3e-9]
    assert run.steps["step_s"].null_count() == 3
    assert run.info.setting("total_steps") == 5100
    assert run.progress["remaining_s"].null_count() == 3
    assert run.info.ended is None


def test_the_repeated_last_row_is_no_second_step() -> None:
    run = read(
        line(10, "0:00:30", 20, loss=1.0, lr=1e-6) + line(20, "0:01:00", 20, loss=0.9, lr=0.0) + line(20, "0:01:01", 20)
    )
    assert run.steps["step"].to_list() == [10, 20]
    assert run.steps["loss"].to_list() == [1.0, 0.9]
    assert run.info.ended == "finished"


def test_a_last_row_behind_the_last_logged_step_says_when_the_run_ended() -> None:
    run = read(line(10, "0:00:30", 23, loss=1.0) + line(20, "0:01:00", 23, loss=0.9) + line(23, "0:01:12", 23))
    assert run.steps.select("step", "span", "elapsed_s", "loss").rows() == [
        (10, 10, 30.0, 1.0),
        (20, 10, 60.0, 0.9),
        (23, 3, 72.0, None),
    ]


def test_evaluation_rows_are_events() -> None:
    run = read(
        line(10, "0:00:30", loss=1.0) + line(10, "0:00:55", eval_loss=1.6) + line(20, "0:01:25", loss=0.9, reward=0.3)
    )
    assert run.steps["step"].to_list() == [10, 20]
    assert run.steps["reward"].to_list() == [None, 0.3]
    assert run.events.select("kind", "step").rows() == [("evaluation", 10)]


def test_a_clock_that_starts_over_is_a_resume() -> None:
    first = "".join(line(step, f"0:00:{step * 3:02d}", loss=1.0) for step in (5, 10, 15))
    second = "".join(line(step, f"0:00:{(step - 10) * 3:02d}", loss=1.0) for step in (15, 20))
    run = read(first + second)
    assert run.steps["segment"].to_list() == [0, 0, 0, 1, 1]
    assert run.events["kind"].to_list() == ["resume"]


def test_nulls_and_bad_lines() -> None:
    run = read(line(1, "0:00:03", loss=None, lr=1e-6) + "nonsense\n" + '{"loss": 1}\n' + line(2, "soon", loss=0.4))
    assert run.steps["step"].to_list() == [1, 2]
    assert run.steps["loss"].to_list() == [None, 0.4]
    assert run.steps["elapsed_s"].to_list() == [3.0, None]
    assert sum(note.count for note in run.notes if note.kind == "skipped") == 2


def test_two_nodes_writing_one_file_are_one_session() -> None:
    rows = [
        (10, "0:02:12"),
        (10, "0:02:13"),
        (20, "0:04:43"),
        (30, "0:07:10"),
        (20, "0:07:12"),
        (40, "0:09:40"),
        (30, "0:09:39"),
    ]
    run = read("".join(line(step, elapsed, loss=step / 100) for step, elapsed in rows))
    assert run.steps.select("segment", "step", "elapsed_s").rows() == [
        (0, 10, 132),
        (0, 20, 283),
        (0, 30, 430),
        (0, 40, 580),
    ]
    assert [note.kind for note in run.notes] == ["repaired"]
