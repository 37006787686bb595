"""Long logs in the shapes of the text formats, made from a seed: what `benchmarks.reading` and the speed tests read."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Final

_WORDS: Final = (
    "the answer follows from what we know about each side so we first look at how many apples are left and then share "
    "them among all children because nobody should get more than any other child in this small town near the river"
).split()
_PLAN: Final = 10_000_000


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(words))


def _metrics(rng: random.Random, step: int) -> dict[str, float]:
    return {
        "loss": round(rng.gauss(0, 0.02), 4), "grad_norm": rng.uniform(0.1, 2), "learning_rate": 1e-6 * rng.random(),
        "num_tokens": 9000.0 * step + rng.randrange(500), "completions/mean_length": rng.uniform(90, 700),
        "completions/min_length": float(rng.randrange(1, 60)), "completions/max_length": float(rng.randrange(700, 1024)),
        "completions/clipped_ratio": rng.randrange(64) / 64, "rewards/accuracy_reward/mean": rng.random(),
        "rewards/accuracy_reward/std": rng.random(), "reward": rng.random(), "reward_std": rng.random(),
        "frac_reward_zero_std": rng.randrange(8) / 8, "entropy": rng.random(), "kl": rng.random() / 100,
        "step_time": rng.uniform(20, 40), "epoch": step / 4000,
    }  # fmt: skip


def keyvalue(rng: random.Random) -> Iterator[str]:
    """Every line is a step of a loop of one's own."""
    for step in range(1, _PLAN):
        yield (
            f"[{2026:d}-03-{1 + step // 86400 % 28:02d} {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}] "
            f"step {step}/{_PLAN} | loss {rng.gauss(0, 0.1):.4f} | reward {rng.random():.3f} | len {rng.uniform(100, 400):.1f} "
            f"| kl {rng.random() / 100:.5f} | lr {rng.random() * 1e-6:.2e} | rollout {rng.uniform(10, 20):.1f}s "
            f"| time {rng.uniform(20, 40):.1f}s\n"
        )


def keyvalue_prose(rng: random.Random) -> Iterator[str]:
    """A loop that prints the answers it samples: one metric line among thirty lines of text."""
    for step, line in enumerate(keyvalue(rng), 1):
        yield line
        yield f"=== sample of step {step} ===\n"
        for place in range(rng.randrange(8, 20)):
            yield f"Question: {_sentence(rng, 18)}?\n"
            yield f"{_sentence(rng, 14)}, so there are {rng.randrange(90)} + {place} = {rng.randrange(99)} of them.\n"
        yield f"Answer: {rng.randrange(100)}\n\n"


def trl(rng: random.Random) -> Iterator[str]:
    """Metric dicts of an HF trainer between the states of its bar."""
    elapsed = 0.0
    bar = f"\r  0%|          | 0/{_PLAN} [00:00<?, ?it/s]"
    for step in range(1, _PLAN):
        yield bar
        values = _metrics(rng, step)
        elapsed += values["step_time"]
        whole = int(elapsed)
        clock = f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        bar = f"\r  0%|          | {step}/{_PLAN} [{clock}<9999:10:20, {values['step_time']:5.2f}s/it]"
        yield f"{bar}\r{' ' * 60}\r{values}\n"


_VERL: Final = (
    "actor/entropy actor/pg_loss actor/pg_clipfrac actor/ppo_kl actor/kl_loss actor/grad_norm actor/lr "
    "perf/max_memory_allocated_gb perf/cpu_memory_used_gb perf/mfu/actor training/epoch critic/score/mean critic/score/max "
    "critic/score/min critic/rewards/mean critic/rewards/max critic/rewards/min critic/advantages/mean critic/advantages/max "
    "critic/returns/mean response_length/mean response_length/max response_length/min response_length/clip_ratio "
    "prompt_length/mean prompt_length/max timing_s/generate_sequences timing_s/gen timing_s/reward timing_s/old_log_prob "
    "timing_s/ref timing_s/adv timing_s/update_actor timing_s/update_weights timing_s/step timing_per_token_ms/gen "
    "timing_per_token_ms/update_actor perf/total_num_tokens perf/time_per_step perf/throughput"
).split()


def verl(rng: random.Random) -> Iterator[str]:
    """Step lines of forty full-precision numbers, warnings of workers, the bar."""
    who = "\x1b[36m(TaskRunner pid=4711)\x1b[0m "
    for step in range(1, _PLAN):
        values = " - ".join(f"{key}:{rng.uniform(0, 100)}" for key in _VERL)
        yield f"{who}step:{step} - {values}\n"
        yield f"{who}Training Progress:   0%|          | {step}/{_PLAN} [{step // 60:02d}:{step % 60:02d}<99:40:00, 30.1s/it]\n"
        for worker in range(4):
            yield f"\x1b[36m(WorkerDict pid={5000 + worker})\x1b[0m /site/torch/utils.py:{rng.randrange(900)}: UserWarning: {_sentence(rng, 12)}\n"


def vllm(rng: random.Random) -> Iterator[str]:
    """A server's statistics lines between its requests."""
    for tick in range(_PLAN):
        at = f"03-{1 + tick // 8640 % 28:02d} {tick // 360 % 24:02d}:{tick // 6 % 60:02d}:{tick % 6}5"
        yield (
            f"(APIServer pid=77) INFO {at} [loggers.py:123] Engine 000: Avg prompt throughput: {rng.uniform(0, 900):.1f} tokens/s, "
            f"Avg generation throughput: {rng.uniform(500, 4000):.1f} tokens/s, Running: {rng.randrange(200)} reqs, "
            f"Waiting: {rng.randrange(9)} reqs, GPU KV cache usage: {rng.uniform(0, 100):.1f}%, Prefix cache hit rate: {rng.uniform(0, 90):.1f}%\n"
        )
        for _ in range(4):
            yield f'(APIServer pid=77) INFO:     127.0.0.1:{rng.randrange(65000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def jsonl(rng: random.Random) -> Iterator[str]:
    """One object a line with keys of one's own."""
    for step in range(1, _PLAN):
        yield (
            json.dumps({"step": step, **_metrics(rng, step), "time/rollout": rng.random(), "time/update": rng.random()})
            + "\n"
        )


def verl_jsonl(rng: random.Random) -> Iterator[str]:
    """verl's file logger."""
    for step in range(1, _PLAN):
        yield json.dumps({"step": step, "data": {key: rng.uniform(0, 100) for key in _VERL}}) + "\n"


#: Name of the log -> its lines, and the format it is read as.
MADE: Final[dict[str, tuple[Callable[[random.Random], Iterator[str]], str]]] = {
    "keyvalue, every line a step": (keyvalue, "keyvalue"),
    "keyvalue, mostly prose": (keyvalue_prose, "keyvalue"),
    "trl": (trl, "trl"),
    "verl": (verl, "verl"),
    "verl_jsonl": (verl_jsonl, "verl_jsonl"),
    "vllm": (vllm, "vllm"),
    "jsonl": (jsonl, "jsonl"),
}


def text_of(name: str, size: int, seed: int = 1) -> bytes:
    """At least `size` bytes of the log, whole lines."""
    lines, _ = MADE[name]
    parts: list[bytes] = []
    length = 0
    for line in lines(random.Random(seed)):
        parts.append(line.encode())
        length += len(parts[-1])
        if length >= size:
            break
    return b"".join(parts)
