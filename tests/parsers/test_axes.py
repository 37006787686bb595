"""Event files whose names count different things, and times under names that only their course explains."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

from parsers import axes
from parsers.base import Origin
from parsers.tensorboard import EventReader
from tests.parsers import wire
from timeledger.clock import clock
from timeledger.run import Run

WALL = 1_800_000_000.0
Row = tuple[int, float, dict[str, float]]


def read(rows: list[Row], *, pieces: int = 1) -> Run:
    data = wire.events(WALL, sorted(rows, key=lambda row: row[1]))
    reader = EventReader(Origin("events.out.tfevents.1800000000.host", ("runs", "my-run")))
    cuts = [len(data) * at // pieces for at in range(pieces + 1)]
    for begin, end in pairwise(cuts):
        reader.feed(data[begin:end])
        reader.runs()
    return reader.runs()[0]


def iterations(count: int) -> list[Row]:
    """Each of 100 s: 8 episodes, then 4 updates in rows of 5 steps, then the iteration's own values."""
    rows: list[Row] = []
    for i in range(count):
        start = 100.0 * i
        rows += [(8 * i + n, start + 8.0 * n, {"play/score": 0.5, "play/episode_time": 7.5}) for n in range(1, 9)]
        for n in range(1, 5):
            rows.append(
                (20 * i + 5 * n, start + 64.0 + 8.0 * n, {"learner/loss": 1.0 / (i + n), "learner/backward_time": 1.5})
            )
        rows.append((i + 1, start + 99.0, {"whole/update_time": 30.0, "whole/mean_score": 0.1 * i}))
    return rows


@pytest.mark.parametrize("pieces", [1, 7])
def test_only_the_updates_make_rows_and_no_time_of_another_axis_is_theirs(pieces: int) -> None:
    run = read(iterations(20), pieces=pieces)
    assert run.steps["step"].to_list() == list(range(5, 401, 5))
    assert run.phases["name"].unique().to_list() == ["learner/backward_time"]
    assert run.phases["seconds"].sum() == pytest.approx(80 * 1.5)
    found = clock(run)
    assert found.source == "timestamps"
    assert found.elapsed_s == pytest.approx(2000.0, rel=0.05)
    assert any("play/score" in note.text and note.kind == "info" for note in run.notes)


def test_a_value_of_another_axis_stands_beside_the_row_it_came_after() -> None:
    run = read(iterations(20))
    told = run.extra.select("step", "whole/mean_score").drop_nulls()
    assert told["step"].to_list() == list(range(20, 401, 20))
    assert told["whole/mean_score"].to_list() == pytest.approx([0.1 * i for i in range(20)], abs=1e-6)
    assert "play/score" not in run.extra.columns  # eight of them to four rows


def test_the_names_are_told_apart_in_a_long_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "_LOOK", 300)
    assert read(iterations(40)).steps.equals(read(iterations(40), pieces=5).steps)
    run = read(iterations(40))
    assert run.steps["step"].to_list() == list(range(5, 801, 5))
    assert run.phases["name"].unique().to_list() == ["learner/backward_time"]


def test_a_name_that_first_comes_late_on_its_own_count_gives_an_evaluation_at_the_step_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(axes, "_LOOK", 100)
    rows: list[Row] = [(n, 2.0 * n, {"train/loss": 1.0, "train/lr": 0.1}) for n in range(10, 2001, 10)]
    late = [(1, 3000.5, {"test/reward": 0.5, "load_time": 55.0}), (2, 3500.5, {"test/reward": 0.6, "load_time": 55.0})]
    run = read(rows + late)
    assert run.steps["step"].to_list() == list(range(10, 2001, 10))
    assert run.events.select("kind", "step").rows() == [("evaluation", 1500), ("evaluation", 1750)]
    assert run.phases.is_empty()


def test_names_that_lag_or_come_seldom_are_on_the_one_axis() -> None:
    rows: list[Row] = [(n, 5.0 * n, {"train/loss": 1.0, "train/step_time": 4.0}) for n in range(1, 101)]
    rows += [(n, 5.0 * n + 7.0, {"train/rollout_time": 2.0}) for n in range(1, 101)]
    rows += [(n, 5.0 * n + 1.0, {"train/save_time": 1.0}) for n in range(10, 101, 10)]
    run = read(rows)
    assert run.phases.group_by("name").len().sort("name").rows() == [
        ("train/rollout_time", 100),
        ("train/save_time", 10),
    ]
    assert run.steps["step_s"].to_list() == [4.0] * 100
    assert not run.notes


def rounds(count: int) -> list[Row]:
    """Rounds of 1000 steps and 10 s; the losses of each are written with steps that go on past the round, and fall back."""
    rows: list[Row] = []
    for i in range(count):
        rows += [
            (1000 * i + 1000 * n, 10.0 * i + 9.0 + n / 100, {"loss/loss": 0.5, "loss/entropy": 0.1}) for n in range(4)
        ]
    return rows


def test_steps_that_fall_back_in_every_round_are_no_sessions() -> None:
    run = read(rounds(30))
    assert run.steps["segment"].unique().to_list() == [0]
    assert run.steps["step"].to_list() == list(range(0, 32_001, 1000))
    assert clock(run).elapsed_s == pytest.approx(300.0, rel=0.05)


def test_they_stand_beside_the_rows_of_a_count_that_only_rises() -> None:
    episodes: list[Row] = [(40 * n, 0.4 * n, {"episode_score": 0.1}) for n in range(750)]
    run = read(rounds(30) + episodes)
    assert run.events.is_empty()
    assert run.steps["segment"].unique().to_list() == [0]
    assert run.steps["loss"].count() == 30
    assert run.steps["step"].to_list()[-1] >= 40 * 740
    assert clock(run).elapsed_s == pytest.approx(300.0, rel=0.05)


def test_a_training_that_begins_again_in_the_same_file_is_a_session() -> None:
    rows: list[Row] = [(n, 1.0 * n, {"train/loss": 1.0}) for n in range(1, 21)]
    rows += [(n, 30.0 + n, {"train/loss": 1.0}) for n in range(11, 31)]
    run = read(rows)
    assert run.steps["segment"].to_list() == [0] * 20 + [1] * 20


def test_a_cumulative_time_in_a_group_of_times_is_the_clock_and_a_part_what_it_rose_by() -> None:
    rows: list[Row] = []
    for n in range(1, 41):
        sums = {
            "info/timing/total_time": 6.0 * n,
            "info/timing/train_time": 6.0 * n,
            "info/timing/collect_time": 2.5 * n,
        }
        rows.append((n, 6.0 * n, sums | {"info/timing/update_speed": 300.0 + n, "info/loss": 1.0 / n}))
        rows.append((2048 * n, 6.0 * n - 1.0, {"training/collect_time": 3.5, "training/mean_return": -1.0}))
    run = read(rows)
    assert run.steps["step"].to_list() == list(range(1, 41))
    assert run.steps["elapsed_s"].to_list() == pytest.approx([6.0 * n for n in range(1, 41)])
    assert run.phases["name"].unique().to_list() == ["info/timing/collect_time"]
    assert run.phases["seconds"].to_list() == pytest.approx([2.5] * 39, abs=1e-4)
    assert clock(run).elapsed_s == pytest.approx(240.0, abs=1.0)


def test_times_of_all_steps_of_a_row_are_shared_out_and_those_longer_than_it_left_out() -> None:
    rows: list[Row] = [
        (100 * n, 8.0 * n, {"my/loss": 1.0, "my/collect_time": 5.0, "my/learn_time": 2.0, "my/sync_time": 30.0})
        for n in range(1, 31)
    ]
    run = read(rows)
    sums = run.phases.group_by("name").agg(pl.col("seconds").sum()).rows()
    assert dict(sums) == {"my/collect_time": pytest.approx(30 * 0.05), "my/learn_time": pytest.approx(30 * 0.02)}
    assert {note.kind for note in run.notes} == {"guessed"}
    found = clock(run)
    assert found.source == "timestamps"
    assert found.elapsed_s == pytest.approx(240.0, abs=2.0)


def test_times_of_one_step_in_rows_of_several_stay_as_they_are() -> None:
    rows: list[Row] = [(5 * n, 8.0 * n, {"my/loss": 1.0, "my/learn_time": 1.2}) for n in range(1, 31)]
    run = read(rows)
    assert run.phases["seconds"].to_list() == pytest.approx([1.2] * 30)
    assert not run.notes
