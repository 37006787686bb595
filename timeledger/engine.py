"""What an inference engine's samples say: what it waits for, how fast it is while it runs, what sleeping costs.

A sample (one line of vLLM or SGLang) covers the window before it. Each window is in one state; windows in which nothing
runs count as idle and never dilute the throughput.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger import schema
from timeledger.results import Clock
from timeledger.run import Run
from timeledger.units import show_number, show_rate, show_seconds, show_share

Floats = NDArray[np.float64]

#: State -> what it means. `memory` and `concurrency` have requests waiting; `tail` is the end of a batch.
STATES: Final = {
    "preempted": "sequences are thrown out of a full KV cache and computed again",
    "memory": "requests wait because the KV cache is full",
    "concurrency": "requests wait although the KV cache has room",
    "queued": "requests wait while the KV cache fills up",
    "tail": "a few long answers run alone at the end of a batch",
    "busy": "everything that came is running",
    "idle": "nothing to do",
    "asleep": "memory given back to training",
}
WAITING_STATES: Final = ("preempted", "memory", "concurrency", "queued")
#: KV cache use from which waiting is for memory, and below which it is not (vLLM's optimisation guide, vllm#6737).
KV_FULL: Final = 0.90
KV_FREE: Final = 0.70
#: Requests running, as a share of the batch's peak, from which on only the tail runs; the peak must be this high.
TAIL_SHARE: Final = 0.25
_TAIL_PEAK: Final = 8
BY_STEP: Final = schema.columns({"step": pl.Int64, "state": pl.String, "seconds": pl.Float64})


@dataclass(frozen=True, slots=True)
class EngineReading:
    """What the samples say. `states` are seconds (windows, where `timed` is False); None: the log does not tell.

    Throughputs are of all engines together; `gen_tok_s` is the median of windows that ran from end to end, `running`,
    `waiting` and `kv_cache` are medians while something ran. `stuck_*` are medians of the windows in which requests
    waited for memory or for a free place. `sleep_s` is what falling asleep and waking up cost, `sleeps` how often.
    """

    samples: int
    engines: int = 0
    timed: bool = False
    states: dict[str, float] = field(default_factory=dict)
    gen_tok_s: float | None = None
    peak_tok_s: float | None = None
    request_tok_s: float | None = None
    running: float | None = None
    running_peak: float | None = None
    waiting: float | None = None
    waiting_peak: float | None = None
    stuck_running: float | None = None
    stuck_waiting: float | None = None
    kv_cache: float | None = None
    kv_peak: float | None = None
    prefix_hit: float | None = None
    preemptions: float | None = None
    sleeps: int = 0
    sleep_s: float | None = None
    by_step: pl.DataFrame = field(default_factory=lambda: schema.empty(BY_STEP))
    sentence: str = ""

    @property
    def running_s(self) -> float:
        """Seconds (or windows) in which something ran or waited."""
        return sum(seconds for state, seconds in self.states.items() if state not in {"idle", "asleep"})

    def share(self, state: str) -> float:
        """A state's share of the time in which something ran or waited, 0..1; for idle and asleep of all time."""
        whole = sum(self.states.values()) if state in {"idle", "asleep"} else self.running_s
        return self.states.get(state, 0.0) / whole if whole > 0 else 0.0


def read_engine(run: Run, clock: Clock | None = None) -> EngineReading:
    """Read the engine samples and sleep events of a run; `clock` places them in training steps where both have times."""
    lines = _lines(run.engine)
    slept = _asleep_s(run.events)
    sleeps = run.events.filter(pl.col("kind").is_in(["sleep", "wake"]))
    seconds = sleeps["seconds"].drop_nulls()
    found = EngineReading(
        samples=run.engine.height,
        engines=run.engine["engine"].n_unique() if run.engine.height else 0,
        preemptions=_preemptions(run),
        sleeps=int((sleeps["kind"] == "sleep").sum()),
        sleep_s=float(seconds.sum()) if seconds.len() else None,
        **(_of_lines(lines, slept) if lines.height else _of_bars(run.engine)),
    )
    by_step = _by_step(lines, clock) if clock is not None else found.by_step
    return _with(found, by_step=by_step, sentence=_sentence(found))


def _with(found: EngineReading, **changed: Any) -> EngineReading:
    values = {name: getattr(found, name) for name in EngineReading.__dataclass_fields__}
    return EngineReading(**(values | changed))


def _lines(engine: pl.DataFrame) -> pl.DataFrame:
    """The periodic samples with `window_s` and `state`, engine by engine in their order."""
    lines = engine.filter(
        (pl.col("kind") == "log") & (pl.col("running").is_not_null() | pl.col("gen_tok_s").is_not_null())
    )
    if lines.is_empty():
        return lines.with_columns(pl.lit(None, pl.Float64).alias("window_s"), pl.lit("").alias("state"))
    parts = [_one_engine(part) for part in lines.partition_by("engine", maintain_order=True)]
    return pl.concat(parts)


def _one_engine(part: pl.DataFrame) -> pl.DataFrame:
    tick = part["interval_s"].median()
    usual = float(tick) if isinstance(tick, int | float) and tick > 0 else None
    window = part["interval_s"].fill_null(usual).to_numpy() if usual else np.ones(part.height)
    return part.with_columns(
        pl.Series("window_s", window, pl.Float64),
        pl.Series("timed", [usual is not None] * part.height),
        pl.Series("state", _states(part), pl.String),
        pl.Series("gap_s", _gaps(part, window, usual), pl.Float64),
    )


def _column(part: pl.DataFrame, name: str) -> Floats:
    values: Floats = part[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
    return values


def _states(part: pl.DataFrame) -> list[str]:
    """The state of each window of one engine."""
    running, waiting, kv = (_column(part, name) for name in ("running", "waiting", "kv_cache"))
    made, thrown, prompts = (_column(part, name) for name in ("gen_tok_s", "preemptions", "prompt_tok_s"))
    states: list[str] = []
    peak = 0.0
    for at in range(part.height):
        before = at - 1 if at else at
        if not running[at] > 0:
            peak = 0.0
        elif running[at] > running[before] or prompts[at] > 0 or not at:
            # New requests begin a new batch, unless they had been waiting in line: then the batch goes on.
            peak = max(peak, running[at]) if waiting[before] > 0 else running[at]
        states.append(_state(running[at], waiting[at], kv[at], made[at], thrown[at], peak))
    return states


def _state(running: float, waiting: float, kv: float, made: float, thrown: float, peak: float) -> str:
    """The state of one window; what is NaN decides nothing."""
    if thrown > 0:
        return "preempted"
    if waiting > 0:
        return "memory" if kv >= KV_FULL else "concurrency" if kv < KV_FREE else "queued"
    if running > 0:
        return "tail" if peak >= _TAIL_PEAK and running <= TAIL_SHARE * peak else "busy"
    return "busy" if made > 0 else "idle"


def _gaps(part: pl.DataFrame, window: Floats, usual: float | None) -> Floats:
    """Seconds before a sample that no window covers: an idle engine stops printing."""
    if usual is None or part["at"].null_count():
        return np.zeros(part.height)
    apart = part["at"].diff().dt.total_milliseconds().fill_null(0).to_numpy() / 1000
    return np.where(apart > 1.5 * window, np.maximum(apart - window, 0.0), 0.0)


def _of_lines(lines: pl.DataFrame, slept: float) -> dict[str, Any]:
    """Everything the periodic samples tell."""
    timed = bool(lines["timed"].all())
    sums = dict(lines.group_by("state", maintain_order=True).agg(pl.col("window_s").sum()).iter_rows())
    unseen = float(lines["gap_s"].sum())
    if timed and (slept or unseen):
        sums["asleep"] = slept
        sums["idle"] = sums.get("idle", 0.0) + max(unseen - slept, 0.0)
    active = lines.filter((pl.col("running") > 0) | (pl.col("waiting") > 0))
    stuck = lines.filter(pl.col("state").is_in(WAITING_STATES))
    full = lines.filter((pl.col("running") > 0) & (pl.col("running").shift(1).over("engine") > 0))
    rated = next((each for each in (full, active, lines.filter(pl.col("gen_tok_s") > 0)) if each.height), lines)
    each = rated.filter(pl.col("running") > 0).select(pl.col("gen_tok_s") / pl.col("running")).to_series()
    rates = rated.group_by("engine", maintain_order=True).agg(pl.col("gen_tok_s").median())["gen_tok_s"]
    peaks = lines.group_by("engine", maintain_order=True).agg(pl.col("gen_tok_s").max())["gen_tok_s"]
    return {
        "timed": timed,
        "states": {state: float(sums[state]) for state in STATES if sums.get(state)},
        "gen_tok_s": _sum(rates),
        "peak_tok_s": _sum(peaks),
        "request_tok_s": _median(each),
        "running": _median(active["running"]),
        "running_peak": _max(lines["running"]),
        "waiting": _median(active["waiting"]),
        "waiting_peak": _max(lines["waiting"]),
        "stuck_running": _median(stuck["running"]),
        "stuck_waiting": _median(stuck["waiting"]),
        "kv_cache": _median(active["kv_cache"]),
        "kv_peak": _max(lines["kv_cache"]),
        "prefix_hit": _max(lines["prefix_hit"].tail(max(1, lines.height // 4))),
    }


def _of_bars(engine: pl.DataFrame) -> dict[str, Any]:
    """What generation bars, benchmarks and scrapes tell where no periodic samples were printed."""
    rates = engine["gen_tok_s"].drop_nulls()
    return {
        "gen_tok_s": _median(rates.filter(rates > 0)),
        "peak_tok_s": _max(rates),
        "prefix_hit": _max(engine["prefix_hit"]),
    }


def _median(values: pl.Series) -> float | None:
    middle = values.drop_nulls().drop_nans().median()
    return float(middle) if isinstance(middle, int | float) else None


def _max(values: pl.Series) -> float | None:
    most = values.drop_nulls().drop_nans().max()
    return float(most) if isinstance(most, int | float) else None


def _sum(values: pl.Series) -> float | None:
    kept = values.drop_nulls()
    return float(kept.sum()) if kept.len() else None


def _preemptions(run: Run) -> float | None:
    """Preemptions counted in windows, scraped (a running total) or warned of; None when nothing could tell."""
    counted = run.engine.filter(pl.col("preemptions").is_not_null())
    windows = counted.filter(pl.col("kind") != "metrics")["preemptions"]
    scraped = counted.filter(pl.col("kind") == "metrics")["preemptions"]
    warned = run.events.filter((pl.col("kind") == "warning") & pl.col("text").str.contains("(?i)preempt")).height
    if not counted.height and not warned:
        return None
    return max(float(windows.sum()), _max(scraped) or 0.0, float(warned))


def _asleep_s(events: pl.DataFrame) -> float:
    """Seconds between falling asleep and the next waking up, where both have times."""
    turns = events.filter(pl.col("kind").is_in(["sleep", "wake"]) & pl.col("at").is_not_null()).sort("at")
    pairs = turns.select(
        pl.col("kind"), pl.col("at"), pl.col("kind").shift(-1).alias("then"), pl.col("at").shift(-1).alias("end")
    )
    slept = pairs.filter((pl.col("kind") == "sleep") & (pl.col("then") == "wake"))
    total = slept.select((pl.col("end") - pl.col("at")).dt.total_milliseconds().sum()).item()
    return float(total or 0) / 1000


def _by_step(lines: pl.DataFrame, clock: Clock) -> pl.DataFrame:
    """Seconds of each state by training step: a window belongs to the step that ends at or after it."""
    steps = clock.steps.filter(pl.col("at").is_not_null() & pl.col("wall_s").is_not_null())
    stamped = lines.filter(pl.col("at").is_not_null()) if lines.height else lines
    if steps.is_empty() or stamped.is_empty():
        return schema.empty(BY_STEP)
    ends = steps.select("step", pl.col("at").alias("end"), (pl.col("wall_s") * pl.col("span")).alias("long_s")).sort(
        "end"
    )
    placed = (
        stamped.select("at", "state", "window_s")
        .sort("at")
        .join_asof(ends, left_on="at", right_on="end", strategy="forward")
    )
    inside = placed.filter((pl.col("end") - pl.col("at")).dt.total_milliseconds() <= 1000 * pl.col("long_s"))
    sums = inside.group_by("step", "state").agg(pl.col("window_s").sum().alias("seconds")).sort("step", "state")
    return schema.conform(sums, BY_STEP)


# --- in words --------------------------------------------------------------------------------------------------


def _sentence(found: EngineReading) -> str:
    """The finding, as a colleague would say it: speed first, then what the engine waits for."""
    if found.gen_tok_s is None and not found.states and found.preemptions is None:
        return ""
    said = []
    if found.gen_tok_s is not None:
        peak = (
            f" (peak {show_rate(found.peak_tok_s)})"
            if found.peak_tok_s and found.peak_tok_s > 1.05 * found.gen_tok_s
            else ""
        )
        each = f", {show_number(found.request_tok_s)} tok/s each" if found.request_tok_s else ""
        at_once = f", {show_number(found.running)} requests at a time{each}" if found.running else ""
        said.append(f"The engine makes {show_rate(found.gen_tok_s)} while it runs{peak}{at_once}.")
    said += [text for text in (_waits(found), _rests(found)) if text]
    return " ".join(said)


def _waits(found: EngineReading) -> str:
    """What keeps it from running more at once."""
    kv = "" if found.kv_peak is None else f": KV cache up to {100 * found.kv_peak:.1f} % full"
    queue = f", {show_number(found.stuck_waiting)} requests waiting" if found.stuck_waiting else ""
    worst = max(("memory", "concurrency", "tail"), key=found.share)
    thrown = (
        f"{show_number(found.preemptions)} preemptions: the KV cache is too small for what runs at once. "
        if found.preemptions
        else ""
    )
    if found.share(worst) < 0.1:
        rest = "Nothing waits" + kv + "." if found.states and not found.share("queued") and not thrown else ""
        return (thrown + rest).strip()
    share = show_share(found.share(worst))
    if worst == "memory":
        return f"{thrown}It waits for memory {share} of its running time{kv}{queue}."
    if worst == "concurrency":
        return f"{thrown}It waits for a free place {share} of its running time{kv}{queue}."
    return f"{thrown}{share} of its running time only the longest answers of a batch are left."


def _rests(found: EngineReading) -> str:
    """Idle and asleep."""
    said = []
    if found.share("idle") >= 0.1:
        said.append(f"idle {show_share(found.share('idle'))}")
    if found.share("asleep") >= 0.01:
        said.append(f"asleep {show_share(found.share('asleep'))}")
    text = f"{' and '.join(said).capitalize()} of the time." if said else ""
    if found.sleep_s and found.sleeps:
        text += f" {found.sleeps} times asleep and awake again, {show_seconds(found.sleep_s / found.sleeps)} each."
    return text.strip()
