"""Every cut of every timed run with its fits: what the projection is learned from, and what it is measured on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.cases import Case, cut
from timeledger.clock import clock as read_clock
from timeledger.forecast import steps_done
from timeledger.growth import fit_growth
from timeledger.results import Clock, Facts, Growth, Timing
from timeledger.run import Run
from timeledger.timing import fit_timing

SHARES: Final = (0.02, 0.05, 0.10, 0.25, 0.50, 0.75)


@dataclass(frozen=True, slots=True)
class Moment:
    """One run as it looked at one share of its steps, fitted once."""

    case: Case
    share: float
    run: Run
    clock: Clock
    timing: Timing
    growth: Growth
    facts: Facts

    @property
    def repository(self) -> str:
        """Runs are weighed by it, and nothing is learned from it for its own runs."""
        return self.case.repository

    @property
    def done(self) -> int:
        """Steps done."""
        return steps_done(self.run, self.clock)

    @property
    def elapsed_s(self) -> float:
        """Seconds so far."""
        return self.clock.elapsed_s or 0.0

    @property
    def left_s(self) -> float:
        """Seconds that really remained."""
        return self.case.total_s - self.elapsed_s


def moments(all_cases: Iterable[Case]) -> list[Moment]:
    """Every cut of every case that has time and is not over."""
    found = []
    for case in all_cases:
        for share, run in cut(case, SHARES).items():
            clock = read_clock(run)
            if not clock.elapsed_s or not 1 <= steps_done(run, clock) < case.steps:
                continue
            facts = case.facts(run)
            timing, growth = fit_timing(run, clock, facts), fit_growth(run, clock, facts, case.steps)
            found.append(Moment(case, share, run, clock, timing, growth, facts))
    return found
