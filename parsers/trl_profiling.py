"""TRL's `profiling/Time taken: GRPOTrainer.x` rows: one row a call, nested, at the step *before* the one they belong to.

A row is written when its block ends, so children come before their parent; that order tells which parent a log-prob
pass had. `_prepare_inputs` is taken apart (generation, rewards, log-probs, weight sync, the rest), and what `step_time`
holds beyond it and `compute_loss` (which is the forward pass only) is the backward pass.
"""

from __future__ import annotations

import math
from typing import Final

from parsers import trl_keys
from parsers.build import RunBuilder
from timeledger.said import say

PREFIX: Final = "profiling/Time taken: "
_PARENTS: Final = ("_prepare_inputs", "compute_loss")
_REST: Final = "_prepare_inputs (rest)"
_BACKWARD: Final = "backward (step_time - the rest)"


class _Sums:
    """Seconds by own name of the calls of some steps, as (phase, parent, seconds)."""

    def __init__(self) -> None:
        self.by_name: dict[str, tuple[str, str | None, float]] = {}
        self.parents = dict.fromkeys(_PARENTS, 0.0)

    def add(self, name: str, phase: str, parent: str | None, seconds: float) -> None:
        held = self.by_name.get(name)
        self.by_name[name] = (phase, parent, seconds + (held[2] if held else 0.0))


class Profile:
    """Collects profiling rows of a run and gives them as phases, means over the steps of each logged row."""

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        self._calls: list[tuple[int, str, float]] = []
        self._logged: int | None = None

    def add(self, before: int, key: str, seconds: float) -> None:
        """Take one row: `before` is the step counter while the step ran (the step's number less one)."""
        if not math.isfinite(seconds) or seconds < 0:
            return
        if len(self._calls) > 200_000:  # no training row comes: a log of calls only
            del self._calls[:100_000]
            self.build.note("skipped", say("profiling rows without a training row"))
        self._calls.append((before, key, seconds))

    def evaluated(self, step: int) -> None:
        """An evaluation ended at this step: its calls, which TRL does not mark, are left out.

        They carry the evaluation's step. W&B writes the step of the last logged row instead: when that is an earlier
        one, they cannot be told from the training's, and the whole stretch is left out.
        """
        kept = [call for call in self._calls if call[0] != step]
        if len(kept) == len(self._calls) and kept:
            self.build.note("skipped", say("profiling rows of training and evaluation that cannot be told apart"))
            kept = []
        self._calls = kept

    def restarted(self) -> None:
        """A new session begins: what is waiting belongs to no step."""
        self._calls, self._logged = [], None

    def logged(self, step: int, step_s: float | None) -> None:
        """A training row of `step` is there: its calls become phases, means over the steps that the row stands for."""
        mine = [call for call in self._calls if call[0] < step]
        if not mine:
            return
        self._calls = [call for call in self._calls if call[0] >= step]
        sums = _sort(mine)
        span = self._span(step, min(before for before, _, _ in mine))
        for name, (phase, parent, seconds) in sums.by_name.items():
            self.build.phase(step, phase, seconds / span, name=name, parent=parent, outside=False)
        self._backward(step, step_s, sum(sums.parents.values()) / span)

    def _span(self, step: int, first: int) -> int:
        """Steps that the calls stand for: since the row before, else since the first call, at most a logging interval."""
        logged, self._logged = self._logged, step
        if logged is not None and logged < step:
            return step - logged
        every = self.build.settings.get("logging_steps")
        limit = every.value if every is not None and isinstance(every.value, int) and every.value > 0 else step
        return max(1, min(step - first, int(limit)))

    def _backward(self, step: int, step_s: float | None, known: float) -> None:
        if step_s is None or step_s <= known or not known:
            return
        self.build.phase(step, "update", step_s - known, name=_BACKWARD, outside=False)
        self.build.note("guessed", say("the backward pass is step_time less _prepare_inputs and compute_loss"))


def _sort(calls: list[tuple[int, str, float]]) -> _Sums:
    """The calls by name, each under the parent whose row follows it."""
    sums = _Sums()
    waiting: list[tuple[str, str, float, bool]] = []  # name, phase, seconds, already inside another child
    for _, key, seconds in calls:
        name = key.removeprefix(PREFIX).partition(".")[2]
        found = trl_keys.profiling(key)
        if found is None or not name:
            continue
        if name not in _PARENTS:
            if name == "_calculate_rewards":
                waiting = [(n, p, s, inside or p == "reward") for n, p, s, inside in waiting]
            waiting.append((name, found.phase, seconds, False))
            continue
        sums.parents[name] += seconds
        _close(sums, name, seconds, waiting)
        waiting = []
    for name, phase, seconds, inside in waiting:  # older versions: rows of blocks without a parent's row
        sums.add(name, phase, "_calculate_rewards" if inside else None, seconds)
    return sums


def _close(sums: _Sums, parent: str, seconds: float, children: list[tuple[str, str, float, bool]]) -> None:
    if parent == "compute_loss":
        sums.add(parent, "update", None, seconds)
        for name, phase, own, _ in children:
            sums.add(f"{name} (compute_loss)", phase, parent, own)
        return
    rest = seconds
    for name, phase, own, inside in children:
        sums.add(name, phase, "_calculate_rewards" if inside else None, own)
        rest -= 0.0 if inside else own
    sums.add(_REST, "other", None, max(rest, 0.0))
