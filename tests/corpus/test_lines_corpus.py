"""Single lines of real and rendered logs, each read alone, and whole hand-written runs against what is known of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import parsers
from timeledger.errors import UnknownFormat
from timeledger.run import Run

pytestmark = pytest.mark.corpus

#: The names of the expected values -> columns of `steps`.
COLUMNS = {
    "step_time_s": "step_s",
    "truncated_frac": "truncated",
    "zero_std_frac": "zero_std",
    "n_rollouts": "sequences",
}
PHASES = {
    "t_rollout_s": "rollout",
    "t_train_s": "update",
    "t_wait_s": "wait",
    "t_sync_s": "weight_sync",
    "t_reward_s": "reward",
    "t_adv_s": "advantage",
}
#: Expected names that this record keeps elsewhere: in `extra` by the log's own name.
OWN = {"tok_s": ("tok/sec", "tokens_per_sec", "throughput"), "tok_s_gen": ("throughput",), "mfu": ("bf16_mfu",),
       "approx_kl": ("Approx KL",), "len_mean_words": ("len (w)",), "reward_sum": ("returns",), "remaining_s": ("remaining_s",)}  # fmt: skip
#: Facts about the line, not values on it; and a bare `0: 12.345s`, which nothing says is a generation time.
UNSAID = {"substep", "rank", "epoch_in_step"}


def cases(corpus: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (corpus / "fetched" / "lines.jsonl").read_text().splitlines()]


def read(line: str, end: str) -> Run | None:
    try:
        return parsers.read((line + end).encode(), name="train.log")
    except UnknownFormat:
        return None


def found(run: Run, name: str) -> list[float]:
    """Where a value of this expected name may stand in the record."""
    row = run.steps.to_dicts()[0] if run.steps.height else {}
    extra = run.extra.to_dicts()[0] if run.extra.height else {}
    values: list[float | None] = [row.get(COLUMNS.get(name, name))]
    if name in PHASES:
        values += run.phases.filter(run.phases["phase"] == PHASES[name])["seconds"].to_list()
    if name == "total_steps":
        values.append(run.info.number("total_steps"))
    if name in {"tok_s", "tok_s_gen"}:
        values.append(row.get("gen_tok_s"))
    if name == "remaining_s" and run.progress.height:
        values.append(run.progress["remaining_s"].to_list()[-1])
    values += [extra.get(own) for own in OWN.get(name, ())]
    return [value for value in values if value is not None]


@pytest.mark.parametrize("end", ["", "\n"])
def test_hand_written_lines_alone(corpus: Path, end: str) -> None:
    right = 0
    wrong: list[str] = []
    missing: list[str] = []
    for case in cases(corpus):
        if not case["id"].startswith("H") or not isinstance(case["expect"], dict):
            continue
        run = read(case["line"], end)
        for name, want in case["expect"].items():
            if name in UNSAID:
                continue
            values = found(run, name) if run is not None else []
            if any(abs(value - want) <= 1e-4 * max(1.0, abs(want)) for value in values):
                right += 1
            else:
                (wrong if values else missing).append(f"{case['id']} {name}: want {want}, got {values}")
    assert wrong == []
    assert len(missing) <= 0.02 * (right + len(missing)), missing
    assert right > 150


@pytest.mark.parametrize("end", ["", "\n"])
def test_noise_is_no_row(corpus: Path, end: str) -> None:
    noise = [case for case in cases(corpus) if case["expect"] in (None, "NOISE")]
    assert len(noise) >= 14
    for case in noise:
        run = read(case["line"], end)
        assert run is None or run.steps.is_empty(), case["id"]


RUNS = {
    "console/hand-rookworld-1410/training_history.jsonl": "jsonl",
    "console/hand-rookworld-console/training_output.txt": "keyvalue",
    "console/tinker-leetcode-1b-easy52/metrics.jsonl": "jsonl",
    "console/tinker-leetcode-3b-hard54/metrics.jsonl": "jsonl",
    "hf/beibeizzz-countdown-post-tra__post-train-outputs-grpo-metrics.jsonl/metrics.jsonl": "jsonl",
    "hf/beibeizzz-countdown-post-tra__post-train-outputs-grpo-trl-metrics.jsonl/metrics.jsonl": "jsonl",
}
EXPECTED = {
    "segment": "segment",
    "step": "step",
    "step_s": "step_s",
    "len_mean": "len_mean",
    "len": "len_mean",
    "maxlen": "len_max",
    "reward": "reward",
}


@pytest.mark.parametrize("name", RUNS)
def test_whole_runs(corpus: Path, name: str) -> None:
    path = corpus / "fetched" / name
    run = parsers.read(path)
    assert run.info.format == RUNS[name]
    with (path.parent / "expected.csv").open() as stream:
        expected = list(csv.DictReader(stream))
    rows = run.steps.to_dicts()
    assert len(rows) == len(expected)
    wrong = [
        (row["step"], theirs, want[theirs], row[ours])
        for row, want in zip(rows, expected, strict=True)
        for theirs, ours in EXPECTED.items()
        if want.get(theirs)
        and abs(float(want[theirs]) - (row[ours] if row[ours] is not None else 1e99))
        > 1e-4 * max(1.0, abs(row[ours] or 0))
    ]
    assert wrong == []
