"""Flat metric names of frameworks that generate beside training: prime-rl, torchtune, torchforge, open-instruct."""

from __future__ import annotations

from typing import Final

from parsers.tag_entries import Col, Ph, Table

#: prime-rl (`metrics.jsonl`, W&B): trainer and orchestrator run at once, so a wait is idle time, not generation. `seq_len`
#: counts the prompt too; the `orchestrator/` and `trainer/` names are of its console.
PRIME_RL: Final[Table] = {
    "time/step": Col("step_s"),
    "time/wait_for_batch": Ph("wait"),
    "time/load_data": Ph("data"),
    "time/broadcast_weights": Ph("weight_sync"),
    "time/save_ckpt": Ph("checkpoint"),
    "time/forward_backward": Ph("update"),
    "time/wait_for_policy": Ph("wait"),
    "time/pack": Ph("data"),
    "time/generate_completions": Ph("rollout"),
    "time/teacher_logprobs": Ph("ref_logprob"),
    "time/parallel_preprocess": Ph("data"),
    "optim/lr": Col("lr"),
    "optim/grad_norm": Col("grad_norm"),
    "loss/mean": Col("loss"),
    "entropy/all/mean": Col("entropy"),
    "perf/peak_memory": Col("mem_gib"),
    "reward/mean": Col("reward"),
    "reward/all/mean": Col("reward"),
    **{
        f"{key}{which}/{what}": Col(f"len_{what}", rank=rank)
        for key, rank in (("decode_len", 0), ("completion_len", 0), ("seq_len", 1))
        for which in ("", "/all")
        for what in ("mean", "max", "min")
    },
    "is_truncated/mean": Col("truncated"),
    "is_truncated/all/mean": Col("truncated"),
    "prefill_len/all/mean": Col("prompt_len"),
    "prompt_len/mean": Col("prompt_len"),
    "progress/tokens": Col("tokens"),
    "progress/samples": Col("sequences"),
    "orchestrator/sequences": Col("sequences"),
    "orchestrator/throughput": Col("gen_tok_s"),
    "trainer/throughput": Col("train_tok_s"),
    "advantage/mean": Col("adv_mean"),
}

#: torchtune: the asynchronous recipe's workers write their units into the names (the others share hand-written loops' names).
TORCHTUNE: Final[Table] = {
    "train_worker_performance/total_step_time (s)": Col("step_s"),
    "train_worker_performance/time_grpo_steps (s)": Ph("update"),
    "train_worker_performance/time_weight_sync (s)": Ph("weight_sync"),
    "train_worker_performance/time_weight_gather (s)": Ph("weight_sync"),
    "train_worker_performance/time_waiting_buffer (s)": Ph("wait"),
    "datacollector_worker_performance/total_rollout_time (s)": Ph("rollout", overlaps=True),
    "postprocessing_worker_performance/time_total_ref_step (s)": Ph("ref_logprob", overlaps=True),
    "postprocessing_worker_performance/time_waiting_buffer (s)": Ph("wait", overlaps=True),
    "postprocessing_worker_performance/time_model_running (s)": Ph(
        "ref_logprob", parent="postprocessing_worker_performance/time_total_ref_step (s)", overlaps=True
    ),
}

#: torchforge: a tracer's times are means over the rollouts of a step, which run beside training; the training loop runs once.
_ROLLOUTS: Final = {
    "data_loading": "data", "policy_generation": "rollout", "reward_evaluation": "reward",
    "reference_model_calculate_logprobs": "ref_logprob", "compute_logprobs": "old_logprob",
}  # fmt: skip
_TRAINING: Final = {
    "waiting_for_buffer": "wait", "train_step": "update", "push_weights": "weight_sync", "update_weights": "weight_sync",
    "drop_weights": "weight_sync",
}  # fmt: skip
TORCHFORGE: Final[Table] = {
    **{
        f"main_perf/{loop}/{key}/duration_avg_s": Ph(phase, overlaps=True)
        for loop in ("continuous_rollouts", "rollout")
        for key, phase in _ROLLOUTS.items()
    },
    **{
        f"main_perf/{loop}/{key}/duration_avg_s": Ph(phase)
        for loop in ("continuous_training", "training")
        for key, phase in _TRAINING.items()
    },
    "main_perf/continuous_training/total_duration_avg_s": Col("step_s"),
    "main_perf/training/total_duration_avg_s": Col("step_s"),
    "generator_perf/generate/total_duration_avg_s": Ph("rollout", overlaps=True),
    "generator/generate/avg_tokens_generated": Col("len_mean"),
    "generator/generate/count_sequences_completed": Col("sequences"),
    "reward/evaluate_response/avg_total_reward": Col("reward"),
    "rl_trainer/learning_rate": Col("lr"),
    "rl_trainer/avg_loss": Col("loss"),
}

#: open-instruct: generation overlaps training; `time/total` is the step. `learner_tokens_per_second_step` is per step time.
OPEN_INSTRUCT: Final[Table] = {
    "time/total": Col("step_s"),
    "time/training": Ph("update"),
    "time/saving": Ph("checkpoint"),
    "time/weight_sync": Ph("weight_sync"),
    "time/trainer_waiting_for_data": Ph("wait"),
    "time/reward": Ph("reward", overlaps=True),
    "time/generation_waiting_for_trainer": Ph("wait", overlaps=True),
    "time/group_generation_max": Ph("rollout", overlaps=True),
    "time/group_generation_mean": Ph("rollout", parent="time/group_generation_max", overlaps=True),
    "time/group_generation_min": Ph("rollout", parent="time/group_generation_max", overlaps=True),
    **{f"time/weight_sync_{what}": Ph("weight_sync", parent="time/weight_sync") for what in ("mean", "max", "min")},
    "time/health_check": Ph("other"),
    "val/sequence_lengths": Col("len_mean"),
    "val/sequence_lengths_max": Col("len_max"),
    "val/sequence_lengths_min": Col("len_min"),
    "val/stop_rate": Col("truncated", -1.0, 1.0),
    "val/num_step_tokens": Col("tokens"),
    "scores": Col("reward"),
    "val/advantages_mean": Col("adv_mean"),
    "objective/kl1_avg": Col("kl"),
    "loss/total_avg": Col("loss", rank=-1),
}
