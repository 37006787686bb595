"""Marks of logged steps: to print a dict, tqdm wipes the bar and draws it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from parsers.trl_spacing import Spacing

#: Bar states kept while the interval is not settled; a run that logs more rarely is settled by its pace.
_KEEP: Final = 4096
#: Seconds a step below which tqdm does not draw every state (it waits 0.1 s between two).
_FAST: Final = 0.4


@dataclass(slots=True)
class Marks:
    """Steps that the bar has shown, and those at which something was printed past it."""

    shown: dict[int, None] = field(default_factory=dict)
    logged: set[int] = field(default_factory=set)

    def see(self, step: int, *, logged: bool) -> None:
        """A state of the bar; `logged`: it stands there twice, or directly behind a dict."""
        if logged and len(self.logged) < _KEEP:
            self.logged.add(step)
        if len(self.shown) < _KEEP:
            self.shown[step] = None

    def spacing(self, start: int, last: int, elapsed_s: float, hint: int | None) -> Spacing | None:
        """The interval that fits the marks best, of a session behind step `start` with its bar at `last`."""
        if not self.logged:
            return None
        limit = min(last, next(reversed(self.shown), 0))
        fast = elapsed_s < _FAST * (last - start)
        best, most = 0, 0.0
        for interval in range(1, limit + 1):
            if (start // interval + 1) * interval > limit:
                break
            score = self._fit(interval, start, limit, fast=fast)
            if score > most * (1 + 1e-9):
                best, most = interval, score
        if hint and self._fit(hint, start, limit, fast=fast) > 0.5 * most:
            best = hint
        if best:
            also_one = best > 1 and start == 0 and 1 in self.logged
            return Spacing(best, also_one, "the bar was drawn anew at every such step")
        if self.logged == {1}:
            return Spacing(1 if last == 1 else None, last > 1, "only step 1 was logged so far")
        return None

    def _fit(self, interval: int, start: int, limit: int, *, fast: bool) -> float:
        """How well marks at every `interval` steps agree with the marks seen, 0..1.

        Of a run's marks some belong to evaluations; of a fast run's logged steps many are drawn only once.
        """
        first = (start // interval + 1) * interval
        steps = range(first, limit + (limit in self.logged), interval)
        hits = sum(step in self.logged for step in steps)
        if not hits or not all(step in self.shown for step in steps):
            return 0.0
        marks = len(self.logged - {1}) if interval > 1 else len(self.logged)
        covered, explained = hits / len(steps), hits / max(1, marks)
        return 2 * covered * explained / (covered + explained) if fast else covered * covered * explained
