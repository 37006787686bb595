"""How finely a running clock counts, and what of the run it does not count."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Ticks in seconds of hours and minutes printed with few decimals: 0.1 h, 0.01 h, 0.1 min, 0.001 h, 0.01 min, 0.001 min.
_PRINTED: Final = (360.0, 36.0, 6.0, 3.6, 0.6, 0.06)
#: So many values show such a tick; where it is of whole seconds, more.
_SHOW: Final = 10
_SHOW_WHOLE: Final = 30
#: A clock that moves by no more than the step times, give or take this share of them, tells of nothing else.
_SAME: Final = 0.002
#: Rows that step times tell of one by one: for this share of all steps.
_NEARLY: Final = 0.98
#: Step times are sharp where they are printed to this share of the usual one.
_SHARP: Final = 0.02
_CONTRADICTS: Final = 1.08


def resolution(values: Floats) -> float:
    """The grid the clock counts on: 60 s, 1 s, 0.1 s, ... as the largest on which nearly all its values lie; 0 when none."""
    good = values[np.isfinite(values) & (values != 0)]
    if len(good) == 0:
        return 1.0
    for grid in (60.0, 1.0, 0.1, 0.01):
        if _lie_on(good, grid) and (grid <= 1 or len(good) >= 5):
            return grid
    return 0.0


def printed_tick(values: Floats) -> float | None:
    """The tick of a clock printed in minutes or hours with few decimals: seconds; None where it is none of these.

    Values at every tick by chance (a bar of steps of six seconds) move by the same number of ticks each time.
    """
    good = values[np.isfinite(values)]
    for tick in _PRINTED:
        if np.count_nonzero(good) < (_SHOW if tick < 1 else _SHOW_WHOLE) or not _lie_on(good, tick):
            continue
        moves = np.unique(np.diff(np.round(good / tick).astype(np.int64)))
        if len(moves) > 1 and np.gcd.reduce(moves) == 1:
            return tick
    return None


def _lie_on(values: Floats, grid: float) -> bool:
    ticks = values / grid
    near = (np.abs(ticks - np.round(ticks)) < 1e-4) & ((np.round(ticks) != 0) | (values == 0))
    return bool(np.mean(near) > 0.99)


def left_out(clock: Floats, work_s: Floats, tick_s: float) -> float:
    """Seconds of the first rows that the clock does not count: it stands still while their step times say that time passed.

    A loop may leave its slow first steps out of the time it prints.
    """
    moved = np.flatnonzero(clock > clock[0])
    if len(moved) == 0 or clock[0] > tick_s or not np.isfinite(work_s[: moved[0] + 1]).all():
        return 0.0
    first = int(moved[0])
    stood = float(work_s[:first].sum())
    missing = stood + float(work_s[first]) - float(clock[first])
    return stood if missing > max(1.5 * tick_s, 0.5 * stood) else 0.0


def steps_tell_more(clock: Floats, work_s: Floats, gap: Ints, tick_s: float, *, coarse: bool) -> bool:
    """True where each row's own step time is known and the clock, coarser or begun later, tells of nothing beside them.

    A clock that also counts evaluations and checkpoints between the steps moves by more than they come to.
    """
    known = np.isfinite(work_s)
    alone = float(gap[gap == 1].sum()) >= _NEARLY * float(gap.sum())
    if (
        not alone
        or known.mean() < _NEARLY
        or len(clock) < 2
        or resolution(work_s) > _SHARP * float(np.nanmedian(work_s))
    ):
        return False
    uncounted = left_out(clock, work_s, tick_s)
    if not coarse and not uncounted:
        return False
    stood = int(np.argmax(clock > clock[0])) if uncounted else 1
    told, span = float(np.nansum(work_s[stood:])), float(clock[-1] - clock[0])
    moves = np.diff(clock)
    if 0 < np.mean(moves > 0) < 0.5:  # by whole ticks
        tick_s = max(tick_s, float(moves[moves > 0].min()))
    rounding = tick_s + _SAME * told
    return span <= told + rounding and told <= _CONTRADICTS * span + 2 * tick_s
