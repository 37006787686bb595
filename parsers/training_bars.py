"""Progress bars of hand-written loops: their clock is the run's, their count that of the steps."""

from __future__ import annotations

import re
from typing import Final

from parsers import clocks
from parsers.build import RunBuilder
from parsers.epochs import Epochs
from parsers.keyvalue_lines import Line
from parsers.marks import Mark
from parsers.text import Bar
from parsers.uncounted import ENOUGH

#: A bar of a training; seen to begin anew so often it is one of an epoch.
_TRAINS: Final = re.compile(r"\btrain(?:ing)?\b", re.IGNORECASE)
_AGAIN: Final = 2


class Bars:
    """The bars of one log."""

    def __init__(self, build: RunBuilder, epochs: Epochs) -> None:
        self._build, self._epochs = build, epochs
        #: the end of the last bar
        self.total: int | None = None
        #: a bar that says that it trains was found
        self.shown = False
        self._states = 0

    def row(self, line: Line, bar: Bar, step: int, no: int) -> None:
        """A bar with metrics: its clock is the run's (over all epochs), its rate a smoothed mean."""
        elapsed = self._epochs.elapsed(bar.elapsed_s)
        line.values.put("elapsed_s", elapsed, 5)
        if bar.rate_s is not None and line.mark is not None and line.mark.word == "bar":
            line.values.clocks.setdefault(clocks.BAR_RATE, bar.rate_s)
        self._progress(bar, step, elapsed, no)

    def head(self, bar: Bar, total: int, no: int) -> Mark | None:
        """The step at which a bar without metrics stands; None for any program's bar."""
        if not bar.desc and total != self.total:
            return None
        mark = Mark(self._epochs.bar(bar.n, total), None, 6, "bar")
        self._progress(bar, mark.step, self._epochs.elapsed(bar.elapsed_s), no)
        trains = _TRAINS.search(bar.desc) is not None
        self._states += trains and bar.n > 0
        known = trains and (self._epochs.begun >= _AGAIN or self._states >= ENOUGH)
        self.shown = self.shown or bar.desc == "train" or known
        return mark

    def _progress(self, bar: Bar, step: int, elapsed: float, no: int) -> None:
        if bar.total is None:
            return
        self.total = bar.total
        planned = self._epochs.planned_by(bar.total)
        remaining = bar.remaining_s if planned == bar.total else None
        self._build.progress(step, total=planned, elapsed_s=elapsed, remaining_s=remaining, line=no)
