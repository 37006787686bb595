"""Real verl logs against what an independent script read from them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import parsers
from parsers.base import Sure
from timeledger.run import Run

pytestmark = pytest.mark.corpus

RUNS = (
    "verl-game2048", "verl-gui-cursor10", "verl-jsonl-qwen06b", "verl-jsonl-titan-30ba3b", "verl-pr-unnamed262",
    "verl-trtllm-demo6", "verl-trtllm-log6",
)  # fmt: skip
COLUMNS = {
    "step_s": "step_s",
    "len_mean": "len_mean",
    "len_max": "len_max",
    "clip_ratio": "truncated",
    "reward": "reward",
}
PROFILERS = {"start_profile", "stop_profile"}
_READ: dict[Path, Run] = {}


def log_of(folder: Path) -> Path:
    (log,) = (path for path in folder.iterdir() if path.name not in {"expected.csv", "source.json"})
    return log


def run_of(folder: Path) -> Run:
    if folder not in _READ:
        _READ[folder] = parsers.read(log_of(folder))
    return _READ[folder]


def expected(folder: Path) -> list[dict[str, str]]:
    with (folder / "expected.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def found(run: Run) -> dict[tuple[int, int], dict[str, Any]]:
    """Per (segment, step): the columns and phases under the names of expected.csv."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for row in run.steps.to_dicts():
        rows[row["segment"], row["step"]] = {name: row[column] for name, column in COLUMNS.items()}
        rows[row["segment"], row["step"]]["cycle_s"] = row["step_s"]
    for phase in run.phases.to_dicts():
        row = rows[phase["segment"], phase["step"]]
        row[f"phase:{phase['name']}"] = phase["seconds"]
        if phase["phase"] == "rollout" and phase["parent"] is None:
            row["gen_s"] = phase["seconds"]
        if phase["outside"] and phase["name"] not in PROFILERS:
            row["cycle_s"] += phase["seconds"]
    return rows


def compare(rows: list[dict[str, str]], run: Run) -> tuple[int, list[str]]:
    got, good, bad = found(run), 0, []
    for row in rows:
        key = int(row["segment"]), int(row["step"])
        for name, text in row.items():
            if text == "" or not (name in COLUMNS or name in {"cycle_s", "gen_s"} or name.startswith("phase:")):
                continue
            value = got.get(key, {}).get(name)
            if value is not None and value == pytest.approx(float(text), rel=1e-9, abs=1e-9):
                good += 1
            else:
                bad.append(f"{key} {name}: {value} is not {text}")
    return good, bad


@pytest.mark.parametrize("name", RUNS)
def test_every_value_of_every_step(corpus: Path, name: str) -> None:
    folder = corpus / "fetched" / "console" / name
    rows = expected(folder)
    good, bad = compare(rows, run_of(folder))
    assert good > 5 * len(rows)
    # Where validation is short against the step, the numbers of one step do not tell whether it lies inside: then the
    # reader leaves it open, and `cycle_s` of that step is without it.
    assert all("cycle_s" in text for text in bad)
    assert len(bad) <= 0.01 * good, bad[:10]


@pytest.mark.parametrize("name", RUNS)
def test_steps_and_totals_of_the_table(corpus: Path, name: str) -> None:
    with (corpus / "truth.csv").open(newline="") as stream:
        (row,) = (row for row in csv.DictReader(stream) if row["path"] == f"fetched/console/{name}")
    run = run_of(corpus / "fetched" / "console" / name)
    assert run.steps.height == int(row["steps_logged"])
    assert run.steps["step"].to_list()[-1] == int(row["last_step"])
    if row["total_steps"]:
        assert run.info.number("total_steps") == int(row["total_steps"])
    assert set(run.steps["segment"]) == {0}
    assert run.steps["step"].is_sorted()


@pytest.mark.parametrize("name", RUNS)
def test_phases_fill_the_step_and_are_told_apart(corpus: Path, name: str) -> None:
    """Top-level phases inside the step never sum to more than the step, and leave little of it unexplained."""
    run = run_of(corpus / "fetched" / "console" / name)
    times = dict(run.steps.select("step", "step_s").rows())
    sums: dict[int, float] = dict.fromkeys(times, 0.0)
    for phase in run.phases.to_dicts():
        if phase["parent"] is None and not phase["outside"] and phase["name"] not in {"testing", "save_checkpoint"}:
            sums[phase["step"]] += phase["seconds"]
    assert all(sums[step] <= times[step] * 1.001 for step in times)
    assert sum(sums.values()) >= 0.97 * sum(times.values())


def test_a_terminal_recording_is_the_same_run_as_the_plain_log(corpus: Path) -> None:
    console = corpus / "fetched" / "console"
    demo, log = run_of(console / "verl-trtllm-demo6"), run_of(console / "verl-trtllm-log6")
    assert demo.steps.drop("line").equals(log.steps.drop("line"), null_equal=True)
    assert demo.phases.equals(log.phases, null_equal=True)
    assert demo.progress["elapsed_s"].max() == 12765.0


def test_notebook_text_of_the_oldest_version(corpus: Path) -> None:
    folder = corpus / "fetched" / "console" / "verl-notebook-getting-started"
    cells = json.loads(log_of(folder).read_text())["cells"]
    text = "\n".join("".join(out.get("text", [])) for cell in cells for out in cell.get("outputs", [])) + "\n"
    form, confidence = parsers.detect(text[text.index("step:0") - 60 :].encode())
    assert form is not None
    assert (form.name, confidence.sure) == ("verl", Sure.CERTAIN)
    run = parsers.read(text.encode(), format="verl")
    good, bad = compare(expected(folder), run)
    assert (good, bad) == (good, [])
    assert run.steps.height == 61
    assert run.steps["lr"].null_count() == 61, "three decimals show 0.000"
    assert run.info.ended == "interrupted"


def test_configuration_and_exact_derivations(corpus: Path) -> None:
    console = corpus / "fetched" / "console"
    gui, game = run_of(console / "verl-gui-cursor10").info, run_of(console / "verl-game2048").info
    assert (gui.setting("prompts_per_step"), gui.setting("group_size"), gui.setting("gpus")) == (32, 8, 8)
    assert (game.setting("prompts_per_step"), game.setting("group_size"), game.setting("gpus")) == (256, 5, 8)
    assert game.settings["gpus"].kind == "measured"
    assert set(run_of(console / "verl-game2048").steps["sequences"]) == {256.0 * 5}
    assert run_of(console / "verl-jsonl-qwen06b").info.settings["gpus"].kind == "inferred"


@pytest.mark.parametrize("name", ["verl-game2048", "verl-pr-unnamed262"])
def test_a_log_cut_anywhere_gives_a_beginning_of_the_whole(corpus: Path, name: str) -> None:
    log = log_of(corpus / "fetched" / "console" / name)
    data, whole = log.read_bytes(), run_of(log.parent)
    for share in (0.55, 0.61, 0.7501, 0.9):
        part = parsers.read(data[: int(len(data) * share)], name=log.name)
        count = part.steps.height
        assert part.steps.equals(whole.steps.head(count), null_equal=True)


def snippet(corpus: Path, start: str) -> Run:
    (path,) = (corpus / "fetched" / "snippets").glob(f"{start}-*")
    return parsers.read(path)


def test_snippets(corpus: Path) -> None:
    wanted = json.loads((corpus / "fetched" / "snippets" / "expected.json").read_text())
    step = wanted["001-verl-1208-sglang.txt"]["expected"]["steps"][0]
    run = snippet(corpus, "001")
    (row,) = run.steps.to_dicts()
    assert {key: row[key] for key in ("step", "step_s", "len_mean", "len_max", "reward")} == {
        key: step[key] for key in ("step", "step_s", "len_mean", "len_max", "reward")
    }
    seconds = {phase["name"]: phase["seconds"] for phase in run.phases.to_dicts()}
    assert seconds == {name: step[f"{name}_s"] for name in ("gen", "update_actor", "old_log_prob", "ref", "adv")}
    run = snippet(corpus, "005")
    assert run.steps.select("step", "step_s", "tokens").rows() == [(1, 1816.384, 3830959.0)]
    assert {phase["name"] for phase in run.phases.to_dicts()} >= {"teacher_forward"}
    assert run.progress.select("step", "total", "elapsed_s", "remaining_s").rows() == [(1, 150, 1816.0, 270712.0)]
    run = snippet(corpus, "003")  # its step number (94) stands only in the prose around it
    assert run.steps["step_s"].to_list() == [43.64]
    assert any(note.kind == "guessed" for note in run.notes)


def test_single_real_lines(corpus: Path) -> None:
    """The line with numpy scalars. Its expectation calls the phases t_*: the same seconds here."""
    lines = {one["id"]: one for one in map(json.loads, (corpus / "fetched" / "lines.jsonl").read_text().splitlines())}
    want = lines["F17"]["expect"]
    run = parsers.read((lines["F17"]["line"] + "\n").encode())
    (row,) = run.steps.to_dicts()
    names = {"len_mean": "len_mean", "len_max": "len_max", "truncated": "truncated_frac", "reward": "reward", "mem_gib": "mem_gib",
             "clipfrac": "clipfrac", "step_s": "step_time_s"}  # fmt: skip
    assert {name: row[name] for name in names} == {name: want[other] for name, other in names.items()}
    seconds = {phase["phase"]: phase["seconds"] for phase in run.phases.to_dicts() if phase["parent"] is None}
    assert seconds["rollout"] == want["t_rollout_s"]
    assert seconds["update"] == want["t_train_s"]
    only = parsers.read((lines["F19"]["line"] + "\n").encode())
    assert only.steps.is_empty()
    assert only.events["kind"].to_list() == ["evaluation"]
