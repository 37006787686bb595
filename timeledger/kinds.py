"""Which steps are ordinary: generation cycles, warm-up, pauses and periodic work are found, named and left out of rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger.clock_sources import Floats, Ints, finite, usual
from timeledger.periodic import (
    Mask,
    Schedule,
    due_rows,
    find_period,
    known_schedules,
    place,
    priced,
    spikes,
)
from timeledger.phases import TopPhases
from timeledger.results import Facts, Periodic
from timeledger.run import Run

#: A pause takes at least this many steps' time, and this many times its row's usual time.
_PAUSE_STEPS: Final = 10.0
_PAUSE_ROWS: Final = 3.0
#: First rows are warm-up above this much of what follows; the drop at the end of a longer one must be sharp.
_WARM: Final = 1.25
_LONGEST_WARMUP: Final = 32
_CYCLE_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Rows:
    """The clock's rows as arrays; `length` is the answers' length where the log has it (longest, else mean).

    `tail_s` passed after the last step (a bar that waits on it); `wall_s` is without it. `coarse_s` is the clock's
    resolution: a jump may have bled that much into the rows beside it.
    """

    segment: Ints
    step: Ints
    span: Ints
    wall_s: Floats
    work_s: Floats
    length: Floats
    tail_s: float = 0.0
    coarse_s: float = 0.0

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True)
class Kinds:
    """What each row is, and what that makes of the whole. `warmup_s` is the time above ordinary steps."""

    kind: NDArray[np.str_]
    extra_s: Floats
    cycle: int
    warmup_steps: int
    warmup_s: float | None
    paused_s: float
    step_s: float | None
    periodic: tuple[Periodic, ...]


def classify(run: Run, facts: Facts, top: TopPhases, rows: Rows) -> Kinds:
    """Name every row and price what is not ordinary."""
    n = len(rows)
    schedules = known_schedules(run, facts, top, rows.segment, rows.step, rows.span)
    length = find_cycle(run, rows, schedules)
    residue = (rows.step - rows.step[0]) % length
    warm = _warmup(rows, residue)
    free = np.isfinite(rows.wall_s) & ~warm
    maybe = np.zeros(n, dtype=bool)
    for each in schedules:
        maybe[each.rows] = True
        maybe[np.minimum(each.rows + 1, n - 1)] = True
    level = _level(rows, residue, free & ~maybe if (free & ~maybe).sum() >= max(2, length) else free)
    excess = (rows.wall_s - level) * rows.span
    schedules = [place(each, np.where(warm, np.nan, excess), n) for each in schedules]
    taken = np.zeros(n, dtype=bool)
    for each in schedules:
        taken[each.rows] = True
    level, sigma = _settled(rows, residue, free & ~taken)
    spike = _spikes(rows, level, sigma) & free & ~taken
    for _ in range(2):
        schedules, taken = _unknown_schedule(
            rows, schedules, spike & ~taken, taken, (rows.wall_s - level) * rows.span
        )
    level, sigma = _settled(rows, residue, free & ~taken)
    excess = _gathered(rows, (rows.wall_s - level) * rows.span, taken)
    pause = _pauses(rows, level, sigma, free & ~taken)
    periodic, periodic_s = priced(schedules, np.where(free, excess, np.nan), facts)
    kind, extra = _named(rows, schedules, warm, pause, excess, periodic_s)
    step_s = _now(rows, residue, length, kind, extra)
    periodic = _at_the_end(rows, periodic, kind, extra, step_s)
    first = warm & (rows.segment == rows.segment[0])
    return Kinds(
        kind=kind,
        extra_s=np.where(np.isfinite(rows.wall_s), extra, np.nan),
        cycle=length,
        warmup_steps=int(rows.span[first].sum()),
        warmup_s=float(np.maximum(extra[first], 0.0).sum()) if first.any() else None,
        paused_s=float(extra[pause].sum()),
        step_s=step_s,
        periodic=tuple(periodic),
    )


# --- level -----------------------------------------------------------------------------------------------------


def _level(rows: Rows, residue: Ints, use: Mask) -> Floats:
    """The usual seconds a step around each row, among rows of the same place in the generation cycle."""
    per_class = max(len(rows) // (int(residue.max()) + 1), 1) if len(rows) else 1
    window = int(np.clip(per_class // 3, 5, 41)) | 1
    frame = pl.DataFrame({"class": residue, "wall": np.where(use, rows.wall_s, np.nan)}).with_columns(
        pl.col("wall").fill_nan(None)
    )
    near = pl.col("wall").rolling_median(window, min_samples=1, center=True)
    wide = frame.select(near.forward_fill().backward_fill().over("class"))["wall"]
    overall = usual(rows.wall_s[use]) or usual(rows.wall_s)
    return wide.fill_null(overall).to_numpy()


def _settled(rows: Rows, residue: Ints, use: Mask) -> tuple[Floats, float]:
    """The level without what stands out, and the robust spread of ordinary rows around it (a share)."""
    level = _level(rows, residue, use)
    sigma = _spread(rows, level, use)
    calm = use & ~_spikes(rows, level, sigma)
    if calm.sum() >= 3:
        level = _level(rows, residue, calm)
        sigma = _spread(rows, level, calm)
    return level, sigma


def _spread(rows: Rows, level: Floats, use: Mask) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        away = (rows.wall_s / level - 1)[use]
    away = away[np.isfinite(away)]
    return float(1.4826 * np.median(np.abs(away - np.median(away)))) if len(away) else 0.0


def _spikes(rows: Rows, level: Floats, sigma: float) -> Mask:
    """Rows that stand out above their surroundings, by more than the clock's resolution can fake."""
    with np.errstate(invalid="ignore"):
        real = (rows.wall_s - level) * rows.span > 1.5 * rows.coarse_s
    return spikes(rows.wall_s, level, sigma) & real


def _gathered(rows: Rows, excess: Floats, jumps: Mask) -> Floats:
    """The excess of rows with a jump, with what a coarse clock smeared into the rows beside it."""
    row_s = usual(rows.wall_s * rows.span)
    reach = int(np.ceil(2 * rows.coarse_s / row_s)) if row_s > 0 else 0
    at = np.flatnonzero(jumps)
    if row_s > 20 * rows.coarse_s or reach == 0 or len(at) == 0:
        return excess
    reach = min(reach, 5, max(int(np.diff(at).min()) // 2 - 1, 0)) if len(at) > 1 else min(reach, 5)
    added = np.concatenate([[0.0], np.cumsum(np.nan_to_num(excess))])
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(excess))
    gathered = excess.copy()
    gathered[at] = np.maximum(added[high] - added[low], excess[at])
    return gathered


# --- cycles ----------------------------------------------------------------------------------------------------


def find_cycle(run: Run, rows: Rows, schedules: list[Schedule]) -> int:
    """How many steps one generation serves: from rows with and without a length, from settings, from alternating times.

    1 when every step generates, or when each row already covers whole cycles.
    """
    if len(rows) < 3:
        return 1
    told = _cycle_told(run)
    if np.median(rows.span) > 1:
        return 1
    found = _cycle_from_lengths(rows)
    if found is None and told is not None and _alternates(rows, told):
        found = told
    return found or _cycle_from_times(rows, schedules) or 1


def _cycle_told(run: Run) -> int | None:
    """Steps per generation by the settings: micro-batches served x passes / micro-batches a step."""
    served, passes = run.info.number("steps_per_generation"), run.info.number("num_iterations")
    micro = run.info.number("grad_accumulation") or 1.0
    if served is None and passes is None:
        return None
    cycle = (served if served is not None else micro) * (passes or 1.0) / micro
    return int(cycle) if 1 < cycle <= _CYCLE_MAX and cycle == int(cycle) else None


def _cycle_from_lengths(rows: Rows) -> int | None:
    """Rows with a length are generations, when they come evenly and cost more than those without."""
    has = np.isfinite(rows.length)
    if not 0 < has.mean() < 0.95 or has.sum() < 2:
        return None
    at = np.flatnonzero(has)
    apart, count = np.unique(np.diff(rows.step[at]), return_counts=True)
    cycle = int(apart[np.argmax(count)])
    regular = count.max() >= 0.8 * count.sum()
    slow, fast = usual(rows.wall_s[has]), usual(rows.wall_s[~has])
    return cycle if regular and 1 < cycle <= _CYCLE_MAX and (fast == 0 or slow > 1.15 * fast) else None


def _alternates(rows: Rows, cycle: int) -> bool:
    """True when the first step of each cycle is clearly slower than the rest (or nothing can be seen)."""
    first = (rows.step - rows.step[0]) % cycle == 0
    slow, fast = usual(rows.work_s[first] / rows.span[first]), usual(rows.work_s[~first] / rows.span[~first])
    if slow == 0 or fast == 0:
        slow, fast = usual(rows.wall_s[first]), usual(rows.wall_s[~first])
    return fast == 0 or slow > 1.15 * fast


def _cycle_from_times(rows: Rows, schedules: list[Schedule]) -> int | None:
    """Times that alternate evenly from the first step on: one slow step, then k - 1 fast ones, at least five times.

    The framework's own step time is used where there is one (it holds no evaluation); work known to be periodic
    with the same interval is not a cycle.
    """
    if np.isfinite(rows.length).mean() > 0.95:
        return None  # every row has its own generation
    seconds = rows.work_s if np.isfinite(rows.work_s).mean() > 0.9 else rows.wall_s
    if len(rows) < 10 or not np.isfinite(seconds[1:]).all():
        return None
    taken = {each.every for each in schedules}
    for cycle in range(2, min(17, len(rows) // 5 + 1)):
        if cycle in taken:
            continue
        first = (rows.step - rows.step[0]) % cycle == 0
        slow, fast = seconds[first][1:], seconds[~first]
        gap = np.quantile(slow, 0.1) > 1.5 * np.quantile(fast, 0.9)
        if gap and seconds[0] < 3 * np.median(slow) and seconds[0] > 1.5 * np.median(fast):
            return cycle
    return None


# --- warm-up and pauses ----------------------------------------------------------------------------------------


def _warmup(rows: Rows, residue: Ints) -> Mask:
    """The first rows of each session that cost clearly more than what follows, not by longer answers."""
    warm = np.zeros(len(rows), dtype=bool)
    starts = np.flatnonzero(np.diff(rows.segment, prepend=rows.segment[0] - 1))
    ends = np.append(starts[1:], len(rows))
    for start, end in zip(starts, ends, strict=True):
        count = _warm_rows(rows, residue, int(start), int(end))
        warm[start : start + count] = True
    return warm


def _warm_rows(rows: Rows, residue: Ints, start: int, end: int) -> int:
    n = end - start
    if n < 3:
        return 0
    most = min(max(n // 3, 1), _LONGEST_WARMUP)
    reach = slice(start + most, min(start + max(3 * most, most + 20), end))
    cycle = int(residue.max()) + 1
    count = 0
    walls = rows.wall_s[start : start + most]
    for i in range(most):
        same = residue[reach] == residue[start + i] if cycle > 1 else np.ones(reach.stop - reach.start, dtype=bool)
        after = rows.wall_s[reach][same]
        after = after[np.isfinite(after)]
        if len(after) == 0:
            break
        if not np.isfinite(walls[i]):
            continue
        middle = float(np.median(after))
        spread = 1.4826 * float(np.median(np.abs(after - middle)))
        longer = _longer(rows.length[start + i], rows.length[reach][same])
        if walls[i] / longer <= max(_WARM * middle, middle + 5 * spread):
            break
        count = i + 1
    return _sharp(rows.wall_s[start:end], count, cycle)


def _longer(own: float, after: Floats) -> float:
    """How much longer a row's answers are than later ones; at least 1."""
    later = usual(after)
    return max(own / later, 1.0) if later > 0 and np.isfinite(own) else 1.0


def _sharp(whole: Floats, count: int, cycle: int) -> int:
    """A warm-up of several rows must end in a drop or begin far above: a slow decline is the run's own course."""
    missing = 1 if count and np.isnan(whole[0]) else 0
    wall, count = whole[missing:], count - missing
    if count <= 1:
        return count + missing
    after = wall[count : count + max(3, cycle)]
    drop = wall[count - 1] / max(usual(after), 1e-12)
    high = wall[0] / max(usual(after), 1e-12)
    if drop >= _WARM or high >= 3:
        return count + missing
    sharp = np.flatnonzero(wall[:count] / np.maximum(wall[1 : count + 1], 1e-12) >= 1.5)
    return int(sharp[-1]) + 1 + missing if len(sharp) else 0


def _pauses(rows: Rows, level: Floats, sigma: float, use: Mask) -> Mask:
    """Rare rows in which nothing happened for a long time: lost, and not to be expected again."""
    excess = (rows.wall_s - level) * rows.span
    with np.errstate(invalid="ignore"):
        long = (excess > _PAUSE_STEPS * level) & (rows.wall_s > _PAUSE_ROWS * level)
        long &= rows.wall_s > level * (1 + 10 * sigma)
    long &= use & np.isfinite(excess)
    if long.sum() > max(2, 0.03 * use.sum()):
        bar = 10 * np.median(excess[long])
        long &= excess > bar
    return long


# --- naming ----------------------------------------------------------------------------------------------------


def _unknown_schedule(
    rows: Rows, schedules: list[Schedule], spike: Mask, taken: Mask, excess: Floats
) -> tuple[list[Schedule], Mask]:
    """Add a schedule that only the residuals show, when they show one: among all spikes, else among the large ones."""
    if not spike.any():
        return schedules, taken
    large = spike & (excess >= 0.5 * np.quantile(excess[spike], 0.9))
    for among in (spike, large):
        found = find_period(rows.step, rows.span, among, taken)
        if found is not None:
            at = due_rows(rows.step, rows.span, among, *found)
            at = at[spike[at]]
            taken = taken.copy()
            taken[at] = True
            return [*schedules, Schedule("unknown", found[0], at, np.full(len(at), np.nan), "residuals")], taken
    return schedules, taken


def _at_the_end(
    rows: Rows, periodic: list[Periodic], kind: NDArray[np.str_], extra: Floats, step_s: float | None
) -> list[Periodic]:
    """Time after the last step belongs to the work due there, else it is work at the end of which nothing more is known."""
    if rows.tail_s <= max(step_s or 0.0, 2.0):
        extra[-1] += rows.tail_s
        return periodic
    last = int(rows.step[-1])
    due = [i for i, each in enumerate(periodic) if each.at_end or (each.every and last % each.every == 0)]
    extra[-1] += rows.tail_s
    if not due:
        kind[-1] = "periodic"
        return [*periodic, Periodic("unknown", None, rows.tail_s, 1, "residuals", at_end=True)]
    own = periodic[due[0]]
    kind[-1] = {"unknown": "periodic"}.get(own.kind, own.kind)
    seconds = rows.tail_s if own.seconds is None else own.seconds
    if own.known_from in ("setting", "residuals", "given"):
        return [replace(each, seconds=seconds, count=each.count + 1) if each is own else each for each in periodic]
    return periodic


def _named(
    rows: Rows, schedules: list[Schedule], warm: Mask, pause: Mask, excess: Floats, periodic_s: Floats
) -> tuple[NDArray[np.str_], Floats]:
    """Each row's kind and what it took beyond its ordinary time."""
    n = len(rows)
    kind = np.full(n, "ordinary", dtype="<U10")
    extra = np.zeros(n)
    for each in reversed(schedules):
        kind[each.rows] = {"unknown": "periodic"}.get(each.kind, each.kind)
        extra[each.rows] = periodic_s[each.rows]
    late = rows.segment != rows.segment[0]
    kind[warm & ~late], kind[warm & late] = "warmup", "restart"
    kind[pause] = "pause"
    extra = np.where(warm | pause, np.maximum(np.nan_to_num(excess), 0.0), extra)
    return kind, extra


def _now(rows: Rows, residue: Ints, cycle: int, kind: NDArray[np.str_], extra: Floats) -> float | None:
    """Ordinary seconds a step in the late part: a mean without outliers, over whole cycles."""
    timed = np.isfinite(rows.wall_s)
    ordinary = timed & (kind == "ordinary")
    at = np.flatnonzero(ordinary if ordinary.any() else timed)
    if len(at) == 0:
        return None
    late = at[-max(8, min(30, len(at) // 4)) * cycle :]
    wall = rows.wall_s[late] - extra[late] / rows.span[late]
    if cycle == 1:
        return _calm_mean(wall)
    means = [_calm_mean(wall[residue[late] == each]) for each in np.unique(residue[late])]
    good = [mean for mean in means if mean is not None]
    return float(np.mean(good)) if good else None


def _calm_mean(values: Floats) -> float | None:
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return None
    middle = float(np.median(values))
    reach = 3 * 1.4826 * float(np.median(np.abs(values - middle)))
    return float(np.mean(np.clip(values, middle - reach, middle + reach))) if reach > 0 else middle


def make_rows(
    run: Run, segment: Ints, step: Ints, span: Ints, wall_s: Floats, work_s: Floats, *, tail_s: float, coarse_s: float
) -> Rows:
    """The clock's rows with the answers' length joined from the run, and the last one without what came after it."""
    wall_s = wall_s.copy()
    wall_s[-1] -= tail_s / span[-1]
    keys = pl.DataFrame({"segment": segment, "step": step}, schema={"segment": pl.Int64, "step": pl.Int64})
    own = run.steps.select("segment", "step", pl.coalesce("len_max", "len_mean").alias("length"))
    own = own.unique(["segment", "step"], keep="last")
    length = keys.join(own, on=["segment", "step"], how="left", maintain_order="left")["length"]
    return Rows(segment, step, span, wall_s, work_s, finite(length), tail_s, coarse_s)
