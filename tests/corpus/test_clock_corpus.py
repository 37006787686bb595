"""The clock and the breakdown on real logs, against ground truth written beside the runs and against other formats of the same run.

The truth of `made/trl` is the loop: from the first `step_begin` to the last `step_end` at least, from `train_begin` to
`train_end` (loggers' set-up, last evaluation and save included) at most; each source sees something between the two.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parsers import read, read_all
from tests.conftest import corpus_folder
from timeledger.breakdown import breakdown
from timeledger.clock import clock
from timeledger.errors import TimeledgerError
from timeledger.phases import top_level
from timeledger.results import Clock
from timeledger.run import Run

MADE = "made/trl"
#: Second sessions whose console or events begin with the killed session.
APPENDED = {"grpo-resumed-append"}


def names() -> list[str]:
    folder = corpus_folder()
    return sorted(each.parent.name for each in (folder / MADE).glob("*/truth.jsonl")) if folder else []


def truth(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]


def loop(folder: Path) -> tuple[float, float]:
    """Least and most seconds that a clock of this run may show."""
    rows = truth(folder)
    begin = next(row["t"] for row in rows if row["ev"] == "train_begin")
    end = next((row["t"] for row in rows if row["ev"] == "train_end"), rows[-1]["t"])
    steps = [row["t"] for row in rows if row["ev"] in {"step_begin", "step_end"}]
    return steps[-1] - steps[0], end - begin


def sources(folder: Path) -> list[Path]:
    """The console log, the newest event file and the W&B file of a run."""
    events = sorted(folder.glob("output/runs/*/events*"))[-1:]
    return [
        path for path in (folder / "console.log", *events, *sorted(folder.glob("wandb/*/run-*.wandb"))) if path.exists()
    ]


@pytest.mark.parametrize("name", names())
def test_every_source_of_a_made_run_tells_its_total_within_three_per_cent(corpus: Path, name: str) -> None:
    folder = corpus / MADE / name
    least, most = loop(folder)
    told = 0
    for path in sources(folder):
        if name in APPENDED and path.name == "console.log":
            continue
        found = clock(read(path))
        if found.elapsed_s is None:
            continue
        told += 1
        slack = 0.03 * most + found.resolution_s
        # a row of the last logging interval may be missing when the run was killed
        missing = 0.0 if found.position is None else killed_tail(folder, found.position)
        assert least - missing - slack <= found.elapsed_s <= most + slack, (path.name, found.source)
    assert told or "notqdm" in name


def killed_tail(folder: Path, position: int) -> float:
    """Seconds of the steps after the last one that this source knows."""
    rows = truth(folder)
    ends = [(row["step"], row["t"]) for row in rows if row["ev"] == "step_end"]
    known = [t for step, t in ends if step <= position]
    return float(ends[-1][1] - known[-1]) if known else 0.0


def made(corpus: Path, name: str, what: str = "console.log") -> tuple[Run, Clock]:
    path = next((corpus / MADE / name).glob(what)) if "*" in what else corpus / MADE / name / what
    run = read(path)
    return run, clock(run)


@pytest.mark.parametrize("what", ["console.log", "output/runs/*/events*", "wandb/*/run-*.wandb"])
def test_two_passes_over_four_micro_batches_are_a_cycle_of_eight(corpus: Path, what: str) -> None:
    _, found = made(corpus, "grpo-mu2-spg", what)
    assert found.cycle == 8
    assert found.warmup_steps == 0
    assert found.step_s == pytest.approx(21.15 / 80, rel=0.1)


@pytest.mark.parametrize("what", ["console.log", "output/trainer_state.json"])
def test_evaluations_are_named_and_priced(corpus: Path, what: str) -> None:
    folder = corpus / MADE / "grpo-eval-save-mlflow"
    rows = truth(folder)
    true = sorted(row["dur"] for row in rows if row["ev"] == "phase" and row["phase"] == "evaluate")
    _, found = made(corpus, "grpo-eval-save-mlflow", what)
    work = next(each for each in found.periodic if each.kind == "evaluation")
    assert (work.every, work.count) == (20, 3)
    assert work.seconds is not None
    assert true[0] * 0.9 <= work.seconds <= true[-1] * 1.1
    marked = found.steps.filter(pl.col("kind") == "evaluation")["step"].to_list()
    # The bar shows them paid in the row after, the last one after the last step; without a bar they stay with their step.
    assert marked == ([22, 42, 60] if what == "console.log" else [20, 40, 60])
    assert found.step_s == pytest.approx(0.26, rel=0.2)


def test_a_resumed_console_has_two_sessions_and_twelve_steps_done_again(corpus: Path) -> None:
    """Killed at step 53, resumed from checkpoint 40. The buffered console lost two dicts, the bar reached 53."""
    _, found = made(corpus, "grpo-resumed-append")
    first, second = found.segments
    assert (first.first_step, second.first_step, second.last_step) == (1, 41, 100)
    assert second.redone in {11, 13}
    assert found.steps["step"].to_list() == list(range(1, 101))
    assert found.steps.filter(pl.col("step").is_between(41, 100))["segment"].unique().to_list() == [1]
    assert first.elapsed_s == pytest.approx(75.8, abs=2)
    assert second.elapsed_s == pytest.approx(15.45, abs=1)
    assert second.lost_before_s is None  # a console without stamps cannot tell the gap


def test_a_resumed_log_alone_starts_where_it_resumed(corpus: Path) -> None:
    _, found = made(corpus, "grpo-resumed")
    assert (found.first_step, found.position) == (41, 100)
    assert found.elapsed_s == pytest.approx(64.06, abs=1)
    assert found.steps["wall_s"][0] == pytest.approx(0.94, abs=0.3)


@pytest.mark.parametrize(
    ("name", "share"), [("grpo-longer", 0.988), ("grpo-g8-l64-log1-tb", 0.936), ("grpo-growth-slow", 0.98)]
)
def test_the_framework_s_step_time_covers_the_share_that_was_measured(corpus: Path, name: str, share: float) -> None:
    _, found = made(corpus, name, "output/runs/*/events*")
    assert found.covered == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("what", ["output/runs/*/events*", "wandb/*/run-*.wandb"])
def test_a_slow_step_beside_a_checkpoint_is_not_its_price(corpus: Path, what: str) -> None:
    """Steps of 0.2 to 11 s on a busy machine, saving took 0.1 s: TRL's step time tells the two apart."""
    _, found = made(corpus, "grpo-killed-buffered", what)
    work = next(each for each in found.periodic if each.kind == "checkpoint")
    assert work.seconds == pytest.approx(0.09, abs=0.05)


def logs() -> list[str]:
    """The folders of other people's console logs."""
    folder = corpus_folder()
    return sorted(each.name for each in (folder / "fetched/console").iterdir() if each.is_dir()) if folder else []


def ancestors(run: Run) -> dict[str, set[str]]:
    """For each phase all those that contain it, by the reader's own table."""
    above = dict(run.phases.drop_nulls("parent").select("name", "parent").unique("name").iter_rows())
    found: dict[str, set[str]] = {}
    for name in above:
        at, seen = above.get(name), set()
        while at is not None and at not in seen:
            seen.add(at)
            at = above.get(at)
        found[name] = seen - {name}
    return found


@pytest.mark.parametrize("name", logs())
def test_phases_add_up_to_the_step_and_none_is_added_beside_one_that_holds_it(corpus: Path, name: str) -> None:
    """verl, AReaL, slime and the trackers' files: what is added is top-level, and the unexplained rest fills the step."""
    folder, told = corpus / "fetched/console" / name, 0
    for path in sorted(
        each for each in folder.iterdir() if each.name not in {"source.json", "steps.csv", "expected.csv"}
    ):
        try:
            runs = read_all(path)
        except TimeledgerError:
            continue
        for run in (each for each in runs if not each.phases.is_empty()):
            found = breakdown(run, clock(run))
            assert found.step_s is not None
            assert found.unexplained_s is not None
            assert found.unexplained_s >= 0
            parts = sum(each.seconds for each in found.phases)
            assert parts + found.unexplained_s == pytest.approx(found.step_s, rel=1e-9)
            assert parts == pytest.approx(found.step_s, rel=0.5), "most of a step is explained"
            above = ancestors(run)
            added = top_level(run).frame.group_by("segment", "step").agg(pl.col("name"), pl.col("phase"))
            for names, phases in added.select("name", "phase").unique().iter_rows():
                holders = {each for each, phase in zip(names, phases, strict=True) if phase != "wait"}
                assert not any(above.get(each, set()) & holders for each in names)
            told += 1
    if not told:
        pytest.skip("no phases in this log")


# --- other people's runs -----------------------------------------------------------------------------------------


def fetched(corpus: Path, name: str) -> tuple[Run, Clock]:
    folder = corpus / "fetched" / "console" / name
    path = next(
        each for each in sorted(folder.iterdir()) if each.name not in {"source.json", "expected.csv", "steps.csv"}
    )
    run = read(path)
    return run, clock(run)


def test_one_run_in_three_formats_has_one_clock(corpus: Path) -> None:
    """Asciinema recording, plain console and TensorBoard of one run: the step times of verl cover 0.91 of its wall clock."""
    found = [fetched(corpus, name)[1] for name in ("verl-trtllm-demo6", "verl-trtllm-log6", "verl-tb-trtllm-gsm8k")]
    for each in found:
        assert each.elapsed_s == pytest.approx(12765, rel=0.001)
        assert each.covered == pytest.approx(0.91, abs=0.01)
        assert each.step_s == pytest.approx(found[0].step_s, rel=0.01)
        work = next(work for work in each.periodic if work.kind == "evaluation")
        assert (work.every, work.known_from) == (5, "phase")
        assert work.seconds == pytest.approx(42.96, abs=0.1)


def test_a_bar_and_event_stamps_of_one_run_agree(corpus: Path) -> None:
    """Console with a bar of whole seconds against TensorBoard: 2,623 s both; `testing` lies outside the step."""
    console, events = fetched(corpus, "verl-game2048")[1], fetched(corpus, "verl-tb-2048-7b")[1]
    assert console.elapsed_s == pytest.approx(events.elapsed_s, rel=0.0005)
    assert console.covered == pytest.approx(events.covered, abs=0.002)
    walls = console.steps["wall_s"] - events.steps["wall_s"]
    assert walls.abs().max() < 1.5  # type: ignore[operator]


@pytest.mark.parametrize(
    "name",
    [
        "verl-game2048",
        "verl-tb-2048-7b",
        "verl-tb-trtllm-gsm8k",
        "verl-jsonl-qwen06b",
        "verl-pr-unnamed262",
        "verl-tb-q7b-fsdp-offppl",
    ],
)
def test_phases_of_real_verl_runs_explain_the_step(corpus: Path, name: str) -> None:
    """Disjoint phases sum to the step within 0.35 s in verl; the rest (data, logging) is small and never negative."""
    run, found = fetched(corpus, name)
    split = breakdown(run, found)
    assert split.step_s is not None
    assert split.unexplained_s is not None
    assert sum(each.seconds for each in split.phases) + split.unexplained_s == pytest.approx(split.step_s, rel=1e-9)
    assert 0 <= split.unexplained_s < 0.02 * split.step_s
    assert not split.overlapped
    assert split.sampling_share is not None


def hf(corpus: Path, end: str) -> tuple[Run, Clock]:
    folder = next(each for each in (corpus / "fetched" / "hf").iterdir() if each.name.endswith(end))
    path = next(
        each
        for each in sorted(folder.iterdir())
        if each.name not in {"source.json", "expected.csv", "norm.csv", "bars.csv"}
    )
    run = read(path)
    return run, clock(run)


def test_a_slow_start_of_sixteen_steps(corpus: Path) -> None:
    """676 s, then 148 s a step, then 20 s."""
    _, found = hf(corpus, "w6-G3-rho3.00-seed42.log")
    assert found.warmup_steps == 16
    assert found.step_s == pytest.approx(20, rel=0.03)
    assert found.elapsed_s == pytest.approx(4738, abs=1)


@pytest.mark.parametrize("end", ["n8-t12-explore.log", "n8-t12-len3500.log"])
def test_what_looks_like_a_slow_start_can_be_a_generation_cycle(corpus: Path, end: str) -> None:
    """Steps 1, 9, 17, 25 take 80-100 s and carry lengths, the others 3.2 s and none: one generation serves eight steps."""
    _, found = hf(corpus, end)
    assert (found.cycle, found.warmup_steps) == (8, 0)


def test_evaluations_of_an_sft_log_are_found_at_its_end_too(corpus: Path) -> None:
    _, found = hf(corpus, "DeepClima-R1__logging.jsonl")
    work = next(each for each in found.periodic if each.kind == "evaluation")
    assert (work.every, work.count) == (100, 5)
    assert work.seconds == pytest.approx(150, rel=0.02)
    assert found.lost_s == 0


def rows_of_truth() -> list[dict[str, str]]:
    folder = corpus_folder()
    if folder is None:
        return []
    with (folder / "truth.csv").open() as stream:
        return [row for row in csv.DictReader(stream) if row["total_s"] and row["path"].startswith("fetched/hf")]


@pytest.mark.parametrize("row", rows_of_truth(), ids=lambda row: row["path"].rsplit("/", 1)[-1][-40:])
def test_totals_of_real_trainer_logs(corpus: Path, row: dict[str, Any]) -> None:
    """Against train_runtime or the last bar, as an independent script read them: within one per cent."""
    folder = corpus / row["path"]
    path = next(
        each
        for each in sorted(folder.iterdir())
        if each.name not in {"source.json", "expected.csv", "norm.csv", "bars.csv"}
    )
    if path.suffix == ".ipynb":
        pytest.skip("a notebook's total comes from its own HTML bar: tests of that reader")
    try:
        runs = read_all(path)
    except TimeledgerError as error:  # a format that no reader takes yet
        pytest.skip(str(error)[:80])
    found = [clock(run) for run in runs]
    best = max((each.elapsed_s for each in found if each.elapsed_s is not None), default=None)
    assert best == pytest.approx(float(row["total_s"]), rel=0.01)
