"""What keys mean: units before names, one spelling for many, and words that look like something else."""

from __future__ import annotations

import math

import pytest

from parsers.fields import resolve, setting, setting_value, spell
from parsers.values import of_json, take
from timeledger import schema

COLUMNS = {
    "len_mean": "len length avg_len AvgLen resp_len avg_resp_len mean_response_length response_length_mean reply_len "
    "completion_length completions/mean_length avg_gen_tokens 平均长度 回复长度 rollout/response_len/mean comp_len",
    "len_max": "max_gen_tokens completions/max_length response_length/max completion_len_max max_len",
    "truncated": "response_length/clip_ratio completions/clipped_ratio truncated_ratio truncated_rate 截断率 overlong_ratio",
    "reward": "reward rew Reward reward_mean mean_reward avg_reward reward_avg R Rmean critic/rewards/mean 奖励 平均奖励 score",
    "reward_std": "reward_std std_reward GrpStd rewards/std",
    "acc": "acc accuracy solve success success_rate answer_accuracy fraction_correct pass@1 准确率 成功率",
    "adv_mean": "adv adv_mean AdvMean mean_advantage advantages/mean",
    "adv_std": "adv_std AdvStd std_advantage advantages_std",
    "ratio": "ratio ratio_mean policy_ratio actor/ratio_mean@sum",
    "kl": "kl KL KL_ref mean_kl approx_kl kl_div kl_loss train/kl_penalty",
    "clipfrac": "clipfrac ClipFrac clip_frac clip_fraction actor/pg_clipfrac",
    "zero_std": "frac_reward_zero_std zero_std_group_ratio zero_adv 0adv",
    "entropy": "entropy H entropy_avg actor/entropy 熵",
    "grad_norm": "grad_norm gnorm gn GradNorm 梯度范数",
    "lr": "lr LR learning_rate actor_lr 学习率",
    "loss": "loss total_loss policy_loss pg_loss grpo_loss actor_loss 损失",
    "step_s": "step_time time/step timing_s/step step_time_s",
    "prompt_len": "prompt_len prompt_length/mean prompt_len_mean",
    "mem_gib": "memory_gb max_memory_allocated_gb memory(GiB)",
}


@pytest.mark.parametrize(("column", "key"), [(column, key) for column, keys in COLUMNS.items() for key in keys.split()])
def test_spellings_of_a_column(column: str, key: str) -> None:
    found = resolve(key)
    assert (found.kind, found.name) == ("column", column)


@pytest.mark.parametrize(
    "key", ["Adv Std", "Avg Response Len", "Grad. Norm", "Learning Rate", "completions / mean_length"]
)
def test_keys_with_blanks(key: str) -> None:
    assert resolve(key).kind == "column"


@pytest.mark.parametrize(
    "key",
    ["acc/length", "wait_time_ratio", "minmax_diff", "steps_taken", "10-step-avg", "num_generated_tokens", "value_loss", "critic_loss", "Critic_LR", "eval_acc", "val/reward", "kl_coef", "rewards/format_reward", "format_accuracy", "returns", "truncated_len_of_something"],
)  # fmt: skip
def test_what_is_not_what_it_looks_like(key: str) -> None:
    assert resolve(key).kind == "extra"


@pytest.mark.parametrize(
    ("key", "phase"),
    [
        ("reward", "reward"), ("advantages", "advantage"), ("rollout", "rollout"), ("generate", "rollout"), ("update", "update"),
        ("weight_sync", "weight_sync"), ("ref", "ref_logprob"), ("old_logprobs", "old_logprob"), ("eval", "evaluation"),
        ("save_ckpt", "checkpoint"), ("wait_ckpt", "wait"), ("data", "data"), ("sleep", "sleep_wake"), ("teacher", "other"),
    ],
)  # fmt: skip
def test_a_duration_is_never_a_metric(key: str, phase: str) -> None:
    found = resolve(key, "s")
    assert (found.kind, found.name) == ("phase", phase)
    assert resolve(key, "ms").of(250.0) == 0.25


@pytest.mark.parametrize(
    ("key", "phase"),
    [
        ("time/compute_kl_sample_train", "other"), ("time/assemble_training_data", "other"),
        ("time/compute_ref_kl", "ref_logprob"), ("time/train", "update"), ("time/sampling", "rollout"),
    ],
)  # fmt: skip
def test_work_on_the_numbers_of_a_phase_is_not_the_phase(key: str, phase: str) -> None:
    found = resolve(key)
    assert (found.kind, found.name) == ("phase", phase)


@pytest.mark.parametrize(
    ("key", "kind", "name", "value"),
    [
        ("timing_ms/step", "column", "step_s", 2.0),
        ("timing_ms/rollout", "phase", "rollout", 2.0),
        ("perf/time_ms/update", "phase", "update", 2.0),
        ("step_time_ms", "column", "step_s", 2.0),
        ("total_time_ms", "clock", "elapsed_s", 2.0),
        ("wall_h", "clock", "elapsed_s", 7_200_000.0),
        ("runtime_hours", "clock", "elapsed_s", 7_200_000.0),
        ("elapsed_min", "clock", "elapsed_s", 120_000.0),
        ("eta_minutes", "remaining", "remaining_s", 120_000.0),
        ("timestamp_ms", "at", "at", 2.0),
    ],
)
def test_a_unit_in_the_name_is_taken_at_its_word(key: str, kind: str, name: str, value: float) -> None:
    found = resolve(key)
    assert (str(found.kind), found.name) == (kind, name)
    assert found.of(2000.0) == pytest.approx(value)


@pytest.mark.parametrize("key", ["time_min", "step_time_min", "gen_time_min"])
def test_the_smallest_time_or_minutes_is_neither(key: str) -> None:
    assert resolve(key).kind == "extra"


def test_units_scale() -> None:
    assert resolve("vram", "MB").of(2048.0) == 2.0
    assert resolve("vram", "GB").of(2.0) == 2.0
    assert resolve("acc", "%").of(41.0) == pytest.approx(0.41)
    assert resolve("time", "min").of(2.0) == 120.0
    assert resolve("eta", "m").kind == "remaining"
    assert resolve("x", "s/step").kind == "mean_step"
    assert resolve("len", "w").kind == "extra", "words are not tokens"


def test_rates_belong_to_a_side_or_to_none() -> None:
    assert resolve("gen throughput", "tok/s").name == "gen_tok_s"
    assert resolve("train_throughput", "tokens/s").name == "train_tok_s"
    assert resolve("tok/sec").kind == "extra"
    assert resolve("tokens_per_gpu_per_sec").kind == "extra"


def test_complements_and_shares() -> None:
    assert resolve("groups_with_signal").of(0.75) == 0.25
    assert resolve("stop_rate").of(0.9) == pytest.approx(0.1)
    assert resolve("truncated").of(1.5) is None
    assert resolve("kl").of(math.nan) is None


def test_the_better_key_has_the_lower_rank() -> None:
    for better, worse in [
        ("kl_ref", "approx_kl"),
        ("kl", "kl_loss"),
        ("total_loss", "policy_loss"),
        ("response_len", "seq_len"),
    ]:
        assert resolve(better).rank < resolve(worse).rank
        assert resolve(better).name == resolve(worse).name


def test_one_spelling() -> None:
    assert spell("AvgLen") == spell("avg_len") == spell("Avg Length") == spell("平均长度") == "mean_len"
    assert spell("completions / mean_length") == spell("completions/mean_length")


def test_every_meaning_names_something_of_the_record() -> None:
    for keys in COLUMNS.values():
        for key in keys.split():
            assert resolve(key).name in schema.STEPS
            found = resolve(key, "s")
            assert found.kind != "phase" or found.name in schema.PHASE_NAMES


def test_settings() -> None:
    assert setting("k_samples") == setting("num_generations") == "group_size"
    assert setting("max_new_tokens") == "max_tokens"
    assert setting("reward") is None
    assert setting_value("group_size", "8") == 8
    assert setting_value("group_size", "many") is None
    assert setting_value("model", "org/tiny-1B") == "org/tiny-1B"


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("0.53", 0.53, ""), ("+0.5", 0.5, ""), ("-0.0000", 0.0, ""), ("2.00e-06", 2e-06, ""), ("645,277", 645277, ""),
        ("33.1s", 33.1, "s"), ("812.34ms", 812.34, "ms"), ("1m 12s", 72, "s"), ("3h 12m 05s", 11525, "s"), ("0:01:48", 108, "s"),
        ("3 days, 4:29:51", 275391, "s"), ("4d 3h 37m 48s", 358668, "s"), ("61.2 GiB", 61.2, "GiB"), ("88w", 88, "w"),
        ("100.00%", 100, "%"), ("31.4s/step", 31.4, "s/step"), ("412.3 tok/s", 412.3, "tok/s"), ("'0.5'", 0.5, ""),
        ("np.float64(0.25)", 0.25, ""), ("tensor(1.5, device='cuda:0')", 1.5, ""), ("tensor([1., 0.])", 0.5, ""),
        ("[True, False]", 0.5, ""), ("['0.8', '0.4']", 0.6, ""), ("212.3/180.4/251.9", 212.3, ""), ("+0.450±0.120", 0.45, ""),
    ],
)  # fmt: skip
def test_values(text: str, number: float, unit: str) -> None:
    found = take(text, 0)
    assert found is not None
    assert found[0].number == pytest.approx(number)
    assert found[0].unit == unit
    assert found[1] == len(text)


@pytest.mark.parametrize("text", ["0adv", "10-step", "1.2.3", "2025-08-27", "124M", "[a, b]", "tensor(", "12:34:56:78"])
def test_not_values(text: str) -> None:
    assert take(text, 0) is None


def test_json_values() -> None:
    nan = of_json(math.nan)
    assert nan is not None
    assert math.isnan(nan.number)
    pair = of_json("5/3766")
    assert pair is not None
    assert (pair.number, pair.total) == (5, 3766)
    assert of_json("a text of 3 words") is None
    assert of_json(None) is None
    assert of_json(10**400) is None
