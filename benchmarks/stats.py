"""Statistics weighed by repository: every repository counts once, however many runs it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def weights(repositories: Sequence[str]) -> Floats:
    """A weight a run, summing to 1, equal between repositories."""
    count = Counter(repositories)
    weight = np.array([1 / count[each] for each in repositories])
    shares: Floats = weight / weight.sum()
    return shares


def quantile(values: Floats, weight: Floats, share: float) -> float:
    """Weighted quantile, between neighbours linearly."""
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    middle = np.cumsum(weight) - weight / 2
    return float(np.interp(share, middle, values))


def interval_score(low: Floats, high: Floats, level: float) -> Floats:
    """Width plus 2 / (1 - level) times the miss; all in log of the total, truth at 0."""
    return high - low + 2 / (1 - level) * (np.maximum(low, 0) + np.maximum(-high, 0))
