"""The slope of a noisy series with its uncertainty: is the reward rising, flat, or can nobody tell yet?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """Change a step with its interval, and the residual's standard deviation. `steps` is the length of the stretch."""

    slope: float
    low: float
    high: float
    noise: float
    rows: int
    steps: float

    @property
    def direction(self) -> str:
        """Which way the series goes: "up", "down" or "unclear"."""
        return "up" if self.low > 0 else "down" if self.high < 0 else "unclear"


def trend(step: Floats, value: Floats, level: float = 0.9) -> Trend | None:
    """The least-squares slope over the finite values; None below 5 of them, or when all lie at one step.

    The interval allows for residuals that follow each other, as rewards of neighbouring steps do.
    """
    good = np.isfinite(step) & np.isfinite(value)
    x, y = step[good].astype(float), value[good].astype(float)
    if len(x) < 5 or float(np.ptp(x)) == 0:
        return None
    away = x - x.mean()
    sxx = float(away @ away)
    slope = float(away @ y) / sxx
    residual = y - y.mean() - slope * away
    free = len(x) - 2
    power = float(residual @ residual)
    follow = float(residual[1:] @ residual[:-1]) / power if power > 0 else 0.0
    follow = min(max(follow, 0.0), 0.9)
    error = float(np.sqrt(power / free / sxx * (1 + follow) / (1 - follow)))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    wide = (z + (z**3 + z) / (4 * free)) * error  # Student's t to second order
    return Trend(slope, slope - wide, slope + wide, float(np.sqrt(power / free)), len(x), float(np.ptp(x)))
