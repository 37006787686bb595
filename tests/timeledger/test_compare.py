"""The ledger of a difference: exact, the same read backwards, and right about what changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate import Plan, simulate
from timeledger.analysis import analyse
from timeledger.compare import Ledger, Stretch, between, compare, difference, stretch, within
from timeledger.results import Analysis


def made(name: str, *shows: Any, **plan: Any) -> Analysis:
    run, _ = simulate(Plan(**plan), *(shows or ("stamps", "step_s")))
    return analyse(replace(run, info=run.info.model_copy(update={"name": name})))


def part(ledger: Ledger, name: str) -> float:
    return next((each.seconds for each in ledger.parts if each.part == name), 0.0)


def exact(ledger: Ledger) -> None:
    assert ledger.step_s is not None
    assert ledger.from_s is not None
    assert ledger.to_s is not None
    assert ledger.step_s == pytest.approx(ledger.to_s - ledger.from_s, abs=1e-9)
    assert abs(sum(each.seconds for each in ledger.parts) - ledger.step_s) < 1e-9
    assert len({each.part for each in ledger.parts}) == len(ledger.parts)


def plain(**more: Any) -> Stretch:
    """A stretch of 5 s fixed and 400 tokens x 64 sequences at 20 ms a token of the answer."""
    base: dict[str, Any] = {
        "name": "a", "first_step": 1, "last_step": 10, "fixed_s": 5.0, "variable_s": 8.0, "periodic_s": 0.0, "warmup_s": 0.0,
        "lost_s": 0.0, "length": 400.0, "length_kind": "mean", "sequences": 64.0,
    } | more  # fmt: skip
    own = ("fixed_s", "variable_s", "periodic_s", "warmup_s", "lost_s")
    return Stretch(step_s=sum(base[name] or 0.0 for name in own), **base)


# --- one thing changes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "name", "seconds", "verdict"),
    [
        ({"length": 800.0, "variable_s": 16.0}, "longer answers", 8.0, "longer answers"),
        ({"length": 200.0, "variable_s": 4.0}, "longer answers", -4.0, "shorter answers"),
        ({"variable_s": 12.0}, "seconds a token", 4.0, "slower machine"),
        ({"variable_s": 4.0}, "seconds a token", -4.0, "faster machine"),
        ({"fixed_s": 9.0}, "fixed overhead", 4.0, "slower machine"),
        ({"sequences": 128.0, "variable_s": 16.0}, "batch", 8.0, "other work"),
        ({"periodic_s": 3.0}, "evaluation and checkpoints", 3.0, "other work"),
        ({"lost_s": 3.0}, "lost time", 3.0, "other work"),
        ({"warmup_s": 3.0}, "warm-up", 3.0, "other work"),
    ],
)
def test_one_change_is_one_part(more: dict[str, Any], name: str, seconds: float, verdict: str) -> None:
    ledger = difference(plain(), plain(name="b", **more))
    exact(ledger)
    (only,) = [each for each in ledger.parts if abs(each.seconds) > 1e-9]
    assert only.part == name
    assert only.seconds == pytest.approx(seconds)
    assert ledger.parts[0].share == pytest.approx(1.0)
    assert ledger.verdict == verdict


def test_equal_steps_keep_the_pace() -> None:
    ledger = difference(plain(), plain(name="b"))
    assert (ledger.step_s, ledger.parts, ledger.verdict) == (0.0, (), "same pace")
    assert "keeps the pace" in ledger.sentence


def test_without_lengths_the_rest_is_not_explained() -> None:
    ledger = difference(plain(length=None), plain(name="b", length=None, variable_s=12.0))
    exact(ledger)
    assert [each.part for each in ledger.parts] == ["rest"]
    assert ledger.verdict == "unknown"
    assert ledger.why is not None


def test_a_fixed_part_that_one_side_cannot_tell_stays_in_its_step() -> None:
    ledger = difference(plain(fixed_s=None, variable_s=13.0), plain(name="b", length=800.0, variable_s=16.0))
    exact(ledger)
    assert part(ledger, "fixed overhead") == 0
    assert ledger.step_s == pytest.approx(8.0)


positive = st.floats(0.01, 1e4)
maybe = st.one_of(st.none(), positive)


@given(*[st.tuples(maybe, st.floats(0, 1e4), positive, positive, positive, maybe, maybe)] * 2)
@settings(max_examples=150, deadline=None)
def test_parts_add_up_and_read_the_same_backwards(one: tuple[Any, ...], two: tuple[Any, ...]) -> None:
    names = ("fixed_s", "variable_s", "periodic_s", "warmup_s", "lost_s", "length", "sequences")
    a, b = plain(**dict(zip(names, one, strict=True))), plain(name="b", **dict(zip(names, two, strict=True)))
    there, back = difference(a, b), difference(b, a)
    size = max(a.step_s, b.step_s)
    for ledger in (there, back):
        assert ledger.step_s is not None
        assert abs(sum(each.seconds for each in ledger.parts) - ledger.step_s) < 1e-9 * size + 1e-9
    for each in there.parts:
        assert part(back, each.part) == pytest.approx(-each.seconds, rel=1e-6, abs=1e-7 * size)


# --- runs with a truth -------------------------------------------------------------------------------------------


def test_within_a_run_longer_answers_are_told_from_a_slower_machine() -> None:
    grown = made("grown", steps=240, len_first=200, len_last=600, limit=4000, len_noise=0.25)
    ledger = within(grown)
    exact(ledger)
    assert ledger.verdict == "longer answers"
    assert part(ledger, "longer answers") == pytest.approx(ledger.step_s, rel=0.1)
    assert "by longer answers" in ledger.sentence


def test_within_a_run_a_slower_machine_is_told_from_longer_answers() -> None:
    run, _ = simulate(Plan(steps=240, len_noise=0.3), "step_s")
    slower = pl.when(pl.col("step") > 120).then(pl.col("step_s") * 1.5).otherwise(pl.col("step_s"))
    ledger = within(analyse(replace(run, steps=run.steps.with_columns(slower.alias("step_s")))))
    exact(ledger)
    assert ledger.verdict == "slower machine"
    assert ledger.step_s == pytest.approx(0.5 * ledger.from_s, rel=0.1)  # type: ignore[operator]


def test_within_a_steady_run_nothing_changes() -> None:
    ledger = within(made("flat", steps=200, eval_every=20, eval_s=30))
    exact(ledger)
    assert ledger.verdict == "same pace"


def test_within_three_steps_there_is_no_answer() -> None:
    ledger = within(made("short", steps=3))
    assert (ledger.step_s, ledger.parts, ledger.verdict) == (None, (), "unknown")
    assert ledger.why is not None


def test_between_runs_known_costs_come_back() -> None:
    """B's answers are twice as long, its fixed part 3 s larger, it evaluates, and it lost 200 s."""
    a = made("a", steps=200, len_first=200, len_last=200, limit=4000, len_noise=0.3, noise=0.01)
    b = made(
        "b", steps=200, len_first=400, len_last=400, limit=4000, len_noise=0.3, noise=0.01, fixed_s=8, eval_every=20, eval_s=40,
        pauses=((100, 400.0),),
    )  # fmt: skip
    ledger = between(a, b)
    exact(ledger)
    assert part(ledger, "longer answers") == pytest.approx(8.0, rel=0.1)
    assert part(ledger, "fixed overhead") == pytest.approx(3.0, abs=0.5)
    assert part(ledger, "evaluation and checkpoints") == pytest.approx(40 * 9 / 200, rel=0.1)
    assert part(ledger, "lost time") == pytest.approx(2.0, rel=0.05)
    assert abs(part(ledger, "seconds a token")) < 0.5


def test_a_run_without_time_cannot_be_compared_and_says_so() -> None:
    run, _ = simulate(Plan(steps=30))
    silent = analyse(replace(run, steps=run.steps.with_columns(pl.lit(None, pl.Datetime("us", "UTC")).alias("at"))))
    ledger = between(made("a", steps=30), silent)
    assert (ledger.step_s, ledger.parts) == (None, ())
    assert "simulated" in ledger.sentence


def test_a_stretch_is_its_parts() -> None:
    analysis = made("a", "bar", steps=200, eval_every=25, eval_s=40, pauses=((90, 700.0),), warmup=(6.0,))
    for found in (stretch(analysis), stretch(analysis, "late", 101, 200)):
        assert found is not None
        parts = (found.fixed_s or 0) + found.variable_s + found.periodic_s + found.warmup_s + found.lost_s
        assert parts == pytest.approx(found.step_s, rel=1e-9)
    whole = stretch(analysis)
    assert whole is not None
    assert whole.lost_s == pytest.approx(3.5, rel=0.02)
    assert whole.periodic_s == pytest.approx(40 * 8 / 200, rel=0.1)


# --- several runs ------------------------------------------------------------------------------------------------


def test_runs_side_by_side_are_on_the_same_scales() -> None:
    a, b = made("a", steps=100, noise=0.0), made("b", "bar", steps=60, fixed_s=10, noise=0.0)
    found = compare([a, b])
    assert [each.a + each.b for each in found.differences] == ["ab"]
    first, second = found.table.rows(named=True)
    assert (first["run"], first["steps"], second["steps"]) == ("a", 100, 60)
    assert first["steps_per_hour"] == pytest.approx(3600 / first["step_s"])
    assert first["s_per_sample"] == pytest.approx(first["step_s"] / 64)
    assert first["s_per_1k_tokens"] == pytest.approx(1000 * first["step_s"] / (64 * 200), rel=0.02)
    assert second["now_s"] > first["now_s"]
    whole = found.profiles.group_by("run").agg(pl.col("share").sum())
    assert whole["share"].to_list() == pytest.approx([1.0, 1.0])
    curve = found.curves.filter(pl.col("run") == "a")
    assert curve["tokens"][-1] == pytest.approx(100 * 64 * 200, rel=0.05)
    assert curve["active_h"][-1] == pytest.approx(a.clock.elapsed_s / 3600)  # type: ignore[operator]


def test_equal_names_are_told_apart() -> None:
    ledger = between(made("same", steps=40), made("same", steps=40, fixed_s=9))
    assert (ledger.a, ledger.b) == ("same (1)", "same (2)")


def test_nothing_to_compare_is_an_empty_comparison() -> None:
    found = compare([])
    assert (found.table.height, found.differences) == (0, ())
