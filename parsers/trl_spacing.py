"""Which steps the dicts of a console stand for, once their interval is known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spacing:
    """The logging interval (None: not known), whether step 1 was logged too, and what says so."""

    interval: int | None
    first_step: bool = False
    because: str = ""

    def step(self, index: int, start: int) -> int:
        """The step of the dict with this index (0-based) of a session that began behind step `start`."""
        interval = self.interval or 1
        if self.first_step:
            return index * interval if index else 1
        return (start // interval + 1 + index) * interval

    def span(self, index: int, start: int) -> int | None:
        """How many steps that dict is a mean over; None while the interval is unknown."""
        if self.first_step and index == 0:
            return 1 - start
        if self.interval is None:
            return None
        step = self.step(index, start)
        before = self.step(index - 1, start) if index else start if self.first_step else step - self.interval
        return step - max(before, 0)

    def count(self, step: int, start: int) -> int:
        """How many dicts there are up to a step."""
        interval = self.interval or 1
        return max(0, step // interval - start // interval + (1 if self.first_step and step >= 1 else 0))


def nicest(low: int, high: int) -> int:
    """The roundest number of low..high (people log every 10 or 25 steps, not every 23), the largest among equals."""
    for unit in (1000, 500, 250, 100, 50, 25, 20, 10, 5, 2):
        if high // unit * unit >= max(low, 1):
            return high // unit * unit
    return high
