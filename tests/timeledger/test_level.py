"""The level of the steps: what single spikes, a lone first step and a coarse clock may do to it, and what they may not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.timeledger.test_projection import projection_of, rows_run
from timeledger import schema
from timeledger.forecast import FIRST_STEP
from timeledger.level import LONE_NOISE, estimate
from timeledger.run import Run, RunInfo, Setting


def ones(count: int) -> np.ndarray:
    return np.ones(count)


def test_a_flat_series_has_its_mean_as_level() -> None:
    wall = 10 + np.random.default_rng(1).normal(0, 0.3, 60)
    found = estimate(wall, ones(60), 200.0)
    assert found.recent == pytest.approx(wall.mean(), rel=0.005)
    assert found.spikes == pytest.approx(0.0, abs=1e-3)


def test_a_level_that_fell_for_good_is_followed() -> None:
    wall = np.r_[np.full(40, 10.0), np.full(40, 4.0)] * np.exp(np.random.default_rng(2).normal(0, 0.03, 80))
    found = estimate(wall, ones(80), 160.0)
    assert found.overall == pytest.approx(7.0, rel=0.03)
    assert found.recent == pytest.approx(4.0, rel=0.12)


def test_single_spikes_widen_the_interval_and_do_not_move_the_level_far() -> None:
    calm = 10 * np.exp(np.random.default_rng(3).normal(0, 0.03, 20))
    spiky = calm.copy()
    spiky[[7, 13]] += 30.0
    quiet, loud = estimate(calm, ones(20), 40.0), estimate(spiky, ones(20), 40.0)
    assert 10.0 < loud.recent < 13.0, "two spikes in twenty steps: about as many to come, rather fewer"
    shares = np.array([0.1, 0.9])
    low, high = loud.quantiles(shares, 20.0)
    narrow_low, narrow_high = quiet.quantiles(shares, 20.0)
    assert high - low > 3 * (narrow_high - narrow_low)
    assert loud.spikes > 0 == pytest.approx(quiet.spikes, abs=1e-3)


def test_a_spike_that_will_hardly_come_again_is_not_projected() -> None:
    wall = np.full(30, 10.0) * np.exp(np.random.default_rng(4).normal(0, 0.02, 30))
    wall[4] += 60.0
    assert estimate(wall, ones(30), 36.0).recent == pytest.approx(10.0, rel=0.03)


def test_the_noise_of_a_level_is_a_share_of_it() -> None:
    """The same run in milliseconds and in hours."""
    wall = np.exp(np.random.default_rng(5).normal(0, 0.1, 40))
    one, other = estimate(wall, ones(40), 100.0), estimate(wall * 3600, ones(40), 100.0)
    assert other.recent == pytest.approx(3600 * one.recent)
    shares = np.array([0.05, 0.5, 0.95])
    assert other.quantiles(shares, 60.0) == pytest.approx(one.quantiles(shares, 60.0), abs=1e-9)


def test_a_first_step_alone_is_taken_for_a_slow_one_and_doubted() -> None:
    said = projection_of(rows_run(np.array([60.0]), 20))
    assert said.too_early
    assert said.remaining_s is not None
    assert said.remaining_s.mid == pytest.approx(19 * 60.0 / FIRST_STEP)
    assert said.remaining_s.low < 19 * 60.0 * np.exp(-LONE_NOISE)
    assert said.remaining_s.high > 19 * 60.0


def test_steps_that_count_from_zero_can_grow() -> None:
    """A log from step 0 with lengths: the curves in log(step) must bear a zero."""
    count = 30
    frame = pl.DataFrame(
        {
            "segment": [0] * count, "step": list(range(count)), "span": [1] * count,
            "step_s": [5.0 + 0.1 * each for each in range(count)], "len_mean": [100.0 + 5 * each for each in range(count)],
        }
    )  # fmt: skip
    info = RunInfo(name="zero", format="made", settings={"total_steps": Setting(value=60, source="made")})
    said = projection_of(Run(info, schema.conform(frame, schema.STEPS)))
    assert said.remaining_s is not None
    assert 30 * 5.0 < said.remaining_s.mid < 30 * 12.0


def test_rare_spikes_of_many_steps_leave_an_interval_that_can_happen() -> None:
    """Steps of 5 ms with 4 s stops at odd places: what is to come is a few more of them, not e^50 s."""
    wall = np.full(60, 0.005) * np.exp(np.random.default_rng(4).normal(0, 0.1, 60))
    wall[[7, 22, 31, 52]] += 4.0
    found = estimate(wall, ones(60), 100.0)
    low, high = found.recent * np.exp(found.quantiles(np.array([0.1, 0.9]), 40.0))
    assert 0.005 < low < found.recent < high < 10 * found.recent
