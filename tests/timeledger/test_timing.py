"""What a step costs: known coefficients are found again, and what cannot be told is not made up."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
import pytest

from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.clock import clock
from timeledger.results import Facts, Timing
from timeledger.run import Run, Setting
from timeledger.timing import fit_line, fit_timing


def timing_of(plan: Plan, *shows: Literal["stamps", "bar", "step_s", "elapsed"]) -> Timing:
    run, _ = simulate(plan, *(shows or ("stamps",)))
    return fit_timing(run, clock(run))


@pytest.mark.parametrize("driver", ["mean", "max"])
def test_finds_the_driver_and_its_cost(driver: Literal["mean", "max"]) -> None:
    plan = Plan(steps=300, driver=driver, fixed_s=4.0, s_per_token=0.02, len_noise=0.3, noise=0.02)
    found = timing_of(plan)
    assert found.driver == driver
    assert found.fixed_s is not None
    assert found.s_per_token is not None
    assert found.s_per_token.mid == pytest.approx(0.02, rel=0.08)
    assert found.fixed_s.mid == pytest.approx(4.0, rel=0.15)


def test_bounds_hold_the_truth_as_often_as_they_say() -> None:
    held = []
    for seed in range(60):
        found = timing_of(
            Plan(steps=120, driver="max", fixed_s=4.0, s_per_token=0.02, len_noise=0.2, noise=0.05, seed=seed)
        )
        assert found.s_per_token is not None
        assert found.fixed_s is not None
        held.append(found.s_per_token.low <= 0.02 <= found.s_per_token.high)
        assert found.fixed_s.low <= found.fixed_s.mid <= found.fixed_s.high
    assert 0.8 <= np.mean(held) <= 1.0


def test_no_driver_where_length_does_not_matter() -> None:
    found = timing_of(Plan(steps=200, driver="none", fixed_s=10.0, len_noise=0.3, noise=0.05))
    assert found.driver == "none"
    assert found.fixed_s is None
    assert "does not follow" in found.sentence


def test_a_length_that_hardly_varies_cannot_tell_fixed_from_per_token() -> None:
    found = timing_of(Plan(steps=200, driver="mean", len_noise=0.01, noise=0.02))
    assert found.s_per_token is None
    assert found.why is not None
    assert "hardly varies" in found.why
    assert "cannot be told apart" in found.sentence


def test_what_was_never_seen_is_not_said_not_to_follow() -> None:
    run, _ = simulate(Plan(steps=50), "stamps", lengths_shown=False)
    assert "no answer lengths" in fit_timing(run, clock(run)).sentence
    assert "too few steps" in timing_of(Plan(steps=4), "step_s").sentence


def test_longest_answer_at_the_limit_is_no_driver() -> None:
    found = timing_of(
        Plan(steps=200, driver="mean", len_first=500, len_last=700, limit=800, tail=4.0, len_noise=0.2, noise=0.01)
    )
    assert found.driver == "mean"


def test_sentence_names_cost_and_fixed_part() -> None:
    found = timing_of(Plan(steps=300, driver="max", fixed_s=5.3, s_per_token=0.021, len_noise=0.4, noise=0.001))
    assert found.sentence == "Each extra token of the longest answer costs 21.0 ms; 5.3 s a step is fixed."


def test_one_wild_step_moves_nothing() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(100, 400, 100)
    y = 3 + 0.02 * x + rng.normal(0, 0.05, 100)
    y[50] = 500.0
    line = fit_line(x, y, np.ones(100))
    assert line.a == pytest.approx(3, abs=0.1)
    assert line.b == pytest.approx(0.02, rel=0.02)


def test_coefficients_are_never_negative() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        x, y = rng.uniform(1, 100, 30), rng.uniform(0.1, 10, 30)
        line = fit_line(x, y, np.ones(30))
        assert line.a >= 0
        assert line.b >= 0


def test_points_carry_what_the_chart_needs() -> None:
    found = timing_of(Plan(steps=80, driver="max", len_noise=0.3))
    assert found.points.columns == ["step", "x", "wall_s", "fitted_s"]
    assert found.points["fitted_s"].null_count() == 0


def with_phases(run: Run, phase: str, seconds: float, *, overlaps: bool = False) -> Run:
    steps = run.steps.select("segment", "step").with_columns(
        pl.lit(phase).alias("phase"),
        pl.lit(phase).alias("name"),
        pl.lit(overlaps).alias("overlaps"),
        pl.lit(seconds).alias("seconds"),
    )
    return Run(run.info, run.steps, schema.conform(steps, schema.PHASES), run.engine, run.events, run.progress)


def test_generation_rate_from_phases_and_tokens() -> None:
    run, truth = simulate(Plan(steps=40, sequences=64, noise=0.0))
    found = fit_timing(with_phases(run, "rollout", 4.0), clock(run))
    assert found.gen_tok_s == pytest.approx(64 * float(np.mean(truth.len_mean[20:])) / 4.0, rel=1e-6)
    assert found.gen_tok_s_from == "rollout phases x response tokens"


def test_overlapping_phases_give_no_rate() -> None:
    run, _ = simulate(Plan(steps=40))
    assert fit_timing(with_phases(run, "rollout", 4.0, overlaps=True), clock(run)).gen_tok_s is None


def test_idle_engine_lines_are_left_out() -> None:
    run, _ = simulate(Plan(steps=20))
    engine = schema.conform(
        pl.DataFrame(
            {
                "kind": ["log"] * 4,
                "engine": ["0"] * 4,
                "gen_tok_s": [3000.0, 0.0, 53.0, 3100.0],
                "running": [64.0, 0.0, 0.0, 60.0],
            }
        ),
        schema.ENGINE,
    )
    found = fit_timing(Run(run.info, run.steps, run.phases, engine, run.events, run.progress), clock(run))
    assert found.gen_tok_s == pytest.approx(3050.0)


def test_a_typed_rate_wins_and_a_setting_is_named() -> None:
    run, _ = simulate(Plan(steps=20))
    assert fit_timing(run, clock(run), Facts(gen_tok_s=2000.0)).gen_tok_s_from == "given"
    settled = run.with_settings(train_tok_s=Setting(value=9000.0, source="bench.json"))
    assert fit_timing(settled, clock(settled)).train_tok_s == 9000.0
    assert fit_timing(settled, clock(settled)).train_tok_s_from == "bench.json"
