"""Logs of runs as their readers give them, with numbers of their own for every name, step and session."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from parsers.base import Origin
from parsers.build import RunBuilder
from timeledger.run import Run

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def value(name: str, step: int, seed: int = 0) -> float:
    """A number that looks like a measurement: its own for every name, step and session."""
    return random.Random(f"{name} {step} {seed}").uniform(0.2, 9.7)


def rounded(number: float) -> float:
    return float(f"{number:.4g}")


class Log:
    """One log of a run in the making; `digits` rounds as a console does."""

    def __init__(
        self, name: str, format: str, *, console: bool = False, start: datetime | None = None, zone_known: bool = True
    ) -> None:
        self.build = RunBuilder(Origin(name), format)
        self.build.zone_known = zone_known
        self.console = console
        self.start = start

    def steps(
        self,
        first: int,
        last: int,
        *,
        seed: int = 0,
        names: Iterable[str] = ("reward", "len_mean", "step_s"),
        ahead: int = 0,
        lost: float = 0.0,
    ) -> Log:
        """Rows of steps first..last; `ahead` shifts the step numbers, `lost` the clock."""
        for step in range(first, last + 1):
            values = {name: value(name, step, seed) for name in names}
            if self.console:
                values = {name: rounded(number) for name, number in values.items()}
            at = self.start + timedelta(seconds=30 * (step - first) + lost) if self.start else None
            self.build.row(step + ahead, values, at=at, line=0 if not self.console else 10 * step)
        return self

    def run(self) -> Run:
        return self.build.run()


def by_step(run: Run, column: str, segment: int = 0) -> dict[int, Any]:
    rows = run.steps.filter(pl.col("segment") == segment)
    return dict(zip(rows["step"], rows[column], strict=True))
