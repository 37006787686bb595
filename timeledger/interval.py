"""From a wanted level to the model's own quantile: recalibrated on real runs."""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

from timeledger.learned import EARLY, LATE, LEARNED, MIDDLE, Learned

_NORMAL = NormalDist()


def calibrated(share: float, learned: Learned = LEARNED, progress: float = 1.0) -> float:
    """The model's quantile that lies above the truth in `share` of real runs when `progress` of the run is done."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    want = _NORMAL.inv_cdf(share)
    before, after = (learned.early, learned.middle) if progress < MIDDLE else (learned.middle, learned.late)
    start, end = (EARLY, MIDDLE) if progress < MIDDLE else (MIDDLE, LATE)
    later = min(max((progress - start) / (end - start), 0.0), 1.0)
    z = (1 - later) * _between(want, learned.actual, before) + later * _between(want, learned.actual, after)
    return _NORMAL.cdf(z)


def _between(want: float, actual: tuple[float, ...], nominal: tuple[float, ...]) -> float:
    """Straight between the learned points in z, and beyond the outer ones with the slope of the outermost pair."""
    points = [(_NORMAL.inv_cdf(a), _NORMAL.inv_cdf(n)) for a, n in zip(actual, nominal, strict=True)]
    lower, upper = next((pair for pair in pairwise(points) if want <= pair[1][0]), (points[-2], points[-1]))
    return lower[1] + (upper[1] - lower[1]) / (upper[0] - lower[0]) * (want - lower[0])
