"""Answer lengths as a distribution: what a tighter limit would cut, and what it would save."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from timeledger.plan_inputs import PlanInputs
from timeledger.said import say
from timeledger.step_cost import late_length

#: Log-standard deviation of answer lengths where nothing tells it (the longest of 64 is then about 3 times the mean).
USUAL_SIGMA: Final = 0.5
_LEAST_SIGMA: Final = 0.05
_MOST_SIGMA: Final = 1.5
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Answers:
    """Log-normal answer lengths in tokens: `mean`, log-standard deviation `sigma`, and how that is known."""

    mean: float
    sigma: float
    known_from: str

    @property
    def _mu(self) -> float:
        return math.log(self.mean) - self.sigma**2 / 2

    def share_above(self, limit: float) -> float:
        """Share (0..1) of answers longer than `limit`."""
        return 1 - _NORMAL.cdf((math.log(limit) - self._mu) / self.sigma)

    def quantile(self, share: float) -> float:
        """The length that a share of the answers stays below."""
        return math.exp(self._mu + self.sigma * _NORMAL.inv_cdf(share))

    def mean_under(self, limit: float) -> float:
        """The mean length when every longer answer is cut at `limit`."""
        z = (math.log(limit) - self._mu) / self.sigma
        return self.mean * _NORMAL.cdf(z - self.sigma) + limit * (1 - _NORMAL.cdf(z))


def answers(inputs: PlanInputs) -> Answers:
    """The lengths of a plan: from the longest answer of a step, else from the share cut at the limit, else assumed."""
    mean = late_length(inputs)
    count = inputs.prompts * inputs.group_size
    found, known = None, ""
    cut = inputs.truncated
    if cut and inputs.max_tokens is not None and inputs.max_tokens > mean:
        found = _sigma(inputs.max_tokens / mean, _NORMAL.inv_cdf(1 - min(cut, 0.49)))
        known = say("the share cut at the limit")
    elif inputs.longest is not None and inputs.longest > mean and count > 1:
        found = _sigma(inputs.longest / mean, _NORMAL.inv_cdf(1 - 1 / (count + 1)))
        known = say("the longest of {count} answers", count=f"{count:,}")
    if found is None:
        return Answers(mean, USUAL_SIGMA, say("assumed"))
    return Answers(mean, min(max(found, _LEAST_SIGMA), _MOST_SIGMA), known)


def _sigma(ratio: float, z: float) -> float | None:
    """The log-standard deviation at which `ratio` x the mean lies `z` deviations out (None: no such distribution)."""
    inside = z * z - 2 * math.log(ratio)
    if ratio <= 1 or z <= 0:
        return None
    return z - math.sqrt(inside) if inside >= 0 else z
