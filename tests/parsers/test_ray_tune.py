"""Event files of Ray Tune: the iteration is the step, whatever the environments' count does."""

from __future__ import annotations

import pytest

from parsers.base import Origin
from parsers.tensorboard import EventReader
from tests.parsers import wire
from timeledger.clock import clock
from timeledger.run import Run

WALL = 1_800_000_000.0
LEARNER = "info/learner/default_policy/learner_stats"


def call(n: int, timesteps: int) -> tuple[int, float, dict[str, float]]:
    values = {
        "num_workers": 2.0, "timesteps_total": float(timesteps), "time_this_iter_s": 12.0, "time_since_restore": 12.0 * n,
        "iterations_since_restore": float(n), "env_runners/episode_reward_mean": 0.5 * n, "timers/learn_time_ms": 900.0,
        f"{LEARNER}/kl": 0.01, f"{LEARNER}/cur_lr": 3e-4, "perf/cpu_util_percent": 20.0,
    }  # fmt: skip
    return timesteps, 12.0 * n, {f"ray/tune/{name}": value for name, value in values.items()}


def reader(data: bytes) -> EventReader:
    found = EventReader(Origin("events.out.tfevents.1800000000.host"))
    found.feed(data)
    return found


def read(data: bytes) -> Run:
    return reader(data).runs()[0]


@pytest.mark.parametrize("each", [0.0, 0.5, 400.0], ids=["one count for all", "two iterations a count", "counts"])
def test_every_iteration_is_a_row(each: float) -> None:
    run = read(wire.events(WALL, [call(n, 500 + int(each * n)) for n in range(1, 31)]))
    assert run.steps["step"].to_list() == list(range(1, 31))
    assert run.steps["segment"].unique().to_list() == [0]
    assert run.steps["step_s"].to_list() == [12.0] * 30
    assert run.steps["elapsed_s"][-1] == 360.0
    assert run.steps["reward"].to_list() == [0.5 * n for n in range(1, 31)]
    assert run.steps["lr"].to_list() == pytest.approx([3e-4] * 30)
    assert run.phases.is_empty()  # means over several calls
    assert clock(run).elapsed_s == pytest.approx(360.0)


def test_an_iteration_that_is_not_all_there_yet_makes_no_row() -> None:
    data = wire.events(WALL, [call(n, 500) for n in range(1, 6)])
    last = wire.event(WALL + 72.0, 900, wire.scalar("ray/tune/num_workers", 2.0))
    whole = wire.events(WALL, [call(6, 900)])[len(wire.start(WALL)) :]
    found = reader(data + last)
    assert found.runs()[0].steps["step"].to_list() == [1, 2, 3, 4, 5]
    found.feed(whole[len(last) :])
    assert found.runs()[0].steps["step"].to_list() == [1, 2, 3, 4, 5, 6]
