"""Which optimizer step a metric dict of an HF-Trainer console belongs to: the dict does not say, the order does.

The bar is written to stderr at once; dicts go to stdout, which Python buffers in blocks when it is not a terminal. Dicts
then come in bursts, late by up to hundreds of steps, or all at the end. So the k-th dict of a session is the k-th logged
step, and what has to be found is the logging interval. Evidence, best first:

1. Marks. To print a dict, tqdm wipes the bar and draws it again: a bar state that stands twice (or directly behind a dict)
   is a step that was logged, whatever the buffering.
2. The pace. When a burst is over, at most a dict or two are still in the buffer.
3. A finished session: dicts against steps done (the bar's, or train_runtime x train_steps_per_second).
4. Longest and shortest answer are whole numbers on every row only when a row is one step, not a mean over several.

A copy of standard output may hold a few states of the bar only (W&B's output.log). More dicts than the bar leaves room for
show that: its first state is then no beginning, and 3, 4 and the epochs have to tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

#: Bar states kept while the interval is not settled; a run that logs more rarely is settled by its pace.
_KEEP: Final = 4096
#: Seconds a step below which tqdm does not draw every state (it waits 0.1 s between two).
_FAST: Final = 0.4


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


@dataclass(slots=True)
class Order:
    """The bars and dicts of one session, as far as they tell the logging interval."""

    total: int | None = None
    first: int | None = None
    last: int = 0
    elapsed_s: float = 0.0
    count: int = 0
    bursts: int = 0
    ended: bool = False
    #: the bar shows too few of its states to say where the session began
    sparse: bool = False
    #: (steps done, relative error) by the end-of-run dict, for a console without bars
    done: tuple[float, float] | None = None
    #: the interval of the session before, and whether there was one
    hint: int | None = None
    again: bool = False
    _jump: tuple[int, float] | None = None
    _since_bar: int = 0
    _shown: dict[int, None] = field(default_factory=dict)
    _marks: set[int] = field(default_factory=set)
    _ends: list[tuple[int, int]] = field(default_factory=list)
    _whole: int = 0
    _broken: int = 0
    _lengths: set[tuple[float, float]] = field(default_factory=set)
    _epochs: list[float] = field(default_factory=list)
    settled: Spacing | None = None

    # --- evidence -----------------------------------------------------------------------------------------

    def bar(self, step: int, elapsed_s: float = 0.0) -> None:
        """A state of the training bar."""
        self.elapsed_s = max(self.elapsed_s, elapsed_s)
        if self.first is None and step > 0:
            self.first = step
            self.sparse = step > 2 and self.count >= 2
        if self.settled is None and step > 0:
            if step == self.last or self._since_bar:
                self._mark(step)
            if len(self._shown) < _KEEP:
                self._shown[step] = None
        if self._since_bar:
            self.bursts += self._since_bar > 1
            if step > 0 and self.settled is None:
                self._ends.append((step, self.count))
                del self._ends[64:-1]
            self._since_bar = 0
        self.last = max(self.last, step)

    def _mark(self, step: int) -> None:
        if len(self._marks) < _KEEP:
            self._marks.add(step)

    def dict(self, epoch: float | None, lengths: tuple[float | None, float | None]) -> None:
        """A training dict with its epoch and its shortest and longest answer."""
        self.count += 1
        self._since_bar += 1
        if self.settled is not None:
            return
        if self.first is not None and self.first > 1 and self.count > self.last - self.first + 3:
            self.sparse = True
        low, high = lengths
        if low is not None and high is not None:
            if low.is_integer() and high.is_integer():
                self._whole += 1
                if len(self._lengths) < 8:
                    self._lengths.add((low, high))
            else:
                self._broken += 1
        if epoch is not None and len(self._epochs) < 200:
            self._epochs.append(epoch)

    def skipped(self, step: int, elapsed_s: float) -> int | None:
        """The step a checkpoint was taken at, once it is sure that the bar's first state skipped finished steps.

        Skipping is fast: only when later steps are far slower is a first state such as 41/100 no fast beginning.
        """
        if step == self.first and step > 1:
            if self.again:
                return step - 1
            self._jump = (step, elapsed_s) if step >= 3 else None
        elif self._jump is not None and step >= self._jump[0] + 3:
            first, then = self._jump
            self._jump = None
            if (elapsed_s - then) / (step - first) > 5 * (then + 1) / first:
                return first - 1
        return None

    def finished_by(self, runtime_s: float, steps_a_second: float | None, rounded: bool) -> None:
        """The end-of-run dict: how many steps this session took, within the rounding of its numbers."""
        if steps_a_second is None or steps_a_second <= 0 or runtime_s <= 0:
            return
        error = 0.0005 / steps_a_second + (0.001 if rounded else 1e-5)
        self.done = (runtime_s * steps_a_second, min(error, 0.9))

    def steps_by_end(self) -> int | None:
        """The last step of a finished session without a bar, when the end-of-run dict is exact enough."""
        if self.done is None or self.has_bar or self.done[0] * self.done[1] > 0.45:
            return None
        return self.start + round(self.done[0])

    # --- answers ------------------------------------------------------------------------------------------

    @property
    def has_bar(self) -> bool:
        """True when the bar moved: only then does it say anything about steps."""
        return self.last > 0

    @property
    def logs(self) -> bool:
        """True when the bar was written past before its end: a trainer's bar, even while its dicts are still in a buffer."""
        return self.settled is not None or any(step < self.last for step in self._marks)

    @property
    def owed(self) -> int:
        """How many dicts of the steps done so far are still in a buffer."""
        spacing = self.spacing()
        return 0 if spacing.interval is None else max(0, spacing.count(self.last, self.start) - self.count)

    @property
    def start(self) -> int:
        """Steps done before the first dict could come: 0, or the step that was resumed from."""
        if self.first is not None and not self.sparse:
            return self.first - 1
        return self._resumed_rows() * (self.spacing_without_start().interval or 1)

    def spacing_without_start(self) -> Spacing:
        """The interval from evidence that does not need the start (no bar)."""
        return self._by_end() or self._by_lengths() or Spacing(None)

    def _resumed_rows(self) -> int:
        """How many rows lie before the first one, by the epochs: epoch 0.1025 that grows by 0.0025 a row is row 41."""
        epochs = self._epochs
        if len(epochs) < 5 or epochs[-1] <= epochs[0]:
            return 0
        a_row = (epochs[-1] - epochs[0]) / (len(epochs) - 1)
        before = epochs[0] / a_row - 1
        rounding = 0.005 / a_row if all(round(epoch, 2) == epoch for epoch in epochs) else 0.02
        return round(before) if before > 0.75 and rounding < 0.3 else 0

    def spacing(self) -> Spacing:
        """The best answer now."""
        if self.settled is not None:
            return self.settled
        answer = self._answer()
        if self.total is not None and self.count > 1 and answer.step(self.count - 2, self.start) > self.total:
            self.sparse = True
            answer = self._answer()
        return answer

    def _answer(self) -> Spacing:
        if not self.has_bar or self.sparse:
            return self._by_total(self.total) or self._by_end() or self._by_lengths() or self._hinted()
        answer = self._by_marks()
        if answer is None or self._contradicted(answer):
            answer = self._by_pace() or self._by_total(self.last) or answer
        return answer or self._by_lengths() or self._hinted()

    def _hinted(self) -> Spacing:
        return Spacing(self.hint, False, "the session before")

    def settle(self) -> Spacing | None:
        """The answer once nothing later can change it, else None."""
        due = self.count <= 32 or self.count % 32 == 0
        if self.settled is None and due and self.has_bar and len(self._ends) >= 2 and self._since_bar == 0:
            answer = self.spacing()
            if (
                answer.interval is not None
                and answer.count(self.last, self.start) >= 4
                and not self._contradicted(answer)
            ):
                self.settled = answer
                self._shown.clear()
                self._epochs.clear()
        return self.settled

    def _by_marks(self) -> Spacing | None:
        if not self._marks:
            return None
        limit = min(self.last, next(reversed(self._shown), 0))
        best, most = 0, 0.0
        for interval in range(1, limit + 1):
            if (self.start // interval + 1) * interval > limit:
                break
            score = self._fit(interval, limit)
            if score > most * (1 + 1e-9):
                best, most = interval, score
        if self.hint and self._fit(self.hint, limit) > 0.5 * most:
            best = self.hint
        if best:
            also_one = best > 1 and self.start == 0 and 1 in self._marks
            return Spacing(best, also_one, "the bar was drawn anew at every such step")
        if self._marks == {1}:
            return Spacing(1 if self.last == 1 else None, self.last > 1, "only step 1 was logged so far")
        return None

    def _fit(self, interval: int, limit: int) -> float:
        """How well marks at every `interval` steps agree with the marks seen, 0..1.

        Of a run's marks some belong to evaluations; of a fast run's logged steps many are drawn only once.
        """
        first = (self.start // interval + 1) * interval
        steps = range(first, limit + (limit in self._marks), interval)
        hits = sum(step in self._marks for step in steps)
        if not hits or not all(step in self._shown for step in steps):
            return 0.0
        covered, explained = (
            hits / len(steps),
            hits / max(1, len(self._marks - {1}) if interval > 1 else len(self._marks)),
        )
        if self.elapsed_s < _FAST * (self.last - self.start):
            return 2 * covered * explained / (covered + explained)
        return covered * covered * explained

    def _contradicted(self, answer: Spacing) -> bool:
        """True when dicts lag behind this interval more and more, or are more than it allows."""
        ends = [*self._ends, (self.last, self.count)] if self.ended else self._ends
        if not ends:
            return False
        step, count = ends[-1]
        expected = answer.count(step, self.start)
        if count > expected + 1:
            return True
        return (self.ended or len(ends) >= 2) and expected - count > max(2.0, 0.3 * expected)

    def _by_pace(self) -> Spacing | None:
        ends = [end for end in self._ends if end[0] > self.start] or [(self.last, self.count)]
        step, count = ends[-1]
        if step <= self.start or count == 0:
            return None
        best, least = None, 0
        for interval in self._near((step - self.start) / count):
            for first_step in (False, True):
                answer = Spacing(interval, first_step and self.start == 0 and interval > 1, "the pace of bar and dicts")
                off = sum(abs(answer.count(at, self.start) - rows) for at, rows in ends) * 2 + first_step
                if best is None or off <= least:
                    best, least = answer, off
        return best if best is not None and least <= 2 * len(ends) + 1 else None

    @staticmethod
    def _near(pace: float) -> Iterable[int]:
        """Intervals worth trying at this pace; rare rows are at round steps."""
        low, high = max(1, int(pace * 0.5)), int(pace) + 1
        return (
            range(low, high + 1)
            if high - low < 200
            else sorted({nicest(int(pace * part), high) for part in (0.5, 0.8, 0.9, 0.99)})
        )

    def _by_total(self, steps: int | None) -> Spacing | None:
        if not self.ended or not steps or not self.count or steps < self.count:
            return None
        known = self.first is not None and not self.sparse
        done, count = (steps - self.start, self.count) if known else (steps, self.count + self._resumed_rows())
        for rows, first_step in ((count, False), (count - 1, True)):
            if rows < 1:
                break
            low, high = done // (rows + 1) + 1, done // rows
            if low <= high:
                return Spacing(nicest(low, high), first_step, "rows of the finished run")
        return None

    def _by_end(self) -> Spacing | None:
        if self.done is None or not self.count:
            return None
        steps, error = self.done
        low, high = int(steps * (1 - error) / (self.count + 1)) + 1, int(steps * (1 + error) / self.count)
        if low > high:
            return None
        return Spacing(nicest(low, high), False, "train_runtime x train_steps_per_second")

    def _by_lengths(self) -> Spacing | None:
        if self._broken == 0 and self._whole >= 4 and len(self._lengths) >= 3:
            return Spacing(1, False, "shortest and longest answer are whole numbers on every row")
        return None
