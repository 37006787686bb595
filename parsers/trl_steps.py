"""Which optimizer step a metric dict of an HF-Trainer console belongs to: the dict does not say, the order does.

The bar is written to stderr at once; dicts go to stdout, which Python buffers in blocks when it is not a terminal. Dicts
then come in bursts, late by up to hundreds of steps, or all at the end. So the k-th dict of a session is the k-th logged
step, and what has to be found is the logging interval. Evidence, best first:

1. Marks. To print a dict, tqdm wipes the bar and draws it again: a bar state that stands twice (or directly behind a dict)
   is a step that was logged, whatever the buffering.
2. The pace. When a burst is over, at most a dict or two are still in the buffer.
3. A finished session: dicts against steps done (the bar's, or train_runtime x train_steps_per_second).
4. Longest and shortest answer are whole numbers on every row only when a row is one step, not a mean over several.
5. Without a bar: the dicts' epochs and the steps that the banner announces (`trl_plan`), or checkpoints between them.

A copy of standard output may hold a few states of the bar only (W&B's output.log). More dicts than the bar leaves room for
show that: its first state is then no beginning, and 3, 4 and the epochs have to tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from parsers.trl_marks import Marks
from parsers.trl_plan import Plan, interval_by_epochs
from parsers.trl_spacing import Spacing, nicest

#: Evaluations whose epochs are kept.
_EVALS: Final = 64


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
    #: what the banner announces
    plan: Plan = field(default_factory=Plan)
    _jump: tuple[int, float] | None = None
    _since_bar: int = 0
    _marks: Marks = field(default_factory=Marks)
    _ends: list[tuple[int, int]] = field(default_factory=list)
    _whole: int = 0
    _broken: int = 0
    _lengths: set[tuple[float, float]] = field(default_factory=set)
    _epochs: list[float] = field(default_factory=list)
    _evals: list[float] = field(default_factory=list)
    _saves: list[tuple[int, int]] = field(default_factory=list)
    _first_epoch: float | None = None
    settled: Spacing | None = None

    # --- evidence -----------------------------------------------------------------------------------------

    def bar(self, step: int, elapsed_s: float = 0.0) -> None:
        """A state of the training bar."""
        self.elapsed_s = max(self.elapsed_s, elapsed_s)
        if self.first is None and step > 0:
            self.first = step
            self.sparse = step > 2 and self.count >= 2
        if self.settled is None and step > 0:
            self._marks.see(step, logged=step == self.last or self._since_bar > 0)
        if self._since_bar:
            self.bursts += self._since_bar > 1
            if step > 0 and self.settled is None:
                self._ends.append((step, self.count))
                del self._ends[64:-1]
            self._since_bar = 0
        self.last = max(self.last, step)

    def evaluated(self, epoch: float | None) -> None:
        """An evaluation's dict: a bar is drawn anew behind it too."""
        if epoch is not None and len(self._evals) < _EVALS and (not self._evals or epoch > self._evals[-1]):
            self._evals.append(epoch)

    def step_at(self, epoch: float | None, spacing: Spacing) -> int | None:
        """The step of an evaluation that came before any training dict, by its epoch."""
        if epoch is None:
            return None
        if self._first_epoch and spacing.interval is not None:
            return round(spacing.step(0, self.start) * epoch / self._first_epoch)
        if (an_epoch := self.plan.steps_an_epoch(self.total)) is not None:
            return round(sum(an_epoch) / 2 * epoch)
        if self.count == 0 and self._marks.logged and self._evals and not self.sparse:
            return round(min(self._marks.logged) * epoch / self._evals[0])
        return None

    def saved(self, step: int) -> None:
        """A checkpoint of this step was written: without a bar that tells how many steps the dicts before it took."""
        if not self.has_bar and (not self._saves or step > self._saves[-1][0]):
            self._saves.append((step, self.count))
            del self._saves[64:-1]

    def dict(self, epoch: float | None, lengths: tuple[float | None, float | None]) -> None:
        """A training dict with its epoch and its shortest and longest answer."""
        self.count += 1
        self._since_bar += 1
        if self.count == 1:
            self._first_epoch = epoch
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

    def steps_by_end(self, logged: int | None = None) -> int | None:
        """The last step of a finished session without a bar, when the end-of-run dict is exact enough.

        Where every step is logged the last of them, `logged`, is it.
        """
        if self.done is None or self.has_bar:
            return None
        steps, error = self.done
        if logged is not None and self.spacing().interval == 1 and abs(logged - self.start - steps) <= error * steps:
            return logged
        return self.start + round(steps) if steps * error <= 0.45 else None

    # --- answers ------------------------------------------------------------------------------------------

    @property
    def has_bar(self) -> bool:
        """True when the bar moved: only then does it say anything about steps."""
        return self.last > 0

    @property
    def logs(self) -> bool:
        """True when the bar was written past before its end: a trainer's bar, even while its dicts are still in a buffer."""
        return self.settled is not None or any(step < self.last for step in self._marks.logged)

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
        return self._by_end() or self._by_epochs() or self._by_saves() or self._by_lengths() or self._hinted()

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
            return self._by_total(self.total) or self.spacing_without_start()
        answer = self._without_evaluations(self._marks.spacing(self.start, self.last, self.elapsed_s, self.hint))
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
                self._marks.shown.clear()
                self._epochs.clear()
        return self.settled

    def _without_evaluations(self, answer: Spacing | None) -> Spacing | None:
        """Evaluations that come more often than dicts leave most marks: the epochs tell how much more often."""
        if answer is None or answer.interval is None or not self._evals or not self._epochs:
            return answer
        if self.start and 1 in {len(self._evals), len(self._epochs)}:
            return answer  # one of them alone says nothing of its distance behind a checkpoint
        rarer = _a_row(self._epochs) / _a_row(self._evals) if _a_row(self._evals) > 0 else 0.0
        times = round(rarer)
        if times < 2 or abs(rarer - times) > 0.1 * times:
            return answer
        wider = Spacing(answer.interval * times, False, "the bar was drawn anew, and dicts are rarer than evaluations")
        step, count = self._ends[-1] if self._ends else (self.last, self.count)
        near = abs(wider.count(step, self.start) - count) <= abs(answer.count(step, self.start) - count)
        return wider if near else answer

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

    def _by_epochs(self) -> Spacing | None:
        an_epoch = self.plan.steps_an_epoch(self.total)
        found = interval_by_epochs(self._epochs, an_epoch) if an_epoch is not None else None
        if found is None:
            return None
        low, high, first_step = found
        return Spacing(nicest(low, high), first_step, "epochs of the metric dicts and planned steps")

    def _by_saves(self) -> Spacing | None:
        """Checkpoints name their step; dicts that went through a logger stand in order before and behind them."""
        if not self._saves:
            return None
        (step, count), (begin, before) = self._saves[-1], self._saves[0] if len(self._saves) > 1 else (0, 0)
        low, high = (step - begin) // (count - before + 1) + 1, (step - begin) // max(count - before, 1)
        return Spacing(nicest(low, high), False, "metric dicts between two checkpoints") if low <= high else None

    def _by_lengths(self) -> Spacing | None:
        if self._broken == 0 and self._whole >= 4 and len(self._lengths) >= 3:
            return Spacing(1, False, "shortest and longest answer are whole numbers on every row")
        return None


def _a_row(epochs: Sequence[float]) -> float:
    """What the epoch grows by from one dict to the next."""
    return epochs[0] if len(epochs) == 1 else (epochs[-1] - epochs[0]) / (len(epochs) - 1)
