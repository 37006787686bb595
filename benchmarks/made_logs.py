"""Long logs in the shapes of the text formats, made from a seed: what `benchmarks.reading` and the speed tests read.

A few hundred different steps are made and take turns, with growing step numbers: making a log costs little beside reading it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

_POOL: Final = 500
_STEPS: Final = 100_000_000
_WORDS: Final = (
    "the answer follows from what we know about each side so we first look at how many apples are left and then share "
    "them among all children because nobody should get more than any other child in this small town near the river"
).split()
#: The parts of one step's text that stand before, between and after its step number.
Parts = tuple[str, ...]


def _sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(words))


def _metrics(rng: random.Random) -> dict[str, float]:
    return {
        "loss": round(rng.gauss(0, 0.02), 4), "grad_norm": rng.uniform(0.1, 2), "learning_rate": 1e-6 * rng.random(),
        "num_tokens": 9000.0 + rng.randrange(500), "completions/mean_length": rng.uniform(90, 700),
        "completions/min_length": float(rng.randrange(1, 60)), "completions/max_length": float(rng.randrange(700, 1024)),
        "completions/clipped_ratio": rng.randrange(64) / 64, "rewards/accuracy_reward/mean": rng.random(),
        "rewards/accuracy_reward/std": rng.random(), "reward": rng.random(), "reward_std": rng.random(),
        "frac_reward_zero_std": rng.randrange(8) / 8, "entropy": rng.random(), "kl": rng.random() / 100,
        "step_time": rng.uniform(20, 40), "epoch": rng.random(),
    }  # fmt: skip


def _keyvalue(rng: random.Random) -> Parts:
    """A loop of one's own: every line is a step."""
    return (
        f"[2026-03-{rng.randrange(1, 29):02d} {rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}] step ",
        f"/{_STEPS} | loss {rng.gauss(0, 0.1):.4f} | reward {rng.random():.3f} | len {rng.uniform(100, 400):.1f} "
        f"| kl {rng.random() / 100:.5f} | lr {rng.random() * 1e-6:.2e} | rollout {rng.uniform(10, 20):.1f}s "
        f"| time {rng.uniform(20, 40):.1f}s\n",
    )


def _prose(rng: random.Random) -> Parts:
    """A loop that prints the answers it samples: one metric line among thirty lines of text."""
    lines = ["=== a sample ===\n"]
    for _ in range(rng.randrange(8, 20)):
        lines += [f"Question: {_sentence(rng, 18)}?\n"]
        lines += [
            f"{_sentence(rng, 14)}, so there are {rng.randrange(90)} + {rng.randrange(9)} = {rng.randrange(99)} of them.\n"
        ]
    before, after = _keyvalue(rng)
    return before, after + "".join(lines) + f"Answer: {rng.randrange(100)}\n\n"


def _trl(rng: random.Random) -> Parts:
    """Metric dicts of an HF trainer between the states of its bar."""
    values = _metrics(rng)
    bar = "\r  0%|          | "
    state = f"/{_STEPS} [27:46:40<999:10:20, {values['step_time']:5.2f}s/it]"
    return bar, f"{state}{bar}", f"{state}\r{' ' * 60}\r{values}\n"


_VERL: Final = (
    "actor/entropy actor/pg_loss actor/pg_clipfrac actor/ppo_kl actor/kl_loss actor/grad_norm actor/lr "
    "perf/max_memory_allocated_gb perf/cpu_memory_used_gb perf/mfu/actor training/epoch critic/score/mean critic/score/max "
    "critic/score/min critic/rewards/mean critic/rewards/max critic/rewards/min critic/advantages/mean critic/advantages/max "
    "critic/returns/mean response_length/mean response_length/max response_length/min response_length/clip_ratio "
    "prompt_length/mean prompt_length/max timing_s/generate_sequences timing_s/gen timing_s/reward timing_s/old_log_prob "
    "timing_s/ref timing_s/adv timing_s/update_actor timing_s/update_weights timing_s/step timing_per_token_ms/gen "
    "timing_per_token_ms/update_actor perf/total_num_tokens perf/time_per_step perf/throughput"
).split()


def _verl(rng: random.Random) -> Parts:
    """Step lines of forty full-precision numbers, warnings of workers, the bar."""
    who = "\x1b[36m(TaskRunner pid=4711)\x1b[0m "
    values = " - ".join(f"{key}:{rng.uniform(0, 100)}" for key in _VERL)
    warnings = "".join(
        f"\x1b[36m(WorkerDict pid={5000 + worker})\x1b[0m /site/torch/utils.py:{rng.randrange(900)}: UserWarning: {_sentence(rng, 12)}\n"
        for worker in range(4)
    )
    bar = f"{who}Training Progress:   0%|          | "
    return f"{who}step:", f" - {values}\n{bar}", f"/{_STEPS} [12:40<99:40:00, 30.1s/it]\n{warnings}"


def _verl_jsonl(rng: random.Random) -> Parts:
    """verl's file logger."""
    return '{"step": ', f', "data": {json.dumps({key: rng.uniform(0, 100) for key in _VERL})}}}\n'


def _vllm(rng: random.Random) -> Parts:
    """A server's statistics lines between its requests (the number in place of the step is a port's)."""
    at = f"03-{rng.randrange(1, 29):02d} {rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
    statistics = (
        f"(APIServer pid=77) INFO {at} [loggers.py:123] Engine 000: Avg prompt throughput: {rng.uniform(0, 900):.1f} tokens/s, "
        f"Avg generation throughput: {rng.uniform(500, 4000):.1f} tokens/s, Running: {rng.randrange(200)} reqs, "
        f"Waiting: {rng.randrange(9)} reqs, GPU KV cache usage: {rng.uniform(0, 100):.1f}%, Prefix cache hit rate: {rng.uniform(0, 90):.1f}%\n"
    )
    request = '(APIServer pid=77) INFO:     127.0.0.1:{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    asked = "".join(request.format(rng.randrange(65000)) for _ in range(3))
    return f"{statistics}{asked}(APIServer pid=77) INFO:     10.0.0.1:", ' - "GET /health HTTP/1.1" 200 OK\n'


def _jsonl(rng: random.Random) -> Parts:
    """One object a line with keys of one's own."""
    values = json.dumps({**_metrics(rng), "time/rollout": rng.random(), "time/update": rng.random()})
    return '{"step": ', f", {values[1:]}\n"


#: Name of a log -> its steps, and the format it is read as.
MADE: Final[dict[str, tuple[Callable[[random.Random], Parts], str]]] = {
    "keyvalue": (_keyvalue, "keyvalue"),
    "keyvalue in prose": (_prose, "keyvalue"),
    "trl": (_trl, "trl"),
    "verl": (_verl, "verl"),
    "verl_jsonl": (_verl_jsonl, "verl_jsonl"),
    "vllm": (_vllm, "vllm"),
    "jsonl": (_jsonl, "jsonl"),
}


def steps_of(name: str, seed: int = 1, first: int = 1) -> Iterator[str]:
    """The text of one step after the other, without end, from step `first` on."""
    make, _ = MADE[name]
    rng = random.Random(seed)
    pool = [make(rng) for _ in range(_POOL)]
    for step in range(first, _STEPS):
        yield str(step).join(pool[step % _POOL])


def text_of(name: str, size: int, seed: int = 1) -> bytes:
    """At least `size` bytes of the log, whole steps."""
    parts: list[str] = []
    length = 0
    for text in steps_of(name, seed):
        parts.append(text)
        length += len(text)
        if length >= size:
            break
    return "".join(parts).encode()


def write(name: str, size: int, path: Path, seed: int = 1) -> int:
    """The log in a file, made block by block; the number of the step that would come next."""
    following = 1
    with path.open("w", encoding="utf-8") as stream:
        for text in steps_of(name, seed):
            size -= stream.write(text)
            following += 1
            if size <= 0:
                break
    return following
