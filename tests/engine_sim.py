"""A small inference engine with a known truth: continuous batching, a KV cache of so many tokens, preemption."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger import schema
from timeledger.run import Run, RunInfo, Setting, SettingValue

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Engine:
    """One decode step takes `base_s` + `launch_s` (eager mode) + `each_s` x running; a prompt token costs `prefill_s`.

    A sequence holds prompt + made tokens in the cache; when the cache is full the youngest one is thrown out and its
    tokens are computed again later. `stop_share` cuts a batch when only that share of it is left.
    """

    kv_tokens: int = 100_000
    max_seqs: int = 256
    base_s: float = 0.02
    launch_s: float = 0.0
    each_s: float = 0.00005
    prefill_s: float = 0.00002
    prompt: int = 100
    stop_share: float = 0.0


@dataclass(slots=True)
class Done:
    """What happened: seconds of the batch, and one row a window."""

    seconds: float
    preemptions: int
    rows: list[dict[str, Any]] = field(default_factory=list)


def lengths(count: int, mean: float, sigma: float = 0.6, limit: int = 100_000, seed: int = 0) -> NDArray[np.int64]:
    """Log-normal answer lengths with this mean, cut at the limit."""
    rng = np.random.default_rng(seed)
    drawn = mean * np.exp(rng.normal(0, sigma, count) - sigma**2 / 2)
    return np.clip(np.round(drawn), 1, limit).astype(np.int64)


def generate(engine: Engine, answers: NDArray[np.int64], window_s: float = 10.0, start_s: float = 0.0) -> Done:
    """Generate one batch; rows are stamped from `start_s` on."""
    queue = deque((int(n), 0) for n in answers)  # (length, made)
    running: list[list[int]] = []
    now, made, prompts, thrown, last, tokens = 0.0, 0.0, 0.0, 0, 0, 0
    done = Done(0.0, 0)
    next_window = window_s
    while queue or running:
        while queue and len(running) < engine.max_seqs and tokens + engine.prompt + queue[0][1] + 1 <= engine.kv_tokens:
            length, had = queue.popleft()
            now += engine.prefill_s * (engine.prompt + had)
            prompts += engine.prompt + had
            tokens += engine.prompt + had
            running.append([length, had])
        if not queue and engine.stop_share and len(running) <= engine.stop_share * len(answers):
            break
        now += engine.base_s + engine.launch_s + engine.each_s * len(running)
        for each in running:
            each[1] += 1
        tokens += len(running)
        made += len(running)
        over = [each for each in running if each[1] >= each[0]]
        if over:
            tokens -= sum(engine.prompt + each[1] for each in over)
            running = [each for each in running if each[1] < each[0]]
        while tokens > engine.kv_tokens and len(running) > 1:
            length, had = running.pop()
            tokens -= engine.prompt + had
            queue.appendleft((length, had))
            thrown += 1
        if now >= next_window or not (queue or running):
            width = max(now - (next_window - window_s), 1e-9)
            done.rows.append(
                {
                    "at": START + timedelta(seconds=start_s + now), "kind": "log", "interval_s": width,
                    "gen_tok_s": made / width, "prompt_tok_s": prompts / width, "running": float(len(running)),
                    "waiting": float(len(queue)), "kv_cache": min(tokens / engine.kv_tokens, 1.0), "prefix_hit": 0.0,
                    "preemptions": float(thrown - last),
                }
            )  # fmt: skip
            made, prompts, last, next_window = 0.0, 0.0, thrown, now + window_s
    done.seconds, done.preemptions = now, thrown
    return done


def engine_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Engine rows as a frame."""
    return (
        schema.conform(pl.DataFrame(rows, infer_schema_length=None), schema.ENGINE)
        if rows
        else schema.empty(schema.ENGINE)
    )


def server_log(rows: list[dict[str, Any]], **settings: SettingValue) -> Run:
    """The run that a server's log makes: engine samples, no steps."""
    info = RunInfo(
        name="server", format="vllm", framework="vLLM",
        settings={name: Setting(value=value, source="made") for name, value in settings.items()},
    )  # fmt: skip
    return Run(info=info, steps=schema.empty(schema.STEPS), engine=engine_frame(rows))


def line(**values: Any) -> dict[str, Any]:
    """One engine sample."""
    return {
        "kind": "log",
        "gen_tok_s": 1000.0,
        "prompt_tok_s": 0.0,
        "running": 0.0,
        "waiting": 0.0,
        "kv_cache": 0.0,
    } | values
