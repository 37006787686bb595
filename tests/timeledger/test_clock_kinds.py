"""Which steps are ordinary: generation cycles, warm-up and pauses are found, named and left out of the rate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.simulate import Plan, simulate
from tests.timeledger.clocks import one, sound
from timeledger.clock import clock

# --- cycles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cycle", [2, 4, 8])
def test_a_generation_cycle_is_seen_by_its_lengths(cycle: int) -> None:
    run, truth = simulate(Plan(steps=160, cycle=cycle), "stamps", "step_s")
    found = clock(run)
    sound(found)
    assert found.cycle == cycle
    assert found.warmup_steps == 0
    assert not found.periodic
    assert found.step_s == pytest.approx(truth.step_s[-8 * cycle :].mean(), rel=0.05)


def test_a_generation_cycle_is_seen_by_times_alone() -> None:
    run, _ = simulate(Plan(steps=160, cycle=4), "step_s", lengths_shown=False)
    assert clock(run).cycle == 4


def test_settings_name_the_cycle() -> None:
    settings = {"num_iterations": 2, "steps_per_generation": 4, "grad_accumulation": 1}
    run, _ = simulate(Plan(steps=24, cycle=8), "step_s", lengths_shown=False, settings=settings)
    assert clock(run).cycle == 8


def test_evaluation_every_few_steps_is_not_a_cycle() -> None:
    run, _ = simulate(Plan(steps=120, eval_every=5, eval_s=40, after_row=False), "stamps")
    found = clock(run)
    assert found.cycle == 1
    assert one(found).every == 5


def test_lengths_logged_now_and_then_are_not_a_cycle() -> None:
    run, _ = simulate(Plan(steps=120), "stamps")
    rare = pl.when(pl.col("step") % 10 == 1).then(pl.col("len_mean", "len_max"))
    assert clock(replace(run, steps=run.steps.with_columns(rare))).cycle == 1


# --- warm-up and pauses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shows", [("bar",), ("step_s",), ("elapsed",)])
@pytest.mark.parametrize(("warmup", "steps"), [((9.0,), 1), ((34.0, *[7.4] * 15), 16), ((3.0, 2.0), 2)])
def test_a_slow_start_is_named_and_kept_out_of_the_rate(shows: Any, warmup: tuple[float, ...], steps: int) -> None:
    run, truth = simulate(Plan(steps=100, warmup=warmup), *shows)
    found = clock(run)
    sound(found)
    assert found.warmup_steps == steps
    assert found.warmup_s == pytest.approx(truth.warmup_s, rel=0.05)
    assert found.step_s == pytest.approx(truth.step_s[-30:].mean(), rel=0.02)
    assert found.elapsed_s == pytest.approx(truth.total_s, abs=1.5)


def test_answers_that_get_shorter_are_not_a_warm_up() -> None:
    run, _ = simulate(Plan(steps=150, len_first=900, len_last=200, driver="mean", tail=1.0), "stamps", "step_s")
    assert clock(run).warmup_steps == 0


@pytest.mark.parametrize("shows", [("stamps",), ("bar",)])
def test_a_pause_is_lost_time(shows: Any) -> None:
    run, truth = simulate(Plan(steps=200, pauses=((77, 3000.0), (140, 900.0))), *shows)
    found = clock(run)
    sound(found)
    assert found.lost_s == pytest.approx(3900, rel=0.01)
    assert found.steps.filter(pl.col("kind") == "pause")["step"].to_list() == [77, 140]
    assert found.step_s == pytest.approx(truth.step_s[-30:].mean(), rel=0.02)


def test_pauses_that_come_again_and_again_are_the_run_s_own_habit() -> None:
    pauses = tuple((step, 900.0) for step in (31, 58, 97, 110, 163))
    run, _ = simulate(Plan(steps=200, pauses=pauses), "stamps")
    assert clock(run).lost_s == 0


def test_a_run_that_mostly_stands_still_a_little_at_a_time_works_so() -> None:
    """Episodes that are written at once after each rollout: their gaps are few among thousands of rows, and all of its time."""
    rng = np.random.default_rng(3)
    walls = np.full(12_000, 0.0005)
    walls[np.sort(rng.choice(12_000, 30, replace=False))] = rng.uniform(0.4, 2.0, 30)
    run, _ = simulate(Plan(steps=12_000), "step_s")
    found = clock(replace(run, steps=run.steps.with_columns(step_s=pl.Series(walls))))
    assert found.lost_s == 0


def test_a_slow_hump_is_not_a_pause() -> None:
    run, truth = simulate(Plan(steps=100), "step_s")
    hump = pl.when(pl.col("step").is_between(50, 54)).then(pl.col("step_s") * (20 - 4 * (pl.col("step") - 52).abs()))
    found = clock(replace(run, steps=run.steps.with_columns(hump.otherwise(pl.col("step_s")).alias("step_s"))))
    assert found.lost_s == 0
    assert found.step_s == pytest.approx(truth.step_s[-30:].mean(), rel=0.02)


def test_noise_is_neither_pause_nor_period() -> None:
    for seed in range(8):
        run, _ = simulate(Plan(steps=300, noise=0.35, seed=seed), "stamps")
        found = clock(run)
        assert (found.lost_s, found.periodic, found.cycle) == (0, (), 1), seed
