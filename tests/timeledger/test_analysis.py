"""The whole in one call: states, headline, backtest, what-if; and no log so odd that it raises."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parsers
from tests.simulate import START, Plan, happen, simulate
from timeledger import schema
from timeledger.analysis import analyse, what_if
from timeledger.cutting import cut_after
from timeledger.report import report
from timeledger.results import Facts
from timeledger.run import Run, RunInfo, Setting
from timeledger.units import show_seconds


def live(share: float = 0.4, **values: object) -> Run:
    """A run cut while it goes on."""
    run, _ = simulate(Plan(**{"steps": 100, "noise": 0.02, **values}))  # type: ignore[arg-type]
    return cut_after(run, 0, int(100 * share))


def test_states() -> None:
    run = live()
    last = run.steps["at"][-1]
    step = analyse(run).clock.step_s
    assert step is not None
    assert analyse(run).state == "unknown"
    assert analyse(run, Facts(now=last + timedelta(seconds=2 * step))).state == "running"
    assert analyse(run, Facts(now=last + timedelta(seconds=7 * step))).state == "stalled"
    crashed = replace(run, info=run.info.model_copy(update={"ended": "crashed"}))
    assert analyse(crashed).state == "ended early"
    whole, _ = simulate(Plan(steps=50))
    assert analyse(whole).state == "finished"


def test_the_same_log_gives_the_same_report_to_the_last_digit() -> None:
    """Sums must not depend on the order in which threads give groups back."""
    run = parsers.read(Path(str(files("sample_logs"))) / "phases-from-wandb")
    assert len({report(analyse(run, backtested=False)).model_dump_json() for _ in range(20)}) == 1


def test_headline_says_when_and_what_drives() -> None:
    run = live(0.5, len_first=100.0, len_last=300.0, s_per_token=0.05)
    now = run.steps["at"][-1]
    said = analyse(run, Facts(now=now)).headline
    assert said.startswith("Finishes ")
    assert "50 of 100 steps done" in said
    assert "answers grew from" in said
    assert said.endswith(".")
    assert "\n" not in said


def test_the_time_of_a_log_that_begins_in_mid_run_is_not_that_of_all_steps() -> None:
    run, _ = simulate(Plan(steps=400), "stamps")
    late = replace(run, steps=run.steps.filter(pl.col("step") > 200))
    assert "400 of 400 steps (this log from 201 on)" in analyse(late).headline
    bare = replace(late, info=late.info.model_copy(update={"settings": {}}))
    assert "200 steps (201 to 400)" in analyse(bare).headline


def test_a_run_before_its_first_step_is_neither_stalled_nor_without_a_clock() -> None:
    """Models load, and a first rollout takes minutes: ten quiet ones say nothing."""
    bar = pl.DataFrame({"segment": [0], "step": [0], "total": [1000], "elapsed_s": [0.0]})
    info = RunInfo(name="x", format="y", last_write=START)
    run = Run(info, schema.empty(schema.STEPS), progress=schema.conform(bar, schema.PROGRESS))
    late = analyse(run, Facts(now=START + timedelta(minutes=10)))
    assert late.state == "unknown"
    assert late.headline.startswith("No step is done yet")
    assert analyse(run, Facts(now=START + timedelta(seconds=5))).state == "running"


def test_the_time_of_earlier_starts_stands_apart() -> None:
    run, truth = simulate(Plan(steps=200, resumes=((80, 0, 600.0),)), "stamps")
    said = analyse(run).headline
    assert "in earlier starts" in said
    whole = analyse(simulate(Plan(steps=200, resumes=((80, 60, 600.0),)), "stamps")[0]).headline
    assert "in earlier starts" not in whole
    own = float(truth.step_s[-200:].sum())
    assert any(show_seconds(own + second) in said for second in (-1.0, 0.0, 1.0))


def test_headline_of_too_few_steps_is_a_range() -> None:
    assert "too early" in analyse(live(0.03)).headline


def test_backtest_of_a_finished_run_holds_the_truth() -> None:
    run, truth = simulate(Plan(steps=200, noise=0.03))
    found = analyse(run).projection.backtest
    assert [each.share for each in found] == [0.10, 0.25, 0.50]
    for each in found:
        assert each.truth_s == pytest.approx(truth.end_s[-1], rel=0.02)
        assert each.total_s.low <= each.total_s.mid <= each.total_s.high
        assert each.tqdm_s == pytest.approx(truth.end_s[-1], rel=0.05)
        assert each.total_s.mid == pytest.approx(truth.end_s[-1], rel=0.05)


def test_backtest_of_a_live_run_has_no_truth_and_no_hindsight() -> None:
    found = analyse(live(0.4)).projection.backtest
    assert [each.share for each in found] == [0.10, 0.25]
    assert all(each.truth_s is None for each in found)
    assert found[0].total_s == analyse(live(0.1)).projection.total_s


def test_what_if_more_steps_and_other_limits() -> None:
    run = live(0.5, driver="max", fixed_s=1.0, s_per_token=0.02, len_noise=0.3)
    found = analyse(run)
    base = found.projection.remaining_s
    assert base is not None
    longer, shorter, higher = (
        what_if(found, total_steps=200),
        what_if(found, max_tokens=200),
        what_if(found, max_tokens=4096),
    )
    assert longer.remaining_s is not None
    assert shorter.remaining_s is not None
    assert higher.remaining_s is not None
    assert longer.remaining_s.mid == pytest.approx(3 * base.mid, rel=0.05)
    # The longest answers are about 400 tokens: at 200 a step costs 1 + 0.02 x 200 instead of 1 + 0.02 x 400.
    assert shorter.remaining_s.mid / base.mid == pytest.approx(5 / 9, abs=0.06)
    assert higher.remaining_s.mid == pytest.approx(base.mid, rel=0.01)
    assert any("At a limit of 200 tokens" in each for each in shorter.because)


def test_what_if_evaluation_interval() -> None:
    plan = Plan(steps=200, eval_every=10, eval_s=60.0, noise=0.02)
    run, _ = simulate(plan, settings={"eval_steps": 10})
    found = analyse(cut_after(run, 0, 100))
    rarer = what_if(found, eval_every=50)
    assert found.projection.remaining_s is not None
    assert rarer.remaining_s is not None
    # Ten evaluations (steps 110 to 200) become two (150 and 200).
    assert found.projection.remaining_s.mid - rarer.remaining_s.mid == pytest.approx(8 * 60, rel=0.1)


def to_come(plan: Plan, after: int) -> float:
    """Seconds from the end of step `after` to the end, in the run done again."""
    truth = happen(plan)
    return truth.total_s - float(truth.end_s[after - 1])


CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 400}, {"limit": 400}),
    ({"max_tokens": 200}, {"limit": 200}),
    ({"eval_every": 50}, {"eval_every": 50}),
    ({"eval_s": 10.0}, {"eval_s": 10.0}),
    ({"eval_every": 50, "eval_s": 10.0}, {"eval_every": 50, "eval_s": 10.0}),
    ({"total_steps": 200}, {"steps": 200}),
    ({"total_steps": 500}, {"steps": 500}),
]


@pytest.mark.parametrize(("asked", "changed"), CHANGES)
@pytest.mark.parametrize("known", [True, False])
def test_what_if_against_the_run_done_again(asked: dict[str, Any], changed: dict[str, Any], known: bool) -> None:
    """The change made after step 100 of runs whose steps follow the longest answer; the schedule in the settings or not."""
    told, true, limited = 0.0, 0.0, "limit" in changed
    for seed in range(12 if limited else 3):
        plan = Plan(steps=300, len_noise=0.3, limit=1024, eval_every=10, eval_s=60.0, seed=seed)
        run, _ = simulate(plan, "stamps", settings={"eval_steps": 10} if known else {})
        found = analyse(cut_after(run, 0, 100), Facts(max_tokens=1024))
        was, said = found.projection.remaining_s, what_if(found, **asked).remaining_s
        assert was is not None
        assert said is not None
        told += said.mid - was.mid
        true += to_come(replace(plan, **changed), 100) - to_come(plan, 100)
    assert told == pytest.approx(true, rel=0.15 if limited else 0.1)


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.floats(-10, 1e4))


@st.composite
def odd_runs(draw: st.DrawFn) -> Run:
    """Runs no trainer would write."""
    n = draw(st.integers(0, 14))
    columns: dict[str, pl.Series] = {
        "segment": pl.Series(sorted(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))), dtype=pl.Int64),
        "step": pl.Series(draw(st.lists(st.integers(0, 60), min_size=n, max_size=n)), dtype=pl.Int64),
        "span": pl.Series(
            draw(st.lists(st.one_of(st.none(), st.integers(1, 10)), min_size=n, max_size=n)), dtype=pl.Int64
        ),
    }
    for name in ("step_s", "elapsed_s", "len_mean", "len_max", "truncated", "tokens", "gen_tok_s"):
        if draw(st.booleans()):
            columns[name] = pl.Series(draw(st.lists(NUMBERS, min_size=n, max_size=n)), dtype=pl.Float64)
    if draw(st.booleans()):
        offsets = draw(st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=n, max_size=n))
        at = [None if each is None else START + timedelta(seconds=each) for each in offsets]
        columns["at"] = pl.Series(at, dtype=schema.UTC_TIME)
    names = draw(
        st.lists(
            st.sampled_from(["total_steps", "max_tokens", "eval_steps", "save_steps", "logging_steps"]), unique=True
        )
    )
    known = {
        name: Setting(value=draw(st.one_of(st.integers(-5, 500), st.floats(-1, 1e3))), source="odd") for name in names
    }
    bars = draw(st.integers(0, 5))
    progress = schema.conform(
        pl.DataFrame(
            {
                "segment": [0] * bars,
                "step": list(range(bars)),
                "total": [draw(st.integers(0, 9))] * bars,
                "elapsed_s": [1.0 * i for i in range(bars)],
            },
            schema_overrides={"segment": pl.Int64, "step": pl.Int64, "total": pl.Int64, "elapsed_s": pl.Float64},
        ),
        schema.PROGRESS,
    )
    endings: list[Literal["finished", "crashed"] | None] = [None, "finished", "crashed"]
    ended = draw(st.sampled_from(endings))
    return Run(
        RunInfo(name="odd", format="odd", settings=known, ended=ended),
        schema.conform(pl.DataFrame(columns), schema.STEPS),
        progress=progress,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    odd_runs(),
    st.sampled_from([Facts(), Facts(total_steps=40, eval_every=7, eval_s=3.0, now=datetime(2027, 1, 1, tzinfo=UTC))]),
)
def test_never_raises_and_never_lies_about_order(run: Run, facts: Facts) -> None:
    found = analyse(run, facts)
    assert found.headline
    for span in (
        found.projection.remaining_s,
        found.projection.total_s,
        found.timing.fixed_s,
        found.timing.s_per_token,
    ):
        assert span is None or (math.isfinite(span.mid) and span.low <= span.mid <= span.high)
    assert found.projection.remaining_s is None or found.projection.remaining_s.low >= 0
    what_if(found, max_tokens=64, eval_every=5, total_steps=80)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_hardly_any_rows(rows: int) -> None:
    run, _ = simulate(Plan(steps=50))
    found = analyse(replace(run, steps=run.steps.head(rows)), Facts(total_steps=50))
    assert found.headline
    assert rows == 0 or found.projection.too_early


def test_an_engine_log_alone() -> None:
    engine = schema.conform(pl.DataFrame({"kind": ["log"], "gen_tok_s": [900.0], "running": [4.0]}), schema.ENGINE)
    found = analyse(Run(RunInfo(name="server", format="vllm"), schema.empty(schema.STEPS), engine=engine))
    assert found.timing.gen_tok_s == 900.0
    assert found.projection.remaining_s is None
    assert "no training steps" in found.headline


def test_all_lengths_missing_or_wild() -> None:
    run, _ = simulate(Plan(steps=60))
    for value in (None, math.nan, math.inf, -1.0):
        wild = replace(
            run,
            steps=run.steps.with_columns(
                pl.lit(value, pl.Float64).alias("len_mean"), pl.lit(value, pl.Float64).alias("len_max")
            ),
        )
        assert analyse(wild).state == "finished"


def test_negative_and_zero_times_do_not_count() -> None:
    run, _ = simulate(Plan(steps=60), "step_s")
    wall = run.steps["step_s"].to_numpy().copy()
    wall[[3, 9]] = (-5.0, 0.0)
    found = analyse(replace(run, steps=run.steps.with_columns(pl.Series("step_s", wall))))
    assert found.clock.step_s is not None
    assert found.clock.step_s == pytest.approx(float(np.median(wall)), rel=0.1)
