"""Charts: right values in them, no more points than asked, hostile names inert, and nothing drawn from nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dashboard import charts, charts_compare, charts_finish, charts_health, charts_run
from dashboard.theme import DARK, LIGHT
from tests.dashboard.synthetic import analysis
from timeledger import schema
from timeledger.compare import compare
from timeledger.palette import LOOKS
from timeledger.plan import PlanInputs, estimate

MODES = pytest.mark.parametrize("dark", [False, True])


def test_thinning_keeps_every_spike_and_both_ends() -> None:
    values = np.zeros(100_000)
    values[[137, 50_001, 99_990]] = (9.0, -7.0, 4.0)
    kept = charts.thin(len(values), values, limit=2000)
    assert len(kept) <= 2000
    assert {0, 137, 50_001, 99_990, 99_999} <= set(kept.tolist())


def test_thinning_lets_short_series_alone_and_survives_gaps() -> None:
    assert charts.thin(5, np.arange(5.0)).tolist() == [0, 1, 2, 3, 4]
    gaps = np.full(10_000, np.nan)
    gaps[4321] = 1.0
    assert 4321 in charts.thin(len(gaps), gaps, limit=100)


@MODES
def test_profile_adds_up_to_the_step(dark: bool) -> None:
    run = analysis(40)
    figure = charts_run.profile(run, "seconds", dark)
    assert figure is not None
    bars = [trace for trace in figure.data if trace.type == "bar"]
    total = np.sum([np.nan_to_num(trace.y) for trace in bars], axis=0)
    assert total == pytest.approx(run.clock.steps["wall_s"].to_numpy())


def test_profile_as_shares_is_always_a_hundred() -> None:
    table = charts_run.profile_table(analysis(40), "share of a step")
    assert table.select(pl.sum_horizontal(pl.exclude("step"))).to_series().to_list() == pytest.approx([100.0] * 40)


def test_profile_per_thousand_tokens_divides_by_answer_tokens() -> None:
    run = analysis(40)
    table = charts_run.profile_table(run, "seconds per 1,000 tokens")
    first = run.run.steps.row(0, named=True)
    seconds = run.clock.steps["wall_s"][0]
    got = sum(value for name, value in table.row(0, named=True).items() if name != "step")
    assert got == pytest.approx(seconds / (first["len_mean"] * 64) * 1000)


def test_a_long_run_sends_few_points_and_keeps_the_slowest_step() -> None:
    run = analysis(20_000, 30_000)
    slow = run.breakdown.by_step.with_columns(
        pl.when(pl.col("step") == 7777).then(pl.col("seconds") * 50).otherwise(pl.col("seconds")).alias("seconds")
    )
    run = replace(run, breakdown=replace(run.breakdown, by_step=slow))
    figure = charts_run.profile(run, "seconds", False)
    assert figure is not None
    assert all(len(trace.x) <= charts.MAX_POINTS for trace in figure.data)
    assert 7777 in figure.data[0].x
    for other in (
        charts_finish.fan(run, False),
        charts_run.lengths(run.run.steps, run.growth, False),
        charts_run.step_cost(run.timing, False),
    ):
        assert other is not None
        assert all(len(trace.x) <= 2 * charts.MAX_POINTS for trace in other.data)
        assert len(other.to_json()) < 600_000


def test_events_are_marked_where_they_happened() -> None:
    seen = charts_run.marks(analysis(80))
    assert seen.filter(pl.col("mark") == "evaluation")["step"].to_list() == [25, 50, 75]
    assert seen.filter(pl.col("mark") == "checkpoint")["step"].to_list() == [40, 80]


def test_fan_ends_where_the_projection_says() -> None:
    run = analysis()
    figure = charts_finish.fan(run, False)
    assert figure is not None
    assert run.projection.total_s is not None
    middle = next(trace for trace in figure.data if trace.name == "most likely")
    scale, unit = charts.time_scale(2 * 3600)
    assert unit == "hours"
    assert middle.y[-1] * scale == pytest.approx(run.projection.total_s.mid)


def test_too_early_draws_the_range_without_a_middle() -> None:
    figure = charts_finish.fan(analysis(3), False)
    assert figure is not None
    names = {trace.name for trace in figure.data}
    assert "most likely" not in names
    assert "80 % interval" in names


def test_the_fitted_line_starts_at_the_fixed_part() -> None:
    figure = charts_run.step_cost(analysis().timing, False)
    assert figure is not None
    line = next(trace for trace in figure.data if trace.name.startswith("fitted"))
    assert (line.x[0], line.y[0]) == (0.0, 5.0)


@MODES
def test_health_shows_only_what_is_logged(dark: bool) -> None:
    steps = analysis().run.steps
    figure = charts_health.health(steps, dark)
    assert figure is not None
    assert {trace.name for trace in figure.data} == {sign.label for sign in charts_health.present(steps)}
    assert {sign.column for sign in charts_health.absent(steps)} == {"reward_std", "entropy"}


def test_engine_panels_show_what_was_sampled() -> None:
    rows = {"line": [1, 2, 3], "kind": ["log"] * 3, "gen_tok_s": [10.0, 20.0, 15.0], "kv_cache": [0.5, 1.0, 0.9]}
    figure = charts_health.engine(schema.conform(pl.DataFrame(rows), schema.ENGINE), False)
    assert figure is not None
    assert {trace.name: list(trace.y) for trace in figure.data} == {
        "generated": [10.0, 20.0, 15.0],
        "KV cache": [50.0, 100.0, 90.0],
    }


def test_nothing_is_drawn_from_nothing() -> None:
    empty = analysis(0, None)
    assert charts_run.profile(empty, "seconds", False) is None
    assert charts_finish.fan(empty, False) is None
    assert charts_run.step_cost(empty.timing, False) is None
    assert charts_run.lengths(schema.empty(schema.STEPS), empty.growth, False) is None
    assert charts_health.health(schema.empty(schema.STEPS), False) is None
    assert charts_health.engine(schema.empty(schema.ENGINE), False) is None
    assert charts_compare.curves(compare([empty]), "reward", "step", False) is None
    assert charts_compare.profiles(compare([empty]), "per step", False) is None


@pytest.mark.parametrize("count", [1, 2, 3])
@MODES
def test_a_handful_of_steps_is_drawn(count: int, dark: bool) -> None:
    run = analysis(count)
    assert charts_run.profile(run, "seconds", dark) is not None
    assert charts_run.lengths(run.run.steps, run.growth, dark) is not None
    assert charts_health.health(run.run.steps, dark) is not None


def test_hostile_names_reach_plotly_without_tags() -> None:
    name = '<img src=x onerror=alert(1)> <a href="https://evil">'
    figure = charts_compare.profiles(compare([analysis(name=name)]), "per step", False)
    assert figure is not None
    assert "<" not in json.dumps(list(figure.data[0].y))


def test_the_waterfall_adds_up() -> None:
    parts = [("longer answers", 4.0), ("throughput", -1.5)]
    figure = charts_compare.waterfall("a", "b", 20.0, parts, False)
    bar = figure.data[0]
    assert sum(bar.x) == pytest.approx(22.5)
    assert figure.data[1].text[-1].strip() == "22.5 s"


def test_runs_of_the_same_name_keep_both_ends_of_the_waterfall() -> None:
    assert len(set(charts_compare.waterfall("a", "a", 1.0, [("x", 1.0)], False).data[0].y)) == 3


def test_plan_bars_are_the_lessons_parts() -> None:
    figure = charts_compare.plan_step(estimate(PlanInputs()), None, False)
    told = {trace.name: trace.text[0] for trace in figure.data}
    assert told == {"Sampling": "52 %", "Forward-backward": "17 %", "Fixed overhead": "31 %"}


def test_profiles_add_up_to_each_runs_step() -> None:
    told = compare([analysis(40, name="a"), analysis(60, name="b")])
    figure = charts_compare.profiles(told, "per step", False)
    assert figure is not None
    total = np.sum([np.nan_to_num(np.array(trace.x, dtype=float)) for trace in figure.data], axis=0)
    assert total == pytest.approx(told.table["step_s"].to_list())


def test_a_run_without_a_split_is_one_outlined_bar() -> None:
    told = compare([analysis(40, name="a"), analysis(40, name="b", phases=False)])
    figure = charts_compare.profiles(told, "per step", False)
    assert figure is not None
    bar = next(trace for trace in figure.data if trace.name == "not split")
    assert list(bar.x) == [None, pytest.approx(told.table["step_s"][1])]
    assert bar.marker.color == "rgba(0,0,0,0)"


@pytest.mark.parametrize("over", list(charts_compare.OVER))
def test_curves_hold_the_logged_values(over: str) -> None:
    told = compare([analysis(40, name="a")])
    figure = charts_compare.curves(told, "acc", over, True)
    assert figure is not None
    assert figure.data[0].y == pytest.approx(told.analyses[0].run.steps["acc"].to_numpy())
    assert np.all(np.diff(figure.data[0].x) > 0)


LONG = "grpo-qwen2.5-7b-instruct-deepscaler-lr1e-6-kl0.001-seed"


def test_long_names_stay_unlike_when_they_are_shortened() -> None:
    short = charts.distinct([f"{LONG}41", f"{LONG}42", "b", f"{LONG}42"], 30)
    assert len(set(short)) == 4
    assert all(len(each) <= 34 for each in short)
    assert short[0].endswith("41")
    assert short[2] == "b"


def test_runs_with_long_names_keep_a_bar_each_and_their_own_length() -> None:
    """Two bars under one name would be stacked: a wrong time, told with confidence."""
    runs = (analysis(40, name=f"{LONG}41"), analysis(40, name=f"{LONG}42", seed=5))
    figure = charts_compare.profiles(compare(runs), "per step", dark=False)
    assert figure is not None
    assert all(len(set(trace.y)) == 2 for trace in figure.data)


def test_a_line_breaks_where_a_resumed_run_goes_back() -> None:
    x, y = charts.broken(np.array([1, 2, 3, 2, 3]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert x.tolist() == [1, 2, 3, 2, 2, 3]
    assert np.isnan(y).tolist() == [False, False, False, True, False, False]


@MODES
def test_a_log_without_phases_shows_how_long_each_step_takes(dark: bool) -> None:
    run = analysis(40, phases=False)
    assert not charts_run.is_split(run)
    assert charts_run.is_split(analysis(40))
    figure = charts_run.step_times(run, dark)
    assert figure is not None
    assert figure.data[0].y == pytest.approx(run.clock.steps["wall_s"].to_numpy(), rel=1e-6)
    assert {"each step", "running median"} <= {trace.name for trace in figure.data}


def test_a_step_of_a_long_run_is_flat_over_its_own_width() -> None:
    figure = charts_run.profile(analysis(200, 400), "seconds", dark=False)
    assert figure is not None
    assert {trace.line.shape for trace in figure.data if trace.stackgroup} == {"hvh"}


def test_whole_runs_and_saved_time_have_colours_that_no_phase_has() -> None:
    phases = {look.colour(dark) for look in LOOKS.values() for dark in (False, True)}
    for theme in (LIGHT, DARK):
        assert not {theme.whole, theme.less} & phases


def test_a_short_band_has_no_markers() -> None:
    figure = charts.blank(False)
    charts.add_band(figure, np.arange(3.0), np.zeros(3), np.ones(3), "#123456", "interval")
    assert figure.data[0].mode == "lines"


def test_one_huge_step_does_not_flatten_the_others() -> None:
    run = analysis(60)
    frame = run.breakdown.by_step
    step = frame["step"].max()
    last = pl.DataFrame({"step": [step], "phase": ["evaluation"], "seconds": [5000.0], "kind": ["measured"]})
    last = last.select([pl.col(name).cast(frame.schema[name]) for name in frame.columns])
    huge = replace(run, breakdown=replace(run.breakdown, by_step=pl.concat([frame, last])))
    figure = charts_run.profile(huge, charts_run.UNITS[0], dark=False)
    assert figure is not None
    usual = frame.group_by("step").agg(pl.col("seconds").sum())["seconds"].max()
    assert isinstance(usual, float)
    assert usual < figure.layout.yaxis.range[1] < 2 * usual
    assert [note.text for note in figure.layout.annotations] == ["↑ 1 h 24 m"]
    whole = charts_run.profile(run, charts_run.UNITS[0], dark=False)
    assert whole is not None
    assert whole.layout.yaxis.range is None


def test_an_axis_is_cut_only_where_few_values_are_huge() -> None:
    flat = np.ones(100)
    assert charts.crown(flat) is None
    assert charts.crown(np.r_[flat, 50.0]) == pytest.approx(1.4)
    assert charts.crown(np.r_[flat, np.full(20, 50.0)]) is None, "one step in six is an evaluation: they are shown"
    assert charts.crown(np.array([1.0, 1.0, 50.0])) is None
    assert charts.crown(np.zeros(30)) is None
