"""From a wanted level to the model's own quantile: recalibrated on real runs."""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

from timeledger.learned import LEARNED, Learned


def calibrated(share: float, learned: Learned = LEARNED) -> float:
    """The model's quantile that lies above the truth in `share` of real runs, straight between learned points in z."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    z = NormalDist().inv_cdf
    points = [(z(a), z(n)) for a, n in zip(learned.actual, learned.nominal, strict=True) if 0 < a < 1]
    if len(points) < 2:
        return share
    want = z(share)
    lower, upper = next((pair for pair in pairwise(points) if want <= pair[1][0]), (points[-2], points[-1]))
    slope = (upper[1] - lower[1]) / (upper[0] - lower[0])
    return NormalDist().cdf(lower[1] + slope * (want - lower[0]))
