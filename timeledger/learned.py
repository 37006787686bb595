"""The numbers learned from real runs (`quantiles.json`, made by benchmarks/learn_quantiles.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Learned:
    """Prior of the drift over a whole run, and the recalibration of quantiles.

    `nominal` -> `actual`: the model's quantile share that held the truth as often as `actual` says it should.
    """

    drift_median: float
    drift_spread: float
    nominal: tuple[float, ...]
    actual: tuple[float, ...]
    runs: int = 0
    repositories: int = 0

    def plain(self) -> Learned:
        """The same without recalibration."""
        return replace(self, nominal=(0.0, 1.0), actual=(0.0, 1.0))


def load() -> Learned:
    """The numbers of the package's own file."""
    values: dict[str, Any] = json.loads(files("timeledger").joinpath("quantiles.json").read_text(encoding="utf-8"))
    return Learned(**values | {key: tuple(values[key]) for key in ("nominal", "actual")})


LEARNED: Final = load()
