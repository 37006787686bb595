"""Real consoles of AReaL, slime, Tinker, NeMo-RL, prime-rl and others against what is known of them."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pytest

import parsers
from timeledger.analysis import analyse
from timeledger.clock import clock
from timeledger.errors import UnknownFormat
from timeledger.run import Run

pytestmark = pytest.mark.corpus

AREAL = ("areal-a100-fast-25", "areal-a40-fast", "areal-email-failed", "areal-h200")
SEGMENTS = {"areal-a100-fast-25": 1, "areal-a40-fast": 2, "areal-email-failed": 2, "areal-h200": 1}


def console(corpus: Path, name: str) -> tuple[Path, list[dict[str, str]]]:
    folder = corpus / "fetched" / "console" / name
    log = next(path for path in folder.iterdir() if path.name not in {"expected.csv", "source.json"})
    with (folder / "expected.csv").open() as stream:
        return log, list(csv.DictReader(stream))


def close(value: float | None, want: str, rel: float = 1e-4) -> bool:
    return value is not None and abs(value - float(want)) <= rel * max(1.0, abs(value))


# --- AReaL -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AREAL)
def test_areal(corpus: Path, name: str) -> None:
    log, expected = console(corpus, name)
    run = parsers.read(log)
    assert run.info.format == "areal"
    assert run.info.zone_known
    rows = run.steps.to_dicts()
    assert [(row["segment"], row["step"]) for row in rows] == [
        (int(row["segment"]), int(row["step"])) for row in expected
    ]
    assert run.steps["segment"].n_unique() == SEGMENTS[name]
    assert all(close(row["reward"], want["reward"]) for row, want in zip(rows, expected, strict=True))
    seconds = {(row["segment"], row["step"], row["name"]): row["seconds"] for row in run.phases.to_dicts()}
    told = 0
    for want in expected:
        for key, value in want.items():
            if key.startswith("phase:") and value:
                told += 1
                assert close(seconds[int(want["segment"]), int(want["step"]), f"timeperf/{key[6:]}"], value)
    assert told == len(run.phases)


@pytest.mark.parametrize("name", AREAL)
def test_areal_lengths_leave_the_prompt_out(corpus: Path, name: str) -> None:
    """expected.csv takes `seq_len/avg` for the length, which counts the prompt.

    Tokens of a step are sequences x seq_len, and the trained tokens (`n_valid_tokens`, the loss mask) are what is left
    without the prompts.
    """
    log, expected = console(corpus, name)
    run = parsers.read(log)
    for row, extra, want in zip(run.steps.to_dicts(), run.extra.to_dicts(), expected, strict=True):
        whole = extra["grpo_actor/seq_len/avg"]
        assert close(whole, want["len_mean"])
        assert row["len_mean"] == pytest.approx(whole - row["prompt_len"])
        assert row["sequences"] * whole == pytest.approx(row["tokens"], rel=1e-3)
        assert row["sequences"] * row["len_mean"] == pytest.approx(extra["grpo_actor/n_valid_tokens"], rel=2e-3)
        assert row["len_max"] is None


@pytest.mark.parametrize("name", AREAL)
def test_areal_no_eos_is_no_truncation(corpus: Path, name: str) -> None:
    """`no_eos_ratios` marks the answers as long as the longest of their batch: never none of them, whatever the limit."""
    run = parsers.read(console(corpus, name)[0])
    shares = run.extra["grpo_actor/no_eos_ratios/avg"]
    assert min(shares.to_list()) > 0
    assert run.steps["truncated"].null_count() == run.steps.height


@pytest.mark.parametrize("name", AREAL)
def test_areal_times_are_the_stamps(corpus: Path, name: str) -> None:
    """There is no step time in the log; expected.csv has the differences of the containers' stamps, but for the first row."""
    log, expected = console(corpus, name)
    run = parsers.read(log)
    assert run.steps["step_s"].null_count() == run.steps.height
    wanted = {
        (int(want["segment"]), int(want["step"])): float(want["step_s"]) for want in expected if int(want["step"]) > 1
    }
    walls = {(row["segment"], row["step"]): row["wall_s"] for row in clock(run).steps.to_dicts() if row["step"] > 1}
    assert len(walls) >= 49  # a step that was run again counts once, the later time
    assert all(abs(wanted[key] - wall) < 0.02 for key, wall in walls.items())


def test_areal_ends(corpus: Path) -> None:
    ended = {name: parsers.read(console(corpus, name)[0]).info.ended for name in AREAL}
    assert ended == {
        "areal-a100-fast-25": "finished",
        "areal-a40-fast": "finished",
        "areal-email-failed": "finished",
        "areal-h200": None,
    }


# --- slime -----------------------------------------------------------------------------------------------------


def test_slime_notebook(corpus: Path) -> None:
    """Two cells trained: expected.csv keeps them as two segments of 10 and 20 rollouts, here they are two runs."""
    log, expected = console(corpus, "slime-modal-notebook")
    runs = parsers.read_all(log)
    assert [(run.info.format, run.steps.height) for run in runs] == [("slime", 10), ("slime", 20)]
    for number, run in enumerate(runs):
        wanted = [row for row in expected if int(row["segment"]) == number]
        for row, want in zip(run.steps.to_dicts(), wanted, strict=True):
            assert row["step"] == int(want["step"])
            for key in ("step_s", "len_mean", "len_max"):
                assert not want[key] or close(row[key], want[key]), (key, row["step"])
        seconds = {(row["step"], row["name"]): row["seconds"] for row in run.phases.to_dicts()}
        for want in wanted:
            step = int(want["step"])
            assert close(seconds[step, "perf/rollout_time"], want["gen_s"])
            for key in want:
                if key.startswith("phase:") and want[key]:
                    assert close(seconds[step, f"perf/{key[6:]}_time"], want[key])
        assert run.info.number("total_steps") == run.steps.height
        assert run.info.ended == "finished"
        assert (run.info.number("group_size"), run.info.number("prompts_per_step"), run.info.number("gpus")) == (
            8,
            16,
            8,
        )


def test_slime_waits_for_sleep_and_wake(corpus: Path) -> None:
    """Of 28 s a step the trainer waits 23 s, and says for what: most of it is moving weights in and out of the GPU."""
    found = analyse(parsers.read_all(console(corpus, "slime-modal-notebook")[0])[1]).breakdown
    assert found.parts["sleep/wake"] > 15
    assert found.parts["sampling"] < 3
    assert found.parts["waiting"] < 4
    assert not found.overlapped


# --- Tinker ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tinker-leetcode-1b-easy52", "tinker-leetcode-3b-hard54"])
def test_tinker(corpus: Path, name: str) -> None:
    log, expected = console(corpus, name)
    run = parsers.read(log)
    assert run.info.framework != "prime-rl"  # some names are the same
    rows = run.steps.to_dicts()
    assert [(row["segment"], row["step"]) for row in rows] == [
        (int(row["segment"]), int(row["step"])) for row in expected
    ]
    assert all(
        close(row["step_s"], want["step_s"]) and close(row["reward"], want["reward"])
        for row, want in zip(rows, expected, strict=True)
    )


# --- snippets --------------------------------------------------------------------------------------------------


def snippet(corpus: Path, number: str) -> tuple[Path, dict[str, Any]]:
    folder = corpus / "fetched" / "snippets"
    path = next(folder.glob(f"{number}-*"))
    return path, json.loads((folder / "expected.json").read_text())[path.name]["expected"]


def phase_s(run: Run, name: str) -> float:
    return float(run.phases.filter(run.phases["name"].str.contains(name, literal=True))["seconds"][0])


def test_nemo_block_without_a_header(corpus: Path) -> None:
    path, expected = snippet(corpus, "009")
    run = parsers.read(path)
    (want,) = expected["steps"]
    assert run.info.format == "nemo_rl"
    assert run.steps["step_s"].to_list() == [want["step_s"]]
    assert run.steps["reward"].to_list() == [want["reward"]]
    own = {
        "exposed_generation": "gen_s",
        "policy_training": "train_s",
        "policy_and_reference_logprobs": "logprob_s",
        "weight_sync": "weight_sync_s",
    }
    assert all(phase_s(run, f"/{name}") == want[key] for name, key in own.items())
    assert run.phases["seconds"].sum() == pytest.approx(expected["phase_sum"], abs=0.01)
    assert any(note.kind == "guessed" for note in run.notes)  # the step number


def test_prime_rl_burst(corpus: Path) -> None:
    path, expected = snippet(corpus, "013")
    rows = parsers.read(path).steps.to_dicts()
    for row, want in zip(rows, expected["steps"], strict=True):
        assert (row["step"], row["step_s"], row["len_mean"], row["gen_tok_s"], row["reward"]) == tuple(
            want[key] for key in ("step", "step_s", "len_mean", "tok_s", "reward")
        )


def test_torchforge_block(corpus: Path) -> None:
    path, expected = snippet(corpus, "031")
    run = parsers.read(path)
    (want,) = expected["steps"]
    assert run.info.format == "torchforge"
    assert phase_s(run, "policy_generation") == pytest.approx(want["gen_s_avg"], abs=1e-3)
    assert phase_s(run, "compute_logprobs") == pytest.approx(want["logprob_s_avg"], abs=1e-3)
    assert run.steps["len_mean"].to_list() in ([], [None])  # avg_sample_len is of the prompts
    assert set(run.phases["step"]) == {want["step"]}


def test_fragments_without_a_step_time(corpus: Path) -> None:
    path, expected = snippet(corpus, "035")
    run = parsers.read(path)
    assert run.steps["len_mean"].to_list() == expected["len_mean"]
    assert run.steps["step_s"].to_list() == expected["step_s"]
    path, expected = snippet(corpus, "043")
    rows = parsers.read(path).steps.to_dicts()
    assert [(row["step"], row["reward"], row["len_mean"]) for row in rows] == [
        (want["step"], None, None) for want in expected["steps"]
    ]
    assert [row["step_s"] for row in rows] == pytest.approx([want["step_s"] for want in expected["steps"]])


@pytest.mark.parametrize("number", ["011", "033", "037", "039", "041"])
def test_summaries_and_validation_lines_are_no_steps(corpus: Path, number: str) -> None:
    """A table of a whole run, averages of a benchmark, lines of a validation: no rows of training."""
    with contextlib.suppress(UnknownFormat):
        assert parsers.read(snippet(corpus, number)[0]).steps.is_empty()


def test_two_frameworks_in_one_fragment(corpus: Path) -> None:
    """Two loose keys of slime and two of verl; only verl's are lines of a console."""
    path, expected = snippet(corpus, "007")
    run = parsers.read(path)
    assert run.steps["step_s"].to_list() == [pytest.approx(expected["verl"]["step_s"], abs=1e-3)]


# --- single lines ----------------------------------------------------------------------------------------------

FORMATS = {
    "F01": "slime",
    "F02": "slime",
    "F04": "prime_rl",
    "F05": "prime_rl",
    "F07": "prime_rl",
    "F08": "prime_rl",
    "F10": "roll",
    "F20": "torchtune",
}
COLUMNS = {
    "step_time_s": "step_s",
    "truncated_frac": "truncated",
    "tok_s_gen": "gen_tok_s",
    "tok_s_train": "train_tok_s",
}
PHASES = {"t_rollout_s": "rollout", "t_train_s": "update", "t_wait_s": "wait", "t_sync_s": "weight_sync", "t_ref_s": "ref_logprob",
          "t_logp_s": "old_logprob", "t_sleep_s": "sleep_wake", "t_wake_s": "sleep_wake"}  # fmt: skip
#: Kept under the log's own name: a rate of one GPU, a share of the peak; the distance between trainer and engine, which the
#: fixture calls kl and is none to the reference; the time of the step before, which has no row here.
OWN = {
    "tok_s_gen_per_gpu": "perf/tokens_per_gpu_per_sec",
    "mfu": "perf/mfu",
    "F08 kl": "mismatch_kl/all/mean",
    "step_time_prev_s": None,
}


@pytest.mark.parametrize("line", FORMATS)
def test_single_lines(corpus: Path, line: str) -> None:
    cases = (json.loads(text) for text in (corpus / "fetched" / "lines.jsonl").read_text().splitlines())
    case = next(case for case in cases if case["id"] == line)
    run = parsers.read((case["line"] + "\n").encode(), name="train.log")
    assert run.info.format == FORMATS[line]
    row, extra = run.steps.to_dicts()[0], run.extra.to_dicts()[0]
    for name, want in case["expect"].items():
        own = OWN.get(f"{line} {name}", OWN.get(name, ""))
        if own is None:
            assert row["step_s"] is None
        elif own:
            assert extra[own] == pytest.approx(want)
        elif name in PHASES:
            assert pytest.approx(want) in run.phases.filter(run.phases["phase"] == PHASES[name])["seconds"].to_list(), (
                name
            )
        else:
            assert row[COLUMNS.get(name, name)] == pytest.approx(want), name
