"""torchtune's disk and stdout loggers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import parsers
from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, noted, phases, read


def test_values_of_every_step() -> None:
    run = read(made.torchtune(), "torchtune", "log_1772359200.txt")
    steps = range(1, 6)
    assert column(run, "step") == [*steps]
    assert run.info.framework == "torchtune"
    assert column(run, "reward") == pytest.approx([10 * made.reward(step) for step in steps])
    assert noted(run, "sum over")
    assert column(run, "acc") == pytest.approx([made.reward(step) for step in steps])
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert set(column(run, "mem_gib")) == {60.1}
    assert set(column(run, "kl")) == {0.002}
    assert set(column(run, "ratio")) == {1.0}
    assert column(run, "step_s") == [None] * 5
    assert run.info.started_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_times_of_the_asynchronous_recipe_carry_their_unit() -> None:
    text = "".join(
        f"Step {step} | train_worker_performance/total_step_time (s):{made.took(step)} train_worker_performance/time_grpo_steps (s):9.5 "
        "train_worker_performance/time_waiting_buffer (s):4.25 train_worker_performance/pct_time_waiting_buffer (%):40.0 "
        "datacollector_worker_performance/total_rollout_time (s):30.5 queues/rollout_queue_size:3 \n"
        for step in (1, 2, 3)
    )
    run = read(text, "torchtune")
    assert column(run, "step_s") == [made.took(step) for step in (1, 2, 3)]
    found = phases(run, 2)
    assert {row["phase"]: row["seconds"] for row in found.values()} == {"update": 9.5, "wait": 4.25, "rollout": 30.5}
    assert found["datacollector_worker_performance/total_rollout_time (s)"]["overlaps"]
    assert run.extra["train_worker_performance/pct_time_waiting_buffer (%)"][0] == 40.0


def test_a_hand_written_line_of_the_same_shape_is_not_torchtunes() -> None:
    assert (
        parsers.read(b"Step 1 | loss:0.5 reward:0.25 time:3.5s\nStep 2 | loss:0.4 reward:0.35 time:3.6s\n").info.format
        == "keyvalue"
    )
