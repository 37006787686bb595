"""Step numbers that are rounded when shown: `step:800`, `step:1K`, `step:1K`, `step:2K` of a loop that logs every 200 steps."""

from __future__ import annotations

from typing import Final

from parsers.build import RunBuilder
from parsers.marks import Mark
from parsers.sorting import Sorted
from timeledger.said import say

_COUNTED: Final = say("step numbers are shown rounded: they are counted on by the steps between two rows")
_MERGED: Final = say("step numbers are shown rounded: rows that show the same one are taken for one")


class RoundedSteps:
    """Counts on from the last exact step by the steps between two rows, as long as that is what is shown.

    The steps between two rows are those between two exact ones; without these, what so many rows of one number leave.
    """

    def __init__(self, build: RunBuilder) -> None:
        self._build = build
        self._gap: int | None = None
        self._last: int | None = None
        self._names: set[str] = set()
        #: the number shown last, the rows that showed it, and whether the first of them was seen
        self._shown: int | None = None
        self._rows = 0
        self._whole = False
        #: of the number before: steps to the next one, and rows
        self._before = (0, 0)

    def step(self, mark: Mark, values: Sorted, line: int) -> int:
        """The step of a row that tells these things."""
        if not mark.rough:
            self._exact(mark.step)
            return mark.step
        names = values.names
        if self._last is not None and self._shown == mark.step and 2 * len(names & self._names) < len(self._names):
            return self._last  # it tells other things of the same step
        again = mark.step == self._shown
        if not again:
            self._next(mark)
        self._rows += 1
        self._last = self._counted(mark, again)
        self._names = names
        self._build.note("guessed", _COUNTED if self._last is not None else _MERGED, line)
        return mark.step if self._last is None else self._last

    def _exact(self, step: int) -> None:
        last = self._last or 0
        if self._shown is None and step > last:
            self._gap = step - last if last > 1 else step  # `step:1` may be shown whatever the distance
        self._last, self._shown = step, None

    def _next(self, mark: Mark) -> None:
        """Another number is shown: in how many rows the one before went on to it tells the steps between them."""
        moved = (mark.step - self._shown, self._rows) if self._shown is not None and self._whole else (0, 0)
        if self._gap is None and moved == self._before and moved[0] > 0 and moved[0] % moved[1] == 0:
            self._gap = moved[0] // moved[1]
        self._before, self._whole = moved, self._shown is not None
        if self._shown is not None and mark.step < self._shown:  # from a checkpoint
            self._last, self._whole = None, False
        self._shown, self._rows = mark.step, 0

    def _counted(self, mark: Mark, again: bool) -> int | None:
        """The step by counting; None where nothing is known to count from."""
        gap, half = self._gap, mark.rough / 2
        if gap is None:
            return None
        if self._last is None:
            return None if again or not self._whole else self._first(mark, gap)
        step = self._last + gap
        if step > mark.step + half:
            return self._last if again else self._first(mark, gap)
        return step if step >= mark.step - half else self._first(mark, gap)

    def _first(self, mark: Mark, gap: int) -> int:
        """The first multiple of the gap that is shown so, where there is one."""
        first = -(-(mark.step - mark.rough // 2) // gap) * gap
        first += gap * (round(first / mark.rough) * mark.rough < mark.step)
        return first if first <= mark.step + mark.rough / 2 else mark.step
