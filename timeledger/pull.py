"""What a change of the answers' length does to the steps to come: a factor on the level, let in only when it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from timeledger import growth as lengths
from timeledger.results import Driver, Growth, Timing
from timeledger.rows import Array, Rows
from timeledger.timing import Line, driver_values, fit_line

MIN_ROWS: Final = 12
#: Following the length must cut the error on this run's own later stretches at least this much.
MUST_PAY: Final = 0.8
#: A trend of the length counts as one when it is this many standard errors from zero.
CLEAR_TREND: Final = 3.0


@dataclass(frozen=True, slots=True)
class Pull:
    """Logs of the factor on the mean ordinary step to come: in the middle, and what it may reach above and below.

    `rising` and `falling` say that the length has a clear trend, whether or not it is followed.
    """

    mid: float = 0.0
    above: float = 0.0
    below: float = 0.0
    rising: bool = False
    falling: bool = False


def find_pull(rows: Rows, timing: Timing, growth: Growth, total: float) -> Pull:
    """The pull of the length on the steps from the last row to step `total`."""
    if timing.driver == "none" or timing.fixed_s is None or timing.s_per_token is None:
        return Pull()
    x = driver_values(rows, timing.driver)
    known = np.isfinite(x) & np.isfinite(rows.len_mean) & (rows.len_mean > 0)
    if known.sum() < MIN_ROWS:
        return Pull()
    step, length, x, wall = rows.step[known], rows.len_mean[known], x[known], rows.wall_s[known]
    line = Line(timing.fixed_s.mid, timing.s_per_token.mid, 0.0, 0.0)
    limit = growth.limit if timing.driver in {"mean", "max"} else None
    ahead = np.unique(np.linspace(step[-1] + 1, max(total, step[-1] + 1), 60).round())
    slope, clear = trend(step, length)
    going_on = _factor(line, x, length, lengths.late_value(length) + slope * (ahead - step[-1]), limit)
    mid = 0.0
    if growth.curve != "constant" and pays(step, length, x, wall, timing.driver, limit):
        name, weight = lengths.choose(step, length, growth.limit)
        mid = _factor(line, x, length, lengths.forecast_at(name, weight, step, length, ahead, growth.limit), limit)
    if not clear:
        return Pull(mid, abs(mid) / 2, abs(mid) / 2)
    above = max(going_on - mid, 0.0) if slope > 0 else max(-mid, 0.0)
    below = max(mid, 0.0) if slope > 0 else max(mid - going_on, 0.0) / 2
    return Pull(mid, above, below, rising=slope > 0, falling=slope < 0)


def trend(step: Array, length: Array) -> tuple[float, bool]:
    """Slope of the length over the last half of the rows (tokens a step), and whether it is clear of the noise."""
    half = max(8, len(step) // 2)
    at, y = step[-half:], length[-half:]
    at = at - at.mean()
    power = float((at**2).sum())
    if power <= 0:
        return 0.0, False
    slope = float((at * y).sum()) / power
    residual = y - y.mean() - slope * at
    ahead, behind = residual[1:], residual[:-1]
    both = float((residual**2).sum())
    follow = min(max(float((ahead * behind).sum()) / both, 0.0), 0.9) if both > 0 else 0.0
    error = np.sqrt(both / max(len(y) - 2, 1) * (1 + follow) / (1 - follow) / power)
    changes = abs(slope) * float(at[-1] - at[0]) > 0.05 * float(y.mean())
    return slope, bool(abs(slope) > CLEAR_TREND * error and changes)


def _factor(line: Line, x: Array, length: Array, path: Array, limit: float | None) -> float:
    """Log of the mean step along a path of mean lengths over the step at the late length."""
    now_length, now_x = lengths.late_value(length), lengths.late_value(x)
    scaled = now_x * np.maximum(path, 0.0) / max(now_length, 1e-9)
    scaled = np.minimum(scaled, max(limit, now_x)) if limit is not None else scaled
    now = float(line.a + line.b * now_x)
    return float(np.log(max(float(np.mean(line.at(scaled))), 1e-9) / now)) if now > 0 else 0.0


def pays(step: Array, length: Array, x: Array, wall: Array, driver: Driver, limit: float | None) -> bool:
    """True when forecasts from earlier moments of this run were better with the length than with the level alone."""
    n = len(step)
    with_length = without = 0.0
    for share in (0.4, 0.55, 0.7):
        cut = max(8, int(n * share))
        until = min(n, 2 * cut)
        if until - cut < 3:
            continue
        level = lengths.late_value(wall[:cut])
        name, weight = lengths.choose(step[:cut], length[:cut], limit)
        path = lengths.forecast_at(name, weight, step[:cut], length[:cut], step[cut:until], limit)
        line = fit_line(x[:cut], wall[:cut], np.ones(cut))
        factor = np.exp(_factor(line, x[:cut], length[:cut], path, limit))
        truth = float(np.mean(wall[cut:until]))
        with_length += abs(level * factor - truth)
        without += abs(level - truth)
    return without > 0 and with_length < MUST_PAY * without
