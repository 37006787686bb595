"""Work that comes every k steps: found in phases, events, settings and the steps themselves, and priced once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.simulate import Observed, Plan, simulate
from tests.timeledger.clocks import one, sound
from timeledger import schema
from timeledger.clock import clock
from timeledger.results import Facts
from timeledger.run import Run, RunInfo, Setting
from timeledger.schedule import extras_to_come


def _bar_run(walls: np.ndarray, total: int, events: list[dict[str, Any]]) -> Run:
    """A run that only a bar of whole seconds shows."""
    elapsed = np.floor(np.cumsum(walls))
    bar = {"segment": 0, "step": np.arange(1, len(walls) + 1), "total": total, "elapsed_s": elapsed}
    return Run(
        RunInfo(name="made", format="made", settings={"total_steps": Setting(value=total, source="made")}),
        schema.empty(schema.STEPS),
        progress=schema.conform(pl.DataFrame(bar), schema.PROGRESS),
        events=schema.conform(pl.DataFrame(events), schema.EVENTS),
    )


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


def test_a_coarse_clock_moves_no_more_than_its_ticks_into_the_price_of_one_checkpoint() -> None:
    """Slow steps before it are not its work: it cannot have taken longer than its own step, and a second on either side."""
    walls = [0.4] * 12 + [1.5] * 5 + [3.0, 5.0, 7.0] + [1.5] * 5
    run = _bar_run(np.array(walls), 100, [{"kind": "checkpoint", "segment": 0, "step": 20}])
    work = one(clock(run))
    assert work.kind == "checkpoint"
    assert work.seconds is not None
    assert 4.0 <= work.seconds <= 8.0


@pytest.mark.parametrize(("second", "count"), [(170.0, 2), (60.0, 1)])
def test_an_evaluation_whose_lines_come_late_is_no_pause(second: float, count: int) -> None:
    """Standard output is buffered, the bar is not: a stop as long as the evaluation before, at twice its step, is the next."""
    walls = np.full(560, 0.3)
    walls[250], walls[500] = 170.3, second + 0.3
    run = _bar_run(walls, 2500, [{"kind": "evaluation", "segment": 0, "step": 250}])
    found = clock(run)
    sound(found)
    assert (one(found).kind, one(found).count) == ("evaluation", count)
    assert one(found).seconds == pytest.approx(170.0, abs=1.5)
    assert found.lost_s == pytest.approx(0.0 if count == 2 else second, abs=1.5)
    to_come = sum(each.seconds for each in extras_to_come(found, Facts(), 560, 2500))
    assert to_come == pytest.approx(8 * 170.0 if count == 2 else 588.0, rel=0.15)


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


def test_two_evaluations_at_once_do_not_hide_the_interval_nor_share_the_longer_ones_price() -> None:
    """A short one every 25 steps; at every 200th another tells its 90 s under the step after."""
    run, _ = simulate(Plan(steps=600, eval_every=25, eval_s=4.0, noise=0.01), "stamps")
    told = [(step, None) for step in range(25, 601, 25)] + [(step + 1, 90.0) for step in range(200, 600, 200)]
    events = pl.DataFrame([{"segment": 0, "step": at, "kind": "evaluation", "seconds": s} for at, s in sorted(told)])
    found = clock(replace(run, events=schema.conform(events, schema.EVENTS)))
    work = one(found)
    assert (work.kind, work.every) == ("evaluation", 25)
    assert work.seconds is not None
    assert 4 < work.seconds < 4 + 2 * 2 * 90 / 26


def test_three_equal_stops_at_one_distance_are_a_schedule() -> None:
    run, _ = simulate(Plan(steps=38, fixed_s=0.005, s_per_token=0.0, eval_every=10, eval_s=4.0), "stamps")
    work = one(clock(run))
    assert (work.kind, work.every, work.count) == ("unknown", 10, 3)
    assert work.seconds == pytest.approx(4.0, rel=0.05)


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
