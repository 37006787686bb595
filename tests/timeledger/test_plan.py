"""The lesson's calculator: its own numbers, its experiments, and input that cannot be a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeledger.errors import ImpossiblePlan
from timeledger.plan import EXPERIMENTS, PlanInputs, estimate, experiment, plan_inputs

DEFAULT = estimate(PlanInputs())


def test_the_lessons_default() -> None:
    assert DEFAULT.sequences_per_step == 64
    assert DEFAULT.tokens_per_step == 25_600
    assert round(DEFAULT.share("sampling") * 100) == 52
    assert round(DEFAULT.share("forward-backward") * 100) == 17
    assert round(DEFAULT.share("fixed overhead") * 100) == 31
    assert DEFAULT.step_s == pytest.approx(16.38, abs=0.005)
    assert DEFAULT.total_s.mid == pytest.approx(16.3778 * 200, rel=1e-4)


@pytest.mark.parametrize(
    ("index", "step_s"),
    [
        (0, 16.38),
        (1, 27.76),  # G 16: sampling and training double, the overhead does not
        (2, 10.69),  # G 4
        (3, 27.76),  # 800 tokens
        (4, 50.51),  # 32 prompts
        (5, 16.38),
    ],
)
def test_the_five_experiments(index: int, step_s: float) -> None:
    assert experiment(PlanInputs(), index).step_s == pytest.approx(step_s, abs=0.005), EXPERIMENTS[index][0]


def test_more_prompts_dilute_the_overhead() -> None:
    assert experiment(PlanInputs(), 4).share("fixed overhead") == pytest.approx(5 / 50.51, abs=1e-3)


def test_three_hours_hold_as_many_steps_as_fit() -> None:
    slow = PlanInputs(steps=2000)
    fitted = experiment(slow, 5)
    assert fitted.inputs.steps == 659
    assert fitted.total_s.mid <= 3 * 3600 < fitted.total_s.mid + fitted.step_s


def test_the_lessons_long_run_takes_one_hour_52() -> None:
    measured = PlanInputs(fixed_s=33.6 - 25_600 / 3000 - 25_600 / 9000)
    assert estimate(measured).total_s.mid == pytest.approx(200 * 33.6)


def test_hints_name_the_overhead_and_the_checkpointing_trap() -> None:
    text = " ".join(DEFAULT.hints)
    assert "5.0 s a step, 31 %" in text
    assert "Training is 17 %" in text
    assert "gradient checkpointing" in text


def test_the_limit_as_mean_length_is_called_out() -> None:
    hints = estimate(plan_inputs({"mean_length": 512, "max_tokens": 512})).hints
    assert any("never the limit" in hint for hint in hints)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"gen_tok_s": 0}, "generation throughput"),
        ({"train_tok_s": -1}, "training throughput"),
        ({"mean_length": -5}, "mean answer length"),
        ({"steps": 0}, "steps"),
        ({"prompts": 2.5}, "prompts per step"),
        ({"mean_length": float("nan")}, "mean answer length"),
        ({"mean_length": 600, "max_tokens": 512}, "limit on answer tokens"),
    ],
)
def test_nonsense_names_the_field(values: dict[str, float], named: str) -> None:
    with pytest.raises(ImpossiblePlan, match=named):
        plan_inputs(values)


def test_money_and_gpu_hours_only_when_asked_for() -> None:
    assert DEFAULT.cost is None
    cost = estimate(plan_inputs({"gpus": 2, "price_per_gpu_hour": 1.5, "currency": "EUR"})).cost
    assert cost is not None
    assert cost.gpu_hours == pytest.approx(2 * DEFAULT.total_s.mid / 3600)
    assert cost.money == pytest.approx(cost.gpu_hours * 1.5)


@given(
    prompts=st.integers(1, 512),
    group=st.integers(1, 64),
    length=st.floats(1, 32_000),
    gen=st.floats(1, 1e6),
    train=st.floats(1, 1e6),
    fixed=st.floats(0, 1e4),
    steps=st.integers(1, 100_000),
)
def test_parts_add_up_and_the_interval_holds_the_middle(
    prompts: int, group: int, length: float, gen: float, train: float, fixed: float, steps: int
) -> None:
    got = estimate(
        PlanInputs(
            prompts=prompts,
            group_size=group,
            mean_length=length,
            gen_tok_s=gen,
            train_tok_s=train,
            fixed_s=fixed,
            steps=steps,
        )
    )
    assert sum(part.seconds for part in got.parts) == pytest.approx(got.step_s)
    assert sum(part.share for part in got.parts) == pytest.approx(1)
    assert got.total_s.low <= got.total_s.mid <= got.total_s.high
