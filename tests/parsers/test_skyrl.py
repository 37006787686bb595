"""SkyRL's console: timers, dicts, the console tracker, what lies inside and outside a step, counting without numbers."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, noted, phases, read, setting


def test_values_of_every_step() -> None:
    run = read(made.skyrl(), "skyrl")
    steps = range(1, 6)
    assert column(run, "step") == [*steps]
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in steps], abs=0.006)
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in steps])
    assert set(column(run, "sequences")) == {320.0}
    assert set(column(run, "clipfrac")) == {0.003}
    first, second = column(run, "at")[:2]
    assert (second - first).total_seconds() == 30


def test_the_padded_width_is_no_length() -> None:
    run = read(made.skyrl(), "skyrl")
    assert 1024.0 not in column(run, "len_mean")
    assert column(run, "len_max") == [None] * 5
    assert run.extra["policy/response_length"].to_list() == [1024.0] * 5
    assert noted(run, "padded width")


def test_phases_inside_and_outside_the_step() -> None:
    found = phases(read(made.skyrl(), "skyrl"), 2)
    assert {name.removeprefix("timing/"): (row["phase"], row["outside"]) for name, row in found.items()} == {
        "generate": ("rollout", False), "fwd_logprobs_values_reward": ("old_logprob", False), "policy_train": ("update", False),
        "train_critic_and_policy": ("update", False), "save_checkpoints": ("checkpoint", False), "sync_weights": ("weight_sync", False),
        "eval": ("evaluation", True),
    }  # fmt: skip
    assert found["timing/policy_train"]["parent"] == "timing/train_critic_and_policy"


def test_older_versions_save_after_the_step() -> None:
    text = "".join(made.sky_step(step, save_inside=False) for step in (1, 2, 3))
    row = phases(read(text, "skyrl"), 2)["timing/save_checkpoints"]
    assert (row["outside"], row["seconds"]) == (True, 2.25)


def test_evaluations_checkpoints_and_the_bar() -> None:
    run = read(made.skyrl(), "skyrl")
    assert [(row["step"], row["seconds"]) for row in events(run, "evaluation")] == [(0, 10.0), (2, 9.5), (4, 9.5)]
    assert [(row["step"], row["seconds"]) for row in events(run, "checkpoint")] == [(2, 2.25)]
    assert run.progress["step"].to_list() == [1, 2, 3, 4, 5]
    assert run.progress["elapsed_s"].to_list()[-1] == 150.0
    assert setting(run, "total_steps") == 20


def test_settings_of_the_printed_yaml_and_of_the_command() -> None:
    run = read(made.skyrl(), "skyrl")
    want = {"group_size": 5, "prompts_per_step": 64, "sequences_per_step": 320, "max_tokens": 1024, "epochs": 2, "eval_steps": 2,
            "model": "tiny/model", "learning_rate": 1e-6, "gpu_memory_utilization": 0.8, "temperature": 1.0}  # fmt: skip
    assert {name: setting(run, name) for name in want} == want
    command = "+ uv run -m skyrl_train.entrypoints.main_base trainer.train_batch_size=8 \\\n  generator.n_samples_per_prompt=4 trainer.epochs=1\n"
    other = read(command + made.sky_step(1) + made.sky_step(2), "skyrl")
    assert (setting(other, "prompts_per_step"), setting(other, "group_size")) == (8, 4)


def test_finished_is_printed_when_an_exception_passes_through() -> None:
    broken = made.sky_line(4, "Started: 'step'") + made.sky_line(4, "Started: 'train_critic_and_policy'")
    broken += made.sky_line(4, "Finished: 'train_critic_and_policy', time cost: 1.00s") + made.sky_line(
        4, "Finished: 'step', time cost: 9.00s"
    )
    broken += 'Traceback (most recent call last):\n  File "x.py", line 1\nray.exceptions.RayTaskError: no memory\n'
    run = read(made.skyrl(3) + broken, "skyrl")
    assert column(run, "step") == [1, 2, 3]
    assert run.info.ended == "crashed"


def test_dynamic_sampling_enters_a_step_several_times() -> None:
    again = (
        made.sky_line(2, "Started: 'step'")
        + made.sky_timer(2, "generate", 5.0)
        + made.sky_line(2, "Finished: 'step', time cost: 6.00s")
    )
    run = read(made.sky_step(1) + again + made.sky_step(2) + made.sky_step(3), "skyrl")
    assert column(run, "step") == [1, 2, 3]
    assert column(run, "step_s")[1] == pytest.approx(made.took(2) + 6.0, abs=0.006)
    assert phases(run, 2)["timing/generate"]["seconds"] == pytest.approx(0.5 * made.took(2) + 5.0, abs=0.006)


def test_a_resumed_run_counts_on() -> None:
    line = made.sky_line(0, "Resumed training from global_step 7")
    assert column(read(line + made.sky_step(8) + made.sky_step(9), "skyrl"), "step") == [8, 9]
    bar = "Training Batches Processed:  35%|###  | 7/20 [00:00<?, ?it/s]\n"
    assert column(read(bar + made.sky_step(8), "skyrl"), "step") == [8]
    both = read(made.skyrl(3) + line.replace(" 7", " 2") + made.sky_step(3), "skyrl")
    assert column(both, "segment") == [0, 0, 0, 1]
    assert column(both, "step") == [1, 2, 3, 3]


def test_a_log_whose_beginning_was_cut_off() -> None:
    """The first step's number is what the bar says behind it."""
    step = made.sky_step(7)
    cut = step[step.index("\n", step.index("Started: 'fwd_logprobs")) + 1 :]
    bar = "Training Batches Processed:  35%|###  | 7/20 [03:30<09:00, 30.00s/it]\n"
    run = read(cut + bar + made.sky_step(8), "skyrl")
    assert column(run, "step") == [7, 8]
    assert column(run, "step_s") == pytest.approx([made.took(7), made.took(8)], abs=0.006)
    assert column(run, "grad_norm") == [0.4, 0.4]


def test_the_console_tracker_adds_what_the_lines_lack() -> None:
    text = made.skyrl(1) + made.sky_tracked(1) + made.sky_step(2) + made.sky_tracked(2)
    run = read(text, "skyrl")
    assert column(run, "len_max") == [1024.0, 1024.0]
    assert column(run, "step") == [1, 2]
    assert column(run, "len_mean") == pytest.approx([made.length(1), made.length(2)])  # not the rounded text


def test_the_console_tracker_alone() -> None:
    lines = [made.sky_timer(0, "sync_weights", 4.0), *(made.sky_tracked(step) for step in (11, 12, 13))]
    run = read("".join(lines), "skyrl")
    assert column(run, "step") == [11, 12, 13]
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in (11, 12, 13)])
    assert phases(run, 12)["timing/generate"]["seconds"] == pytest.approx(0.5 * made.took(12))


def test_the_end() -> None:
    assert read(made.skyrl() + made.sky_line(6, "Training done!"), "skyrl").info.ended == "finished"
    assert read(made.skyrl(), "skyrl").info.ended is None
