"""Steps that will not come again: a slow start, and pauses."""

from __future__ import annotations

from typing import Final

import numpy as np

from timeledger.clock_rows import Line, Rows
from timeledger.clock_sources import Floats, Ints, usual
from timeledger.periodic import Mask

#: A pause takes at least this many steps' time, and this many times its row's usual time.
_PAUSE_STEPS: Final = 10.0
_PAUSE_ROWS: Final = 3.0
_PAUSE_ALONE: Final = 2.5
#: More rows than this of about the same size (or larger) are the run's own habit.
_PAUSES_ALIKE: Final = 2
#: More than so many that take most of the time are what the run does.
_PAUSES_MOST: Final = 5
#: First rows are warm-up above this much of what follows; the drop at the end of a longer one must be sharp.
_WARM: Final = 1.25
_LONGEST_WARMUP: Final = 32
#: So many rows, and half of them may be warm-up; of fewer a third.
_ENOUGH: Final = 24


def find_warmup(rows: Rows, residue: Ints) -> Mask:
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
    most = min(max(n // 3 if n < _ENOUGH else n // 2, 1), _LONGEST_WARMUP)
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


def find_pauses(rows: Rows, line: Line, use: Mask) -> Mask:
    """Rare rows, far above their neighbours too, in which nothing happened for a long time: lost, and not to be expected again."""
    excess, wall = line.excess_s(rows), np.nan_to_num(rows.wall_s)
    with np.errstate(all="ignore"):
        long = (excess > _PAUSE_STEPS * line.level) & (wall > line.level * max(_PAUSE_ROWS, 1 + 10 * line.sigma))
    beside = np.maximum(np.append(wall[1:], 0.0), np.insert(wall[:-1], 0, 0.0))
    long &= use & np.isfinite(excess) & ((wall > _PAUSE_ALONE * beside) | (wall > 10 * _PAUSE_STEPS * line.level))
    if long.any():
        size = np.sort(np.nan_to_num(excess[use]))
        alike = len(size) - np.searchsorted(size, 0.5 * np.nan_to_num(excess[long]))
        long[long] = alike <= max(_PAUSES_ALIKE, 0.003 * len(size))
        most = float(excess[long].sum()) > 0.5 * float((wall * rows.span).sum())
        if most and long.sum() > _PAUSES_MOST:  # a run that mostly stands still a little at a time works so
            long[:] = False
    return long
