"""One step's metrics sorted by what their names mean."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from parsers import trl_keys
from parsers.tags import Meaning, meaning


class Gathered:
    """What one step's names come to."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._holders: dict[str, tuple[Meaning, float]] = {}
        self.extra: dict[str, float] = {}
        self.phases: list[tuple[Meaning, float]] = []
        self.evaluation: list[tuple[Meaning, float]] = []
        self.not_numbers: list[str] = []
        self.runtime: float | None = None
        self.ends = False
        self.wall: float | None = None
        self.framework: str | None = None

    def column(self, what: Meaning, value: float) -> None:
        """Keep the value under its column when no better name holds it; the loser goes to the extra metrics."""
        if math.isnan(value):
            self.not_numbers.append(what.target)
            return
        held = self._holders.get(what.target)
        if held is not None and held[0].rank <= what.rank:
            self.extra[what.name] = value
            return
        if held is not None:
            self.extra[held[0].name] = held[1]
        self._holders[what.target] = (what, value)
        self.values[what.target] = value * what.scale + what.offset


@lru_cache(maxsize=4096)
def _is_accuracy(tag: str) -> bool:
    """True for a reward function that is the share of right answers by its name."""
    return "acc" in trl_keys.take({trl_keys.normal(tag): 0.5}).columns


def gather(tags: dict[str, tuple[float, float | None]]) -> Gathered:
    """Sort one step's names, each with its value and wall time, by what they mean."""
    got = Gathered()
    unknown: dict[str, float] = {}
    for tag, (value, wall) in tags.items():
        what = meaning(tag)
        role = what.role
        if role == "column":
            got.column(what, value)
        elif role == "unknown":
            unknown[tag] = value
        elif role == "phase":
            got.phases.append((what, value * what.scale))
        elif role == "evaluation" or role == "eval_s":
            got.evaluation.append((what, value))
            continue
        elif role == "beside":
            if what.target:
                got.values.setdefault(what.target, value)
            continue
        elif role == "runtime":
            got.runtime = value
            continue
        elif role == "end":
            got.ends = True
            continue
        else:  # on another axis
            continue
        got.wall = wall if got.wall is None else got.wall
        if what.framework is not None and got.framework in {None, "verl"}:  # ROLL writes some of verl's names
            got.framework = what.framework
    for tag, value in unknown.items():
        if "acc" not in got.values and _is_accuracy(tag) and 0 <= value <= 1:
            got.values["acc"] = value
    got.extra.update(unknown)
    return got
