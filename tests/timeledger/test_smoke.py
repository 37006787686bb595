"""Smoke-test gates: each status for the right reason, silence is "unknown", limits can be moved."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.errors import BadOption
from timeledger.results import Facts
from timeledger.run import Note, Run
from timeledger.smoke import CHECKS, LIMITS, Checked, check

FINE: dict[str, Any] = {
    "loss": 0.1, "grad_norm": 0.5, "reward_std": 0.3, "zero_std": 0.1, "truncated": 0.02, "ratio": 1.0, "adv_std": 0.95, "entropy": 1.0,
}  # fmt: skip


def run_of(steps: int = 30, *, ended: str | None = None, plan: Plan | None = None, **columns: Any) -> Run:
    """A healthy run, with columns replaced: a number for all steps, a list for each, None for not logged."""
    run, _ = simulate(plan or Plan(steps=steps), "stamps")
    rising = (0.2 + 0.01 * np.arange(steps) + np.random.default_rng(1).normal(0, 0.02, steps)).tolist()
    made = FINE | {"reward": rising, "acc": rising} | columns
    frame = run.steps.with_columns(
        *(
            pl.Series(name, value if isinstance(value, list) else [value] * steps, dtype=schema.STEPS[name])
            for name, value in made.items()
        )
    )
    return replace(run, steps=frame, info=run.info.model_copy(update={"ended": ended}))


def checked(run: Run, **facts: Any) -> Checked:
    return check(analyse(run, Facts(**facts)))


def status(name: str, run: Run, **facts: Any) -> str:
    return checked(run, **facts).find(name).status


def test_a_healthy_run_passes_everything() -> None:
    found = checked(run_of(mem_gib=40.0), gpu_gib=80.0, total_steps=30)
    assert found.verdict == "pass"
    assert {each.name: each.status for each in found.checks if each.status != "pass"} == {}
    assert found.sentence.startswith("Passes after 30 steps")


@pytest.mark.parametrize(
    ("name", "columns", "wanted"),
    [
        ("finite", {"reward": [0.2] * 12 + [float("inf")] * 18}, "fail"),
        ("finite", {"grad_norm": [0.5] * 29 + [float("-inf")]}, "fail"),
        ("ratio", {"ratio": 1.03}, "pass"),
        ("ratio", {"ratio": 1.1}, "warn"),
        ("ratio", {"ratio": 1.6}, "fail"),
        ("ratio", {"ratio": [1.0] * 15 + [3.0] * 15}, "pass"),
        ("adv_std", {"adv_std": 0.1}, "warn"),
        ("adv_std", {"adv_std": 5.0}, "warn"),
        ("adv_std", {"adv_std": 0.0}, "fail"),
        ("reward", {"reward": None}, "fail"),
        ("gradient", {"grad_norm": 0.0, "zero_std": 1.0}, "fail"),
        ("gradient", {"grad_norm": 0.0}, "warn"),
        ("gradient", {"grad_norm": [0.5] * 28 + [900.0, 0.5]}, "warn"),
        ("stuck", {"grad_norm": 0.0, "zero_std": 1.0, "truncated": 1.0}, "fail"),
        ("stuck", {"grad_norm": 0.0, "zero_std": 1.0}, "pass"),
        ("truncation", {"truncated": 0.2}, "warn"),
        ("truncation", {"truncated": 0.97}, "fail"),
        ("truncation", {"truncated": [0.9] * 15 + [0.01] * 15}, "pass"),
        ("signal", {"zero_std": 0.5}, "warn"),
        ("signal", {"zero_std": 1.0}, "fail"),
        ("reward_variance", {"reward": 0.0, "reward_std": 0.0}, "fail"),
        ("reward_variance", {"reward_std": [0.3] * 15 + [0.0] * 15}, "warn"),
        ("entropy", {"entropy": [1.0] * 15 + [0.001] * 15}, "warn"),
    ],
)
def test_each_gate(name: str, columns: dict[str, Any], wanted: str) -> None:
    found = checked(run_of(**columns)).find(name)
    assert found.status == wanted, found
    assert found.want
    assert found.why
    assert bool(found.do) == (wanted in {"warn", "fail"})
    assert (checked(run_of(**columns)).verdict == "fail") >= (wanted == "fail")


@pytest.mark.parametrize("name", ["ratio", "adv_std", "truncation", "signal", "entropy"])
def test_what_is_not_logged_is_unknown_never_a_pass_or_a_fail(name: str) -> None:
    column = {"truncation": "truncated", "signal": "zero_std"}.get(name, name)
    hidden: dict[str, Any] = {column: None}
    found = checked(run_of(**hidden)).find(name)
    assert found.status == "unknown"
    assert found.value is None


def test_taking_any_column_away_never_makes_a_failure() -> None:
    run = run_of(mem_gib=40.0)
    for name in run.steps.columns:
        if name in {"segment", "step", "span", "line", "reward"}:
            continue
        less = replace(run, steps=run.steps.with_columns(pl.lit(None, dtype=schema.STEPS[name]).alias(name)))
        assert not [each.name for each in checked(less, gpu_gib=80.0).checks if each.status == "fail"], name


def test_the_trend_with_its_uncertainty() -> None:
    noise = np.random.default_rng(3).normal(0, 0.05, 40)
    rising, flat = (0.2 + 0.02 * np.arange(40) + noise).tolist(), (0.5 + noise).tolist()
    falling = (1.0 - 0.02 * np.arange(40) + noise).tolist()
    assert status("trend", run_of(40, reward=rising)) == "pass"
    assert status("trend", run_of(40, reward=flat)) == "warn"
    assert status("trend", run_of(40, reward=falling)) == "fail"
    assert "90 %" in checked(run_of(40, reward=flat)).find("trend").why
    assert status("trend", run_of(12, reward=rising[:12])) == "unknown"


def test_reward_against_accuracy() -> None:
    up, down = (0.2 + 0.02 * np.arange(30)).tolist(), (0.9 - 0.02 * np.arange(30)).tolist()
    gamed = checked(run_of(reward=up, acc=down)).find("reward_acc")
    assert gamed.status == "fail"
    assert "gamed" in gamed.why
    assert status("reward_acc", run_of(reward=up, acc=up)) == "pass"
    still = checked(run_of(reward=up, acc=0.0)).find("reward_acc")
    assert still.status == "unknown"
    assert "has not moved" in still.why


def test_the_gates_at_2_10_and_20_steps() -> None:
    assert checked(run_of(1)).verdict == "unknown"
    assert checked(run_of(1)).find("cycle").status == "unknown"
    two = checked(run_of(2))
    assert two.verdict == "pass"
    assert two.find("cycle").status == "pass"
    assert two.find("trend").status == "unknown"
    assert {each.gate for each in two.checks} == {"2 steps", "10 steps", "20 steps", "any time"}


def test_a_crash_fails_and_says_what_happened() -> None:
    run = run_of(17, ended="crashed")
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
    crash = schema.conform(
        pl.DataFrame({"segment": [0], "step": [17], "line": [9], "kind": ["crash"], "text": [text]}), schema.EVENTS
    )
    found = checked(replace(run, events=crash))
    assert found.verdict == "fail"
    assert "out of memory" in found.find("cycle").why
    assert status("cycle", run_of(17, ended="interrupted")) == "warn"


def test_a_nan_that_the_reader_dropped_is_still_told() -> None:
    note = Note("warning", 305, "grad_norm is not a number (NaN)", 2)
    found = checked(run_of().with_notes(note)).find("finite")
    assert found.status == "fail"
    assert "line 305" in found.why
    other = Note("warning", 7, "the clock is not monotonic", 1)
    assert status("finite", run_of().with_notes(other)) == "pass"


def test_memory_needs_the_card() -> None:
    run = run_of(mem_gib=76.0)
    assert status("memory", run) == "unknown"
    assert "--gpu-gib" in checked(run).find("memory").why
    assert status("memory", run, gpu_gib=80.0) == "warn"
    assert status("memory", run, gpu_gib=141.0) == "pass"
    assert status("memory", run_of(mem_gib=79.5), gpu_gib=80.0) == "fail"
    leak = (30 + 0.5 * np.arange(30)).tolist()
    assert status("memory", run_of(mem_gib=leak), gpu_gib=80.0) == "warn"


def test_length_regimes() -> None:
    shrunk = Plan(steps=60, len_first=400, len_last=2, curve="saturating", len_noise=0.02)
    assert status("length", run_of(60, plan=shrunk)) == "fail"
    grown = Plan(steps=60, len_first=100, len_last=400, len_noise=0.02)
    assert status("length", run_of(60, plan=grown)) == "warn"
    assert status("length", run_of(60, plan=Plan(steps=60))) == "pass"


def test_lost_time() -> None:
    paused = run_of(60, plan=Plan(steps=60, pauses=((30, 900.0),)))
    found = checked(paused).find("lost_time")
    assert found.status == "warn"
    assert "15 m" in found.why
    assert status("lost_time", run_of(60, plan=Plan(steps=60))) == "pass"


def test_a_stalled_run_fails() -> None:
    run = run_of(40, plan=Plan(steps=40, planned=400))
    last = run.steps["at"].max()
    assert status("stalled", run, now=last + timedelta(hours=5)) == "fail"  # type: ignore[operator]
    assert status("stalled", run, now=last + timedelta(seconds=10)) == "pass"  # type: ignore[operator]
    assert status("stalled", run) == "unknown"


def test_limits_can_be_moved_but_not_invented() -> None:
    run = analyse(run_of(truncated=0.3))
    assert check(run).find("truncation").status == "warn"
    assert check(run, {"truncated_warn": 0.5}).find("truncation").status == "pass"
    assert check(run, {"truncated_fail": 0.2}).verdict == "fail"
    with pytest.raises(BadOption, match="truncated_warn"):
        check(run, {"truncation": 0.5})
    assert all(limit.source and limit.what for limit in LIMITS.values())


def test_nothing_about_learning_is_unknown() -> None:
    run, _ = simulate(Plan(steps=30), "stamps", lengths_shown=False)
    found = check(analyse(run))
    assert found.verdict == "unknown"
    assert found.sentence.startswith("Cannot tell")


def test_names_are_unique() -> None:
    names = [each.name for each in checked(run_of()).checks]
    assert len(names) == len(set(names)) == len(CHECKS)
