"""What the model costs, as ratios of CPU time in one process: it grows with the steps, and a list of runs pays for no backtest."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.run import Run, RunInfo


def long_run(count: int) -> Run:
    """So many steps with lengths, noise and an evaluation every 500 steps."""
    rng = np.random.default_rng(1)
    length = 90 + 60 * np.arange(count) / count + rng.normal(0, 4, count)
    step_s = 5 + 0.2 * length + rng.normal(0, 0.5, count)
    step_s[499::500] += 60
    step = np.arange(1, count + 1)
    rows = {"segment": np.zeros(count, dtype=int), "step": step, "span": np.ones(count, dtype=int), "line": step}
    frame = pl.DataFrame(rows | {"step_s": step_s, "len_mean": length, "len_max": 2.4 * length})
    return Run(RunInfo(name="long", format="made"), schema.conform(frame, schema.STEPS))


def cpu_of(run: Run, times: int, *, backtested: bool) -> float:
    """The least CPU time of several analyses: what disturbs only adds."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        analyse(run, backtested=backtested)
        spent.append(time.process_time() - start)
    return min(spent)


def test_eight_times_the_steps_cost_no_more_than_sixteen_times_the_time() -> None:
    short, long = (cpu_of(long_run(count), 3, backtested=True) for count in (25_000, 200_000))
    assert long <= 16 * short


def test_a_view_without_a_backtest_does_not_pay_for_it() -> None:
    run, _ = simulate(Plan(steps=300, len_last=500), "step_s")
    with_it, without = (cpu_of(run, 7, backtested=each) for each in (True, False))
    assert without <= 0.7 * with_it
