"""Step counters that begin anew in each epoch."""

from __future__ import annotations

import math
import re
from typing import Final

from parsers.build import RunBuilder
from parsers.marks import Mark
from parsers.text import bars
from timeledger.said import say

_EVALUATES: Final = re.compile(r"\W*(?:\w+ )?(?:eval|valid|val|test)\w*", re.IGNORECASE)
#: Bars of so many totals are told apart.
_BARS: Final = 64


_SUMMED: Final = say(
    "every epoch has a bar of its own: their times are added up, and with them those of evaluations between; what else "
    "went by between two bars is not told"
)


class Epochs:
    """Turns counters that begin anew in each epoch into one count. Whether they do shows when the second epoch begins."""

    def __init__(self) -> None:
        self.planned: int | None = None
        self._epoch: int | None = None
        self._last = -1
        self._offset = 0
        self._inside = False
        self._anew = False
        self._clock = self._clock_last = self._between = self._between_last = 0.0
        #: how often a training bar that was full began anew
        self.begun = 0
        self._bars: dict[int, int] = {}
        self._bar_offset = 0
        self._full = False
        self._heading: tuple[int, int | None] | None = None
        #: the epochs that the settings name
        self.planned_elsewhere: int | None = None
        self._told: int | None = None
        self._next = False
        #: steps before each epoch that was told of
        self._begins: dict[int, int] = {}

    @property
    def now(self) -> int | None:
        """The epoch that was named last."""
        return self._told if self._epoch is None else self._epoch

    def told(self, epoch: int, planned: int | None) -> None:
        """An epoch is named between the rows: `=== Epoch 2/10 ===`, or `Epoch 1: mean loss 0.5` at its end."""
        self.planned = planned or self.planned
        self._next = self._next or self._told is None or epoch > self._told
        if self._told is not None and epoch < self._told:  # from the beginning, or from a checkpoint
            self._next, self._offset = False, self._begins.get(epoch, 0)
        self._told, self._heading = epoch, (epoch, planned)

    def bar(self, step: int, total: int) -> int:
        """The step of a training bar, counted over all epochs: full and then anew, it is that of the next epoch."""
        before, self._full = self._bars.get(total), step >= total
        begins = step < before if before is not None else step == 0
        if before is not None and begins and before >= total:
            self._anew = True
            self.begun += 1
            self._bar_offset += total
        if begins and self._heading is not None:
            epoch, planned = self._heading
            self._inside, self._heading = True, None
            self.planned = planned or self.planned
            self._bar_offset = max(self._bar_offset, total * (epoch - 1) if not self._bars else 0)
        if len(self._bars) < _BARS or before is not None:
            self._bars[total] = step
        return step + self._bar_offset

    def planned_by(self, total: int) -> int | None:
        """The planned steps of a run with a bar of this total; None where the number of its epochs is not known."""
        return total * self.planned if self.planned else None if self._anew else total

    def elapsed(self, seconds: float, begins: bool = False) -> float:
        """A clock that begins anew with each epoch, as the whole seconds since the first; `begins`: it does so here."""
        last = self._clock_last
        if begins or (seconds // 1 < last // 1 and self._anew):
            self._clock += last + self._between + self._between_last
            self._between = self._between_last = 0.0
        elif seconds // 1 == last // 1:
            seconds = max(seconds, last)  # told more exactly before
        self._clock_last = seconds
        return float(math.floor(self._clock + seconds))

    @property
    def summed(self) -> bool:
        """True when the running time is the sum of several clocks."""
        return self._clock > 0

    def beside(self, text: str) -> None:
        """The bar of an evaluation: behind a full training bar its time goes by before the next epoch."""
        if not self._full or _EVALUATES.match(text) is None:
            return
        for bar in bars(text):
            self._between += self._between_last if bar.elapsed_s < self._between_last else 0.0
            self._between_last = bar.elapsed_s

    def peek(self, mark: Mark) -> int:
        """The step of a mark, were its epoch the one now running."""
        return mark.step + self._offset

    def step(self, mark: Mark) -> int:
        """The step of a mark, counted over all epochs."""
        if mark.epoch is None and mark.word == "bar" and mark.total:
            return self.bar(mark.step, mark.total)
        if mark.epoch is None:
            if self._next and 0 <= mark.step <= self._last and self._epoch is None:
                self._anew = True
                self._offset += mark.total or self._last + (mark.step == 0)
            if self._told is not None:
                self._begins.setdefault(self._told, self._offset)
            self._last, self._next = mark.step, False
            return mark.step + self._offset
        epoch, planned = mark.epoch
        self.planned = planned or self.planned
        self._inside = self._inside or mark.inside_epoch
        if self._epoch is not None and epoch > self._epoch and mark.step <= self._last:
            self._anew = True
            passed = mark.total * (epoch - self._epoch) if mark.total else self._last + (mark.step == 0)
            self._offset += passed
        elif self._epoch is None and epoch > 1 and mark.inside_epoch and mark.total and (planned or 0) > 1:
            self._anew, self._offset = True, mark.total * (epoch - 1)
        elif self._epoch is not None and epoch < self._epoch:
            self._offset = 0
        self._epoch, self._last = epoch, mark.step
        return mark.step + self._offset

    def total(self, mark: Mark) -> int | None:
        """The planned steps that a mark names (of one epoch, where the count begins anew)."""
        return mark.total + (self._offset or self._bar_offset) if mark.total is not None else None

    def settle(self, build: RunBuilder, total: int | None, rows: int, bar: int | None) -> None:
        """Tell the run its planned steps and epochs: `total` as its rows name them, `bar` as a bar does where it has none."""
        named = build.settings.get("epochs")
        if named is not None and self.planned is None and isinstance(named.value, int):
            self.planned_elsewhere = named.value
        planned = self.whole(total, rows)
        if planned is None and bar is not None:
            planned = self.planned_by(bar)
        if planned is not None:
            build.setting("total_steps", planned, say("the step count's own total"), replace=True)
        if self.summed and not build.noted("info", _SUMMED):
            build.note("info", _SUMMED)
        if self.planned is not None:
            build.setting("epochs", self.planned, say("epoch e/E"), replace=True)

    def whole(self, total: int | None, rows: int) -> int | None:
        """The planned steps of the run: over all epochs, once that is known to be meant."""
        if total is None:
            return None
        per_epoch = total - (self._offset or self._bar_offset) if self._anew else total
        planned = self.planned or (self.planned_elsewhere if self._anew else None)
        if (self._bar_offset or self._anew) and planned is None:
            return None
        if planned is None or planned <= 1 or rows < 2 or not (self._anew or self._inside):
            return total
        return max(per_epoch * planned, total)


class InEpochs:
    """Step numbers of rows that name an epoch, as one count where they begin anew in each."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._first: int | None = None
        self._last = self._gap = self._offset = 0

    def step(self, step: int, epoch: int | None) -> int:
        """The step of a row, counted over all epochs; passes of one step (`step 5, epoch 2`) are no epochs of steps."""
        if epoch is None:
            return step + self._offset
        if self._epoch is not None and self._first is not None:
            if epoch < self._epoch:
                self._offset = 0
            elif epoch > self._epoch and step < self._last and step <= self._first + self._gap:
                self._offset += self._last + max(self._gap, 1) - step
            elif step > self._last:
                self._gap = step - self._last
        self._first = step if self._first is None else self._first
        self._epoch, self._last = epoch, step
        return step + self._offset
