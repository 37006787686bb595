"""Real HF-Trainer logs: every made TRL run against its ground truth, every fetched one against what another script read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import parsers
from tests.conftest import corpus_folder
from timeledger.run import Run

pytestmark = pytest.mark.corpus

#: Runs whose metric lines are not all in the console: killed while the last dicts stood in the buffer.
LOST = {"grpo-killed-buffered": 2}
#: `expected.csv` against the product, where they differ and the product is right; see the tests below.
WRONG_EXPECTATION = {"Ning-Guo-hotpotqa-agent__logs-sft.log"}


def folders(part: str) -> list[str]:
    corpus = corpus_folder()
    return sorted(path.name for path in (corpus / part).iterdir() if path.is_dir()) if corpus else []


def made(corpus: Path, name: str) -> tuple[Run, dict[str, Any], list[dict[str, Any]]]:
    folder = corpus / "made" / "trl" / name
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    return parsers.read(folder / "console.log"), json.loads((folder / "meta.json").read_text()), truth


def settings(meta: dict[str, Any]) -> dict[str, Any]:
    return meta.get("config") or meta.get("settings") or {}


@pytest.mark.parametrize("name", folders("made/trl"))
def test_made_consoles_have_exactly_the_logged_steps(corpus: Path, name: str) -> None:
    run, meta, truth = made(corpus, name)
    session = run.steps.filter(run.steps["segment"] == run.steps["segment"].max())
    logged = sorted({row["step"] for row in truth if row["ev"] == "log" and row["step"] > 0})
    ends = [row["step"] for row in truth if row["ev"] == "step_end"]
    every = settings(meta).get("logging_steps", 1)
    if name.endswith(("-ppo", "-rloo")):  # these log before they count the step
        logged = ends = list(range(1, 61))
    logged = [step for step in logged if step % every == 0 or (step == 1 and settings(meta).get("logging_first_step"))]
    assert session["step"].to_list() == logged[: len(logged) - LOST.get(name, 0)]
    assert session["span"].null_count() == 0
    if run.progress.height and run.progress["total"].max():
        last = run.progress.filter(run.progress["segment"] == run.progress["segment"].max())["step"].max()
        assert last == max(ends)
    planned = settings(meta).get("max_steps") or meta.get("max_steps")
    if name == "old-0.15.2-rloo":
        assert run.info.setting("total_steps") is None  # that version's bar promises half the steps
    elif planned and planned > 0:
        assert run.info.setting("total_steps") == planned


@pytest.mark.parametrize("name", folders("made/trl"))
def test_made_consoles_say_how_they_ended(corpus: Path, name: str) -> None:
    run, meta, _ = made(corpus, name)
    code = meta.get("returncode", 0)
    want = {0: "finished", 1: "crashed", -2: "interrupted", -9: None}[code]
    if name == "old-0.15.2-rloo":
        want = None  # neither an end-of-run dict nor a full bar
    assert run.info.ended == want
    if meta.get("train_seconds") and run.info.train_runtime_s is not None:
        assert run.info.train_runtime_s == pytest.approx(meta["train_seconds"], rel=0.03, abs=1.5)


@pytest.mark.parametrize("name", folders("made/trl"))
def test_made_step_times_agree_with_the_truth(corpus: Path, name: str) -> None:
    """`step_time` is the mean of `training_step` over the steps of the row, printed with four digits."""
    run, _, truth = made(corpus, name)
    timed = run.steps.filter(run.steps["step_s"].is_not_null() & (run.steps["segment"] == run.steps["segment"].max()))
    processes = sum(row["ev"] == "process_start" for row in truth)
    spent: dict[int, float] = {}
    for row in truth:
        if row["ev"] == "phase" and row["phase"] == "training_step" and row.get("mode", "train") == "train":
            spent[row["step"] + 1] = spent.get(row["step"] + 1, 0.0) + row["dur"] / processes
    if timed.is_empty() or not spent:
        pytest.skip("this run logs no step_time")
    off = []
    for row in timed.to_dicts():
        steps = range(row["step"] - row["span"] + 1, row["step"] + 1)
        want = sum(spent[step] for step in steps) / row["span"]
        # two timers, and a busy machine in between
        assert row["step_s"] == pytest.approx(want, rel=6e-4, abs=0.03 * processes), row["step"]
        off.append(max(0.0, abs(row["step_s"] - want) - 6e-4 * want))
    assert sorted(off)[len(off) * 3 // 4] < (2e-3 if processes == 1 else 0.03)


@pytest.mark.parametrize("name", folders("made/trl"))
def test_made_bars_are_the_wall_clock_to_the_second(corpus: Path, name: str) -> None:
    run, _, truth = made(corpus, name)
    begin = next((row["t"] for row in truth if row["ev"] == "train_begin"), None)
    if run.progress.is_empty() or begin is None:
        pytest.skip("no bar, or no truth of its own")
    ended = {row["step"]: row["t"] - begin for row in truth if row["ev"] == "step_end"}
    bars = run.progress.filter(run.progress["segment"] == run.progress["segment"].max())
    first = bars.group_by("step").first().filter(bars.group_by("step").first()["step"] > 0)
    late = [row["elapsed_s"] - ended[row["step"]] for row in first.to_dicts() if row["step"] in ended]
    assert len(late) >= 10
    offset = sorted(late)[len(late) // 2]  # the bar starts with the callbacks, a little before or after train_begin
    assert abs(offset) <= 1.0 or name == "grpo-longer"  # there the loggers' set-up (10 s) stands between the two
    assert max(abs(each - offset) for each in late) <= 1.1


def test_the_resumed_and_appended_console_has_both_sessions(corpus: Path) -> None:
    run, _, _ = made(corpus, "grpo-resumed-append")
    assert run.steps.filter(run.steps["segment"] == 0)["step"].to_list() == list(range(1, 52))
    assert run.steps.filter(run.steps["segment"] == 1)["step"].to_list() == list(range(41, 101))
    assert run.events.filter(run.events["kind"] == "resume")["step"].to_list() == [40]


def test_reused_generations_have_no_rollout_keys(corpus: Path) -> None:
    run, _, _ = made(corpus, "grpo-mu2-spg")
    slow = run.steps.filter(run.steps["len_mean"].is_not_null())
    assert slow["step"].to_list() == list(range(1, 80, 8))
    assert run.steps.filter(run.steps["len_mean"].is_null())["tokens"].null_count() == 70


def test_console_and_trainer_state_are_the_same_run(corpus: Path) -> None:
    folder = corpus / "made" / "trl" / "grpo-g8-l64-log1-tb"
    console = parsers.read(folder / "console.log").steps
    state = parsers.read(folder / "output" / "checkpoint-100" / "trainer_state.json").steps
    assert console["step"].to_list() == state["step"].to_list()
    for column in ("len_mean", "len_max", "reward", "step_s", "loss", "lr", "entropy", "truncated"):
        pairs = zip(console[column].to_list(), state[column].to_list(), strict=True)
        assert all(a == pytest.approx(b, rel=6e-4, abs=1e-9) for a, b in pairs), column


def test_the_limit_inferred_from_cut_answers_is_the_configured_one(corpus: Path) -> None:
    right, found = 0, 0
    for name in folders("made/trl"):
        run, meta, _ = made(corpus, name)
        limit, want = run.info.setting("max_tokens"), settings(meta).get("max_completion_length")
        if limit is not None:
            found += 1
            right += limit == want
    assert found >= 15
    assert right == found


# --- fetched ---------------------------------------------------------------------------------------------------


def fetched() -> list[str]:
    corpus = corpus_folder()
    if corpus is None:
        return []
    with (corpus / "truth.csv").open(newline="") as stream:
        rows = [row["path"] for row in csv.DictReader(stream)]
    ours = [path for path in rows if path.startswith("fetched/hf/") and not path.endswith(".ipynb")]
    return [path for path in ours if not path.endswith("metrics.jsonl")]  # hand-written loops: another format


def source(corpus: Path, path: str) -> Path:
    return next(each for each in (corpus / path).iterdir() if each.name not in {"expected.csv", "source.json"})


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def truth_of(corpus: Path, path: str) -> dict[str, str]:
    return next(row for row in table(corpus / "truth.csv") if row["path"] == path)


@pytest.mark.parametrize("path", fetched())
def test_fetched_runs_have_the_expected_steps(corpus: Path, path: str) -> None:
    run, want = parsers.read(source(corpus, path)), truth_of(corpus, path)
    assert run.info.format in {"trl", "trainer_state", "swift", "llama_factory"}
    assert run.steps.height == int(float(want["steps_logged"]))
    total = run.info.setting("total_steps")
    if want["total_steps"]:
        assert total == float(want["total_steps"])
    if Path(path).name in WRONG_EXPECTATION:
        return
    live = max(run.steps["step"].max(), run.progress["step"].max() or 0)  # type: ignore[type-var]
    bar_only = run.steps["step"].max() != float(want["last_step"])  # there last_step is the bar's
    assert (live if bar_only else run.steps["step"].max()) == float(want["last_step"])


@pytest.mark.parametrize("path", fetched())
def test_fetched_runs_have_the_expected_rows(corpus: Path, path: str) -> None:
    if Path(path).name in WRONG_EXPECTATION:
        pytest.skip("numbered every 51 steps there, beyond the end of the run: see the test of it below")
    run = parsers.read(source(corpus, path))
    rows = {row["step"]: row for row in run.steps.to_dicts()}
    bar: dict[int, float] = {}
    for state in run.progress.to_dicts():
        bar.setdefault(state["step"], state["elapsed_s"])
    spent, clock = 0.0, {}
    for step, row in rows.items():
        spent += (row["step_s"] or 0.0) * (row["span"] or 1)
        clock[step] = spent
    checked = wrong = 0
    for want in table(corpus / path / "expected.csv"):
        row = rows[int(float(want["step"]))]
        for key, column in (("len", "len_mean"), ("maxlen", "len_max"), ("reward", "reward")):
            if want[key]:
                checked += 1
                wrong += row[column] is None or row[column] != pytest.approx(float(want[key]), rel=1e-3, abs=1e-4)
        if want["t"]:
            checked += 1
            told = bar.get(row["step"], row["elapsed_s"] if row["elapsed_s"] is not None else clock[row["step"]])
            wrong += told != pytest.approx(float(want["t"]), abs=1.0)
        if want["dt"] and row["step_s"] is not None:
            checked += 1
            wrong += row["step_s"] != pytest.approx(float(want["dt"]), rel=1e-3)
    assert checked
    assert wrong <= 0.01 * checked


@pytest.mark.parametrize("path", fetched())
def test_fetched_runs_have_the_expected_total_time(corpus: Path, path: str) -> None:
    want = truth_of(corpus, path)
    if not want["total_s"]:
        pytest.skip("no total known")
    run = parsers.read(source(corpus, path))
    told = run.info.train_runtime_s or run.progress["elapsed_s"].max()
    if "wave6-G3-sweep-logs-w6-G3-rho0.70" in path:
        # the expectation stops at the last dict (1,854 s); the bar was drawn once more when the process died
        told = run.progress.filter(run.progress["step"] == 2)["elapsed_s"].min()
    assert told == pytest.approx(float(want["total_s"]), abs=1.01)


def test_the_sft_log_counts_fifty_steps_a_row_not_fifty_one(corpus: Path) -> None:
    """`expected.csv` divides 1524 steps by 30 rows; the epoch of the rows (508 steps an epoch) says 50 a row."""
    run = parsers.read(source(corpus, "fetched/hf/Ning-Guo-hotpotqa-agent__logs-sft.log"))
    assert run.steps["span"].to_list() == [50] * 30
    assert run.steps["epoch"].to_list() == pytest.approx([step / 508 for step in range(50, 1501, 50)], abs=0.011)
    assert run.steps["epoch"][-1] < 1524 / 508  # the 30th row is not at 1530


def test_the_open_r1_console_has_a_row_every_five_steps(corpus: Path) -> None:
    """`expected.csv` has a line a bar state and puts the k-th dict at step 10 k; bar, dicts and epochs say 5 k."""
    run = parsers.read(source(corpus, "fetched/console/trl-xling-openr1-100"))
    assert run.steps["step"].to_list() == list(range(5, 51, 5))
    assert run.info.setting("total_steps") == 100
    want = table(corpus / "fetched/console/trl-xling-openr1-100" / "expected.csv")
    seconds = dict(zip(run.progress["step"].to_list(), run.progress["elapsed_s"].to_list(), strict=False))
    for row in want[1:]:
        step = int(row["step"])
        assert seconds[step] - seconds[step - 1] == pytest.approx(float(row["step_s"]), abs=1.0)
    assert run.steps["epoch"][-1] == pytest.approx(2 * run.steps["epoch"][4], abs=0.016)  # two decimals
