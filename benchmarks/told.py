"""Could the pace to come have been told from what a log had shown by then? Two learners on ten signs, each repository told from all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.moments import Moment
from benchmarks.stats import Floats, weights
from timeledger.forecast import Forecast

#: What a learner sees of a run at one moment, in words for the results.
SIGNS: Final = (
    "the later half of the steps over the earlier one", "the last quarter and the last eighth over the mean",
    "the spread of single steps", "the answers' later half over their earlier one", "how far the answers are followed, and may go up and down",
    "all the time so far over the pace that is expected", "how much of the run is done",
)  # fmt: skip
_STRENGTHS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
_NEIGHBOURS: Final = (3, 5, 9)
#: No change of pace by more than this (in log) is asked of, or believed from, a learner.
_MOST: Final = 0.5


def signs(made: Forecast, moment: Moment) -> Floats:
    """The signs as numbers; logs where they are ratios."""
    wall, span = made.rows.wall_s, made.rows.span
    count = len(wall)

    def pace(part: slice) -> float:
        return float(np.log(np.average(wall[part], weights=span[part])))

    mean, half = pace(slice(None)), max(count // 2, 1)
    length = made.rows.len_mean[np.isfinite(made.rows.len_mean) & (made.rows.len_mean > 0)]
    middle = len(length) // 2
    found = [
        pace(slice(half, None)) - pace(slice(0, half)) if count > 1 else 0.0,
        pace(slice(-max(count // 4, 1), None)) - mean,
        pace(slice(-max(count // 8, 1), None)) - mean,
        float(np.std(np.log(wall / np.median(wall)))),
        float(np.log(length[middle:].mean() / length[:middle].mean())) if middle >= 3 else 0.0,
        made.pull.mid, made.pull.above, -made.pull.below,
        float(np.log(moment.elapsed_s / moment.done / made.step_s)),
        moment.done / moment.case.steps,
    ]  # fmt: skip
    return np.clip(found, -2.0, 2.0)


def told(at: Floats, change: Floats, repositories: tuple[str, ...]) -> dict[str, Floats]:
    """The change of pace (log) that each learner tells of each run, learned from the other repositories alone."""
    own = np.array(repositories)
    at = at / np.maximum(at.std(axis=0), 1e-9)
    change = np.clip(change, -_MOST, _MOST)
    learners: dict[str, Callable[[Known], Floats]] = {}
    learners |= {f"ridge {strength:g}": partial(_ridge, strength=strength) for strength in _STRENGTHS}
    learners |= {f"nearest {count}": partial(_nearest, count=count) for count in _NEIGHBOURS}
    return {name: _each(at, change, own, learner) for name, learner in learners.items()}


@dataclass(frozen=True, slots=True)
class Known:
    """What a learner is given: signs and changes of the other repositories, their weights, and the signs to tell from."""

    at: Floats
    change: Floats
    weight: Floats
    asked: Floats


def _each(at: Floats, change: Floats, own: NDArray[np.str_], learner: Callable[[Known], Floats]) -> Floats:
    told_of = np.zeros(len(own))
    for name in sorted(set(own)):
        here = own == name
        told_of[here] = learner(Known(at[~here], change[~here], weights(list(own[~here])), at[here]))
    return told_of


def _ridge(known: Known, strength: float) -> Floats:
    power = known.at.T @ (known.at * known.weight[:, None])
    held = power + strength * np.mean(np.diag(power)) * np.eye(known.at.shape[1])
    slope = np.linalg.solve(held, known.at.T @ (known.weight * known.change))
    result: Floats = np.clip(known.asked @ slope, -_MOST, _MOST)
    return result


def _nearest(known: Known, count: int) -> Floats:
    apart = ((known.asked[:, None, :] - known.at[None, :, :]) ** 2).sum(axis=2)
    result: Floats = np.median(known.change[np.argsort(apart, axis=1)[:, :count]], axis=1)
    return result
