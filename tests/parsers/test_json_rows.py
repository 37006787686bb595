"""JSON documents of rows: lists of objects, lists of numbers, beside a configuration, whole or cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest

import parsers
from timeledger.errors import UnknownFormat
from timeledger.run import Run

ROWS = [
    {"step": step, "reward": 0.2 + 0.01 * step, "mean_length": 150.0 + step, "step_time": 20.0 + step}
    for step in range(1, 9)
]


def read(document: Any, **how: Any) -> Run:
    return parsers.read(json.dumps(document, **how).encode(), name="history.json")


def check(run: Run) -> None:
    assert run.info.format == "json"
    told = run.steps.select("step", "reward", "len_mean", "step_s").rows()
    assert told == [(row["step"], row["reward"], row["mean_length"], row["step_time"]) for row in ROWS]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_rows(indent: int | None) -> None:
    check(read(ROWS, indent=indent))


def test_one_list_a_metric() -> None:
    check(read({name: [row[name] for row in ROWS] for name in ROWS[0]}))


def test_lists_without_step_numbers_are_counted() -> None:
    run = read({"rewards": [0.1, 0.2, 0.3], "losses": [1.0, 0.9, 0.8], "step_times": [20.0, 21.0, 22.0], "best": [0.3]})
    assert run.steps.select("step", "reward", "loss", "step_s").rows() == [
        (1, 0.1, 1.0, 20.0),
        (2, 0.2, 0.9, 21.0),
        (3, 0.3, 0.8, 22.0),
    ]
    assert any(note.kind == "guessed" for note in run.notes)


def test_rows_beside_a_configuration_and_an_evaluation() -> None:
    document = {
        "config": {"num_generations": 8},
        "eval": [{"step": 4, "reward": 9.0, "loss": 1.0}] * 30,
        "history": ROWS,
    }
    run = read(document, indent=2)
    check(run)
    assert run.info.setting("group_size") == 8


def test_a_document_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    text = json.dumps(ROWS, indent=2)
    run = parsers.read(text[: text.index('"step": 6')].encode(), name="history.json")
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5]
    assert any("not complete" in note.text for note in run.notes)


@pytest.mark.parametrize("between", ["\n", "\n\n", ",\n", " "])
@pytest.mark.parametrize("name", ["metrics.jsonl", "history.json", "train.log"])
def test_rows_over_several_lines_one_after_the_other(between: str, name: str) -> None:
    text = between.join(json.dumps(row, indent=2) for row in ROWS)
    run = parsers.read(text.encode(), name=name)
    check(run)
    assert run.notes == ()
    cut = parsers.read(text[: text.index('"step": 6')].encode(), name=name)
    assert cut.steps["step"].to_list() == [1, 2, 3, 4, 5]
    assert any("not complete" in note.text for note in cut.notes)


@pytest.mark.parametrize(
    "document",
    [
        {"name": "app", "scripts": [{"step": 1, "run": "build"}, {"step": 2, "run": "test"}]},
        [{"id": 1, "length": 12.0}, {"id": 2, "length": 15.0}],
        {"loss": [0.5, 0.4], "accuracy": [0.6, 0.7]},
        [{"step": step, "prompt": "2+2?", "completion": "4", "reward": 1.0} for step in range(9)],
    ],
)
def test_other_documents_are_no_runs(document: Any) -> None:
    with pytest.raises(UnknownFormat):
        read(document, indent=1)


def test_saved_answers_are_no_rows_of_the_log() -> None:
    text = "".join(
        json.dumps({"step": step, "prompt": "2+2?", "completion": "Step 1: 4", "reward": 1.0}) + "\n"
        for step in range(9)
    )
    with pytest.raises(UnknownFormat):
        parsers.read(text.encode(), name="rollouts.jsonl")


def test_rows_of_every_rank_are_the_first_ones() -> None:
    text = "".join(
        json.dumps({"step": step, "rank": rank, "reward": step / 10 + rank, "time": 20.0 + rank}) + "\n"
        for step in (1, 2, 3)
        for rank in (0, 1, 2, 3)
    )
    run = parsers.read(text.encode(), name="metrics.jsonl")
    assert run.steps.select("segment", "step", "reward").rows() == [(0, 1, 0.1), (0, 2, 0.2), (0, 3, 0.3)]
    assert any("another rank" in note.text and note.count == 9 for note in run.notes)


@pytest.mark.parametrize("indent", ["lines", "document"])
def test_a_history_given_out_by_wandb_is_numbered_by_the_trainer(indent: str) -> None:
    """Its own counter counts rows, and TRL's profiler writes rows of its own."""
    rows: list[dict[str, Any]] = []
    for step in range(1, 6):
        for name, seconds in (("transformers.generate", 12.0), ("compute_loss", 3.0)):
            rows.append({"train/global_step": step - 1, f"profiling/Time taken: GRPOTrainer.{name}": seconds})
        rows.append({"train/global_step": step, "train/loss": 0.1, "train/reward": 0.1 * step, "train/step_time": 20.0})
    rows = [
        {**row, "_step": at, "_timestamp": 1772445600.0 + 10 * at, "_runtime": 10.0 * at} for at, row in enumerate(rows)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) if indent == "lines" else json.dumps(rows)
    run = parsers.read(text.encode(), name="history.json")
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5]
    assert run.steps["step_s"].to_list() == [20.0] * 5
    generated = run.phases.filter(run.phases["phase"] == "rollout")
    assert generated.select("step", "seconds").sort("step").rows() == [(step, 12.0) for step in range(1, 6)]
