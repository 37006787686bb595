"""A loop whose totals overlap, simulated: each step's own time comes out of them; a loop one after the other stays as it is."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from parsers import read
from timeledger.breakdown import breakdown
from timeledger.clock import clock


def pipelined(steps: int, seed: int = 3) -> tuple[list[dict[str, Any]], list[float]]:
    """Rows of a loop that hands in batch n + 1 before it waits for batch n, and when each step ended."""
    draw = random.Random(seed)
    now, rows, ends = 0.0, [], []
    waiting: tuple[int, float, dict[str, Any]] | None = None
    for step in [*range(steps), None]:
        began, metrics = now, {"time/get_batch": draw.uniform(1.0, 1.5) if step else 40.0}
        if step is not None:
            now += metrics["time/get_batch"] + 0.05
        if waiting is not None:
            before, start, row = waiting
            row["time/step"] = draw.uniform(1.0, 4.0)
            now += row["time/step"] + 0.02
            rows.append({"step": before, "epoch": 0, "train_mean_nll": 1.5, **row, "time/total": now - start})
            ends.append(now)
        waiting = None if step is None else (step, began, metrics)
    return rows, ends


def file_of(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_each_step_has_its_own_time() -> None:
    rows, ends = pipelined(40)
    assert sum(row["time/total"] for row in rows) > 1.7 * ends[-1] - 40
    run = read(file_of(rows), name="metrics.jsonl")
    assert run.steps["elapsed_s"].to_list() == pytest.approx(
        ends, abs=0.06
    )  # what is not timed of the first submission
    assert clock(run).elapsed_s == pytest.approx(ends[-1], rel=0.01)
    assert run.steps["step_s"].sum() == pytest.approx(ends[-1], abs=0.06)
    assert {"time/get_batch", "time/step"} == set(run.phases["name"].unique())


def test_a_missing_row_leaves_halves() -> None:
    rows, ends = pipelined(40)
    del rows[20]
    run = read(file_of(rows), name="metrics.jsonl")
    assert run.steps["elapsed_s"].null_count() == run.steps.height
    assert run.steps["step_s"].sum() == pytest.approx(ends[-1], rel=0.2)


def test_a_growing_file_tells_the_same() -> None:
    rows, ends = pipelined(40)
    run = read(file_of(rows[:25]), name="metrics.jsonl")
    assert run.steps["elapsed_s"].to_list() == pytest.approx(ends[:25], abs=0.06)


def test_steps_one_after_the_other_stay() -> None:
    draw = random.Random(1)
    rows = []
    for step in range(20):
        parts = {"time/get_batch": draw.uniform(1.0, 1.5), "time/step": draw.uniform(1.0, 4.0)}
        rows.append({"step": step, "train_mean_nll": 1.5, **parts, "time/total": sum(parts.values()) + 0.1})
    run = read(file_of(rows), name="metrics.jsonl")
    assert run.steps["step_s"].to_list() == [row["time/total"] for row in rows]
    assert run.steps["elapsed_s"].null_count() == 20


@pytest.mark.parametrize("first", ["time/step", "time/total"])
def test_the_total_is_the_steps_and_what_is_called_step_lies_inside(first: str) -> None:
    pairs = {"time/step": 2.0, "time/total": 9.0}
    order = [first, *(key for key in pairs if key != first)]
    rows = [{"step": n, "reward": 0.5, **{key: pairs[key] + n % 2 for key in order}} for n in range(1, 8)]
    run = read(file_of(rows), name="metrics.jsonl")
    assert run.steps["step_s"].to_list() == [9.0 + n % 2 for n in range(1, 8)]
    assert run.phases["name"].unique().to_list() == ["time/step"]


def test_a_total_that_only_rises_is_the_clock() -> None:
    rows = [{"step": n, "reward": 0.5, "time/step": 2.0, "time/total": 2.25 * n} for n in range(1, 8)]
    run = read(file_of(rows), name="metrics.jsonl")
    assert run.steps["elapsed_s"].to_list() == [2.25 * n for n in range(1, 8)]


def both_ends(steps: int) -> list[dict[str, Any]]:
    """Rows of a loop without totals: a batch is handed in, with an evaluation now and then, and waited for."""
    draw = random.Random(5)
    rows: list[dict[str, Any]] = []
    for step in range(steps):
        row = {
            "step": step,
            "train_mean_nll": 1.5,
            "time/get_batch": draw.uniform(0.1, 0.2),
            "time/step": draw.uniform(1.0, 3.0),
        }
        evaluated = draw.uniform(5.0, 6.0) if step % 10 == 9 else 0.0
        if evaluated:
            row |= {"time/run_evaluator": evaluated, "time/evals": evaluated + 0.001}
        row |= {
            "time/submit_batch": row["time/get_batch"] + evaluated + 0.01,
            "time/finish_batch": row["time/step"] + 0.002,
        }
        rows.append(row)
    return rows


def test_both_ends_of_a_batch_make_up_its_step() -> None:
    rows = both_ends(60)
    run = read(file_of(rows), name="metrics.jsonl")
    took = [row["time/submit_batch"] + row["time/finish_batch"] for row in rows]
    assert run.steps["step_s"].to_list() == pytest.approx(took)
    found = clock(run)
    assert found.elapsed_s == pytest.approx(sum(took))
    told = {phase.phase: phase.seconds for phase in breakdown(run, found).phases}
    assert told["evaluation"] == pytest.approx(sum(row.get("time/evals", 0.0) for row in rows) / 60, rel=0.01)
    assert told["update"] == pytest.approx(sum(row["time/step"] for row in rows) / 60, rel=0.01)


def test_a_wait_that_does_not_hold_the_step_is_no_end_of_it() -> None:
    rows = [row | {"time/finish_batch": 0.5} for row in both_ends(30)]
    assert read(file_of(rows), name="metrics.jsonl").steps["step_s"].to_list() == [row["time/step"] for row in rows]
