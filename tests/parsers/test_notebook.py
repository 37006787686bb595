"""Notebooks: the trainer's display, settings in the source, printed logs of other formats, several runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parsers import detect, read, read_all
from parsers.notebook_code import Names
from parsers.notebook_html import read as read_html

NEW = ["Step", "Training Loss", "reward", "reward_std", "completions / mean_length", "completions / max_length", "kl"]
OLD = ["Step", "Training Loss", "reward", "reward_std", "completion_length", "kl"]
BANNER = (
    "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
    "   \\\\   /|    Num examples = 640 | Num Epochs = 2 | Total steps = 80\n"
    "O^O/ \\_/ \\    Batch size per device = 8 | Gradient accumulation steps = 2\n"
    "\\        /    Data Parallel GPUs = 1 | Total batch size (8 x 2 x 1) = 16\n"
)
SOURCE = (
    "%pip install unsloth\nmax_seq_length = 1024\nmax_prompt_length = 256\nargs = GRPOConfig(\n"
    "    learning_rate = 5e-6,\n    num_generations = 8, # G\n    max_completion_length = max_seq_length - max_prompt_length,\n"
    "    # num_train_epochs = 9,\n    logging_steps = 1,\n    output_dir = 'out',\n)\n"
)


def display(header: list[str], rows: list[list[float | str]], progress: str) -> dict[str, Any]:
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    html = (
        f"<div><progress value='1' max='2'></progress>{progress}</div>"
        f'<table border="1" class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>'
    )
    data = {"text/html": [html[:50], html[50:]], "text/plain": "<IPython.core.display.HTML object>"}
    return {"output_type": "display_data", "data": data}


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}


def error(name: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": "", "traceback": ["Traceback ..."]}


def notebook(*cells: tuple[str, list[dict[str, Any]]]) -> bytes:
    made = [{"cell_type": "code", "source": source, "outputs": outputs} for source, outputs in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# T"]}, *made], "nbformat": 4}).encode()


def rows(count: int, width: int, every: int = 1) -> list[list[float | str]]:
    return [
        [every * at, f"{0.1 * at:.6f}", *(f"{at + column:.6f}" for column in range(width - 2))]
        for at in range(1, count + 1)
    ]


def test_table_progress_and_settings() -> None:
    shown = display(NEW, rows(4, 7), "[ 4/80 1:30:03 < 28:30:57, 0.00 it/s, Epoch 0.10/2]")
    run = read(notebook((SOURCE, []), ("trainer.train()", [stream(BANNER, "stderr"), shown])), name="grpo.ipynb")
    assert (run.info.format, run.info.framework, run.info.name) == ("notebook", "TRL", "grpo")
    assert run.steps["step"].to_list() == [1, 2, 3, 4]
    assert run.steps["loss"].to_list() == [0.1, 0.2, 0.3, 0.4]
    assert run.steps["len_mean"].to_list() == [3.0, 4.0, 5.0, 6.0]
    assert run.steps["len_max"].to_list() == [4.0, 5.0, 6.0, 7.0]
    progress = run.progress.row(0, named=True)
    assert (progress["step"], progress["total"]) == (4, 80)
    assert (progress["elapsed_s"], progress["remaining_s"]) == (5403.0, 102657.0)
    told = {name: setting.value for name, setting in run.info.settings.items()}
    assert told["total_steps"] == 80
    assert told["sequences_per_step"] == 16
    assert told["group_size"] == 8
    assert told["max_tokens"] == 768
    assert told["epochs"] == 2
    assert told["learning_rate"] == 5e-6
    assert run.info.ended is None


def test_finished_and_the_older_names() -> None:
    end = {
        "output_type": "execute_result",
        "data": {
            "text/plain": "TrainOutput(global_step=20, training_loss=0.1, metrics={'train_runtime': 640.25, 'x': 1})"
        },
    }
    shown = display(OLD, rows(20, 6), "[20/20 10:33, Epoch 0/1]")
    run = read(notebook(("trainer.train()", [shown, end])), name="grpo.ipynb")
    assert run.steps["len_mean"].to_list() == [float(step + 2) for step in range(1, 21)]
    assert run.info.ended == "finished"
    assert run.info.train_runtime_s == 640.25
    assert run.progress.select("step", "total", "elapsed_s", "remaining_s").rows() == [(20, 20, 633.0, None)]


@pytest.mark.parametrize(("name", "ended"), [("KeyboardInterrupt", "interrupted"), ("OutOfMemoryError", "crashed")])
def test_stopped(name: str, ended: str) -> None:
    shown = display(OLD, rows(3, 6), "[ 3/20 01:30 < 12:00, 0.02 it/s, Epoch 0.1/1]")
    assert read(notebook(("trainer.train()", [shown, error(name)])), name="a.ipynb").info.ended == ended


def test_loss_only_every_tenth_step_and_no_log() -> None:
    header = ["Step", "Training Loss", "Validation Loss"]
    shown = display(
        header, [[10, "No log", "0.5"], [20, "0.4", "0.45"]], "[20/30 1 day, 1:00:00 < 12:30:00, Epoch 1/2]"
    )
    run = read(notebook(("t", [shown])), name="a.ipynb")
    assert run.events.filter(kind="evaluation")["step"].to_list() == [10, 20]
    assert run.steps.select("step", "loss").rows() == [(20, 0.4)]
    assert run.progress["elapsed_s"].to_list() == [90000.0]


def test_each_training_display_is_a_run() -> None:
    first = display(OLD, rows(3, 6), "[3/3 00:30, Epoch 1/1]")
    second = display(NEW, rows(5, 7, every=5), "[25/25 10:00, Epoch 1/1]")
    runs = read_all(notebook(("a", [first]), ("b", [second])), name="two.ipynb")
    assert [(run.info.name, run.steps.height) for run in runs] == [("two #1", 3), ("two #2", 5)]
    assert runs[1].steps["span"].to_list() == [5] * 5


def test_printed_log_of_another_format() -> None:
    lines = [
        f"step:{step} - timing_s/gen:4.5 - timing_s/step:{9 + step}.5 - response_length/mean:80.25 - critic/score/mean:0.5\n"
        for step in range(1, 6)
    ]
    run = read(notebook(("!python train.py", [stream("".join(lines))])), name="verl.ipynb")
    assert run.info.framework == "verl"
    assert run.info.name == "verl"
    assert run.steps["step_s"].to_list() == [10.5, 11.5, 12.5, 13.5, 14.5]


def test_prose_is_no_run() -> None:
    text = "Step 1: first we add 3 and 4.\nreward 0.5 for step 1\n| a | b |\nDone in 3s\n"
    run = read(notebook(("print(x)", [stream(text)])), name="prose.ipynb")
    assert not run.has_steps
    assert "no training output" in run.notes[0].text


def test_a_batch_that_the_group_does_not_divide_counts_prompts() -> None:
    banner = BANNER.replace("Total batch size (8 x 2 x 1) = 16", "Total batch size = 3")
    shown = display(OLD, rows(3, 6), "[3/3 00:30, Epoch 1/1]")
    run = read(notebook((SOURCE, []), ("t", [stream(banner), shown])), name="a.ipynb")
    assert run.info.setting("prompts_per_step") == 3
    assert run.info.setting("sequences_per_step") == 24


def test_source_is_read_never_run() -> None:
    names = Names()
    names.take("G = 4\nlimit = 2 ** 10\nbig = 10 ** 9 * 10 ** 9")
    found = names.take(
        "import os\nc = trl.GRPOConfig(num_generations=G * 2, max_steps=limit, beta=-0.5, x=open('f'), save_steps=7 // 0)\n"
        "d = LoraConfig(r=8)\ne = GRPOConfig(**kw)"
    )
    assert found == {"num_generations": 8, "beta": -0.5}
    assert names.take("def f(:\n") == {}
    assert names.take("(" * 50_000) == {}


def test_html_of_other_displays() -> None:
    assert not read_html("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>").trains
    assert not read_html("<progress></progress>[16/16 00:12]").trains
    assert not read_html("<table><tr><th>Step</th><th>Training Loss</th>").done


def test_detected_and_damaged() -> None:
    whole = notebook(("t", [display(OLD, rows(3, 6), "[3/3 00:30, Epoch 1/1]")]))
    found, confidence = detect(whole, name="x")
    assert found is not None
    assert (found.name, confidence.sure.name) == ("notebook", "CERTAIN")
    for end in range(1, len(whole) - 1, 61):
        assert not read(whole[:end], name="x.ipynb").has_steps
    odd: dict[str, Any] = {
        "cells": [None, 3, {"outputs": "x"}, {"outputs": [None, {"data": 5}, {"data": {"text/html": {}}}]}]
    }
    assert not read(json.dumps(odd).encode(), name="x.ipynb").has_steps
