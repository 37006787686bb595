"""What a change of the answers' length does to the steps to come: a factor on the level, let in only when it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from timeledger import growth as lengths
from timeledger.results import Growth, Timing
from timeledger.rows import Array, Rows
from timeledger.timing import Line, driver_values, fit_line

MIN_ROWS: Final = 12
#: Following the length must cut the error on this run's own later stretches at least this much.
MUST_PAY: Final = 0.8
#: A trend of the length counts as one when it is this many standard errors from zero.
CLEAR_TREND: Final = 1.5
#: Steps of the last third this much slower than those of the first may be so because answers grew.
_SLOWER: Final = 1.1
#: Steps to come are taken to be at most this much quicker than the quickest that the fit has seen.
_LEAST: Final = 0.5


@dataclass(frozen=True, slots=True)
class Pull:
    """Logs of the factor on the mean ordinary step to come: in the middle, and what it may reach above and below.

    `most` is the factor when every answer reaches the limit from now on. `what_if` is the part of `mid` that a person asked for. `rising` and `falling` say that the length has a clear trend, whether or not it is followed;
    `sure` is its size in standard errors.
    """

    mid: float = 0.0
    above: float = 0.0
    below: float = 0.0
    rising: bool = False
    falling: bool = False
    most: float = float("inf")
    what_if: float = 1.0
    sure: float = 0.0


def find_pull(rows: Rows, timing: Timing, growth: Growth, total: float) -> Pull:
    """The pull of the length that drives the step time, on the steps from the last row to step `total`."""
    if timing.driver == "none" or timing.fixed_s is None or timing.s_per_token is None:
        return _unproven(rows, growth, total)
    x = driver_values(rows, timing.driver)
    known = np.isfinite(x) & (x > 0)
    if known.sum() < MIN_ROWS:
        return Pull()
    step, x, wall = rows.step[known], x[known], rows.wall_s[known]
    line = Line(timing.fixed_s.mid, timing.s_per_token.mid, 0.0, 0.0)
    limit = _limit(timing.driver, growth, x)
    ahead = np.unique(np.linspace(step[-1] + 1, max(total, step[-1] + 1), 60).round())
    pace, sure = clearest(step, (x, rows.len_mean[known]))
    going_on = _factor(line, x, _continued(x, pace, ahead - step[-1], limit), limit)
    most = float("inf") if limit is None else max(_factor(line, x, np.full(1, limit), limit), 0.0)
    mid = 0.0
    name, weight = lengths.choose(step, x, limit)
    if name != "constant" and pays(step, x, wall, limit, (name, weight)):
        mid = _factor(line, x, lengths.forecast_at(name, weight, step, x, ahead, limit), limit)
    if sure <= CLEAR_TREND:
        return Pull(mid, abs(mid) / 2, abs(mid) / 2, most=most)
    going_on = _half_way(going_on, most) if pace > 0 else going_on
    above = max(going_on - mid, 0.0) if pace > 0 else max(-mid, 0.0)
    below = max(mid, 0.0) if pace > 0 else max(mid - going_on, 0.0)
    return Pull(mid, above, below, rising=pace > 0, falling=pace < 0, most=max(most - mid, 0.0), sure=sure)


def _limit(driver: str, growth: Growth, x: Array) -> float | None:
    """The driver's value when every answer reaches the limit: the limit itself, or as many times today's tokens of a step."""
    if growth.limit is None or driver in {"mean", "max"}:
        return growth.limit
    if driver != "tokens" or not growth.last:
        return None
    return lengths.late_value(x) * growth.limit / growth.last


def _unproven(rows: Rows, growth: Growth, total: float) -> Pull:
    """What longer answers may add where the fit did not choose a length: the bound only, never the middle.

    A coarse clock hides the driver while the answers grow. The line through the first and the last third of the run
    bounds what they may cost, when steps did get slower with longer answers.
    """
    known = np.isfinite(rows.len_mean) & (rows.len_mean > 0) & np.isfinite(rows.wall_s)
    if known.sum() < MIN_ROWS:
        return Pull()
    step, x, wall, span = rows.step[known], rows.len_mean[known], rows.wall_s[known], rows.span[known]
    pace, sure = clearest(step, (x,))
    third = len(x) // 3
    early, late = slice(None, third), slice(-third, None)
    x0, x1 = float(np.mean(x[early])), float(np.mean(x[late]))
    w0, w1 = (float(np.average(wall[part], weights=span[part])) for part in (early, late))
    if sure <= CLEAR_TREND or pace <= 0 or x1 <= x0 or w1 <= _SLOWER * w0:
        return Pull()
    unsure = float(np.sqrt((np.var(wall[early]) + np.var(wall[late])) / third))
    slope = (w1 - w0 + unsure) / (x1 - x0)
    line = Line(max(w1 - slope * x1, 0.0), min(slope, w1 / x1), 0.0, 0.0)
    ahead = np.unique(np.linspace(step[-1] + 1, max(total, step[-1] + 1), 60).round())
    above = _factor(line, x, _continued(x, pace, ahead - step[-1], growth.limit), growth.limit)
    most = float("inf") if growth.limit is None else _factor(line, x, np.full(1, growth.limit), growth.limit)
    return Pull(above=max(_half_way(above, most), 0.0), rising=True, most=max(most, above, 0.0), sure=sure)


def _half_way(going_on: float, most: float) -> float:
    """What rising answers may come to: beyond their pace so far, half of the way to all of them at the limit."""
    return going_on + (max(most - going_on, 0.0) / 2 if most < float("inf") else 0.0)


def _continued(x: Array, pace: float, steps: Array, limit: float | None) -> Array:
    """The driver if it goes on at its pace (share a step): by the same share where a limit bounds it, else by the same tokens."""
    now = lengths.late_value(x)
    path: Array = now * (np.exp(np.minimum(pace * steps, 50.0)) if limit is not None else 1 + pace * steps)
    return path


def clearest(step: Array, series: tuple[Array, ...]) -> tuple[float, float]:
    """The pace (share of the length a step) of the series with the clearest trend, and how many standard errors that is."""
    found = []
    for values in series:
        known = np.isfinite(values) & (values > 0)
        if known.sum() >= MIN_ROWS:
            found.append((*trend(step[known], values[known]), lengths.late_value(values[known])))
    clear = [each for each in found if each[1] > CLEAR_TREND]
    best = max(clear or found, key=lambda each: abs(each[0]) / each[2], default=(0.0, 0.0, 1.0))
    return best[0] / best[2], best[1]


def trend(step: Array, length: Array) -> tuple[float, float]:
    """Slope (tokens a step) over the last half or all of the rows, whichever is clearer, and its size in standard errors.

    0 of them where the change is too small to matter.
    """
    found = [_slope(step[-rows:], length[-rows:]) for rows in (max(8, len(step) // 2), len(step))]
    slope, sure = max(found, key=lambda each: abs(each[1]))
    changes = abs(slope) * float(step[-1] - step[0]) > 0.08 * float(np.mean(length))
    return slope, abs(sure) if changes else 0.0


def _slope(at: Array, y: Array) -> tuple[float, float]:
    """Least-squares slope and its size in standard errors, which rows that follow each other widen."""
    at = at - at.mean()
    power = float((at**2).sum())
    if power <= 0:
        return 0.0, 0.0
    slope = float((at * y).sum()) / power
    residual = y - y.mean() - slope * at
    both = float((residual**2).sum())
    if both <= 0:
        return slope, float("inf") if slope else 0.0
    follow = min(max(float((residual[1:] * residual[:-1]).sum()) / both, 0.0), 0.9)
    error = np.sqrt(both / max(len(y) - 2, 1) * (1 + follow) / (1 - follow) / power)
    return slope, slope / float(error)


def _factor(line: Line, x: Array, path: Array, limit: float | None) -> float:
    """Log of the mean step along a path of lengths over the step at the late length."""
    now = lengths.late_value(x)
    path = np.clip(path, 0.0, np.inf if limit is None else max(limit, now))
    here = float(line.a + line.b * now)
    # answers that shrink towards nothing still cost a step its fixed part, which a line through long ones does not see
    least = max(_LEAST * float(line.at(x).min()), 1e-9)
    return float(np.log(max(float(np.mean(line.at(path))), least) / here)) if here > 0 else 0.0


def pays(step: Array, x: Array, wall: Array, limit: float | None, curve: tuple[str, float]) -> bool:
    """True when forecasts from earlier moments of this run were better with the length on this curve than with the level alone."""
    name, weight = curve
    n = len(step)
    with_length = without = 0.0
    for share in (0.4, 0.55, 0.7):
        cut = max(8, int(n * share))
        until = min(n, 2 * cut)
        if until - cut < 3:
            continue
        level = lengths.late_value(wall[:cut])
        path = lengths.forecast_at(name, weight, step[:cut], x[:cut], step[cut:until], limit)
        line = fit_line(x[:cut], wall[:cut], np.ones(cut))
        factor = np.exp(_factor(line, x[:cut], path, limit))
        truth = float(np.mean(wall[cut:until]))
        with_length += abs(level * factor - truth)
        without += abs(level - truth)
    return without > 0 and with_length < MUST_PAY * without
