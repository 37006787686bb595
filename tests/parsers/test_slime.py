"""slime's console: lines of two processes merged by rollout, optimizer steps, what the trainer waits for, arguments."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, noted, phases, read, setting
from timeledger.breakdown import breakdown
from timeledger.clock import clock as read_clock


def test_values_of_every_rollout() -> None:
    run = read(made.slime(), "slime")
    steps = range(5)
    assert column(run, "step") == [*steps]
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in steps])
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in steps])  # raw, not the normalised one
    assert set(column(run, "truncated")) == {0.25}
    assert set(column(run, "len_max")) == {4096.0}
    assert column(run, "prompt_len") == pytest.approx([85.0] * 5)
    assert column(run, "zero_std") == [0.25] * 5  # 4 of 16 groups
    assert noted(run, "train_wait + train")


def test_optimizer_steps_belong_to_their_rollout() -> None:
    run = read(made.slime(), "slime")
    assert run.steps.height == 5
    assert column(run, "loss") == pytest.approx([0.02 * step for step in range(5)])  # the mean of two updates
    assert column(run, "clipfrac") == pytest.approx([0.01] * 5)
    assert column(run, "grad_norm") == pytest.approx([0.6] * 5)


def test_what_the_trainer_waits_for() -> None:
    run = read(made.slime(), "slime")
    found = phases(run, 2)
    wait = found["perf/train_wait_time"]
    assert (wait["phase"], wait["parent"]) == ("wait", None)
    inside = {name: row["phase"] for name, row in found.items() if row["parent"] == "perf/train_wait_time"}
    assert inside == {"perf/rollout_time": "rollout", "perf/sleep_time": "sleep_wake", "perf/wake_up_time": "sleep_wake",
                      "perf/update_weights_time": "weight_sync", "perf/data_preprocess_time": "data"}  # fmt: skip
    assert not any(row["overlaps"] for row in found.values())
    parts = breakdown(run, read_clock(run)).parts
    assert parts["sampling"] > parts["waiting"] > 0
    assert sum(parts.values()) == pytest.approx(sum(column(run, "step_s")[1:]) / 4, rel=0.3)


def test_generation_beside_training_overlaps() -> None:
    lines = [line for step in range(3) for line in made.slime_lines(step)]
    text = "\n".join(
        line.replace(f"'perf/rollout_time': {0.5 * made.took(1)}", "'perf/rollout_time': 99.5") for line in lines
    )
    row = phases(read(text + "\n", "slime"), 1)["perf/rollout_time"]
    assert (row["seconds"], row["overlaps"], row["parent"]) == (99.5, True, None)


def test_the_manager_ahead_of_the_trainer_is_no_restart() -> None:
    lines = [made.slime_lines(step) for step in range(4)]
    order = [lines[0][0]]
    for step in range(4):
        order += ([lines[step + 1][0]] if step < 3 else []) + lines[step][1:]
    run = read("\n".join(order) + "\n", "slime")
    assert column(run, "segment") == [0] * 4
    assert column(run, "step") == [0, 1, 2, 3]
    assert column(run, "loss") == pytest.approx([0.02 * step for step in range(4)])
    assert run.phases.filter(run.phases["name"] == "perf/rollout_time").height == 4


def test_arguments() -> None:
    run = read(made.slime(), "slime")
    want = {"total_steps": 20, "group_size": 8, "prompts_per_step": 16, "sequences_per_step": 128, "max_tokens": 4096, "gpus": 8,
            "learning_rate": 1e-6, "model": "/models/tiny", "algorithm": "grpo", "eval_steps": 2, "save_steps": None}  # fmt: skip
    assert {name: setting(run, name) for name in want} == want


def test_arguments_printed_again_are_another_session() -> None:
    run = read(made.slime(3) + made.slime(2), "slime")
    assert column(run, "segment") == [0, 0, 0, 1, 1]
    assert column(run, "step") == [0, 1, 2, 0, 1]
    assert len(events(run, "restart")) == 1


def test_the_last_rollout_of_all_is_the_end() -> None:
    assert read(made.slime(20), "slime").info.ended == "finished"
    assert read(made.slime(19), "slime").info.ended is None


def test_evaluations_have_their_scores() -> None:
    (event,) = events(read(made.slime(), "slime"), "evaluation")
    assert event["step"] == 0
    assert "eval/aime 0.25" in event["text"]


def test_a_generation_time_on_an_evaluations_line_is_its_own() -> None:
    text = (
        made.slime(3)
        + "[2026-03-01 10:05:00.500 rollout_manager] metrics.py:89 - eval 2: {'eval/aime': 0.5, 'perf/rollout_time': 2000.0}\n"
    )
    run = read(text, "slime")
    assert phases(run, 2)["perf/rollout_time"]["seconds"] == pytest.approx(0.5 * made.took(2))
    assert [(row["step"], row["seconds"]) for row in events(run, "evaluation")] == [(0, None), (2, 2000.0)]


def test_timers_of_forks_lie_inside_the_known_ones() -> None:
    text = (
        made.slime(3)
        .replace("'perf/sleep_time'", "'perf/my_own_time': 3.5, 'perf/sleep_time'")
        .replace(": 0.5,", ": np.float64(0.5),")
    )
    run = read(text, "slime")
    assert "perf/my_own_time" not in phases(run, 1)
    assert run.extra["perf/my_own_time"].to_list() == [3.5] * 3
    assert phases(run, 1)["perf/update_weights_time"]["seconds"] == 0.5


def test_the_first_versions_names_and_plain_prints() -> None:
    text = "".join(
        f"perf {step}: {{'rollout/response_len/mean': 50.5, 'perf/rollout_time': 9.5}}\n"
        f"(RayTrainGroup pid=1) perf {step}: {{'perf/train_wait_time': 10.0, 'perf/train_time': 5.0, 'perf/total_train_time': 15.0}}\n"
        for step in range(3)
    )
    run = read(text, "slime")
    assert column(run, "step_s") == [15.0] * 3
    assert phases(run, 1)["perf/train_time"]["phase"] == "update"


def test_timers_stand_in_where_the_trainer_has_no_line() -> None:
    manager = [made.slime_lines(step)[0] for step in range(3)]
    actor = "(MegatronTrainRayActor pid=7) [2026-03-01 10:00:09] timer.py:32 - Timer update_weights end (elapsed: 0.7s)"
    run = read("\n".join(part for line in manager for part in (line, actor)) + "\n", "slime")
    assert phases(run, 1)["perf/update_weights_time"]["seconds"] == 0.7
    assert noted(run, "Timer lines")
    assert phases(run, 1)["perf/rollout_time"]["seconds"] == pytest.approx(0.5 * made.took(1))
    assert "perf/update_weights_time" in phases(read(made.slime(), "slime"), 2)
    assert not noted(read(made.slime(), "slime"), "Timer lines")


def test_a_workers_exception_ends_nothing() -> None:
    error = (
        "(RolloutManager pid=61) Traceback (most recent call last):\n(RolloutManager pid=61) httpx.ReadError: gone\n"
    )
    assert read(made.slime(3) + error, "slime").info.ended is None
    driver = "Traceback (most recent call last):\nray.exceptions.RayTaskError(ReadError): gone\n"
    assert read(made.slime(3) + driver, "slime").info.ended == "crashed"


def test_colours_and_a_launchers_erased_lines() -> None:
    text = "".join(
        f"\x1b[2K\x1b[1A\x1b[2K\x1b[34m\x1b[36m{line}\x1b[0m\n" for step in range(3) for line in made.slime_lines(step)
    )
    plain = "".join(f"{line}\n" for step in range(3) for line in made.slime_lines(step))
    assert read(text, "slime").steps.equals(read(plain, "slime").steps)


def test_a_critics_steps_are_not_the_actors() -> None:
    lines = made.slime_lines(0)
    critic = lines[3].replace("step 0", "critic-step 0").replace("train/", "train/critic-").replace("0.5", "7.5")
    run = read("\n".join([*lines[:3], critic, *lines[3:], *made.slime_lines(1)]) + "\n", "slime")
    assert run.steps.height == 2
    assert column(run, "grad_norm")[0] == pytest.approx(0.6)
    assert run.extra["train/critic-grad_norm"][0] == 7.5
