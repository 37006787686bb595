"""Names of times and of counts beside them: the run's clock in any spelling, parts of a step, and what only counts."""

from __future__ import annotations

import json

import pytest

from parsers import read
from parsers.fields import resolve

CLOCKS = (
    "wall_time wall_time_sec wall_time_s wall_clock_s wall_clock walltime WallTime wallclock_seconds wall_seconds elapsed "
    "elapsed_sec elapsed_time_sec time_elapsed total_elapsed_seconds total_time_s time_total_s runtime runtime_s run_time_s "
    "total_runtime_s cumulative_time_s cum_step_time_s time_since_start_s time/time_elapsed misc/time_elapsed"
)


@pytest.mark.parametrize("key", CLOCKS.split())
def test_a_clock_of_the_run(key: str) -> None:
    found = resolve(key)
    assert (found.kind, found.name, found.of(12.5)) == ("clock", "elapsed_s", 12.5)


@pytest.mark.parametrize(
    ("key", "seconds"),
    [("wall_h", 3600.0), ("elapsed_min", 60.0), ("total_wall_time_hours", 3600.0), ("elapsed_ms", 0.001)],
)
def test_a_clock_in_another_unit(key: str, seconds: float) -> None:
    assert resolve(key).name == "elapsed_s"
    assert resolve(key).of(2.0) == pytest.approx(2 * seconds)


@pytest.mark.parametrize(
    "key", ["step_wall_time_s", "wall_time_per_step", "time_this_iter_s", "time/step", "time/iteration"]
)
def test_a_time_of_one_step(key: str) -> None:
    assert (resolve(key).kind, resolve(key).name) == ("column", "step_s")


@pytest.mark.parametrize(
    ("key", "phase"), [("rollout_wall_time", "rollout"), ("gen_elapsed", "rollout"), ("eval_elapsed_s", "evaluation")]
)
def test_a_time_of_a_part(key: str, phase: str) -> None:
    assert (resolve(key).kind, resolve(key).name) == ("phase", phase)
    assert resolve(key, "s").name == phase


@pytest.mark.parametrize(
    "key", "time/iterations time/episodes time/total_timesteps time/steps time/n_updates misc/total_timesteps".split()
)
def test_counts_grouped_with_times(key: str) -> None:
    assert (resolve(key).kind, resolve(key).name) == ("step", "step")


@pytest.mark.parametrize("key", "time/fps time/sps time/tokens time/calls time/frames misc/nupdates".split())
def test_rates_and_other_counts_are_no_seconds(key: str) -> None:
    assert resolve(key).kind == "extra"


@pytest.mark.parametrize("key", ["wall_time_sec", "walltime", "runtime_s", "total_training_time", "cumulative_time"])
def test_a_rising_clock_in_json_lines(key: str) -> None:
    rows = [{"step": 200 * n, "train_loss": 2.0, key: 3.5 + 18.25 * n} for n in range(6)]
    run = read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="m.jsonl")
    assert run.steps["elapsed_s"].to_list() == [3.5 + 18.25 * n for n in range(6)]
    assert run.steps["step_s"].null_count() == 6


@pytest.mark.parametrize("key", ["wall_time_sec", "runtime_s", "total_time"])
def test_a_clock_that_falls_is_of_each_step(key: str) -> None:
    took = [4.5, 4.0, 5.0, 4.25, 4.75, 4.0]
    rows = [{"step": n, "loss": 2.0, key: seconds} for n, seconds in enumerate(took)]
    run = read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="m.jsonl")
    assert run.steps["step_s"].to_list() == took
    assert run.steps["elapsed_s"].null_count() == 6
