"""The calculator calibrated on runs with a known truth; plan files; the plan against the run."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.against import against
from timeledger.analysis import analyse
from timeledger.calibrate import calibrate, from_run
from timeledger.errors import BadOption, ImpossiblePlan, NotEnoughSteps
from timeledger.plan import PlanInputs, estimate, from_analysis, plan_inputs
from timeledger.plan_file import from_toml, to_toml
from timeledger.results import Analysis, Facts
from timeledger.run import Run, RunInfo

SETTINGS = {"group_size": 8, "prompts_per_step": 8}


def smoke(steps: int = 10, planned: int = 200, **more: object) -> Analysis:
    plan = Plan(steps=steps, planned=planned, driver="mean", len_first=400, len_last=400, noise=0.01, **more)  # type: ignore[arg-type]
    run, _ = simulate(plan, settings=dict(SETTINGS))
    return analyse(run, Facts())


def with_phases(seconds: dict[str, float], steps: int = 20, length: float = 400.0) -> Run:
    """A run of verl's kind: every step has its phases and its time."""
    rows = [
        {"segment": 0, "step": n, "span": 1, "step_s": sum(seconds.values()), "len_mean": length, "sequences": 64.0}
        for n in range(1, steps + 1)
    ]
    phases = [
        {"segment": 0, "step": n, "phase": phase, "name": phase, "seconds": value, "outside": False, "overlaps": False}
        for n in range(1, steps + 1)
        for phase, value in seconds.items()
    ]
    return Run(
        info=RunInfo(name="phased", format="made"),
        steps=schema.conform(pl.DataFrame(rows), schema.STEPS),
        phases=schema.conform(pl.DataFrame(phases), schema.PHASES),
    )


def test_a_smoke_run_plans_the_whole_run() -> None:
    run, truth = simulate(
        Plan(steps=200, driver="mean", len_first=400, len_last=400, noise=0.01), settings=dict(SETTINGS)
    )
    early = replace(run, steps=run.steps.head(10))
    answer = estimate(from_run(analyse(early, Facts())))
    assert answer.inputs.steps == 200
    assert answer.total_s.mid == pytest.approx(truth.total_s, rel=0.05)
    assert answer.total_s.low < truth.total_s < answer.total_s.high


def test_phases_become_throughputs_that_give_the_step_again() -> None:
    seconds = {
        "rollout": 8.0,
        "old_logprob": 1.0,
        "ref_logprob": 0.6,
        "update": 3.2,
        "reward": 0.5,
        "weight_sync": 1.5,
        "sleep_wake": 2.0,
    }
    inputs = from_run(analyse(with_phases(seconds), Facts(total_steps=100)))
    assert inputs.gen_tok_s == pytest.approx(25_600 / 8)
    assert inputs.train_tok_s == pytest.approx(25_600 / 3.2)
    assert inputs.logprob_tok_s == pytest.approx(25_600 / 1.6)
    assert inputs.sync_s == pytest.approx(1.5)
    assert inputs.sleep_wake_s == pytest.approx(2.0)
    assert inputs.reward_s == pytest.approx(0.5)
    assert estimate(inputs).step_s == pytest.approx(sum(seconds.values()), rel=1e-6)
    assert {inputs.source(name).kind for name in ("gen_tok_s", "train_tok_s", "fixed_s")} == {"measured"}


def test_without_phases_the_split_is_assumed_and_the_step_still_right() -> None:
    analysis = smoke()
    inputs = from_run(analysis)
    assert inputs.source("gen_tok_s").kind == "assumed"
    assert "not told apart" in inputs.source("gen_tok_s").text
    step_s = 5 + 0.02 * 400
    assert estimate(inputs).step_s == pytest.approx(step_s, rel=0.05)


def test_a_measured_rate_splits_the_step() -> None:
    plan = Plan(steps=40, planned=200, driver="mean", len_first=200, len_last=700, noise=0.005)
    run, _ = simulate(plan, settings=dict(SETTINGS))
    analysis = analyse(run, Facts(gen_tok_s=8000.0))
    inputs = from_run(analysis)
    assert inputs.source("gen_tok_s").kind == "measured"
    assert inputs.gen_tok_s == pytest.approx(8000)
    assert inputs.source("train_tok_s").kind == "inferred"
    assert inputs.fixed_s == pytest.approx(5, abs=1.5)
    slow = calibrate(analyse(run, Facts(gen_tok_s=100.0)))
    assert any("not used" in note for note in slow.notes)


def test_growth_and_the_limit_come_from_the_run() -> None:
    run, _ = simulate(
        Plan(steps=60, driver="mean", len_first=100, len_last=400, limit=512), settings={**SETTINGS, "max_tokens": 512}
    )
    inputs = from_run(analyse(run, Facts()))
    assert inputs.max_tokens == 512
    assert inputs.first_length == pytest.approx(115, abs=25)
    assert inputs.mean_length == pytest.approx(375, rel=0.1)
    assert any("mean answer length" in reason for reason in estimate(inputs).because)


def test_evaluations_are_taken_over() -> None:
    run, truth = simulate(
        Plan(steps=120, eval_every=20, eval_s=40, driver="none", noise=0.01),
        "stamps",
        "step_s",
        settings={**SETTINGS, "eval_steps": 20},
    )
    inputs = from_run(analyse(run, Facts()))
    assert inputs.eval_every == 20
    assert inputs.eval_s == pytest.approx(40, rel=0.15)
    assert estimate(inputs).total_s.mid == pytest.approx(truth.total_s, rel=0.06)


def test_a_log_without_lengths_keeps_its_step_time() -> None:
    run, _ = simulate(Plan(steps=30, planned=300, driver="none", noise=0.01), lengths_shown=False)
    found = calibrate(analyse(run, Facts()))
    inputs = from_run(analyse(run, Facts()))
    assert estimate(inputs).step_s == pytest.approx(5, rel=0.05)
    assert any("mean answer length" in note for note in found.notes)
    assert "mean_length" not in found.values


def test_an_engine_log_gives_its_throughput_only() -> None:
    engine = schema.conform(
        pl.DataFrame(
            [{"kind": "log", "engine": "0", "gen_tok_s": rate, "running": 64.0} for rate in (2900.0, 3000.0, 3100.0)]
        ),
        schema.ENGINE,
    )
    run = Run(info=RunInfo(name="server", format="vllm"), steps=schema.empty(schema.STEPS), engine=engine)
    found = calibrate(analyse(run, Facts()))
    assert found.values["gen_tok_s"][0] == pytest.approx(3000)
    assert found.values["gen_tok_s"][1].kind == "measured"
    assert set(found.values) == {"gen_tok_s"}
    assert "mean answer length" in " ".join(found.notes)


def test_nothing_is_told_by_an_empty_run() -> None:
    found = calibrate(
        analyse(Run(info=RunInfo(name="empty", format="made"), steps=schema.empty(schema.STEPS)), Facts())
    )
    assert found.values == {}
    assert "every number is a default" in found.notes[0]


def test_typed_values_win_over_the_runs() -> None:
    inputs = from_run(smoke(), {"mean_length": 500, "fixed_s": "4..6", "steps": 50})
    assert inputs.mean_length == 500
    assert inputs.source("mean_length").text == "typed in"
    assert "first_length" not in inputs.model_dump(exclude_none=True)
    assert inputs.ranges["fixed_s"] == (4.0, 6.0)
    assert inputs.steps == 50


def test_numbers_of_a_run_are_plain_numbers() -> None:
    known = from_analysis(smoke())
    assert all(isinstance(value, int | float) for value, _ in known.values())
    assert known["group_size"][0] == 8


# --- against the run -------------------------------------------------------------------------------------------


def test_a_plan_against_its_run_names_what_differs() -> None:
    measured = analyse(
        with_phases({"rollout": 12.0, "update": 4.0, "weight_sync": 4.0}, length=472.0), Facts(total_steps=200)
    )
    tokens = 64 * 472
    plan = plan_inputs({"gen_tok_s": tokens / 12 * 1.06, "train_tok_s": tokens / 4, "mean_length": 400, "fixed_s": 4})
    found = against(plan, measured)
    assert found.measured_s == pytest.approx(20)
    assert found.planned_s + sum(each.seconds for each in found.differences) == pytest.approx(found.measured_s)
    assert "answers 18 % longer" in found.sentence
    assert "generation throughput 6 % lower" in found.sentence
    assert "training throughput" not in found.sentence


def test_a_plan_from_the_run_itself_is_as_planned() -> None:
    measured = analyse(with_phases({"rollout": 12.0, "update": 4.0, "weight_sync": 4.0}), Facts(total_steps=200))
    assert against(from_run(measured), measured).sentence.endswith("as planned.")


def test_a_run_without_time_cannot_be_compared() -> None:
    empty = Run(info=RunInfo(name="empty", format="made"), steps=schema.empty(schema.STEPS))
    with pytest.raises(NotEnoughSteps):
        against(PlanInputs(), analyse(empty, Facts()))


# --- plan files ------------------------------------------------------------------------------------------------


@given(
    prompts=st.integers(1, 1000),
    length=st.floats(1, 1e5),
    low=st.floats(1, 1e5),
    fixed=st.floats(0, 1e3),
    text=st.text(max_size=8),
    mode=st.sampled_from(["colocate", "split", "one-step-off"]),
)
def test_a_plan_survives_its_file(prompts: int, length: float, low: float, fixed: float, text: str, mode: str) -> None:
    inputs = plan_inputs(
        {
            "prompts": prompts,
            "mean_length": length,
            "gen_tok_s": (low, 2 * low),
            "fixed_s": fixed,
            "currency": text,
            "mode": mode,
        }
    )
    assert from_toml(to_toml(inputs), "plan.toml") == inputs


def test_a_calibrated_plan_survives_its_file() -> None:
    inputs = from_run(smoke())
    assert inputs.spread is not None
    assert from_toml(to_toml(inputs), "plan.toml") == inputs


def test_a_file_written_by_hand_is_typed_in() -> None:
    inputs = from_toml("[inputs]\nprompts = 16\n[ranges]\ngen_tok_s = [2000, 4000]\n", "plan.toml")
    assert inputs.prompts == 16
    assert inputs.source("prompts").text == "typed in"
    assert inputs.ranges["gen_tok_s"] == (2000, 4000)


@pytest.mark.parametrize(
    ("text", "error", "named"),
    [
        ("prompts = ", BadOption, "not a TOML file"),
        ("prompts = 8", BadOption, "not a plan"),
        ("[other]\nx = 1", BadOption, "not a plan"),
        ("[inputs]\ncolour = 3", ImpossiblePlan, "colour"),
        ("[inputs]\nprompts = 0", ImpossiblePlan, "prompts per step"),
        ("[inputs]\nprompts = [1]", ImpossiblePlan, "prompts per step"),
        ("[inputs]\n[ranges]\ngen_tok_s = [3, 1]", ImpossiblePlan, "generation throughput"),
        ("inputs = 3", BadOption, "must be a table"),
    ],
)
def test_a_broken_file_says_what_is_wrong(text: str, error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=named):
        from_toml(text, "plan.toml")
