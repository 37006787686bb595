"""The copies of a console that W&B keeps (`files/output.log`), read alone, against the truth beside the runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsers import read
from tests.conftest import corpus_folder

pytestmark = pytest.mark.corpus


def copies() -> list[Path]:
    folder = corpus_folder()
    return sorted(folder.glob("made/trl/*/wandb/*run-*/files/output.log")) if folder else []


@pytest.mark.parametrize("path", copies(), ids=lambda path: path.parents[3].name)
def test_a_copy_of_a_console_has_the_steps_that_were_logged(path: Path) -> None:
    truth = [json.loads(line) for line in (path.parents[3] / "truth.jsonl").read_text().splitlines()]
    logged = sorted({row["step"] for row in truth if row["ev"] == "log" and row["step"] > 0})
    run = read(path)
    steps = run.steps["step"].to_list()
    assert steps == logged[: len(steps)]
    # a killed process takes along what its buffer held: 8 KiB are about ten dicts
    assert len(logged) - len(steps) <= (0 if run.info.ended else 10)
    assert run.steps["span"].to_list() == [logged[1] - logged[0]] * len(steps)
    assert steps[-1] <= run.info.number("total_steps")


def test_there_are_copies(corpus: Path) -> None:
    assert len(list(corpus.glob("made/trl/*/wandb/*run-*/files/output.log"))) == len(copies()) >= 9
