"""The lesson's calculator: its own numbers, its experiments, and input that cannot be a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeledger.errors import ImpossiblePlan
from timeledger.plan import EXPERIMENTS, PlanInputs, estimate, experiment, plan_inputs, steps_within, sweep, total_s

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


def test_what_is_known_apart_is_a_part_of_its_own() -> None:
    whole = plan_inputs(
        {"fixed_s": 5, "sync_s": 2, "sleep_wake_s": 2.5, "reward_s": 1, "logprob_tok_s": 25_600, "steps": 100}
    )
    got = estimate(whole)
    seconds = {part.phase: part.seconds for part in got.parts}
    assert seconds["weight sync"] == 2
    assert seconds["sleep/wake"] == 2.5
    assert seconds["fixed overhead"] == pytest.approx(0.5)
    assert seconds["reward"] == 1
    assert seconds["log-probs"] == pytest.approx(1)
    assert got.step_s == pytest.approx(DEFAULT.step_s + 2)
    assert plan_inputs({"sync_s": 1.5, "sleep_wake_s": 2}).fixed_s == 3.5


def test_evaluations_and_checkpoints_come_as_often_as_they_do() -> None:
    every = estimate(plan_inputs({"steps": 250, "eval_every": 100, "eval_s": 60, "save_every": 50, "save_s": 4}))
    assert every.total_s.mid == pytest.approx(250 * DEFAULT.step_s + 2 * 60 + 5 * 4)
    assert every.step_s * 250 == pytest.approx(every.total_s.mid)
    once = estimate(plan_inputs({"eval_questions": 1319, "eval_length": 152, "gen_tok_s": 400}))
    assert once.share("evaluation") * once.step_s * 200 == pytest.approx(1319 * 152 / 400)  # 8 min 21 s
    assert estimate(plan_inputs({"startup_s": 90})).total_s.mid == pytest.approx(DEFAULT.total_s.mid + 90)


def test_one_step_off_takes_the_longer_of_the_two() -> None:
    serial = plan_inputs({"gen_tok_s": 1000, "train_tok_s": 2000, "fixed_s": 3, "sync_s": 1, "sleep_wake_s": 2})
    both = estimate(serial.model_copy(update={"mode": "one-step-off"}))
    assert both.step_s == pytest.approx(25.6 + 1)  # sampling 25.6 s, training 12.8 s beside it, no sleep/wake
    assert {part.phase: part.seconds for part in both.hidden} == {"forward-backward": pytest.approx(12.8)}
    assert both.once_s == pytest.approx(12.8)
    train_bound = estimate(serial.model_copy(update={"mode": "one-step-off", "gen_tok_s": 10_000}))
    assert train_bound.step_s == pytest.approx(12.8 + 1)
    assert estimate(serial.model_copy(update={"mode": "split"})).step_s == pytest.approx(25.6 + 12.8 + 1)


def test_pools_share_out_the_gpus_and_more_gpus_bring_less_than_their_number() -> None:
    four = plan_inputs({"gpus": 4, "measured_gpus": 4, "gen_gpus": 2, "mode": "one-step-off", "gpu_scaling": 1.0})
    assert estimate(four).parts[0].seconds == pytest.approx(2 * 25_600 / 3000)
    eight = estimate(plan_inputs({"gpus": 8, "measured_gpus": 4, "fixed_s": 0}))
    alone = estimate(plan_inputs({"gpus": 4, "measured_gpus": 4, "fixed_s": 0}))
    assert 0.5 < eight.step_s / alone.step_s < 0.6
    assert any("added GPU" in reason for reason in eight.because)


def test_the_longest_answer_is_a_floor() -> None:
    tail = plan_inputs({"longest": 2000, "single_tok_s": 50})
    got = estimate(tail)
    assert got.floor_s == 40
    assert got.share("sampling") * got.step_s == pytest.approx(40)
    assert any("longest answer alone" in hint for hint in got.hints)
    half = estimate(tail.model_copy(update={"group_size": 4}))
    assert half.share("sampling") * half.step_s == pytest.approx(40)  # fewer answers do not shorten the longest
    capped = estimate(tail.model_copy(update={"max_tokens": 1000}))
    assert capped.floor_s == 20
    cut = estimate(plan_inputs({"max_tokens": 1024, "truncated": 0.01, "single_tok_s": 64}))
    assert cut.floor_s == 16


def test_growth_never_passes_the_limit() -> None:
    grown = plan_inputs({"mean_length": 400, "length_growth": 2, "max_tokens": 600})
    assert estimate(grown).tokens_per_step == 64 * 600


def test_ranges_carry_through_to_the_total() -> None:
    one = estimate(
        plan_inputs(
            {"gen_tok_s": (2000, 4500), "mean_length": "400..400", "train_tok_s": "9000..9000", "fixed_s": "5..5"}
        )
    )
    low, high = (estimate(plan_inputs({"gen_tok_s": rate})).total_s.mid for rate in (4500, 2000))
    assert one.inputs.gen_tok_s == pytest.approx(3000)
    assert one.total_s.low == pytest.approx(low)
    assert one.total_s.high == pytest.approx(high)
    narrow = estimate(plan_inputs({"gen_tok_s": "2900..3100"}))
    assert narrow.total_s.high < DEFAULT.total_s.high
    assert estimate(plan_inputs({"steps": "100..400"})).total_s.high > 1.9 * DEFAULT.total_s.mid


def test_without_ranges_the_interval_is_the_lessons_promise() -> None:
    assert DEFAULT.total_s.low == pytest.approx(0.7 * DEFAULT.total_s.mid)
    assert DEFAULT.total_s.high == pytest.approx(1.3 * DEFAULT.total_s.mid)


def test_a_sweep_changes_one_input_only() -> None:
    steps = [each.step_s for each in sweep(PlanInputs(), "group_size", [4, 8, 16])]
    assert steps == [pytest.approx(10.69, abs=0.005), pytest.approx(16.38, abs=0.005), pytest.approx(27.76, abs=0.005)]
    modes = sweep(PlanInputs(), "mode", ["colocate", "one-step-off"])
    assert modes[1].step_s == pytest.approx(DEFAULT.step_s - 25_600 / 9000)
    with pytest.raises(ImpossiblePlan, match="no such input"):
        sweep(PlanInputs(), "colour", [1])


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"sequences": 60, "group_size": 8}, "group size G"),
        ({"gen_tok_s": "fast"}, "generation throughput"),
        ({"gen_tok_s": "3500..2500"}, "generation throughput"),
        ({"gen_tok_s": "0..100"}, "generation throughput"),
        ({"gpus": "1..4"}, "GPUs"),
        ({"truncated": 1.5}, "share of answers cut"),
        ({"fixed_s": 1, "sync_s": 2}, "fixed overhead"),
        ({"logprob_s": 1, "logprob_tok_s": 1}, "log-probs"),
        ({"longest": 100}, "longest answer"),
        ({"gen_gpus": 2}, "GPUs that generate"),
        ({"gen_gpus": 2, "gpus": 2, "mode": "split"}, "GPUs that generate"),
        ({"mode": "async"}, "mode"),
    ],
)
def test_contradictions_name_the_field(values: dict[str, object], named: str) -> None:
    with pytest.raises(ImpossiblePlan, match=named):
        plan_inputs(values)


def test_a_typed_power_of_two_looks_like_a_limit() -> None:
    assert estimate(plan_inputs({"mean_length": 512})).warnings
    assert not estimate(plan_inputs({"mean_length": 500})).warnings
    assert not DEFAULT.warnings


def test_sequences_may_stand_in_for_prompts() -> None:
    assert plan_inputs({"sequences": 64, "group_size": 16}).prompts == 4


@given(
    low=st.floats(10, 1e5),
    wider=st.floats(1, 5),
    length=st.floats(1, 5000),
    fixed=st.floats(0, 100),
    steps=st.integers(1, 5000),
    seconds=st.floats(1, 1e6),
)
def test_intervals_hold_the_middle_and_steps_fit(
    low: float, wider: float, length: float, fixed: float, steps: int, seconds: float
) -> None:
    inputs = plan_inputs({"gen_tok_s": (low, low * wider), "mean_length": length, "fixed_s": fixed, "steps": steps})
    span = estimate(inputs).total_s
    assert 0 < span.low <= span.mid <= span.high
    fitted = steps_within(inputs, seconds)
    assert 1 <= fitted <= steps
    assert fitted == 1 or total_s(inputs.model_copy(update={"steps": fitted})) <= seconds
    assert fitted == steps or total_s(inputs.model_copy(update={"steps": fitted + 1})) > seconds
