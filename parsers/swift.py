"""ms-swift's `logging.jsonl`: TRL's metrics plus `global_step/max_steps` and the time since the start.

`elapsed_time` is the run's own clock (whole seconds). `train_speed(s/it)`, formerly `train_speed(iter/s)`, is a mean since
the start, not this step's time; `remaining_time` follows from it. Megatron-SWIFT writes `iteration` instead of the step.
(swift/trainers/patcher.py, swift/megatron/callbacks/print.py)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.lines import LineReader
from parsers.text import Piece
from parsers.trl_dict import Metrics
from parsers.trl_rows import Record, RowWriter, gaps
from timeledger import units
from timeledger.said import say

_STEP: Final = re.compile(r"(\d+)/(\d+)$")
#: Of the log's own progress: kept out of the metrics.
_PROGRESS: Final = {
    "global_step/max_steps", "iteration", "percentage", "elapsed_time", "remaining_time", "train_speed(s/it)",
    "train_speed(iter/s)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: step, planned steps, seconds since the start and the seconds that ms-swift expects to need."""

    step: int
    total: int | None
    elapsed_s: float | None
    remaining_s: float | None


def place(words: Mapping[str, str], numbers: Mapping[str, float]) -> Place | None:
    """The place of a row that names its step (`"5/3766"`); None when it does not."""
    counted = _STEP.match(words.get("global_step/max_steps", "") or words.get("iteration", ""))
    if counted is not None:
        step, total = int(counted[1]), int(counted[2])
    elif "iteration" in numbers and numbers["iteration"].is_integer():
        step, total = int(numbers["iteration"]), None
    else:
        return None
    elapsed, remaining = words.get("elapsed_time", ""), words.get("remaining_time", "")
    return Place(step, total, units.seconds(elapsed), units.seconds(remaining))


def metrics_of(row: Mapping[str, Any]) -> Metrics:
    """A JSON row as the metric dict of a console."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    quoted = False
    for key, value in row.items():
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            numbers[key] = _float(value)
        elif isinstance(value, str):
            number = units.number(value)
            quoted = quoted or number is not None
            if number is None:
                words[key] = value
            else:
                numbers[key] = number
    return Metrics(numbers, words, quoted, 0, 0)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def without_progress(metrics: Metrics) -> Metrics:
    """The row's metrics alone."""
    if _PROGRESS.isdisjoint(metrics.numbers) and _PROGRESS.isdisjoint(metrics.words):
        return metrics
    return Metrics(
        {key: value for key, value in metrics.numbers.items() if key not in _PROGRESS},
        {key: value for key, value in metrics.words.items() if key not in _PROGRESS},
        metrics.rounded,
        metrics.start,
        metrics.end,
    )


class SwiftReader(LineReader):
    """Reads logging.jsonl line by line."""

    format_name = "swift"
    framework = "ms-swift"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._writer = RowWriter(self.build)
        self._seen: list[int] = []

    def take(self, piece: Piece) -> None:
        """Read one JSON line."""
        try:
            row = json.loads(piece.text)
        except (ValueError, RecursionError):
            self.build.note("skipped", say("a line that is not JSON"), piece.no)
            return
        if not isinstance(row, dict):
            self.build.note("skipped", say("a line that is not a JSON object"), piece.no)
        elif isinstance(row.get("log_history"), list):
            self._summary(row, piece.no)
        else:
            self._row(metrics_of(row), piece.no)

    def _row(self, metrics: Metrics, line: int) -> None:
        where = place(metrics.words, metrics.numbers)
        own = without_progress(metrics)
        if where is None and "train_runtime" not in own.numbers:
            self.build.note("skipped", say("a row without a step"), line)
            return
        if "train_runtime" in own.numbers:
            self._end(own, line)
            if where is not None and self._seen and where.step > self._seen[-1]:  # steps behind the last logged one
                self._train(metrics_of({"epoch": own.numbers.get("epoch")}), where, line)
        elif where is not None and own.kind == "eval":
            self._writer.evaluation(Record("eval", own, line), where.step)
        elif where is not None:
            self._train(own, where, line)
        if where is not None:
            self._position(where, line)

    def _position(self, where: Place, line: int) -> None:
        self.build.setting("total_steps", where.total, "global_step/max_steps")
        if where.elapsed_s is not None:
            self.build.progress(where.step, total=where.total, elapsed_s=where.elapsed_s, line=line)
        if where.total is not None and where.step >= where.total:
            self.build.ended = "finished"

    def _train(self, own: Metrics, where: Place, line: int) -> None:
        if self._seen and where.step < self._seen[-1]:
            self._restart(where, line)
        if self._seen and where.step == self._seen[-1]:
            return  # the last row of a run stands twice
        spans = dict(gaps(where.step, self._seen))
        self._writer.train(Record("train", own, line), where.step, spans.pop(where.step, None), where.elapsed_s)
        for step, span in spans.items():
            self.build.row(step, {"span": span})

    def _restart(self, where: Place, line: int) -> None:
        if self.build.ended == "finished":
            self.next_run()
            self._writer = RowWriter(self.build)
        else:
            self.build.new_segment()
            self.build.event("resume", line=line, step=where.step)
        self._writer.begin(0 if where.step <= 1 else where.step)
        self._seen.clear()

    def _end(self, own: Metrics, line: int) -> None:
        self.build.train_runtime_s = own.numbers["train_runtime"]
        self.build.ended = "finished"
        self.build.event("finish", line=line, seconds=own.numbers["train_runtime"])

    def _summary(self, row: dict[str, Any], line: int) -> None:
        """The last line of a finished run: paths, and the whole history once more (its evaluations carry their seconds)."""
        for entry in row["log_history"]:
            if isinstance(entry, dict) and isinstance(entry.get("train_runtime"), int | float):
                self._end(metrics_of(entry), line)
        model = row.get("model_info") or row.get("model_id_or_path")
        if isinstance(model, str):
            self.build.setting("model", model, say("last line of logging.jsonl"))


def recognises(head: Head) -> Confidence:
    """JSON lines with ms-swift's own step key."""
    for line in head.lines[:20]:
        text = line.lstrip()
        if not text.startswith("{"):
            return NO
        if '"global_step/max_steps"' in text or ('"iteration"' in text and '"elapsed_time"' in text):
            return Confidence(Sure.CERTAIN, text[:100])
    return NO


SWIFT = Format(
    name="swift",
    title="ms-swift logging.jsonl",
    kind="lines",
    recognises=recognises,
    open=SwiftReader,
    reads="step, total steps, elapsed time, lengths, rewards, step_time of GRPO, memory, evaluations",
    lacks="phases; times finer than a second where step_time is absent",
    more="report_to tensorboard or wandb also keeps the profiling times of the phases",
)
