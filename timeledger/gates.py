"""What a check is, its limits with their sources, and the view of a run that checks share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger.errors import BadOption
from timeledger.forecast import steps_done
from timeledger.results import Analysis

Floats = NDArray[np.float64]
Status = Literal["pass", "warn", "fail", "unknown"]
Verdict = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold, what it bounds, and where it comes from."""

    value: float
    what: str
    source: str


#: Every threshold of the checks; `--limit name=value` overrides one.
LIMITS: Final[Mapping[str, Limit]] = {
    "ratio_warn": Limit(0.05, "distance of the mean ratio from 1", "the lesson: ratio about 1 in the first 10 steps"),
    "ratio_fail": Limit(0.20, "distance of the mean ratio from 1", "PPO's clip range"),
    "adv_std_low": Limit(0.3, "standard deviation of advantages, lower end", "GRPO normalises a group's advantages to 1; groups without signal lower it"),
    "adv_std_high": Limit(2.0, "standard deviation of advantages, upper end", "GRPO normalises a group's advantages to 1"),
    "adv_std_none": Limit(0.01, "standard deviation of advantages below which nothing is learned", "no advantage, no gradient"),
    "memory_warn": Limit(0.92, "peak share of a GPU's memory", "the lesson: memory to spare; answers may still grow"),
    "memory_fail": Limit(0.98, "peak share of a GPU's memory", "the next longer batch runs out"),
    "truncated_warn": Limit(0.10, "share of answers cut at the limit", "verl best_practices: above 0.1 often too much"),
    "truncated_fail": Limit(0.90, "share of answers cut at the limit", "trl#6219, #5697: runs with 97 to 100 % cut did not learn"),
    "silent_warn": Limit(0.30, "share of groups whose answers all have one reward", "advice rule R29"),
    "silent_fail": Limit(0.90, "share of groups whose answers all have one reward", "no gradient is left"),
    "still_warn": Limit(0.50, "share of late rows without any gradient", "half of the steps change nothing"),
    "still_fail": Limit(0.95, "share of late rows without any gradient", "the model does not change any more"),
    "shrink_warn": Limit(0.50, "late answer length over the first", "quartiles of real runs are 0.92 and 1.05"),
    "shrink_fail": Limit(0.10, "late answer length over the first", "answers have collapsed"),
    "grow_warn": Limit(2.00, "late answer length over the first", "quartiles of real runs are 0.92 and 1.05"),
    "entropy_warn": Limit(0.05, "late entropy over the first", "no exploration is left"),
    "lost_warn": Limit(0.10, "share of the elapsed time lost in pauses and gaps", "a tenth of the bill"),
    "against_warn": Limit(-0.30, "correlation of reward and accuracy", "the lesson: both move together"),
    "spike_warn": Limit(100.0, "largest late gradient norm over the usual one", "a jump that clipping alone survives"),
}  # fmt: skip


def with_limits(given: Mapping[str, float] | None) -> dict[str, float]:
    """The limits with a person's own put over them.

    Raises:
        BadOption: no such limit; the text lists them.
    """
    unknown = [name for name in given or {} if name not in LIMITS]
    if unknown:
        raise BadOption(f"--limit {unknown[0]}: there is no such limit; known are {', '.join(LIMITS)}.")
    return {name: limit.value for name, limit in LIMITS.items()} | dict(given or {})


@dataclass(frozen=True, slots=True)
class Check:
    """One gate. `gate` says from which step on it can be judged ("2 steps", "10 steps", "20 steps", "any time").

    `value` is what was seen (None: not in the log), `want` the wanted range, `why` why it matters or what is wrong, `do`
    what to do about it (empty when nothing is to be done).
    """

    name: str
    title: str
    gate: str
    status: Status
    value: float | str | None
    want: str
    why: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """What every answer of one check has in common; a check gives one of the four below."""

    name: str
    title: str
    since: str
    want: str

    def passes(self, value: float | str | None, why: str) -> Check:
        """All is well."""
        return self._check("pass", value, why)

    def warns(self, value: float | str | None, why: str, do: str = "") -> Check:
        """Worth a look."""
        return self._check("warn", value, why, do)

    def fails(self, value: float | str | None, why: str, do: str = "") -> Check:
        """The run is not worth letting go on as it is."""
        return self._check("fail", value, why, do)

    def unknown(self, why: str, value: float | str | None = None) -> Check:
        """The log does not tell."""
        return self._check("unknown", value, why)

    def _check(self, status: Status, value: float | str | None, why: str, do: str = "") -> Check:
        return Check(self.name, self.title, self.since, status, value, self.want, why, do)


@dataclass(frozen=True, slots=True)
class Checked:
    """All checks and the verdict: fail when one fails, unknown when nothing about learning could be judged."""

    run: str
    verdict: Verdict
    checks: tuple[Check, ...]
    sentence: str

    def find(self, name: str) -> Check:
        """The check of this name."""
        return next(each for each in self.checks if each.name == name)


@dataclass(frozen=True)
class View:
    """One run as checks see it: each step once, columns as arrays with NaN for what is not logged."""

    analysis: Analysis
    limits: Mapping[str, float] = field(default_factory=lambda: with_limits(None))

    @cached_property
    def done(self) -> int:
        """Steps done, by the clock or by the rows."""
        run = self.analysis.run
        by_clock = steps_done(run, self.analysis.clock) if self.analysis.clock.position is not None else 0
        last = run.steps["step"].max()
        first = run.steps["step"].min()
        by_rows = last - first + 1 if isinstance(last, int) and isinstance(first, int) else 0
        return max(by_clock, by_rows)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The run's rows, each step once (its last value), in order."""
        return self.analysis.run.steps.unique(["step"], keep="last", maintain_order=True).sort("step")

    def column(self, name: str) -> Floats:
        """A column, step by step; null and NaN are NaN, infinities stay."""
        values: Floats = self.rows[name].cast(float).fill_null(float("nan")).to_numpy().astype(np.float64)
        return values

    def finite(self, name: str) -> Floats:
        """The finite values of a column."""
        values = self.column(name)
        return values[np.isfinite(values)]

    def first(self, name: str, steps: int) -> Floats:
        """The finite values of the first so many steps (at least the first row)."""
        step, values = self.column("step"), self.column(name)
        inside = step <= step[0] + steps - 1 if len(step) else step > 0
        inside[:1] = True
        return values[inside & np.isfinite(values)]

    def late(self, name: str) -> Floats:
        """The finite values of the last quarter (at least 5 rows)."""
        values = self.finite(name)
        return values[-max(5, len(values) // 4) :] if len(values) else values

    def logs(self, name: str) -> bool:
        """True when a column has any value, infinite ones included."""
        return bool(np.any(~np.isnan(self.column(name))))
