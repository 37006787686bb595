"""Step counters that begin anew in each epoch."""

from __future__ import annotations

from parsers.marks import Mark


class Epochs:
    """Turns counters that begin anew in each epoch into one count. Whether they do shows when the second epoch begins."""

    def __init__(self) -> None:
        self.planned: int | None = None
        self._epoch: int | None = None
        self._last = -1
        self._offset = 0
        self._inside = False
        self._anew = False
        self._clock = self._clock_last = 0.0

    def elapsed(self, seconds: float) -> float:
        """A clock that begins anew with each epoch, as the time since the first."""
        if seconds < self._clock_last and self._anew:
            self._clock += self._clock_last
        self._clock_last = seconds
        return self._clock + seconds

    def peek(self, mark: Mark) -> int:
        """The step of a mark, were its epoch the one now running."""
        return mark.step + self._offset

    def step(self, mark: Mark) -> int:
        """The step of a mark, counted over all epochs."""
        if mark.epoch is None:
            self._last = mark.step
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
        return mark.total + self._offset if mark.total is not None else None

    def whole(self, total: int | None, rows: int) -> int | None:
        """The planned steps of the run: over all epochs, once that is known to be meant."""
        if total is None:
            return None
        per_epoch = total - self._offset if self._anew else total
        if self.planned is None or self.planned <= 1 or rows < 2 or not (self._anew or self._inside):
            return total
        return per_epoch * self.planned
