"""Times that stand in a row without a name: in brackets at its end, or between two bars."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from parsers import read, read_all
from timeledger.clock import clock

FORMS = ["({}s)", "[{}s]", "(took {}s)", "(in {} sec)", "in {}s", "- {}s", "({} seconds)", "| {}s"]
HEADS = ["Step {:2d}: loss = {:.4f} ", "epoch {} | loss {:.4f} ", "Epoch {}/12: train_loss={:.4f} "]
#: `Epoch 3: .. (took 6.7s)` sums up an epoch of a loop whose steps may have rows of their own.
CASES = [(head, form) for head in HEADS for form in FORMS if "took" not in form or head.startswith("Step")]


@pytest.mark.parametrize(("head", "form"), CASES)
def test_the_seconds_at_the_end_of_a_row_are_the_steps(head: str, form: str) -> None:
    took = [6.7, 6.5, 6.6, 6.9, 6.4, 6.7, 7.1, 6.5, 6.8, 6.6]
    text = "".join(f"{head.format(n, 2.5 - n / 10)} {form.format(seconds)}\n" for n, seconds in enumerate(took))
    run = read(text.encode(), name="train.log")
    assert run.steps["step_s"].to_list() == took
    assert clock(run).elapsed_s == pytest.approx(sum(took))


def test_cells_of_a_notebook_that_print_them_are_a_run_each(tmp_path: Path) -> None:
    def cell(seconds: float, rows: int) -> dict[str, object]:
        lines = [f"Step {n:2d}: loss = {2.0 - n / 10:.4f}  ({seconds + n % 3:.1f}s)\n" for n in range(rows)]
        output = {"output_type": "stream", "name": "stdout", "text": lines}
        return {"cell_type": "code", "source": [], "outputs": [output]}

    document = {"cells": [cell(2.0, 15), cell(6.5, 10)], "nbformat": 4, "metadata": {}}
    path = tmp_path / "first.ipynb"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert [run.steps["step_s"].count() for run in read_all(path)] == [15, 10]


def test_rows_that_tell_an_evaluation_instead_of_the_batch_are_steps_too() -> None:
    """Every fifth row holds what a test found, and the clock goes on in it."""
    at, lines = 0, []
    for n in range(30):
        at += 80 if n % 5 == 1 and n > 1 else 45
        found = "test: 91.5%" if n % 5 == 0 else f"solved: {20 + n % 9}/32"
        lines.append(f"GRPO step {n:2d} | sample_acc: {40 + n}% | {found} | {at}s elapsed, ~{30 - n}min remaining\n")
    run = read("".join(lines).encode(), name="train.log")
    assert run.steps["step"].to_list() == list(range(30))
    assert run.steps["elapsed_s"].null_count() == 0
    assert clock(run).elapsed_s == pytest.approx(at, abs=1.0)
    assert run.events.filter(pl.col("kind") == "evaluation")["step"].to_list() == [0, 5, 10, 15, 20, 25]


def test_an_epochs_own_line_with_nothing_but_a_time_is_no_row() -> None:
    rows = [
        f"step {n} | loss {2 - n / 20:.3f} | time {3 + n % 2}.5s\n" + (f"Epoch {n // 5}: 19.5s\n" if n % 5 == 4 else "")
        for n in range(20)
    ]
    run = read("".join(rows).encode(), name="train.log")
    assert run.steps["step_s"].to_list() == [3.5 + n % 2 for n in range(20)]


@pytest.mark.parametrize("form", ["(62.5s)", "time=62.5s", "- 62.5s"])
def test_what_an_epoch_took_is_no_time_of_its_last_step(form: str) -> None:
    rows = [f"step {n} | loss {2 - n / 60:.3f}\n" for n in range(50)]
    for n in range(9, 50, 10):
        rows[n] += f"Epoch {n // 10}: train_loss=0.51 {form}\n"
    run = read("".join(rows).encode(), name="train.log")
    assert run.steps.height == 50
    assert run.steps["step_s"].null_count() == 50
