"""What a step costs: seconds = fixed + per token x the length that drives it, chosen on later steps of the same run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from timeledger.results import Clock, Driver, Facts, Span, Timing
from timeledger.rows import Array, Rows, make_rows
from timeledger.run import Run
from timeledger.said import clauses, say, upper
from timeledger.throughput import gen_tok_s, train_tok_s
from timeledger.units import show_number, show_seconds

MIN_ROWS: Final = 8
#: A driver must cut the error on later steps by this much against a simpler one, else the simpler one stays.
MUST_PAY: Final = {"mean": 0.90, "max": 0.90, "tokens": 0.88}
#: Below this spread of the length (standard deviation over mean) fixed and per-token costs cannot be told apart.
MIN_SPREAD: Final = 0.03
_COLUMNS: Final[dict[Driver, str]] = {"mean": "len_mean", "max": "len_max", "tokens": "tokens"}
_WORDS: Final[dict[Driver, str]] = {
    "mean": say("Each extra token of the mean answer"),
    "max": say("Each extra token of the longest answer"),
    "tokens": say("Every 1,000 tokens of a step"),
}
POINTS: Final = pl.Schema({"step": pl.Int64, "x": pl.Float64, "wall_s": pl.Float64, "fitted_s": pl.Float64})


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line y = a + b x with standard errors; `a` and `b` are never negative."""

    a: float
    b: float
    a_se: float
    b_se: float

    def at(self, x: Array) -> Array:
        """The line's value."""
        return self.a + self.b * x


def fit_line(x: Array, y: Array, weight: Array) -> Line:
    """A robust non-negative line by reweighted least squares (Huber, 1.345 robust standard deviations)."""
    robust = np.ones_like(y)
    a, b = float(np.average(y, weights=weight)), 0.0
    for _ in range(12):
        before = (a, b)
        a, b = _solve(x, y, weight * robust)
        away = np.abs(y - a - b * x)
        scale = max(1.4826 * float(np.median(away)), 1e-9 * float(np.mean(np.abs(y))) + 1e-12)
        robust = np.minimum(1.0, 1.345 * scale / np.maximum(away, 1e-300))
        if abs(a - before[0]) + abs(b - before[1]) * float(np.mean(x)) < 1e-7 * float(np.mean(y)):
            break
    return _with_errors(x, y, weight, robust, a, b)


def _solve(x: Array, y: Array, w: Array) -> tuple[float, float]:
    """Weighted least squares under a >= 0 and b >= 0."""
    sw = float(w.sum())
    mx, my = float((w * x).sum()) / sw, float((w * y).sum()) / sw
    sxx = float((w * (x - mx) ** 2).sum())
    b = float((w * (x - mx) * (y - my)).sum()) / sxx if sxx > 0 else 0.0
    if b <= 0:
        return my, 0.0
    a = my - b * mx
    if a < 0:
        return 0.0, float((w * x * y).sum()) / float((w * x * x).sum())
    return a, b


def _with_errors(x: Array, y: Array, weight: Array, robust: Array, a: float, b: float) -> Line:
    """Standard errors that allow for noise growing with the step (sandwich) and residuals that follow each other."""
    residual = y - a - b * x
    w = weight / weight.mean()
    pulled = residual * robust
    inside = max(float(np.mean(robust >= 1.0)), 0.5)
    mx = float(np.average(x, weights=w))
    away = x - mx
    sxx = float((w * away**2).sum())
    if sxx <= 0 or len(y) < 3:
        return Line(a, b, float("inf"), float("inf"))
    power = float((pulled**2).sum())
    follow = float((pulled[1:] * pulled[:-1]).sum()) / power if power > 0 else 0.0
    follow = min(max(follow, 0.0), 0.9)
    widen = (1 + follow) / (1 - follow) * len(y) / (len(y) - 2) / inside**2
    noise = (w * pulled) ** 2
    n = float(len(y))
    b_se = float(np.sqrt(widen * float((noise * away**2).sum()))) / sxx
    a_se = float(np.sqrt(widen * float((noise * (1 / n - mx * away / sxx) ** 2).sum())))
    return Line(a, b, a_se, b_se)


def fit_timing(run: Run, clock: Clock, facts: Facts | None = None, rows: Rows | None = None) -> Timing:
    """Step time against response length, with what drives it chosen on later steps of the same run.

    `rows` are those of `make_rows`, where the caller has them already.
    """
    facts = facts or Facts()
    rows = (make_rows(run, clock) if rows is None else rows).usable()
    gen, gen_from = gen_tok_s(run, facts)
    train, train_from = train_tok_s(run)
    driver, line, why = choose(rows)
    x = driver_values(rows, driver)
    points = _points(rows, x, line)
    fixed, per_token = _spans(rows, x, line)
    return Timing(
        driver, fixed, per_token, gen, gen_from, train, train_from, _quality(rows, x, line), points,
        _sentence(rows, driver, fixed, per_token), why,
    )  # fmt: skip


def driver_values(rows: Rows, driver: Driver) -> Array:
    """The quantity a driver stands for, by row (the mean length for "none")."""
    if driver == "none":
        return rows.len_mean
    values: Array = getattr(rows, _COLUMNS[driver])
    return values


def choose(rows: Rows) -> tuple[Driver, Line | None, str | None]:
    """The driver that predicts later steps best, its line over all rows, and why none was found (if so)."""
    if len(rows) < MIN_ROWS:
        return (
            "none",
            None,
            say(
                "{need} ordinary steps are needed to tell what drives the step time, {have} seen.",
                need=MIN_ROWS,
                have=len(rows),
            ),
        )
    best: Driver = "none"
    whys: list[str] = []
    base: dict[Driver, float] = {}
    for driver in ("mean", "max", "tokens"):
        x = driver_values(rows, driver)
        known = np.isfinite(x) & (x > 0)
        if known.sum() < max(MIN_ROWS, 0.6 * len(rows)):
            continue
        spread = float(np.std(x[known]) / np.mean(x[known]))
        if spread < MIN_SPREAD:
            whys.append(_flat(driver, spread))
            continue
        paid = later_error(x[known], rows.wall_s[known], rows.span[known])
        if paid < MUST_PAY[driver]:
            base[driver] = paid
    for driver in base:
        if best == "none" or base[driver] < 0.95 * base[best]:
            best = driver
    if best == "none":
        no_length = not np.isfinite(rows.len_mean).any() and not np.isfinite(rows.tokens).any()
        text = say("This log has no response lengths.") if no_length else upper(clauses(whys))
        return "none", None, text or say("The step time does not follow the response length.")
    x = driver_values(rows, best)
    known = np.isfinite(x) & (x > 0)
    line = fit_line(x[known], rows.wall_s[known], rows.span[known])
    if line.b <= 0:
        return "none", None, say("The step time does not rise with the response length.")
    return best, line, None


def _flat(driver: Driver, spread: float) -> str:
    """Why a driver cannot be told from a constant."""
    varies = f"±{spread:.1%}"
    if driver == "tokens":
        return say("the tokens length hardly varies ({spread})", spread=varies)
    if driver == "max":
        return say("the max length hardly varies ({spread})", spread=varies)
    return say("the mean length hardly varies ({spread})", spread=varies)


def later_error(x: Array, y: Array, weight: Array) -> float:
    """Error on later steps with the line over error without it (below 1: the length pays), over rolling origins."""
    n = len(y)
    with_line = without = 0.0
    for share in (0.4, 0.55, 0.7, 0.85):
        cut = max(4, int(n * share))
        if n - cut < 2:
            continue
        line = fit_line(x[:cut], y[:cut], weight[:cut])
        level = float(np.average(y[:cut], weights=weight[:cut]))
        until = min(n, cut + max(2, n // 3))
        with_line += float(np.mean(np.abs(y[cut:until] - line.at(x[cut:until]))))
        without += float(np.mean(np.abs(y[cut:until] - level)))
    return with_line / without if without > 0 else 1.0


def _points(rows: Rows, x: Array, line: Line | None) -> pl.DataFrame:
    fitted = np.full(len(rows), np.nan) if line is None else line.at(x)
    frame = pl.DataFrame(
        {"step": rows.step.astype(np.int64), "x": x, "wall_s": rows.wall_s, "fitted_s": fitted}, schema=POINTS
    )
    return frame.with_columns(pl.col("x", "wall_s", "fitted_s").fill_nan(None))


def _quality(rows: Rows, x: Array, line: Line | None) -> float | None:
    """Share of the variance explained, 0..1."""
    if len(rows) < 3 or line is None:
        return None
    known = np.isfinite(x)
    residual = rows.wall_s[known] - line.at(x[known])
    power = float(np.var(rows.wall_s[known]))
    return max(0.0, 1 - float(np.var(residual)) / power) if power > 0 else None


def _spans(rows: Rows, x: Array, line: Line | None) -> tuple[Span | None, Span | None]:
    """Fixed and per-token cost with 90 % bounds, both kept inside what is possible (neither negative)."""
    if line is None:
        return None, None
    known = np.isfinite(x)
    mean, mean_x = float(np.mean(rows.wall_s)), float(np.mean(x[known]))
    fixed = Span(max(0.0, line.a - 1.7 * line.a_se), line.a, min(mean, line.a + 1.7 * line.a_se))
    most = mean / mean_x
    per = Span(max(0.0, line.b - 1.7 * line.b_se), line.b, max(line.b, min(most, line.b + 1.7 * line.b_se)))
    return Span(fixed.low, fixed.mid, max(fixed.mid, fixed.high)), per


def _sentence(rows: Rows, driver: Driver, fixed: Span | None, per_token: Span | None) -> str:
    """The finding in words."""
    if len(rows) == 0:
        return say("No step has a time yet.")
    level = show_seconds(float(np.average(rows.wall_s, weights=rows.span)))
    if driver == "none" or fixed is None or per_token is None:
        return _undriven(rows, level)
    cost, what = per_token.mid, _WORDS[driver]
    shown = show_seconds(cost * 1000) if driver == "tokens" else say("{n} ms", n=show_number(cost * 1000))
    if fixed.mid <= 0.02 * float(np.mean(rows.wall_s)):
        return say("{what} costs {time}; almost nothing of a step is fixed.", what=what, time=shown)
    return say("{what} costs {time}; {fixed} a step is fixed.", what=what, time=shown, fixed=show_seconds(fixed.mid))


def _undriven(rows: Rows, level: str) -> str:
    """The step time alone, and why nothing is said to drive it."""
    known = [x[np.isfinite(x) & (x > 0)] for x in (rows.len_mean, rows.len_max, rows.tokens)]
    known = [x for x in known if len(x) >= max(MIN_ROWS, 0.6 * len(rows))]
    if not any(np.isfinite(x).any() for x in (rows.len_mean, rows.len_max, rows.tokens)):
        return say("A step takes {time}; this log has no answer lengths that it could follow.", time=level)
    if not known:
        return say("A step takes {time}; too few steps to tell whether it follows the answers' length.", time=level)
    if all(float(np.std(x) / np.mean(x)) < MIN_SPREAD for x in known):
        return say(
            "A step takes {time}; the answers' length hardly varies, so that what is fixed and what follows it cannot be told apart.",
            time=level,
        )
    return say("A step takes {time}, and its time does not follow the answers' length.", time=level)
