"""One training session of a console: from one start of the training bar to the next."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers import swift
from parsers.build import RunBuilder
from parsers.trl_dict import Metrics
from parsers.trl_plan import Plan
from parsers.trl_rows import Record, RowWriter
from parsers.trl_spacing import Spacing
from parsers.trl_steps import Order
from parsers.values import MOST, whole
from timeledger.run import NoteKind
from timeledger.said import say

#: `Step 20: ` or `[step=20/500] ` before a dict.
_SAID: Final = re.compile(r"\bstep\s*[=:#]?\s*(\d{1,9})(?:\s*/\s*\d+)?\W{0,12}(?:\w{1,12}\W{1,6})?$", re.IGNORECASE)
_NO_PLAN: Final = say("the planned steps are left out: how many of them a row stands for is not known")


class Session:
    """Gives every metric dict its step: its own, or by the order of the dicts once their spacing is settled."""

    def __init__(
        self, writer: RowWriter, total: int | None = None, before: Session | None = None, plan: Plan | None = None
    ) -> None:
        self.writer = writer
        self.order = Order(total=total, plan=plan or Plan())
        self._waiting: list[Record] = []
        self._index = 0  # training dicts that have got their step
        self._own: list[int] = []
        self._per_step: float | None = None  # episodes a step, of the older PPO
        self._previous: Metrics | None = None
        self._last = 0  # the bar at the dict before
        self._epoch: float | None = None
        self._at: datetime | None = None
        self._late = False
        self.checkpoint = -1
        if before is not None:
            self.order.hint = before.order.spacing().interval if before.order.count else None
            self.order.again = True
        writer.begin(0)

    @property
    def begun(self) -> bool:
        """True when the session did anything yet."""
        return self.order.count > 0 or self.order.last > 0 or bool(self._own)

    def went_back(self, metrics: Metrics) -> bool:
        """True when, without a bar to tell, the epoch says that another session has begun."""
        epoch, before = metrics.numbers.get("epoch"), self._epoch
        self._epoch = epoch if epoch is not None else before
        return not self.order.has_bar and epoch is not None and before is not None and epoch < before - 1e-9

    @property
    def late(self) -> bool:
        """True when all steps are done but dicts of them, or the end-of-run dict behind those, may still be to come."""
        order = self.order
        return order.total is not None and order.last >= order.total and not order.ended

    def bar(self, step: int, total: int | None, elapsed_s: float) -> None:
        """A state of the training bar."""
        self.order.bar(step, elapsed_s)
        self.order.total = total
        if self._waiting:
            self._settle()

    def train(self, metrics: Metrics, line: int, at: datetime | None, head: str = "") -> None:
        """A training dict; `head` is the text before it (`INFO: step 20: `)."""
        previous, self._previous = self._previous, metrics
        moved = self.order.last > self._last if self.order.has_bar else None
        self._last = self.order.last
        if previous is not None and _repeats(previous, metrics, moved):
            return
        own = swift.without_progress(metrics)
        if at is not None and at == self._at:
            self._late = True
        self._at = at
        record = Record("train", own, line, at)
        step = self._own_step(metrics, head)
        if step is not None:
            self._place(record, step, metrics)
            return
        numbers = own.numbers
        lengths = (numbers.get("completions/min_length"), numbers.get("completions/max_length"))
        self.order.dict(numbers.get("epoch"), lengths)
        self._waiting.append(record)
        self._settle()

    def lost(self, line: int) -> None:
        """A dict that cannot be read was a logged step all the same."""
        self.order.dict(None, (None, None))
        self._waiting.append(Record("train", Metrics({}, {}, False, 0, 0), line))

    def evaluation(self, metrics: Metrics, line: int, at: datetime | None) -> None:
        """An evaluation's dict; it belongs behind the training dicts that wait before it."""
        self.order.evaluated(metrics.numbers.get("epoch"))
        self._waiting.append(Record("eval", metrics, line, at))
        self._settle()

    def end(self, metrics: Metrics, line: int) -> None:
        """The end-of-run dict."""
        build, order = self.writer.build, self.order
        runtime = metrics.numbers["train_runtime"]
        order.ended = True
        order.finished_by(runtime, metrics.numbers.get("train_steps_per_second"), metrics.rounded)
        self.write()
        before, build.train_runtime_s = build.train_runtime_s, runtime
        if before is None or abs(before - runtime) > 1e-3 * runtime:  # else: printed twice, raw and rounded
            build.event("finish", line=line, seconds=runtime, step=order.last or self.writer.last_step)
        if "total_steps" not in build.settings and (steps := order.steps_by_end(self.writer.last_step)):
            build.setting("total_steps", steps, "train_runtime x train_steps_per_second", "inferred")

    # --- steps --------------------------------------------------------------------------------------------

    def _own_step(self, metrics: Metrics, head: str) -> int | None:
        """The step that a dict names itself: ms-swift's, a loop's own, in the text before it, or counted in episodes."""
        where = swift.place(metrics.words, metrics.numbers)
        if where is not None:
            self.writer.build.framework = "ms-swift"
            self.writer.build.setting("total_steps", where.total, "global_step/max_steps")
            return where.step
        numbers = metrics.numbers
        for key in ("step", "global_step"):
            if (step := whole(numbers.get(key))) is not None:
                return step
        if head and (said := _SAID.search(head)):
            return int(said[1])
        if "eps" in numbers and 0 < numbers.get("episode", 0) < MOST:
            if self._per_step is None:  # the bar moves after the dict: it still shows the step before
                self._per_step = numbers["episode"] / (self.order.last + 1)
            return round(numbers["episode"] / self._per_step)
        return None

    def _place(self, record: Record, step: int, metrics: Metrics) -> None:
        where = swift.place(metrics.words, metrics.numbers)
        self.writer.train_at(record, step, self._own, where.elapsed_s if where else None)

    def _settle(self) -> None:
        if self.order.settle() is not None:
            self.write()

    def write(self) -> None:
        """Write what waits, for good."""
        self._index = self._write(self.writer)
        self._waiting.clear()

    def provisional(self) -> RowWriter:
        """A copy of the writer that holds what waits too, placed as well as can be now."""
        writer = self.writer.fork()
        self._write(writer)
        return writer

    def _write(self, writer: RowWriter) -> int:
        index = self._index
        if not self._waiting:
            return index
        spacing, start = self.order.spacing(), self.order.start
        if index == 0:
            writer.begin(start)
        for record in self._waiting:
            if record.kind == "eval":
                epoch = record.metrics.numbers.get("epoch")
                writer.evaluation(record, writer.eval_step(epoch) or self.order.step_at(epoch, spacing))
                continue
            if self._late or self.order.bursts:
                record.at = None  # that is when a buffer was emptied, not when the step was done
            if record.metrics.numbers:
                index += self._gap(writer, record, spacing, index)
                writer.train(record, spacing.step(index, start), spacing.span(index, start))
            index += 1
        if index:
            self._explain(writer.build, spacing)
        return index

    def _gap(self, writer: RowWriter, record: Record, spacing: Spacing, index: int) -> int:
        """Rows that are missing before this one, as far as its epoch says so and the bar allows it."""
        if spacing.interval is None:
            return 0
        step = spacing.step(index, self.order.start)
        rows = writer.missing(record.metrics.numbers.get("epoch"), step, spacing.interval)
        if rows == 0 or (self.order.has_bar and step + rows * spacing.interval > self.order.last):
            return 0
        writer.build.note(
            "guessed", say("metric dicts are missing: the steps behind the gap follow the epoch"), record.line
        )
        return rows

    def _explain(self, build: RunBuilder, spacing: Spacing) -> None:
        if spacing.interval is None:
            _tell(
                build, "guessed", say("the logging interval is not known: rows are numbered 1, 2, 3, ... as they come")
            )
            if not self.order.has_bar and build.settings.pop("total_steps", None) is not None:
                _tell(build, "guessed", _NO_PLAN)  # rows counted against steps would be a finish made up
        else:
            build.setting(
                "logging_steps", spacing.interval, spacing.because or "spacing of the metric dicts", "inferred"
            )
        if self.order.sparse:
            _tell(
                build,
                "guessed",
                say("the progress bar shows too few of its states to tell the steps: rows are numbered by their order"),
            )
        if self.order.bursts:
            _tell(
                build,
                "info",
                say("standard output was buffered: metric dicts came late and are numbered by their order"),
            )


def _repeats(before: Metrics, now: Metrics, moved: bool | None) -> bool:
    """True when a dict stands there twice: a callback or a logger prints it too, or several processes do.

    Two steps may well agree in all numbers (nothing learned, times not logged), so equal numbers alone do not say it.
    `moved`: the bar went on since the dict before; None without a bar.
    """
    old, new = before.numbers, now.numbers
    if before.rounded != now.rounded:  # raw and rounded: the trainer's own print and someone else's
        shared = [key for key in new if key in old]
        return len(shared) >= 3 and all(abs(old[key] - new[key]) <= 1e-3 * abs(old[key]) + 1e-9 for key in shared)
    if old != new:
        return False
    if (before.start > 3) != (now.start > 3):
        return True
    timed = new.get("grad_norm", 0.0) != 0 or "step_time" in new
    return "num_tokens" in new if moved is None else timed and not moved


def _tell(build: RunBuilder, kind: NoteKind, text: str) -> None:
    """Note a fact of the whole run, once."""
    if not build.noted(kind, text):
        build.note(kind, text)
