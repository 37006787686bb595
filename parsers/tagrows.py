"""Metrics that arrive one name at a time, gathered into rows of steps: the common end of every tracker's reader."""

from __future__ import annotations

import copy
from typing import Any, Final

from parsers import ray_tune, verl_keys
from parsers.build import RunBuilder
from parsers.moments import moment
from parsers.tag_gather import Gathered, gather
from parsers.tags import Meaning, derive
from timeledger.run import Run
from timeledger.said import say

#: Steps whose metrics wait for a row (names nobody knows never make a row of their own).
_WAITING_STEPS: Final = 256
#: Distinct names kept a run; a log that makes up a new name every step must not fill the memory.
_MAX_NAMES: Final = 2000
#: What an evaluation is remembered by, best first.
_TELLING: Final = ("acc", "pass", "reward", "score", "mean@", "loss", "mean_length", "length")
_MAX_SHOWN: Final = 200


def _telling(name: str) -> int:
    return next((rank for rank, word in enumerate(_TELLING) if word in name), len(_TELLING))


class TagRows:
    """Feeds a `RunBuilder` from (step, name, value, wall time), in the order of the log.

    A name that comes back at a smaller step opens a segment; at the same step its later value wins. Names of an
    evaluation become one event a step; names that stand for nothing known are kept as extra metrics.
    """

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        #: Line of the log that is being read: the row of a step keeps the one it began on.
        self.line = 0
        #: True where slime's `train/*` stand on another axis than its rollouts (trackers keep both under one number).
        self.apart = True
        #: The last step that is one of training whatever its metrics are called.
        self.certain: int | None = None
        self._step: int | None = None
        self._step_line = 0
        self._tags: dict[str, tuple[float, float | None]] = {}
        self._again = False
        self._last: dict[str, int] = {}
        self._unknown_rows = False
        self._from_one = 0
        #: True where Ray numbers the iterations.
        self._iterates = False
        self._forget()

    def _forget(self) -> None:
        self._waiting: dict[int, tuple[dict[str, Any], dict[str, float], float | None]] = {}
        self._evaluations: dict[int, tuple[dict[str, Any], dict[str, float]]] = {}
        self._tokens: tuple[int, float] | None = None
        self._tokens_grow = True
        self._previous: int | None = None
        self._spanless: int | None = None

    def add(self, step: int, tag: str, value: float, wall: float | None) -> None:
        """Take one metric of one step; `wall` is Unix seconds."""
        if step < 0:
            self.build.note("skipped", say("a metric of a step below 0"))
            return
        last = self._last.get(tag)
        if last is None:
            if len(self._last) >= _MAX_NAMES:
                self.build.note(
                    "skipped", say("more than {count} metric names: the rest is not read", count=_MAX_NAMES)
                )
                return
        elif step <= last:
            if step < last or tag in self._tags:
                self.flush()
            if step < last:
                self._new_segment(step, wall)
            else:
                self._again = True
        if step != self._step:
            self.flush()
            self._step, self._step_line = step, self.line
        self._last[tag] = step
        self._tags[tag] = (value, wall)

    def session(self) -> None:
        """What follows belongs to another session of the run, whatever its step numbers."""
        self.flush()
        self.build.new_segment()
        self._last.clear()
        self._forget()

    def _new_segment(self, step: int, wall: float | None) -> None:
        self.build.new_segment()
        text = f"the step count goes back to {step}"
        self.build.event("restart", line=self.line, at=moment(wall), step=step, text=text)
        self._last.clear()
        self._forget()

    def run(self) -> Run:
        """The run so far, with the open step as far as it goes; the step may still gain names afterwards."""
        if not self._tags and not self._nameless:
            return self.build.run()
        return self.settled().run()

    def settled(self) -> RunBuilder:
        """A copy of the builder with the open step as far as it goes, to write more on."""
        twin = copy.copy(self)
        twin.build, events = self.build.fork_with_events()
        twin._waiting = dict(self._waiting)
        twin._evaluations = {
            step: (events[id(event)], dict(shown))
            for step, (event, shown) in self._evaluations.items()
            if id(event) in events
        }
        twin.flush()
        if twin._nameless:
            twin._give_waiting()
        return twin.build

    @property
    def empty(self) -> bool:
        """True while this session has no metric at all."""
        return not self._tags and not self._waiting and self.build.last_step is None

    @property
    def _nameless(self) -> bool:
        """True while steps wait for a row and none was ever made: perhaps no name of this log is known."""
        return bool(self._waiting) and self.build.last_step is None

    def _give_waiting(self) -> None:
        """Make rows of the steps that wait: their times and metrics are worth having without a known name."""
        for step, (values, extra, wall) in sorted(self._waiting.items()):
            self.build.row(step, {**values, "span": self._span(step)}, at=moment(wall), extra=extra)
        self._waiting = {}

    def flush(self) -> None:
        """Hand the open step to the builder."""
        if not self._tags or self._step is None:
            return
        tags, again = self._tags, self._again
        self._tags, self._again = {}, False
        if self._step == 0 and "train/episode" in tags:
            self._from_one = 1  # TRL's older RLOO counts from 0 here and from 1 in its episodes
        step = self._step + self._from_one
        if (iteration := ray_tune.iteration(tags)) is not None:
            step, again, self._iterates = iteration, False, True
        elif self._iterates:  # not all of the next iteration is here yet
            return
        got = gather(tags)
        build = self.build
        build.framework = build.framework or got.framework
        if self.apart and build.framework == "slime" and (apart := [tag for tag in tags if tag.startswith("train/")]):
            build.note("info", say("slime counts train/* in optimizer steps, not rollouts: left out"))
            tags = {tag: held for tag, held in tags.items() if tag not in apart}
            got = gather(tags)
        if not tags:
            return
        if build.framework == "verl" and got.framework == "verl":
            self._verl(step, {tag: value for tag, (value, _) in tags.items()}, got.wall)
            return
        for column in got.not_numbers:
            build.note("warning", say("{name} is not a number (NaN)", name=column))
        self._evaluation(step, got.evaluation, next(iter(tags.values()))[1])
        if not again:
            for what, seconds in got.phases:
                build.phase(step, what.target, seconds, name=what.name, parent=what.parent, outside=what.outside,
                            overlaps=what.overlaps)  # fmt: skip
        numbers = {tag: value for tag, (value, _) in tags.items()}
        for column, value in derive(numbers).items():
            got.values.setdefault(column, value)
        self._clocks(step, got, next(iter(tags.values()))[1])
        seen = numbers.get("train/num_tokens", numbers.get("num_tokens"))
        if seen is not None and build.framework == "TRL":  # elsewhere it may be the step's own count
            self._seen(step, seen, got.values)
        self._row(step, got, again)

    def _verl(self, step: int, numbers: dict[str, float], wall: float | None) -> None:
        verl_keys.apply(self.build, step, numbers, at=moment(wall))
        if self.build.has(step, "step") and not self.build.has(step, "span"):
            self.build.row(step, {"span": self._span(step)})

    def _row(self, step: int, got: Gathered, again: bool) -> None:
        """Give the row, or let it wait when nothing in it makes a step of its own."""
        values, extra, wall = got.values, got.extra, got.wall
        if not self.build.has(step, "step"):
            rows_of_any = self._unknown_rows or self._step == self.certain
            telling = values.keys() - {"epoch", "elapsed_s"} or (extra and rows_of_any)
            if not telling or step < (self.build.last_step or 0):
                self._wait(step, values, extra, wall)
                return
            waiting = self._waiting.pop(step, None)
            if waiting is not None:
                values, extra, wall = waiting[0] | values, waiting[1] | extra, wall if wall is not None else waiting[2]
            values["span"] = self._span(step)
        self.build.row(step, values, line=self._step_line, at=moment(wall), extra=extra, overwrite=again)

    def _wait(self, step: int, values: dict[str, Any], extra: dict[str, float], wall: float | None) -> None:
        if not values and not extra:
            return
        old = self._waiting.pop(step, ({}, {}, None))
        self._waiting[step] = (old[0] | values, old[1] | extra, wall if old[2] is None else old[2])
        if len(self._waiting) > _WAITING_STEPS:
            if self._nameless:
                self._give_waiting()
                self._unknown_rows = True
            else:
                del self._waiting[next(iter(self._waiting))]

    def _interval(self) -> int:
        found = self.build.settings.get("logging_steps")
        value = 0 if found is None else found.value
        return int(value) if isinstance(value, int | float) and value >= 1 else 0

    def _span(self, step: int) -> int | None:
        """Steps since the row before; the first row's comes from the logging interval, or from the second row."""
        previous, self._previous = self._previous, step
        if previous is not None:
            span = step - previous
            if self._spanless is not None:
                if self._spanless == span and self.build.has(self._spanless, "step"):
                    self.build.row(self._spanless, {"span": span})
                self._spanless = None
            return span
        every = self._interval()
        if step == 1:
            return 1
        if every:
            return min(step, step % every or every) if step > 0 else None
        self._spanless = step
        return None

    def _seen(self, step: int, value: float, values: dict[str, Any]) -> None:
        """Tokens of one step, from a total that grows.

        Where one generation serves several steps, only the row of the step that generated holds the total, and its tokens are
        that step's: what grew is shared among the steps since the last row of any kind, not since the last total.
        """
        before, self._tokens = self._tokens, (step, value)
        if before is None:
            if self.build.segment == 0 and 0 < step <= max(1, self._interval()):
                values["tokens"] = value / step
        elif value < before[1]:
            self._tokens_grow = False
            self.build.note("warning", say("num_tokens falls: it is no running total, tokens a step are left out"))
        elif step > before[0] and self._tokens_grow:
            last = self._previous if self._previous is not None and before[0] <= self._previous < step else before[0]
            values["tokens"] = (value - before[1]) / (step - last)

    def _evaluation(self, step: int, found: list[tuple[Meaning, float]], wall: float | None) -> None:
        if not found:
            return
        if step not in self._evaluations:
            if len(self._evaluations) >= _WAITING_STEPS:
                del self._evaluations[next(iter(self._evaluations))]
            event = self.build.event("evaluation", line=self._step_line, at=moment(wall), step=step)
            self._evaluations[step] = (event, {})
        event, shown = self._evaluations[step]
        for what, value in found:
            if what.role == "eval_s":
                event["seconds"] = value
            elif len(shown) < _MAX_SHOWN:
                shown[what.name] = value
        best = sorted((_telling(name), at, name) for at, name in enumerate(shown) if _telling(name) < len(_TELLING))
        names = [name for _, _, name in best[:4]] or list(shown)[:2]
        event["text"] = ", ".join(f"{name} {shown[name]:.4g}" for name in names)[:300]

    def _clocks(self, step: int, got: Gathered, wall: float | None) -> None:
        """`train_runtime` is the whole run's where the end-of-run rates stand beside it, else the clock of each row."""
        if got.runtime is None:
            return
        if not got.ends:
            got.values["elapsed_s"] = got.runtime
            return
        self.build.train_runtime_s = got.runtime
        if step > 0:  # the last step may be no multiple of the logging interval
            self.build.setting("total_steps", step, say("the end-of-run row"))
        if self.build.ended is None:
            self.build.event("finish", at=moment(wall), step=step)
        self.build.ended = "finished"
