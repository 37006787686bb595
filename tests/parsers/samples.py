"""One small log of every format, made here in the format's own syntax (binary ones come from `sample_logs`)."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

from tests.parsers.made_frameworks import MADE

SAMPLE_LOGS = Path(__file__).parents[2] / "sample_logs"
STEPS = 8


def length(step: int) -> float:
    return 100.5 + 7.25 * step


def reward(step: int) -> float:
    return round(0.31 + 0.043 * step + (0.013 if step % 2 else 0.0), 4)


def seconds(step: int) -> float:
    return round(21.37 + 1.31 * step + 0.17 * (step % 3), 3)


def metrics(step: int) -> dict[str, float]:
    """What a TRL trainer logs at one step."""
    return {
        "loss": round(0.0123 * step, 4), "grad_norm": 0.5 + 0.03 * step, "learning_rate": 1e-6, "num_tokens": 8000.0 * step,
        "completions/mean_length": length(step), "completions/max_length": 2 * length(step),
        "completions/clipped_ratio": 0.0625, "rewards/accuracy/mean": reward(step), "reward": reward(step),
        "reward_std": 0.21 + 0.01 * step, "frac_reward_zero_std": 0.125, "entropy": 1.1 - 0.02 * step,
        "step_time": seconds(step), "epoch": 0.05 * step,
    }  # fmt: skip


def trl(steps: int = STEPS, total: int = 20, first: int = 1) -> str:
    out = [f"\r  0%|          | 0/{total} [00:00<?, ?it/s]"]
    elapsed = 0.0
    for step in range(first, first + steps):
        elapsed += seconds(step) + 0.4
        clock = f"{int(elapsed // 60):02d}:{int(elapsed % 60):02d}"
        out.append(f"\r {100 * step // total:2d}%|##        | {step}/{total} [{clock}<09:59, {seconds(step):5.2f}s/it]")
        out.append(
            f"\r{' ' * 60}\r{metrics(step)}\n\r {100 * step // total:2d}%|##        | {step}/{total} [{clock}<09:59, {seconds(step):5.2f}s/it]"
        )
    return "".join(out) + "\n"


def trainer_state(steps: int = STEPS, total: int = 20) -> str:
    history = [{**metrics(step), "step": step} for step in range(1, steps + 1)]
    state = {
        "best_global_step": None, "epoch": 0.05 * steps, "eval_steps": 500, "global_step": steps, "is_hyper_param_search": False,
        "is_local_process_zero": True, "is_world_process_zero": True, "log_history": history, "logging_steps": 1,
        "max_steps": total, "num_train_epochs": 1, "save_steps": 10, "train_batch_size": 8,
    }  # fmt: skip
    return json.dumps(state, indent=2) + "\n"


def verl_values(step: int) -> dict[str, float]:
    return {
        "actor/entropy": 0.41 + 0.01 * step, "actor/grad_norm": 0.35 + 0.02 * step, "actor/lr": 1e-6,
        "critic/rewards/mean": reward(step), "response_length/mean": length(step), "response_length/max": 2 * length(step),
        "response_length/clip_ratio": 0.03, "prompt_length/mean": 88.0, "perf/total_num_tokens": 50000.0 + 100 * step,
        "timing_s/gen": 0.6 * seconds(step), "timing_s/old_log_prob": 0.1 * seconds(step),
        "timing_s/update_actor": 0.25 * seconds(step), "timing_s/step": seconds(step),
    }  # fmt: skip


def verl(steps: int = STEPS) -> str:
    lines = []
    for step in range(1, steps + 1):
        values = " - ".join(f"{key}:{value}" for key, value in verl_values(step).items())
        lines.append(f"\x1b[36m(TaskRunner pid=4711)\x1b[0m step:{step} - {values}\n")
        lines.append(
            f"\x1b[36m(TaskRunner pid=4711)\x1b[0m Training Progress:  {5 * step}%|#   | {step}/20 [0{step}:10<40:00, 30.1s/it]\n"
        )
    return "".join(lines)


def verl_jsonl(steps: int = STEPS) -> str:
    return "".join(json.dumps({"step": step, "data": verl_values(step)}) + "\n" for step in range(1, steps + 1))


def openrlhf(steps: int = STEPS) -> str:
    lines = []
    for step in range(1, steps + 1):
        values = {
            "policy_loss": 0.01 * step, "actor_lr": 5e-7, "ppo_kl": 0.002 + 0.0001 * step, "kl": 0.011 * step,
            "response_length": length(step), "total_length": length(step) + 90.0, "reward": reward(step), "return": reward(step),
            "truncated_rate": 0.05, "timing/generation": 0.6 * seconds(step), "timing/make_experience": 0.1 * seconds(step),
            "timing/ppo_train": 0.3 * seconds(step), "timing/step_total": seconds(step),
        }  # fmt: skip
        lines.append(
            f"(PPOTrainer pid=812) INFO 03-01 10:{step:02d}:05 ppo_trainer.py:160] ✨ Global step {step}: {values}\n"
        )
    return "".join(lines)


def vllm(lines: int = STEPS) -> str:
    return "".join(
        f"(APIServer pid=77) INFO 03-01 10:{place:02d}:15 [loggers.py:123] Engine 000: Avg prompt throughput: {120.5 + place:.1f} tokens/s, "
        f"Avg generation throughput: {2000.5 + 31 * place:.1f} tokens/s, Running: {40 + place} reqs, Waiting: {place} reqs, "
        f"GPU KV cache usage: {30.5 + place:.1f}%, Prefix cache hit rate: 12.5%\n"
        for place in range(1, lines + 1)
    )


def sglang(lines: int = STEPS) -> str:
    return "".join(
        f"[2026-03-01 10:{place:02d}:15 TP0] Decode batch. #running-req: {40 + place}, #token: {9000 + place}, token usage: 0.3{place}, "
        f"gen throughput (token/s): {1800.25 + 11 * place:.2f}, #queue-req: {place}\n"
        for place in range(1, lines + 1)
    )


def prometheus() -> str:
    rows = {
        "vllm:num_requests_running": 12.0, "vllm:num_requests_waiting": 3.0, "vllm:kv_cache_usage_perc": 0.41,
        "vllm:generation_tokens_total": 81234.0, "vllm:prompt_tokens_total": 9123.0,
    }  # fmt: skip
    return "".join(
        f"# HELP {name} What it is.\n# TYPE {name} {'counter' if name.endswith('total') else 'gauge'}\n"
        f'{name}{{engine="0",model_name="tiny"}} {value}\n'
        for name, value in rows.items()
    )


def vllm_bench() -> str:
    return (
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     160       \n"
        "Benchmark duration (s):                  21.53     \n"
        "Total input tokens:                      8123      \n"
        "Total generated tokens:                  20480     \n"
        "Request throughput (req/s):              7.43      \n"
        "Output token throughput (tok/s):         951.23    \n"
        "Total Token throughput (tok/s):          1328.52   \n"
        "==================================================\n"
    )


def vllm_bench_json() -> str:
    return json.dumps({
        "date": "20260301-101500", "completed": 160, "duration": 21.53, "total_input_tokens": 8123,
        "total_output_tokens": 20480, "request_throughput": 7.43, "output_throughput": 951.23,
    })  # fmt: skip


def json_rows(steps: int = STEPS) -> str:
    rows = [
        {"step": step, "reward": reward(step), "mean_length": length(step), "step_time": seconds(step)}
        for step in range(1, steps + 1)
    ]
    return json.dumps({"config": {"group_size": 8}, "history": rows}, indent=2)


def jsonl(steps: int = STEPS) -> str:
    rows = (
        {"step": s, "reward": reward(s), "len_mean": length(s), "step_time": seconds(s), "loss": 0.01 * s}
        for s in range(1, steps + 1)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def keyvalue(steps: int = STEPS) -> str:
    return "".join(
        f"step {s}/20 | len {length(s)} | reward {reward(s)} | loss {0.01 * s:.4f} | time {seconds(s)}s\n"
        for s in range(1, steps + 1)
    )


def swift(steps: int = STEPS) -> str:
    rows = (
        {
            "loss": 0.01 * s, "grad_norm": 0.5, "learning_rate": 1e-6, "completions/mean_length": length(s), "reward": reward(s),
            "epoch": 0.05 * s, "global_step/max_steps": f"{s}/20", "elapsed_time": f"{s}m {s}s", "remaining_time": "9m 1s",
            "train_speed(s/it)": 61.0,
        }
        for s in range(1, steps + 1)
    )  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def llama_factory(steps: int = STEPS) -> str:
    rows = (
        {"current_steps": s, "total_steps": 20, "loss": 0.5 - 0.01 * s, "lr": 1e-6, "epoch": 0.05 * s, "percentage": 5.0 * s,
         "elapsed_time": f"0:{s:02d}:05", "remaining_time": "0:20:00"}
        for s in range(1, steps + 1)
    )  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv(steps: int = STEPS) -> str:
    rows = (f"{s},{reward(s)},{length(s)},{seconds(s)},{0.01 * s:.4f}\n" for s in range(1, steps + 1))
    return "step,reward,completion_length,step_time,loss\n" + "".join(rows)


def notebook() -> str:
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["trainer.train()"],
            "outputs": [{"name": "stdout", "output_type": "stream", "text": trl().splitlines(keepends=True)}]}  # fmt: skip
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def trackio() -> bytes:
    """A trackio database of one run."""
    base = sqlite3.connect(":memory:")
    base.execute(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics BLOB)"
    )
    base.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT)")
    for s in range(1, STEPS + 1):
        values = {f"train/{key}": value for key, value in metrics(s).items()} | {"train/global_step": s}
        at = f"2026-03-01T10:{s:02d}:05.123456+00:00"
        base.execute(
            "INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, 'calm-lake-0', ?, ?)",
            (at, s, json.dumps(values)),
        )
    base.commit()
    data = base.serialize()
    base.close()
    return data


def event_file(
    rows: dict[int, dict[str, float]], start: float = 1_772_359_200.0, times: Callable[[int], float] | None = None
) -> bytes:
    """TensorBoard records of scalars: step -> tag -> value, written at `times(step)` (seconds since 1970)."""
    out = io.BytesIO()

    def record(event: bytes) -> None:
        header = struct.pack("<Q", len(event))
        out.write(header + struct.pack("<I", _masked(header)) + event + struct.pack("<I", _masked(event)))

    record(b"\x09" + struct.pack("<d", start) + b"\x1a\x0dbrain.Event:2")
    for step, values in rows.items():
        at = times(step) if times else start + 30.0 * step
        for tag, value in values.items():
            name = tag.encode()
            scalar = b"\x0a" + _varint(len(name)) + name + b"\x15" + struct.pack("<f", value)
            summary = b"\x0a" + _varint(len(scalar)) + scalar
            record(
                b"\x09" + struct.pack("<d", at) + b"\x10" + _varint(step) + b"\x2a" + _varint(len(summary)) + summary
            )
    return out.getvalue()


def tensorboard(steps: int = STEPS, first: int = 1, start: float = 1_772_359_200.0) -> bytes:
    rows = {s: {f"train/{key}": value for key, value in metrics(s).items()} for s in range(first, first + steps)}
    return event_file(rows, start)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


_TABLE: list[int] = []


def _masked(data: bytes) -> int:
    """The masked CRC-32C of a record, worked out bit by bit."""
    if not _TABLE:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
            _TABLE.append(byte)
    crc = 0xFFFFFFFF
    for each in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ each) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _wandb() -> bytes:
    return next(SAMPLE_LOGS.rglob("*.wandb")).read_bytes()


def samples() -> dict[str, tuple[str, bytes]]:
    """Format name -> (file name, bytes)."""
    texts: dict[str, tuple[str, str]] = {
        "trl": ("console.log", trl()), "trainer_state": ("trainer_state.json", trainer_state()),
        "verl": ("console.log", verl()), "verl_jsonl": ("metrics.jsonl", verl_jsonl()),
        "openrlhf": ("train.log", openrlhf()),
        "vllm": ("server.log", vllm()), "sglang": ("server.log", sglang()), "prometheus": ("metrics.txt", prometheus()),
        "vllm_bench": ("bench.log", vllm_bench()), "vllm_bench_json": ("bench.json", vllm_bench_json()),
        "jsonl": ("metrics.jsonl", jsonl()), "json": ("history.json", json_rows()), "keyvalue": ("train.log", keyvalue()), "swift": ("logging.jsonl", swift()),
        "llama_factory": ("trainer_log.jsonl", llama_factory()), "csv": ("metrics.csv", csv()), "notebook": ("run.ipynb", notebook()),
    }  # fmt: skip
    texts |= MADE
    found: dict[str, tuple[str, bytes]] = {name: (file, text.encode()) for name, (file, text) in texts.items()}
    found["tensorboard"] = ("events.out.tfevents.1772359200.host.1.0", tensorboard())
    found["wandb"] = ("run-abc123.wandb", _wandb())
    found["tracker-db"] = ("project.db", trackio())
    return found
