"""The numbers learned from real runs (`quantiles.json`, made by benchmarks/learn_quantiles.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final

#: Progress up to which a run counts as early, at which as in its middle, and from which as late; between them both count.
EARLY: Final = 0.12
MIDDLE: Final = 0.25
LATE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Learned:
    """Prior of the drift over a whole run, and the recalibration of quantiles.

    `early`, `middle` and `late` (by progress) are the model's quantiles that held the truth as often as `actual` says.
    """

    drift_median: float
    drift_spread: float
    actual: tuple[float, ...]
    early: tuple[float, ...]
    middle: tuple[float, ...]
    late: tuple[float, ...]
    runs: int = 0
    repositories: int = 0

    def plain(self) -> Learned:
        """The same without recalibration."""
        return replace(self, actual=(0.1, 0.9), early=(0.1, 0.9), middle=(0.1, 0.9), late=(0.1, 0.9))


def load() -> Learned:
    """The numbers of the package's own file."""
    values: dict[str, Any] = json.loads(files("timeledger").joinpath("quantiles.json").read_text(encoding="utf-8"))
    return Learned(**values | {key: tuple(values[key]) for key in ("actual", "early", "middle", "late")})


LEARNED: Final = load()
