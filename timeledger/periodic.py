"""Work that comes every k steps: evaluation and checkpoints, from phases, events, settings, or the steps' own pattern."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger.clock_sources import Floats, Ints
from timeledger.phases import TopPhases
from timeledger.results import Facts, Periodic
from timeledger.run import Run

Mask = NDArray[np.bool_]
Work = Literal["evaluation", "checkpoint", "unknown"]

#: A phase in more of the rows than this is part of every step, not periodic.
_EVERY_ROW: Final = 0.9
#: A residual counts as a spike above this share of a usual row, and this many robust standard deviations.
_SPIKE_SHARE: Final = 0.25
_SPIKE_SIGMA: Final = 5.0
#: Spikes that come together by chance less often than this are a schedule.
_CHANCE: Final = 1e-3
#: The same where three of them or more are alike, and each takes several usual steps: one and the same work.
_CHANCE_ALIKE: Final = 0.03
_ENOUGH_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is known of one kind of periodic work before looking at residuals.

    `rows` are table rows it is paid in, `seconds` its own time there (NaN: not logged). At an `edge` it came with the
    row's very last step, so that the next row may have paid; else it lies inside the row.
    """

    kind: Work
    every: int | None
    rows: Ints
    seconds: Floats
    edge: Mask
    known_from: str
    at_end: bool = False
    seen: int = 0


#: Rows, seconds, edges and the source of what was seen.
_Found = tuple[Ints, Floats, Mask, str]


def known_schedules(run: Run, facts: Facts, top: TopPhases, segment: Ints, step: Ints, span: Ints) -> list[Schedule]:
    """Evaluation and checkpoints as phases, events, settings or a person tell them; the best source of each kind."""
    made: list[Schedule] = []
    keys = pl.DataFrame({"segment": segment, "step": step, "row": np.arange(len(step))})
    for kind in ("evaluation", "checkpoint"):
        every, told = _told(run, facts, kind)
        at_end = _at_end(run, facts) if kind == "evaluation" else False
        found = _from_phases(top, kind, keys) or _from_events(run, kind, segment, step)
        if found is not None:
            rows, seconds, edge, source = found
            every = every or _spacing(step[rows] if source == "phase" else _event_steps(run, kind))
        elif every:
            rows = _due(step, span, every)
            seconds, edge, source = np.full(len(rows), np.nan), step[rows] % every == 0, told
        elif at_end:
            rows, seconds, edge = np.array([], dtype=np.int64), np.array([]), np.array([], dtype=bool)
            source = "given" if facts.eval_at_end else "setting"
        else:
            continue
        seen = len(rows) if source in {"phase", "event"} else 0
        made.append(Schedule(kind, every, rows, seconds, edge, source, at_end, seen))
    return made


def _told(run: Run, facts: Facts, kind: str) -> tuple[int | None, str]:
    """The interval that a person or a setting names, and which of the two."""
    given = facts.eval_every if kind == "evaluation" else facts.save_every
    if given and given > 0:
        return int(given), "given"
    value = run.info.number("eval_steps" if kind == "evaluation" else "save_steps")
    return (int(value), "setting") if value is not None and value >= 1 else (None, "setting")


def _at_end(run: Run, facts: Facts) -> bool:
    """True when an evaluation after the last step is announced."""
    if facts.eval_at_end is not None:
        return facts.eval_at_end
    if run.info.setting("eval_at_end") is True:
        return True
    # ms-swift's flow callback evaluates after the last step whenever it evaluates at all (swift/trainers/callback.py).
    swift = (run.info.framework or "").startswith("ms-swift")
    return swift and run.events.filter(pl.col("kind") == "evaluation").height > 0


def _from_phases(top: TopPhases, kind: str, keys: pl.DataFrame) -> _Found | None:
    phase = top.frame.filter((pl.col("phase") == kind) & (pl.col("seconds") > 0))
    if phase.is_empty():
        return None
    rows = phase.group_by("segment", "step").agg(pl.col("seconds").sum()).join(keys, on=["segment", "step"]).sort("row")
    if rows.is_empty() or (rows.height > _EVERY_ROW * keys.height and keys.height > 3):
        return None
    return rows["row"].to_numpy(), rows["seconds"].to_numpy(), np.ones(rows.height, dtype=bool), "phase"


def _events(run: Run, kind: str) -> pl.DataFrame:
    """Events of a kind. A validation before training (step 0) is not paid in a step, and tells no price."""
    return run.events.filter((pl.col("kind") == kind) & (pl.col("step") > 0))


def _event_steps(run: Run, kind: str) -> Ints:
    """The steps that events name: a row of several steps is later than what happened within it."""
    return _events(run, kind)["step"].unique().sort().to_numpy()


def _from_events(run: Run, kind: str, segment: Ints, step: Ints) -> _Found | None:
    events = _events(run, kind)
    if events.is_empty() or len(step) == 0:
        return None
    events = events.group_by("segment", "step").agg(
        pl.col("seconds").filter(pl.col("seconds").is_finite()).sum(),
        pl.col("seconds").is_finite().any().alias("timed"),
    )
    where = np.searchsorted(step, events["step"].to_numpy())
    inside = where < len(step)
    inside &= segment[np.minimum(where, len(step) - 1)] == events["segment"].to_numpy()
    seconds = np.where(events["timed"].fill_null(False).to_numpy(), events["seconds"].to_numpy(), np.nan)
    rows, first = np.unique(where[inside], return_index=True)
    if len(rows) == 0 or (len(rows) > _EVERY_ROW * len(step) and len(step) > 3):
        return None
    edge = step[rows] == events["step"].to_numpy()[inside][first]
    return rows, seconds[inside][first].astype(float), edge, "event"


def _spacing(steps: Ints) -> int | None:
    """The interval at which work was seen, when it is regular enough to be one; a last time at the run's end does not count."""
    if len(steps) < 2:
        return None
    apart, count = np.unique(np.diff(steps), return_counts=True)
    apart, count = apart[apart > 0], count[apart > 0]
    if len(apart) == 0:
        return None
    fit = [_on_grid(steps, int(each)) for each in apart]
    if max(fit) >= 0.5:
        return int(max(apart[np.array(fit) == max(fit)]))
    best = int(np.argmax(count))
    return int(apart[best]) if count[best] >= 0.5 * (len(steps) - 1) else None


def _on_grid(steps: Ints, every: int) -> float:
    """How well the multiples of `every` and the steps agree: the share of either that is also of the other, the lesser one.

    Work of two kinds at once (every 250, and every 2,000 one step later) leaves distances of 1: few of their multiples were due.
    """
    on_it = int(np.sum(steps % every == 0))
    due = int(steps[-1]) // every - (int(steps[0]) - 1) // every
    return 0.0 if on_it < 2 else min(on_it / len(steps), on_it / max(due, 1))


def _due(step: Ints, span: Ints, every: int) -> Ints:
    """Rows whose span holds a multiple of `every`; step 0 is none."""
    return np.flatnonzero((step // every > (step - span) // every) & (step > 0))


def place(schedule: Schedule, excess_s: Floats, count: int) -> Schedule:
    """Move a schedule's rows to where its time was paid: the row itself, or the next one (work after the row was written).

    What was due at the very last row stays there when that row shows it; else its time came after the last step.
    """
    rows, edge = schedule.rows, schedule.edge
    inner = rows + 1 < count
    here, there = excess_s[rows[inner & edge]], excess_s[rows[inner & edge] + 1]
    if (
        schedule.known_from == "phase"
    ):  # a phase belongs to its row, unless the clock says plainly that the next one paid
        took = _middle(schedule.seconds)
        if not (_middle(there) > 0.5 * took > 2 * _middle(here) and took > 0):
            return schedule
    if not np.isfinite(there).any() or _middle(there) <= max(_middle(here), 0.0):
        return schedule
    moved = inner & edge
    paid = inner | ~edge | (np.nan_to_num(excess_s[rows]) > 0.5 * _middle(there))
    return replace(
        schedule,
        rows=np.where(moved, rows + 1, rows)[paid],
        seconds=schedule.seconds[paid],
        edge=edge[paid] & ~moved[paid],
    )


def _middle(values: Floats) -> float:
    good = values[np.isfinite(values)]
    return float(np.median(good)) if len(good) else 0.0


def _mean(values: Floats) -> float:
    good = values[np.isfinite(values)]
    return float(np.mean(good)) if len(good) else 0.0


# --- the pattern of the steps themselves -----------------------------------------------------------------------


def spikes(excess: Floats, scale: Floats, sigma: float) -> Mask:
    """Rows that stand out above their surroundings; `excess` and `scale` (a usual step) in seconds of one step."""
    with np.errstate(all="ignore"):
        share = excess / scale
    return np.nan_to_num(share, nan=0.0) > max(_SPIKE_SHARE, _SPIKE_SIGMA * sigma)


def find_period(step: Ints, span: Ints, spike: Mask, taken: Mask, *, alike: bool = False) -> tuple[int, int] | None:
    """(period, offset) of spikes that come every so many steps, with too much regularity for chance; None otherwise.

    A row may hold work done at any step of its span, or just before it (paid after the row before was written).
    Rows `taken` by a known schedule are no evidence either way. The newest rows decide in a very long run.
    """
    step, span = step[-_ENOUGH_ROWS:], span[-_ENOUGH_ROWS:]
    spike, taken = spike[-_ENOUGH_ROWS:], taken[-_ENOUGH_ROWS:]
    at = np.flatnonzero(spike)
    if len(at) < 2 or len(at) > 0.6 * len(step):
        return None
    best: tuple[float, int, int] | None = None
    periods = _candidates(step[at], span[at])
    for period in periods:
        for offset in _offsets(step[at], period):
            chance = _chance(step, span, spike, taken, period, offset, len(periods))
            if chance is not None and (best is None or chance < best[0] - 1e-9):
                best = (chance, period, offset)
    if best is None or best[0] > math.log(_CHANCE_ALIKE if alike else _CHANCE):
        return None
    return best[1], best[2]


def _candidates(steps: Ints, span: Ints) -> list[int]:
    """Periods that the distances between spikes suggest: each distance, their mean and their greatest common divisor.

    A row of several steps blurs the distance: a period of 25 shows as 20 and 30 in rows of ten.
    """
    apart = np.diff(steps[-400:])
    slack = int(np.median(span))
    mean = float(np.mean(apart))
    bases = [int(np.gcd.reduce(apart)), round(mean), 5 * round(mean / 5), *np.unique(apart).tolist()]
    found = {base + move: None for base in bases for move in sorted({0, slack, -slack, 1, -1}, key=abs)}
    return [period for period in found if period >= 2][:120]


def _offsets(steps: Ints, period: int) -> list[int]:
    """Offsets to try: multiples of the period, and the commonest remainder."""
    left, count = np.unique(steps % period, return_counts=True)
    usual = int(left[np.argmax(count)])
    return list(dict.fromkeys([0, usual]))


def _chance(step: Ints, span: Ints, spike: Mask, taken: Mask, period: int, offset: int, tried: int) -> float | None:
    """Log-probability that spikes fall on this schedule by chance; None when they do not follow it."""
    due = due_rows(step, span, spike, period, offset)
    due = due[~taken[due]]
    wanted, hits, all_spikes = len(due), int(spike[due].sum()), int(spike.sum())
    if wanted < 2 or hits < min(0.8 * wanted, wanted - 1) or hits < 0.5 * all_spikes or (hits < 3 and hits < wanted):
        return None
    rate = min(all_spikes / len(step), 0.99)
    prior = math.log(2 * tried) + (0.0 if offset == 0 else math.log(period)) + (0.0 if period % 5 == 0 else math.log(5))
    misses = wanted - hits
    return hits * math.log(rate) + misses * math.log(max(1 - rate, 1e-9)) + _log_choose(wanted, hits) + prior


def due_rows(step: Ints, span: Ints, spike: Mask, period: int, offset: int) -> Ints:
    """One row for each time the work was due: the row that holds it, or its neighbour where that one spikes."""
    due = np.flatnonzero((step - offset) // period > (step - span - offset) // period)
    due = due[due > 0]
    following = np.minimum(due + 1, len(step) - 1)
    edge = (step[due] - offset) % period == 0  # what came inside a row was paid in it
    after = (spike[following] & ~spike[due])[edge]
    late = edge & (after.mean() > 0.5 if len(after) else False)
    unpaid = late & (due + 1 >= len(step))
    return np.unique(np.where(late, following, due)[~unpaid])


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# --- prices ----------------------------------------------------------------------------------------------------


def priced(
    schedules: list[Schedule], excess_s: list[Floats], facts: Facts, least_s: float, *, whole: bool
) -> tuple[list[Periodic], Floats]:
    """Each schedule with the seconds of one, and every row's seconds of periodic work.

    `excess_s` is one array a schedule. A price that the clock cannot resolve (below `least_s`), or that chance may have
    made, is nothing where the clock is `whole` (it runs on between the rows), and unknown where it is step times added up.
    Where two schedules meet in a row and only one logs its own time, the other takes the rest; where none does, the
    rows of one alone tell.
    """
    known = np.zeros(len(excess_s[0]) if excess_s else 0)
    extra = known.copy()
    for each in schedules:
        timed = np.isfinite(each.seconds)
        known[each.rows[timed]] += each.seconds[timed]
    made: list[Periodic] = []
    for each, excess in zip(schedules, excess_s, strict=True):
        others = [other.rows for other in schedules if other is not each]
        busy = np.concatenate(others) if others else np.array([], dtype=np.int64)
        made.append(_price(each, busy, excess, known, facts, least_s, whole=whole))
        beyond = excess[each.rows] if made[-1].seconds else known[each.rows]  # else it is chance
        extra[each.rows] = np.maximum(extra[each.rows], np.fmax(beyond, known[each.rows]))
    return made, np.nan_to_num(np.maximum(extra, 0.0))


def _by_chance(excess_s: Floats, count: int, *, whole: bool) -> float:
    """Seconds that the median of `count` rows may lie above the usual by chance.

    Three standard errors where the clock runs on and the work must be in it; more where step times may leave it out.
    """
    good = excess_s[np.isfinite(excess_s)]
    if len(good) == 0 or count == 0:
        return 0.0
    error = 1.25 * 1.4826 * float(np.median(np.abs(good - np.median(good)))) / math.sqrt(count)
    return (3 if whole else 4) * error


def _price(
    own: Schedule, busy: Ints, excess_s: Floats, known: Floats, facts: Facts, least_s: float, *, whole: bool
) -> Periodic:
    """The seconds of one: given, else as logged lately, else what the rows with nothing else (`busy`) took beyond the usual."""
    given = {"evaluation": facts.eval_s, "checkpoint": facts.save_s}.get(own.kind)
    timed = own.seconds[np.isfinite(own.seconds)]
    seconds: float | None = given
    if given is None and len(timed) < 0.5 * len(own.rows) and len(timed):  # a long one among short ones
        seconds = _mean(np.where(np.isfinite(own.seconds), own.seconds, np.maximum(excess_s[own.rows], 0.0)))
    elif given is None and len(timed):
        seconds = _middle(timed[-5:])
    elif given is None:
        alone = own.rows[~np.isin(own.rows, busy)]
        told = excess_s[alone] if len(alone) else excess_s[own.rows] - known[own.rows]
        tells = len(alone) or known[own.rows].any() or own.kind == "evaluation"
        told = told[np.isfinite(told)]
        chance = _by_chance(np.delete(excess_s, np.union1d(own.rows, busy)), len(told), whole=whole)
        sure = _middle(told) > max(least_s, chance)
        seconds = _middle(told[-5:]) if tells and sure else None
        # What was due at the very last row may still have to be paid.
        past = alone[(alone < len(excess_s) - 1) & np.isfinite(excess_s[alone])]
        if seconds is None and whole and len(past):
            seconds = 0.0
    return Periodic(own.kind, own.every, seconds, max(len(own.rows), own.seen), own.known_from, own.at_end)
