"""Consoles of RL frameworks in each one's own shape, made here: a function a framework, values from formulas tests can use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

STEPS = 5


def length(step: int) -> float:
    return 100.5 + 7.25 * step


def reward(step: int) -> float:
    return round(0.31 + 0.043 * step, 4)


def took(step: int) -> float:
    return round(21.5 + 1.25 * step, 2)


def clock(step: int, start_minute: int = 0) -> str:
    """HH:MM:SS of a step's end, half a minute a step."""
    seconds = 10 * 3600 + 60 * start_minute + 30 * step
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


# --- AReaL -----------------------------------------------------------------------------------------------------


def areal_tags(step: int, actor: str = "ppo_actor", scope: str = "update/") -> dict[str, float]:
    return {
        f"{actor}/{scope}actor_loss/avg": -0.0005 * step, f"{actor}/{scope}grad_norm": 0.4 + 0.1 * step,
        f"{actor}/{scope}lr": 1.7e-5, f"{actor}/{scope}clip_ratio/avg": 0.01 * step,
        f"{actor}/{scope}importance_weight/avg": 1.001, f"{actor}/{scope}entropy/avg": 0.5 - 0.01 * step,
        f"{actor}/seq_len/avg": length(step) + 90.0, f"{actor}/seq_len/max": 412.0, f"{actor}/prompt_len/avg": 90.0,
        f"{actor}/no_eos_ratios/avg": 0.125, f"{actor}/n_tokens": 8 * (length(step) + 90.0),
        f"{actor}/task_reward/avg": reward(step), f"{actor}/advantages/avg": 0.002,
        "timeperf/rollout": 0.02, "timeperf/recompute_logp": 0.5, "timeperf/compute_advantage": 0.1,
        "timeperf/train_step": 3.5 + step, "timeperf/update_weights": 6.25, "timeperf/save": 1e-4, "rollout/reward": 0.9,
    }  # fmt: skip


def box(tags: dict[str, float], columns: int = 4, digits: str = ".4e") -> list[str]:
    """A table of names and numbers, column by column, as tabulate draws its fancy grid."""
    items = list(tags.items())
    height = -(-len(items) // columns)
    cells = [
        [part for place in range(row, len(items), height) for part in (items[place][0], f"{items[place][1]:{digits}}")]
        for row in range(height)
    ]
    width = max(len(cell) for row in cells for cell in row)
    full = [row + [""] * (2 * columns - len(row)) for row in cells]
    lines = ["│ " + " │ ".join(cell.ljust(width) for cell in row) + " │" for row in full]
    edge = "═" * (width + 2)
    between = "├" + "┼".join(["─" * (width + 2)] * 2 * columns) + "┤"
    body = [lines[0], *(part for line in lines[1:] for part in (between, line))]
    return ["╒" + "╤".join([edge] * 2 * columns) + "╕", *body, "╘" + "╧".join([edge] * 2 * columns) + "╛"]


def areal_step(step: int, total: int, tags: dict[str, float], minute: int = 0) -> list[str]:
    at = f"20260301-{clock(step, minute)}.250"
    return [
        f"{at} StatsLogger INFO: Epoch 1/1 Step {step}/{total} Train step {step}/{total} done.",
        f"{at} StatsLogger INFO: Stats (1/1):",
        f"{at} StatsLogger INFO:",
        *box(tags),
    ]


def docker(lines: list[str], minute: int = 0) -> str:
    """Each line behind a container's stamp, a hundredth of a second after the other within a step's half minute."""
    out, step = [], 0
    for place, line in enumerate(lines):
        step += " done." in line
        out.append(f"2026-03-01T{clock(step, minute)}.{place % 100:02d}0000000Z {line}\n")
    return "".join(out)


def areal(steps: int = STEPS, total: int = 20, minute: int = 0) -> str:
    start = f"20260301-{clock(0, minute)}.000 Local Scheduler INFO: LocalLauncher: experiment_name=tiny, trial_name=t, is_recover_run=False"
    lines = [start]
    for step in range(1, steps + 1):
        lines += areal_step(step, total, areal_tags(step), minute)
    return docker(lines, minute)


def areal_master(steps: int = STEPS) -> str:
    """The master of version 0.3: boxes first, then the line of the step."""
    lines = []
    for step in range(1, steps + 1):
        at = f"20260301-{clock(step)}.500"
        tags = {key: value for key, value in areal_tags(step).items() if not key.startswith("timeperf/")}
        lines += [f"{at} master worker INFO: RPC name actor_train returns (1/2)", *box(tags)]
        lines += [f"{at} master worker INFO: RPC name actor_train returns (2/2)", *box({"ppo_actor/update/lr": 9.0})]
        lines += [f"{at} master worker INFO: Model rpc actor_train finished. Detailed time stats:",
                  *box({"timeperf/actor_train_step/main": 0.4 * took(step), "timeperf/actor_inference/main": 2.5}, digits=".2f")]  # fmt: skip
        lines.append(
            f"{at} master worker INFO: Epoch 1/2 step {step}/10 (global step {step}) finishes. #End to end# execution time: "
            f"*{took(step):.3f}*s. Total time consumption: {30.0 * step:.3f}s. Estimated remaining time: {30.0 * (20 - step):.3f}s. "
        )
    return "".join(f"{line}\n" for line in lines)


# --- NeMo-RL ---------------------------------------------------------------------------------------------------

NEMO_CONFIG = """\
Final config:
{'checkpointing': {'enabled': True, 'save_period': 10},
 'cluster': {'gpus_per_node': 8, 'num_nodes': 2},
 'grpo': {'max_num_epochs': 1,
          'max_num_steps': 40,
          'num_generations_per_prompt': 16,
          'num_prompts_per_step': 32,
          'val_period': 5},
 'policy': {'generation': {'max_new_tokens': 512,
                           'stop_strings': None,
                           'vllm_cfg': {'enforce_eager': False,
                                        'gpu_memory_utilization': 0.6,
                                        'tensor_parallel_size': 1}},
            'model_name': 'tiny/model'}}
"""


def nemo_results(step: int) -> str:
    total = took(step)
    rows = {"generation": 0.5 * total, "policy_training": 0.3 * total, "prepare_for_generation/total": 1.5,
            "prepare_for_generation/transfer_and_update_weights": 1.2, "policy_and_reference_logprobs": 1.0,
            "my_forks_filter": 0.25}  # fmt: skip
    timers = "".join(f"  • {name}: {value:.2f}s ({value / total * 100:.1f}%)\n" for name, value in rows.items())
    return (
        f"\n📊 Training Results:\n  • Loss: {0.01 * step:.4f}\n  • Generation KL Error: 0.0008\n  • Avg Reward: {reward(step):.4f}\n"
        f"  • Mean Generation Length: {length(step):.4f}\n\n⏱️  Timing:\n  • Total step time: {total:.2f}s\n{timers}"
        "\n🔍 Performance Metrics:\n  • Mean Total Tokens per Sample: 310.50\n  • Throughputs (per GPU):\n"
        "    - E2E (Tokens/sec/gpu): 812.25\n"
    )


def nemo_validation(step: int) -> str:
    return (
        f"▶ Starting validation at step {step}...\n\n📊 Validation Results:\n    • Accuracy: {0.4 + 0.01 * step:.4f}\n"
        "    • Average response length: 140.5 tokens\n    • Samples processed: 64\n\n  ⏱️  Validation Timing:\n"
        "    • Total validation time: 6.50s\n"
    )


def nemo_step(step: int, of: int, inside: str = "") -> str:
    bar = "=" * 25
    return (
        f"\n{bar} Step {step}/{of} {bar}\n▶ Preparing batch...\n▶ Generating responses for batch of size 512...\n"
        f"▶ Computing logprobs...\n▶ Training policy...\n{inside}{nemo_results(step)}"
    )


def nemo_rl(steps: int = STEPS) -> str:
    bar = "=" * 60
    head = f"{NEMO_CONFIG}\n{bar}\n                  SETUP COMPLETE\n  Total setup time: 123.4s\n{bar}\n\n"
    return head + "".join(
        nemo_step(step, 20, nemo_validation(step) if step == 3 else "") for step in range(1, steps + 1)
    )


# --- slime -----------------------------------------------------------------------------------------------------

SLIME_ARGUMENTS = """\
------------------------ arguments ------------------------
  actor_num_gpus_per_node ......................... 8
  actor_num_nodes ................................. 1
  advantage_estimator ............................. grpo
  colocate ........................................ True
  eval_interval ................................... 2
  hf_checkpoint ................................... /models/tiny
  lr .............................................. 1e-06
  n_samples_per_prompt ............................ 8
  num_rollout ..................................... 20
  rollout_batch_size .............................. 16
  rollout_max_response_len ........................ 4096
  save_interval ................................... None
-------------------- end of arguments ---------------------
"""


def slime_rollout(step: int) -> dict[str, float]:
    return {
        "rollout/response_len/mean": length(step), "rollout/response_len/max": 4096, "rollout/response_len/min": 17,
        "rollout/zero_std/count_0": 2, "rollout/zero_std/count_1": 2, "rollout/truncated_ratio": 0.25,
        "perf/rollout_time": 0.5 * took(step), "perf/tokens_per_gpu_per_sec": 239.5,
    }  # fmt: skip


def slime_trainer(step: int) -> dict[str, float]:
    wait, train = 0.7 * took(step), 0.3 * took(step)
    return {
        "perf/sleep_time": 1.5, "perf/update_weights_time": 0.5, "perf/wake_up_time": 0.75, "perf/data_preprocess_time": 0.01,
        "perf/train_wait_time": wait, "perf/log_probs_time": 0.4, "perf/actor_train_time": train - 0.5, "perf/train_time": train,
        "perf/step_time": wait + train, "perf/wait_time_ratio": 0.7,
    }  # fmt: skip


def slime_updates(step: int) -> list[dict[str, float]]:
    return [
        {"train/loss": 0.01 * step, "train/pg_clipfrac": 0.0, "train/grad_norm": 0.5, "train/lr-pg_0": 1e-6, "train/step": 2 * step},
        {"train/loss": 0.03 * step, "train/pg_clipfrac": 0.02, "train/grad_norm": 0.7, "train/lr-pg_0": 1e-6, "train/step": 2 * step + 1},
    ]  # fmt: skip


def slime_lines(step: int) -> list[str]:
    at, actor, manager = f"[2026-03-01 {clock(step)}]", "(MegatronTrainRayActor pid=77) ", "(RolloutManager pid=61) "
    told = {"rollout/response_lengths": length(step), "rollout/total_lengths": length(step) + 85.0, "rollout/rewards": 1e-9,
            "rollout/raw_reward": reward(step), "rollout/advantages": 1e-9, "rollout/truncated": 0.25}  # fmt: skip
    first, second = slime_updates(step)
    return [
        f"{manager}{at} rollout.py:1191 - perf {step}: {slime_rollout(step)}",
        f"{actor}{at} timer.py:32 - Timer train_wait end (elapsed: {0.7 * took(step):.1f}s)",
        f"{actor}{at} data.py:212 - rollout {step}: {told}",
        f"{actor}{at} model.py:660 - step {2 * step}: {first}",
        f"{actor}{at} model.py:660 - step {2 * step + 1}: {second}",
        f"{actor}{at} train_metric_utils.py:44 - perf {step}: {slime_trainer(step)}",
    ]


def slime(steps: int = STEPS) -> str:
    lines = [line for step in range(steps) for line in slime_lines(step)]
    evaluation = "(RolloutManager pid=61) [2026-03-01 10:00:00] rollout.py:1170 - eval 0: {'eval/aime': 0.25, 'eval/aime/response_len/mean': 900.5}"
    return SLIME_ARGUMENTS + "".join(f"{line}\n" for line in [evaluation, *lines])


# --- prime-rl --------------------------------------------------------------------------------------------------


def prime_rl(steps: int = STEPS) -> str:
    """The shape of late 2025, orchestrator and trainer in one file, over midnight."""
    out = ["23:58:30    INFO Starting orchestrator\n"]
    for step in range(steps):
        seconds = 23 * 3600 + 59 * 60 + 30 * step
        now = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        out.append(f"{now}    INFO Starting orchestrator step {step}\n")
        out.append(f"Generating rollouts (train): 100%|##########| 128/128 [00:20<00:00,  6.40it/s]{now}    INFO Orchestrator paused: "
                   f"waiting for trainer process to complete checkpoint {step} (>1 step(s) ahead). Training is progressing normally.\n"
                   f"{now}    INFO Orchestrator resumed: checkpoint {step} ready (after 3.00s)\n" if step == 2 else "")  # fmt: skip
        out.append(
            f"{now} SUCCESS Step {step} | Time: {took(step):.2f}s | Reward: {reward(step):.4f} | Throughput: 2408.9 tokens/s | "
            f"Seq. Length: {length(step):.1f} tokens/sample | Async Level: 1 | Max. Off-Policy Level: 0\n"
        )
        out.append(
            f"{now} SUCCESS Step {step} | Time: 8.25s | Loss: {0.001 * step:.4f} | Entropy: 0.3141 | Mismatch KL: 0.0008 | Grad. Norm: 0.1234 "
            "| LR: 1.00e-06 | Throughput: 10234 tokens/s | MFU: 12.3% | Peak Mem.: 61.2 GiB\n"
        )
    return "".join(out)


# --- ROLL ------------------------------------------------------------------------------------------------------


def roll_line(step: int, metrics: object) -> str:
    text = metrics if isinstance(metrics, str) else json.dumps(metrics, ensure_ascii=False)
    return f"[2026-03-01 {clock(step)}] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 1234] {text}\n"


def roll_metrics(step: int) -> dict[str, float]:
    return {
        "time/step_total": took(step - 1) if step else 0.0, "time/step_stop_server": 0.1, "time/step_model_update": 3.4,
        "time/step_generate": 0.5 * took(step), "time/ref_log_probs_values": 2.1, "time/old_log_probs": 2.0,
        "time/step_train": 0.2 * took(step), "time/actor_train/train_step/onload": 0.3, "math/time/reward_postprocess": 0.05,
        "system/global_step": step, "system/batch_size": 64, "system/samples": 64 * (step + 1), "system/tps/tps": 3412.0,
        "critic/score/mean": reward(step), "token/response_length/mean": length(step), "token/response_length/max": 1024.0,
        "actor/pg_loss@sum": 0.0012, "actor/ppo_ratio_clipfrac@sum": 0.001, "actor/approxkl@sum": float("nan"),
    }  # fmt: skip


def roll(steps: int = STEPS) -> str:
    examples = [{"prompt": "What is 3/4 of 8?", "response": "time/step_total is 6 {x}"}]
    return "".join(
        roll_line(step, f"pipeline step {step} start...") + roll_line(step, examples) + roll_line(step, roll_metrics(step))
        + roll_line(step, f"pipeline step {step} finished")
        for step in range(steps)
    )  # fmt: skip


# --- SkyRL -----------------------------------------------------------------------------------------------------

SKY_CONFIG = """\
data:
  train_data:
  - /data/train.parquet
trainer:
  epochs: 2
  train_batch_size: 64
  policy:
    model:
      path: tiny/model
    optimizer_config:
      lr: 1.0e-06
  eval_interval: 2
generator:
  n_samples_per_prompt: 5
  sampling_params:
    max_generate_length: 1024
    temperature: 1.0
  inference_engine:
    gpu_memory_utilization: 0.8
"""


def sky_line(step: int, text: str, where: str = "skyrl.train.trainer:train:274") -> str:
    return f"(skyrl_entrypoint pid=99) 2026-03-01 {clock(step)}.431 | INFO     | {where} - {text}\n"


def sky_timer(step: int, name: str, seconds: float) -> str:
    return sky_line(step, f"Started: '{name}'") + sky_line(step, f"Finished: '{name}', time cost: {seconds:.2f}s")


def sky_step(step: int, *, save_inside: bool = True) -> str:
    total = took(step)
    status = {"final_loss": 0.01 * step, "policy_entropy": 0.5, "response_length": 1024.0, "policy_lr": 1e-6,
              "loss_metrics/clip_ratio": 0.003, "policy_kl": 0.001, "grad_norm": 0.4}  # fmt: skip
    save = sky_timer(step, "save_checkpoints", 2.25)
    return (
        sky_line(step, "Started: 'step'") + sky_timer(step, "generate", 0.5 * total)
        + sky_line(step, f"reward/avg_pass_at_5: 0.65, reward/avg_raw_reward: {reward(step)}, reward/mean_positive_reward: 0.5")
        + sky_line(step, "batch_num_seq: 320, batch_padded_seq_len: 1172")
        + sky_timer(step, "fwd_logprobs_values_reward", 2.5)
        + sky_line(step, f"avg_final_rewards: 0.13, avg_response_length: {length(step)}")
        + sky_line(step, "Started: 'train_critic_and_policy'") + sky_timer(step, "policy_train", 0.2 * total)
        + sky_line(step, f"Finished: 'train_critic_and_policy', time cost: {0.25 * total:.2f}s")
        + (save if save_inside and step == 2 else "") + sky_timer(step, "sync_weights", 1.25)
        + sky_line(step, f"Finished: 'step', time cost: {total:.2f}s") + sky_line(step, str(status), "skyrl.train.trainer:train:320")
        + (save if not save_inside and step == 2 else "") + (sky_timer(step, "eval", 9.5) if step % 2 == 0 else "")
    )  # fmt: skip


def skyrl(steps: int = STEPS, total: int = 20) -> str:
    config = SKY_CONFIG.splitlines(keepends=True)
    head = sky_line(0, config[0].strip(), "skyrl.train.entrypoints.main_base:run:258")
    head += "".join(f"(skyrl_entrypoint pid=99) {line}" for line in config[1:])
    head += sky_timer(0, "sync_weights", 4.0) + sky_timer(0, "eval", 10.0)
    out = [head, f"\rTraining Batches Processed:   0%|          | 0/{total} [00:00<?, ?it/s]\n"]
    for step in range(1, steps + 1):
        out.append(sky_step(step))
        out.append(
            f"\rTraining Batches Processed:  {100 * step // total}%|#  | {step}/{total} [{clock(step)[3:]}<09:00, 30.00s/it]\n"
        )
    return "".join(out)


def sky_tracked(step: int) -> str:
    """The console tracker: a dict over several lines, floats as text."""
    values: dict[str, object] = {
        "generate/avg_num_tokens": f"{length(step):.4f}", "generate/max_num_tokens": 1024, "reward/avg_raw_reward": f"{reward(step):.4f}",
        "timing/generate": f"{0.5 * took(step):.4f}", "timing/step": f"{took(step):.4f}", "trainer/global_step": step,
    }  # fmt: skip
    body = ",\n".join(f"(skyrl_entrypoint pid=99)  {key!r}: {value!r}" for key, value in values.items())
    return (
        sky_line(step, f"Step {step}: ", "skyrl.train.utils.tracking:log:189") + body.replace("  '", " {'", 1) + "}\n"
    )


# --- open-instruct ---------------------------------------------------------------------------------------------


def panel_rows(step: int) -> dict[str, str]:
    return {
        "loss": "policy_avg: 0.02 | total_avg: 0.03",
        "objective": "kl1_avg: 0.00",
        "other": f"episode: {512 * step} | global_step: {512 * step} | training_step: {step} | epoch: 0.05 | scores: {reward(step) * 10:.2f} | lr: 5.00e-07",
        "time": f"total: {took(step):.2f} | training: {0.4 * took(step):.2f} | saving: 0.00e+00 | weight_sync: 3.10 | "
        f"trainer_waiting_for_data: {0.4 * took(step):.2f} | group_generation_mean: 38.20 | group_generation_max: 52.70",
        "val": f"num_step_tokens: 100000 | sequence_lengths: {length(step):.2f} | sequence_lengths_max: 2048.00 | stop_rate: 0.91",
    }  # fmt: skip


def panel(rows: dict[str, str], width: int = 80) -> str:
    """A panel as rich draws it at this width: rows wrap at blanks, and go on without their category."""
    first = max(len(name) for name in rows)
    room = width - 4 - first - 4
    out = ["╭" + " Metrics ".center(width - 2, "─") + "╮"]
    for name, text in rows.items():
        lines, now = [], ""
        for word in text.split(" "):
            if now and len(now) + 1 + len(word) > room:
                lines.append(now)
                now = word
            else:
                now = f"{now} {word}" if now else word
        for place, line in enumerate([*lines, now]):
            out.append(f"│  {(name if place == 0 else '').ljust(first)}  {line.ljust(room)}  │")
    return "".join(f"{line}\n" for line in [*out, "╰" + "─" * (width - 2) + "╯"])


def open_instruct(steps: int = STEPS, width: int = 80) -> str:
    arguments = (
        "[GRPOExperimentConfig(exp_name='tiny', total_episodes=10240, num_mini_batches=1, beta=0.05, save_freq=200,\n"
        " num_learners_per_node=[1]),\n StreamingConfig(num_unique_prompts_rollout=32, num_samples_per_prompt_rollout=16,"
        " response_length=2048, async_steps=4)]\n"
    )
    out = [arguments]
    for step in range(1, steps + 1):
        out.append(f"2026-03-01 {clock(step)},123 - INFO - grpo_fast.py:1600 - Finished training step {step}\n")
        out.append(panel(panel_rows(step), width))
    return "".join(out)


# --- torchtune -------------------------------------------------------------------------------------------------


def torchtune(steps: int = STEPS) -> str:
    return "".join(
        f"Step {step} | rewards:{10 * reward(step)} successes:{reward(step)} num_stop_tokens:30 loss:{0.001 * step} policy_loss:0.0011 kl_loss:0.002 "
        f"clipfrac:0.0 ratios:1.0 approx_policy_kl:0.0003 response_lengths:{length(step)} lr:1e-05 grad_norm:0.87 peak_memory_active:61.2 "
        "peak_memory_alloc:60.1 peak_memory_reserved:70.3 \n"
        for step in range(1, steps + 1)
    )


# --- torchforge, prime-rl's metrics.jsonl -----------------------------------------------------------------------


def torchforge(steps: int = STEPS) -> str:
    out = []
    for step in range(1, steps + 1):
        rows = {
            "buffer_perf/sample/duration_avg_s": 5.8e-05, "generator/generate/avg_tokens_generated": length(step),
            "generator_perf/generate/total_duration_avg_s": 5.81, "main_perf/continuous_rollouts/policy_generation/duration_avg_s": 9.5,
            "main_perf/continuous_training/total_duration_avg_s": took(step),
            "main_perf/continuous_training/train_step/duration_avg_s": 0.5 * took(step),
            "main_perf/continuous_training/push_weights/duration_avg_s": 2.5,
            "main_perf/continuous_training/waiting_for_buffer/duration_avg_s": 4.5,
            "reward/evaluate_response/avg_total_reward": reward(step), "rl_trainer/avg_loss": 0.01 * step,
        }  # fmt: skip
        body = "".join(f"  {key}: {value}\n" for key, value in rows.items())
        bars = "=" * 30
        out.append(f"2026-03-01 {clock(step)} INFO === [global_reduce] - METRICS STEP {step} ===\n{body}{bars}\n\n")
    return "".join(out)


def prime_metrics(steps: int = STEPS) -> str:
    """Several objects a step, as the trainer writes them."""
    rows: list[dict[str, float]] = []
    for step in range(steps):
        at = 1_772_359_200.0 + 30 * step
        rows.append({"step": step, "time": at, "time/step": took(step), "time/wait_for_batch": 0.6 * took(step),
                     "time/forward_backward": 0.3 * took(step), "time/broadcast_weights": 1.5})  # fmt: skip
        rows.append(
            {"step": step, "time": at + 0.1, "optim/lr": 1e-6, "optim/grad_norm": 0.5, "perf/peak_memory": 61.5}
        )
        rows.append(
            {
                "step": step,
                "time": at + 0.2,
                "loss/mean": 0.01 * step,
                "entropy/all/mean": 0.4,
                "mismatch_kl/all/mean": 0.001,
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows)


def prime_rollouts(steps: int = STEPS) -> str:
    """One object a step, as the orchestrator writes it."""
    rows = (
        {"step": step, "time": 1_772_359_200.0 + 30 * step, "seq_len/all/mean": length(step) + 90, "decode_len/all/mean": length(step),
         "prefill_len/all/mean": 90.0, "is_truncated/all/mean": 0.125, "reward/all/mean": reward(step), "progress/tokens": 50_000,
         "progress/samples": 128, "time/step": took(step), "time/generate_completions": 0.8 * took(step)}
        for step in range(steps)
    )  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


# --- Stable-Baselines3 ------------------------------------------------------------------------------------------


def two_columns(sections: Mapping[str, Mapping[str, float | str]]) -> str:
    """A table of two columns, as Stable-Baselines3 prints one: sections, and their keys four blanks in."""
    rows = [
        row
        for head, keys in sections.items()
        for row in ((head, ""), *((f"   {k}", f"{v:.6g}" if isinstance(v, float) else str(v)) for k, v in keys.items()))
    ]
    left, right = max(len(key) for key, _ in rows), max(len(value) for _, value in rows)
    rule = "-" * (left + right + 7) + "\n"
    return rule + "".join(f"| {key:<{left}} | {value:<{right}} |\n" for key, value in rows) + rule


def boxed(steps: int = STEPS) -> str:
    return "Using cpu device\n" + "".join(
        two_columns({
            "rollout/": {"ep_len_mean": 200.0, "ep_rew_mean": reward(step)},
            "time/": {"fps": 341, "iterations": str(step), "time_elapsed": str(6 * step), "total_timesteps": str(2048 * step)},
            "train/": {"approx_kl": 0.0125, "clip_fraction": 0.1, "learning_rate": 0.0003, "loss": 12.5, "n_updates": str(10 * step)},
        })
        for step in range(1, steps + 1)
    )  # fmt: skip


_NOON = datetime(2024, 4, 10, 12, 0, tzinfo=UTC)


def deepspeed_line(step: int, at: datetime, accumulated: float) -> str:
    """What the engine and its timer print at a step."""
    begin = f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] [INFO]"
    return (
        f"{begin} [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[9.65e-06, 9.65e-06], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
        f"{begin} [timer.py:258:stop] epoch=0/micro_step={int(accumulated * step)}/global_step={step}, RunningAvgSamplesPerSec=8.2, "
        f"CurrSamplesPerSec=8.0, MemAllocated=5.02GB, MaxMemAllocated=11.5GB\n"
    )


def deepspeed(steps: int = STEPS, accumulated: float = 1, begin: datetime = _NOON) -> str:
    told = [deepspeed_line(10 * row, begin + timedelta(seconds=25 * row), accumulated) for row in range(1, steps + 1)]
    head = f"[{begin:%Y-%m-%d %H:%M:%S},000] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.14.0\n"
    return head + "".join(told)


#: Format name -> (file name, text).
MADE = {
    "areal": ("main.log", areal()), "nemo_rl": ("driver.log", nemo_rl()), "slime": ("train.log", slime()),
    "prime_rl": ("orchestrator.log", prime_rl()), "roll": ("log_rank_DRIVER_0_1.log", roll()), "skyrl": ("train.log", skyrl()),
    "open_instruct": ("train.log", open_instruct()), "torchtune": ("log_1772359200.txt", torchtune()),
    "torchforge": ("grpo.log", torchforge()), "tagged_jsonl": ("metrics.jsonl", prime_metrics()),
    "boxed": ("train.log", boxed()), "deepspeed": ("train.log", deepspeed()),
}  # fmt: skip
