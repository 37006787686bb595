"""What flat metric names stand for, in every framework; the tables themselves; rows from names."""

from __future__ import annotations

import pytest

from parsers import tag_tables, trl_keys, verl_keys
from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.settings import from_config
from parsers.tag_tables import Col, Ph
from parsers.tagrows import TagRows
from parsers.tags import derive, meaning
from timeledger import schema

TABLES = {
    "NeMo-RL": tag_tables.NEMO_RL, "SkyRL": tag_tables.SKYRL, "AReaL": tag_tables.AREAL, "OpenRLHF": tag_tables.OPENRLHF,
    "slime": tag_tables.SLIME, "ROLL": tag_tables.ROLL, "prime-rl": tag_tables.PRIME_RL, "TRL": trl_keys.TRL,
    "open-instruct": tag_tables.OPEN_INSTRUCT,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables_name_only_what_exists(name: str) -> None:
    table = TABLES[name]
    for key, entry in table.items():
        if isinstance(entry, Col):
            assert entry.column in schema.STEPS, key
        else:
            assert entry.phase in schema.ROLLUP, key
            assert entry.parent is None or isinstance(table.get(entry.parent), Ph), key


@pytest.mark.parametrize(
    ("tag", "column"),
    [
        ("train/completions/mean_length", "len_mean"),
        ("completions / mean_length", "len_mean"),
        ("completion_length", "len_mean"),
        ("train/completions/clipped_ratio", "truncated"),
        ("train/reward", "reward"),
        ("train/learning_rate", "lr"),
        ("train/frac_reward_zero_std", "zero_std"),
        ("train/objective/kl", "kl"),
        ("train/val/ratio", "ratio"),
        ("response_length/mean", "len_mean"),
        ("response_length/clip_ratio", "truncated"),
        ("critic/rewards/mean", "reward"),
        ("perf/total_num_tokens", "tokens"),
        ("timing_s/step", "step_s"),
        ("timing/train/total_step_time", "step_s"),
        ("train/mean_gen_tokens_per_sample", "len_mean"),
        ("generate/avg_num_tokens", "len_mean"),
        ("timing/step", "step_s"),
        ("grpo_actor/clip_ratio/avg", "clipfrac"),
        ("ppo_actor/update/clip_ratio/avg", "clipfrac"),
        ("grpo_actor/task_reward/avg", "reward"),
        ("train/rollout/response_length_mean", "len_mean"),
        ("train/timing/step_total", "step_s"),
        ("rollout/response_len/mean", "len_mean"),
        ("perf/step_time", "step_s"),
        ("token/response_length/max", "len_max"),
        ("actor/ratio_mean@sum", "ratio"),
        ("time/step", "step_s"),
        ("val/sequence_lengths", "len_mean"),
        ("rollout/mean_reward", "reward"),
    ],
)
def test_columns(tag: str, column: str) -> None:
    found = meaning(tag)
    assert (found.role, found.target) == ("column", column)


@pytest.mark.parametrize(
    ("tag", "phase", "name"),
    [
        ("timing_s/gen", "rollout", "gen"),
        ("timing_s/update_weights", "weight_sync", "update_weights"),
        ("timing_s/some_fork_reward_time", "reward", "some_fork_reward_time"),
        ("timing/train/policy_training", "update", "timing/train/policy_training"),
        ("train/timing/broadcast", "weight_sync", "timing/broadcast"),
        ("timeperf/recompute_logp", "old_logprob", "timeperf/recompute_logp"),
        ("perf/update_weights_time", "weight_sync", "perf/update_weights_time"),
        ("time/wait_for_batch", "wait", "time/wait_for_batch"),
        ("time/step_model_update", "weight_sync", "time/step_model_update"),
    ],
)
def test_phases(tag: str, phase: str, name: str) -> None:
    found = meaning(tag)
    assert (found.role, found.target, found.name) == ("phase", phase, name)


@pytest.mark.parametrize(
    ("tag", "role"),
    [
        ("eval/reward", "evaluation"),
        ("eval_loss", "evaluation"),
        ("eval/runtime", "eval_s"),
        ("val-core/gsm8k/acc/mean@8", "evaluation"),
        ("validation/accuracy", "evaluation"),
        ("train/train_runtime", "runtime"),
        ("train_samples_per_second", "end"),
        ("train/num_tokens", "tokens_seen"),
        ("train/epoch", "beside"),
        ("train/global_step", "beside"),
        ("ray/node.0.gpu.1.mem_gb", "off"),
        ("system/gpu_0_utilization_percentage", "off"),
        # under a timer's prefix and yet no time, a rate of one GPU, running means
        ("timing_s/agent_loop/slowest/response_length", "unknown"),
        ("timing/train/valid_tokens_per_sec_per_gpu", "unknown"),
        ("perf/throughput", "unknown"),
        ("train/train_tokens_per_second", "unknown"),
        ("train/completions/mean_terminated_length", "unknown"),
        ("time/step_total", "unknown"),
        ("policy/response_length", "unknown"),
        ("ppo_actor/no_eos_ratios/avg", "unknown"),
    ],
)
def test_roles(tag: str, role: str) -> None:
    assert meaning(tag).role == role


def test_children_know_their_parents() -> None:
    transfer = meaning("timing/train/prepare_for_generation/transfer_and_update_weights")
    assert transfer.parent == "timing/train/prepare_for_generation/total"
    assert meaning("timing/policy_train").parent == "timing/train_critic_and_policy"
    assert meaning("perf/log_probs_time").parent == "perf/train_time"


def test_shares_that_are_written_the_other_way_round() -> None:
    found = meaning("val/stop_rate")
    assert (found.target, 0.75 * found.scale + found.offset) == ("truncated", 0.25)


def test_derived_columns() -> None:
    areal = {
        "ppo_actor/seq_len/avg": 300.0,
        "ppo_actor/prompt_len/avg": 100.0,
        "ppo_actor/correct_n_seqs": 8.0,
        "ppo_actor/n_seqs": 32.0,
    }
    assert derive(areal) == {"len_mean": 200.0, "acc": 0.25}
    assert derive({"train/total_length": 300.0, "train/response_length": 250.0}) == {"prompt_len": 50.0}
    assert derive({"ppo_actor/seq_len/avg": 300.0}) == {}


def test_verl_names_stand_in_one_table() -> None:
    for key, column in verl_keys.COLUMNS.items():
        if column == "epoch":
            continue
        assert meaning(key).target == column, key
        assert meaning(key).framework in {None, "verl"}, key


def test_a_hand_written_loop_is_nobodys() -> None:
    for tag in (
        "train/loss",
        "train/kl_loss",
        "reward/mean",
        "actor/lr",
        "perf/step_time",
        "time/total",
        "policy_loss",
        "kl",
    ):
        assert meaning(tag).framework is None, tag


@pytest.mark.parametrize(
    ("metrics", "framework"),
    [
        ({"train/completions/mean_length": 1.0, "train/loss": 1.0}, "TRL"),
        ({"critic/rewards/mean": 1.0, "token/response_length/mean": 5.0}, "ROLL"),
        ({"critic/rewards/mean": 1.0, "timing_s/step": 5.0}, "verl"),
        ({"train/kl_loss": 1.0, "train/loss": 5.0}, None),
    ],
)
def test_framework_of_a_step(metrics: dict[str, float], framework: str | None) -> None:
    rows = TagRows(RunBuilder(Origin("x"), "test"))
    for tag, value in metrics.items():
        rows.add(1, tag, value, None)
    run = rows.run()
    assert run.info.framework == framework
    assert run.steps.height == 1


def test_tokens_of_a_hand_written_loop_are_not_a_total() -> None:
    rows = TagRows(RunBuilder(Origin("x"), "test"))
    for step in (1, 2, 3):
        rows.add(step, "loss", 1.0, None)
        rows.add(step, "num_tokens", 1000.0 * step, None)
    assert rows.run().steps["tokens"].null_count() == 3


def test_the_better_name_wins_a_column() -> None:
    build = RunBuilder(Origin("x"), "test")
    rows = TagRows(build)
    metrics = {"train/policy_loss_total": 3.0, "charts/reward_mean": 9.0, "train/loss": 0.1, "train/reward": 0.5}
    for tag, value in metrics.items():
        rows.add(1, tag, value, None)
    run = rows.run()
    assert run.steps.select("reward", "loss").rows() == [(0.5, 0.1)]
    assert run.extra["charts/reward_mean"].to_list() == [9.0]


def test_slime_counts_optimizer_steps_apart() -> None:
    build = RunBuilder(Origin("x"), "test")
    rows = TagRows(build)
    for rollout in range(3):
        rows.add(rollout, "rollout/response_len/mean", 20.0 + rollout, None)
        rows.add(rollout, "perf/step_time", 5.0, None)
        for inner in range(4):
            rows.add(4 * rollout + inner, "train/grad_norm", 1.0, None)
    run = rows.run()
    assert run.steps["step"].to_list() == [0, 1, 2]
    assert run.steps["segment"].to_list() == [0, 0, 0]
    assert run.steps["grad_norm"].null_count() == 3


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            {"grpo": {"num_prompts_per_step": 32, "num_generations_per_prompt": 16, "max_num_steps": 100, "val_period": 0},
             "cluster": {"gpus_per_node": 8, "num_nodes": 2}, "policy": {"generation": {"max_new_tokens": 512}}},
            {"prompts_per_step": 32, "group_size": 16, "total_steps": 100, "gpus": 16, "max_tokens": 512,
             "sequences_per_step": 512},
        ),
        (
            {"actor_rollout_ref/rollout/n": "5", "data/train_batch_size": "64", "trainer/total_epochs": "3"},
            {"group_size": 5, "prompts_per_step": 64, "epochs": 3, "sequences_per_step": 320},
        ),
        (
            {"n_samples_per_prompt": 8, "rollout_batch_size": 128, "logging_steps": 1, "generate_max_len": 1024},
            {"group_size": 8, "prompts_per_step": 128, "max_tokens": 1024},
        ),
        (
            {"per_device_train_batch_size": 8, "max_steps": -1, "use_vllm": True, "vllm_gpu_memory_utilization": 0.4},
            {"per_device_batch": 8, "gpu_memory_utilization": 0.4},
        ),
    ],
)  # fmt: skip
def test_settings_of_a_configuration(config: dict[str, object], told: dict[str, object]) -> None:
    build = RunBuilder(Origin("x"), "test")
    from_config(build, config, "test")
    values = {name: setting.value for name, setting in build.settings.items()}
    assert {name: values.get(name) for name in told} == told
    assert "total_steps" in told or "total_steps" not in values
    assert "eval_steps" not in values
