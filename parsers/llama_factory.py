"""LLaMA-Factory's `trainer_log.jsonl`: step, planned steps and the time since the start, in whole seconds.

(src/llamafactory/train/callbacks.py) `accuracy` is the share of preference pairs ranked right (DPO); `throughput` is a mean
since the start. `elapsed_time` counts the session: a resumed run starts over near 0, which opens a segment.
Where the clock goes on and only the step goes back, two nodes write into one file.
"""

from __future__ import annotations

from typing import Any, Final

from parsers.base import Confidence, Format, Head, Origin
from parsers.trainer_jsonl import TrainerLines, recognised
from parsers.trl_dict import Metrics, metrics_of
from parsers.trl_rows import Record
from parsers.values import whole
from timeledger import units
from timeledger.said import say

_PROGRESS: Final = {"current_steps", "total_steps", "percentage", "elapsed_time", "remaining_time"}
#: The clocks of two processes that write into one file differ by this much; a resumed run's starts over.
_APART_S: Final = 5.0
_APART: Final = 0.1
_SECOND: Final = say("rows of a second process that writes into the same file (another node): left out")
_RENAMED: Final = {"accuracy": "rewards/accuracies"}


class LlamaFactoryReader(TrainerLines):
    """Reads trainer_log.jsonl line by line."""

    format_name = "llama_factory"
    framework = "LLaMA-Factory"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._elapsed = 0.0

    def row(self, row: dict[str, Any], line: int) -> None:
        """Read one row."""
        step = whole(row.get("current_steps"))
        if step is None:
            self.build.note("skipped", say("a row without current_steps"), line)
            return
        elapsed = units.seconds(str(row.get("elapsed_time", "")))
        total = whole(row.get("total_steps")) or None
        if self.seen and (step < self.seen[-1] or (elapsed is not None and elapsed < self._elapsed)):
            if elapsed is not None and elapsed >= self._elapsed - max(_APART_S, _APART * self._elapsed):
                self.build.note("repaired", _SECOND, line)
                return
            self.restart(step, line)
        self._metrics(metrics_of(row), step, elapsed, line)
        self.build.setting("total_steps", total, "total_steps")
        if elapsed is not None:
            self.build.progress(step, total=total, elapsed_s=elapsed, line=line)
            self._elapsed = elapsed
        if total is not None and step >= total:
            self.build.ended = "finished"

    def _metrics(self, metrics: Metrics, step: int, elapsed: float | None, line: int) -> None:
        own = {_RENAMED.get(key, key): value for key, value in metrics.numbers.items() if key not in _PROGRESS}
        record = Metrics(own, {}, metrics.rounded, 0, 0)
        if any(key.startswith("eval_") for key in own) and "loss" not in own:
            self.writer.evaluation(Record("eval", record, line), step)
        elif "predict_loss" not in own and step > 0 and not (self.seen and step == self.seen[-1]):
            # the last row holds no loss; it is a repeat, or the only one that says when the last steps were done
            self.writer.train_at(Record("train", record, line), step, self.seen, elapsed)

    def restart(self, step: int, line: int) -> None:
        """The clock begins anew too."""
        super().restart(step, line)
        self._elapsed = 0.0


def recognises(head: Head) -> Confidence:
    """JSON lines with LLaMA-Factory's step and time keys."""
    return recognised(
        head, lambda text: '"current_steps"' in text and ('"elapsed_time"' in text or '"total_steps"' in text)
    )


LLAMA_FACTORY = Format(
    name="llama_factory",
    title="LLaMA-Factory trainer_log.jsonl",
    kind="lines",
    recognises=recognises,
    open=LlamaFactoryReader,
    reads="step, total steps, elapsed time, loss, learning rate, reward, preference accuracy",
    lacks="answer lengths, phases, times finer than a second",
    more="set logging_steps: 1 and report_to: tensorboard",
)
