"""How long the answers get: bounded, held to the late value unless the past pays, and honest about the limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate import Plan, simulate
from timeledger.clock import clock
from timeledger.growth import CURVES, bounded, choose, fit_growth, forecast_at
from timeledger.results import Facts, Growth
from timeledger.rows import Array


def growth_of(plan: Plan, facts: Facts | None = None, total: int | None = None) -> Growth:
    run, _ = simulate(plan)
    return fit_growth(run, clock(run), facts, total or plan.planned or plan.steps)


def test_flat_lengths_stay_as_they_are() -> None:
    curves = [growth_of(Plan(steps=60, planned=200, len_noise=0.2, seed=seed)).curve for seed in range(30)]
    assert np.mean([curve == "constant" for curve in curves]) >= 0.85


def test_growth_is_the_ratio_of_late_to_first() -> None:
    found = growth_of(Plan(steps=200, len_first=100, len_last=200, len_noise=0.02))
    assert found.first == pytest.approx(102.5, abs=4)
    assert found.last == pytest.approx(190, abs=5)
    assert found.growth == pytest.approx(190 / 102.5, rel=0.06)
    assert "grew from" in found.sentence


def test_three_rows_tell_a_length_and_no_course() -> None:
    found = growth_of(Plan(steps=3, planned=100, len_first=100, len_last=4000, len_noise=0.5))
    assert "so far" in found.sentence
    assert "grew" not in found.sentence


def test_clear_growth_is_followed_within_the_limit() -> None:
    plan = Plan(steps=120, planned=240, len_first=100, len_last=800, len_noise=0.05, limit=600)
    run, _ = simulate(plan)
    found = fit_growth(run, clock(run), Facts(max_tokens=600), 240)
    assert found.curve != "constant"
    assert found.last is not None
    assert found.forecast["mid"][-1] > found.last * 1.05
    assert np.all(found.forecast["high"].to_numpy() <= 600)
    assert np.all(found.forecast["low"].to_numpy() >= 0)
    assert found.forecast["step"][-1] == 240


def test_band_widens_with_the_horizon() -> None:
    found = growth_of(Plan(steps=60, planned=300, len_noise=0.2))
    width = (found.forecast["high"] - found.forecast["low"]).to_numpy()
    assert np.all(np.diff(width) >= -1e-9)


def test_limit_typed_then_settings_then_inferred() -> None:
    run, _ = simulate(Plan(steps=80, len_first=300, len_last=300, limit=400, tail=3.0), settings={"max_tokens": 512})
    assert fit_growth(run, clock(run), Facts(max_tokens=300)).limit_from == "given"
    assert fit_growth(run, clock(run)).limit == 512
    bare, _ = simulate(Plan(steps=80, len_first=300, len_last=300, limit=400, tail=3.0))
    found = fit_growth(bare, clock(bare))
    assert found.limit == 400
    assert found.limit_from is not None
    assert found.limit_from.startswith("inferred")
    free, _ = simulate(Plan(steps=80, limit=10_000))
    assert fit_growth(free, clock(free)).limit is None


def test_a_log_without_lengths_says_so() -> None:
    run, _ = simulate(Plan(steps=30), lengths_shown=False)
    found = fit_growth(run, clock(run))
    assert found.last is None
    assert found.why is not None
    assert found.forecast.is_empty()


@given(
    st.lists(st.floats(0, 5000), min_size=12, max_size=60),
    st.one_of(st.none(), st.floats(1, 5000)),
    st.sampled_from(sorted(CURVES)),
)
def test_curves_stay_finite_and_bounded(values: list[float], limit: float | None, name: str) -> None:
    length: Array = np.array(values)
    step = np.arange(1.0, len(values) + 1)
    ahead = step[-1] + np.arange(1.0, 50)
    found = bounded(CURVES[name](step, length, ahead, limit), limit)
    assert np.all(np.isfinite(found))
    assert found.min() >= 0
    assert limit is None or found.max() <= limit
    assert choose(step, length, limit)[0] in CURVES


def test_a_trend_is_not_followed_far_beyond_what_has_tested_it() -> None:
    """Growth over 180 of 28,000 steps says nothing of the length after 20,000."""
    length = 900 + 1.8 * np.arange(1, 181) + np.random.default_rng(5).normal(0, 15, 180)
    step = np.arange(1.0, 181.0)
    name, weight = choose(step, length, 8000.0)
    assert name != "constant"
    near, far, farthest = forecast_at(name, weight, step, length, np.array([400.0, 720.0, 28_000.0]), 8000.0)
    assert near > length[-20:].mean()
    assert far <= farthest <= 1.02 * far
