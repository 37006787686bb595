"""Intervals hold the truth as often as they say, on runs like those that people commit.

The runs are made from what was counted in real logs, and from nothing that the model believes or has learned.
Counted in some 200 committed logs of 44 repositories: the time of a step in the last quarter over that in the first has the
quartiles 0.97, 1.00 and 1.03, and goes from 0.6 to 2.2; the 95th percentile of ordinary steps over their median is 1.03 to
1.26; first steps take 1 to 1.3 times the others as a rule, 4 to 40 times in one run of twelve; every fourth run has work
that comes every k steps and costs 1.5 to 13 of them; one in fifty stood still for an hour.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.timeledger.test_projection import projection_of, rows_run

Floats = NDArray[np.float64]
STEP_S = 10.0


def course(steps: int, rng: np.random.Generator) -> Floats:
    """Log of the level over the run: most hardly move, some a lot; steadily, early, at once, or wandering."""
    moved = float(np.clip(0.0375 * rng.standard_t(1.6), -0.8, 0.9))
    share = np.linspace(0, 1, steps)
    wandering = np.cumsum(rng.normal(0, 1, steps))
    shapes = (
        share * 4 / 3,
        (1 - np.exp(-4 * share)) / (1 - np.exp(-4.0)),
        (share > rng.uniform(0.1, 0.9)).astype(float),
        wandering / np.std(wandering) / 1.2,
    )
    path: Floats = moved * shapes[int(rng.integers(len(shapes)))]
    return path


def real(seed: int) -> tuple[Floats, int]:
    """Seconds of each step of a run, and the step at which someone asks."""
    rng = np.random.default_rng(10_000 + seed)
    steps = int(np.exp(rng.uniform(np.log(40), np.log(400))))
    noise = np.exp(rng.uniform(np.log(0.015), np.log(0.14)))
    wall = STEP_S * np.exp(course(steps, rng) + rng.normal(0, noise, steps))
    start = rng.uniform()
    if start < 0.3:
        wall[0] *= rng.uniform(1, 1.3)
    elif start < 0.38:
        wall[0] *= np.exp(rng.uniform(np.log(2), np.log(40)))
    every = int(rng.choice([5, 10, 20, 25, 50, 100]))
    if rng.uniform() < 0.25 and every < steps:
        cost = np.exp(rng.uniform(np.log(1.5), np.log(13))) * (1.0 if every >= 20 else 0.3)
        wall[every - 1 :: every] += STEP_S * cost
    if rng.uniform() < 0.02:
        wall[rng.integers(steps)] += STEP_S * rng.uniform(50, 800)
    if rng.uniform() < 0.1:
        wall[rng.integers(0, steps, int(rng.integers(1, 4)))] *= rng.uniform(1.5, 6)
    return wall, max(2, int(steps * rng.uniform(0.05, 0.6)))


@pytest.mark.slow
def test_intervals_hold_the_truth_on_runs_like_those_that_people_commit() -> None:
    held, held95, off = [], [], []
    for seed in range(500):
        wall, cut = real(seed)
        said = projection_of(rows_run(wall[:cut], len(wall)))
        assert said.total_s is not None
        truth = float(wall.sum())
        held.append(said.total_s.low <= truth <= said.total_s.high)
        held95.append(said.fan["low95"][-1] <= truth <= said.fan["high95"][-1])
        off.append(abs(np.log(said.total_s.mid / truth)))
    assert 0.76 <= np.mean(held) <= 0.84
    assert 0.93 <= np.mean(held95) <= 0.97
    assert np.median(off) < 0.03
