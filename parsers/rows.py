"""From sorted lines to rows of a run: how lines make up steps and sessions.

A step may come on several lines, a line may be printed twice, a step that goes back is a restart.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from parsers.build import RunBuilder
from parsers.sorting import Sorted
from timeledger.said import say

#: Steps of which is remembered what their lines told.
_RECENT: Final = 512


class RowWriter:
    """Writes sorted lines into one run.

    `repeats_restart`: the same step with other values, timed again, is a restart (files that get one row a step), unless
    the next step comes twice as well.
    """

    def __init__(self, build: RunBuilder, *, repeats_restart: bool = False) -> None:
        self.build = build
        self.rows = 0
        self.last: int | None = None
        self.gap: int | None = None
        self.total: int | None = None
        #: what heads between the rows name as the planned steps since the last row
        self._named: int | None = None
        #: what the log calls the time of a step
        self.step_key = "step_time"
        self._repeats_restart = repeats_restart
        self._repeated: int | None = None
        self._ranks: dict[int, dict[str, int]] = {}
        self._values: dict[int, dict[str, float]] = {}
        self._timed: dict[int, set[str]] = {}

    def alike(self) -> bool:
        """True when two steps tell mostly the same things, as the rows of a log do."""
        shapes = [frozenset(known) for known in self._values.values() if known]
        return any(2 * len(a & b) >= len(a | b) for place, a in enumerate(shapes[:50]) for b in shapes[place + 1 : 50])

    def richest(self) -> int:
        """How many things the step tells that tells most."""
        return max((len(known) for known in self._values.values()), default=0)

    def is_foreign(self, step: int, values: Sorted) -> bool:
        """True for an unexpected step that tells little of what rows here tell: `Step 2: reward = 5` in a printed answer."""
        if self.rows < 3 or self.last is None or step in {self.last, self.last + (self.gap or 1)}:
            return False
        usual = self._values[self.last].keys()
        return len(values.names & usual) < 0.3 * len(usual)

    @property
    def recent(self) -> list[dict[str, float]]:
        """What the last steps tell, by column, clock and phase."""
        return list(self._values.values())

    def plan(self, total: int) -> None:
        """The head of a step names the planned steps."""
        self.total, self._named = max(total, self.total or 0), max(total, self._named or 0)

    def has(self, step: int, names: Iterable[str]) -> bool:
        """True when this session's row of the step holds one of the columns or clocks."""
        return bool(self._values.get(step, {}).keys() & set(names))

    def write(self, step: int, values: Sorted, line: int, at: datetime | None = None, *, sub: bool = False) -> None:
        """Add a line's values to a step. `sub`: a line of a part of the step, which gives way to the step's own."""
        self._session(step, values, line, sub)
        worse, last = 20 if sub else 0, self.build.last_step
        ahead = last is None or step > last
        if (known := self._values.get(step)) is None:  # the usual case: one line a step
            known = self._values[step] = {}
            self._ranks[step] = (
                {name: rank + worse for name, rank in values.ranks.items()} if worse else dict(values.ranks)
            )
            self._timed[step] = set()
            self.rows += 1
            new = values.columns
        else:
            ranks = self._ranks[step]
            new = {
                name: value
                for name, value in values.columns.items()
                if values.ranks[name] + worse < ranks.get(name, 99)
            }
            ranks.update({name: values.ranks[name] + worse for name in new})
        if self.last is None or step > self.last:
            self.gap, self.last = (None if self.last is None else step - self.last), step
        known.update(new)
        if "step_s" in new:
            self.step_key = values.keys.get("step_s") or self.step_key
        for name, value in values.clocks.items():
            known.setdefault(name, value)
        extra = values.clocks if sub else values.extra | values.clocks
        if ahead:
            self.build.row(step, new, line=line, at=at or values.at, extra=extra)
        else:
            self.build.row(step, new, line=line, at=at or values.at, overwrite=True)
            self.build.row(step, {}, line=line, extra=extra)
        if values.phases:
            self._write_phases(step, values, known)
        if values.total is not None and step <= values.total:
            self.total = max(values.total, self.total or 0)
        self._named = None
        if len(self._ranks) > _RECENT:
            first = next(iter(self._ranks))
            del self._ranks[first], self._values[first], self._timed[first]

    def _write_phases(self, step: int, values: Sorted, known: dict[str, float]) -> None:
        timed = self._timed[step]
        for name, (phase, seconds) in values.phases.items():
            known[f"phase {name}"] = seconds
            if name not in timed:
                timed.add(name)
                self.build.phase(step, phase, seconds, name=name, parent=values.parents.get(name))

    def _session(self, step: int, values: Sorted, line: int, sub: bool) -> None:
        """Open a new session when the step goes back (and is not a late line of a step already seen)."""
        if self.last is None or step > self.last:
            return
        seen, ranks = self._values.get(step), self._ranks.get(step, {})
        given = {name: value for name, value in values.columns.items() if ranks.get(name) == values.ranks[name]}
        other = seen is None or any(
            seen.get(name, value) != value for name, value in {**given, **values.clocks}.items()
        )
        if sub or not other:
            return
        if step == self.last:
            timed = values.at is not None or values.clocks or "step_s" in values.columns
            if self._repeated is not None and step - self._repeated <= (self.gap or 1):
                self._repeats_restart = False  # step after step: several rows a step
            if not (self._repeats_restart and timed):
                self.build.note("info", say("a step was logged again with other values: the first ones stay"), line)
                return
        self.build.new_segment()
        self.build.event("restart", line=line, step=step, text=f"the step count goes back from {self.last} to {step}")
        self._repeated = step if step == self.last else None
        self.last = self.gap = None
        self.total = self._named  # a plan is of the session that names it
        self._ranks, self._values, self._timed = {}, {}, {}
