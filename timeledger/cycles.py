"""Generation cycles: how many steps one generation serves."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from timeledger.clock_rows import Rows
from timeledger.clock_sources import Floats, usual
from timeledger.periodic import Schedule
from timeledger.run import Run

#: Algorithms that learn from answers of their own, as settings and trainers name them.
_ONLINE: Final = (
    "grpo", "gspo", "dapo", "dr_grpo", "rloo", "ppo", "gae", "reinforce", "remax", "opo", "cispo", "onlinedpo", "nashmd", "xpo",
)  # fmt: skip
_CYCLE_MAX: Final = 64
#: So many times the usual step, again and again at the same distance, three times are enough.
_HUGE: Final = 3.0


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


def generates(run: Run) -> bool:
    """True for trainers that must generate the answers they learn from."""
    algorithm = str(run.info.setting("algorithm") or "").lower()
    answers = run.steps.select(pl.col("reward", "len_mean").count().cast(pl.Int64)).row(0)
    told = run.info.number("steps_per_generation") is not None
    return told or sum(answers) > 0 or any(algorithm.startswith(name) for name in _ONLINE)


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
    if (even := _evenly_huge(seconds)) is not None and even not in taken:
        return even
    for cycle in range(2, min(17, len(rows) // 5 + 1)):
        if cycle in taken:
            continue
        first = (rows.step - rows.step[0]) % cycle == 0
        slow, fast = seconds[first][1:], seconds[~first]
        gap = np.quantile(slow, 0.1) > 1.5 * np.quantile(fast, 0.9)
        if gap and seconds[0] < 3 * np.median(slow) and seconds[0] > 1.5 * np.median(fast):
            return cycle
    return None


def _evenly_huge(seconds: Floats) -> int | None:
    """The distance of steps that take many times the others and come evenly from the first one on, three of them at least."""
    fast = usual(seconds)
    huge = np.flatnonzero(seconds > _HUGE * fast)
    if len(huge) < 3 or huge[0] != 0:
        return None
    apart = np.diff(huge)
    cycle = int(apart[0])
    whole = (apart == cycle).all() and (len(seconds) - 1) // cycle == len(huge) - 1
    others = np.delete(seconds, huge)
    alike = seconds[huge].max() < 3 * seconds[huge].min() and seconds[huge].min() > _HUGE * others.max()
    return cycle if whole and alike and 1 < cycle <= _CYCLE_MAX else None
