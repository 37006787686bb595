"""Which of a console's progress bars is the training bar, and when it begins anew."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from parsers.text import Bar, strip_actor

#: A training bar has no description, or one of these. Epoch bars start over in every epoch and are left out.
_TRAINING: Final = re.compile(
    r"(?:training|train|(?:train(?:ing)? )?steps?|(?:grpo|ppo|rloo|dpo|sft|rl)(?: training)?)$", re.I
)
#: Time stamps and level words that loggers and container runtimes put before a line.
_PREFIX: Final = re.compile(r"^[\[\]()\d:.,TZ+\-/ ]*(?:\b(?:INFO|stderr|stdout|[FP])\b[\[\]:\- F]*)?$")
#: Bracketed marks of launchers: `[node-0]`, `[pod/train-0]`.
_MARKS: Final = re.compile(r"^(?:\[[^\]]*\]:?\s*)+")
_UNIT: Final = re.compile(r"^(?:(?:it|steps?|batch(?:es)?)/s|s/(?:it|steps?|batch(?:es)?))?$")
#: A bar of fewer items may count epochs, and the bar inside it their steps.
_MANY: Final = 10
#: What a process does before it trains: seen again, it is another process.
_STARTS: Final = re.compile(
    r"load|map|token|split|filter|download|fetch|cast|packing|truncat|extract|format|apply", re.I
)


class Turn(Enum):
    """What a bar state means for the run.

    OTHER: not the training bar. REPLACE: what was taken for it was not it. PROMOTE: the candidate is the training bar now.
    """

    OTHER = 0
    STATE = 1
    SESSION = 2
    REPLACE = 3
    PROMOTE = 4


def is_named(bar: Bar) -> bool:
    """True for a bar that says it is a training's; those of the HF trainer say nothing."""
    desc = _MARKS.sub("", strip_actor(bar.desc).text).strip() if bar.desc else ""
    return desc != "" and _TRAINING.match(desc) is not None


@dataclass(slots=True)
class TrainingBar:
    """Follows the training bar. `rows` (were there metric dicts?) and `over` (end-of-run dict, crash) are told by the reader."""

    total: int | None = None
    step: int = 0
    elapsed_s: float = 0.0
    rows: bool = False
    over: bool = False
    #: a process started since the bar last moved
    fresh: bool = False
    #: states of a bar with another total that may be the next training
    candidate: list[Bar] = field(default_factory=list)
    #: the training bar is itself drawn inside another one; the latest state of a bar inside
    is_inner: bool = False
    inside: Bar | None = None

    def see(self, bar: Bar) -> Turn:
        """Judge one state."""
        if self._is_inside(bar):
            return Turn.OTHER
        if not self._plain(bar):
            if bar.n == 0 and _STARTS.search(bar.desc[-60:]):
                self.fresh = True
            return Turn.OTHER
        if bar.total is None:  # the plan was wrong and the bar goes on without it
            going_on = self.total is not None and bar.n >= max(self.step, self.total)
            return self._state(bar) if going_on else Turn.OTHER
        if self.total is None:
            return self._adopt(bar, Turn.SESSION)
        if bar.total == self.total:
            return self._same(bar)
        return self._different(bar)

    def _is_inside(self, bar: Bar) -> bool:
        """True for a bar inside the training bar: an evaluation.

        Before the first step it may be the training's all the same (a loop's own bar around it): metrics will tell.
        """
        if self.is_inner or self.over or (self.total or 0) < _MANY:
            return False
        last, self.inside = self.inside, bar if bar.inner else None
        if not bar.inner:  # the last state is drawn once more, without the mark
            return last is not None and (bar.n, bar.total) == (last.n, last.total) and bar.n == bar.total
        if self.step == 0 and bar.n > 0:
            if self.candidate and (self.candidate[-1].total != bar.total or bar.n < self.candidate[-1].n):
                self.candidate.clear()
            self.candidate.append(bar)
            del self.candidate[1:-1000]
        return True

    def _same(self, bar: Bar) -> Turn:
        back = bar.n == 0 or bar.elapsed_s < self.elapsed_s - 2
        if bar.n < self.step and back:
            return self._adopt(bar, Turn.SESSION)
        return self._state(bar) if bar.n >= self.step else Turn.OTHER

    def _different(self, bar: Bar) -> Turn:
        unused = not self.rows and not self.over
        if unused and (self.step == 0 or self.step == self.total):
            return self._adopt(bar, Turn.REPLACE)
        if not self.fresh and not self.over and self.step != self.total:
            return Turn.OTHER  # an evaluation inside the run
        if self.candidate and (self.candidate[-1].total != bar.total or bar.n < self.candidate[-1].n):
            self.candidate.clear()
        # only a trainer writes past its bar, which draws the same state again
        again = bool(self.candidate) and bar.n == self.candidate[-1].n and 0 < bar.n < (bar.total or 0)
        self.candidate.append(bar)
        del self.candidate[1:-1000]
        return Turn.PROMOTE if again or (unused and bar.n >= 3) else Turn.OTHER

    def promote(self) -> list[Bar]:
        """The candidate is the training bar now; its states so far, oldest first."""
        bars, self.candidate = self.candidate, []
        if bars:
            self._adopt(bars[0], Turn.SESSION)
        return bars

    def _adopt(self, bar: Bar, turn: Turn) -> Turn:
        self.total, self.step, self.elapsed_s = bar.total, bar.n, bar.elapsed_s
        self.rows, self.over, self.fresh, self.is_inner = False, False, False, bar.inner
        self.candidate.clear()
        return turn

    def _state(self, bar: Bar) -> Turn:
        if bar.n > self.step:
            self.fresh = False
            self.candidate.clear()
        self.step, self.elapsed_s = bar.n, bar.elapsed_s
        return Turn.STATE

    @staticmethod
    def _plain(bar: Bar) -> bool:
        desc = _MARKS.sub("", strip_actor(bar.desc).text).strip() if bar.desc else ""
        if desc and not _TRAINING.match(desc) and not _PREFIX.match(desc):
            return False
        return _UNIT.match(bar.unit.split(",")[0].strip()) is not None
