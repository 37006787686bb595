"""One step's metrics sorted by what their names mean."""

from __future__ import annotations

import math
from typing import Any

from parsers import trl_keys
from parsers.tags import Meaning, meaning


class Gathered:
    """What one step's names come to."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.ranks: dict[str, int] = {}
        self.extra: dict[str, float] = {}
        self.phases: list[tuple[Meaning, float]] = []
        self.evaluation: list[tuple[Meaning, float]] = []
        self.runtime: float | None = None
        self.ends = False
        self.wall: float | None = None
        self.framework: str | None = None

    def column(self, what: Meaning, value: float) -> None:
        """Keep the value under its column when no better name holds it; the other goes to the extra metrics."""
        held = self.ranks.get(what.target)
        if math.isnan(value) or (held is not None and held <= what.rank):
            if not math.isnan(value):
                self.extra[what.name] = value
            return
        self.ranks[what.target] = what.rank
        self.values[what.target] = value * what.scale + what.offset


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
        got.wall = wall if got.wall is None else got.wall
        got.framework = got.framework or what.framework
    taken = trl_keys.take({trl_keys.normal(tag): value for tag, value in unknown.items()})
    if "acc" in taken.columns:
        got.values.setdefault("acc", taken.columns["acc"])
    got.extra.update(unknown)
    return got
