"""torchforge's blocks of metrics: the training loop once a step, rollouts beside it."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, phases, read


def test_values_of_every_step() -> None:
    run = read(made.torchforge(), "torchforge")
    steps = range(1, 6)
    assert column(run, "step") == [*steps]
    assert column(run, "step_s") == [made.took(step) for step in steps]
    assert column(run, "len_mean") == [made.length(step) for step in steps]
    assert column(run, "reward") == [made.reward(step) for step in steps]
    assert column(run, "loss") == pytest.approx([0.01 * step for step in steps])
    first, second = column(run, "at")[:2]
    assert (second - first).total_seconds() == 30


def test_rollouts_run_beside_the_training_loop() -> None:
    found = {row["name"].split("/")[-2]: row for row in phases(read(made.torchforge(), "torchforge"), 2).values()}
    assert {name: (row["phase"], row["overlaps"]) for name, row in found.items()} == {
        "generate": ("rollout", True), "policy_generation": ("rollout", True), "train_step": ("update", False),
        "push_weights": ("weight_sync", False), "waiting_for_buffer": ("wait", False),
    }  # fmt: skip


def test_the_time_of_a_look_into_the_buffer_is_no_generation() -> None:
    run = read(made.torchforge(), "torchforge")
    assert run.extra["buffer_perf/sample/duration_avg_s"][0] == 5.8e-05


def test_a_line_of_another_process_does_not_end_the_block() -> None:
    text = made.torchforge().replace("  reward/", "[Generator-0/2] INFO hello there\n  reward/")
    assert column(read(text, "torchforge"), "reward") == [made.reward(step) for step in range(1, 6)]
