"""Every fetched run against the table of runs: steps, plan, sessions and total time, as independent scripts read them.

The values of single rows (`expected.csv`) are compared by the tests of each format; the last test here sees to it that no
run is left out there.
"""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers import read_all
from tests.conftest import corpus_folder
from tests.corpus import test_frameworks_corpus, test_lines_corpus, test_trl_corpus, test_verl_corpus
from timeledger.clock import clock
from timeledger.run import Run

pytestmark = pytest.mark.corpus

BESIDE = {"source.json", "expected.csv", "norm.csv", "bars.csv", "steps.csv"}
#: Runs whose table counts other rows: (steps, last step) that are right, and why. The test below shows it from the log.
COUNTED = {
    "trl-xling-openr1-100": (10, 50, "the table counts states of the bar: ten dicts, one every 5 steps"),
    "verl-tb-async-7b": (105, 105, "the last step has no timing_s/step (it ended in a checkpoint), all else is there"),
    "verl-tb-base-7b": (105, 105, "as above"),
    "Ning-Guo-hotpotqa-agent__logs-sft.log": (30, 1500, "1524 steps / 30 rows is no interval: 50, by the epochs"),
}


def rows_of_truth() -> list[dict[str, str]]:
    folder = corpus_folder()
    if folder is None:
        return []
    with (folder / "truth.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def log_of(folder: Path) -> Path:
    return next(path for path in sorted(folder.iterdir()) if path.name not in BESIDE)


def sessions(runs: tuple[Run, ...]) -> list[tuple[Run, int, pl.DataFrame]]:
    """(run, number of the session in it, its rows), oldest first."""
    return [
        (run, at, run.steps.filter(segment=segment))
        for run in runs
        for at, segment in enumerate(run.steps["segment"].unique().sort())
    ]


def seconds(run: Run, at: int, want: dict[str, Any], folder: Path) -> float | None:
    """What the clock says of a session up to its last step; the table's own measure where it leaves the first step out."""
    found = clock(run)
    elapsed = found.segments[at].elapsed_s if len(found.segments) > 1 else found.elapsed_s
    if elapsed is not None and found.source == "timestamps" and at == len(found.segments) - 1:
        elapsed -= after_the_last_step(run)
    if elapsed is None or not want["total_from"].startswith("event times"):
        return elapsed
    with (folder / "expected.csv").open(newline="") as stream:
        first = next(row for row in csv.DictReader(stream) if int(row["segment"]) == at)
    return elapsed - float(first["cycle_s"])


def after_the_last_step(run: Run) -> float:
    """Seconds from the last step to the last evaluation or checkpoint behind it, by their time stamps."""
    work = run.events.filter(pl.col("kind").is_in(["evaluation", "checkpoint"]))
    last, worked = run.steps["at"].max(), work["at"].max()
    if isinstance(last, datetime) and isinstance(worked, datetime):
        return max((worked - last).total_seconds(), 0.0)
    return 0.0


@pytest.mark.parametrize("want", rows_of_truth(), ids=lambda row: row["path"].rsplit("/", 1)[-1][-48:])
def test_a_run_of_the_table(corpus: Path, want: dict[str, Any]) -> None:
    folder = corpus / want["path"]
    runs = read_all(log_of(folder))
    parts = sessions(runs)
    if "segments" in want["notes"]:
        assert len(parts) == int(want["notes"].rsplit(" ", 1)[-1])
    if not parts:
        assert want["steps_logged"] == "0"
        return
    run, at, rows = max(parts, key=lambda part: part[2].height)
    steps, last, _ = COUNTED.get(folder.name, (int(want["steps_logged"]), float(want["last_step"]), ""))
    assert rows.height == steps
    bar = run.progress["step"].max() if run.info.format == "trl" else None
    assert last in {rows["step"][-1], bar}  # the table's last step is the bar's where that went on behind the last row
    if want["total_steps"]:
        assert run.info.number("total_steps") == float(want["total_steps"])
    if want["total_s"]:
        assert seconds(run, at, want, folder) == pytest.approx(float(want["total_s"]), rel=0.02)


def test_what_the_table_counts_otherwise_is_shown_by_the_log(corpus: Path) -> None:
    console = corpus / "fetched" / "console"
    log = log_of(console / "trl-xling-openr1-100").read_bytes()
    assert log.count(b"{'loss':") == 10
    for name in ("verl-tb-async-7b", "verl-tb-base-7b"):
        (run,) = read_all(log_of(console / name))
        last = run.steps.row(-1, named=True)
        assert last["step_s"] is None
        assert None not in (last["len_mean"], last["reward"], last["at"])
        assert "save_checkpoint" in run.phases.filter(step=105)["name"].to_list()
    (run,) = read_all(log_of(corpus / "fetched" / "hf" / "Ning-Guo-hotpotqa-agent__logs-sft.log"))
    a_step = run.steps["epoch"] / run.steps["step"]
    assert a_step.max() == pytest.approx(a_step.min(), rel=0.06)  # two decimals
    assert a_step.median() == pytest.approx(3 / 1524, rel=0.005)  # 1524 steps are three epochs


@pytest.mark.usefixtures("corpus")
def test_the_rows_of_every_run_are_compared_by_the_tests_of_its_format() -> None:
    names = {Path(row["path"]).name for row in rows_of_truth() if int(row["steps_logged"])}
    compared = {
        *(Path(path).name for path in test_trl_corpus.fetched()),
        "trl-xling-openr1-100",  # test_trl_corpus, a test of its own
        *test_verl_corpus.RUNS,
        "verl-notebook-getting-started",  # test_verl_corpus, a test of its own
        *(Path(path).parent.name for path in test_lines_corpus.RUNS),
        *test_frameworks_corpus.AREAL,
        "slime-modal-notebook",  # test_frameworks_corpus.test_slime_notebook
        *(name for name in names if name.startswith("tinker-")),  # test_frameworks_corpus.test_tinker
        *(name for name in names if name.startswith("verl-tb-")),  # test_trackers_corpus.test_fetched_event_files
        *(name for name in names if name.endswith(".ipynb")),  # test_trackers_corpus.test_fetched_notebooks_of_trainers
    }
    assert names <= compared
