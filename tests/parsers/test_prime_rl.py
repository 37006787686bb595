"""prime-rl's consoles: three generations of step lines, two processes, a clock without a date, JSON logging."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import parsers
from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, noted, phases, read, setting


def test_orchestrator_and_trainer_are_one_step() -> None:
    run = read(made.prime_rl(), "prime_rl")
    steps = range(5)
    assert column(run, "step") == [*steps]
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in steps])  # the orchestrator's
    assert run.extra["trainer/time"].to_list() == [8.25] * 5
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps], abs=0.06)
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in steps])
    assert set(column(run, "gen_tok_s")) == {2408.9}
    assert set(column(run, "train_tok_s")) == {10234.0}
    assert set(column(run, "mem_gib")) == {61.2}
    assert set(column(run, "grad_norm")) == {0.1234}
    assert column(run, "kl") == [None] * 5
    assert run.extra["mismatch_kl/all/mean"][0] == 0.0008
    assert noted(run, "counts the prompt too")
    assert setting(run, "async_mode") is True


def test_the_clock_goes_on_over_midnight() -> None:
    run = read(made.prime_rl(), "prime_rl")
    assert column(run, "elapsed_s") == [30.0, 60.0, 90.0, 120.0, 150.0]
    assert column(run, "at") == [None] * 5


def test_an_excerpt_begins_with_the_time_of_its_first_step() -> None:
    text = "".join(line for line in made.prime_rl().splitlines(keepends=True) if "Reward" in line)
    run = read(text, "prime_rl")
    assert column(run, "elapsed_s") == pytest.approx([made.took(0) + 30 * step for step in range(5)])


def test_a_line_behind_a_bar_and_the_wait_for_weights() -> None:
    run = read(made.prime_rl(), "prime_rl")
    row = phases(run, 2)["orchestrator paused"]
    assert (row["phase"], row["seconds"]) == ("wait", 3.0)
    assert [event["seconds"] for event in events(run, "weight_sync")] == [3.0]
    assert phases(run, 3) == {}


def test_the_trainer_alone() -> None:
    text = "".join(line for line in made.prime_rl().splitlines(keepends=True) if "Loss" in line)
    run = read(text, "prime_rl")
    assert column(run, "step_s") == [8.25] * 5
    assert column(run, "reward") == [None] * 5
    assert column(run, "train_tok_s") == [10234.0] * 5
    assert column(run, "gen_tok_s") == [None] * 5


@pytest.mark.parametrize(
    ("shown", "seconds"),
    [("730ms", 0.73), (" 22.5s", 22.5), (" 1m 12s", 72.0), (" 2h 5m", 7500.0), (" 1d 3h", 97200.0)],
)
def test_the_newest_shape_has_bare_times_and_no_colons(shown: str, seconds: float) -> None:
    text = (
        f"12:40:07 SUCCESS Step 31 | {shown} | Reward 0.4052 | Trainable 96/128 (75.0%) | Turns 1.0 | Branches 1.0 | Max Off-Policy 1 "
        "| Error 0.0% | Cancelled 1.6% | Truncation 3.1%\n\t\t ╰─ maths | Ratio 50.0% | Reward 0.9999 | Turns 1.0\n"
    )
    row = read(text, "prime_rl").steps.to_dicts()[0]
    assert (row["step"], row["step_s"], row["reward"], row["sequences"]) == (31, seconds, 0.4052, 128.0)
    assert row["truncated"] == pytest.approx(0.031)
    assert row["len_mean"] is None


def test_the_newest_trainer() -> None:
    text = (
        "12:40:07 SUCCESS Step 31 |  1m 12s | Loss 0.0012 | Entropy 0.3141 | Mismatch KL 0.0008 | Grad. Norm 0.1234 | LR 1.00e-06 "
        "| Throughput 10234 tokens/s | MFU 12.3% | Peak Mem. 61.2 GiB\n"
    )
    run = read(text, "prime_rl")
    row = run.steps.to_dicts()[0]
    assert (row["step_s"], row["loss"], row["lr"], row["train_tok_s"], row["mem_gib"]) == (
        72.0,
        0.0012,
        1e-6,
        10234.0,
        61.2,
    )
    assert run.extra["perf/mfu"][0] == 12.3


def test_the_first_shape() -> None:
    text = "".join(
        f"10:00:{10 * step:02d} SUCCESS Finished orchestrator step {step} in {made.took(step):.2f}s (Avg. Reward: 0.50, Avg. Advantage: 0.01, "
        "Throughput: 812.5 tokens/s, Avg. Seq. Length: 200.5)\n"
        for step in (1, 2)
    )
    run = read(text, "prime_rl")
    assert column(run, "step_s") == pytest.approx([made.took(1), made.took(2)])
    row = run.steps.to_dicts()[0]
    assert (row["reward"], row["adv_mean"], row["gen_tok_s"], row["len_mean"]) == (0.5, 0.01, 812.5, 200.5)


def test_the_second_shape() -> None:
    text = "10:00:20 SUCCESS Orchestrator | step 2 | Time:12.34s | Avg. Reward: 0.50 | Throughput: 812.5 tokens/s | Avg. Seq. Length: 200.5 tokens/sample\n"
    row = read(text, "prime_rl").steps.to_dicts()[0]
    assert (row["step"], row["step_s"], row["reward"], row["gen_tok_s"]) == (2, 12.34, 0.5, 812.5)


def test_json_logging_has_dates() -> None:
    lines = []
    for place, message in enumerate([
        "Starting orchestrator step 1", "Step 1 |   22.5s | Reward 0.5000 | Trainable 2/4 (50.0%) | Truncation 0.0%\n\t\t ╰─ a | Ratio 1%",
        "Evaluated gsm8k (Step 1) | Policy v1 |   12.5s | Reward 0.4000 | Truncation 0.0%",
        "Step 2 |   23.5s | Reward 0.6000 | Trainable 4/4 (100.0%) | Truncation 0.0%",
    ]):  # fmt: skip
        level = "INFO" if place == 0 else "SUCCESS"
        entry = {
            "timestamp": f"2026-03-01T10:0{place}:00+01:00",
            "level": level,
            "message": message,
            "module": "orchestrator",
            "function": "f",
            "line": 3,
        }
        lines.append(json.dumps(entry))
    lines.insert(
        1,
        json.dumps(
            {
                "timestamp": "2026-03-01T10:00:01+01:00",
                "level": "INFO",
                "type": "progress",
                "desc": "x",
                "current": 1,
                "total": 2,
                "percent": 50.0,
            }
        ),
    )
    run = read("\n".join(lines) + "\n", "prime_rl")
    assert column(run, "step_s") == [22.5, 23.5]
    assert column(run, "reward") == [0.5, 0.6]
    assert column(run, "at") == [datetime(2026, 3, 1, 9, 1, tzinfo=UTC), datetime(2026, 3, 1, 9, 3, tzinfo=UTC)]
    (event,) = events(run, "evaluation")
    assert (event["step"], event["seconds"]) == (1, 12.5)
    assert "0.4000" in event["text"]
    assert run.info.zone_known


def test_older_evaluations_and_checkpoints() -> None:
    text = (
        made.prime_rl(2)
        + "23:59:50 SUCCESS Evaluated gsm8k in 12.34s (Avg@4=0.5500, Pass@4: 0.6)\n23:59:55    INFO Saving checkpoint at step 1\n"
    )
    run = read(text, "prime_rl")
    (event,) = events(run, "evaluation")
    assert (event["step"], event["seconds"]) == (1, 12.34)
    assert [row["step"] for row in events(run, "checkpoint")] == [1]


def test_steps_that_go_back_are_a_restart_with_a_clock_of_its_own() -> None:
    again = made.prime_rl(4).replace("23:5", "21:0").replace("00:00", "21:11")
    run = read(made.prime_rl(3) + again, "prime_rl")
    assert column(run, "segment") == [0, 0, 0, 1, 1, 1, 1]
    assert column(run, "step") == [0, 1, 2, 0, 1, 2, 3]
    assert all(value is not None and value >= 0 for value in column(run, "elapsed_s"))
    assert len(events(run, "restart")) == 1


def test_the_end() -> None:
    assert read(made.prime_rl() + "00:05:00 SUCCESS RL trainer finished!\n", "prime_rl").info.ended == "finished"


# --- a file a process ------------------------------------------------------------------------------------------------


def apart(folder: Path, trainer: str = "logs/trainer/rank_0.log", orchestrator: str = "logs/orchestrator.log") -> None:
    """The run as its two processes write it, each into its own file."""
    lines = made.prime_rl().splitlines(keepends=True)
    for name, of_trainer in ((orchestrator, False), (trainer, True)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(line for line in lines if ("Loss:" in line) == of_trainer))


@pytest.mark.parametrize("trainer", ["logs/trainer/rank_0.log", "logs/trainer.log", "trainer.log"])
def test_two_files_of_two_processes_are_the_run_that_one_capture_holds(tmp_path: Path, trainer: str) -> None:
    apart(tmp_path / "my-run", trainer, trainer.split("/")[0].replace("logs", "logs/orchestrator.log").replace("trainer.log", "orchestrator.log"))  # fmt: skip
    (run,) = parsers.read_all(tmp_path / "my-run")
    whole = read(made.prime_rl(), "prime_rl")
    assert run.name == "my-run"
    assert run.steps.drop("line").equals(whole.steps.drop("line"))
    assert run.extra["trainer/time"].to_list() == [8.25] * 5
    assert run.phases.equals(whole.phases)


def test_what_is_not_certain_stays_apart(tmp_path: Path) -> None:
    apart(tmp_path / "two", orchestrator="logs/orchestrator_a.log")
    (tmp_path / "two/logs/orchestrator_b.log").write_text(made.prime_rl().replace("Reward: 0.", "Reward: 1."))
    assert len(parsers.read_all(tmp_path / "two")) == 3, "whose trainer is it?"
    apart(tmp_path / "named", trainer="logs/other.log")
    assert len(parsers.read_all(tmp_path / "named")) == 2
    apart(tmp_path / "later")
    late = tmp_path / "later/logs/trainer/rank_0.log"
    late.write_text("".join(line.replace(f"Step {step} ", f"Step {step + 900} ") for step, line in enumerate(late.read_text().splitlines(keepends=True))))  # fmt: skip
    assert len(parsers.read_all(tmp_path / "later")) == 2
