"""ms-swift's `logging.jsonl`: TRL's metrics plus `global_step/max_steps` and the time since the start.

`elapsed_time` is the run's own clock (whole seconds). `train_speed(s/it)`, formerly `train_speed(iter/s)`, is a mean since
the start, not this step's time; `remaining_time` follows from it. The first versions had `global_step` and that mean alone,
which is the clock then. Megatron-SWIFT writes `iteration` instead of the step.
(swift/trainers/patcher.py, swift/trainers/callback.py, swift/megatron/callbacks/print.py)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parsers.base import Confidence, Format, Head, Origin
from parsers.trainer_jsonl import TrainerLines, recognised
from parsers.trl_dict import Metrics, metrics_of
from parsers.trl_rows import Record
from timeledger import units
from timeledger.said import say

_STEP: Final = re.compile(r"(\d{1,12})/(\d{1,12})$")
_SPEED: Final = "train_speed(iter/s)"
#: Of the log's own progress: kept out of the metrics.
_PROGRESS: Final = {
    "global_step/max_steps", "global_step", "iteration", "percentage", "elapsed_time", "remaining_time", "train_speed(s/it)",
    _SPEED,
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
    elif "global_step" in numbers and numbers["global_step"].is_integer():
        step, speed = int(numbers["global_step"]), numbers.get(_SPEED, 0.0)
        return Place(step, None, step / speed if speed > 0 else None, None)
    else:
        return None
    elapsed, remaining = words.get("elapsed_time", ""), words.get("remaining_time", "")
    return Place(step, total, units.seconds(elapsed), units.seconds(remaining))


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


class SwiftReader(TrainerLines):
    """Reads logging.jsonl line by line."""

    format_name = "swift"
    framework = "ms-swift"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._evaluated: tuple[object, ...] = ()

    def row(self, row: dict[str, Any], line: int) -> None:
        """Read one row, or the summary behind the last one."""
        if isinstance(row.get("log_history"), list):
            self._summary(row, line)
        else:
            self._metrics(metrics_of(row), line)

    def _metrics(self, metrics: Metrics, line: int) -> None:
        where = place(metrics.words, metrics.numbers)
        own = without_progress(metrics)
        if where is None and "train_runtime" not in own.numbers:
            self.build.note("skipped", say("a row without a step"), line)
            return
        # processes that each write their own row, and the last row of a run, which stands twice
        twice = where is not None and own.kind == "train" and bool(self.seen) and where.step == self.seen[-1]
        if "train_runtime" in own.numbers:
            self._end(own, line)
            if where is not None and self.seen and where.step > self.seen[-1]:  # steps behind the last logged one
                self._train(metrics_of({"epoch": own.numbers.get("epoch")}), where, line)
        elif where is not None and own.kind == "eval":
            named = (where.step, *sorted(own.numbers))
            if named == self._evaluated:
                return  # another process's
            self._evaluated = named
            self.writer.evaluation(Record("eval", own, line), where.step)
        elif where is not None and not twice:
            self._train(own, where, line)
        if where is not None and not twice:
            self._position(where, line)

    def _position(self, where: Place, line: int) -> None:
        self.build.setting("total_steps", where.total, "global_step/max_steps")
        if where.elapsed_s is not None:
            self.build.progress(where.step, total=where.total, elapsed_s=where.elapsed_s, line=line)
        if where.total is not None and where.step >= where.total:
            self.build.ended = "finished"

    def _train(self, own: Metrics, where: Place, line: int) -> None:
        if self.seen and where.step < self.seen[-1]:
            self.restart(where.step, line)
            self.writer.begin(0 if where.step <= 1 else where.step)
        self.writer.train_at(Record("train", own, line), where.step, self.seen, where.elapsed_s)

    def _end(self, own: Metrics, line: int) -> None:
        runtime, before = own.numbers["train_runtime"], self.build.train_runtime_s
        self.build.train_runtime_s = runtime
        self.build.ended = "finished"
        if before is None or abs(before - runtime) > 1e-3 * runtime:  # else: the summary behind the last row
            self.build.event("finish", line=line, seconds=runtime)

    def _summary(self, row: dict[str, Any], line: int) -> None:
        """The last line of a finished run: paths, and the whole history once more (its evaluations carry their seconds)."""
        for entry in row["log_history"]:
            if isinstance(entry, dict) and isinstance(entry.get("train_runtime"), int | float):
                self._end(metrics_of(entry), line)
        model = row.get("model_info") or row.get("model_id_or_path")
        if isinstance(model, str):
            self.build.setting("model", model, say("last line of logging.jsonl"))


def recognises(head: Head) -> Confidence:
    """JSON lines with ms-swift's own keys."""
    own = ("global_step/max_steps", "iteration elapsed_time", f"global_step {_SPEED}")
    return recognised(head, lambda text: any(all(f'"{key}"' in text for key in keys.split()) for keys in own))


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
