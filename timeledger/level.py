"""The level of a drifting series and how sure one can be of it: a local level model, averaged over drift sizes.

The series is a level that wanders (a random walk over the run's progress) plus noise. How far a level wanders over a
whole run is not known early, so every size on a grid is tried, weighted by a prior learned from real runs
(`quantiles.json`) and by how well it explains this run so far. Errors of projections on real runs fall with progress
as (1 - progress)^1.5, which is what such a walk says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from timeledger.learned import LEARNED, Learned
from timeledger.rows import Array

#: Standard deviation of the drift over a whole run, as a share of the level.
DRIFTS: Final = 0.005 * 2.0 ** np.arange(9)
#: The noise is estimated from few rows, so it is tried at these factors too.
NOISES: Final = np.array([0.7, 1.0, 1.5, 2.5])
#: A drift over the whole run that counts as large, and how far the filter is followed without evidence for one.
LARGE_DRIFT: Final = 0.16
HOLD: Final = 0.1
BLOCKS: Final = 16
CLIP: Final = 5.0
#: Relative noise of one step where nothing is known, and how many rows that counts as; noise beyond the other two says no more
#: of the drift.
USUAL_NOISE: Final = 0.08
LEAST_NOISE: Final = 0.005
MOST_NOISE: Final = 0.5
FEW_ROWS: Final = 3
#: The same where one row of one step is all there is: how far second steps lay from those that followed.
LONE_NOISE: Final = 0.35
#: A block of rows lasts at least this many ticks of the clock.
FINE: Final = 12.0


def prior(learned: Learned, noise: float) -> Array:
    """Weight of each drift size before the run is seen: log-normal, with median and spread learned from real runs.

    Runs whose steps vary more also drift further: the median is that of a run of USUAL_NOISE, and in proportion.
    """
    median = learned.drift_median * min(max(noise, LEAST_NOISE), MOST_NOISE) / USUAL_NOISE
    away = (np.log(DRIFTS) - np.log(median)) / learned.drift_spread
    weight: Array = np.exp(-0.5 * away**2)
    share: Array = weight / weight.sum()
    return share


@dataclass(frozen=True, slots=True)
class Level:
    """What is known of the level now: one entry a component of the mixture (relative to `scale` seconds a step).

    `mid`: components' present level; `variance`: of it; `walk`: drift variance a step; `weight`: posterior weight.
    `noise`: relative standard deviation of one row; `overall`, `recent`: seconds a step of all rows and now.
    `spikes`: variance a step of what single rows take beyond the others, over `recent` squared; `seen`: steps they were
    seen in.
    """

    scale: float
    mid: Array
    variance: Array
    walk: Array
    weight: Array
    noise: float
    overall: float
    recent: float
    spikes: float = 0.0
    seen: float = 1.0

    def spread(self, steps: float) -> Array:
        """Relative standard deviation, by component, of the mean of the next `steps` steps.

        Spikes come at random: both how many came so far and how many will come are counts.
        """
        spikes = self.spikes * (1 / max(steps, 1.0) + 1 / self.seen)
        ordinary = min(self.scale / self.recent, 1.0)  # the rest of the time is spikes
        sd: Array = np.sqrt((self.variance + self.walk * steps / 3) * ordinary**2 + spikes)
        return sd

    def quantiles(self, shares: Array, steps: float) -> Array:
        """Logs of quantiles of the mean of the next `steps` steps over `recent`, read off a grid of the mixture."""
        sd = self.spread(steps)
        centre = np.log(np.maximum(1 + self.mid, 0.05)) - np.log(self.recent / self.scale)
        reach = np.linspace(-1.0, 1.0, 241)
        reach = np.sign(reach) * np.abs(reach) ** 3
        middle = float(self.weight @ centre)
        width = 5 * float(np.max(np.abs(centre - middle) + sd * (self.weight > 1e-6)))
        grid = middle + reach * width
        below = _normal_cdf((grid[:, None] - centre) / sd) @ self.weight
        found: Array = np.interp(shares, below, grid)
        return found


def _normal_cdf(z: Array) -> Array:
    """The normal distribution function (Abramowitz and Stegun 26.2.17, error below 1e-7)."""
    t = 1 / (1 + 0.2316419 * np.abs(z))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * poly
    cdf: Array = np.where(z >= 0, 1 - tail, tail)
    return cdf


def blocks(values: Array, span: Array, coarse_s: float = 0.0) -> tuple[Array, Array]:
    """At most BLOCKS consecutive means and their spans; each long enough that a coarse clock does not smooth it away."""
    n = len(values)
    most = BLOCKS
    if coarse_s > 0:
        most = int(np.clip(float(np.sum(values * span)) / (FINE * coarse_s), 1, BLOCKS))
    if n <= most:
        return values, span
    starts = np.unique(np.linspace(0, n, most + 1)[:-1].astype(int))
    total = np.add.reduceat(span, starts)
    return np.add.reduceat(values * span, starts) / total, total


def clip_spikes(values: Array) -> Array:
    """Values pulled in to CLIP robust deviations of a running median, so that single rows cannot move the level."""
    n, half = len(values), 4
    if n < 5:
        return values
    padded = pl.Series(np.pad(values, half, mode="reflect" if n > half else "edge"))
    middle = padded.rolling_median(2 * half + 1)[2 * half :].to_numpy()
    away = values - middle
    scale = 1.4826 * float(np.median(np.abs(away)))
    return middle + np.clip(away, -CLIP * scale, CLIP * scale) if scale > 0 else values


def estimate(
    values: Array, span: Array, total: float, coarse_s: float = 0.0, learned: Learned = LEARNED, cycle: int = 1
) -> Level:
    """The level of a run of `total` steps from rows of `span` steps each. What spikes cost stays in, spread evenly.

    `coarse_s` is the clock's tick: shorter rows than that are no evidence of how steady the run is. `cycle` steps share
    one generation, and so its noise.
    """
    clipped = clip_spikes(values)
    beyond, seen = (values - clipped) * span, float(span.sum())
    excess = float(beyond.sum()) / seen * _usual_share(int((beyond > 0).sum()), seen, total)
    y, k = blocks(clipped, span, coarse_s)
    scale = float(np.average(y, weights=k))
    z = np.log(y / scale)
    z = z - float(np.average(z, weights=k))
    tick = coarse_s / np.sqrt(6) / max(float(np.median(y * k)), 1e-9)
    noise = float(np.hypot(_noise(z, float(np.median(k)) / cycle), tick))
    before = prior(learned, noise)
    mid, variance, walk, weight = _filter(z, k, noise, total, before)
    mid = np.exp(mid * _trust(weight, before)) - 1
    recent = scale * (1 + float(weight @ mid))
    shift = excess / scale
    now = max(recent + excess, 0.05 * scale)
    return Level(
        scale, mid + shift, variance, walk, weight, noise,
        float(np.average(values, weights=span)), now, float((beyond**2).sum()) / seen / now**2, seen,
    )  # fmt: skip


def _usual_share(spikes: int, seen: float, total: float) -> float:
    """The median of how many more come over the mean: single spikes as a rule come less often than their mean says."""
    mean = spikes * max(total - seen, 0.0) / seen
    return max(1 - 1 / (3 * mean), 0.0) if mean > 0 else 1.0


def _trust(weight: Array, before: Array) -> float:
    """How far to follow the filter away from the mean of all rows.

    Rows in a row resemble each other more than the model's white noise does, so that it follows the latest ones too
    eagerly: on flat runs the plain mean is better. It is followed as far as the evidence for a large drift goes.
    """
    large = float(weight[np.repeat(DRIFTS, len(NOISES)) >= LARGE_DRIFT].sum())
    usual = float(before[DRIFTS >= LARGE_DRIFT].sum())
    return HOLD + (1 - HOLD) * max(large - usual, 0.0) / max(1 - usual, 1e-9)


def _noise(z: Array, span: float) -> float:
    """Row-to-row noise from differences, which a slow drift does not inflate; pulled to a usual one while rows are few.

    A row of many steps averages their noise, if not as fast as independent steps would.
    """
    usual: float = max(USUAL_NOISE / max(span, 1.0) ** 0.4, 0.005)
    move = np.diff(z)
    if len(move) == 0:
        lone: float = LONE_NOISE / max(span, 1.0) ** 0.6
        return lone
    power = 0.25 * float(np.mean(move**2)) + 0.25 * (1.4826 * float(np.median(np.abs(move)))) ** 2
    seen = max(np.sqrt(power), 1e-3)
    trust = FEW_ROWS if len(move) < 4 * FEW_ROWS else 0.0
    return float(np.exp((len(move) * np.log(seen) + trust * np.log(usual)) / (len(move) + trust)))


def _filter(z: Array, k: Array, noise: float, total: float, before: Array) -> tuple[Array, Array, Array, Array]:
    """Kalman filter of every drift and noise at once: level now, its variance, drift variance a step, posterior weight."""
    drift, sigma = (each.ravel() for each in np.meshgrid(DRIFTS, noise * NOISES, indexing="ij"))
    walk = drift**2 / max(total, 1.0)
    typical = float(np.median(k))
    level, variance = np.full_like(drift, z[0]), sigma**2 * typical / k[0]
    log_like = np.zeros_like(drift)
    for at in range(1, len(z)):
        variance = variance + walk * (k[at] + k[at - 1]) / 2
        spread = variance + sigma**2 * typical / k[at]
        miss = z[at] - level
        log_like -= 0.5 * (np.log(spread) + miss**2 / spread)
        gain = variance / spread
        level, variance = level + gain * miss, variance * (1 - gain)
    weight = np.repeat(before / len(NOISES), len(NOISES)) * np.exp(log_like - log_like.max())
    return level, variance, walk, weight / weight.sum()
