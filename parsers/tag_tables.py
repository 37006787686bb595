"""Flat metric names of RL frameworks, as they stand in TensorBoard, W&B, MLflow and metric files: one table a framework.

A name maps to a `Col` (a column of `schema.STEPS`) or a `Ph` (a phase). The tables serve the console readers too, so that
one name means one thing wherever it is found. TRL's names stand in `trl_keys`, verl's in `verl_keys`.
"""

from __future__ import annotations

from typing import Final

from parsers.tag_entries import Col, Ph, Table
from parsers.tag_tables_async import OPEN_INSTRUCT, PRIME_RL, TORCHFORGE, TORCHTUNE

__all__ = [
    "AREAL",
    "NEMO_RL",
    "NOT_WHAT_IT_SEEMS",
    "OPENRLHF",
    "OPEN_INSTRUCT",
    "PRIME_RL",
    "ROLL",
    "SKYRL",
    "SLIME",
    "TORCHFORGE",
    "TORCHTUNE",
    "Col",
    "Ph",
    "Table",
]  # fmt: skip

#: NVIDIA NeMo-RL (TensorBoard, W&B). Timers print flat: `prepare_for_generation/total` contains the transfer, the idle
#: timers overlap others, and not all of `timing/` is a time (`valid_tokens_per_sec_per_gpu`).
NEMO_RL: Final[Table] = {
    "timing/train/total_step_time": Col("step_s"),
    "timing/train/generation": Ph("rollout"),
    "timing/train/exposed_generation": Ph("rollout"),
    "timing/train/policy_and_reference_logprobs": Ph("old_logprob"),
    "timing/train/policy_logprobs": Ph("old_logprob", parent="timing/train/policy_and_reference_logprobs"),
    "timing/train/reference_logprobs": Ph("ref_logprob", parent="timing/train/policy_and_reference_logprobs"),
    "timing/train/logprob_inference_prep": Ph("sleep_wake"),
    "timing/train/reward_calculation": Ph("reward"),
    "timing/train/advantage_calculation": Ph("advantage"),
    "timing/train/policy_training": Ph("update"),
    "timing/train/training_prep": Ph("sleep_wake"),
    "timing/train/prepare_for_generation": Ph("weight_sync"),
    "timing/train/prepare_for_generation/total": Ph("sleep_wake"),
    "timing/train/prepare_for_generation/transfer_and_update_weights": Ph(
        "weight_sync", parent="timing/train/prepare_for_generation/total"
    ),
    "timing/train/weight_sync": Ph("weight_sync"),
    "timing/train/data_processing": Ph("data"),
    "timing/train/dynamic_sampling": Ph("data"),
    "timing/train/recompute_kv_scales": Ph("other"),
    "timing/train/checkpointing": Ph("checkpoint"),
    "timing/train/buffer_sampling": Ph("wait"),
    "timing/train/idle/buffer_starvation": Ph("wait", overlaps=True),
    "timing/train/idle/refit_bubble": Ph("wait", overlaps=True),
    "timing/train/idle/validation": Ph("wait", overlaps=True),
    "timing/train/idle/generation_limit_pause": Ph("wait", overlaps=True),
    "timing/train/idle/refit_event_wait": Ph("wait", overlaps=True),
    "timing/train/offload_before_refit": Ph("sleep_wake"),
    "timing/train/policy_offload_after_refit": Ph("sleep_wake"),
    "timing/train/teacher_forward": Ph("ref_logprob"),
    "timing/train/teacher_logprob_inference": Ph("ref_logprob"),
    "timing/train/teacher_logprob_inference_prep": Ph("sleep_wake"),
    "timing/train/value_inference": Ph("values"),
    "timing/train/value_training": Ph("update_critic"),
    "timing/train/value_training_prep": Ph("sleep_wake"),
    "timing/train/mask_sample_filter": Ph("data"),
    "timing/train/overlong_filter": Ph("data"),
    "timing/validation/total_validation_time": Ph("evaluation"),
    "train/mean_gen_tokens_per_sample": Col("len_mean"),
    "train/max_gen_tokens_per_sample": Col("len_max"),
    "train/truncation_rate": Col("truncated"),
    "train/mean_prompt_length": Col("prompt_len"),
    "train/total_num_tokens": Col("tokens"),
    "train/num_samples": Col("sequences"),
    "train/advantages/mean": Col("adv_mean"),
    "train/advantages/std": Col("adv_std"),
    "train/probs_ratio": Col("ratio"),
    "train/kl_penalty": Col("kl"),
    "train/approx_entropy": Col("entropy"),
}

#: SkyRL. `policy/response_length` and `response_length` are the padded width, not the mean: they stay unmapped.
SKYRL: Final[Table] = {
    "timing/step": Col("step_s"),
    "timing/generate": Ph("rollout"),
    "timing/postprocess_generator_output": Ph("reward"),
    "timing/convert_to_training_input": Ph("data"),
    "timing/fwd_logprobs_values_reward": Ph("old_logprob"),
    "timing/apply_reward_kl_penalty": Ph("advantage"),
    "timing/compute_advantages_and_returns": Ph("advantage"),
    "timing/train_critic_and_policy": Ph("update"),
    "timing/policy_train": Ph("update", parent="timing/train_critic_and_policy"),
    "timing/critic_train": Ph("update_critic", parent="timing/train_critic_and_policy"),
    "timing/policy_critic_overlap_train": Ph("update", parent="timing/train_critic_and_policy"),
    "timing/sync_weights": Ph("weight_sync"),
    "timing/offload_policy_model_to_cpu": Ph("sleep_wake"),
    "timing/update_ref_with_policy": Ph("other"),
    "timing/save_checkpoints": Ph("checkpoint"),
    "timing/save_hf_model": Ph("checkpoint"),
    "timing/cleanup_old_checkpoints": Ph("checkpoint"),
    "timing/eval": Ph("evaluation", outside=True),
    "timing/wait_for_generation_buffer": Ph("wait"),
    "timing/run_training": Ph("update"),
    "timing/optim_step": Ph("update", parent="timing/policy_train"),
    "timing/forward_backward": Ph("update", parent="timing/policy_train"),
    "timing/dump_data_batch": Ph("other"),
    "timing/sync_weights_to_inference_engines": Ph("weight_sync"),
    "timing/calc_values_logprobs_rewards_kl": Ph("old_logprob"),
    "timing/calc_advantages_and_returns": Ph("advantage"),
    "timing/compute_rewards": Ph("reward"),
    "generate/avg_num_tokens": Col("len_mean"),
    "generate/max_num_tokens": Col("len_max"),
    "generate/min_num_tokens": Col("len_min"),
    "generate/batch_num_seq": Col("sequences"),
    "reward/avg_raw_reward": Col("reward"),
    "loss/avg_raw_advantages": Col("adv_mean"),
    "loss/avg_kl": Col("kl"),
    "policy/policy_kl": Col("kl"),
    "policy/policy_entropy": Col("entropy"),
    "policy/loss_metrics/clip_ratio": Col("clipfrac"),
    "policy/ppo_clip_ratio": Col("clipfrac"),
    "policy/grad_norm": Col("grad_norm"),
    "policy/raw_grad_norm": Col("grad_norm"),
    "policy/policy_lr": Col("lr"),
    "policy/final_loss": Col("loss"),
    "policy/policy_loss": Col("loss"),
    "trainer/epoch": Col("epoch"),
}

#: AReaL. No step time of its own (but version 0.3's `timeperf/e2e`); `seq_len` includes the prompt, see `tags.derive`.
#: Names of the update stood without `update/` at first. `no_eos_ratios` marks the longest answers of a batch, cut or not.
AREAL: Final[Table] = {
    "timeperf/e2e": Col("step_s"),
    "timeperf/rollout": Ph("rollout"),
    "timeperf/recompute_logp": Ph("old_logprob"),
    "timeperf/ref_logp": Ph("ref_logprob"),
    "timeperf/teacher_logp": Ph("ref_logprob"),
    "timeperf/critic_values": Ph("values"),
    "timeperf/compute_advantage": Ph("advantage"),
    "timeperf/train_step": Ph("update"),
    "timeperf/critic_train_step": Ph("update_critic"),
    "timeperf/update_weights": Ph("weight_sync"),
    "timeperf/save": Ph("checkpoint"),
    "timeperf/checkpoint_for_recover": Ph("checkpoint"),
    "timeperf/eval": Ph("evaluation"),
    "timeperf/clear_batches": Ph("other"),
    "timeperf/load_bcast": Ph("data"),
    "timeperf/actor_generate/main": Ph("rollout"),
    "timeperf/actor_inference/main": Ph("old_logprob"),
    "timeperf/ref_inference/main": Ph("ref_logprob"),
    "timeperf/rew_inference/main": Ph("reward"),
    "timeperf/reward_inference/main": Ph("reward"),
    "timeperf/critic_inference/main": Ph("values"),
    "timeperf/actor_train_step/main": Ph("update"),
    "timeperf/critic_train_step/main": Ph("update_critic"),
    **{
        f"timeperf/{who}_{what}": Ph("sleep_wake")
        for who in ("rollout", "actor", "critic", "ref", "teacher")
        for what in ("pause", "pause_generation", "offload", "onload", "continue_generation", "resume")
    },
    **{
        f"{actor}/{name}": column
        for actor in ("ppo_actor", "grpo_actor")
        for name, column in {
            "prompt_len/avg": Col("prompt_len"),
            "n_tokens": Col("tokens"),
            "n_seqs": Col("sequences"),
            "task_reward/avg": Col("reward"),
            "advantages/avg": Col("adv_mean"),
            "kl_rewards/avg": Col("kl", -1.0),
            **{
                f"{scope}{key}": Col(target)
                for scope in ("update/", "")
                for key, target in {
                    "importance_weight/avg": "ratio",
                    "clip_ratio/avg": "clipfrac",
                    "entropy/avg": "entropy",
                    "actor_loss/avg": "loss",
                    "grad_norm": "grad_norm",
                    "lr": "lr",
                }.items()
            },
        }.items()
    },
}

#: OpenRLHF: the console's keys; TensorBoard and W&B put `train/` in front. The sync `step_total` is a sum of phases.
OPENRLHF: Final[Table] = {
    "timing/step_total": Col("step_s"),
    "timing/generation": Ph("rollout"),
    "timing/make_experience": Ph("old_logprob"),
    "timing/ppo_train": Ph("update"),
    "timing/broadcast": Ph("weight_sync"),
    "perf/experience_maker/generate_time": Ph("rollout"),
    "perf/experience_maker/actor_value_rm_time": Ph("old_logprob"),
    "perf/experience_maker/wait_time": Ph("wait"),
    "response_length": Col("len_mean"),
    "rollout/response_length_mean": Col("len_mean"),
    "rollout/truncated_rate": Col("truncated"),
    "response_clip_ratio": Col("truncated"),
    "truncated": Col("truncated"),
    "rollout/num_samples": Col("sequences"),
    "rollout/reward_mean": Col("reward"),
    "rollout/reward_std": Col("reward_std"),
    "reward": Col("reward"),
    "ppo_clip_ratio": Col("clipfrac"),
    "kl": Col("kl"),
    "entropy_loss": Col("entropy"),
    "policy_loss": Col("loss"),
    "actor_grad_norm": Col("grad_norm"),
    "actor_lr": Col("lr"),
}

#: slime. `perf/step_time` (first `total_train_time`) is train_wait + train; the other timers run inside one of the two.
SLIME: Final[Table] = {
    "perf/step_time": Col("step_s"),
    "perf/total_train_time": Col("step_s"),
    "perf/rollout_time": Ph("rollout", overlaps=True),
    "perf/train_wait_time": Ph("wait"),
    "perf/train_time": Ph("update"),
    "perf/actor_train_time": Ph("update", parent="perf/train_time"),
    "perf/critic_train_time": Ph("update_critic", parent="perf/train_time"),
    "perf/log_probs_time": Ph("old_logprob", parent="perf/train_time"),
    "perf/ref_log_probs_time": Ph("ref_logprob", parent="perf/train_time"),
    "perf/teacher_log_probs_time": Ph("ref_logprob", parent="perf/train_time"),
    "perf/old_actor_log_probs_time": Ph("old_logprob", parent="perf/train_time"),
    "perf/values_time": Ph("values", parent="perf/train_time"),
    "perf/ref_model_update_time": Ph("other", parent="perf/train_time"),
    "perf/update_weights_pause_time": Ph("weight_sync", parent="perf/update_weights_time"),
    "perf/data_preprocess_time": Ph("data", parent="perf/train_wait_time"),
    "perf/update_weights_time": Ph("weight_sync", parent="perf/train_wait_time"),
    "perf/sleep_time": Ph("sleep_wake", parent="perf/train_wait_time"),
    "perf/wake_up_time": Ph("sleep_wake", parent="perf/train_wait_time"),
    "perf/save_model_time": Ph("checkpoint", parent="perf/train_wait_time"),
    "rollout/response_len/mean": Col("len_mean"),
    "rollout/response_lengths": Col("len_mean"),
    "rollout/response_len/max": Col("len_max"),
    "rollout/response_len/min": Col("len_min"),
    "rollout/truncated_ratio": Col("truncated"),
    "rollout/truncated": Col("truncated"),
    "rollout/zero_std/share": Col("zero_std"),
    "rollout/raw_reward": Col("reward"),
    "rollout/advantages": Col("adv_mean"),
    "train/pg_clipfrac": Col("clipfrac"),
    "train/kl_loss": Col("kl"),
    "train/entropy_loss": Col("entropy"),
    "train/lr-pg_0": Col("lr"),
}

#: ROLL (`@sum`, `@mean`, ... are taken off first). `time/step_total` is the step *before*: it stays unmapped (the console's
#: reader gives it to its own step as `step_total_of`). `system/samples` counts from the start.
ROLL: Final[Table] = {
    "time/step_generate": Ph("rollout"),
    "time/step_rollout": Ph("rollout"),
    "time/ref_log_probs_values": Ph("ref_logprob"),
    "time/old_log_probs": Ph("old_logprob"),
    "time/adv": Ph("advantage"),
    "time/step_adv": Ph("advantage"),
    "time/step_ref_log_probs_values_reward": Ph("ref_logprob"),
    "time/step_old_log_probs_values": Ph("old_logprob"),
    "time/step_cal_response_level_mask": Ph("reward"),
    "time/step_cal_norm_rewards": Ph("reward"),
    "time/step_cal_token_reward": Ph("reward"),
    "time/step_shrink": Ph("sleep_wake"),
    "time/step_compute_data_metrics": Ph("other"),
    "time/step_val": Ph("evaluation"),
    "time/step_train": Ph("update"),
    "time/step_model_update": Ph("weight_sync"),
    "time/step_stop_server": Ph("sleep_wake"),
    "time/val_step": Ph("evaluation"),
    "token/response_length/mean": Col("len_mean"),
    "token/response_length/max": Col("len_max"),
    "token/response_length/min": Col("len_min"),
    "tokens/response_length/mean": Col("len_mean"),
    "tokens/response_length/max": Col("len_max"),
    "tokens/response_length/min": Col("len_min"),
    "token/total_response_length/clip": Col("truncated"),
    "token/prompt_length/mean": Col("prompt_len"),
    "tokens/prompt_length/mean": Col("prompt_len"),
    "critic/correct/mean": Col("acc"),
    "critic/entropy/mean": Col("entropy"),
    "actor/ratio_mean": Col("ratio"),
    "actor/ppo_ratio_clipfrac": Col("clipfrac"),
    "actor/approxkl": Col("kl"),
    "system/batch_size": Col("sequences"),
    "time/step_total_of": Col("step_s"),
}

#: Names that are not what their words say: padded widths, the step before, rates under a timer's prefix, running means,
#: lengths of finished answers only. They are kept as extra metrics.
NOT_WHAT_IT_SEEMS: Final = frozenset(
    {
        "policy/response_length", "time/step_total", "timing/train/valid_tokens_per_sec_per_gpu",
        "train_tokens_per_second", "num_input_tokens_seen", "completions/mean_terminated_length",
        "completions/max_terminated_length", "completions/min_terminated_length", "wait_time_ratio",
        "perf/wait_time_ratio", "mismatch_kl/all/mean", "learner_tokens_per_second_step", "learner_tokens_per_second_overall",
        *(f"{actor}/seq_len/{what}" for actor in ("ppo_actor", "grpo_actor") for what in ("avg", "max", "min")),
    }
)  # fmt: skip
