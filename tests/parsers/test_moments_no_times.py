"""Moments under the names of times, saves between the rows, and the bar of a logger without a terminal."""

from __future__ import annotations

import json

import pytest

from parsers import read as read_log
from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.fields import resolve
from tests.parsers import wire
from tests.parsers.loops import notes, read
from timeledger.clock import clock

NOW = 1_800_000_000.0


@pytest.mark.parametrize("unit", [1.0, 1000.0], ids=["s", "ms"])
def test_a_moment_in_a_row_of_json_is_no_phase(unit: float) -> None:
    rows = [
        {"step": n, "loss": 1.0, "step_time": 4.0, "rollout_time": 2.0, "save_start_time": (NOW + 4.0 * n) * unit}
        for n in range(1, 31)
    ]
    run = read_log("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl")
    assert run.phases["name"].unique().to_list() == ["rollout_time"]
    assert run.extra["save_start_time"].to_list() == [row["save_start_time"] for row in rows]
    assert clock(run).elapsed_s == pytest.approx(120.0)


def test_nor_in_an_event_file() -> None:
    rows = [(n, 4.0 * n, {"my/loss": 1.0, "my/save_start_time": NOW + 4.0 * n}) for n in range(1, 31)]
    run = read_log(wire.events(NOW, rows), name="events.out.tfevents.1800000000.host")
    assert run.phases.is_empty()
    assert "my/save_start_time is a moment" in notes(run)


def test_the_longest_duration_that_a_phase_can_have() -> None:
    build = RunBuilder(Origin("x.log"), "made")
    build.row(1, {})
    build.phase(1, "checkpoint", 9.9e8)
    build.phase(1, "checkpoint", 1e9, name="saved_at_time")
    build.row(2, {"step_s": NOW, "elapsed_s": 5.0, "loss": 1.0})
    run = build.run()
    assert run.phases["seconds"].to_list() == [9.9e8]
    assert run.steps.select("step_s", "elapsed_s", "loss").rows()[1] == (None, 5.0, 1.0)


@pytest.mark.parametrize(
    "key", "work_elapsed/actor_updates elapsed/updates timing/total_episodes time/env_steps".split()
)
def test_how_many_is_no_time(key: str) -> None:
    assert resolve(key).kind == "extra"


def _loop(rows: int) -> str:
    """Rows of 100 steps and 70 s, a save every tenth, and a bar every 10 s that shows three digits of its count."""
    lines = []
    for n in range(rows):
        start = 70 * n
        lines.append(f"Step {100 * n}: grad_norm=0.5, loss={1 / (n + 1):.4f}\n")
        if n and n % 10 == 0:
            times = {f"{part}_start_time": NOW + start for part in ("wait", "write", "commit")}
            times |= {
                "wait_duration_secs": 0.2,
                "write_duration_secs": 0.5 + 0.01 * n,
                "commit_duration_secs": 0.7 + 0.01 * n,
            }
            lines.append(f"{{'step': {100 * n}, 'event_type': 'save', {str(times)[1:-1]}}}\n")
        for after in range(10, 71, 10):
            done, seconds = 100 * n + after * 10 // 7, start + after
            shown = f"{done}it" if done < 1000 else f"{done / 1000:.3g}kit"
            clock_ = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
            lines.append(f"Progress on: {shown}/20kit rate:1.4it/s remaining:3:51:00 elapsed:{clock_} postfix:-\n")
    return "".join(lines)


def test_a_bar_in_words_is_the_clock_and_the_parts_of_a_save_are_no_step() -> None:
    run = read(_loop(60))
    assert run.steps["step"].to_list() == list(range(0, 6000, 100))
    assert run.steps["step_s"].count() == 0
    assert run.progress["total"].unique().to_list() == [20_000]
    found = clock(run)
    assert found.source == "progress bar"
    assert found.elapsed_s == pytest.approx(60 * 70.0, rel=0.02)
    assert max(run.phases["seconds"].to_list()) < 2.0
