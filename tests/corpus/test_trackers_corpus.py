"""Event files, W&B, trackio and MLflow of real runs: against the ground truth, against each other, against other readings."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers import FORMATS, read, read_all
from parsers.mlflow import read_file_store
from tests.conftest import corpus_folder
from timeledger.run import Run

pytestmark = pytest.mark.corpus
#: TensorBoard keeps 32-bit floats.
FLOAT32 = 1.2e-7
COMPARED = ("step_s", "len_mean", "len_max", "reward", "truncated", "entropy", "grad_norm", "tokens")


def made(pattern: str) -> list[Path]:
    folder = corpus_folder()
    return sorted((folder / "made" / "trl").glob(pattern)) if folder else []


def fetched(pattern: str) -> list[Path]:
    folder = corpus_folder()
    return sorted((folder / "fetched").glob(pattern)) if folder else []


def truth(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "truth.jsonl").read_text().splitlines()]


def name(path: Path) -> str:
    parts = path.parts
    return parts[parts.index("trl") + 1] if "trl" in parts else path.parent.name


def values(run: Run, column: str) -> dict[int, float]:
    rows = run.steps.filter(pl.col(column).is_not_null()).select("step", column).iter_rows()
    return dict(rows)


def agree(one: Run, other: Run, rel: float, columns: tuple[str, ...] = COMPARED) -> int:
    """Compare the columns that both runs hold, at the steps that both hold; how many values were compared."""
    compared = 0
    for column in columns:
        left, right = values(one, column), values(other, column)
        for step in left.keys() & right.keys():
            assert left[step] == pytest.approx(right[step], rel=rel, abs=1e-9), (column, step)
            compared += 1
    return compared


EVENTS = made("*/output/runs/*/events*")


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: f"{name(path)}-{path.parent.name[-11:]}")
def test_event_file_against_the_truth(path: Path) -> None:
    folder = path.parents[3]
    run, known = read(path), truth(folder)
    assert not [note for note in run.notes if note.kind in {"skipped", "warning"}]
    assert run.steps["segment"].unique().to_list() == [0]
    files = sorted(folder.glob("output/runs/*/events*"))
    if path != files[-1]:  # the session that was killed: the truth beside it is the second session's
        assert run.steps["step"].to_list() == list(range(1, 54))
        return
    logged = {each["step"] for each in known if each["ev"] == "log"}
    shift = (
        1 if 0 in logged else 0
    )  # the older RLOO's trainer state counts from 0, its episodes (and the product) from 1
    assert set(run.steps["step"]) == {step + shift for step in logged}
    _times(run, known, shift)
    _step_times(run, known)


def _times(run: Run, known: list[dict[str, Any]], shift: int) -> None:
    first: dict[int, float] = {}
    for each in known:
        if each["ev"] == "log":
            first.setdefault(each["step"] + shift, each["t"])
    seen = {step: at.timestamp() for step, at in run.steps.select("step", "at").iter_rows()}
    late = [abs(seen[step] - first[step]) for step in seen]
    assert max(late) < 1.5
    assert sorted(late)[len(late) // 2] < 0.1


def _step_times(run: Run, known: list[dict[str, Any]]) -> None:
    took: dict[int, float] = defaultdict(float)
    for each in known:
        if each["ev"] == "phase" and each["phase"] == "training_step" and each.get("mode", "train") == "train":
            took[each["step"] + 1] += each["dur"]
    processes = sum(each["ev"] == "process_start" for each in known)
    spans: dict[int, int] = dict(run.steps.select("step", "span").iter_rows())
    for step, step_s in values(run, "step_s").items():
        mine = [took[each] for each in range(step - spans[step] + 1, step + 1)]
        assert step_s == pytest.approx(
            sum(mine) / len(mine) / processes, rel=0.02 if processes == 1 else 0.1, abs=0.01
        ), step


OTHERS = [*made("*/wandb/*/run-*.wandb"), *made("*/trackio/*.db"), *made("*/mlflow.db"), *made("*/mlruns")]


def any_read(path: Path) -> Run:
    return read_file_store(path)[0] if path.is_dir() else read(path)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{name(path)}-{path.suffix or 'mlruns'}")
def test_other_trackers_against_truth_and_event_file(path: Path) -> None:
    folder = made(name(path))[0]
    run, known = any_read(path), truth(folder)
    if name(path) != "grpo-killed-buffered":  # W&B's last rows were lost with the process
        logged = {each["step"] for each in known if each["ev"] == "log"}
        assert set(run.steps["step"]) == logged
    _step_times(run, known)
    files = sorted(folder.glob("output/runs/*/events*"))
    if files:
        assert agree(run, read(files[-1]), FLOAT32) >= 3 * run.steps.height


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{name(path)}-{path.suffix or 'mlruns'}")
def test_phases_make_up_the_step(path: Path) -> None:
    folder = made(name(path))[0]
    run, known = any_read(path), truth(folder)
    top = run.phases.filter(pl.col("parent").is_null())
    sums = top.group_by("segment", "step").agg(pl.col("seconds").sum().alias("sum"))
    both = sums.join(run.steps.select("segment", "step", "step_s"), on=["segment", "step"])
    assert both.height == run.steps.height
    assert (both["sum"] - both["step_s"]).abs().max() < 1e-6  # type: ignore[operator]
    generated = sum(
        each["dur"]
        for each in known
        if each["ev"] == "phase" and each["phase"] == "generate" and each.get("mode") == "train"
    )
    spans = run.steps.select("segment", "step", "span")
    rollout = top.filter(phase="rollout").join(spans, on=["segment", "step"])
    if name(path) != "grpo-killed-buffered":
        assert float((rollout["seconds"] * rollout["span"]).sum()) == pytest.approx(
            generated, rel=0.12
        )  # the truth's stretch is wider


def test_one_run_in_four_trackers(corpus: Path) -> None:
    folder = corpus / "made" / "trl" / "grpo-longer"
    event, trackio, mlflow = (
        read(next(folder.glob(pattern))) for pattern in ("output/runs/*/events*", "trackio/*.db", "mlflow.db")
    )
    assert agree(trackio, mlflow, 1e-12) > 800
    assert agree(event, mlflow, FLOAT32) > 800
    assert (
        trackio.phases.sort("step", "name")
        .select("step", "name", "seconds")
        .equals(mlflow.phases.sort("step", "name").select("step", "name", "seconds"))
    )
    for run in (event, trackio, mlflow):
        assert run.info.setting("total_steps") == 120
        assert run.info.setting("max_tokens") == 256


def test_evaluations_of_the_file_store(corpus: Path) -> None:
    run = read_file_store(corpus / "made" / "trl" / "grpo-eval-save-mlflow" / "mlruns")[0]
    events = run.events.filter(kind="evaluation")
    assert events["step"].to_list() == [20, 40, 60]
    known = [
        each
        for each in truth(corpus / "made/trl/grpo-eval-save-mlflow")
        if each["ev"] == "phase" and each["phase"] == "evaluate"
    ]
    assert events["seconds"].to_list() == pytest.approx([each["dur"] for each in known[:3]], rel=0.05, abs=0.1)


@pytest.mark.parametrize(
    ("run", "ended"), [("grpo-sigint", "interrupted"), ("rloo", "finished"), ("grpo-killed-buffered", None)]
)
def test_how_runs_ended(corpus: Path, run: str, ended: str | None) -> None:
    path = next((corpus / "made" / "trl" / run / "wandb").glob("*/run-*.wandb"))
    assert read(path).info.ended == ended


STATES = [
    path
    for path in made("*")
    if list(path.glob("output/runs/*/events*")) and list(path.glob("output/checkpoint-*/trainer_state.json"))
]


@pytest.mark.parametrize("folder", STATES, ids=lambda path: path.name)
def test_event_file_and_trainer_state(folder: Path) -> None:
    event = read(sorted(folder.glob("output/runs/*/events*"))[-1])
    newest = max(
        folder.glob("output/checkpoint-*/trainer_state.json"), key=lambda path: int(path.parent.name.split("-")[1])
    )
    state = read(newest)
    assert set(state.steps["step"]) & set(event.steps["step"])
    assert agree(event, state, FLOAT32) > 0


CONSOLES = [
    path for path in made("*") if len(list(path.glob("output/runs/*/events*"))) == 1 and (path / "console.log").exists()
]


@pytest.mark.parametrize("folder", CONSOLES, ids=lambda path: path.name)
def test_event_file_and_console(folder: Path) -> None:
    event = read(next(folder.glob("output/runs/*/events*")))
    console = read_all(folder / "console.log")[-1]
    steps, seen = set(event.steps["step"]), set(console.steps.filter(pl.col("loss").is_not_null())["step"])
    assert seen <= steps
    assert len(seen) >= 0.9 * len(steps)
    agree(event, console, 6e-4, ("step_s", "len_mean", "len_max", "reward", "truncated"))


# --- fetched -----------------------------------------------------------------------------------------------------


def expected(path: Path) -> list[dict[str, str]]:
    with (path.parent / "expected.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def rate(
    run: Run, rows: list[dict[str, str]], columns: dict[str, str], rel: float, near: float = 1e-6
) -> dict[str, float]:
    """Share of the expected values that the run holds, by column."""
    shares = {}
    for column, theirs in columns.items():
        mine = values(run, column)
        wanted = {int(float(row["step"])): float(row[theirs]) for row in rows if row.get(theirs)}
        right = [
            mine.get(step) is not None and mine[step] == pytest.approx(want, rel=rel, abs=near)
            for step, want in wanted.items()
        ]
        if right:
            shares[column] = sum(right) / len(right)
    return shares


@pytest.mark.parametrize("path", fetched("console/*/events*"), ids=lambda path: path.parent.name)
def test_fetched_event_files(path: Path) -> None:
    run, rows = read(path), expected(path)
    columns = {
        "step_s": "step_s",
        "len_mean": "len_mean",
        "len_max": "len_max",
        "truncated": "clip_ratio",
        "reward": "reward",
    }
    shares = rate(run, rows, columns, FLOAT32)
    assert len(shares) == 5
    assert min(shares.values()) >= 0.99, shares
    timed = run.phases.select("step", "name", "seconds").rows_by_key(["step", "name"], named=False, unique=True)
    wrong = total = 0
    for row in rows:
        for key, text in row.items():
            if key.startswith("phase:") and text:
                total += 1
                seconds = timed.get((int(row["step"]), key.removeprefix("phase:")), (None,))[0]
                wrong += seconds is None or seconds != pytest.approx(float(text), rel=FLOAT32, abs=1e-9)
    assert total > 0
    assert wrong <= 0.01 * total


@pytest.mark.parametrize("path", fetched("hf/*/*.ipynb"), ids=lambda path: path.parent.name[:40])
def test_fetched_notebooks_of_trainers(path: Path) -> None:
    run, rows = read(path), expected(path)
    assert run.steps.height >= 0.99 * len(rows)
    shares = rate(run, rows, {"len_mean": "len", "reward": "reward"}, 1e-5, near=1e-5)  # expected is rounded
    assert all(share >= 0.99 for share in shares.values()), shares
    with (path.parents[3] / "truth.csv").open(newline="") as stream:
        known = next(row for row in csv.DictReader(stream) if row["path"].endswith(path.parent.name))
    assert run.info.setting("total_steps") == float(known["total_steps"])
    assert run.progress["elapsed_s"][-1] == pytest.approx(float(known["total_s"]), rel=0.03)
    assert run.info.ended == "finished"


@pytest.mark.parametrize("path", fetched("console/*/*.ipynb"), ids=lambda path: path.parent.name)
def test_fetched_notebooks_of_printed_logs(path: Path) -> None:
    if path.parent.name.startswith("slime") and not any(each.name == "slime" for each in FORMATS):
        pytest.skip("slime's printed log has no reader yet")
    runs, rows = read_all(path), expected(path)
    run, first = runs[0], [row for row in rows if row["segment"] == "0"]
    shares = rate(run, first, {"step_s": "step_s", "len_mean": "len_mean", "len_max": "len_max"}, 1e-6)
    assert shares
    assert min(shares.values()) >= 0.99, shares
