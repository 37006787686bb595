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

from tests.simulate import Observed, Plan, Truth, happen, observe, simulate
from tests.timeledger.clocks import ALL, sound, walls
from timeledger import schema
from timeledger.clock import clock
from timeledger.results import CLOCK_STEPS
from timeledger.run import Run, RunInfo, Setting
from timeledger.taut import straightest

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


def test_a_bar_tells_what_happened_between_few_rows() -> None:
    """Seven rows of seventy steps, and an evaluation in the middle: the bar saw it, and what a step takes without it."""
    plan = Plan(steps=490, planned=1000, logging_steps=70, fixed_s=1.0, s_per_token=0.0, eval_every=250, eval_s=300.0)
    run, truth = simulate(plan, "bar", "step_s")
    found = clock(run)
    sound(found)
    assert run.steps.height == 7
    assert 20 <= found.steps.height <= 120
    assert set(run.steps["step"]) <= set(found.steps["step"])
    assert found.elapsed_s == pytest.approx(truth.total_s, rel=0.01)
    assert found.step_s == pytest.approx(1.0, rel=0.05)
    assert found.steps.filter(pl.col("wall_s") > 5).height == 1


@pytest.mark.parametrize("every", [5, 8, 10, 168])
@pytest.mark.parametrize("shows", [("bar",), ("elapsed",), ("bar", "step_s")])
def test_the_first_row_alone_covers_all_steps_up_to_it(every: int, shows: Any) -> None:
    """A log that prints every ten steps is looked at when it has one row: that row is ten steps, not one."""
    run, truth = simulate(Plan(steps=every, planned=2000, logging_steps=every), *shows)
    assert run.steps.height == 1
    found = clock(run)
    assert found.steps["span"].sum() == every
    assert found.step_s == pytest.approx(truth.total_s / every, rel=0.2)
    assert (found.first_step, found.position) == (1, every)


@pytest.mark.parametrize(("elapsed_s", "remaining_s", "span"), [(26.0, 875.0, 10), (2.6, 859.0, 1), (26.0, None, 10)])
def test_a_bars_own_pace_tells_how_many_steps_its_only_row_covers(
    elapsed_s: float, remaining_s: float | None, span: int
) -> None:
    steps = pl.DataFrame({"segment": [0], "step": [10], "elapsed_s": [elapsed_s]})
    bar = pl.DataFrame(
        {"segment": [0], "step": [10], "total": [336], "elapsed_s": [elapsed_s], "remaining_s": [remaining_s]}
    )
    run = Run(
        RunInfo(name="x", format="y"),
        schema.conform(steps, schema.STEPS),
        progress=schema.conform(bar, schema.PROGRESS),
    )
    assert clock(run).steps["span"].to_list() == [span]


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
