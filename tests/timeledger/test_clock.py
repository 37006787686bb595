"""The clock: known courses are recovered from stamps, bars, elapsed columns and step times, however little a log shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate import Floats, Observed, Plan, Truth, happen, observe, simulate
from timeledger import schema
from timeledger.clock import clock
from timeledger.results import CLOCK_STEPS, Clock, Facts, Periodic
from timeledger.run import Run, RunInfo, Setting
from timeledger.taut import straightest

ALL = ("stamps", "bar", "elapsed", "step_s")


def sound(found: Clock) -> None:
    """What is true of every clock."""
    steps = found.steps
    assert steps.schema == CLOCK_STEPS
    if found.source in {"none", "run time"}:
        return
    assert found.elapsed_s is not None
    assert found.active_s is not None
    assert found.lost_s is not None
    assert found.elapsed_s == pytest.approx(found.active_s + found.lost_s)
    assert found.elapsed_s == pytest.approx(steps["end_s"][-1])
    assert (steps["end_s"].diff().drop_nulls() >= -1e-6).all()
    assert (steps["wall_s"].drop_nulls() >= -1e-6).all()
    assert steps.select("segment", "step").is_unique().all()
    assert steps["step"].is_sorted()
    whole = steps.filter(pl.col("kind") == "ordinary")["extra_s"].drop_nulls()
    assert steps["kind"].is_in(["ordinary", "warmup", "pause", "evaluation", "checkpoint", "periodic", "restart"]).all()
    assert whole.len() <= steps.height


def walls(found: Clock) -> Floats:
    values: Floats = found.steps["wall_s"].to_numpy()
    return values


def one(found: Clock) -> Periodic:
    assert len(found.periodic) == 1, found.periodic
    return found.periodic[0]


# --- sources -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shows", "source"),
    [
        (("stamps",), "timestamps"),
        (("bar",), "progress bar"),
        (("elapsed",), "elapsed column"),
        (("step_s",), "step times"),
        (("bar", "step_s"), "progress bar"),
        (ALL, "timestamps"),
    ],
)
def test_the_best_source_is_used_and_gives_the_total(shows: Any, source: str) -> None:
    run, truth = simulate(Plan(steps=150), *shows)
    found = clock(run)
    sound(found)
    assert found.source == source
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.01)
    assert found.step_s == pytest.approx(truth.step_s[-30:].mean(), rel=0.01)
    assert (found.first_step, found.position, found.lost_s) == (1, 150, 0)


def test_nothing_that_tells_time_says_what_to_log() -> None:
    run, _ = simulate(Plan(steps=30))
    run = replace(run, steps=run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at")))
    found = clock(run)
    assert (found.source, found.elapsed_s, found.step_s, found.position) == ("none", None, None, 30)
    assert found.steps.is_empty()
    assert found.why is not None
    assert "report_to=tensorboard" in found.why


def test_a_known_total_without_step_times_gives_a_mean_only() -> None:
    run, _ = simulate(Plan(steps=50))
    steps = run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at"))
    run = replace(run, steps=steps, info=run.info.model_copy(update={"train_runtime_s": 500.0}))
    found = clock(run)
    assert (found.source, found.elapsed_s, found.step_s) == ("run time", 500.0, 10.0)
    assert found.steps.is_empty()
    assert found.why is not None


@pytest.mark.parametrize(("state", "step_s"), [((50, 400.0), 8.0), ((80, 400.0), 5.0), ((40, 400.0), None)])
def test_one_state_of_the_bar_is_the_time_of_the_rows_before_it(state: tuple[int, float], step_s: float | None) -> None:
    """What a saved notebook keeps: the bar as it last stood, and rows without a time. A bar behind its rows tells nothing."""
    run, _ = simulate(Plan(steps=50))
    steps = run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at"))
    bar = schema.conform(
        pl.DataFrame({"segment": [0], "step": [state[0]], "total": [100], "elapsed_s": [state[1]]}), schema.PROGRESS
    )
    found = clock(replace(run, steps=steps, progress=bar))
    assert found.step_s == step_s
    assert found.elapsed_s == (400.0 if step_s else None)


def test_an_empty_run_has_no_clock() -> None:
    found = clock(Run(RunInfo(name="x", format="y"), schema.empty(schema.STEPS)))
    assert (found.source, found.position) == ("none", None)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("shows", [("stamps",), ("bar",), ("step_s",), ("elapsed",)])
def test_a_few_rows_are_enough_for_a_clock(rows: int, shows: Any) -> None:
    run, truth = simulate(Plan(steps=rows, planned=100), *shows)
    found = clock(run)
    if shows == ("stamps",) and rows == 1:
        assert found.source == "none"
        return
    sound(found)
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.25)


# --- coarse clocks -----------------------------------------------------------------------------------------------


def test_whole_seconds_of_fast_steps_do_not_jitter() -> None:
    """A bar counts seconds; steps of 0.4 s must not come out as 0 s and 1 s."""
    run, truth = simulate(Plan(steps=400, fixed_s=0.4, s_per_token=0.0, noise=0.05), "bar")
    found = clock(run)
    sound(found)
    wall = found.steps["wall_s"].to_numpy()[5:-5]
    assert wall.min() > 0.3
    assert wall.max() < 0.6
    assert np.abs(found.steps["end_s"].to_numpy() - truth.end_s).max() <= 1.0


def test_step_times_give_the_shape_and_the_bar_the_scale() -> None:
    """2 % of the wall clock lies outside the framework's step time; the bar knows the total, step_s each step's share."""
    plan = Plan(steps=300, fixed_s=0.2, s_per_token=0.002, noise=0.3, outside_s=0.05)
    run, truth = simulate(plan, "bar", "step_s")
    found = clock(run)
    sound(found)
    wall = found.steps["wall_s"].to_numpy()
    assert np.corrcoef(wall[1:-1], truth.wall_s[1:-1])[0, 1] > 0.99
    assert found.elapsed_s == pytest.approx(truth.total_s, abs=1.0)
    assert found.covered == pytest.approx(truth.step_s.sum() / truth.total_s, abs=0.01)


def test_stamps_of_whole_seconds_and_of_bursts() -> None:
    """Logger stamps without a fraction, and rows that share the moment of one flush."""
    run, truth = simulate(Plan(steps=300, fixed_s=0.3, s_per_token=0.0), "stamps", whole_seconds=True)
    found = clock(run)
    sound(found)
    assert found.resolution_s == 1.0
    assert walls(found)[5:-5].max() < 0.5
    flushed = run.steps.with_columns(pl.col("at").gather((pl.int_range(pl.len()) // 5) * 5 + 4).alias("at"))
    found = clock(replace(run, steps=flushed))
    sound(found)
    assert walls(found)[10:-10].max() < 0.7
    assert found.steps["end_s"][-1] == pytest.approx(truth.total_s, rel=0.03)


def test_stamps_written_all_at_once_are_not_a_clock() -> None:
    run, truth = simulate(Plan(steps=100), "stamps", "step_s")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    at = [start + timedelta(milliseconds=3 * i) for i in range(100)]
    found = clock(replace(run, steps=run.steps.with_columns(pl.Series("at", at, dtype=schema.UTC_TIME))))
    assert found.source == "step times"
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.01)


def test_a_clock_set_back_does_not_make_time_run_backwards() -> None:
    run, truth = simulate(Plan(steps=100), "stamps")
    at = run.steps["at"].to_list()
    moved = at[:60] + [each - timedelta(hours=1) for each in at[60:]]
    found = clock(replace(run, steps=run.steps.with_columns(pl.Series("at", moved, dtype=schema.UTC_TIME))))
    sound(found)
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.02)


def test_the_straightest_path_stays_inside_and_is_shortest() -> None:
    rng = np.random.default_rng(1)
    truth = np.cumsum(rng.lognormal(0, 0.5, 400) * 0.3)
    low = np.floor(truth)
    x = np.arange(400.0)
    path = straightest(x, low, low + 1)
    assert (path >= low - 1e-9).all()
    assert (path <= low + 1 + 1e-9).all()
    assert (np.diff(path) >= -1e-9).all()
    length = np.hypot(1, np.diff(path)).sum()
    assert length <= np.hypot(1, np.diff(low + 0.5)).sum()
    assert length <= np.hypot(1, np.diff(np.clip(truth, low, low + 1))).sum() + 0.6


@given(st.lists(st.tuples(st.floats(0.01, 5), st.floats(0, 3), st.floats(0, 2)), min_size=3, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_straightest_path_stays_inside_any_tube(rows: list[tuple[float, float, float]]) -> None:
    step, move, wide = (np.array(each) for each in zip(*rows, strict=True))
    x, low = np.cumsum(step), np.cumsum(move)
    path = straightest(x, low, low + wide)
    assert (path >= low - 1e-6).all()
    assert (path <= low + wide + 1e-6).all()


# --- late rows, cut logs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [1, 20, 100])
def test_a_bar_runs_ahead_of_late_metrics(late: int) -> None:
    """With a buffered stdout the bar is the live position; the rows still to come stand for their steps."""
    run, truth = simulate(Plan(steps=100, planned=200), "bar", late=late)
    found = clock(run)
    sound(found)
    assert found.position == 100
    assert found.elapsed_s == pytest.approx(truth.total_s, abs=1.0)
    assert found.steps["span"].sum() == 100


def test_bar_steps_past_the_last_row_keep_the_logging_interval() -> None:
    run, _ = simulate(Plan(steps=200, logging_steps=10), "bar", late=8)
    found = clock(run)
    sound(found)
    assert found.steps["span"].unique().to_list() == [10]
    assert found.position == 200


def test_a_log_that_begins_in_mid_run_keeps_the_hidden_time_out_of_its_rows() -> None:
    run, truth = simulate(Plan(steps=300), "bar")
    cut = replace(run, steps=run.steps.filter(pl.col("step") > 200), progress=run.progress.filter(pl.col("step") > 200))
    found = clock(cut)
    sound(found)
    assert found.first_step == 201
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.01)
    assert np.nanmax(walls(found)) < 60


def test_rows_of_several_steps_give_seconds_of_one() -> None:
    run, truth = simulate(Plan(steps=200, logging_steps=10), "stamps", "step_s")
    found = clock(run)
    sound(found)
    assert found.steps.height == 20
    assert found.step_s == pytest.approx(truth.step_s[-60:].mean(), rel=0.03)


# --- sessions ----------------------------------------------------------------------------------------------------


def test_a_resumed_run_counts_redone_steps_and_the_gap_it_can_see() -> None:
    plan = Plan(steps=100, resumes=((53, 40, 600.0),), warmup=(3.0,))
    run, truth = simulate(plan, "stamps", "step_s")
    found = clock(run)
    sound(found)
    first, second = found.segments
    assert (first.first_step, first.last_step, second.first_step, second.last_step) == (1, 53, 41, 100)
    assert second.redone == 13
    assert second.lost_before_s == pytest.approx(600, abs=1)
    assert found.lost_s == pytest.approx(600, abs=1)
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.001)
    assert found.steps["step"].to_list() == list(range(1, 101))
    assert found.steps.filter(pl.col("step") == 45)["segment"].to_list() == [1]
    assert found.steps.filter(pl.col("step") == 41)["kind"].to_list() == ["restart"]


def test_a_gap_that_only_bars_could_show_is_not_known() -> None:
    """A bar starts at 0 in each session: the time between two sessions is in no bar. Null, not 0."""
    plan = Plan(steps=100, resumes=((53, 40, 600.0),))
    run, truth = simulate(plan, "bar")
    found = clock(run)
    sound(found)
    assert found.segments[1].lost_before_s is None
    assert found.elapsed_s == pytest.approx(truth.total_s - 600, abs=2)
    first = found.steps.filter(pl.col("step") == 41)["wall_s"][0]
    assert first == pytest.approx(truth.step_s.mean(), rel=0.3)


def test_steps_that_were_lost_again_are_not_done() -> None:
    """Killed after 53, resumed from 40, now at 45: the position is 45."""
    plan = Plan(steps=100, resumes=((53, 40, 60.0),))
    truth = happen(plan)
    seen = (truth.segment == 0) | (truth.step <= 45)
    cut = Truth(
        truth.total_s, truth.lost_s, truth.warmup_s, truth.segment[seen], truth.step[seen], truth.step_s[seen],
        truth.wall_s[seen], truth.end_s[seen], truth.len_mean[seen], truth.len_max[seen],
    )  # fmt: skip
    found = clock(observe(plan, cut, ("stamps",)))
    sound(found)
    assert found.position == 45
    assert found.steps["step"].to_list() == list(range(1, 46))


def test_a_clock_that_counts_on_over_a_resume_is_not_counted_twice() -> None:
    """The loop keeps its start time over a rollback: the second session's first row says 700 s, not 14."""
    plan = Plan(steps=100, resumes=((53, 40, 60.0),), noise=0.0, len_noise=0.0)
    run, truth = simulate(plan, "elapsed")
    second = truth.segment == 1
    whole = run.steps.with_columns(pl.Series("elapsed_s", truth.end_s))
    found = clock(replace(run, steps=whole))
    sound(found)
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.002)
    assert found.segments[1].elapsed_s == pytest.approx(truth.wall_s[second].sum() + 60.0, rel=0.002)
    assert found.elapsed_s == pytest.approx((clock(run).elapsed_s or 0.0) + 60.0, rel=0.002)


def test_a_resumed_session_that_starts_slowly_has_its_own_clock() -> None:
    """Killed after two steps; the second session needs ten minutes to load before its first row."""
    plan = Plan(steps=40, resumes=((2, 0, 0.0),), warmup=(1.0,), noise=0.0, len_noise=0.0)
    run, truth = simulate(plan, "elapsed")
    first, second = truth.wall_s[truth.segment == 0].sum(), truth.wall_s[truth.segment == 1].sum()
    late = pl.when(pl.col("segment") == 1).then(pl.col("elapsed_s") + 600.0).otherwise(pl.col("elapsed_s"))
    found = clock(replace(run, steps=run.steps.with_columns(late)))
    assert found.elapsed_s == pytest.approx(first + second + 600.0, rel=0.002)


@pytest.mark.parametrize("shows", ["elapsed", "stamps"])
def test_a_clock_that_few_rows_show_still_tells_the_time(shows: Observed) -> None:
    run, truth = simulate(Plan(steps=100), shows)
    column = "elapsed_s" if shows == "elapsed" else "at"
    few = pl.when(pl.col("step") % 5 == 0).then(pl.col(column))
    found = clock(replace(run, steps=run.steps.with_columns(few)))
    sound(found)
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.01)
    assert found.step_s == pytest.approx(truth.step_s.mean(), rel=0.05)
    assert found.resolution_s > 3 * truth.step_s.mean(), "rows between are no evidence of how steady the run is"


def test_one_time_stamp_is_not_called_none() -> None:
    run, _ = simulate(Plan(steps=1, planned=100), "stamps")
    found = clock(run)
    assert found.elapsed_s is None
    assert "One time stamp" in (found.why or "")


def test_zero_seconds_is_no_measured_step() -> None:
    run, truth = simulate(Plan(steps=60), "step_s")
    some = pl.when(pl.col("step") % 7 == 3).then(0.0).otherwise(pl.col("step_s")).alias("step_s")
    found = clock(replace(run, steps=run.steps.with_columns(some)))
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.02)
    none = clock(replace(run, steps=run.steps.with_columns(pl.lit(0.0).alias("step_s"))))
    assert (none.source, none.elapsed_s) == ("none", None)


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


# --- periodic work -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after_row", [True, False])
@pytest.mark.parametrize("shows", [("stamps",), ("bar",), ("bar", "step_s")])
@pytest.mark.parametrize(("every", "seconds"), [(20, 40.0), (25, 8.0), (50, 130.0)])
def test_a_period_is_found_in_the_steps_themselves(after_row: bool, shows: Any, every: int, seconds: float) -> None:
    run, _ = simulate(Plan(steps=300, eval_every=every, eval_s=seconds, after_row=after_row, noise=0.05), *shows)
    found = clock(run)
    sound(found)
    work = one(found)
    assert (work.kind, work.every, work.known_from) == ("unknown", every, "residuals")
    assert work.seconds == pytest.approx(seconds, rel=0.12, abs=1.0)
    assert work.count >= 300 // every - 1


@pytest.mark.parametrize(("logging", "every"), [(5, 50), (10, 50), (10, 25)])
def test_a_period_is_found_across_the_logging_interval(logging: int, every: int) -> None:
    run, _ = simulate(Plan(steps=500, eval_every=every, eval_s=100, logging_steps=logging), "stamps")
    work = one(clock(run))
    assert work.every == every
    assert work.seconds == pytest.approx(100, rel=0.1)


def test_very_fast_steps_behind_a_bar_of_whole_seconds() -> None:
    run, _ = simulate(Plan(steps=500, fixed_s=0.2, s_per_token=0.0002, eval_every=100, eval_s=8), "bar")
    found = clock(run)
    assert one(found).every == 100
    assert one(found).seconds == pytest.approx(8, abs=1)
    assert found.lost_s == 0


def test_settings_price_evaluation_and_checkpoint_apart() -> None:
    plan = Plan(steps=300, eval_every=20, eval_s=40, save_every=50, save_s=20)
    run, _ = simulate(plan, "stamps", settings={"eval_steps": 20, "save_steps": 50})
    found = clock(run)
    sound(found)
    evaluation, checkpoint = found.periodic
    assert (evaluation.kind, evaluation.every, evaluation.known_from) == ("evaluation", 20, "setting")
    assert evaluation.seconds == pytest.approx(40, rel=0.1)
    assert (checkpoint.kind, checkpoint.every) == ("checkpoint", 50)
    assert checkpoint.seconds == pytest.approx(20, rel=0.2)


def test_an_evaluation_that_was_never_seen_has_no_price() -> None:
    run, _ = simulate(Plan(steps=40, planned=500), "stamps", settings={"eval_steps": 100, "eval_at_end": True})
    work = one(clock(run))
    assert (work.kind, work.every, work.seconds, work.count, work.at_end) == ("evaluation", 100, None, 0, True)


def test_a_person_may_name_the_price() -> None:
    run, _ = simulate(Plan(steps=40, planned=500), "stamps")
    work = one(clock(run, Facts(eval_every=100, eval_s=75.0, eval_at_end=True)))
    assert (work.every, work.seconds, work.known_from, work.at_end) == (100, 75.0, "given", True)


def test_a_phase_tells_kind_and_seconds() -> None:
    run, truth = simulate(Plan(steps=120, eval_every=10, eval_s=33, after_row=False), "step_s")
    run = with_phases(run, {"testing": ("evaluation", [33.0 if s % 10 == 0 else None for s in range(1, 121)], True)})
    found = clock(run)
    sound(found)
    work = one(found)
    assert (work.kind, work.every, work.seconds, work.count, work.known_from) == ("evaluation", 10, 33.0, 12, "phase")
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.001)
    assert found.steps.filter(pl.col("kind") == "evaluation")["step"].to_list() == list(range(10, 121, 10))


def test_an_event_tells_the_kind_and_the_next_row_pays() -> None:
    run, _ = simulate(Plan(steps=100, eval_every=20, eval_s=30), "stamps")
    events = [{"segment": 0, "step": s, "kind": "evaluation", "seconds": 29.0} for s in (20, 40, 60, 80)]
    run = replace(run, events=schema.conform(pl.DataFrame(events), schema.EVENTS))
    found = clock(run)
    work = one(found)
    assert (work.kind, work.every, work.known_from) == ("evaluation", 20, "event")
    assert found.steps.filter(pl.col("kind") == "evaluation")["step"].to_list() == [21, 41, 61, 81]


def evaluated(run: Run, *steps: int) -> Run:
    """The run with evaluations after these steps, of which the log tells no time."""
    events = [{"segment": 0, "step": step, "kind": "evaluation"} for step in steps]
    return replace(run, events=schema.conform(pl.DataFrame(events), schema.EVENTS))


@pytest.mark.parametrize(
    ("seconds", "low", "high"), [(0.0, 0.0, 1.0), (0.5, 0.0, 1.5), (6.0, 4.5, 7.5), (40.0, 38.0, 42.0)]
)
@pytest.mark.parametrize("shows", [("stamps",), ("bar",), ("elapsed",), ("bar", "step_s")])
def test_a_clock_that_runs_on_tells_what_untimed_evaluations_took(
    shows: tuple[Observed, ...], seconds: float, low: float, high: float
) -> None:
    run, _ = simulate(Plan(steps=230, planned=460, eval_every=10, eval_s=seconds, driver="none", noise=0.1), *shows)
    work = one(clock(evaluated(run, *range(10, 231, 10))))
    assert (work.kind, work.every, work.count) == ("evaluation", 10, 23)
    assert work.seconds is not None
    assert low <= work.seconds <= high


@pytest.mark.parametrize("seconds", [1.0, 40.0])
def test_step_times_do_not_tell_what_is_done_between_the_steps(seconds: float) -> None:
    run, truth = simulate(Plan(steps=230, planned=460, eval_every=10, eval_s=seconds), "step_s")
    found = clock(evaluated(run, *range(10, 231, 10)))
    assert one(found).seconds is None
    assert found.elapsed_s == pytest.approx(truth.step_s.sum())
    assert (found.steps["extra_s"] == 0).all()


@pytest.mark.parametrize("every", [25, 35, 50])
def test_the_interval_is_that_of_the_events_and_not_of_the_rows(every: int) -> None:
    run, _ = simulate(Plan(steps=200, planned=400, logging_steps=10, eval_every=every, eval_s=60.0), "stamps")
    work = one(clock(evaluated(run, *range(every, 201, every))))
    assert work.every == every
    assert work.seconds == pytest.approx(60, rel=0.15)


@pytest.mark.parametrize(
    ("said", "paid", "timed"),
    [(9, 10, True), (9, 10, False), (9, 11, False), (10, 10, True), (10, 10, False), (10, 11, True), (10, 11, False)],
)
def test_an_evaluation_inside_the_step_times_is_counted_once(said: int, paid: int, timed: bool) -> None:
    """The loop prints the evaluation before or after its step's line, and its watch stops there or runs on."""
    run, truth = simulate(Plan(steps=105, planned=200, noise=0.02), "step_s")
    extra = pl.when((pl.col("step") % 10 == paid % 10) & (pl.col("step") > 9)).then(40.0).otherwise(0.0)
    run = replace(run, steps=run.steps.with_columns(pl.col("step_s") + extra))
    events = [
        {"segment": 0, "step": step, "kind": "evaluation", "seconds": 40.0 if timed else None}
        for step in range(said, 105, 10)
    ]
    frame = pl.DataFrame(events, schema_overrides={"seconds": pl.Float64})
    found = clock(replace(run, events=schema.conform(frame, schema.EVENTS)))
    assert found.elapsed_s == pytest.approx(truth.step_s.sum() + 10 * 40, rel=1e-6)
    work = one(found)
    assert (work.kind, work.every) == ("evaluation", 10)
    assert work.seconds == pytest.approx(40, rel=0.05)
    assert found.steps.filter(pl.col("kind") == "evaluation")["step"].to_list() == list(range(paid, 106, 10))


@pytest.mark.parametrize("inside", [True, False])
def test_an_evaluation_after_every_step_lies_inside_where_it_fits(inside: bool) -> None:
    run, truth = simulate(Plan(steps=60), "step_s")
    if inside:
        run = replace(run, steps=run.steps.with_columns(pl.col("step_s") + 40.0))
    events = [{"segment": 0, "step": step, "kind": "evaluation", "seconds": 40.0} for step in range(1, 61)]
    found = clock(replace(run, events=schema.conform(pl.DataFrame(events), schema.EVENTS)))
    assert found.elapsed_s == pytest.approx(truth.step_s.sum() + 60 * 40, rel=1e-6)


def test_an_evaluation_due_at_the_last_row_is_not_paid_yet() -> None:
    run, _ = simulate(Plan(steps=100, planned=500, eval_every=100, eval_s=40.0), "stamps", settings={"eval_steps": 100})
    assert one(clock(run)).seconds is None


def test_time_after_the_last_step_is_the_final_evaluation() -> None:
    plan = Plan(steps=100, eval_at_end=True, eval_s=200.0)
    run, truth = simulate(plan, "bar", settings={"eval_at_end": True})
    found = clock(run)
    sound(found)
    work = one(found)
    assert (work.kind, work.at_end) == ("evaluation", True)
    assert work.seconds == pytest.approx(200, abs=2)
    assert found.elapsed_s == pytest.approx(truth.total_s, abs=1.5)
    assert found.step_s == pytest.approx(truth.step_s[-30:].mean(), rel=0.02)


# --- step time against wall clock --------------------------------------------------------------------------------


def test_an_evaluation_stamped_after_the_last_step_belongs_to_the_run() -> None:
    run, truth = simulate(Plan(steps=40, noise=0.02), "stamps")
    last = run.steps["at"][-1]
    event = {"segment": 0, "step": 40, "line": 1, "at": last + timedelta(seconds=90), "kind": "evaluation"}
    ended = replace(run, events=schema.conform(pl.DataFrame([event]), schema.EVENTS))
    found = clock(ended)
    sound(found)
    assert found.elapsed_s == pytest.approx(truth.total_s + 90, rel=0.01)
    assert found.step_s == pytest.approx(clock(run).step_s or 0.0, rel=0.1), "it is no part of the last step"


def test_a_validation_before_training_tells_no_price_and_no_schedule() -> None:
    run, _ = simulate(Plan(steps=40, noise=0.02), "stamps")
    event = {"segment": 0, "step": 0, "line": 1, "at": run.steps["at"][0] - timedelta(seconds=30), "kind": "evaluation"}
    assert clock(replace(run, events=schema.conform(pl.DataFrame([event]), schema.EVENTS))).periodic == ()


def test_step_zero_is_no_multiple_of_an_interval() -> None:
    run, _ = simulate(Plan(steps=8, noise=0.02), "step_s")
    from_zero = replace(run, steps=run.steps.with_columns(pl.col("step") - 1))
    told = from_zero.with_settings(eval_steps=Setting(value=20, source="made"))
    assert [(each.every, each.count, each.seconds) for each in clock(told).periodic] == [(20, 0, None)]


def test_the_other_work_in_a_row_does_not_hide_the_price_where_it_logs_its_own_time() -> None:
    """Checkpoints log their time, evaluations in the same rows do not: those cost the rest."""
    run, _ = simulate(Plan(steps=60, eval_every=20, eval_s=47.0, noise=0.01, after_row=False), "stamps")
    saved = pl.DataFrame(
        [
            {"segment": 0, "step": step, "phase": "checkpoint", "name": "save", "outside": True, "overlaps": False, "seconds": 40.0}
            for step in (20, 40, 60)
        ]
    )  # fmt: skip
    both = evaluated(replace(run, phases=schema.conform(saved, schema.PHASES)), 20, 40, 60)
    prices = {each.kind: each.seconds for each in clock(both).periodic}
    assert prices["checkpoint"] == pytest.approx(40.0)
    assert prices["evaluation"] == pytest.approx(7.0, abs=1.5)


def test_ms_swift_evaluates_after_the_last_step_where_it_evaluates() -> None:
    run, _ = simulate(Plan(steps=30, planned=95, eval_every=10, eval_s=20.0), "stamps")
    swift = replace(run, info=run.info.model_copy(update={"framework": "ms-swift"}))
    assert one(clock(evaluated(swift, 10, 20, 30))).at_end
    assert not one(clock(evaluated(run, 10, 20, 30))).at_end
    assert clock(replace(swift, events=swift.events.clear())).periodic == ()


def with_phases(run: Run, phases: dict[str, tuple[str, list[float | None], bool | None]]) -> Run:
    """The run with phases by own name: (canonical, seconds a row, outside)."""
    rows = [
        {
            "segment": 0,
            "step": int(step),
            "phase": phase,
            "name": name,
            "outside": outside,
            "overlaps": False,
            "seconds": s,
        }
        for name, (phase, seconds, outside) in phases.items()
        for step, s in zip(run.steps["step"], seconds, strict=True)
        if s is not None
    ]
    return replace(run, phases=schema.conform(pl.DataFrame(rows, infer_schema_length=None), schema.PHASES))


@pytest.mark.parametrize("outside", [True, False])
def test_whether_testing_lies_outside_the_step_is_decided_by_the_file(outside: bool) -> None:
    """Verl's `testing`: within `step` up to 0.5, outside from 0.6 on. The sums tell which."""
    steps = 60
    gen, update = 6.0, 3.0
    testing = [20.0 if s % 10 == 0 else None for s in range(1, steps + 1)]
    own = [gen + update + (0.0 if outside or t is None else t) for t in testing]
    run, _ = simulate(Plan(steps=steps), "step_s")
    run = replace(run, steps=run.steps.with_columns(pl.Series("step_s", own)))
    run = with_phases(
        run,
        {
            "gen": ("rollout", [gen] * steps, None),
            "update_actor": ("update", [update] * steps, None),
            "testing": ("evaluation", testing, None),
        },
    )
    found = clock(run)
    assert found.elapsed_s == pytest.approx(steps * 9.0 + 6 * 20.0)


def test_phases_alone_make_a_step() -> None:
    """AReaL logs timeperf/* and no step time."""
    run, _ = simulate(Plan(steps=20))
    run = replace(run, steps=run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at")))
    run = with_phases(
        run, {"timeperf/rollout": ("rollout", [4.0] * 20, None), "timeperf/train_step": ("update", [6.0] * 20, None)}
    )
    found = clock(run)
    assert (found.source, found.elapsed_s, found.step_s) == ("step times", 200.0, 10.0)


# --- anything ----------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 60), st.one_of(st.none(), st.floats(0, 1e6)), st.one_of(st.none(), st.floats(-5, 1e5)),
            st.one_of(st.none(), st.integers(0, 10**6)),
        ),
        max_size=40,
    ),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 80), st.floats(0, 1e5)), max_size=30),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_odd_logs_never_raise(rows: list[Any], bars: list[Any]) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    frame = pl.DataFrame(
        [
            {
                "segment": a,
                "step": b,
                "elapsed_s": c,
                "step_s": d,
                "at": start + timedelta(seconds=e) if e is not None else None,
            }
            for a, b, c, d, e in rows
        ],
        schema={name: schema.STEPS[name] for name in ("segment", "step", "elapsed_s", "step_s", "at")},
    )
    progress = pl.DataFrame(
        [{"segment": a, "step": b, "elapsed_s": c} for a, b, c in bars],
        schema={name: schema.PROGRESS[name] for name in ("segment", "step", "elapsed_s")},
    )
    run = Run(
        RunInfo(name="odd", format="x", settings={"eval_steps": Setting(value=5, source="x")}),
        schema.conform(frame, schema.STEPS),
        progress=schema.conform(progress, schema.PROGRESS),
    )
    found = clock(run)
    assert found.steps.schema == CLOCK_STEPS
    if found.elapsed_s is not None:
        assert found.elapsed_s >= -1e-6
