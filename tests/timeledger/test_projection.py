"""When it ends: intervals that hold the truth, schedules that are counted, and no answer where there is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.clock import clock
from timeledger.cutting import cut_after
from timeledger.forecast import steps_done
from timeledger.growth import fit_growth
from timeledger.learned import LEARNED
from timeledger.level import USUAL_NOISE
from timeledger.projection import project, total_steps
from timeledger.results import Facts, Projection
from timeledger.run import Run, RunInfo, Setting
from timeledger.suspect import UNSEEN_ODDS, UNSEEN_SHARE
from timeledger.timing import fit_timing


def projection_of(run: Run, facts: Facts | None = None) -> Projection:
    facts = facts or Facts()
    own = clock(run, facts)
    total, _ = total_steps(run, facts)
    return project(run, own, fit_timing(run, own, facts), fit_growth(run, own, facts, total), facts)


def at_share(plan: Plan, share: float, facts: Facts | None = None) -> tuple[Projection, float]:
    """The projection when `share` of the run is done, and the true total."""
    run, truth = simulate(plan)
    return projection_of(cut_after(run, 0, int(plan.steps * share)), facts), float(truth.end_s[-1])


def rows_run(wall: np.ndarray, total: int, span: int = 1) -> Run:
    """A run that logged nothing but step times."""
    step = np.arange(1, len(wall) + 1) * span
    frame = pl.DataFrame(
        {"segment": np.zeros(len(wall), dtype=int), "step": step, "span": np.full(len(wall), span), "step_s": wall}
    )
    info = RunInfo(name="made", format="made", settings={"total_steps": Setting(value=total, source="made")})
    return Run(info, schema.conform(frame, schema.STEPS))


def drifting(seed: int, changes: float = 0.0) -> tuple[np.ndarray, int]:
    """Step times of a run as the model believes runs to be, and where to cut it.

    A level that wanders as the prior says, noise, and periodic work that begins late as often as the model thinks.
    A share of `changes` also changes its pace once, by a third either way, which nothing in the log foretells.
    """
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(60, 200))
    noise = np.exp(rng.uniform(np.log(0.02), np.log(0.12)))
    drift = LEARNED.drift_median * noise / USUAL_NOISE * np.exp(rng.normal(0, LEARNED.drift_spread))
    path = np.cumsum(rng.normal(0, drift / np.sqrt(steps), steps))
    if rng.uniform() < changes:
        path[int(steps * rng.uniform()) :] += rng.normal(0, 0.35)
    wall = 10 * np.exp(path + rng.normal(0, noise, steps))
    if rng.uniform() < UNSEEN_ODDS:
        every = int(steps * rng.uniform(0.1, 0.5))
        wall[every - 1 :: every] += UNSEEN_SHARE * wall.sum() * every / steps
    return wall, int(steps * rng.uniform(0.1, 0.6))


def covered(changes: float) -> tuple[float, float]:
    """How often 80 % and 95 % intervals held the truth in 500 runs."""
    held, held95 = [], []
    for seed in range(500):
        wall, cut = drifting(seed, changes)
        said = projection_of(rows_run(wall[:cut], len(wall)))
        assert said.total_s is not None
        truth = float(wall.sum())
        held.append(said.total_s.low <= truth <= said.total_s.high)
        held95.append(said.fan["low95"][-1] <= truth <= said.fan["high95"][-1])
    return float(np.mean(held)), float(np.mean(held95))


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held, held95 = covered(changes=0.0)
    assert 0.76 <= held <= 0.84
    assert 0.93 <= held95 <= 0.97


@pytest.mark.slow
def test_changes_that_nothing_foretells_cost_little_of_that() -> None:
    held, held95 = covered(changes=0.2)
    assert held >= 0.70
    assert held95 >= 0.92


def test_a_flat_run_is_foreseen_to_a_per_cent() -> None:
    errors = []
    for seed in range(20):
        said, truth = at_share(Plan(steps=200, noise=0.05, len_noise=0.02, seed=seed), 0.25)
        assert said.total_s is not None
        errors.append(abs(np.log(said.total_s.mid / truth)))
    assert np.median(errors) < 0.01


def test_intervals_widen_with_the_level_and_the_horizon() -> None:
    wall, _ = drifting(3)
    run = rows_run(wall[:40], 200)
    spans = [projection_of(run, Facts(level=level)).remaining_s for level in (0.5, 0.8, 0.9, 0.95, 0.99)]
    widths = [span.high - span.low for span in spans if span]
    assert len(widths) == 5
    assert widths == sorted(widths)
    fan = projection_of(run).fan
    assert np.all(np.diff((fan["high"] - fan["low"]).to_numpy()) >= -1e-6)
    assert fan.height <= 200
    assert fan["elapsed_s"][0] == pytest.approx(fan["low"][0])


def test_a_slow_start_is_left_out_of_the_rate() -> None:
    run, truth = simulate(Plan(steps=200, warmup=(30.0, 4.0), noise=0.02), "step_s")
    said = projection_of(cut_after(run, 0, 20))
    assert said.total_s is not None
    assert abs(np.log(said.total_s.mid / truth.end_s[-1])) < 0.03
    assert any("slow start" in each for each in said.because)


def test_evaluations_to_come_are_counted() -> None:
    plan = Plan(steps=200, eval_every=20, eval_s=60.0, noise=0.02)
    said, truth = at_share(plan, 0.45)
    assert said.total_s is not None
    assert abs(np.log(said.total_s.mid / truth)) < 0.03
    assert any("to come (every 20 steps" in each for each in said.because)


def test_a_typed_schedule_counts_before_anything_was_seen() -> None:
    plan = Plan(steps=200, eval_every=50, eval_s=120.0, noise=0.02)
    plain, truth = at_share(plan, 0.2)
    typed, _ = at_share(plan, 0.2, Facts(eval_every=50, eval_s=120.0))
    assert plain.total_s is not None
    assert typed.total_s is not None
    assert abs(typed.total_s.mid - truth) < abs(plain.total_s.mid - truth)
    assert any("No evaluation has been seen" in each for each in plain.because)


def test_an_announced_final_evaluation_is_priced() -> None:
    run, _ = simulate(Plan(steps=100, noise=0.02))
    cut = cut_after(run, 0, 50)
    without, with_end = projection_of(cut), projection_of(cut, Facts(eval_at_end=True, eval_s=300.0))
    assert without.remaining_s is not None
    assert with_end.remaining_s is not None
    assert with_end.remaining_s.mid - without.remaining_s.mid == pytest.approx(300.0, rel=0.01)


def test_growing_answers_reach_the_interval_and_the_worst_case() -> None:
    plan = Plan(
        steps=200, len_first=60, len_last=900, driver="max", fixed_s=1.0, s_per_token=0.02, limit=512, len_noise=0.15
    )
    run, truth = simulate(plan, settings={"max_tokens": 512})
    said = projection_of(cut_after(run, 0, 40))
    total = float(truth.end_s[-1])
    assert said.total_s is not None
    assert said.worst_case_s is not None
    assert said.total_s.low < total < said.total_s.high
    assert said.worst_case_s > 0.93 * total
    assert any("limit of 512" in each for each in said.because)


def test_worst_case_needs_a_limit() -> None:
    run, _ = simulate(Plan(steps=100, limit=100_000, len_noise=0.3))
    assert projection_of(cut_after(run, 0, 50)).worst_case_s is None


def test_generation_cycles_are_the_unit() -> None:
    said, truth = at_share(Plan(steps=160, cycle=4, noise=0.02), 0.4)
    assert said.total_s is not None
    assert abs(np.log(said.total_s.mid / truth)) < 0.05


def test_an_unfinished_first_cycle_is_too_early() -> None:
    run, truth = simulate(Plan(steps=60, cycle=10, fixed_s=80.0, reuse_s=3.0, noise=0.02), "step_s")
    said = projection_of(cut_after(run, 0, 7))
    assert said.too_early
    assert said.total_s is not None
    assert said.total_s.low < truth.end_s[-1] < said.total_s.high


def test_a_resumed_run_uses_the_last_session_and_adds_both() -> None:
    run, truth = simulate(Plan(steps=200, resumes=((80, 60, 3600.0),), noise=0.02))
    said = projection_of(cut_after(run, 1, 120))
    assert said.total_s is not None
    assert said.total_s.mid == pytest.approx(truth.end_s[-1], rel=0.03)


def test_too_early_below_five_steps() -> None:
    run, _ = simulate(Plan(steps=100))
    assert projection_of(cut_after(run, 0, 3)).too_early
    assert not projection_of(cut_after(run, 0, 8)).too_early


def test_finished_runs_are_measured() -> None:
    run, truth = simulate(Plan(steps=60))
    said = projection_of(run)
    assert said.remaining_s is not None
    assert said.remaining_s.high == 0
    assert said.total_s is not None
    assert said.total_s.low == said.total_s.high == pytest.approx(truth.end_s[-1], rel=0.02)


def test_without_planned_steps_there_is_a_rate_and_a_reason() -> None:
    run, _ = simulate(Plan(steps=60))
    bare = replace(run, info=run.info.model_copy(update={"settings": {}}))
    said = projection_of(bare)
    assert said.remaining_s is None
    assert said.why is not None
    assert "An ordinary step takes" in said.why
    assert projection_of(bare, Facts(total_steps=100)).remaining_s is not None


def test_without_time_it_says_what_to_log() -> None:
    run, _ = simulate(Plan(steps=30))
    bare = replace(run, steps=run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at")))
    said = projection_of(bare)
    assert said.remaining_s is None
    assert said.why is not None


def test_finish_is_counted_from_the_last_step_and_never_in_the_past() -> None:
    run, _ = simulate(Plan(steps=100))
    cut = cut_after(run, 0, 50)
    last = cut.steps["at"][-1]
    said = projection_of(cut)
    assert said.finish_at is not None
    assert said.remaining_s is not None
    assert said.finish_at[1] == pytest.approx(last + timedelta(seconds=said.remaining_s.mid), abs=timedelta(seconds=1))
    late = projection_of(cut, Facts(now=datetime(2031, 1, 1, tzinfo=UTC))).finish_at
    assert late is not None
    assert late[0] == datetime(2031, 1, 1, tzinfo=UTC)


#: Public cumulative times of one 7B run (hours:minutes at steps 100, 200, 300, 400), by GPUs.
PUBLISHED = {
    32: ("13:44", "27:43", "57:22", "89:05"),
    64: ("10:22", "20:45", "31:06", "41:32"),
    128: ("8:36", "17:56", "29:05", "40:48"),
}


@pytest.mark.parametrize("gpus", sorted(PUBLISHED))
def test_published_cumulative_times(gpus: int) -> None:
    ends = np.array(
        [int(h) * 3600 + int(m) * 60 for h, m in (each.split(":") for each in PUBLISHED[gpus])], dtype=float
    )
    wall = np.diff(ends, prepend=0.0) / 100
    said = projection_of(rows_run(wall[:1], 400, span=100))
    assert said.total_s is not None
    holds = said.total_s.low <= ends[-1] <= said.total_s.high
    assert holds or gpus != 64
    assert holds or any("change of pace" in each for each in said.warnings)
    # Once the pace has changed, it is said.
    changed = projection_of(rows_run(wall[:3], 400, span=100))
    assert gpus != 32 or any("has become slower" in each for each in changed.warnings)


def test_shrinking_answers_never_make_the_rest_free() -> None:
    """Answers that fall towards 0 leave at least a part of the quickest step for each step to come."""
    rows = [
        {"segment": 0, "step": n, "span": 1, "step_s": 0.02 * (400 - 6 * n), "len_mean": 400.0 - 6 * n}
        for n in range(1, 61)
    ]
    run = Run(
        RunInfo(name="x", format="x", settings={"total_steps": Setting(value=50_000, source="x")}),
        schema.conform(pl.DataFrame(rows), schema.STEPS),
    )
    rest = analyse(run).projection.remaining_s
    assert rest is not None
    assert rest.low > 0.2 * 49_940 * 0.02 * 40


def test_a_plan_that_was_passed_is_no_plan() -> None:
    said = projection_of(rows_run(np.full(40, 5.0), 30))
    assert said.total_steps is None
    assert said.remaining_s is None
    assert said.why is not None
    assert "passed its 30 planned steps (40 done)" in said.why
    assert projection_of(rows_run(np.full(30, 5.0), 30)).method == "measured"


def test_a_row_before_training_is_no_step() -> None:
    run = rows_run(np.full(20, 5.0), 40)
    elapsed = np.arange(20) * 5.0
    counted = replace(
        run, steps=run.steps.with_columns(pl.col("step") - 1, elapsed_s=pl.Series(elapsed), reward=pl.lit(0.5))
    )
    assert steps_done(counted, clock(counted)) == 19
    later = replace(run, steps=counted.steps.with_columns(elapsed_s=pl.Series(elapsed + 5.0)))
    assert steps_done(later, clock(later)) == 20
    late = replace(run, steps=counted.steps.with_columns(elapsed_s=pl.Series(np.maximum(elapsed - 15.0, 0.0))))
    assert steps_done(late, clock(late)) == 20, "a clock that leaves the first steps out"


def test_one_step_and_work_that_hardly_comes_are_said_as_such() -> None:
    run = rows_run(np.full(39, 5.0), 40)
    saved = pl.DataFrame([{"kind": "checkpoint", "segment": 0, "step": 1, "seconds": 30.0}])
    said = projection_of(replace(run, events=schema.conform(saved, schema.EVENTS))).because
    assert said[0] == "One step to come: 5.0 s."
    assert not any("0 checkpoints" in each for each in said)


@pytest.mark.parametrize("seed", range(6))
def test_the_worst_case_is_never_before_the_upper_bound_and_holds_the_truth(seed: int) -> None:
    plan = Plan(steps=200, len_first=150, len_last=700, limit=1024, len_noise=0.15, seed=seed)
    for share in (0.15, 0.3, 0.6):
        run, truth = simulate(plan)
        told = run.with_settings(max_tokens=Setting(value=1024, source="made"))
        said = projection_of(cut_after(told, 0, int(plan.steps * share)))
        assert said.total_s is not None
        if said.worst_case_s is not None:
            assert said.worst_case_s >= said.total_s.high
            assert said.worst_case_s >= truth.end_s[-1]


def test_growing_answers_are_told_and_flat_ones_are_not() -> None:
    def told(**lengths: float) -> int:
        runs = (simulate(Plan(steps=200, seed=seed, **lengths))[0] for seed in range(12))  # type: ignore[arg-type]
        return sum(any("growing" in each for each in projection_of(cut_after(run, 0, 60)).warnings) for run in runs)

    assert told(len_noise=0.2) == 0
    assert told(len_first=150.0, len_last=600.0) >= 11


def test_answers_that_shrink_steadily_end_near_the_lower_bound() -> None:
    """Within 2 % of it: the interval itself holds about half of them, since runs seldom go on shrinking to their end."""
    held = []
    for seed in range(20):
        said, truth = at_share(Plan(steps=300, len_first=500, len_last=150, seed=seed), 0.5)
        assert said.total_s is not None
        assert abs(np.log(said.total_s.mid / truth)) < 0.15
        held.append(0.98 * said.total_s.low <= truth <= said.total_s.high)
    assert np.mean(held) > 0.7


def test_metrics_that_come_late_are_no_generation_cycle() -> None:
    """The bar is ahead of the metric rows: the steps that it alone shows may have lengths too."""
    wall = np.array([40.0, 10.0, 10.0, 10.0])
    run = rows_run(wall, 40)
    first = replace(run, steps=run.steps.head(1).with_columns(len_mean=pl.lit(100.0)))
    bar = pl.DataFrame(
        [{"segment": 0, "line": at, "step": at, "total": 40, "elapsed_s": float(wall[:at].sum())} for at in range(5)]
    )
    ahead = replace(first, progress=schema.conform(bar, schema.PROGRESS))
    assert not any("generated answers so far" in each for each in projection_of(ahead).because)
    logged = replace(run, steps=run.steps.with_columns(len_mean=pl.when(pl.col("step") == 1).then(100.0)))
    assert any("generated answers so far" in each for each in projection_of(logged).because)


def test_a_long_slow_start_is_said_to_go_on_until_it_is_over() -> None:
    run, truth = simulate(Plan(steps=300, warmup=tuple(np.linspace(30, 2, 16)), noise=0.02, len_noise=0.02))
    for done in (8, 12, 16):
        said = projection_of(cut_after(run, 0, done))
        assert said.too_early
        assert any("only got faster" in each for each in said.warnings)
    after = projection_of(cut_after(run, 0, 36))
    assert not after.too_early
    assert after.total_s is not None
    assert abs(np.log(after.total_s.mid / truth.end_s[-1])) < 0.1


def test_noise_is_seldom_a_slow_start_that_goes_on() -> None:
    runs = (simulate(Plan(steps=200, len_noise=0.15, noise=0.08, seed=seed))[0] for seed in range(40))
    told = sum(
        any("only got faster" in each for each in projection_of(cut_after(run, 0, done)).warnings)
        for run in runs for done in (6, 10, 20)
    )  # fmt: skip
    assert told <= 3
