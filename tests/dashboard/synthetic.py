"""A made-up analysis of every kind, built from the result types alone: what the charts and parts are tested on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from timeledger import schema
from timeledger.results import (
    CLOCK_STEPS,
    Analysis,
    Backtest,
    Breakdown,
    Clock,
    Facts,
    Growth,
    PhaseShare,
    Projection,
    Span,
    State,
    Timing,
)
from timeledger.run import Note, Run, RunInfo, Setting

NOW = datetime(2026, 3, 2, 18, 0, tzinfo=UTC)
FAN = pl.Schema(
    {"step": pl.Int64, **dict.fromkeys(("elapsed_s", "low", "high", "low95", "high95", "worst"), pl.Float64)}
)


def steps_frame(count: int, seed: int = 0) -> pl.DataFrame:
    """Logged rows of a run whose answers grow from 80 to about 150 tokens."""
    rng = np.random.default_rng(seed)
    step = np.arange(1, count + 1)
    mean = 80 + 70 * step / max(count, 1) + rng.normal(0, 4, count)
    longest = mean * 2.4 + rng.normal(0, 20, count)
    columns: dict[str, Any] = {
        "segment": np.zeros(count, dtype=int), "step": step, "span": np.ones(count, dtype=int), "line": step * 3,
        "at": [NOW - timedelta(seconds=33.0 * (count - each)) for each in step.tolist()],
        "len_mean": mean, "len_max": longest, "truncated": np.clip(rng.normal(0.01, 0.01, count), 0, 1),
        "sequences": np.full(count, 64.0), "reward": 0.3 + 0.4 * step / max(count, 1) + rng.normal(0, 0.05, count),
        "acc": 0.25 + 0.35 * step / max(count, 1) + rng.normal(0, 0.03, count),
        "adv_std": 0.9 + rng.normal(0, 0.03, count), "ratio": 1 + rng.normal(0, 0.002, count),
        "zero_std": np.clip(0.2 + rng.normal(0, 0.05, count), 0, 1), "kl": 0.001 * step + np.abs(rng.normal(0, 0.002, count)),
    }  # fmt: skip
    return schema.conform(pl.DataFrame(columns), schema.STEPS)


def analysis(
    count: int = 87,
    total: int | None = 200,
    *,
    name: str = "grpo-qwen-1.5b",
    state: State = "running",
    phases: bool = True,
    facts: Facts | None = None,
    seed: int = 0,
) -> Analysis:
    """An analysis of `count` steps of a planned `total`."""
    steps = steps_frame(count, seed)
    wall = 5.0 + 0.09 * steps["len_max"].to_numpy()
    end = np.cumsum(wall)
    kinds = [
        "evaluation" if each % 25 == 0 else "checkpoint" if each % 40 == 0 else "ordinary"
        for each in range(1, count + 1)
    ]
    clock_steps = schema.conform(
        pl.DataFrame(
            {
                "segment": 0,
                "step": steps["step"],
                "span": 1,
                "at": steps["at"],
                "end_s": end,
                "wall_s": wall,
                "extra_s": 0.0,
                "kind": kinds,
            }
        ),
        CLOCK_STEPS,
    )
    info = RunInfo(
        name=name, format="trl-console", framework="TRL 1.16.0", sources=("train.log",),
        settings={"model": Setting(value="Qwen2.5-1.5B", source="log"), "gpus": Setting(value=1, source="log")},
    )  # fmt: skip
    run = Run(info=info, steps=steps, notes=(Note("skipped", 12, "lines that are not metrics", 12, "train.log"),))
    elapsed = float(end[-1]) if count else None
    clock = Clock(
        "timestamps",
        1.0,
        elapsed,
        elapsed,
        0.0,
        (),
        clock_steps,
        count or None,
        1 if count else None,
        step_s=float(wall[-1]) if count else None,
    )
    return Analysis(
        run, facts or Facts(now=NOW), state, clock, _breakdown(steps, wall, phases), _timing(steps, wall),
        _growth(steps, total), _projection(end, count, total),
        "Sampling takes two thirds of each step and follows the longest answer.",
    )  # fmt: skip


def _breakdown(steps: pl.DataFrame, wall: np.ndarray[Any, np.dtype[np.float64]], phases: bool) -> Breakdown:
    shares = {
        "rollout": 0.62,
        "old_logprob": 0.07,
        "ref_logprob": 0.06,
        "update": 0.14,
        "weight_sync": 0.04,
        "unexplained": 0.07,
    }
    frames = [
        pl.DataFrame({"step": steps["step"], "phase": [phase] * steps.height, "seconds": wall * share})
        for phase, share in shares.items()
    ]
    long = (
        pl.concat(frames)
        if phases and steps.height
        else pl.DataFrame(schema={"step": pl.Int64, "phase": pl.String, "seconds": pl.Float64})
    )
    mean = float(wall.mean()) if steps.height else None
    if not phases or mean is None:
        return Breakdown(mean, (), None, long, why="This log does not split a step; W&B or MLflow would.")
    told = tuple(
        PhaseShare(phase, mean * share, share, "measured") for phase, share in shares.items() if phase != "unexplained"
    )
    return Breakdown(mean, told, mean * 0.07, long, sampling_share=0.62, training_share=0.27, fixed_share=0.04)


def _timing(steps: pl.DataFrame, wall: np.ndarray[Any, np.dtype[np.float64]]) -> Timing:
    points = pl.DataFrame({"step": steps["step"], "x": steps["len_max"], "wall_s": wall, "fitted_s": wall})
    return Timing(
        "max", Span(4.2, 5.0, 5.9), Span(0.08, 0.09, 0.1), 3050.0, "log", None, None, 0.98, points,
        "Each extra token of the longest answer costs 90 ms; 5.0 s a step is fixed.",
    )  # fmt: skip


def _growth(steps: pl.DataFrame, total: int | None) -> Growth:
    done = steps.height
    ahead = np.arange(done + 1, (total or done) + 1)
    mid = 150 + 0.6 * (ahead - done)
    forecast = pl.DataFrame({"step": ahead, "mid": mid, "low": mid * 0.8, "high": np.minimum(mid * 1.3, 512.0)})
    last = float(steps["len_mean"].tail(10).mean()) if done else None  # type: ignore[arg-type]
    return Growth(
        80.0 if done else None,
        last,
        None if last is None else last / 80,
        512.0,
        "setting",
        0.01,
        "damped",
        forecast,
        "Answers grew from 80 to 150 tokens.",
    )


def _projection(end: np.ndarray[Any, np.dtype[np.float64]], count: int, total: int | None) -> Projection:
    if total is None or not count:
        return Projection(
            None,
            None,
            None,
            None,
            None,
            None,
            0.8,
            "none",
            (),
            (),
            False,
            schema.empty(FAN),
            why="The number of steps is not known.",
        )
    ahead = np.arange(count, total + 1)
    rate = float(end[-1]) / count * 1.15
    mid = float(end[-1]) + rate * (ahead - count)
    width = rate * (ahead - count)
    frame = {
        "step": ahead,
        "elapsed_s": mid,
        "low": mid - 0.1 * width,
        "high": mid + 0.18 * width,
        "low95": mid - 0.2 * width,
        "high95": mid + 0.35 * width,
        "worst": mid + width,
    }
    left = Span(*(float(frame[name][-1] - end[-1]) for name in ("low", "elapsed_s", "high")))
    whole = Span(*(float(frame[name][-1]) for name in ("low", "elapsed_s", "high")))
    told = tuple(
        Backtest(share, int(total * share), Span(whole.mid * low, whole.mid * 0.97, whole.mid * 1.2), None, None)
        for share, low in ((0.1, 0.7), (0.25, 0.85))
    )
    finish = (NOW + timedelta(seconds=left.low), NOW + timedelta(seconds=left.mid), NOW + timedelta(seconds=left.high))
    return Projection(
        total,
        "trainer_state.json",
        left,
        whole,
        finish,
        float(frame["worst"][-1]),
        0.8,
        "ordinary steps",
        ("answers still grow",),
        (),
        count < 5,
        schema.conform(pl.DataFrame(frame), FAN),
        told,
    )
