"""Progress bars of hand-written loops: their clock is the run's, their count that of the steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
_KINDS: Final = 64
_NUMBER: Final = re.compile(r"\d{1,9}")


@dataclass(slots=True)
class _Stood:
    """The number in a bar's words, where the bar stood and what its clock said; whether each of its kind has its own clock."""

    number: int
    n: int
    seconds: float
    own: bool = False


class Bars:
    """The bars of one log."""

    def __init__(self, build: RunBuilder, epochs: Epochs) -> None:
        self._build, self._epochs = build, epochs
        #: the end of the last bar
        self.total: int | None = None
        #: a bar that says that it trains was found
        self.shown = False
        self._states = 0
        #: of each kind of bar (its words, its total): how it stood last
        self._stood: dict[tuple[str, int | None], _Stood] = {}
        #: the end of a bar that counts something else than the steps beside it
        self._beside: int | None = None

    def row(self, line: Line, bar: Bar, step: int, no: int) -> None:
        """A bar with metrics: its clock is the run's (over all epochs), its rate a smoothed mean."""
        mark, elapsed = line.mark, self.elapsed(bar)
        line.values.put("elapsed_s", elapsed, 5)
        if bar.rate_s is not None and mark is not None and mark.word == "bar":
            line.values.clocks.setdefault(clocks.BAR_RATE, bar.rate_s)
        own = mark is None or mark.word == "bar" or mark.total == bar.total
        self._beside = self._beside if own else bar.total
        self._progress(bar, step, elapsed, no, own)

    def head(self, bar: Bar, total: int, no: int) -> Mark | None:
        """The step at which a bar without metrics stands; None for any program's bar."""
        if not bar.desc and total != self.total:
            return None
        elapsed = self.elapsed(bar)
        if bar.total == self._beside:
            return None
        mark = Mark(self._epochs.bar(bar.n, total), None, 6, "bar")
        self._progress(bar, mark.step, elapsed, no)
        trains = _TRAINS.search(bar.desc) is not None
        self._states += trains and bar.n > 0
        known = trains and (self._epochs.begun >= _AGAIN or self._states >= ENOUGH)
        self.shown = self.shown or bar.desc == "train" or known
        return mark

    def elapsed(self, bar: Bar) -> float:
        """The time since the first of such bars began: one begins where the one before was full, and its clock falls.

        Once it fell, the clock of every such bar is its own; before, one clock may go on through all of them.
        """
        words = _NUMBER.search(bar.desc)
        kind, now = (_NUMBER.sub("#", bar.desc), bar.total), _Stood(int(words[0]) if words else 0, bar.n, _sharp(bar))
        before = self._stood.get(kind)
        begins = False
        if before is not None and bar.total is not None and before.n >= bar.total > 0:
            alike = bar.n == before.n  # both full: the pace tells more than whole seconds
            fell = now.seconds < before.seconds if alike else now.seconds // 1 < before.seconds // 1
            anew = now.number > before.number if words else bar.n < before.n
            begins = anew and (fell or before.own)
            now.own = before.own or begins
        elif before is not None:
            now.own = before.own
        if before is not None or len(self._stood) < _KINDS:
            self._stood[kind] = now
        return self._epochs.elapsed(now.seconds, begins)

    def _progress(self, bar: Bar, step: int, elapsed: float, no: int, own: bool = True) -> None:
        """`own`: the bar counts what the steps count."""
        if bar.total is None:
            return
        self.total = bar.total
        planned = self._epochs.planned_by(bar.total) if own else None
        remaining = bar.remaining_s if planned == bar.total else None
        self._build.progress(step, total=planned, elapsed_s=elapsed, remaining_s=remaining, line=no)


def _sharp(bar: Bar) -> float:
    """The bar's clock, which tells whole seconds; that of a full bar is what its mean pace makes of it."""
    whole = bar.n * bar.rate_s if bar.rate_s and bar.n == bar.total else bar.elapsed_s
    return whole if bar.elapsed_s <= whole < bar.elapsed_s + 1 else bar.elapsed_s
