"""Several runs in one file are runs of their own; a run that goes on under another name is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from parsers import read_all
from timeledger.run import Run


def table(header: str, rows: list[str]) -> tuple[Run, ...]:
    return read_all(("\n".join([header, *rows]) + "\n").encode(), name="sweep.csv")


def lines(rows: Sequence[Mapping[str, object]], name: str = "log.jsonl") -> tuple[Run, ...]:
    return read_all("".join(json.dumps(row) + "\n" for row in rows).encode(), name=name)


def steps(runs: tuple[Run, ...]) -> dict[str, list[int]]:
    assert all(run.steps["segment"].n_unique() == 1 for run in runs)
    return {run.name: run.steps["step"].to_list() for run in runs}


# --- tables ------------------------------------------------------------------------------------------------------


def test_a_setting_that_changes_with_each_start() -> None:
    rows = [f"{workers},{step},{workers * 0.5},{0.25 * step}" for workers in (1, 2, 4) for step in range(5)]
    runs = table("workers,step,step_s,reward", rows)
    assert steps(runs) == {f"sweep workers={workers}": [0, 1, 2, 3, 4] for workers in (1, 2, 4)}
    assert [run.steps["step_s"].sum() for run in runs] == [2.5, 5.0, 10.0]


def test_two_columns_tell_runs_apart() -> None:
    rows = [f"{seed},{lr},{step},1.5,0.5" for seed in (0, 1) for lr in ("1e-5", "1e-6") for step in range(1, 4)]
    assert len(steps(table("seed,peak,step,step_s,reward", rows))) == 4


def test_rows_of_named_runs_may_be_mixed() -> None:
    rows = [f"{step},{name},1.5,0.5" for step in range(1, 6) for name in ("base", "long")]
    assert steps(table("step,run_name,step_s,reward", rows)) == {"base": [1, 2, 3, 4, 5], "long": [1, 2, 3, 4, 5]}


def test_a_restart_of_one_run_is_a_session() -> None:
    rows = [f"{step},{0.5 + place},1.5,7" for place, step in enumerate((1, 2, 3, 4, 3, 4, 5, 6))]
    (run,) = table("step,reward,step_s,seed", rows)
    assert run.steps["segment"].to_list() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_resume_under_another_name_is_one_run() -> None:
    rows = [f"{step},0.5,1.5,{name}" for name, span in (("a", (1, 2, 3, 4)), ("b", (4, 5, 6))) for step in span]
    assert len(table("step,reward,step_s,run_id", rows)) == 1


def test_a_metric_tells_no_runs_apart() -> None:
    rows = [f"{step},{loss},1.5" for loss in (0.5, 0.25) for step in range(1, 5)]
    assert len(table("step,loss,step_s", rows)) == 1


# --- JSON lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mixed", [False, True])
def test_runs_that_json_lines_name(mixed: bool) -> None:
    rows = [(name, step) for name in ("a_lr1", "a_lr2") for step in range(1, 6)]
    rows = sorted(rows, key=lambda row: row[1]) if mixed else rows
    runs = lines([{"run_name": name, "step": step, "loss": 0.5, "step_time": 1.5} for name, step in rows])
    assert steps(runs) == {"a_lr1": [1, 2, 3, 4, 5], "a_lr2": [1, 2, 3, 4, 5]}


def test_a_seed_tells_runs_apart_where_it_is_no_draw() -> None:
    steady = lines([{"seed": seed, "step": n, "loss": 0.5, "time": 1.5 + seed} for seed in (0, 1) for n in range(1, 6)])
    assert steps(steady) == {"log seed=0": [1, 2, 3, 4, 5], "log seed=1": [1, 2, 3, 4, 5]}
    drawn = [{"seed": 97 * n % 31, "step": (n + 1) // 2, "loss": 0.5, "time": 1.5} for n in range(1, 11)]
    assert len(lines(drawn)) == 1


def test_one_name_leaves_the_file_its_own() -> None:
    runs = lines(
        [{"experiment": "lr", "step": step, "loss": 0.5, "step_time": 1.5} for step in range(1, 5)], "mine.jsonl"
    )
    assert [run.name for run in runs] == ["mine"]


def test_json_lines_that_go_on_under_another_id() -> None:
    rows = [{"run_id": "x1", "step": step, "loss": 0.5, "step_time": 1.5} for step in range(1, 6)]
    rows += [{"run_id": "x2", "step": step, "loss": 0.5, "step_time": 1.25} for step in range(4, 9)]
    (run,) = lines(rows)
    assert run.steps["segment"].n_unique() == 2


def test_a_name_per_metric_is_no_run() -> None:
    rows = [{"name": name, "step": step, "loss": 0.5, "step_time": 1.5} for step in range(1, 5) for name in ("a", "b")]
    assert len(lines(rows)) == 1


# --- epochs, configurations --------------------------------------------------------------------------------------


def test_steps_that_begin_anew_in_each_epoch_are_counted_on() -> None:
    rows = [{"epoch": epoch, "step": step, "loss": 0.5, "time": 1.5} for epoch in range(3) for step in range(0, 50, 10)]
    (run,) = lines(rows)
    assert run.steps["step"].to_list() == list(range(0, 150, 10))
    (run,) = table("epoch,step,loss,step_s", [f"{epoch},{step},0.5,1.5" for epoch in (1, 2) for step in (1, 2, 3, 4)])
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_passes_over_one_batch_are_no_epochs_of_steps() -> None:
    rows = [{"step": step, "epoch": each, "loss": 0.5, "time": 1.5} for step in (1, 2, 3) for each in (0, 1)]
    (run,) = lines(rows)
    assert set(run.steps["step"].to_list()) == {1, 2, 3}


def test_a_restart_in_an_earlier_epoch_is_one() -> None:
    rows = [{"epoch": epoch, "step": step, "loss": 0.5 + epoch, "time": 1.5} for epoch in (0, 1) for step in range(4)]
    again = [{"epoch": 0, "step": step, "loss": 0.7, "time": 1.25} for step in range(4)]
    (run,) = lines(rows + again)
    assert run.steps["segment"].to_list() == [0] * 8 + [1] * 4
    assert run.steps["step"].to_list()[8:] == [0, 1, 2, 3]


def test_a_configuration_row_and_an_end() -> None:
    rows: list[dict[str, object]] = [{"event": "config", "num_steps": 40, "lr": 1e-6, "max_new_tokens": 512}]
    rows += [{"event": "step", "step": step, "loss": 0.5, "step_time_s": 30.0} for step in range(4)]
    (running,) = lines(rows)
    assert (running.info.setting("total_steps"), running.info.setting("max_tokens")) == (40, 512)
    assert running.info.setting("learning_rate") == 1e-6
    assert running.info.ended is None
    (done,) = lines([*rows, {"event": "done", "num_steps": 40}])
    assert done.info.ended == "finished"
    assert done.steps["step"].to_list() == [0, 1, 2, 3]
