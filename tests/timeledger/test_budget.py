"""The budget solver: the lesson's order, its floors, its numbers; and what must hold for every plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeledger.answers import Answers, answers
from timeledger.budget import ORDER, Budget, solve
from timeledger.budget_words import silent_groups, standard_error
from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import FRAMEWORKS, find_framework
from timeledger.most import most_within, runs_within
from timeledger.plan import PlanInputs, estimate, plan_inputs, total_s

#: The lesson's long case: 200 steps that take 8 hours, and an evaluation of 1,319 questions at the end.
EIGHT_HOURS = plan_inputs(
    {"steps": 200, "prompts": 32, "group_size": 16, "mean_length": 700, "gen_tok_s": 3180, "train_tok_s": 14_000,
     "fixed_s": 5, "eval_questions": 1319, "eval_s": 480, "accuracy": 0.6, "max_tokens": 4096, "truncated": 0.004}
)  # fmt: skip
#: One run of the lesson's measured step, 33.6 s.
MEASURED = PlanInputs(fixed_s=33.6 - 25_600 / 3000 - 25_600 / 9000)


def test_the_case_takes_eight_hours() -> None:
    assert total_s(EIGHT_HOURS) / 3600 == pytest.approx(8, abs=0.5)


def test_three_hours_cut_steps_to_80_first() -> None:
    found = solve(EIGHT_HOURS, 3)
    assert found.fits
    first = found.cuts[0]
    assert (first.what, first.before, first.after) == ("steps", 200, 80)
    assert [cut.what for cut in found.cuts][:2] == ["steps", "data"]
    assert total_s(found.plan.inputs) <= 3 * 3600


def test_it_stops_as_soon_as_it_fits() -> None:
    assert solve(EIGHT_HOURS, 9).cuts == ()
    five = solve(EIGHT_HOURS, 5)
    assert [cut.what for cut in five.cuts] == ["steps"]
    more = five.plan.inputs.model_copy(update={"steps": five.plan.inputs.steps + 1})
    assert total_s(more) > 5 * 3600


def test_evaluation_goes_last_from_1319_to_300_questions() -> None:
    every = EIGHT_HOURS.model_copy(update={"eval_every": 10})
    found = solve(every, 0.5)
    last = found.cuts[-1]
    assert (last.what, last.before, last.after) == ("eval_questions", 1319, 300)
    assert "1.3 -> 2.8 points" in last.effect
    assert "±5.5" in last.effect
    assert not found.fits


def test_the_lessons_standard_error() -> None:
    assert 100 * standard_error(0.6, 300) == pytest.approx(2.83, abs=0.01)
    assert 196 * standard_error(0.6, 300) == pytest.approx(5.54, abs=0.01)


def test_silent_groups_and_the_baselines_variance_are_told() -> None:
    assert silent_groups(0.5, 4) == pytest.approx(2 / 16)
    assert silent_groups(0.9, 8) == pytest.approx(0.9**8 + 0.1**8)
    found = solve(EIGHT_HOURS, 0.8)
    group = next(cut for cut in found.cuts if cut.what == "group_size")
    assert "variance grows 4x" in group.effect
    assert "16 % of the groups" in group.effect


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"truncated": None}, "not known: measure"),
        ({"truncated": 0.05}, "5 % of the answers are cut already"),
        ({"max_tokens": None}, "limit is not known"),
    ],
)
def test_the_truncation_gate(changes: dict[str, Any], why: str) -> None:
    found = solve(EIGHT_HOURS.model_copy(update=changes), 1)
    assert why in found.kept["max_tokens"]
    assert "max_tokens" not in {cut.what for cut in found.cuts}


def test_a_tighter_limit_pays_where_the_longest_answer_does() -> None:
    tail = EIGHT_HOURS.model_copy(update={"longest": 4000.0, "single_tok_s": 25.0, "truncated": 0.002})
    found = solve(tail, 1.5)
    limit = next(cut for cut in found.cuts if cut.what == "max_tokens")
    spread = answers(tail)
    assert limit.after < limit.before
    assert spread.share_above(limit.after) <= 0.0201
    assert limit.saves_s > 600


def test_what_does_not_fit_says_what_would() -> None:
    found = solve(EIGHT_HOURS, 0.25)
    assert not found.fits
    assert found.nearest is not None
    assert found.nearest.hours == pytest.approx(found.after_s / 3600)
    assert found.nearest.steps is not None
    assert total_s(found.plan.inputs.model_copy(update={"steps": found.nearest.steps})) <= 900
    assert found.nearest.steps_uncut is not None
    assert total_s(EIGHT_HOURS.model_copy(update={"steps": found.nearest.steps_uncut})) <= 900
    seconds = solve(EIGHT_HOURS, 1e-4)
    assert seconds.nearest is not None
    assert seconds.nearest.steps is None


def test_the_upper_end_fits_when_asked_to_be_sure() -> None:
    found = solve(EIGHT_HOURS, 5, sure=True)
    assert found.fits
    assert estimate(found.plan.inputs).total_s.high <= 5 * 3600 * 1.001


@pytest.mark.parametrize("hours", [0, -1, float("nan"), float("inf")])
def test_no_hours_are_refused(hours: float) -> None:
    with pytest.raises(ImpossiblePlan, match="hours"):
        solve(PlanInputs(), hours)


def test_an_unknown_pin_is_refused() -> None:
    with pytest.raises(ImpossiblePlan, match="pin"):
        solve(PlanInputs(), 1, ["colour"])


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("trl", {"max_steps": "80", "num_generations": "16"}),
        ("verl", {"trainer.total_training_steps": "80", "actor_rollout_ref.rollout.n": "16"}),
        ("openrlhf", {"--rollout.n_samples_per_prompt": "16", "--data.max_samples": "1600"}),
        ("ms-swift", {"--max_steps": "80"}),
        ("unsloth", {"max_steps": "80", "max_completion_length": "4096"}),
    ],
)
def test_settings_are_the_frameworks(key: str, wanted: dict[str, str]) -> None:
    found = solve(EIGHT_HOURS.model_copy(update={"prompts": 20, "steps": 80}), 100, framework=FRAMEWORKS[key])
    assert wanted.items() <= found.settings.items()


def test_frameworks_are_found_by_what_logs_call_them() -> None:
    names = {
        "TRL 1.16.0": "trl",
        "verl": "verl",
        "OpenRLHF": "openrlhf",
        "ms-swift 3.9": "ms-swift",
        "Unsloth 2026.4": "unsloth",
    }
    for name, key in names.items():
        framework = find_framework(name)
        assert framework is not None
        assert framework.key == key
    assert find_framework("a loop of my own") is None
    assert find_framework(None) is None


# --- what holds for every plan ---------------------------------------------------------------------------------

PLANS = st.builds(
    lambda prompts, group, length, gen, train, fixed, steps, questions, cut, tail: plan_inputs(
        {
            "prompts": prompts,
            "group_size": group,
            "mean_length": length,
            "gen_tok_s": gen,
            "train_tok_s": train,
            "fixed_s": fixed,
            "steps": steps,
            "eval_questions": questions,
            "max_tokens": int(length * 6) + 1,
            "truncated": cut,
            "longest": length * 4 if tail else None,
            "single_tok_s": 40 if tail else None,
        }
    ),
    st.integers(1, 256),
    st.integers(1, 64),
    st.floats(10, 5000),
    st.floats(100, 50_000),
    st.floats(100, 50_000),
    st.floats(0, 60),
    st.integers(1, 3000),
    st.none() | st.integers(1, 5000),
    st.none() | st.sampled_from([0.0, 0.003, 0.2]),
    st.booleans(),
)


def values(found: Budget) -> tuple[int, int, int, int, int]:
    end = found.plan.inputs
    return end.steps, end.prompts, end.max_tokens or 0, end.group_size, end.eval_questions or 0


@given(inputs=PLANS, share=st.floats(0.01, 1.2), more=st.floats(1, 3))
def test_more_hours_never_give_a_smaller_run(inputs: PlanInputs, share: float, more: float) -> None:
    hours = share * total_s(inputs) / 3600
    less, longer = solve(inputs, hours), solve(inputs, hours * more)
    assert all(a <= b for a, b in zip(values(less), values(longer), strict=True))
    assert longer.fits or not less.fits


@given(inputs=PLANS, share=st.floats(0.01, 1.2))
def test_every_answer_repriced_fits_and_keeps_the_floors(inputs: PlanInputs, share: float) -> None:
    hours = share * total_s(inputs) / 3600
    found = solve(inputs, hours)
    assert found.after_s == pytest.approx(total_s(found.plan.inputs))
    assert found.after_s == pytest.approx(found.before_s - sum(cut.saves_s for cut in found.cuts))
    assert found.fits == (total_s(found.plan.inputs) <= hours * 3600)
    assert found.plan.inputs.group_size >= min(4, inputs.group_size)
    assert all(cut.saves_s > 0 and cut.after < cut.before for cut in found.cuts)


@given(inputs=PLANS, share=st.floats(0.01, 1.0))
def test_the_order_is_never_violated(inputs: PlanInputs, share: float) -> None:
    hours = share * total_s(inputs) / 3600
    found = solve(inputs, hours)
    order = [ORDER.index(cut.what) for cut in found.cuts]
    assert order == sorted(set(order))
    for at, cut in enumerate(found.cuts[:-1]):
        # A later lever is touched only when this one is at its floor: a run with far fewer hours cuts it no further.
        least = solve(inputs, hours / 50)
        assert cut.after == next(each.after for each in least.cuts if each.what == cut.what), (at, cut.what)


@given(inputs=PLANS, share=st.floats(0.01, 0.9), pins=st.sets(st.sampled_from(ORDER)))
def test_pinned_values_are_kept(inputs: PlanInputs, share: float, pins: set[str]) -> None:
    found = solve(inputs, share * total_s(inputs) / 3600, pins)
    assert not {cut.what for cut in found.cuts} & pins
    end = found.plan.inputs
    for what in pins - {"data"}:
        assert getattr(end, what) == getattr(inputs, what)
    if "data" in pins:
        assert end.prompts == inputs.prompts


# --- the other way round ---------------------------------------------------------------------------------------


def test_the_most_within_three_hours() -> None:
    found = {each.what: each.most for each in most_within(PlanInputs(), 3)}
    assert found["steps"] == 659
    most_g = found["group size G"]
    assert most_g is not None
    assert total_s(PlanInputs(group_size=most_g)) <= 3 * 3600 < total_s(PlanInputs(group_size=most_g + 1))


def test_a_weekend_of_two_days_of_six_hours() -> None:
    found = runs_within(MEASURED, 2, 6)
    assert found.run_s == pytest.approx(112 * 60)
    assert (found.a_day, found.runs) == (3, 6)
    long = runs_within(MEASURED.model_copy(update={"steps": 800}), 2, 6)
    assert (long.a_day, long.runs, long.through) == (0, 0, 1)
    with pytest.raises(ImpossiblePlan, match="days"):
        runs_within(MEASURED, 0, 6)


@given(mean=st.floats(10, 5000), sigma=st.floats(0.05, 1.5), more=st.floats(1.01, 20))
def test_answers_under_a_limit(mean: float, sigma: float, more: float) -> None:
    spread = Answers(mean, sigma, "made")
    limit = mean * more
    assert 0 <= spread.share_above(limit) <= 1
    assert spread.mean_under(limit) <= mean * (1 + 1e-9)
    assert spread.mean_under(limit) <= limit
    assert spread.share_above(spread.quantile(0.98)) == pytest.approx(0.02)


def test_the_spread_of_answers_comes_from_what_is_known() -> None:
    cut = answers(plan_inputs({"mean_length": 400, "max_tokens": 1600, "truncated": 0.01}))
    assert cut.share_above(1600) == pytest.approx(0.01, rel=0.01)
    longest = answers(plan_inputs({"mean_length": 400, "longest": 1200}))
    assert longest.quantile(64 / 65) == pytest.approx(1200, rel=0.01)
    assert answers(PlanInputs()).known_from == "assumed"
