"""Logs that separate processes of one framework write over one run: each tells its own side of every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from parsers.clusters import Unit
from parsers.homes import shown
from timeledger.run import Run

#: The steps that both processes must tell of, as a share of those of the shorter log.
_SHARED = 0.5


def companions(units: Sequence[Unit]) -> tuple[list[Unit], list[tuple[int, int]]]:
    """The units with each companion's own step time put aside, and (leading, companion) pairs.

    prime-rl's orchestrator and trainer number their steps alike and run at once; the orchestrator's time is the step's,
    as where both print to one console. Only what is certain is paired: one orchestrator in the run's folder, named so,
    with rewards and no loss, and a trainer, named so, with a loss and no rewards, over the same steps.
    """
    found, pairs = list(units), []
    for i, unit in enumerate(units):
        if not _is(unit, "orchestrator", tells="reward", never="loss"):
            continue
        rivals = [
            each for each in units if each is not unit and each.home == unit.home and "orchestrator" in _said(each)
        ]
        for j, other in enumerate(units):
            if (
                not rivals
                and other.home == unit.home
                and _is(other, "train", tells="loss", never="reward")
                and _meet(unit.run, other.run)
            ):
                found[j] = replace(other, run=_aside(other.run))
                pairs.append((i, j))
    return found, pairs


def _said(unit: Unit) -> str:
    """What the file is called, with its folders inside the run's own."""
    return shown(unit.path, unit.home).lower()


def _is(unit: Unit, name: str, *, tells: str, never: str) -> bool:
    if unit.run.info.format != "prime_rl" or name not in _said(unit) or not unit.run.has_steps:
        return False
    steps = unit.run.steps
    return steps[tells].null_count() < steps.height and steps[never].null_count() == steps.height


def _meet(a: Run, b: Run) -> bool:
    """True when the two tell of the same sessions and mostly of the same steps."""
    ours, theirs = (run.steps.select("segment", "step").unique() for run in (a, b))
    both = ours.join(theirs, on=["segment", "step"]).height
    alike = ours["segment"].n_unique() == theirs["segment"].n_unique()
    return alike and both >= max(1, _SHARED * min(ours.height, theirs.height))


def _aside(run: Run) -> Run:
    """The run with its own step time among the other metrics, and without its own running clock."""
    own = run.steps.select("segment", "step", pl.col("step_s").alias("trainer/time"))
    extra = own.join(run.extra.drop("trainer/time", strict=False), on=["segment", "step"], how="left")
    steps = run.steps.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("step_s", "elapsed_s"))
    return replace(run, steps=steps, extra=extra)
