"""ROLL's driver log: objects of metrics behind the prefix, the time of the step before, NaN, printed answers, other pipelines."""

from __future__ import annotations

import json

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, phases, read, setting


def test_values_of_every_step() -> None:
    run = read(made.roll(), "roll")
    steps = range(5)
    assert column(run, "step") == [*steps]
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in steps])
    assert set(column(run, "sequences")) == {64.0}  # system/samples counts from the start
    assert set(column(run, "clipfrac")) == {0.001}
    assert set(column(run, "loss")) == {0.0012}
    assert column(run, "kl") == [None] * 5  # NaN
    first, second = column(run, "at")[:2]
    assert (second - first).total_seconds() == 30


def test_a_steps_time_stands_with_the_next_one() -> None:
    run = read(made.roll(), "roll")
    assert column(run, "step_s") == [*(pytest.approx(made.took(step)) for step in range(4)), None]
    # every second step logged: the time between belongs to a step without a row
    text = "".join(made.roll_line(step, made.roll_metrics(step)) for step in (0, 2, 4))
    assert column(read(text, "roll"), "step_s") == [None] * 3


def test_phases_and_loading_of_weights_inside_them() -> None:
    found = phases(read(made.roll(), "roll"), 2)
    assert {name: row["phase"] for name, row in found.items()} == {
        "time/step_stop_server": "sleep_wake", "time/step_model_update": "weight_sync", "time/step_generate": "rollout",
        "time/ref_log_probs_values": "ref_logprob", "time/old_log_probs": "old_logprob", "time/step_train": "update",
        "time/actor_train/train_step/onload": "sleep_wake", "math/time/reward_postprocess": "reward",
    }  # fmt: skip
    assert found["time/actor_train/train_step/onload"]["parent"] == "time/step_train"


def test_printed_answers_are_no_metrics() -> None:
    lines = [
        made.roll_line(1, [{"prompt": "a/b", "response": "3"}]),
        made.roll_line(1, {"prompt": "x", "response": "1/2"}),
        made.roll_line(1, made.roll_metrics(1)),
    ]
    run = read("".join(lines), "roll")
    assert column(run, "step") == [1]
    assert "prompt" not in run.extra.columns


def test_the_agentic_pipeline_says_its_step_only_around() -> None:
    text = ""
    for step in (3, 4):
        metrics = {
            "time/step_rollout": 20.5,
            "time/step_train": 7.5,
            "time/step_adv": 0.25,
            "tokens/response_length/mean": 210.5,
            "critic/score/mean": 0.5,
        }
        text += made.roll_line(step, metrics) + made.roll_line(step, f"pipeline step {step} finished")
    run = read(text, "roll")
    assert column(run, "step") == [3, 4]
    assert column(run, "len_mean") == [210.5] * 2
    assert {row["phase"] for row in phases(run, 4).values()} == {"rollout", "update", "advantage"}


def test_another_start_goes_on_in_another_segment() -> None:
    again = "".join(
        made.roll_line(step, f"pipeline step {step} start...") + made.roll_line(step, made.roll_metrics(step))
        for step in (2, 3)
    )
    run = read(made.roll(4) + again, "roll")
    assert column(run, "segment") == [0, 0, 0, 0, 1, 1]
    assert column(run, "step") == [0, 1, 2, 3, 2, 3]
    assert column(run, "step_s")[4:] == [pytest.approx(made.took(2)), None]
    assert len(events(run, "restart")) == 1
    assert setting(run, "total_steps") is None


def test_an_object_cut_short_is_left_out() -> None:
    whole = made.roll_line(1, made.roll_metrics(1))
    broken = made.roll_line(2, json.dumps(made.roll_metrics(2))[:-40] + "\x00}")
    run = read(whole + broken, "roll")
    assert column(run, "step")[0] == 1
    assert run.steps.height <= 2
