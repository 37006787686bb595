"""The smoke ladder and the account of the lesson's experiment."""

from __future__ import annotations

import pytest

from timeledger.account import AccountInputs, account, account_inputs
from timeledger.account_page import to_html, to_markdown
from timeledger.errors import ImpossiblePlan
from timeledger.frameworks import FRAMEWORKS
from timeledger.ladder import ladder
from timeledger.plan import PlanInputs, plan_inputs

#: The lesson's training: 200 steps of 33.6 s, then 1,319 questions of 152 tokens.
L2 = plan_inputs(
    {"fixed_s": 33.6 - 25_600 / 3000 - 25_600 / 9000, "eval_questions": 1319, "eval_length": 152, "eval_s": 8 * 60}
)


def minutes(found_at: str, inputs: PlanInputs = L2) -> float:
    return next(item.seconds.mid for item in account(inputs).items if item.name == found_at) / 60


def test_the_lessons_smoke_tests_take_25_minutes() -> None:
    found = ladder(L2)
    assert [rung.steps for rung in found.rungs] == [2, 10, 20, 200]
    assert found.smoke_s / 60 == pytest.approx(25, abs=0.5)


def test_the_lessons_account() -> None:
    assert minutes("Environment") == 60
    assert minutes("Model and data") == 10
    assert minutes("Throughput baseline") == 15
    assert minutes("Smoke tests") == pytest.approx(25, abs=0.5)
    assert minutes("The run") == pytest.approx(112)  # 1 h 52 m
    assert minutes("Evaluation") == pytest.approx(8)
    found = account(L2)
    assert found.experiment_s.mid / 3600 == pytest.approx(2.5, abs=0.1)
    assert found.desk_s.low == 2 * 3600
    assert found.desk_s.high == 4 * 3600


def test_evaluation_from_questions_and_throughput() -> None:
    priced = L2.model_copy(update={"eval_s": None, "gen_tok_s": 418.0})
    assert minutes("Evaluation", priced) == pytest.approx(8, abs=0.05)


def test_money_is_hours_times_price_and_energy_hours_times_watts() -> None:
    rented = L2.model_copy(update={"gpus": 2, "price_per_gpu_hour": 3.5, "currency": "CNY"})
    found = account(rented, AccountInputs(watts=400))
    assert found.gpu_hours is not None
    assert found.money is not None
    assert found.cost is not None
    assert found.gpu_hours.mid == pytest.approx(2 * found.total_s.mid / 3600)
    assert found.cost.money == pytest.approx(3.5 * found.gpu_hours.mid)
    assert found.money.low < found.money.mid < found.money.high
    assert found.energy_kwh == pytest.approx(found.gpu_hours.mid * 0.4)
    assert account(L2).gpu_hours is None


def test_runs_and_reruns_multiply_what_comes_each_time_only() -> None:
    one, three = account(L2), account(L2, AccountInputs(runs=3))
    assert three.total_s.mid - one.total_s.mid == pytest.approx(2 * one.experiment_s.mid)
    again = account(L2, AccountInputs(reruns=1, debug_s=600))
    assert again.total_s.mid - one.total_s.mid == pytest.approx(112 * 60 + 8 * 60 + 600)
    assert not again.hints or "re-runs" not in " ".join(again.hints)


@pytest.mark.parametrize(
    ("values", "named"), [({"runs": 0}, "runs"), ({"setup_s": -1}, "setup"), ({"watts": float("nan")}, "watts")]
)
def test_nonsense_is_named(values: dict[str, float | int | None], named: str) -> None:
    with pytest.raises(ImpossiblePlan, match=named):
        account_inputs(values)


@pytest.mark.parametrize(
    ("key", "command"),
    [
        ("trl", 'GRPOConfig(max_steps=2, logging_steps=1, save_strategy="no", eval_strategy="no", ...)'),
        ("verl", "trainer.total_training_steps=2 trainer.val_before_train=False"),
        ("openrlhf", "--data.max_samples 16 "),
        ("ms-swift", "swift rlhf --rlhf_type grpo --max_steps 2 "),
        ("unsloth", "max_steps=2"),
    ],
)
def test_the_first_rungs_command_is_the_frameworks(key: str, command: str) -> None:
    first = ladder(L2, FRAMEWORKS[key]).rungs[0].command
    assert first is not None
    assert command in first


def test_a_short_run_has_no_longer_tests() -> None:
    assert [rung.steps for rung in ladder(PlanInputs(steps=15)).rungs] == [2, 10, 15]
    assert ladder(PlanInputs(), load_s=0).rungs[0].seconds == pytest.approx(2 * 16.3778, rel=1e-4)


def test_the_page_is_inert_and_whole() -> None:
    hostile = L2.model_copy(update={"gpus": 1, "price_per_gpu_hour": 1.0, "currency": "<script>"})
    found = account(hostile)
    assert "<script" not in to_html(found)
    assert "<script" not in to_markdown(found)
    for item in found.items:
        assert item.name in to_html(found)
        assert item.name in to_markdown(found)
