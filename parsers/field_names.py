"""The vocabulary of `parsers.fields`: how the words of a key are spelled, and what whole keys mean.

Collected from the print statements and logs of hand-written GRPO and PPO loops and of the open frameworks.
"""

from __future__ import annotations

from typing import Final

#: One spelling for the words of a key (after splitting CamelCase, blanks, `_`, `-` and `.`, in lower case).
WORDS: Final = {
    "avg": "mean", "average": "mean", "averaged": "mean", "ave": "mean", "mu": "mean",
    "maximum": "max", "minimum": "min", "stdev": "std", "stddev": "std", "sd": "std",
    "rew": "reward", "rews": "reward", "rewards": "reward", "rmean": "reward", "scores": "score",
    "lens": "len", "length": "len", "lengths": "len", "lenght": "len", "lenghts": "len",
    "token": "tok", "tokens": "tok", "toks": "tok",
    "resp": "response", "responses": "response", "completions": "completion", "comp": "completion",
    "replies": "reply", "outputs": "output", "generated": "generation", "generations": "generation",
    "answers": "answer", "sequences": "sequence", "seq": "sequence", "seqs": "sequence", "episodes": "episode",
    "rollouts": "rollout", "trajectories": "trajectory", "samples": "sample", "groups": "group", "prompts": "prompt",
    "advs": "adv", "advantage": "adv", "advantages": "adv", "grp": "group",
    "accuracy": "acc", "accuracies": "acc", "accs": "acc", "successes": "success", "succ": "success",
    "ratios": "ratio", "frac": "fraction", "prob": "probs", "logprob": "logprobs", "logp": "logprobs",
    "logps": "logprobs", "gradient": "grad", "gradients": "grad", "grads": "grad", "norms": "norm", "gnorm": "grad_norm",
    "gn": "grad_norm", "grdn": "grad_norm", "gradnorm": "grad_norm", "div": "divergence", "kld": "kl", "losses": "loss", "ent": "entropy",
    "memory": "mem", "vram": "mem", "second": "seconds", "sec": "seconds", "secs": "seconds", "iters": "iter",
    "iteration": "iter", "iterations": "iter", "it": "iter", "steps": "step", "updates": "update", "updt": "update", "epochs": "epoch", "epch": "epoch",
    "ckpt": "checkpoint", "checkpoints": "checkpoint", "validation": "eval", "val": "eval", "valid": "eval",
    "evaluation": "eval", "evals": "eval", "evaluations": "eval", "test": "eval", "testing": "eval", "reference": "ref", "timing": "time", "timings": "time",
    "times": "time", "duration": "time", "durations": "time", "dur": "time", "walltime": "wall_time", "wallclock": "wall_clock", "cumulative": "cum", "secondes": "seconds",
    "learning": "learning", "lrs": "lr", "clipped": "clip", "clipping": "clip", "clips": "clip", "weights": "weight",
    "truncation": "truncated", "trained": "train", "updated": "update", "sampled": "sample", "truncate": "truncated", "trunc": "truncated",
}  # fmt: skip

#: Chinese labels, longest first when applied.
CHINESE: Final = {
    "平均": " mean ", "均值": " mean ", "最大": " max ", "最小": " min ", "标准差": " std ", "总步数": " total steps ",
    "奖励": " reward ", "得分": " score ", "分数": " score ", "回复": " response ", "响应": " response ",
    "回答": " response ", "输出": " response ", "生成": " generation ", "补全": " completion ", "长度": " len ",
    "准确率": " acc ", "正确率": " acc ", "成功率": " acc ", "解题率": " acc ", "优势": " adv ", "损失": " loss ",
    "学习率": " lr ", "梯度范数": " grad norm ", "熵": " entropy ", "截断率": " truncated ", "截断比例": " truncated ",
    "比例": " fraction ", "显存": " mem ", "耗时": " time ", "用时": " time ", "时间": " time ", "已用": " elapsed ",
    "已耗时": " elapsed ", "总耗时": " elapsed ", "总用时": " elapsed ", "剩余": " remaining ", "预计": " eta ",
    "本步": " step ", "单步": " step ", "每步": " step ", "样本": " sample ", "本轮": " this ", "当前": " current ",
    "步骤": " step ", "步数": " step ", "步": " step ", "轮次": " episode ", "回合": " episode ", "轮": " episode ",
    "采样": " sampling ", "训练": " train ", "更新": " update ", "散度": " divergence ", "裁剪": " clip ",
    "零方差": " zero std ", "吞吐": " throughput ", "秒": " seconds ", "每": " per ", "组": " group ", "率": " rate ",
}  # fmt: skip

#: Words that change nothing about what a metric is.
NEUTRAL: Final = frozenset({
    "train", "training", "actor", "metrics", "metric", "stats", "grpo", "ppo", "rloo", "rl", "batch", "current",
    "cur", "this", "global", "system", "trainer", "learner", "agent", "objective", "optim", "data", "scalars",
    "env", "policy", "all", "log", "info", "summary", "now", "perf"
})  # fmt: skip
#: Path heads that may be dropped from a key (`train/loss`, `actor/entropy`); others (`acc/`, `rewards/`, `eval/`) may not.
HEADS: Final = NEUTRAL | frozenset({
    "rollout", "perf", "main", "performance", "token", "tokens", "completions"
}) - {"env"}  # fmt: skip

#: Whole keys, in their normal spelling (`parsers.fields.spell`): (kind, name, rank). Lower ranks win.
#: kind "extra": not what it looks like; kept under its own name only.
EXACT: Final[dict[str, tuple[str, str, int]]] = {
    # --- the step
    **dict.fromkeys(("step", "global_step", "train_step", "training_step", "current_step", "optimizer_step", "step_num",
                     "step_idx", "progress/step", "training/global_step", "opt_step", "rl_step", "grpo_step"), ("step", "step", 0)),
    **dict.fromkeys(("update", "iter", "rollout_id", "train_iter", "grpo_iter", "rl_iter", "ppo_iter", "iter_num", "update_step",
                     "training_iter"), ("step", "step", 1)),
    "timestep": ("step", "step", 5),
    **dict.fromkeys(("episode", "rollout_step", "rollout_idx", "epoch_step", "batch_idx", "i"), ("step", "step", 3)),
    **dict.fromkeys(("global_batch_idx", "global_batch", "global_iteration", "global_iter", "global_update", "global_episode"),
                    ("step", "step", 2)),
    "batch": ("step", "step", 4), "round": ("step", "step", 3), "": ("extra", "", 0),
    **dict.fromkeys(("total_step", "max_step", "total_iter", "total_training_step",
                     "total_update", "num_train_step", "total_num_step"), ("total", "total_steps", 0)),
    "step/max_step": ("step", "step", 0), "global_step/max_step": ("step", "step", 0),
    "epoch": ("column", "epoch", 0), "epoch_idx": ("column", "epoch", 1), "progress/epoch": ("column", "epoch", 0),
    # --- reward
    "r": ("column", "reward", 2), "reward": ("column", "reward", 0), "reward/mean": ("column", "reward", 0),
    "critic/reward/mean": ("column", "reward", 0), "critic/score/mean": ("column", "reward", 1),
    "mean_env_reward": ("column", "reward", 0), "rollout/raw_reward": ("column", "reward", 1),
    "mean_reward_score": ("column", "reward", 1),
    "raw_reward": ("column", "reward", 1), "objective/score": ("column", "reward", 1), "total_reward_mean": ("column", "reward", 1),
    "ep_reward_mean": ("column", "reward", 1), "episode_reward_mean": ("column", "reward", 1), "mean_episode_reward": ("column", "reward", 1),
    "eprewmean": ("column", "reward", 1), "mean_ep_ret": ("column", "reward", 1),
    "objective/rlhf_reward": ("column", "reward", 0), "rlhf_reward": ("column", "reward", 0), "total_reward/mean": ("column", "reward", 1),
    "mean_total_reward": ("column", "reward", 1), "reward/total/mean": ("column", "reward", 0),
    "env/all/reward/total": ("column", "reward", 1), "recent_mean_reward": ("column", "reward", 5),
    "reward/total": ("column", "reward", 2), "reward_total": ("column", "reward", 2), "group_std": ("column", "reward_std", 2),
    "return": ("extra", "", 0), "returns": ("extra", "", 0),
    "train_reward/total/std": ("column", "reward_std", 1),
    # --- accuracy
    **dict.fromkeys(("acc", "success_rate", "solve_rate", "fraction_correct", "pass@1", "pass_at_1", "pass_rate", "solved_rate", "answer_acc", "train_acc",
                     "acc/mean", "critic/correct/mean", "correct_rate", "correct_fraction", "correctness", "reward/all_correct_ratio",
                     "reward_>_0_fraction", "reward>_0_fraction", "reward>0_fraction", "positive_reward_fraction"),
                    ("column", "acc", 0)),
    **dict.fromkeys(("success", "solve", "solved", "correct", "ans", "win_rate",
                     "percent_correct", "exact_match", "em"), ("column", "acc", 1)),
    # --- things that are not what they look like
    **dict.fromkeys(("wait_time_ratio", "clip_ratio_low", "clip_ratio_high", "minmax_diff", "step_taken", "too_short",
                     "kl_coef", "kl_beta", "kl_target", "kl_weight", "entropy_coef", "clip_range", "clip_eps", "solvable",
                     "num_generation_tok", "acc/len", "reward_fraction", "success_step"), ("extra", "", 0)),
    # --- policy
    **dict.fromkeys(("ratio", "policy_ratio", "is_ratio", "importance_ratio", "probs_ratio", "ratio_mean", "mean_ratio",
                     "eval/ratio", "importance_sampling_ratio", "importance_weight"), ("column", "ratio", 0)),
    **dict.fromkeys(("kl", "kl_ref", "ref_kl", "kl_divergence", "kl_to_ref", "kl_mean", "kl_mean_mean", "objective/kl"),
                    ("column", "kl", 0)),
    "kl_loss": ("column", "kl", 2), "kl_penalty": ("column", "kl", 2), "policykl": ("column", "kl", 1),
    "approx_kl": ("column", "kl", 4), "approxkl": ("column", "kl", 4), "ppo_kl": ("column", "kl", 5),
    "approx_policy_kl": ("column", "kl", 4), "approx_kl_divergence": ("column", "kl", 4), "mismatch_kl": ("column", "kl", 6),
    **dict.fromkeys(("kl1", "objective/kl1_mean", "kl1_mean"), ("column", "kl", 3)),
    **dict.fromkeys(("clipfrac", "clip_fraction", "pg_clipfrac", "policy_clipfrac", "ppo_clipfrac", "ratio_clip_fraction",
                     "ppo_ratio_clipfrac", "clipfrac_mean", "policy/clipfrac_mean", "clip_ratio/region_mean", "clip_total",
                     "clip/total", "total_clip"), ("column", "clipfrac", 0)),
    "clip_ratio": ("column", "clipfrac", 1), "clip": ("column", "clipfrac", 2), "clip_rate": ("column", "clipfrac", 1),
    "vf_clipfrac": ("extra", "", 0), "eval/clipfrac_mean": ("extra", "", 0),
    **dict.fromkeys(("fraction_reward_zero_std", "zero_std_group_ratio", "zero_std", "zero_std_fraction", "zero_std_ratio",
                     "zero_adv", "0adv", "zero_variance_fraction", "zero_var_fraction", "0_adv", "dead_group_fraction",
                     "zero_adv_fraction", "degenerate_fraction", "zero_signal_fraction", "fraction_zero_std", "fraction_group_zero_std", "zero_std_group_fraction"),
                    ("column", "zero_std", 0)),
    **dict.fromkeys(("group_with_signal", "informative_group", "effective_signal_fraction", "effective_group",
                     "useful_group", "nonzero_adv_fraction", "group_with_signal_fraction"), ("complement", "zero_std", 1)),
    "entropy": ("column", "entropy", 0), "h": ("column", "entropy", 2), "entropy_loss": ("column", "entropy", 3),
    "entropy/all/mean": ("column", "entropy", 0), "mean_entropy": ("column", "entropy", 0),
    # --- loss, gradient, learning rate
    "loss": ("column", "loss", 0), "total_loss": ("column", "loss", 0), "mean_loss": ("column", "loss", 0),
    "train_loss": ("column", "loss", 0), "loss/mean": ("column", "loss", 0), "loss/total_mean": ("column", "loss", 0),
    **dict.fromkeys(("policy_loss", "pg_loss", "actor_loss", "grpo_loss", "ppo_loss", "surrogate_loss", "pi_loss", "loss_pi", "rl_loss",
                     "loss/policy_mean"), ("column", "loss", 1)),
    "grad_norm": ("column", "grad_norm", 0),
    **dict.fromkeys(("lr", "learning_rate", "policy_lr", "lr_pg_0"), ("column", "lr", 0)),
    "actor_lr": ("column", "lr", 0),
    # --- truncation
    **dict.fromkeys(("truncated", "truncated_ratio", "truncated_rate", "truncated_fraction", "truncated_completion_ratio",
                     "hit_limit", "hit_max_tok_ratio", "completion_hit_max_fraction", "hit_max_fraction", "completion_clip_ratio",
                     "completion/clip_ratio", "response_len/clip_ratio", "response_len_clip_ratio", "len_clip_ratio",
                     "total_response_len/clip", "max_len_fraction", "overlong_fraction", "overlong_ratio", "overlong_rate",
                     "clip_response_fraction", "hit_max", "at_limit", "max_len_hit_rate", "len_cap_fraction", "hit_max_len_fraction", "at_max_len_fraction", "truncated_mean", "truncated_response_fraction",
                     "response/aborted_ratio_"), ("column", "truncated", 0)),
    **dict.fromkeys(("stop_rate", "eval/stop_rate", "finished_fraction", "eos_rate", "eos_fraction", "finished_rate",
                     "finish_rate"), ("complement", "truncated", 1)),
    # --- counts
    **dict.fromkeys(("truncated_count", "num_truncated", "n_truncated", "truncated_num"), ("count", "truncated", 2)),
    **dict.fromkeys(("num_finished_episode", "num_finished", "n_finished", "finished_count", "num_stop_tok", "eval/num_eos_tok",
                     "num_eos_tok"), ("uncount", "truncated", 2)),
    **dict.fromkeys(("sample", "num_sample", "n_sample", "num_rollout", "n_rollout", "rollout_count", "num_completion",
                     "n_completion", "num_response", "num_trajectory", "num_sequence"), ("column", "sequences", 1)),
    **dict.fromkeys(("num_prompt", "n_prompt", "prompts_per_step"), ("column", "prompts", 1)),
    # --- moments and clocks
    **dict.fromkeys(("timestamp", "timestamp_s", "ts", "unix_time", "unix_ts", "time_unix", "epoch_time", "epoch_seconds", "datetime", "created_at", "logged_at", "_timestamp"),
                    ("at", "at", 0)),
    **dict.fromkeys(("elapsed", "elapsed_time", "elapsed_seconds", "time_elapsed", "total_time", "total_elapsed", "runtime",
                     "wall_time", "wall", "time_since_start", "_runtime", "train_time_total", "cum_time", "since_start", "run_time",
                     "wall_clock", "total_runtime", "total_run_time", "total_wall", "time_total"), ("clock", "elapsed_s", 0)),
    **dict.fromkeys(("time", "dt", "t", "took", "cost", "seconds", "end_to_end_latency", "e2e_latency", "e2e_time"), ("clock", "step_s", 1)),
    **dict.fromkeys(("step_time", "time_per_step", "time/step", "time/total", "time_s/step", "iter_time", "time_per_iter",
                     "perf/time_per_step", "step_time_s", "step_s", "time/train/step_s", "step_total", "time_step", "per_step",
                     "seconds_per_step", "s_per_step", "step_seconds", "time/iter", "total_step_time", "cycle_time",
                     "done_in", "completed_in", "finished_in", "complete_in", "iter_seconds"),
                    ("column", "step_s", 0)),
    **dict.fromkeys(("eta", "remaining", "remaining_time", "time_left", "eta_s", "eta_seconds", "left", "time_remaining",
                     "eta_time", "remaining_s", "remaining_seconds"), ("remaining", "remaining_s", 0)),
    **dict.fromkeys(("train_speed", "mean_step_time", "mean_time", "step_time_mean", "time_mean", "mean_step_s"),
                    ("mean_step", "step_s", 0)),
    "mfu": ("extra", "", 0), "bf16_mfu": ("extra", "", 0),
}  # fmt: skip

#: Words of a timed part -> canonical phase, in order of precedence (a key may hold words of several).
PHASES: Final[tuple[tuple[str, frozenset[str]], ...]] = tuple(
    (phase, frozenset(words.split()))
    for phase, words in (
        ("wait", "wait waiting idle stall stalled queue blocked"),
        ("evaluation", "eval"),
        ("checkpoint", "checkpoint save saving"),
        ("weight_sync", "sync weight broadcast push transfer move reload"),
        ("sleep_wake", "sleep wake wakeup sleeping offload onload release flush"),
        ("ref_logprob", "ref"),
        ("old_logprob", "logprobs old log"),
        ("update_critic", "critic"),
        ("values", "values value"),
        ("advantage", "adv"),
        ("reward", "reward score scoring verify verifier verification grade grading rm judge"),
        (
            "rollout",
            "rollout gen generate generation generating sample sampling inference decode vllm sglang collect trajectory "
            "completion generate_sequences infer",
        ),
        (
            "update",
            "update train training backward bwd forward fwd actor optimizer optim opt policy grad learn learner loss fit "
            "backprop gradient",
        ),
        ("data", "data load loading dataloader fetch preprocess tokenize tokenization prepare shard collate"),
    )
)
#: What counts steps under the head of times (`time/iterations` of Stable-Baselines3): the rank as the step's number.
COUNTED: Final = {"total_timesteps": 1, "timesteps": 1, "iterations": 2, "updates": 3, "steps": 4, "episodes": 5}
#: Words of counts and rates that are no seconds, whatever they are grouped with.
NO_TIMES: Final = frozenset(
    {"fps", "sps", "speed", "throughput", "hz", "count", "calls", "samples", "epochs", "frames", "games", "tok"}
)
#: Words that say a key is a time. `t` only in front, `s` and `ms` only at the end.
TIME_WORDS: Final = frozenset({
    "time", "seconds", "took", "latency"
})  # fmt: skip
TIMED: Final = TIME_WORDS | {"elapsed"}
TIME_UNITS: Final = TIME_WORDS | {"s", "ms", "h", "hours", "minutes", "mins", "clock"}
#: Words of a key that times the whole run so far.
CLOCK_WORDS: Final = TIME_UNITS | {
    "elapsed",
    "wall",
    "cum",
    "since",
    "start",
    "total",
    "train",
    "training",
    "run",
    "log",
}
STEP_WORDS: Final = frozenset({
    "step", "iter", "total", "full", "whole", "all", "per", "cycle"
})  # fmt: skip
#: Words over a group of times that say nothing of what was timed: `phase_seconds/step_total`, `timers/rollout`.
GROUP_WORDS: Final = frozenset({
    "phase", "phases", "timer", "timers", "stage", "stages", "profile", "profiling", "breakdown", "span", "spans"
})  # fmt: skip
LEN_WORDS: Final = frozenset({
    "response", "completion", "reply", "output", "generation", "gen", "answer", "rollout", "text"
})  # fmt: skip

#: The units of a value: (what it measures, factor to the canonical unit).
UNITS: Final[dict[str, tuple[str, float]]] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "秒"), ("time", 1.0)),
    **dict.fromkeys(("ms", "msec", "milliseconds", "毫秒"), ("time", 0.001)),
    **dict.fromkeys(("us", "µs", "μs"), ("time", 1e-06)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分", "分钟"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "小时"), ("time", 3600.0)),
    **dict.fromkeys(("d", "day", "days", "天"), ("time", 86400.0)),
    **dict.fromkeys(("s/step", "s/it", "s/iter", "sec/step", "secs/step", "sec/it", "s/update", "seconds/step", "秒/步"), ("mean_step", 1.0)),
    **dict.fromkeys(("ms/step", "ms/it", "ms/iter"), ("mean_step", 0.001)),
    **dict.fromkeys(("it/s", "iter/s", "steps/s", "step/s", "its/s", "steps/sec", "it/sec"), ("step_rate", 1.0)),
    **dict.fromkeys(("tok/s", "toks/s", "tokens/s", "token/s", "tok/sec", "tokens/sec", "tps", "t/s", "tokens/second"), ("tok_s", 1.0)),
    **dict.fromkeys(("ktok/s", "k tok/s", "ktokens/s", "k toks/s", "k tokens/s", "k tok/sec", "k toks/sec", "k tokens/sec"), ("tok_s", 1000.0)),
    "%": ("share", 0.01),
    **dict.fromkeys(("tok", "toks", "tokens", "token", "tokens/sample", "tok/sample", "tokens/seq", "tks"), ("len", 1.0)),
    **dict.fromkeys(("w", "words", "chars", "characters", "字", "字符"), ("words", 1.0)),
    **dict.fromkeys(("gb", "gib", "g"), ("mem", 1.0)),
    **dict.fromkeys(("mb", "mib"), ("mem", 1 / 1024)),
    **dict.fromkeys(("tb", "tib"), ("mem", 1024.0)),
    **dict.fromkeys(("kb", "kib"), ("mem", 1 / 1024 ** 2)),
    "k": ("kilo", 1e3),
}  # fmt: skip

#: Keys of printed configurations -> settings of `timeledger.schema.SETTINGS`.
SETTINGS: Final = {
    **dict.fromkeys(("total_step", "max_step", "num_step", "num_train_step", "total_training_step", "step", "train_step",
                     "num_training_step", "n_step", "num_iter", "total_iter", "max_iter"), "total_steps"),
    **dict.fromkeys(("epoch", "num_epoch", "num_train_epoch", "n_epoch"), "epochs"),
    **dict.fromkeys(("group_size", "num_generation", "g", "k_sample", "num_rollout_per_prompt", "n_sample_per_prompt",
                     "sample_per_prompt", "num_sample_per_prompt", "rollout_per_prompt", "num_answer_per_question",
                     "group"), "group_size"),
    **dict.fromkeys(("max_tok", "max_new_tok", "max_completion_len", "max_gen_len", "max_response_len", "max_generation_len",
                     "max_gen_tok", "max_output_tok", "max_completion_tok"), "max_tokens"),
    **dict.fromkeys(("max_prompt_len", "max_prompt_tok"), "max_prompt_tokens"),
    **dict.fromkeys(("prompt_per_step", "num_prompt_per_step", "num_question_per_batch", "question_per_step",
                     "prompts_per_batch", "prompt_per_batch"), "prompts_per_step"),
    **dict.fromkeys(("log_freq", "log_every", "logging_step", "log_interval", "log_step"), "logging_steps"),
    **dict.fromkeys(("eval_freq", "eval_every", "eval_step", "eval_interval"), "eval_steps"),
    **dict.fromkeys(("save_freq", "save_every", "save_step", "save_interval", "checkpoint_every", "checkpoint_freq",
                     "checkpoint_interval"), "save_steps"),
    **dict.fromkeys(("learning_rate", "lr"), "learning_rate"),
    **dict.fromkeys(("beta", "kl_coef", "kl_beta", "kl_weight"), "beta"),
    "temperature": "temperature", "gradient_accumulation_step": "grad_accumulation", "grad_accumulation": "grad_accumulation",
    "grad_accum": "grad_accumulation", "grad_accum_step": "grad_accumulation", "grad_accumulation_step": "grad_accumulation",
    **dict.fromkeys(("model", "model_name", "model_path", "model_name_or_path", "model_id", "base_model"), "model"),
    **dict.fromkeys(("gpu", "num_gpu", "n_gpu", "world_size", "num_gpus"), "gpus"),
    "gpu_mem_utilization": "gpu_memory_utilization", "use_vllm": "use_vllm", "vllm_mode": "vllm_mode",
    "max_model_len": "max_model_len", "max_num_sequence": "max_num_seqs", "algorithm": "algorithm", "algo": "algorithm",
}  # fmt: skip
