"""Why one step takes longer than another: a difference split into parts that add up, between two runs or within one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl

from timeledger import schema
from timeledger.clock_sources import finite, usual
from timeledger.results import Analysis
from timeledger.throughput import sequences_per_step
from timeledger.units import show_number, show_seconds, show_share

Part = Literal[
    "longer answers", "batch", "seconds a token", "fixed overhead", "evaluation and checkpoints", "warm-up", "lost time", "rest"
]  # fmt: skip
Verdict = Literal[
    "same pace", "longer answers", "shorter answers", "slower machine", "faster machine", "other work", "mixed", "unknown"
]
#: Smaller differences than this share of a step are called the same pace.
_SAME: Final = 0.02
_PERIODIC: Final = ("evaluation", "checkpoint", "periodic")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Mean seconds of one step over a stretch of a run, and what makes them up.

    `step_s` = `fixed_s` + `variable_s` + `periodic_s` + `warmup_s` + `lost_s`; `variable_s` = seconds a token x
    `length` x `sequences` (each only where it is known). `fixed_s` is None when the run cannot tell it; `variable_s` is then all
    of the ordinary step.
    """

    name: str
    first_step: int
    last_step: int
    step_s: float
    fixed_s: float | None
    variable_s: float
    periodic_s: float
    warmup_s: float
    lost_s: float
    length: float | None
    length_kind: str
    sequences: float | None


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """One part of a difference: seconds a step, and its share of the whole difference (None when that is nothing)."""

    part: Part
    seconds: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The difference in seconds a step from `a` to `b`. `parts` add up to `step_s` exactly; None and () when a side tells no time."""

    a: str
    b: str
    from_s: float | None
    to_s: float | None
    step_s: float | None
    parts: tuple[LedgerPart, ...]
    verdict: Verdict
    sentence: str
    why: str | None = None


#: One row a run: `step_s` is the whole mean step (evaluation, checkpoints amortised), `now_s` an ordinary step now.
TABLE: Final = schema.columns(
    {
        "run": pl.String,
        "framework": pl.String,
        "steps": pl.Int64,
        "step_s": pl.Float64,
        "now_s": pl.Float64,
        "s_per_1k_tokens": pl.Float64,
        "s_per_sample": pl.Float64,
        "steps_per_hour": pl.Float64,
        "tokens_per_hour": pl.Float64,
        "sampling_share": pl.Float64,
        "training_share": pl.Float64,
        "len_last": pl.Float64,
        "elapsed_s": pl.Float64,
        "lost_s": pl.Float64,
        "total_s": pl.Float64,
    }
)
#: Long: a run's phases on one scale. `seconds` a step, `per_1k_tokens` seconds a 1,000 response tokens, `per_sample` seconds a sequence, `share` of the step.
PROFILES: Final = schema.columns(
    {
        "run": pl.String,
        "phase": pl.String,
        "seconds": pl.Float64,
        "share": pl.Float64,
        "per_1k_tokens": pl.Float64,
        "per_sample": pl.Float64,
    }
)
#: Long: a run's course over steps, response tokens so far, and active hours.
CURVES: Final = schema.columns(
    {
        "run": pl.String,
        "step": pl.Int64,
        "active_h": pl.Float64,
        "tokens": pl.Float64,
        "wall_s": pl.Float64,
        "len_mean": pl.Float64,
        "reward": pl.Float64,
    }
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs side by side; `differences` are from the first run to each other one."""

    analyses: tuple[Analysis, ...]
    table: pl.DataFrame
    profiles: pl.DataFrame
    curves: pl.DataFrame
    differences: tuple[Ledger, ...]


# --- the ledger ------------------------------------------------------------------------------------------------


def difference(a: Stretch, b: Stretch) -> Ledger:
    """Why a step of `b` takes longer than one of `a`: exact, and the same with the signs turned when a and b are swapped.

    The per-token part is a product of length, batch and seconds a token; it is split with logarithmic-mean weights
    (exact for any number of factors; Ang, "LMDI", Energy Policy 2004). The other parts are plain differences.
    """
    parts: dict[Part, float] = {}
    total = b.step_s - a.step_s
    both_lengths = a.length is not None and b.length is not None and a.length_kind == b.length_kind
    fixed_known = a.fixed_s is not None and b.fixed_s is not None
    fixed_a, fixed_b = (a.fixed_s or 0.0, b.fixed_s or 0.0) if fixed_known else (0.0, 0.0)
    variable_a = a.variable_s + ((a.fixed_s or 0.0) - fixed_a)
    variable_b = b.variable_s + ((b.fixed_s or 0.0) - fixed_b)
    if both_lengths and variable_a > 0 and variable_b > 0 and a.length and b.length:
        weight = _log_mean(variable_a, variable_b)
        parts["longer answers"] = weight * math.log(b.length / a.length)
        if a.sequences and b.sequences:
            parts["batch"] = weight * math.log(b.sequences / a.sequences)
        parts["seconds a token"] = (variable_b - variable_a) - sum(parts.values())
    elif variable_a or variable_b:
        parts["rest"] = variable_b - variable_a
    if fixed_known:
        parts["fixed overhead"] = fixed_b - fixed_a
    parts["evaluation and checkpoints"] = b.periodic_s - a.periodic_s
    parts["warm-up"] = b.warmup_s - a.warmup_s
    parts["lost time"] = b.lost_s - a.lost_s
    exact = total - sum(parts.values())
    if abs(exact) > 1e-12 * max(abs(a.step_s), abs(b.step_s), 1.0):
        parts["rest"] = parts.get("rest", 0.0) + exact
    verdict = _verdict(total, a.step_s, parts, told=both_lengths)
    found = tuple(LedgerPart(name, seconds, seconds / total if total else None) for name, seconds in parts.items() if seconds)
    why = None if both_lengths else "A log without answer lengths cannot tell longer answers from a slower machine."
    return Ledger(a.name, b.name, a.step_s, b.step_s, total, found, verdict, _sentence(a, b, total, parts, verdict), why)


def _log_mean(a: float, b: float) -> float:
    """The logarithmic mean: (b - a) / ln(b / a), a itself when both are equal."""
    ratio = math.log(b / a)
    return (b - a) / ratio if abs(ratio) > 1e-9 else (a + b) / 2


def _verdict(total: float, base: float, parts: dict[Part, float], *, told: bool) -> Verdict:
    if abs(total) <= _SAME * base:
        return "same pace"
    if not told and abs(parts.get("rest", 0.0)) > 0.5 * abs(total):
        return "unknown"
    groups: dict[Verdict, float] = {
        "longer answers" if total > 0 else "shorter answers": parts.get("longer answers", 0.0),
        "slower machine" if total > 0 else "faster machine": parts.get("seconds a token", 0.0) + parts.get("fixed overhead", 0.0),
        "other work": sum(parts.get(name, 0.0) for name in ("batch", "evaluation and checkpoints", "warm-up", "lost time")),
    }
    best = max(groups, key=lambda name: groups[name] / total)
    return best if groups[best] / total >= 0.6 else "mixed"


_WORDS: Final[dict[Part, tuple[str, str]]] = {
    "longer answers": ("longer answers", "shorter answers"),
    "batch": ("a larger batch", "a smaller batch"),
    "seconds a token": ("more seconds a token", "fewer seconds a token"),
    "fixed overhead": ("more fixed overhead", "less fixed overhead"),
    "evaluation and checkpoints": ("more evaluation and checkpoints", "less evaluation and checkpoints"),
    "warm-up": ("more warm-up", "less warm-up"),
    "lost time": ("more lost time", "less lost time"),
    "rest": ("what this log cannot split", "what this log cannot split"),
}


def _sentence(a: Stretch, b: Stretch, total: float, parts: dict[Part, float], verdict: Verdict) -> str:
    """The difference as a colleague would say it."""
    there = f"{show_seconds(b.step_s)} against {show_seconds(a.step_s)} a step"
    lengths = ""
    if a.length is not None and b.length is not None and a.length_kind == b.length_kind:
        lengths = f" ({show_number(a.length)} → {show_number(b.length)} tokens)"
    if verdict == "same pace":
        kept = f"; answers {show_number(a.length)} → {show_number(b.length)} tokens" if lengths and a.length != b.length else ""
        return f"{b.name} keeps the pace of {a.name}: {there}{kept}."
    more = "longer" if total > 0 else "shorter"
    floor = 0.05 * abs(total)
    told = sorted(((n, s) for n, s in parts.items() if abs(s) > floor), key=lambda each: -each[1] / total)
    words = [
        f"{show_seconds(seconds)} by {_WORDS[name][0 if seconds > 0 else 1]}{lengths if name == 'longer answers' else ''}"
        for name, seconds in told
    ]
    head = f"A step of {b.name} takes {show_seconds(abs(total))} {more} than one of {a.name} ({there})"
    return f"{head}: {_and(words)}." if words else f"{head}."


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# --- stretches -------------------------------------------------------------------------------------------------


def stretch(
    analysis: Analysis, name: str | None = None, first: int | None = None, last: int | None = None, *, driver: str | None = None
) -> Stretch | None:
    """The steps of a run from `first` to `last` (default: all) as one mean step; None where the log tells no time.

    `driver` is the length to use, "max" or "mean"; by default the one that drives the run's time.
    """
    steps = analysis.clock.steps.filter(pl.col("wall_s").is_not_null())
    steps = steps.filter((pl.col("step") >= (first if first is not None else -1)) & (pl.col("step") <= (last if last is not None else 2**62)))
    if steps.is_empty():
        return None
    count = float(steps["span"].sum())
    total = float((steps["wall_s"] * steps["span"]).sum()) / count

    def spent(*kinds: str) -> float:
        return float(steps.filter(pl.col("kind").is_in(kinds))["extra_s"].sum() or 0.0) / count

    periodic, warm, lost = spent(*_PERIODIC), spent("warmup"), spent("pause", "restart")
    ordinary = max(total - periodic - warm - lost, 0.0)
    measured = analysis.run.steps.join(steps.select("segment", "step"), on=["segment", "step"], how="semi")
    kind = driver or driver_of(analysis)
    length = _mean(measured, "len_max" if kind == "max" else "len_mean")
    fixed = _fixed(analysis, steps, ordinary)
    sequences = _mean(measured, "sequences") or sequences_per_step(analysis.run)
    return Stretch(
        name=name or analysis.run.name,
        first_step=int(steps["step"][0] - steps["span"][0] + 1),
        last_step=int(steps["step"][-1]),
        step_s=fixed + (ordinary - fixed) + periodic + warm + lost if fixed is not None else total,
        fixed_s=fixed,
        variable_s=ordinary - (fixed or 0.0),
        periodic_s=periodic,
        warmup_s=warm,
        lost_s=lost,
        length=length,
        length_kind=kind,
        sequences=sequences,
    )


def driver_of(analysis: Analysis) -> str:
    """The length that a difference is told by: the longest answer where it drives the time, else the mean."""
    if analysis.timing.driver == "max" and analysis.run.steps["len_max"].null_count() < analysis.run.steps.height:
        return "max"
    return "mean"


def _fixed(analysis: Analysis, steps: pl.DataFrame, ordinary: float) -> float | None:
    """Seconds of an ordinary step that do not follow the length: by the fit, moved by what the overhead phases did in this stretch."""
    timing = analysis.timing
    if timing.driver == "none" and timing.fixed_s is None:
        return None
    if timing.fixed_s is None:
        return None
    fixed = timing.fixed_s.mid
    sync = analysis.breakdown.by_step.filter(pl.col("phase").is_in(["weight_sync", "sleep_wake"]))
    if sync.height:
        whole = sync["seconds"].sum() / max(analysis.breakdown.by_step["step"].n_unique(), 1)
        here = sync.filter(pl.col("step").is_in(steps["step"].implode()))
        fixed += here["seconds"].sum() / steps.height - whole
    return float(min(max(fixed, 0.0), ordinary))


def _mean(frame: pl.DataFrame, column: str) -> float | None:
    values = frame[column].drop_nulls().drop_nans()
    mean = values.filter(values.is_finite()).mean() if values.len() else None
    return float(mean) if isinstance(mean, int | float) and mean > 0 else None


def between(a: Analysis, b: Analysis) -> Ledger:
    """Why a step of run `b` takes longer than one of run `a`, over the whole of both."""
    names = (a.run.name, b.run.name) if a.run.name != b.run.name else (f"{a.run.name} (1)", f"{b.run.name} (2)")
    driver = driver_of(a) if driver_of(a) == driver_of(b) else "mean"
    return _ledger(*names, stretch(a, names[0], driver=driver), stretch(b, names[1], driver=driver))


def within(analysis: Analysis) -> Ledger:
    """Longer answers or a slower machine? The late part of a run against its early part (a quarter each, warm-up left out)."""
    early, late = "the early part", "the late part"
    cuts = _quarters(analysis)
    if cuts is None:
        return _ledger(early, late, None, None)
    (first, first_end), (last_start, last) = cuts
    return _ledger(early, late, stretch(analysis, early, first, first_end), stretch(analysis, late, last_start, last))


def _quarters(analysis: Analysis) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The steps of an early and a late stretch: a quarter each, whole intervals of the periodic work and of the cycle where they fit."""
    clock = analysis.clock
    steps = clock.steps.filter(pl.col("wall_s").is_not_null() & (pl.col("kind") != "warmup"))
    if steps.height < 8:
        return None
    first, last = int(steps["step"][0]), int(steps["step"].max())  # type: ignore[arg-type]
    wide = max((last - first + 1) // 4, 1)
    for unit in (*sorted(each.every for each in clock.periodic if each.every), clock.cycle):
        if unit and 1 < unit <= (last - first + 1) // 3:
            wide = max(wide // unit, 1) * unit
            break
    return (first, first + wide - 1), (last - wide + 1, last)


def _ledger(name_a: str, name_b: str, a: Stretch | None, b: Stretch | None) -> Ledger:
    if a is not None and b is not None:
        return difference(a, b)
    lacking = " and ".join(name for name, each in ((name_a, a), (name_b, b)) if each is None)
    text = f"The difference cannot be split: {lacking} has too few timed steps."
    return Ledger(name_a, name_b, a.step_s if a else None, b.step_s if b else None, None, (), "unknown", text, text)


# --- several runs ----------------------------------------------------------------------------------------------


def compare(analyses: list[Analysis] | tuple[Analysis, ...]) -> Comparison:
    """Runs side by side: one table, profiles and curves on common scales, and the ledger from the first run to each other."""
    runs = tuple(analyses)
    return Comparison(
        analyses=runs,
        table=pl.DataFrame([_row(each) for each in runs], schema=TABLE, orient="row") if runs else schema.empty(TABLE),
        profiles=pl.concat([schema.empty(PROFILES), *(_profile(each) for each in runs)]),
        curves=pl.concat([schema.empty(CURVES), *(_curve(each) for each in runs)]),
        differences=tuple(between(runs[0], each) for each in runs[1:]),
    )


def tokens_per_step(analysis: Analysis) -> float | None:
    """Response tokens of a mean step over all its sequences; None where the log lacks the length or the batch."""
    per_step = sequences_per_step(analysis.run)
    made = analysis.run.steps.select(pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, pl.Float64))).to_series()
    values = finite(made)
    values = values[np.isfinite(values)]
    return float(np.mean(values)) if len(values) else None


def _row(analysis: Analysis) -> dict[str, object]:
    clock, breakdown = analysis.clock, analysis.breakdown
    step_s = breakdown.step_s if breakdown.step_s is not None else clock.step_s
    tokens = tokens_per_step(analysis)
    samples = usual(finite(analysis.run.steps["sequences"])) or sequences_per_step(analysis.run)
    total = analysis.projection.total_s
    return {
        "run": analysis.run.name,
        "framework": analysis.run.info.framework,
        "steps": clock.position - clock.first_step + 1 if clock.position is not None and clock.first_step is not None else None,
        "step_s": step_s,
        "now_s": clock.step_s,
        "s_per_1k_tokens": 1000 * step_s / tokens if step_s is not None and tokens else None,
        "s_per_sample": step_s / samples if step_s is not None and samples else None,
        "steps_per_hour": 3600 / step_s if step_s else None,
        "tokens_per_hour": 3600 * tokens / step_s if step_s and tokens else None,
        "sampling_share": breakdown.sampling_share,
        "training_share": breakdown.training_share,
        "len_last": analysis.growth.last,
        "elapsed_s": clock.elapsed_s,
        "lost_s": clock.lost_s,
        "total_s": total.mid if total else None,
    }


def _profile(analysis: Analysis) -> pl.DataFrame:
    breakdown, tokens = analysis.breakdown, tokens_per_step(analysis)
    samples = usual(finite(analysis.run.steps["sequences"])) or sequences_per_step(analysis.run)
    told = [(each.phase, each.seconds) for each in breakdown.phases]
    if breakdown.unexplained_s:
        told.append(("unexplained", breakdown.unexplained_s))
    rows = [
        {
            "run": analysis.run.name,
            "phase": phase,
            "seconds": seconds,
            "share": seconds / breakdown.step_s if breakdown.step_s else None,
            "per_1k_tokens": 1000 * seconds / tokens if tokens else None,
            "per_sample": seconds / samples if samples else None,
        }
        for phase, seconds in told
    ]
    return pl.DataFrame(rows, schema=PROFILES, orient="row") if rows else schema.empty(PROFILES)


def _curve(analysis: Analysis) -> pl.DataFrame:
    """The run's rows on the axes of a comparison; tokens add up over the rows that have a length."""
    per_step = sequences_per_step(analysis.run)
    measured = analysis.run.steps.select(
        "segment", "step", "len_mean", "reward", (pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, pl.Float64))).alias("made")
    ).unique(["segment", "step"], keep="last")
    lost = pl.when(pl.col("kind") == "pause").then(pl.col("extra_s")).otherwise(0.0).fill_null(0.0).cum_sum()
    rows = analysis.clock.steps.join(measured, on=["segment", "step"], how="left", maintain_order="left")
    made = pl.col("made") * pl.col("span")
    return schema.conform(
        rows.select(
            pl.lit(analysis.run.name).alias("run"),
            "step",
            ((pl.col("end_s") - lost) / 3600).alias("active_h"),
            pl.when(pl.col("made").is_not_null().any()).then(made.fill_null(0.0).cum_sum()).alias("tokens"),
            "wall_s",
            "len_mean",
            "reward",
        ),
        CURVES,
    )


def said_share(part: LedgerPart) -> str:
    """The share of a part for people."""
    return show_share(part.share)
