"""Runs with a known truth: what a step costs, how answers grow, what interrupts, and how little of it a log shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger import schema
from timeledger.run import Run, RunInfo, Setting, SettingValue

Floats = NDArray[np.float64]
Observed = Literal["stamps", "bar", "step_s", "elapsed"]
START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Plan:
    """What really happens. Seconds, steps and tokens; every default is "nothing special".

    A step costs `fixed_s` + `s_per_token` x driver, times `noise` (log-normal), plus `outside_s` that the framework's
    own step time does not see. The mean length goes from `len_first` to `len_last` by `curve`, bounded by `limit`; the
    longest answer is `tail` times the mean (varying by `len_noise`), bounded too.
    `warmup` multiplies the first steps of every session. Evaluation and checkpoint come every `eval_every`/`save_every`
    steps and, with `after_row`, are paid after the step's row is written (as the HF trainer does). `pauses` are
    (step, seconds) before that step. `resumes` are (killed after step, resumed from step, seconds between).
    With `cycle` > 1 only the first step of a cycle generates; the others cost `reuse_s`.
    """

    steps: int = 200
    planned: int | None = None
    fixed_s: float = 5.0
    s_per_token: float = 0.02
    driver: Literal["none", "mean", "max"] = "max"
    len_first: float = 200.0
    len_last: float = 200.0
    curve: Literal["linear", "saturating"] = "linear"
    limit: int = 1024
    tail: float = 2.0
    len_noise: float = 0.1
    warmup: tuple[float, ...] = ()
    eval_every: int | None = None
    eval_s: float = 0.0
    save_every: int | None = None
    save_s: float = 0.0
    eval_at_end: bool = False
    after_row: bool = True
    pauses: tuple[tuple[int, float], ...] = ()
    resumes: tuple[tuple[int, int, float], ...] = ()
    cycle: int = 1
    reuse_s: float = 1.0
    noise: float = 0.03
    outside_s: float = 0.0
    logging_steps: int = 1
    sequences: int = 64
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Truth:
    """What the log should lead to: seconds of the whole, of what was lost, and of each step in the order it was done.

    `step_s` is what one step costs without extras; `wall_s` with them; `end_s` the clock at its end.
    """

    total_s: float
    lost_s: float
    warmup_s: float
    segment: NDArray[np.int64]
    step: NDArray[np.int64]
    step_s: Floats
    wall_s: Floats
    end_s: Floats
    len_mean: Floats
    len_max: Floats


def lengths(plan: Plan, step: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Mean and longest answer at each step (tokens)."""
    x = step / max(plan.planned or plan.steps, 1)
    share = x if plan.curve == "linear" else (1 - np.exp(-4 * x)) / (1 - np.exp(-4.0))
    mean = (plan.len_first + (plan.len_last - plan.len_first) * share) * np.exp(
        rng.normal(0, plan.len_noise / 2, len(x))
    )
    longest = mean * plan.tail * np.exp(rng.normal(0, plan.len_noise, len(x)))
    return np.clip(mean, 1, plan.limit), np.clip(longest, 1, plan.limit)


def happen(plan: Plan) -> Truth:
    """The true course of the run."""
    rng = np.random.default_rng(plan.seed)
    sessions: list[tuple[int, int, float]] = []
    first = 1
    for killed, back, gap in plan.resumes:
        sessions.append((first, killed, gap))
        first = back + 1
    sessions.append((first, plan.steps, 0.0))
    step = np.concatenate([np.arange(a, b + 1) for a, b, _ in sessions])
    segment = np.concatenate([np.full(b - a + 1, i) for i, (a, b, _) in enumerate(sessions)])
    mean, longest = lengths(plan, step.astype(float), rng)
    x = {"none": np.zeros(len(step)), "mean": mean, "max": longest}[plan.driver]
    cost = plan.fixed_s + plan.s_per_token * x
    cost = np.where((step - 1) % plan.cycle == 0, cost, plan.reuse_s)
    cost = cost * np.exp(rng.normal(0, plan.noise, len(step)))
    warm = np.ones(len(step))
    before, wall, end, at, lost = np.zeros(len(step)), np.zeros(len(step)), np.zeros(len(step)), 0.0, 0.0
    pauses = dict(plan.pauses)
    since = 0
    for i in range(len(step)):
        since = 0 if i and segment[i] != segment[i - 1] else since
        if since < len(plan.warmup):
            warm[i] = plan.warmup[since]
        since += 1
        if i and segment[i] != segment[i - 1]:
            at += sessions[int(segment[i]) - 1][2]
            lost += sessions[int(segment[i]) - 1][2]
            before[i] = 0.0
        pause = pauses.pop(int(step[i]), 0.0)
        lost += pause
        extra = periodic_s(plan, int(step[i]))
        cost_i = cost[i] * warm[i] + plan.outside_s
        wall[i] = before[i] + pause + cost_i + (0.0 if plan.after_row else extra)
        at += wall[i]
        end[i] = at
        if plan.after_row and i + 1 < len(step):
            before[i + 1] = extra
    last = periodic_s(plan, int(step[-1])) if plan.after_row else 0.0
    return Truth(
        total_s=at + last, lost_s=lost, warmup_s=float(np.sum(cost * (warm - 1))), segment=segment, step=step,
        step_s=cost * warm, wall_s=wall, end_s=end, len_mean=mean, len_max=longest,
    )  # fmt: skip


def periodic_s(plan: Plan, step: int) -> float:
    """Seconds of evaluation and checkpoint that belong to a step."""
    seconds = 0.0
    if (plan.eval_every and step % plan.eval_every == 0) or (plan.eval_at_end and step == (plan.planned or plan.steps)):
        seconds += plan.eval_s
    if plan.save_every and step % plan.save_every == 0:
        seconds += plan.save_s
    return seconds


def observe(
    plan: Plan,
    truth: Truth,
    shows: tuple[Observed, ...] = ("stamps",),
    *,
    late: int = 0,
    settings: dict[str, SettingValue] | None = None,
    lengths_shown: bool = True,
    whole_seconds: bool = False,
) -> Run:
    """The run as a log shows it. `late` metric rows have not been written yet (a buffered stdout); bars are all there."""
    rows = _rows(plan, truth, shows, lengths_shown, whole_seconds)
    if late:
        rows = rows.head(max(rows.height - late, 0))
    progress = _bars(plan, truth) if "bar" in shows else schema.empty(schema.PROGRESS)
    known = {"total_steps": plan.planned or plan.steps, **(settings or {})}
    info = RunInfo(
        name="simulated",
        format="simulated",
        settings={name: Setting(value=value, source="simulated") for name, value in known.items()},
    )
    return Run(info=info, steps=rows, progress=progress)


def simulate(plan: Plan | None = None, *shows: Observed, **how: Any) -> tuple[Run, Truth]:
    """A run and its truth in one call: `simulate(Plan(steps=300), "bar", "step_s")`."""
    plan = plan or Plan()
    truth = happen(plan)
    return observe(plan, truth, shows or ("stamps",), **how), truth


def _session_start(truth: Truth) -> Floats:
    """The clock at the beginning of each row's session."""
    starts = truth.end_s - truth.wall_s
    first = np.concatenate([[True], truth.segment[1:] != truth.segment[:-1]])
    begin: Floats = starts[first][truth.segment]
    return begin


def _rows(plan: Plan, truth: Truth, shows: tuple[Observed, ...], with_length: bool, whole: bool) -> pl.DataFrame:
    k = plan.logging_steps
    fresh = (truth.step - 1) % plan.cycle == 0
    base = pl.DataFrame(
        {
            "segment": truth.segment,
            "step": truth.step,
            "seconds": truth.step_s,
            "end": truth.end_s,
            "elapsed": truth.end_s - _session_start(truth),
            "len_mean": np.where(fresh, truth.len_mean, np.nan),
            "len_max": np.where(fresh, truth.len_max, np.nan),
            "row": (truth.step + k - 1) // k * k,
        }
    )
    agg = base.group_by("segment", "row", maintain_order=True).agg(
        pl.len().alias("span"),
        pl.col("step").last(),
        pl.col("seconds").mean(),
        pl.col("end").last(),
        pl.col("elapsed").last(),
        pl.col("len_mean", "len_max").fill_nan(None).mean(),
    )
    agg = agg.filter(pl.col("span") == k) if k > 1 else agg
    end = agg["end"].to_numpy()
    columns: dict[str, Any] = {
        "segment": agg["segment"],
        "step": agg["step"],
        "span": agg["span"].cast(pl.Int64),
        "line": np.arange(1, agg.height + 1),
        "sequences": np.full(agg.height, float(plan.sequences)),
    }
    if with_length:
        columns |= {"len_mean": agg["len_mean"], "len_max": agg["len_max"]}
    if "stamps" in shows:
        columns["at"] = [START + timedelta(seconds=float(np.floor(s) if whole else s)) for s in end]
    if "elapsed" in shows:
        columns["elapsed_s"] = np.floor(agg["elapsed"].to_numpy()) if whole else agg["elapsed"]
    if "step_s" in shows:
        columns["step_s"] = agg["seconds"]
    return schema.conform(pl.DataFrame(columns), schema.STEPS)


def _bars(plan: Plan, truth: Truth) -> pl.DataFrame:
    """One state a finished step, whole seconds, a zero state at the start of each session, a repeat after the last."""
    elapsed = np.floor(truth.end_s - _session_start(truth)).astype(float)
    rows: list[dict[str, Any]] = []
    total = plan.planned or plan.steps
    for i, (segment, step) in enumerate(zip(truth.segment, truth.step, strict=True)):
        if i == 0 or segment != truth.segment[i - 1]:
            rows.append({"segment": int(segment), "step": 0, "elapsed_s": 0.0})
        rows.append({"segment": int(segment), "step": int(step), "elapsed_s": float(elapsed[i])})
    if truth.total_s > truth.end_s[-1]:
        tail = float(np.floor(truth.total_s - (truth.end_s[-1] - elapsed[-1])))
        rows.append({"segment": int(truth.segment[-1]), "step": int(truth.step[-1]), "elapsed_s": tail})
    frame = pl.DataFrame(rows).with_columns(pl.lit(total).cast(pl.Int64).alias("total"))
    return schema.conform(frame, schema.PROGRESS)
