"""Rows that name no step, and times that may be of the day: what their course over the rows tells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from parsers import read
from timeledger.clock import clock
from timeledger.run import Run

N = range(1, 13)


def lines(rows: Sequence[Mapping[str, object]]) -> Run:
    return read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="log.jsonl")


def table(rows: Sequence[Mapping[str, object]]) -> Run:
    text = [",".join(rows[0]), *(",".join(str(cell) for cell in row.values()) for row in rows)]
    return read(("\n".join(text) + "\n").encode(), name="log.csv")


BOTH = pytest.mark.parametrize("source", [lines, table], ids=["jsonl", "csv"])


@BOTH
@pytest.mark.parametrize("key", ["timesteps", "total_timesteps", "env_steps", "TotalEnvInteracts", "total_steps"])
def test_a_counter_that_rises_is_the_step(source, key: str) -> None:  # type: ignore[no-untyped-def]
    run = source([{key: 2048 * n, "reward": 0.5, "loss": 0.25, "elapsed": 3.5 * n} for n in N])
    assert run.steps["step"].to_list() == [2048 * n for n in N]
    assert run.steps["elapsed_s"].to_list() == [3.5 * n for n in N]
    assert run.info.setting("total_steps") is None  # what rises is no plan
    assert not any("counted" in note.text for note in run.notes)


@BOTH
def test_a_count_of_each_row_is_not_the_step(source) -> None:  # type: ignore[no-untyped-def]
    run = source([{"timesteps": 200 - n % 3, "reward": 0.5, "loss": 0.25, "elapsed": 3.5 * n} for n in N])
    assert run.steps["step"].to_list() == list(N)
    assert any("counted" in note.text for note in run.notes)


@BOTH
def test_a_plan_stays_one(source) -> None:  # type: ignore[no-untyped-def]
    run = source([{"step": n, "total_steps": 400, "reward": 0.5, "loss": 0.25} for n in N])
    assert (run.info.setting("total_steps"), run.steps["step"].to_list()) == (400, list(N))


def of_day(second: int) -> str:
    second %= 86_400
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


@BOTH
@pytest.mark.parametrize("start", [45_000, 86_290, 1_800])
def test_a_time_of_day_is_no_duration(source, start: int) -> None:  # type: ignore[no-untyped-def]
    run = source([{"step": n, "loss": 0.5, "time": of_day(start + 20 * n + n % 2)} for n in N])
    assert run.steps["step_s"].null_count() == 12
    assert clock(run).elapsed_s == pytest.approx(12 * 20, abs=25)


@BOTH
def test_a_date_and_a_time_in_two_cells(source) -> None:  # type: ignore[no-untyped-def]
    run = source([{"date": "2024-05-01", "time": of_day(45_000 + 20 * n), "step": n, "loss": 0.5} for n in N])
    assert run.steps["at"][0] == datetime(2024, 5, 1, 12, 30, 20, tzinfo=UTC)
    assert not run.info.zone_known
    assert clock(run).elapsed_s == pytest.approx(240.0)


@BOTH
def test_a_time_that_passed_written_alike(source) -> None:  # type: ignore[no-untyped-def]
    passed = source([{"step": n, "loss": 0.5, "time": of_day(20 * n)} for n in N])
    assert passed.steps["elapsed_s"].to_list() == [20.0 * n for n in N]
    single = source([{"step": n, "loss": 0.5, "time": of_day(35 - n % 3)} for n in N])
    assert single.steps["step_s"].to_list() == [35.0 - n % 3 for n in N]
