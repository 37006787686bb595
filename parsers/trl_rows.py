"""From a trainer's metric dict to rows, phases and events of a run, once its step is known."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from parsers.build import RunBuilder
from parsers.trl_dict import Metrics
from parsers.trl_keys import Taken, take
from parsers.trl_plan import half_digit
from timeledger.said import say

#: A difference of two rounded token counts is used up to this relative error.
_TOKEN_ERROR: Final = 0.05
#: How the limit on answers was found.
_CAP: Final = "the longest answer of every step in which answers were cut"


@dataclass(slots=True)
class Record:
    """A dict that waits for its step."""

    kind: Literal["train", "eval"]
    metrics: Metrics
    line: int
    at: datetime | None = None


def gaps(step: int, seen: list[int]) -> list[tuple[int, int]]:
    """Spans that follow when a row with its own step number comes after the rows `seen` (kept here: the last two).

    The first row's own span is known only with the second: rows at 5, 10, ... are means over 5 steps each.
    """
    found: list[tuple[int, int]] = []
    if not seen and step == 1:
        found.append((1, 1))
    elif seen and step > seen[-1]:
        gap = step - seen[-1]
        found.append((step, gap))
        if len(seen) == 1 and seen[0] > 1 and seen[0] % gap == 0:
            found.append((seen[0], gap))
    if not seen or step > seen[-1]:
        seen.append(step)
        del seen[:-2]
    return found


class RowWriter:
    """Writes records into a builder; remembers what one row needs from the rows before it."""

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        self._tokens: tuple[float, float] | None = (0.0, 0.0)
        self._cap = 0.0
        self._cap_rows = 0
        self._cap_broken = False
        self.last_step: int | None = None
        self._epoch: float | None = None
        self._base: tuple[float, int] | None = None
        self._slope: tuple[float, int] | None = None

    def fork(self) -> RowWriter:
        """A copy that writes into a copy of the builder."""
        other = copy(self)
        other.build = self.build.fork()
        return other

    def begin(self, start: int) -> None:
        """A session begins behind step `start`: a counter that goes on from a checkpoint has no known last value."""
        self._tokens = (0.0, 0.0) if start == 0 else None
        self.last_step, self._epoch, self._base, self._slope = None, None, None, None

    def missing(self, epoch: float | None, step: int, interval: int) -> int:
        """How many rows must be missing before this one for its epoch to fit the session's earlier rows.

        A dict may be lost without a trace: cut out of the middle of the log, or overwritten. Within an epoch the last,
        shorter step makes the epoch run ahead by less than a step; a gap is believed beyond that and the printed digits.
        """
        if epoch is None or not math.isfinite(epoch):
            return 0
        if self._base is None:
            self._base = (epoch, step)
        begin, first = self._base
        if self._slope is not None:
            a_step, reach = self._slope
            rounding = (half_digit(epoch) + half_digit(begin)) / a_step * (1 + (step - first) / reach)
            ahead = (epoch - begin) / a_step - (step - first)
            if ahead > max(0.75 * interval, 1.3) + rounding:
                return round(ahead / interval)
        if step - first >= 4 * interval and epoch > begin:
            self._slope = ((epoch - begin) / (step - first), step - first)
        return 0

    def train(self, record: Record, step: int, span: int | None, elapsed_s: float | None = None) -> None:
        """One training row."""
        numbers = record.metrics.numbers
        taken = take(numbers)
        values: dict[str, float | int | None] = {"span": span, "elapsed_s": elapsed_s, **taken.columns}
        if "num_tokens" in numbers:
            since = step - self.last_step if self.last_step is not None and span is not None else span
            values["tokens"] = self._tokens_a_step(record.metrics, since)
        if elapsed_s is None and "train_runtime" in numbers:
            values["elapsed_s"] = numbers["train_runtime"]
        self.build.row(step, values, line=record.line, at=record.at, extra=taken.extra)
        self._phases(step, taken)
        self._limit(taken.columns, span)
        for column in taken.not_numbers:
            self.build.note("warning", say("{name} is not a number (NaN)", name=column), record.line)
        self.last_step, self._epoch = step, taken.columns.get("epoch")

    def train_at(
        self, record: Record, step: int, seen: list[int], elapsed_s: float | None = None, *, first: int | None = None
    ) -> None:
        """One training row that names its step, after the rows `seen` (see `gaps`). `first`: the span of a first row."""
        spans = {step: first} if first is not None and not seen else {}
        spans |= gaps(step, seen)
        self.train(record, step, spans.pop(step, None), elapsed_s)
        for other, span in spans.items():
            self.build.row(other, {"span": span})

    def eval_step(self, epoch: float | None) -> int | None:
        """The step of an evaluation: the last logged one, or later when its epoch says so."""
        if self.last_step and self._epoch and epoch is not None and epoch > self._epoch * 1.002 + 0.006:
            return round(self.last_step * epoch / self._epoch)
        return self.last_step

    def evaluation(self, record: Record, step: int | None) -> None:
        """One evaluation, never a training row; its metrics go with the row of its step when there is one."""
        numbers = record.metrics.numbers
        told = [f"{key} {numbers[key]:.4g}" for key in numbers if key.startswith("eval_") and "per_second" not in key]
        self.build.event(
            "evaluation",
            line=record.line,
            at=record.at,
            step=step,
            seconds=numbers.get("eval_runtime"),
            text=", ".join(told[:6]),
        )
        if step is not None and self.build.has(step, "epoch"):
            self.build.row(step, {}, extra={key: value for key, value in numbers.items() if key.startswith("eval_")})

    def _phases(self, step: int, taken: Taken) -> None:
        for name, phase, seconds in taken.phases:
            self.build.phase(
                step,
                phase.phase,
                seconds,
                name=name,
                parent=phase.parent,
                outside=phase.outside,
                overlaps=phase.overlaps,
            )

    def _tokens_a_step(self, metrics: Metrics, span: int | None) -> float | None:
        """Tokens of one step from the running total; None where the total's printed digits are too few."""
        now, error = metrics.numbers["num_tokens"], metrics.half_digit("num_tokens")
        before, self._tokens = self._tokens, (now, error)
        if before is None or span is None or now <= before[0]:
            return None
        grown = now - before[0]
        return grown / span if error + before[1] <= _TOKEN_ERROR * grown else None

    def _limit(self, columns: dict[str, float], span: int | None) -> None:
        """The limit on answers is where cut answers end: the longest answer of the rows in which some were cut."""
        longest, cut = columns.get("len_max"), columns.get("truncated")
        if longest is None or not cut or not longest.is_integer() or self._cap_broken:
            return
        known = self.build.settings.get("max_tokens")
        if self._cap and longest != self._cap and span == 1:
            self._cap_broken = True  # answers are cut at more than one length: tools, several turns, a curriculum
            if known is not None and known.source == _CAP:
                del self.build.settings["max_tokens"]
            return
        self._cap_rows = self._cap_rows + 1 if longest == self._cap else 1 if longest > self._cap else self._cap_rows
        self._cap = max(self._cap, longest)
        if self._cap_rows >= 2:
            ours = known is None or known.source == _CAP
            self.build.setting("max_tokens", int(self._cap), _CAP, "inferred", replace=ours)
