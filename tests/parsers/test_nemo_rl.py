"""NeMo-RL's console: headers, blocks, epochs, validation inside the step, blocks without a header, configurations."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, noted, phases, read, setting


def test_values_of_every_step() -> None:
    run = read(made.nemo_rl(), "nemo_rl")
    steps = range(1, 6)
    assert column(run, "step") == [*steps]
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in steps])
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in steps])
    assert column(run, "loss") == pytest.approx([0.01 * step for step in steps])
    assert set(column(run, "sequences")) == {512.0}
    assert run.extra["performance/E2E (Tokens/sec/gpu)"].to_list() == [812.25] * 5


def test_timers_parents_and_a_forks_own() -> None:
    found = phases(read(made.nemo_rl(), "nemo_rl"), 2)
    assert found["timing/train/generation"]["phase"] == "rollout"
    assert found["timing/train/generation"]["seconds"] == pytest.approx(0.5 * made.took(2))
    total, transfer = (
        f"timing/train/prepare_for_generation/{what}" for what in ("total", "transfer_and_update_weights")
    )
    assert found[transfer]["parent"] == total
    assert found[transfer]["phase"] == "weight_sync"
    assert found["timing/train/my_forks_filter"]["phase"] == "other"
    assert "timing/train/Total step time" not in found


def test_validation_is_an_event_and_a_phase_inside_its_step() -> None:
    run = read(made.nemo_rl(), "nemo_rl")
    (event,) = events(run, "evaluation")
    assert (event["step"], event["seconds"]) == (3, 6.5)
    assert "accuracy 0.43" in event["text"]
    row = phases(run, 3)["timing/validation/total_validation_time"]
    assert (row["phase"], row["seconds"], row["outside"]) == ("evaluation", 6.5, False)
    assert setting(run, "eval_questions") == 64


def test_the_first_validation_belongs_to_no_step() -> None:
    run = read("🔍 Running initial validation...\n" + made.nemo_validation(0) + made.nemo_step(1, 9), "nemo_rl")
    assert [row["step"] for row in events(run, "evaluation")] == [0]
    assert column(run, "step") == [1]
    assert "timing/validation/total_validation_time" not in phases(run, 1)


def test_steps_count_on_over_epochs() -> None:
    bar = "=" * 25
    text = "".join(
        f"\n{bar} Epoch {epoch}/2 {bar}\n" + "".join(made.nemo_step(step, 3) for step in (1, 2, 3)) for epoch in (1, 2)
    )
    run = read(text, "nemo_rl")
    assert column(run, "step") == [1, 2, 3, 4, 5, 6]
    assert set(column(run, "segment")) == {0}
    assert setting(run, "total_steps") == 6
    assert run.info.settings["total_steps"].kind == "inferred"
    assert run.info.ended == "finished"


def test_a_resumed_epoch_keeps_its_place() -> None:
    bar = "=" * 25
    run = read(f"{bar} Epoch 2/2 {bar}\n" + made.nemo_step(2, 3), "nemo_rl")
    assert column(run, "step") == [5]


def test_settings_of_a_dict_and_of_a_model() -> None:
    run = read(made.nemo_rl(), "nemo_rl")
    want = {"group_size": 16, "prompts_per_step": 32, "sequences_per_step": 512, "max_tokens": 512, "gpus": 16, "eval_steps": 5,
            "save_steps": 10, "model": "tiny/model", "gpu_memory_utilization": 0.6, "enforce_eager": False}  # fmt: skip
    assert {name: setting(run, name) for name in want} == want
    model = (
        "Final config:\nMasterConfig(grpo=GRPOConfig(num_prompts_per_step=4, num_generations_per_prompt=8, max_num_steps=7),"
        " policy={'model_name': 'tiny', 'generation': {'max_new_tokens': 64, 'stop': None}}, cluster={'gpus_per_node': 1, 'num_nodes': 1})\n"
    )
    other = read(model + made.nemo_step(1, 9), "nemo_rl")
    assert [setting(other, name) for name in ("group_size", "max_tokens", "gpus", "total_steps")] == [8, 64, 1, 7]


def test_blocks_without_a_header_are_counted_and_say_so() -> None:
    run = read(made.nemo_results(1) + made.nemo_results(2), "nemo_rl")
    assert column(run, "step") == [1, 2]
    assert column(run, "step_s") == pytest.approx([made.took(1), made.took(2)])
    assert noted(run, "without a step line")
    assert not noted(read(made.nemo_rl(), "nemo_rl"), "without a step line")


def test_excerpts_without_titles() -> None:
    text = "".join(
        line
        for line in (made.nemo_step(2, 4) + made.nemo_step(3, 4)).splitlines(keepends=True)
        if "Results" not in line and "Timing" not in line
    )
    run = read(text, "nemo_rl")
    assert column(run, "step_s") == pytest.approx([made.took(2), made.took(3)])
    assert column(run, "reward") == pytest.approx([made.reward(2), made.reward(3)])
    assert phases(run, 3)["timing/train/policy_training"]["phase"] == "update"


def test_the_single_controller_names_the_step_behind_its_times() -> None:
    text = "".join(
        f"\n⏱️  Timing:\n  • Total step time: {made.took(step):.2f}s\n  • policy_training: 5.00s (20.0%)\n"
        f"step_metrics={{'loss': 0.01, 'reward': np.float64(0.5), 'lengths': [1, 2], 'mean_gen_tokens_per_sample': {made.length(step)}}}\n"
        f"train step {step}/100  trainer_v={step}  lag=1  \n"
        for step in (1, 2, 3)
    )
    run = read(text, "nemo_rl")
    assert column(run, "step") == [1, 2, 3]
    assert setting(run, "total_steps") == 100
    assert column(run, "len_mean") == [made.length(step) for step in (1, 2, 3)]
    assert column(run, "reward") == [0.5] * 3


def test_asynchronous_runs_say_so() -> None:
    text = made.nemo_step(1, 9).replace("generation:", "exposed_generation:", 1)
    run = read(text + "  📊 Advantages stats: min=-1.5, max=2.5, mean=0.0100, std=0.9000\n", "nemo_rl")
    assert setting(run, "async_mode") is True
    assert phases(run, 1)["timing/train/exposed_generation"]["phase"] == "rollout"
    assert (run.steps["adv_mean"][0], run.steps["adv_std"][0]) == (0.01, 0.9)
    assert setting(read(made.nemo_rl(), "nemo_rl"), "async_mode") is None


def test_checkpoints_setup_and_another_start() -> None:
    run = read(made.nemo_rl(3) + "Saving checkpoint for step 3...\n" + made.nemo_rl(2), "nemo_rl")
    assert [row["step"] for row in events(run, "checkpoint")] == [3]
    assert [row["seconds"] for row in events(run, "start")] == [123.4, 123.4]
    assert column(run, "segment") == [0, 0, 0, 1, 1]
    assert column(run, "step") == [1, 2, 3, 1, 2]
    assert len(events(run, "restart")) == 1


def test_the_end_is_the_last_step_or_its_own_line() -> None:
    assert read(made.nemo_step(9, 9), "nemo_rl").info.ended == "finished"
    assert read(made.nemo_step(3, 9), "nemo_rl").info.ended is None
    stopped = read(made.nemo_step(3, 9) + "Timeout has been reached, stopping training early\n", "nemo_rl")
    assert stopped.info.ended == "finished"


def test_stamps_in_front_of_lines_give_the_time() -> None:
    lines = (made.nemo_step(1, 9) + made.nemo_step(2, 9)).splitlines()
    text = "".join(f"2026-03-01T10:{place:02d}:00.000Z {line}\n" for place, line in enumerate(lines))
    run = read(text, "nemo_rl")
    first, second = column(run, "at")
    assert (second - first).total_seconds() == 60 * len(lines) / 2
