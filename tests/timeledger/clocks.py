"""What the tests of the clock share."""

from __future__ import annotations

import polars as pl
import pytest

from tests.simulate import Floats
from timeledger.results import CLOCK_STEPS, Clock, Periodic

ALL = ("stamps", "bar", "elapsed", "step_s")


def sound(found: Clock) -> None:
    """What is true of every clock."""
    steps = found.steps
    assert steps.schema == CLOCK_STEPS
    if found.source in {"none", "run time"}:
        return
    assert found.elapsed_s is not None
    assert found.active_s is not None
    assert found.lost_s is not None
    assert found.elapsed_s == pytest.approx(found.active_s + found.lost_s)
    assert found.elapsed_s == pytest.approx(steps["end_s"][-1])
    assert (steps["end_s"].diff().drop_nulls() >= -1e-6).all()
    assert (steps["wall_s"].drop_nulls() >= -1e-6).all()
    assert steps.select("segment", "step").is_unique().all()
    assert steps["step"].is_sorted()
    whole = steps.filter(pl.col("kind") == "ordinary")["extra_s"].drop_nulls()
    assert steps["kind"].is_in(["ordinary", "warmup", "pause", "evaluation", "checkpoint", "periodic", "restart"]).all()
    assert whole.len() <= steps.height


def walls(found: Clock) -> Floats:
    values: Floats = found.steps["wall_s"].to_numpy()
    return values


def one(found: Clock) -> Periodic:
    assert len(found.periodic) == 1, found.periodic
    return found.periodic[0]
