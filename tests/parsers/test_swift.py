"""ms-swift's logging.jsonl: its own step, the running clock, nothing from running means."""

from __future__ import annotations

import json

import polars as pl
import pytest

import parsers
from timeledger.run import Run


def line(step: int, total: int = 40, elapsed: str | None = None, metrics: dict[str, float] | None = None) -> str:
    seconds = step * 5
    row = {
        "loss": 0.5,
        "grad_norm": 1.0,
        "learning_rate": 1e-6,
        **(metrics or {}),
        "epoch": step / 40,
        "global_step/max_steps": f"{step}/{total}",
        "percentage": f"{100 * step / total:.2f}%",
        "elapsed_time": elapsed or (f"{seconds // 60}m {seconds % 60}s" if seconds >= 60 else f"{seconds}s"),
        "remaining_time": "1h 2m 3s",
        "memory(GiB)": 56.7,
        "train_speed(iter/s)": 0.2,
    }
    return json.dumps(row) + "\n"


def read(text: str) -> Run:
    return parsers.read(text.encode(), name="logging.jsonl")


def test_steps_spans_and_clock() -> None:
    run = read("".join(line(step) for step in (1, 10, 20, 30, 40)))
    assert run.info.format == "swift"
    assert run.steps["step"].to_list() == [1, 10, 20, 30, 40]
    assert run.steps["span"].to_list() == [1, 9, 10, 10, 10]
    assert run.steps["elapsed_s"].to_list() == [5, 50, 100, 150, 200]
    assert run.steps["step_s"].null_count() == 5  # train_speed is a mean since the start
    assert run.steps["mem_gib"].to_list() == [56.7] * 5
    assert run.info.setting("total_steps") == 40
    assert run.info.ended == "finished"
    assert not {"remaining_time", "percentage", "train_speed(iter/s)"} & set(run.extra.columns)


def test_the_span_of_the_first_row_follows_from_the_second() -> None:
    assert read(line(10)).steps["span"].to_list() == [None]
    assert read(line(10) + line(20)).steps["span"].to_list() == [10, 10]
    assert read(line(25) + line(30)).steps["span"].to_list() == [5, 5]
    assert read(line(27) + line(30)).steps["span"].to_list() == [3, 3]
    assert read(line(28) + line(30 + 5)).steps["span"].to_list() == [7, 7]
    assert read(line(26) + line(30)).steps["span"].to_list() == [None, 4]


def test_grpo_rows_and_reused_generations() -> None:
    metrics = {"completions/mean_length": 400.5, "completions/max_length": 512.0, "completions/clipped_ratio": 0.5,
               "reward": 0.25, "reward_std": 0.1, "frac_reward_zero_std": 0.5, "entropy/mean": 0.8,
               "clip_ratio/region_mean": 0.01, "step_time": 17.5}  # fmt: skip
    run = read(line(1, metrics=metrics) + line(2, metrics={"step_time": 1.5, "entropy/mean": 0.7}))
    assert run.steps["step_s"].to_list() == [17.5, 1.5]
    assert run.steps["len_mean"].to_list() == [400.5, None]
    assert run.steps["reward"].to_list() == [0.25, None]
    assert run.steps["clipfrac"].to_list() == [0.01, None]
    assert run.steps["entropy"].to_list() == [0.8, 0.7]


def test_evaluations_are_events_and_the_end_closes_the_run() -> None:
    evaluation = json.dumps({"eval_loss": 0.3, "eval_runtime": 148.5, "epoch": 0.5, "global_step/max_steps": "20/43",
                             "elapsed_time": "4m 9s"}) + "\n"  # fmt: skip
    end = json.dumps({"train_runtime": 364.2, "train_samples_per_second": 1.0, "train_loss": 0.4, "epoch": 1.0,
                      "global_step/max_steps": "43/43", "elapsed_time": "6m 4s"}) + "\n"  # fmt: skip
    summary = json.dumps({"best_metric": 0.3, "log_history": [{"loss": 0.5, "step": 10}]}) + "\n"
    rows = "".join(line(step, 43) for step in (10, 20))
    late = "".join(line(step, 43, elapsed=f"{step * 5 + 149}s") for step in (30, 40))
    run = read(rows + evaluation + late + end + summary)
    assert run.steps["step"].to_list() == [10, 20, 30, 40, 43]
    assert run.steps["span"].to_list() == [10, 10, 10, 10, 3]
    assert run.steps["elapsed_s"][-1] == 364
    found = run.events.filter(run.events["kind"] == "evaluation")
    assert found.select("step", "seconds").rows() == [(20, 148.5)]
    assert run.info.train_runtime_s == 364.2
    assert run.info.ended == "finished"


def test_quoted_values_megatron_and_restarts() -> None:
    quoted = json.dumps(
        {"loss": "0.5", "reward": "2.631", "epoch": "0.1", "global_step/max_steps": "2/3", "elapsed_time": "6m 42s"}
    )
    assert read(quoted + "\n").steps["reward"].to_list() == [2.631]
    megatron = "".join(
        json.dumps({"loss": 0.5, "grad_norm": 1.0, "iteration": f"{step}/100", "elapsed_time": f"{step}s"}) + "\n"
        for step in (5, 10)
    )
    run = read(megatron)
    assert run.steps["step"].to_list() == [5, 10]
    assert run.info.setting("total_steps") == 100
    run = read(
        "".join(line(step) for step in (5, 10, 15)) + "".join(line(step, elapsed=f"{step}s") for step in (10, 15))
    )
    assert run.steps["segment"].to_list() == [0, 0, 0, 1, 1]


def test_the_first_versions_tell_the_time_by_their_mean_speed_alone() -> None:
    """Two processes write the same rows, a second apart; the last lines sum up."""
    rows: list[dict[str, object]] = [
        {"loss": 0.5, "train_speed(iter/s)": step / (2.0 * step + late), "epoch": 0.1, "global_step": step}
        for step in (1, 5, 10, 15, 20)
        for late in (8, 4)
    ]
    rows[4:4] = [{"eval_loss": 0.5, "eval_runtime": 7.0, "global_step": 5}] * 2
    end: dict[str, object] = {"train_runtime": 49.0, "train_loss": 0.1, "epoch": 8.0, "global_step": 20}
    rows += [end, {"train_time": {"train_runtime": 49.0}, "global_step": 20, "log_history": [*rows, end]}]
    run = read("".join(json.dumps(row) + "\n" for row in rows))
    assert run.info.format == "swift"
    assert run.steps["step"].to_list() == [1, 5, 10, 15, 20]
    assert run.steps["elapsed_s"].to_list() == pytest.approx([10, 18, 28, 38, 48])
    assert run.steps["step_s"].null_count() == 5
    assert (run.info.train_runtime_s, run.info.ended) == (49.0, "finished")
    assert run.events.filter(pl.col("kind") == "evaluation").select("step", "seconds").rows() == [(5, 7.0)]


def test_bad_lines_are_counted_not_fatal() -> None:
    run = read(line(1) + "{broken\n" + "[1, 2]\n" + '{"loss": 1.0}\n' + line(2) + '{"loss": 0.')
    assert run.steps["step"].to_list() == [1, 2]
    assert sum(note.count for note in run.notes if note.kind == "skipped") == 3
