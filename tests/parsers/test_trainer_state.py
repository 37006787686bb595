"""trainer_state.json and dumps of log_history: settings, rows, evaluations, and honesty about missing time."""

from __future__ import annotations

import json
from typing import Any

import pytest

import parsers
from timeledger.run import Run


def row(step: int, **more: Any) -> dict[str, Any]:
    return {"loss": 0.1 * step, "grad_norm": 0.5, "learning_rate": 1e-6, "reward": 0.4, "completions/mean_length": 100.0 + step,
            "completions/max_length": 200.0, "num_tokens": 1000.0 * step, "epoch": step / 100, "step": step, **more}  # fmt: skip


def state(history: list[dict[str, Any]], **more: Any) -> bytes:
    document = {"best_metric": None, "epoch": 1.0, "eval_steps": 500, "global_step": 40, "log_history": history, "logging_steps": 5,
                "max_steps": 100, "num_train_epochs": 3, "save_steps": 20, "train_batch_size": 16, **more}  # fmt: skip
    return json.dumps(document, indent=2).encode()


def read(data: bytes, name: str = "trainer_state.json") -> Run:
    return parsers.read(data, name=name)


def test_settings_rows_and_spans() -> None:
    run = read(state([row(step, step_time=2.5) for step in range(5, 41, 5)]))
    assert run.info.format == "trainer_state"
    assert run.steps["step"].to_list() == list(range(5, 41, 5))
    assert run.steps["span"].to_list() == [5] * 8
    assert run.steps["step_s"].to_list() == [2.5] * 8
    assert run.steps["tokens"].to_list() == [1000.0] * 8
    assert run.steps["elapsed_s"].null_count() == 8
    settings = {"total_steps": 100, "logging_steps": 5, "save_steps": 20, "per_device_batch": 16, "epochs": 3}
    assert {name: run.info.setting(name) for name in settings} == settings
    assert run.info.setting("eval_steps") is None  # a default: nothing was evaluated
    assert run.info.ended is None
    assert not any(note.kind == "missing" for note in run.notes)


def test_without_any_time_the_file_says_so() -> None:
    run = read(state([row(step) for step in range(5, 41, 5)]))
    assert run.steps["step_s"].null_count() == 8
    assert run.steps["at"].null_count() == 8
    told = [note.text for note in run.notes if note.kind == "missing"]
    assert len(told) == 1
    assert "no timing in this file" in told[0]
    assert "step_time" in told[0]
    assert "tensorboard" in told[0]


def test_evaluations_and_the_end_are_no_rows() -> None:
    history = [row(step) for step in range(5, 41, 5)]
    history.insert(4, {"eval_loss": 0.4, "eval_reward": 0.5, "eval_runtime": 12.5, "epoch": 0.2, "step": 20})
    history.append({"train_runtime": 90.5, "train_samples_per_second": 7.0, "train_steps_per_second": 0.44, "train_loss": 0.2,
                    "total_flos": 0.0, "epoch": 0.4, "step": 40})  # fmt: skip
    run = read(state(history, max_steps=40, eval_steps=20))
    assert run.steps["step"].to_list() == list(range(5, 41, 5))
    assert run.events.filter(run.events["kind"] == "evaluation").select("step", "seconds").rows() == [(20, 12.5)]
    assert run.extra.filter(run.extra["step"] == 20)["eval_reward"].to_list() == [0.5]
    assert run.info.train_runtime_s == 90.5
    assert run.info.ended == "finished"
    assert run.info.setting("eval_steps") == 20


@pytest.mark.parametrize("name", ["step_logs.json", "history.json"])
def test_a_plain_dump_of_the_history(name: str) -> None:
    data = json.dumps([row(step, step_time=1.0) for step in range(1, 31)]).encode()
    run = read(data, name)
    assert run.info.format == "trainer_state"
    assert run.steps["step"].to_list() == list(range(1, 31))
    assert run.info.setting("total_steps") is None


def test_a_dump_of_several_sessions_opens_segments() -> None:
    steps = [*range(1, 11), *range(6, 16)]
    run = read(json.dumps({"log_history": [row(step) for step in steps]}).encode())
    assert run.steps["step"].to_list() == steps
    assert run.steps["segment"].to_list() == [0] * 10 + [1] * 10
    assert run.steps["tokens"][10] is None


def test_a_cut_file_is_read_as_far_as_it_goes() -> None:
    data = state([row(step, step_time=1.0) for step in range(1, 31)])
    run = read(data[: len(data) // 2])
    assert 5 < run.steps.height < 30
    assert run.steps["step"].to_list() == list(range(1, run.steps.height + 1))
    assert any(note.kind == "repaired" for note in run.notes)


def test_entries_that_are_no_rows_are_counted() -> None:
    run = read(state([row(1), "text", {"loss": 1.0, "epoch": 0.1}, {"loss": 1.0, "step": "x"}, row(2, reward=None)]))  # type: ignore[list-item]
    assert run.steps["step"].to_list() == [1, 2]
    assert run.steps["reward"].to_list() == [0.4, None]
    assert sum(note.count for note in run.notes if note.kind == "skipped") == 3


def test_hostile_documents_do_not_raise() -> None:
    nested = b'{"log_history": ' + b"[" * 100_000
    for data in (
        nested,
        b'{"log_history": null}',
        b'{"log_history": [{"step": 1e400, "loss": NaN}]}',
        b'{"log_history": {"a": 1}}',
    ):
        assert read(data).steps.height == 0
