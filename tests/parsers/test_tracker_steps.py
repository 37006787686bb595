"""Which key of a tracker's row is the step: the training's own, not the tracker's count of rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parsers import read
from parsers.base import Origin
from parsers.wandb_offline import WandbReader
from tests.parsers import wire
from timeledger.clock import clock
from timeledger.run import Run

WALL = 1_800_000_000.0


def place(n: int) -> dict[str, float]:
    return {"_timestamp": WALL + 20.0 * n, "_runtime": 20.0 * n, "_step": n}


def run_file(rows: list[dict[str, Any]]) -> Run:
    reader = WandbReader(Origin("run-abc123.wandb"))
    reader.feed(wire.wandb_file([wire.run_record("mine", int(WALL)), *(wire.history(row) for row in rows)]))
    return reader.runs()[0]


def history(rows: list[dict[str, Any]]) -> Run:
    return read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="wandb-history.jsonl")


def export(rows: list[dict[str, Any]]) -> Run:
    names = list(rows[0])
    table = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    return read(("\n".join(table) + "\n").encode(), name="history.csv")


@pytest.mark.parametrize("source", [run_file, history, export])
@pytest.mark.parametrize(
    "key", ["iter", "iteration", "step", "global_step", "update", "train/iter", "trainer/global_step"]
)
def test_a_row_names_its_own_step(source: Any, key: str) -> None:
    run = source([{key: 250 * n, "train/loss": 2.0 - 0.1 * n, "lr": 1e-4, **place(n)} for n in range(8)])
    assert run.steps["step"].to_list() == [250 * n for n in range(8)]
    assert (run.steps["at"][-1] - run.steps["at"][0]).total_seconds() == 140.0


def test_a_counter_of_parts_is_not_the_step() -> None:
    run = run_file([{"batch_idx": 7 + 8 * (n % 4), "loss": 0.5, **place(n)} for n in range(8)])
    assert run.steps["step"].to_list() == list(range(8))


def test_rows_without_the_step_belong_to_the_last_one() -> None:
    rows: list[dict[str, Any]] = []
    for n in range(5):
        rows.append({"iter": 100 * n, "loss": 0.5, **place(2 * n)})
        rows.append({"val/loss": 0.75, **place(2 * n + 1)})
    run = run_file(rows)
    assert run.steps["step"].to_list() == [0, 100, 200, 300, 400]
    assert run.steps["segment"].n_unique() == 1


def test_where_only_evaluations_name_a_step_the_counter_is_shared() -> None:
    rows = [{"loss": 0.5, **place(n)} for n in range(12)]
    rows[6] = {"iter": 2, "val/loss": 0.75, **place(6)}
    run = run_file(rows)
    assert run.steps["step"].to_list() == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]


def test_steps_of_each_epoch() -> None:
    rows = [
        {"epoch": epoch, "iter": step, "loss": 0.5, **place(5 * epoch + step)} for epoch in (0, 1) for step in range(5)
    ]
    assert run_file(rows).steps["step"].to_list() == list(range(10))


def test_the_last_step_stands_in_the_end_of_run_row() -> None:
    rows: list[dict[str, Any]] = [{"train/global_step": 10 * n, "train/loss": 0.5, **place(n)} for n in range(1, 7)]
    rows.append({"train/global_step": 63, "train/train_runtime": 131.5, "train/train_samples_per_second": 8.0,
                 "train/train_loss": 0.5, "train/total_flos": 1e15, **place(8)})  # fmt: skip
    run = run_file(rows)
    assert (run.info.setting("total_steps"), run.info.train_runtime_s, run.info.ended) == (63, 131.5, "finished")
    assert run.steps["step"].to_list() == [10, 20, 30, 40, 50, 60]


@pytest.mark.parametrize("source", [run_file, history, export])
def test_rows_with_a_step_and_unknown_names_tell_the_time_too(source: Any) -> None:
    """Most rows hold only the loss of their own batch; every fifth also what an evaluation found."""
    rows: list[dict[str, Any]] = []
    for n in range(31):
        row = {**place(n), "iter": 10 * n, "train/step_loss": 3.0 - 0.05 * n}
        row["_timestamp"] += 100.0 * (n // 5)
        rows.append(row | ({"train/loss": 3.0 - 0.05 * n, "val/loss": 3.1} if n % 5 == 0 else {}))
    run = source(
        [{**dict.fromkeys(["train/loss", "val/loss"], ""), **row} if source is export else row for row in rows]
    )
    assert run.steps["step"].to_list() == [10 * n for n in range(31)]
    assert run.steps["at"].null_count() == 0
    assert run.steps["loss"].count() == 7
    assert clock(run).elapsed_s == pytest.approx(30 * 20.0 + 6 * 100.0, abs=30)


def test_rows_that_name_a_step_and_tell_nothing_of_the_training_are_no_steps() -> None:
    rows = [{"global_step": 10 * n, "loss": 1.0, **place(2 * n)} for n in range(6)]
    rows += [{"global_step": 10 * n + 5, "samples/shown": 4.0, **place(2 * n + 1)} for n in range(6)]
    run = run_file(sorted(rows, key=lambda row: row["_step"]))
    assert run.steps["step"].to_list() == [10 * n for n in range(6)]
