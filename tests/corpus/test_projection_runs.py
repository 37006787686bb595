"""Projections on real runs, cut as a live reader would have met them; totals are those of the runs' own ground truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsers import read
from timeledger.analysis import analyse
from timeledger.clock import clock
from timeledger.cutting import cut_after
from timeledger.results import Analysis
from timeledger.run import Run

pytestmark = pytest.mark.corpus


def true_total(folder: Path) -> float:
    """Seconds from the beginning of training to the end of the last step, from the trainer's own record beside the log."""
    marks = [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    begun = next(each["t"] for each in marks if each["ev"] == "train_begin")
    return float(max(each["t"] for each in marks if each["ev"] == "step_end") - begun)


def events_of(folder: Path) -> Run:
    return read(sorted(folder.glob("output/runs/**/events.*"))[0])


def holds(found: Analysis, truth: float) -> bool:
    total = found.projection.total_s
    return total is not None and total.low <= truth <= total.high


def test_growing_answers_after_a_fifth_of_the_run(corpus: Path) -> None:
    folder = corpus / "made" / "trl" / "grpo-longer"
    run = cut_after(events_of(folder), 0, 24)
    found = analyse(run)
    truth = true_total(folder)
    assert holds(found, truth)
    elapsed = found.clock.elapsed_s
    assert elapsed is not None
    assert elapsed / 24 * 120 < 0.7 * truth, "the plain mean is far too short here"
    said = " ".join(found.projection.because)
    assert "Answers grew" in said
    assert "256" in said


@pytest.mark.parametrize("name", ["grpo-growth-slow", "grpo-mu2-spg"])
def test_interval_holds_the_truth_at_a_fifth(corpus: Path, name: str) -> None:
    folder = corpus / "made" / "trl" / name
    whole = events_of(folder)
    steps = clock(whole).position
    assert steps is not None
    assert holds(analyse(cut_after(whole, 0, steps // 5)), true_total(folder))


def test_announced_evaluations_are_priced_before_one_was_seen(corpus: Path) -> None:
    folder = corpus / "made" / "trl" / "grpo-eval-save-mlflow"
    run = read(next(each for each in (folder / "mlruns").glob("0/*") if each.is_dir() and (each / "params").is_dir()))
    found = analyse(cut_after(run, 0, 12))
    assert holds(found, true_total(folder))
    assert any("3 evaluations to come (every 20 steps" in each for each in found.projection.because)


def test_a_resumed_run_at_a_fifth_of_its_second_session(corpus: Path) -> None:
    folder = corpus / "made" / "trl" / "grpo-resumed-append"
    whole = read(folder / "console.log")
    done = clock(whole)
    assert len(done.segments) == 2
    assert done.elapsed_s is not None
    second = done.segments[1]
    cut = cut_after(whole, second.index, second.first_step + (second.last_step - second.first_step) // 5)
    assert holds(analyse(cut), done.elapsed_s)
