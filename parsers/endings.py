"""Where a run's log ends, and whether another run begins behind it: a pipeline's next training, a script started again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from parsers.around import Trained
from parsers.build import RunBuilder
from parsers.epochs import Epochs
from parsers.fields import spell
from parsers.marks import Mark
from parsers.prefixes import strip_prefix
from parsers.rows import RowWriter
from parsers.sorting import Sorted
from parsers.text import strip_actor

#: Looked for in every line before anything else is.
ENGLISH: Final = "raining"
CHINESE: Final = "训练"
#: `Training completed!`, `Finished training.`, `训练完成`; an epoch's or a worker's training ends and the run goes on.
_OVER: Final = re.compile(
    r"\W*(?:(?:model|rl|grpo|ppo|sft|dpo|pre|the)[ -]?)?training (?:loop |run )?(?:(?:is|was|has) )?(?:now |been )?"
    r"(?:complete|completed|finished|done|ended)(?: successfully)?(?:\s*(?:[^\w\s:]|$)| (?:in|after|at|with)\b)"
    r"|\W*(?:finished|completed|done with|end of) (?:model )?training\W*$"
    r"|\W*total training time\b"
    r"|\W*训练(?:已经?)?(?:全部)?(?:完成|结束|完毕)",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"\bepoch\W*\d|第\s*\d+", re.IGNORECASE)
_LONGEST: Final = 200
#: Words of the time of a training as a whole; one of the first three must be there.
_WHOLE: Final = frozenset({"train", "training", "total"})
_TIME: Final = _WHOLE | {"time", "times", "seconds", "second", "sec", "secs", "s", "runtime", "wall", "duration", "run"}
#: So many rows without it show that a time is not of each step.
_FEW: Final = 3
#: A start-up prints so many lines between the last row of one run and the first of the next.
START_UP: Final = 20


def says_over(text: str) -> bool:
    """True for a line that says that the training is over."""
    if len(text) > _LONGEST or _PART.search(text) is not None:
        return False
    return _OVER.match(strip_prefix(strip_actor(text).text)[1]) is not None


def whole_time(values: Sorted, rows: RowWriter) -> tuple[str, float] | None:
    """Name and seconds of a line that tells nothing but how long all took.

    No row before told such a time, and all tell their own: it is of none of them.
    """
    if values.columns or len(values.phases) + len(values.clocks) != 1 or rows.rows < _FEW:
        return None
    for name, (_, seconds) in values.phases.items():
        return None if not _is_whole(name) or _is_told(f"phase {name}", rows) else (name, seconds)
    for name, seconds in values.clocks.items():
        own = name.rsplit(":", 1)[-1]
        return None if not _is_whole(own) or _is_told(name, rows) else (own, seconds)
    return None


def _is_told(name: str, rows: RowWriter) -> bool:
    """True where a row tells this time, or the last one tells no time of its own."""
    recent = rows.recent
    return not _timed(recent[-1]) or any(name in row for row in recent)


def forget_whole(values: Sorted) -> None:
    """Drop the time of some training as a whole from what stood long before a run's first row."""
    for name in [name for name in values.phases if _is_whole(name)]:
        del values.phases[name]
        values.timed.discard(name)


def _is_whole(name: str) -> bool:
    words = set(spell(name).replace("/", "_").split("_"))
    return words <= _TIME and not words.isdisjoint(_WHOLE)


def _timed(row: dict[str, float]) -> bool:
    return "step_s" in row or "elapsed_s" in row or any(name.startswith("\0") for name in row)


class Ending:
    """Follows one run to its end, and to the row that is the first of another."""

    def __init__(self, build: RunBuilder, epochs: Epochs, rows: Callable[[], int]) -> None:
        self._build, self._epochs, self._rows = build, epochs, rows
        self._trained = Trained(build)
        self._ends = 0
        #: a row was met that is the first of another run
        self.another = False
        self._said_at = self._timed_at = 0
        self._first: int | None = None
        self._last = self._line = 0
        self._total: int | None = None
        self._epoch: int | None = None

    @property
    def said(self) -> bool:
        """True when the log said that the training is over, and no row came since."""
        return self._ends > 0 and self._said_at == self._rows()

    @property
    def at(self) -> tuple[int, int]:
        """How often the log said so, and how many rows there are."""
        return self._ends, self._rows()

    @property
    def over(self) -> bool:
        """True when that was said, or the run has come to its planned end."""
        if self._total is not None and self._last >= self._total - 1:
            return True
        return self._ends > 0 and self._said_at == self._rows()

    def hear(self, text: str) -> None:
        """A line that speaks of training: it may say that it is over, and how long it took."""
        before = self._build.train_runtime_s
        self._trained.take(text)
        if self._build.train_runtime_s != before:
            self._timed_at = self._rows()
        if says_over(text):
            self._end()

    def closes(self, values: Sorted, rows: RowWriter) -> bool:
        """True for a line behind the last row that tells nothing but how long all took."""
        whole = whole_time(values, rows)
        if whole is None:
            return False
        if "train" in whole[0].lower():
            self._build.train_runtime_s, self._timed_at = whole[1], self._rows()
        self._end()
        return True

    def settle(self, build: RunBuilder) -> None:
        """Tell the run whether it is finished, and how long it took, unless rows came behind what said so."""
        build.ended = "finished" if self.said else None
        if self._timed_at != self._rows():
            build.train_runtime_s = None

    def _end(self) -> None:
        self._said_at, self._epoch = self._rows(), self._epochs.now
        self._ends += 1

    def row(self, mark: Mark, no: int) -> bool:
        """True when a row with this mark is one more of this run; else it is the first of another.

        That one begins where this one began, after the log said that this one is over, or has come to its planned end
        and another plan stands behind a start-up. A later epoch that counts from one again is the same run.
        """
        if self._first is not None and mark.step < self._last and self._is_new(mark, no):
            self.another = True
            return False
        self._first = mark.step if self._first is None else self._first
        self._last, self._total, self._line = mark.step, mark.total, no
        return True

    def _is_new(self, mark: Mark, no: int) -> bool:
        epoch = mark.epoch[0] if mark.epoch else self._epochs.now
        if mark.step > max(self._first or 0, 1):
            return False
        if self.said:
            return epoch is None or epoch <= 1 or (mark.epoch is None and epoch == self._epoch)
        full = self._total is not None and self._last >= self._total - 1
        return full and mark.total != self._total and epoch in {None, 0, 1} and no - self._line > START_UP
