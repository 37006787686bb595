"""The folders of real runs: everything a run left behind is one run, with its steps, sessions and truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers import discover, read, read_all
from tests.conftest import corpus_folder
from timeledger.run import Run

CORPUS = corpus_folder()
FOLDERS = sorted(path.parent.name for path in (CORPUS / "made/trl").glob("*/meta.json")) if CORPUS else []
#: Resumed runs: the steps that were run twice.
REDONE = {"grpo-resumed": range(41, 54), "grpo-resumed-append": range(41, 54)}

pytestmark = pytest.mark.corpus


def truth(folder: Path) -> dict[int, dict[str, Any]]:
    """Steps of the folder's own session -> when they ended and how long they took, by the callback that timed them."""
    ended: dict[int, dict[str, Any]] = {}
    begun = 0.0
    for line in (folder / "truth.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["ev"] == "step_begin":
            begun = event["t"]
        elif event["ev"] == "step_end":
            ended[event["step"]] = {"t": event["t"], "seconds": event["t"] - begun}
    return ended


def meta(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "meta.json").read_text())
    return found


@pytest.fixture(scope="module")
def folders(corpus: Path) -> Path:
    return corpus / "made" / "trl"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_one_run_with_its_steps(name: str, folders: Path) -> None:
    (run,) = read_all(folders / name)
    about = meta(folders / name)
    assert run.name == name
    steps = run.steps["step"]
    last = max(truth(folders / name), default=60)  # the old PPO and RLOO trainers call no callback at a step's end
    interval = int(run.steps["span"].drop_nulls().median() or 1)  # type: ignore[arg-type]
    assert last - interval < int(steps.max()) <= last  # type: ignore[arg-type]
    if about.get("max_steps") and name != "old-0.15.2-rloo":  # its bar counts to half the true number, and says so
        assert run.info.setting("total_steps") in {about["max_steps"], None}
        assert run.info.setting("total_steps") == about["max_steps"] or "notqdm" in name
    assert run.steps.select("segment", "step").is_unique().all()
    assert run.steps.height == len(set(steps)) + len(REDONE.get(name, ()))


@pytest.mark.parametrize("name", FOLDERS)
def test_every_log_of_a_folder_is_used(name: str, folders: Path) -> None:
    (found,) = discover(folders / name)
    kinds = {path.name.split(".")[0] if "tfevents" not in path.name else "events" for path in found.paths}
    present = {
        "events": any((folders / name).rglob("events.out.tfevents.*")),
        "trainer_state": any((folders / name).rglob("trainer_state.json")),
        "console": True,
    }
    for kind, there in present.items():
        assert (kind in kinds) == there
    assert sum(path.name == "trainer_state.json" for path in found.paths) <= 1
    assert not any(path.name in {"truth.jsonl", "meta.json", "spec.json"} for path in found.paths)
    (run,) = read_all(folders / name)
    assert len(run.info.sources) == len(found.paths)


@pytest.mark.parametrize("name", FOLDERS)
def test_no_two_logs_of_a_folder_disagree(name: str, folders: Path) -> None:
    run = read(folders / name)
    told = [note.text for note in run.notes if "differs from" in note.text]
    assert told == []


@pytest.mark.parametrize("name", FOLDERS)
def test_the_clock_of_a_folder_is_the_true_one(name: str, folders: Path) -> None:
    """Stamps of the last session against the callback's: sinks write within a second of the step's end."""
    run = read(folders / name)
    last = run.steps.filter(pl.col("segment") == pl.col("segment").max()).drop_nulls("at")
    ended = truth(folders / name)
    pairs = [
        (at.timestamp(), ended[step]["t"]) for step, at in zip(last["step"], last["at"], strict=True) if step in ended
    ]
    if any((folders / name).rglob("events.out.tfevents.*")) and not name.startswith("old-0.15.2-"):
        assert len(pairs) >= 9
    off = sorted(abs(a - b) for a, b in pairs)
    assert not off or off[len(off) // 2] < 1.5


@pytest.mark.parametrize("name", sorted(REDONE))
def test_a_resumed_run_has_both_sessions(name: str, folders: Path) -> None:
    run = read(folders / name)
    sessions = {key[0]: part["step"].to_list() for key, part in run.steps.group_by("segment", maintain_order=True)}
    assert sessions == {0: list(range(1, 54)), 1: list(range(41, 101))}
    first, second = (run.steps.filter(segment=segment)["at"] for segment in (0, 1))
    assert first.max() < second.min()  # type: ignore[operator]
    assert run.info.ended == "finished"
    redone = run.steps.filter(pl.col("step").is_in(list(REDONE[name])))
    assert redone.height == 26
    assert redone["step_s"].n_unique() == 26  # each time its own


def test_the_whole_collection_is_one_run_a_folder(folders: Path) -> None:
    runs = read_all(folders)
    assert sorted(run.name for run in runs) == FOLDERS
    by_name = {run.name: run for run in runs}
    for name in ("grpo-longer", "grpo-resumed-append", "old-0.15.2-grpo"):
        assert same_rows(by_name[name], read(folders / name))


def test_the_list_of_runs_is_what_reading_finds(folders: Path) -> None:
    """`discover` reads the beginning of files only, and yet tells the same runs."""
    assert sorted(found.name for found in discover(folders)) == FOLDERS


def same_rows(a: Run, b: Run) -> bool:
    return a.steps.equals(b.steps)


def test_engine_logs_of_one_folder_are_runs_of_their_own(corpus: Path) -> None:
    runs = read_all(corpus / "made" / "vllm")
    names = {run.info.sources[0].split(".")[0] for run in runs}
    assert len(runs) == len(names) == 9
    assert all(not run.has_steps for run in runs)


def test_an_engines_log_put_beside_a_trainer_is_a_part_of_its_run(corpus: Path, tmp_path: Path) -> None:
    for source, target in (
        ("trl/grpo-2proc/console.log", "console.log"),
        ("vllm/server-eager.console.log", "vllm.log"),
    ):
        (tmp_path / target).write_bytes((corpus / "made" / source).read_bytes())
    events = next((corpus / "made/trl/grpo-2proc").rglob("events.out.tfevents.*"))
    (tmp_path / events.name).write_bytes(events.read_bytes())
    engine = read(corpus / "made" / "vllm" / "server-eager.console.log").engine
    runs = read_all(tmp_path)
    assert sorted(run.steps.height for run in runs)[-1] == 60
    assert sum(run.engine.height for run in runs) == engine.height


def test_one_run_in_several_formats_is_one_run(corpus: Path, tmp_path: Path) -> None:
    """A console, a recording of it and its event file, gathered in one folder."""
    console = corpus / "fetched/console"
    for source, target in (
        ("verl-trtllm-log6/log-6.txt", "train.txt"),
        ("verl-trtllm-demo6/demo-6", "demo"),
        ("verl-tb-trtllm-gsm8k/events.out.tfevents.1772808730.host", "tb/events.out.tfevents.1772808730.host"),
    ):
        (tmp_path / target).parent.mkdir(exist_ok=True)
        (tmp_path / target).write_bytes((console / source).read_bytes())
    (run,) = read_all(tmp_path)
    assert run.info.columns_from["at"].startswith("tb/")
    board = read(tmp_path / "tb" / "events.out.tfevents.1772808730.host")
    assert run.steps.height == board.steps.height
    assert [note.text for note in run.notes if "differs from" in note.text] == []
