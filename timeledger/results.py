"""What the model says of a run: plain frozen results that every front end shows alike.

Each number carries its kind (measured, inferred, assumed) where more than one is possible. None means "this log
cannot tell"; `why` fields say what is missing and how to log it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import polars as pl

from timeledger import schema
from timeledger.run import Kind, Run

State = Literal["running", "finished", "stalled", "ended early", "unknown"]
Driver = Literal["none", "mean", "max", "tokens"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a person tells the model, or the front end knows: everything optional, never guessed from elsewhere.

    `eval_every`/`save_every` in steps, `eval_s`/`save_s` seconds of one; `gpu_gib` memory of one GPU. `now` is the moment of asking (UTC); it
    decides between running and stalled and turns remaining seconds into a finish time. `level` is that of intervals.
    """

    total_steps: int | None = None
    max_tokens: int | None = None
    eval_every: int | None = None
    eval_s: float | None = None
    save_every: int | None = None
    save_s: float | None = None
    eval_at_end: bool | None = None
    gen_tok_s: float | None = None
    gpus: int | None = None
    gpu_gib: float | None = None
    price_per_gpu_hour: float | None = None
    currency: str = ""
    level: float = 0.8
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A quantity with its interval, low <= mid <= high."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True, slots=True)
class Segment:
    """One session of a run. `lost_before_s` is the gap before it (None: not known); `redone` counts steps done again."""

    index: int
    first_step: int
    last_step: int
    elapsed_s: float | None
    lost_before_s: float | None = None
    redone: int = 0
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Periodic:
    """Work that comes every `every` steps (None: no period found) and costs `seconds` each; `count` were seen.

    `known_from` says how it is known: "phase", "event", "setting", "residuals", "given".
    """

    kind: Literal["evaluation", "checkpoint", "unknown"]
    every: int | None
    seconds: float | None
    count: int
    known_from: str
    at_end: bool = False


#: `Clock.steps`: one row a step span (the last value of a step wins). `end_s` is the run's clock at the row's end, from
#: its start, with pauses, measurable gaps and steps done twice included (sessions joined); `wall_s` seconds of ONE step,
#: `extra_s` what the row took beyond its ordinary time, `kind` one of ordinary, warmup, pause, evaluation, checkpoint,
#: periodic (work that comes every k steps and is not named), restart. Rows past the last logged one come from the bar.
CLOCK_STEPS = schema.columns(
    {
        "segment": pl.Int64,
        "step": pl.Int64,
        "span": pl.Int64,
        "at": schema.UTC_TIME,
        "end_s": pl.Float64,
        "wall_s": pl.Float64,
        "extra_s": pl.Float64,
        "kind": pl.String,
    }
)


@dataclass(frozen=True, slots=True)
class Clock:
    """The run's time, and what it was spent on.

    `source` is "timestamps", "progress bar", "elapsed column", "step times", "run time" (only the total is known, no
    rows) or "none" (then all is None).
    `elapsed_s` = `active_s` + `lost_s`; lost time is pauses and gaps between sessions. `position` is the last step
    known to be done (a bar runs ahead of late metrics). `cycle` > 1: one slow step, then fast ones; `generates`: the run is
    known to generate answers, so that the slow one does, and serves the others.
    """

    source: str
    resolution_s: float
    elapsed_s: float | None
    active_s: float | None
    lost_s: float | None
    segments: tuple[Segment, ...]
    steps: pl.DataFrame
    position: int | None
    first_step: int | None
    cycle: int = 1
    generates: bool = False
    warmup_steps: int = 0
    warmup_s: float | None = None
    step_s: float | None = None
    periodic: tuple[Periodic, ...] = ()
    covered: float | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """One phase of the mean step: seconds of one step, share of the whole (0..1), and how it is known."""

    phase: str
    seconds: float
    share: float
    kind: Kind
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where a step's time went. `phases` + `unexplained_s` = `step_s` (evaluation and checkpoint amortised per step).

    `by_step`: long frame (step, phase, seconds), phase "unexplained" included. `parts` are the lesson's parts.
    `overlapped`: generation and training ran at the same time. `why`: what this log cannot split, and how to log it.
    """

    step_s: float | None
    phases: tuple[PhaseShare, ...]
    unexplained_s: float | None
    by_step: pl.DataFrame
    parts: dict[str, float] = field(default_factory=dict)
    sampling_share: float | None = None
    training_share: float | None = None
    fixed_share: float | None = None
    overlapped: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Step time = fixed_s + s_per_token x driver. Bounds are None where the data cannot tell; `sentence` is the finding in words.

    `points`: (step, x, wall_s, fitted_s) for the chart of step time against the driver's length.
    """

    driver: Driver
    fixed_s: Span | None
    s_per_token: Span | None
    gen_tok_s: float | None
    gen_tok_s_from: str | None
    train_tok_s: float | None
    train_tok_s_from: str | None
    quality: float | None
    points: pl.DataFrame
    sentence: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """Response length: `first` and `last` are means of the first and the latest ordinary stretch (tokens), `growth` their ratio.

    `forecast`: (step, mid, low, high) for the steps to come, bounded by `limit`. `curve`: constant, damped, log, saturating.
    """

    first: float | None
    last: float | None
    growth: float | None
    limit: float | None
    limit_from: str | None
    truncated_last: float | None
    curve: str
    forecast: pl.DataFrame
    sentence: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Backtest:
    """What the product would have said of the total at `share` of the run, against what came."""

    share: float
    step: int
    total_s: Span
    truth_s: float | None
    tqdm_s: float | None


@dataclass(frozen=True, slots=True)
class Projection:
    """When the run ends. `total_s` counts from the first step to the last, pauses included.

    `too_early` replaces the middle by the range only. `worst_case_s` is the total when every answer reaches the
    limit (None: no limit known, or length does not drive time). `fan`: (step, elapsed_s, low, high, low95, high95, worst).
    """

    total_steps: int | None
    total_steps_from: str | None
    remaining_s: Span | None
    total_s: Span | None
    finish_at: tuple[datetime, datetime, datetime] | None
    worst_case_s: float | None
    level: float
    method: str
    because: tuple[str, ...]
    warnings: tuple[str, ...]
    too_early: bool
    fan: pl.DataFrame
    backtest: tuple[Backtest, ...] = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """One run and everything the model says of it."""

    run: Run
    facts: Facts
    state: State
    clock: Clock
    breakdown: Breakdown
    timing: Timing
    growth: Growth
    projection: Projection
    headline: str
