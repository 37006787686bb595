"""Times of one row that lie inside one another, or run at once: only what can all lie inside the step is added up."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from parsers import read
from parsers.fields import resolve
from timeledger.clock import clock
from timeledger.phases import top_level
from timeledger.run import Run


def _run(rows: list[dict[str, Any]]) -> Run:
    return read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl")


def _tops(run: Run) -> set[str]:
    return set(top_level(run).frame["name"].unique().to_list())


def _async_row(n: int) -> dict[str, Any]:
    """A turn of a loop that waits for each micro-batch while other answers are being sampled."""
    took = 400.0 + 7 * (n % 5)
    return {
        "step": n, "env/all/reward/total": 0.4, "time/assemble_training_data": 2.0, "time/train/fwd_bwd_mb_0_consume": 180.0,
        "time/train/fwd_bwd_mb_1_consume": 190.0, "time/sampling_time_max": 390.0 + n, "time/sampling_time_min": 90.0,
        "time/sampling_time_mean": 250.0 + n, "env/all/time/check_answer_s": 1.5, "time/training_loop/total": took,
    }  # fmt: skip


def _evaluation(n: int) -> dict[str, Any]:
    return {"step": n, "test/env/all/correct": 0.5, "test/env/all/time/check_answer_s": 2.0, "time/run_evals": 300.0,
            "time/evaluation_loop/total": 300.1}  # fmt: skip


def test_the_turn_of_the_training_loop_is_the_step_whatever_is_timed_beside_it() -> None:
    rows = []
    for n in range(20):
        rows += [_evaluation(n)] if n and n % 5 == 0 else []
        rows.append(_async_row(n))
    run = _run(rows)
    totals = [row["time/training_loop/total"] for row in rows if "time/training_loop/total" in row]
    assert run.steps["step_s"].to_list() == totals
    assert clock(run).elapsed_s == pytest.approx(sum(totals))  # evaluations run in a loop of their own
    assert run.events.filter(pl.col("kind") == "evaluation")["step"].to_list() == [5, 10, 15]
    tops = _tops(run)
    assert {"time/train/fwd_bwd_mb_0_consume", "time/train/fwd_bwd_mb_1_consume"} <= tops
    assert not {name for name in tops if "sampling" in name or "check_answer" in name or "loop" in name}


def test_an_evaluation_that_the_loop_waits_for_stays_inside_its_step() -> None:
    rows = [{"step": n, "loss": 1.0, "time/train": 20.0, "time/sampling": 60.0, "time/total": 81.0} for n in range(12)]
    rows[10] |= {"time/run_evals": 300.0, "time/total": 381.0, "test/acc": 0.5}
    run = _run(rows)
    assert clock(run).elapsed_s == pytest.approx(12 * 81.0 + 300.0)
    told = run.phases.filter(pl.col("phase") == "evaluation")
    assert told.select("step", "seconds").rows() == [(10, 300.0)]


@pytest.mark.parametrize("head", ["phase_seconds", "timers", "stage_times", "phases"])
def test_a_total_among_its_parts_is_the_step(head: str) -> None:
    rows: list[dict[str, Any]] = []
    for n in range(10):
        parts = {
            "sync_policy_s": 2.0,
            "rollout_generate_s": 4.0 + n % 3,
            "train_update_s": 10.0,
            "eval_s": 9.0 * (n % 5 == 4),
        }
        rows.append({"step": n + 1, "mean_reward": 0.5, head: parts | {"step_total_s": sum(parts.values()) + 0.1}})
    run = _run(rows)
    assert run.steps["step_s"].to_list() == [row[head]["step_total_s"] for row in rows]
    assert not any("total" in name for name in _tops(run))
    assert clock(run).elapsed_s == pytest.approx(sum(run.steps["step_s"]))


def test_the_total_of_a_part_holds_what_is_timed_under_its_name() -> None:
    row = {"time/rollout/total": 30.0, "time/rollout/generate": 25.0, "time/rollout/reward": 4.0, "time/train/total": 12.0,
           "time/train/forward": 5.0}  # fmt: skip
    run = _run([{"step": n, "loss": 2.0} | row for n in range(8)])
    assert _tops(run) == {"time/rollout/total", "time/train/total"}
    assert clock(run).elapsed_s == pytest.approx(8 * 42.0)


def test_a_total_smaller_than_what_stands_under_its_name_holds_none_of_it() -> None:
    run = _run([{"step": n, "loss": 2.0, "rollout_total_s": 1.0, "rollout_generate_s": 9.0} for n in range(8)])
    assert _tops(run) == {"rollout_total_s", "rollout_generate_s"}


@pytest.mark.parametrize(("longest", "inside"), [(30.0, True), (95.0, False)])
def test_the_longest_of_many_calls_counts_where_the_step_can_have_waited_for_it(longest: float, inside: bool) -> None:
    row = {"gen_time_max": longest, "gen_time_mean": longest / 2, "update_time": 60.0, "step_time": 100.0}
    run = _run([{"step": n, "loss": 2.0} | row for n in range(8)])
    assert _tops(run) == ({"gen_time_max", "update_time"} if inside else {"update_time"})
    assert clock(run).elapsed_s == pytest.approx(800.0)


def test_of_processes_in_step_the_slowest_counts() -> None:
    row = {"rollout_time/mean": 9.5, "rollout_time/max": 10.0, "update_time/mean": 4.9, "update_time/max": 5.0}
    run = _run([{"step": n, "loss": 2.0} | row for n in range(8)])
    assert _tops(run) == {"rollout_time/max", "update_time/max"}
    assert clock(run).elapsed_s == pytest.approx(8 * 15.0)


def test_calls_at_once_without_a_step_time_tell_no_step_time() -> None:
    row = {"sampling_time_max": 90.0, "sampling_time_mean": 40.0, "update_time": 60.0}
    run = _run([{"step": n, "loss": 2.0} | row for n in range(8)])
    assert clock(run).source == "none"
    assert any("many calls at once" in note.text for note in run.notes)


@pytest.mark.parametrize("stamp", ["elapsed_seconds", "timestamp"])
def test_phases_that_cannot_all_lie_between_two_rows_do_not_push_their_clock_aside(stamp: str) -> None:
    start = 1.7e9 if stamp == "timestamp" else 0.0
    parts = {"gen_seconds": 15.0, "reward_seconds": 14.0, "score_seconds": 12.0, "update_seconds": 9.25}
    rows = [{"step": n, "loss": 1.0, stamp: start + 20.5 * (n + 1)} | parts for n in range(20)]
    for n, row in enumerate(rows):
        row["gen_seconds"] -= n % 4
    found = clock(_run(rows))
    assert found.source == ("elapsed column" if stamp == "elapsed_seconds" else "timestamps")
    assert found.elapsed_s == pytest.approx(410.0, abs=0.5)


def test_phases_believe_themselves_where_the_rows_were_written_all_at_once() -> None:
    rows = [
        {"step": n, "timestamp": 1.7e9 + 0.01 * n, "gen_seconds": 15.0 - n % 4, "update_seconds": 8.0 + n % 2}
        for n in range(20)
    ]
    found = clock(_run(rows))
    assert found.source == "step times"
    assert found.elapsed_s == pytest.approx(20 * 22.0)


@pytest.mark.parametrize("key", ["step_time_std", "rollout_time_p95", "gen_s_p99", "env/all/time/check_answer_s"])
def test_how_far_times_lie_apart_is_no_time_of_the_step(key: str) -> None:
    assert resolve(key).kind == "extra"


def test_the_same_seconds_under_two_names_count_once() -> None:
    rows: list[dict[str, Any]] = []
    for n in range(40):
        row = {"step": n, "loss": 2.0, "time/sampling": 30.0 + n % 7, "time/train": 20.0 + n % 3}
        if n % 5 == 4:
            spent = 200.0 + 3.7 * n
            row |= {"time/evals": spent, "time/run_evaluator": spent - 0.004}
        rows.append(row)
    run = _run(rows)
    assert _tops(run) == {"time/sampling", "time/train", "time/evals"}
    expected = sum(sum(row.get(f"time/{part}", 0.0) for part in ("sampling", "train", "evals")) for row in rows)
    assert clock(run).elapsed_s == pytest.approx(expected)


def test_parts_of_equal_length_by_their_rounding_are_two() -> None:
    row = {"loss": 2.0, "time/sampling": 0.3, "time/train": 0.3}
    run = _run(
        [row | {"step": n, "time/sampling": 0.3 + 0.1 * (n % 2), "time/train": 0.3 + 0.1 * (n % 2)} for n in range(30)]
    )
    assert _tops(run) == {"time/sampling", "time/train"}


def test_a_phase_that_hardly_does_anything_but_the_evaluation_is_not_added_to_it() -> None:
    rows: list[dict[str, Any]] = []
    for n in range(60):
        row = {"step": n, "loss": 2.0, "time/step": 1.5 + 0.1 * (n % 4), "time/submit": 0.01}
        if n % 10 == 9:
            row |= {"time/evals": 6.0 + 0.1 * n, "time/submit": 6.02 + 0.1 * n}
        rows.append(row)
    expected = sum(row["time/step"] + row.get("time/evals", 0.0) for row in rows)
    assert clock(_run(rows)).elapsed_s == pytest.approx(expected)
