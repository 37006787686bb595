"""What experiment trackers have in common: whole rows of metrics with a time, beside rows of TRL's profiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from parsers.build import RunBuilder
from parsers.epochs import InEpochs
from parsers.fields import resolve
from parsers.tag_times import settled
from parsers.tagrows import TagRows
from parsers.trl_profiling import PREFIX, Profile
from parsers.values import MOST, real, whole
from timeledger.run import Run
from timeledger.said import say

#: Where a row says its own step, best first; a tracker's own counter counts rows.
_STEPS: Final = (
    "train/global_step", "trainer/global_step", "training/global_step", "rollout/step", "train/step", "training_step",
    "global_step", "step", "iteration", "eval/global_step", "eval/step",
)  # fmt: skip
#: Other names of the training step count where a tracker's counter only counts rows; names of parts of a step rank below.
_OWN_STEPS: Final = 2
#: Rows without a step's name that may come before the first one that has it.
_NAMELESS: Final = 3
_PLACE: Final = {*_STEPS, "_step", "_timestamp", "_runtime", "_wandb"}
_EPOCHS: Final = ("epoch", "train/epoch")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_STEP_TIMES: Final = ("train/step_time", "step_time")


def number(value: Any) -> float | None:
    """A metric's number; trackers write NaN and infinities as words where JSON has none."""
    return _SPECIAL.get(value) if isinstance(value, str) else real(value)


def has_metrics(row: Mapping[str, Any]) -> bool:
    """True for a row that holds more than its place in the run and the profiler's calls."""
    return any(not key.startswith(PREFIX) and key not in _PLACE and not key.endswith("epoch") for key in row)


def _of_training(key: str) -> bool:
    """True for `train/step_loss`: in a row that names its step it makes that a step of the training."""
    return key.startswith(("train/", "train_", "training/"))


class MetricRows:
    """Takes whole rows, in the order of the log, into one run.

    `counts_rows`: the tracker's own counter counts rows, so that any key that names the step is better.
    """

    def __init__(self, build: RunBuilder, *, counts_rows: bool = False) -> None:
        self.build = build
        self._counts_rows = counts_rows
        self._ranks: dict[str, int | None] = {}
        self._epochs = InEpochs()
        self._last_named: int | None = None
        self._nameless = 0
        self._named = False
        self.tags = TagRows(build)
        self.profile = Profile(build)

    def add(self, row: Mapping[str, Any], wall: float | None, counter: int | None) -> None:
        """One row: `wall` is Unix seconds, `counter` the tracker's own row number, used when the row names no step."""
        step = self._step(row, counter)
        if step is None:
            self.build.note("skipped", say("a row of metrics without a step"))
            return
        numbers = {key: found for key, value in row.items() if (found := number(value)) is not None}
        profiled = {key: numbers.pop(key) for key in list(numbers) if key.startswith(PREFIX)}
        for key, seconds in profiled.items():
            self.profile.add(step, key, seconds)
        metrics = {key: value for key, value in numbers.items() if key not in _PLACE}
        if not metrics:
            return
        segment = self.build.segment
        for key, value in metrics.items():
            self.tags.add(step, key, value, wall)
        if self._named and any(_of_training(key) for key in metrics):
            self.tags.certain = step
        if self.build.segment != segment:
            self.profile.restarted()
        if any(key.startswith(("eval/", "eval_")) for key in metrics):
            self.profile.evaluated(step)
        elif "train/loss" in metrics or "loss" in metrics:
            self.profile.logged(step, next((metrics[key] for key in _STEP_TIMES if key in metrics), None))

    def _step(self, row: Mapping[str, Any], counter: int | None) -> int | None:
        step = next((step for key in _STEPS if (step := whole(row.get(key))) is not None), None)
        self._named = step is not None
        if step is None and self._counts_rows:
            step = self._own_step(row)
        if step is None:
            return counter
        self._last_named = step
        epoch = next((found for key in _EPOCHS if (found := number(row.get(key))) is not None), None)
        return self._epochs.step(step, int(epoch) if epoch is not None and 0 <= epoch < MOST else None)

    def _own_step(self, row: Mapping[str, Any]) -> int | None:
        """The step by another name of it; a row without one stands beside the last row that had one.

        Not where rows without it came first: then only some other rows name one, and the counter is what all share.
        """
        if self._nameless > _NAMELESS:
            return None
        named = [(rank, key) for key in row if (rank := self._rank(key)) is not None and whole(row[key]) is not None]
        if named:
            self._named = True
            return whole(row[min(named)[1]])
        self._nameless += self._last_named is None
        return self._last_named

    def _rank(self, key: str) -> int | None:
        """How well a key names the step of training, None where it does not."""
        if key not in self._ranks:
            found = resolve(key)
            own = found.kind == "step" and found.rank < _OWN_STEPS and not key.startswith("_")
            self._ranks[key] = found.rank if own else None
        return self._ranks[key]

    def run(self) -> Run:
        """The run so far."""
        return settled(self.tags.run())
