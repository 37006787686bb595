"""The remaining time in numbers: ordinary steps at a drifting level, extra work by its schedule, and any quantile of the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
import polars as pl

from timeledger.interval import calibrated
from timeledger.learned import LEARNED, Learned
from timeledger.level import Level, estimate
from timeledger.pull import Pull, find_pull
from timeledger.results import Clock, Facts, Growth, Span, Timing
from timeledger.rows import Array, Rows, make_rows
from timeledger.run import Run
from timeledger.schedule import Extra, extras_to_come
from timeledger.suspect import MAX_CYCLE, likely_cycles, suspected, unseen

#: Ordinary steps below which only a range is shown.
ENOUGH_STEPS: Final = 5
#: A first step over those that follow: the median of 125 real runs of 46 repositories, and between what eight in ten lie.
FIRST_STEP: Final = 1.2
FIRST_STEPS: Final = (0.56, 9.9)
#: No bound is further away than this factor's logarithm; beyond it numbers overflow.
_WIDEST: Final = 50.0
#: Steps that only get faster (their ranks against time), to below this share of the first ones, may be a slow start that
#: goes on: looked for in so many rows, and up to this share of the run.
_ONLY_FASTER: Final = -0.85
_FALLEN: Final = 0.7
_START_SHARE: Final = 0.3
LONGEST_START: Final = 32
_USUAL_Z: Final = NormalDist().inv_cdf(0.9)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known at one moment of a run about the time to come.

    `in_cycle` is what a step to come costs over the mean of a generation cycle: how many of them generate is known.
    `coarse_s` is the clock's tick: no end is known better than that. `starting`: steps have only got
    faster so far, so that the slow start may not be over.
    """

    elapsed_s: float
    position: int
    total: int
    rows: Rows
    level: Level
    extras: tuple[Extra, ...]
    pull: Pull
    open_cycle: bool = False
    learned: Learned = LEARNED
    in_cycle: float = 1.0
    coarse_s: float = 0.0
    starting: bool = False

    @property
    def steps_left(self) -> int:
        """Steps from the last known one to the planned end."""
        return self.total - self.position

    @property
    def step_s(self) -> float:
        """Mean seconds of an ordinary step to come."""
        return self.level.recent * math.exp(self.pull.mid) * self.in_cycle

    @property
    def extra_s(self) -> float:
        """Seconds of extra work to come."""
        return math.fsum(each.seconds for each in self.extras)

    @property
    def remaining_s(self) -> float:
        """Seconds to come, the middle."""
        return self.steps_left * self.step_s + self.extra_s

    def log_widths(self, shares: Sequence[float], steps: float) -> Array:
        """Logs of quantiles `shares` of the time of the next `steps` steps over its middle."""
        ordinary = self.steps_left * self.step_s / max(self.remaining_s, 1e-12)
        wanted = np.array([calibrated(share, self.learned, self.position / max(self.total, 1)) for share in shares])
        z = np.array([NormalDist().inv_cdf(share) for share in wanted])
        # How far lengths may go is no matter of luck that was learned from other runs: it keeps the asked-for share.
        asked = np.array([abs(NormalDist().inv_cdf(share)) for share in shares]) / _USUAL_Z
        part = steps / max(self.steps_left, 1)
        level = self.level.quantiles(wanted, max(steps, 1.0)) * ordinary
        reach = np.minimum(self.pull.above * asked, self.pull.most)
        length = np.where(z > 0, reach, self.pull.below * asked) * ordinary * part
        unsure = math.hypot(self.coarse_s / 2, *(each.sd_s for each in self.extras)) / max(self.remaining_s, 1e-12) * z
        doubt = np.array([math.fsum(each.reach_s(share) for each in self.extras) for share in wanted])
        doubt = np.log(np.maximum(1 + doubt / max(self.remaining_s, 1e-12), 0.02))
        width = np.sign(z) * np.sqrt(level**2 + length**2 + unsure**2 + doubt**2)
        bounded: Array = np.clip(width, -_WIDEST, _WIDEST)
        return bounded

    def remaining(self, level: float) -> Span:
        """Remaining seconds with the interval that holds the truth with probability `level`."""
        level = min(max(level, 0.01), 0.999)
        low, high = self.log_widths((0.5 - level / 2, 0.5 + level / 2), self.steps_left)
        mid = self.remaining_s
        return Span(mid * math.exp(min(low, 0.0)), mid, mid * math.exp(max(high, 0.0)))


def make_forecast(
    run: Run, clock: Clock, timing: Timing, growth: Growth, facts: Facts, total: int, learned: Learned = LEARNED,
    rows: Rows | None = None,
) -> Forecast | None:  # fmt: skip
    """The forecast, or None when no step has a time yet; `rows` are those of `make_rows`, where the caller has them."""
    every = make_rows(run, clock) if rows is None else rows
    rows = present(every.usable())
    if clock.elapsed_s is None or clock.position is None:
        return None
    position = steps_done(run, clock)
    extras = extras_to_come(clock, facts, position, total)
    open_cycle = in_first_cycle(run, every, total)
    if (
        not extras
        and open_cycle is None
        and (doubt := suspected(clock, every, position, total, clock.generates)) is not None
    ):
        extras = (doubt,)
    if len(rows):
        extras = (*extras, *unseen(clock, facts, extras, float(np.mean(rows.wall_s)), position, total))
    if open_cycle is not None:
        rows = open_cycle.rows
    rows = rows if len(rows) else overall(every)
    if len(rows) == 0:
        return None
    lone = len(rows) == 1 and rows.span[0] == 1 and position <= (clock.first_step or 1)
    if lone:
        rows = replace(rows, wall_s=rows.wall_s / FIRST_STEP)
    level = estimate(rows.wall_s, rows.span, float(total), clock.resolution_s, learned, max(clock.cycle, 1))
    pull = find_pull(rows, timing, growth, float(total))
    if lone:
        pull = replace(pull, above=math.log(FIRST_STEP / FIRST_STEPS[0]), below=math.log(FIRST_STEPS[1] / FIRST_STEP))
    if open_cycle is not None:
        pull = replace(pull, above=open_cycle.above, below=open_cycle.below, most=open_cycle.above)
    slowing = still_starting(every, total) if not clock.warmup_steps else None
    if slowing is not None:
        pull = replace(pull, below=max(pull.below, math.log(level.recent / slowing)))
    return Forecast(
        clock.elapsed_s, position, total, rows, level, extras, pull, open_cycle is not None, learned,
        cost_in_cycle(clock, position, total), clock.resolution_s, slowing is not None,
    )  # fmt: skip


def still_starting(every: Rows, total: int) -> float | None:
    """Seconds a step may still fall to where steps have only got faster since the first; None where that is not so."""
    wall = every.wall_s[np.isfinite(every.wall_s) & (every.wall_s > 0)]
    if not ENOUGH_STEPS <= len(wall) <= LONGEST_START or every.span.sum() > _START_SHARE * total:
        return None
    third = len(wall) // 3 or 1
    first, last = float(np.mean(wall[:third])), float(np.mean(wall[-third:]))
    ranks = np.corrcoef(np.arange(len(wall)), np.argsort(np.argsort(wall)))[0, 1]
    # it may fall once more by as much as it did so far
    return last * last / first if ranks < _ONLY_FASTER and last < _FALLEN * first else None


def cost_in_cycle(clock: Clock, position: int, total: int) -> float:
    """What the steps to come cost over the mean of a generation cycle, by their places in it; 1 where every step generates."""
    cycle, steps = clock.cycle, clock.steps.filter((pl.col("kind") == "ordinary") & pl.col("wall_s").is_finite())
    if cycle <= 1 or position >= total:
        return 1.0
    place = (steps["step"].to_numpy() - (0 if clock.first_step == 0 else 1)) % cycle
    wall = steps["wall_s"].to_numpy()
    if len(set(place.tolist())) < cycle:
        return 1.0
    cost = np.array([float(np.median(wall[place == each])) for each in range(cycle)])
    return float(np.mean(cost[np.arange(position, total) % cycle]) / np.mean(cost)) if cost.mean() > 0 else 1.0


def known_done(run: Run, clock: Clock) -> int | None:
    """`steps_done`, for showing: None where no step is known to be done."""
    return None if clock.position is None else steps_done(run, clock)


def steps_done(run: Run, clock: Clock) -> int:
    """Steps done so far: the last step's number, one more where the log counts its training steps from 0."""
    position = clock.position or 0
    if clock.first_step != 0:
        return position
    zero = run.steps.filter(pl.col("step") == 0)
    later = run.steps.filter(pl.col("step") > 0)["elapsed_s"].drop_nulls()
    counts = len(later) > 0 and later[0] > 0  # else: a clock that leaves the first steps out
    if zero.height and zero["elapsed_s"].max() == 0 and counts:
        return position  # the run's clock had not started: the state before training
    trained = any(zero[name].drop_nulls().len() for name in ("len_mean", "reward", "loss", "step_s"))
    return position + 1 if trained or zero.height == 0 else position


@dataclass(frozen=True, slots=True)
class OpenCycle:
    """A run in its first generation cycle: all steps as one row of the likely cost, and how far (log) it may lie below and above."""

    rows: Rows
    below: float
    above: float


def in_first_cycle(run: Run, rows: Rows, total: int) -> OpenCycle | None:
    """The cycle that is open when only the first step has a length: it generated, and the next generation has not come yet.

    Its time then is no slow start. How many steps the cycle has is not known before it ends. Steps that only a bar
    shows so far do not count: their metrics may come later.
    """
    timed = rows.pick(np.isfinite(rows.wall_s) & (rows.wall_s > 0))
    has = np.isfinite(timed.len_mean)
    logged = np.isin(timed.step, run.steps["step"].to_numpy())
    if len(timed) < 2 or not has[0] or has[1:].any() or not logged[1:].all():
        return None
    slow, fast, steps = float(timed.wall_s[0]), float(np.median(timed.wall_s[1:])), float(timed.span.sum())
    if slow < 1.5 * fast or steps >= MAX_CYCLE / 2:
        return None
    dear, usual, cheap = (fast + (slow - fast) / cycle for cycle in likely_cycles(steps, total))
    return OpenCycle(replace(overall(timed), wall_s=np.array([usual])), math.log(usual / cheap), math.log(dear / usual))


def overall(rows: Rows) -> Rows:
    """Everything timed so far as one row: for a run of which no whole ordinary step (or generation cycle) is known yet."""
    timed = rows.pick(np.isfinite(rows.wall_s) & (rows.wall_s > 0))
    if len(timed) == 0:
        return timed
    one = timed.pick(np.arange(len(timed)) == len(timed) - 1)
    mean = float(np.average(timed.wall_s, weights=timed.span))
    return replace(one, wall_s=np.array([mean]), span=np.array([float(timed.span.sum())]))


def present(rows: Rows) -> Rows:
    """The rows that tell of now: the last session when it holds enough steps, without a slow first step."""
    if len(rows) == 0:
        return rows
    last = rows.pick(rows.segment == rows.segment[-1])
    rows = last if float(last.span.sum()) >= ENOUGH_STEPS and len(last) >= 3 else rows
    if 2 <= len(rows) <= 12 and rows.wall_s[0] > max(
        1.1 * float(np.median(rows.wall_s[1:])), float(rows.wall_s[1:].max())
    ):
        rows = rows.pick(np.arange(len(rows)) > 0)
    return rows
