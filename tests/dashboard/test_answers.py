"""Advice, budget and comparison on the page: what is ticked moves the finish, cuts reach the budget, parts add up."""

from __future__ import annotations

from datetime import UTC

import polars as pl
import pytest

from dashboard import advising, budgeting, charts_budget, charts_compare, language, summary, tables
from dashboard.language import retold
from tests.dashboard.synthetic import analysis
from timeledger.advice import TIERS, Advice
from timeledger.budget import ORDER, solve
from timeledger.compare import compare
from timeledger.plan import PlanInputs, estimate
from timeledger.results import Span


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.state.zone", lambda: UTC)


def advice(rule: str, part: str, share: float, tier: int = 1) -> Advice:
    span = Span(share / 2, share, share * 1.2)
    return Advice(
        rule, tier, f"Do {rule}", "because", None, "the remaining run", share, share, "high", "none", {rule: "1 -> 2"}, {}, "", "", {part: span}
    )  # fmt: skip


def test_every_tier_has_its_heading_and_every_lever_its_name() -> None:
    assert set(advising.TIERS) == set(TIERS)
    assert set(budgeting.LEVERS) == set(ORDER)


def test_ticked_advice_moves_the_finish_earlier() -> None:
    run = analysis()
    before, after, saves = advising.finishes(run, [], [advice("a", "rollout", 0.5)])
    assert before == summary.finish(run, UTC)
    assert after.title == "With what is ticked"
    assert after.value < before.value  # both are "today hh:mm"
    left = run.projection.remaining_s
    assert left is not None
    assert saves.value == f"{left.mid * 0.62 * 0.5 / 60:.0f} m" or saves.value.split(" m")[0] == str(
        int(left.mid * 0.62 * 0.5 // 60)
    )


def test_two_changes_of_one_part_are_not_added() -> None:
    run = analysis()
    one = advising.finishes(run, [], [advice("a", "rollout", 0.5)])[2].value
    both = advising.finishes(run, [], [advice("a", "rollout", 0.5), advice("b", "rollout", 0.5)])[2].value
    assert one != both
    minutes = [
        int(each.split(" m")[0])
        if " h" not in each
        else 60 * int(each.split(" h")[0]) + int(each.split(" h ")[1].split(" m")[0])
        for each in (one, both)
    ]
    assert minutes[1] == pytest.approx(1.5 * minutes[0], abs=2)


def test_without_a_tick_all_that_is_free_is_shown() -> None:
    found = [advice("a", "rollout", 0.3), advice("b", "update", 0.5, tier=3)]
    cards = advising.finishes(analysis(), found, [])
    assert cards[1].title == "With all that is free"
    assert cards[1:] != advising.finishes(analysis(), [], found)[1:]
    assert len(advising.finishes(analysis(), [], [])) == 1


def test_settings_to_copy_are_the_new_values() -> None:
    assert (
        advising.settings([advice("a", "rollout", 0.1), advice("b", "rollout", 0.1), advice("a", "rollout", 0.1)])
        == "a=2\nb=2"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_the_staircase_ends_at_or_below_the_budget(dark: bool) -> None:
    found = solve(PlanInputs(steps=2000), 3.0)
    figure = charts_budget.staircase(found, dark)
    left, cut = figure.data
    assert left.x[0] == pytest.approx(estimate(PlanInputs(steps=2000)).total_s.mid / 3600)
    assert left.x[-1] == pytest.approx(found.after_s / 3600)
    assert left.x[-1] <= 3.0
    for at in range(1, len(left.x)):
        assert left.x[at] + cut.x[at] == pytest.approx(left.x[at - 1])


def test_a_plan_that_fits_says_how_much_would() -> None:
    inputs = PlanInputs()
    cards = budgeting.cards(inputs, solve(inputs, 3.0))
    assert cards[1].value == "659 steps"  # the lesson's defaults: 16.38 s a step


@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_cut_has_its_price_in_words(code: str) -> None:
    language.speak(code)
    found = solve(PlanInputs(steps=2000, max_tokens=4096, truncated=0.0, accuracy=0.5), 0.5)
    assert len(found.cuts) >= 3
    for cut in found.cuts:
        assert retold(cut.effect)


def test_an_hour_on_the_wall_is_sixty_minutes() -> None:
    told = charts_compare.profiled(compare([analysis(40, name="a"), analysis(60, name="b")]))
    minutes = told.group_by("run").agg(pl.col("per_hour").sum())["per_hour"].to_list()
    assert minutes == pytest.approx([60.0, 60.0])


def test_lost_time_is_part_of_the_hour() -> None:
    made = compare([analysis(40, name="a")])
    table = made.table.with_columns(lost_s=pl.lit(600.0), elapsed_s=pl.lit(3600.0))
    told = charts_compare.profiled(type(made)(made.analyses, table, made.profiles, made.curves, made.differences))
    lost = told.filter(pl.col("phase") == "lost time")["per_hour"].to_list()
    assert lost == pytest.approx([10.0])
    assert told["per_hour"].sum() == pytest.approx(60.0)


def test_twelve_runs_side_by_side() -> None:
    runs = [analysis(30, name=f"run {each}", seed=each) for each in range(12)]
    told = compare(runs)
    figure = charts_compare.curves(told, "reward", "active_h", False)
    assert figure is not None
    assert len(figure.data) == 12
    assert len({(trace.line.color, trace.line.dash) for trace in figure.data}) == 12


def test_tables_reach_streamlit_as_they_are() -> None:
    table = tables._arrow([{"a": "x", "b": [1.0], "c": None}, {"a": "y", "b": [], "c": None}])
    assert table.to_pydict() == {"a": ["x", "y"], "b": [[1.0], []], "c": [None, None]}
    assert {str(each.type) for each in table.schema} == {"string", "list<item: double>"}
