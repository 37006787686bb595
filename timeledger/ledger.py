"""Why one step takes longer than another: a difference split into parts that add up, between two runs or within one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl

from timeledger.results import Analysis
from timeledger.said import listing, say
from timeledger.throughput import sequences_per_step
from timeledger.units import show_number, show_seconds

Part = Literal[
    "longer answers", "batch", "seconds a token", "fixed overhead", "evaluation and checkpoints", "warm-up", "lost time", "rest"
]  # fmt: skip
Verdict = Literal[
    "same pace",
    "longer answers",
    "shorter answers",
    "slower machine",
    "faster machine",
    "other work",
    "mixed",
    "unknown",
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
        parts["longer answers"] = weight * (math.log(b.length) - math.log(a.length))
        if a.sequences and b.sequences:
            parts["batch"] = weight * (math.log(b.sequences) - math.log(a.sequences))
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
    found = tuple(
        LedgerPart(name, seconds, seconds / total if total else None) for name, seconds in parts.items() if seconds
    )
    why = (
        None if both_lengths else say("A log without answer lengths cannot tell longer answers from a slower machine.")
    )
    return Ledger(
        a.name, b.name, a.step_s, b.step_s, total, found, verdict, _sentence(a, b, total, parts, verdict), why
    )


def _log_mean(a: float, b: float) -> float:
    """The logarithmic mean: (b - a) / ln(b / a), a itself when both are equal."""
    ratio = math.log(b) - math.log(a)
    return (b - a) / ratio if abs(ratio) > 1e-9 else (a + b) / 2


def _verdict(total: float, base: float, parts: dict[Part, float], *, told: bool) -> Verdict:
    if abs(total) <= _SAME * base:
        return "same pace"
    if not told and abs(parts.get("rest", 0.0)) > 0.5 * abs(total):
        return "unknown"
    groups: dict[Verdict, float] = {
        "longer answers" if total > 0 else "shorter answers": parts.get("longer answers", 0.0),
        "slower machine" if total > 0 else "faster machine": parts.get("seconds a token", 0.0)
        + parts.get("fixed overhead", 0.0),
        "other work": sum(
            parts.get(name, 0.0) for name in ("batch", "evaluation and checkpoints", "warm-up", "lost time")
        ),
    }
    best = max(groups, key=lambda name: groups[name] / total)
    return best if groups[best] / total >= 0.6 else "mixed"


_WORDS: Final[dict[Part, tuple[str, str]]] = {
    "longer answers": (say("longer answers"), say("shorter answers")),
    "batch": (say("a larger batch"), say("a smaller batch")),
    "seconds a token": (say("more seconds a token"), say("fewer seconds a token")),
    "fixed overhead": (say("more fixed overhead"), say("less fixed overhead")),
    "evaluation and checkpoints": (say("more evaluation and checkpoints"), say("less evaluation and checkpoints")),
    "warm-up": (say("more warm-up"), say("less warm-up")),
    "lost time": (say("more lost time"), say("less lost time")),
    "rest": (say("what this log cannot split"), say("what this log cannot split")),
}


def _sentence(a: Stretch, b: Stretch, total: float, parts: dict[Part, float], verdict: Verdict) -> str:
    """The difference as a colleague would say it."""
    there = say("{b} against {a} a step", b=show_seconds(b.step_s), a=show_seconds(a.step_s))
    if verdict == "same pace":
        return _same_pace(a, b, there)
    lengths = _lengths(a, b)
    floor = 0.05 * abs(total)
    told = sorted(((n, s) for n, s in parts.items() if abs(s) > floor), key=lambda each: -each[1] / total)
    causes = [_cause(name, seconds, lengths) for name, seconds in told if seconds * total > 0]
    against = [_cause(name, seconds, lengths) for name, seconds in told if seconds * total < 0]
    names = {"a": a.name, "b": b.name, "time": show_seconds(abs(total)), "there": there}
    if total > 0:
        head = say("A step of {b} takes {time} longer than one of {a} ({there})", **names)
    else:
        head = say("A step of {b} takes {time} less than one of {a} ({there})", **names)
    if not causes:
        return say("{done}.", done=head)
    if not against:
        return say("{head}: {causes}.", head=head, causes=listing(causes))
    return say("{head}: {causes}; against it, {against}.", head=head, causes=listing(causes), against=listing(against))


def _same_pace(a: Stretch, b: Stretch, there: str) -> str:
    names = {"a": a.name, "b": b.name, "there": there}
    if a.length is None or b.length is None or a.length_kind != b.length_kind or a.length == b.length:
        return say("{b} keeps the pace of {a}: {there}.", **names)
    lengths = {"first": show_number(a.length), "last": show_number(b.length)}
    return say("{b} keeps the pace of {a}: {there}; answers {first} → {last} tokens.", **names, **lengths)


def _lengths(a: Stretch, b: Stretch) -> str:
    """The lengths that longer answers are told with."""
    if a.length is None or b.length is None or a.length_kind != b.length_kind:
        return ""
    first, last = show_number(a.length), show_number(b.length)
    if a.length_kind == "max":
        return say("longest {first} → {last} tokens", first=first, last=last)
    return say("{first} → {last} tokens", first=first, last=last)


def _cause(name: Part, seconds: float, lengths: str) -> str:
    """One part in words: `5.0 s by longer answers (200 → 400 tokens)`."""
    time, cause = show_seconds(abs(seconds)), _WORDS[name][0 if seconds > 0 else 1]
    if name != "longer answers" or not lengths:
        return say("{time} by {cause}", time=time, cause=cause)
    return say("{time} by {cause} ({lengths})", time=time, cause=cause, lengths=lengths)


# --- stretches -------------------------------------------------------------------------------------------------


def stretch(
    analysis: Analysis,
    name: str | None = None,
    first: int | None = None,
    last: int | None = None,
    *,
    driver: str | None = None,
) -> Stretch | None:
    """The steps of a run from `first` to `last` (default: all) as one mean step; None where the log tells no time.

    `driver` is the length to use, "max" or "mean"; by default the one that drives the run's time.
    """
    steps = analysis.clock.steps.filter(pl.col("wall_s").is_not_null())
    steps = steps.filter(
        (pl.col("step") >= (first if first is not None else -1))
        & (pl.col("step") <= (last if last is not None else 2**62))
    )
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
    overhead = pl.col("seconds").filter(pl.col("phase").is_in(["weight_sync", "sleep_wake"])).sum()
    per_step = analysis.breakdown.by_step.group_by("step").agg(overhead)
    here = per_step.join(steps.select("step"), on="step", how="semi")
    if per_step.height and here.height:
        fixed += float(np.mean(here["seconds"].to_numpy()) - np.mean(per_step["seconds"].to_numpy()))
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
    early, late = say("the early part"), say("the late part")
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
            first += 1  # nothing is due before the first step, so that work paid in the row after would be missed
            break
    return (first, first + wide - 1), (last - wide + 1, last)


def _ledger(name_a: str, name_b: str, a: Stretch | None, b: Stretch | None) -> Ledger:
    if a is not None and b is not None:
        return difference(a, b)
    lacking = listing(name for name, each in ((name_a, a), (name_b, b)) if each is None)
    text = say("The difference cannot be split: {lacking} has too few timed steps.", lacking=lacking)
    return Ledger(name_a, name_b, a.step_s if a else None, b.step_s if b else None, None, (), "unknown", text, text)
