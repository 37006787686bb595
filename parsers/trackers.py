"""What experiment trackers have in common: whole rows of metrics with a time, beside rows of TRL's profiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from parsers.build import RunBuilder
from parsers.tagrows import TagRows
from parsers.trl_profiling import PREFIX, Profile
from parsers.values import real, whole
from timeledger.run import Run
from timeledger.said import say

#: Where a row says its own step, best first; a tracker's own counter counts rows.
_STEPS: Final = (
    "train/global_step", "trainer/global_step", "training/global_step", "rollout/step", "train/step", "training_step",
    "global_step", "step", "iteration", "eval/global_step", "eval/step",
)  # fmt: skip
_PLACE: Final = {*_STEPS, "_step", "_timestamp", "_runtime", "_wandb"}
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_STEP_TIMES: Final = ("train/step_time", "step_time")


def number(value: Any) -> float | None:
    """A metric's number; trackers write NaN and infinities as words where JSON has none."""
    return _SPECIAL.get(value) if isinstance(value, str) else real(value)


def has_metrics(row: Mapping[str, Any]) -> bool:
    """True for a row that holds more than its place in the run and the profiler's calls."""
    return any(not key.startswith(PREFIX) and key not in _PLACE and not key.endswith("epoch") for key in row)


class MetricRows:
    """Takes whole rows, in the order of the log, into one run."""

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
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
        if self.build.segment != segment:
            self.profile.restarted()
        if any(key.startswith(("eval/", "eval_")) for key in metrics):
            self.profile.evaluated(step)
        elif "train/loss" in metrics or "loss" in metrics:
            self.profile.logged(step, next((metrics[key] for key in _STEP_TIMES if key in metrics), None))

    @staticmethod
    def _step(row: Mapping[str, Any], counter: int | None) -> int | None:
        return next((step for key in _STEPS if (step := whole(row.get(key))) is not None), counter)

    def run(self) -> Run:
        """The run so far."""
        return self.tags.run()
