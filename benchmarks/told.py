"""Could the pace to come have been told from what a log had shown by then? Two learners on ten signs, each repository told from all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

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
    at = np.column_stack([at / np.maximum(at.std(axis=0), 1e-9)])
    change = np.clip(change, -_MOST, _MOST)
    found: dict[str, Floats] = {}
    for strength in _STRENGTHS:
        found[f"ridge {strength:g}"] = _each(own, lambda here, s=strength: _ridge(at, change, own, here, s))  # type: ignore[misc]
    for count in _NEIGHBOURS:
        found[f"nearest {count}"] = _each(own, lambda here, n=count: _nearest(at, change, own, here, n))  # type: ignore[misc]
    return found


def _each(own: np.ndarray[tuple[int], np.dtype[np.str_]], learner: Callable[[np.ndarray], Floats]) -> Floats:
    told_of = np.zeros(len(own))
    for name in sorted(set(own)):
        here = own == name
        told_of[here] = learner(here)
    return told_of


def _ridge(at: Floats, change: Floats, own: np.ndarray, here: np.ndarray, strength: float) -> Floats:
    known, weight = at[~here], weights(list(own[~here]))
    power = known.T @ (known * weight[:, None])
    slope = np.linalg.solve(
        power + strength * np.mean(np.diag(power)) * np.eye(at.shape[1]), known.T @ (weight * change[~here])
    )
    result: Floats = np.clip(at[here] @ slope, -_MOST, _MOST)
    return result


def _nearest(at: Floats, change: Floats, own: np.ndarray, here: np.ndarray, count: int) -> Floats:
    known = at[~here]
    apart = ((at[here][:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    near = np.argsort(apart, axis=1)[:, :count]
    result: Floats = np.median(change[~here][near], axis=1)
    return result
