"""How long the answers get: curves bounded by the limit, held to the late value unless the run's own past pays for more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import polars as pl

from timeledger.results import Clock, Facts, Growth
from timeledger.rows import QUANTITIES, Array, Rows, floats, make_rows
from timeledger.run import Run
from timeledger.said import say
from timeledger.units import show_number, show_share

MIN_ROWS: Final = 12
#: Fewer rows tell a length, and no course of it.
FEW_ROWS: Final = 5
#: A trend is followed for at most so many times the steps that it has lasted: nothing has tested it further ahead.
HORIZON: Final = 3.0
#: A curve must cut the error of "stays as it is" on later stretches by this much before it counts at all.
MUST_PAY: Final = 0.75
FORECAST: Final = pl.Schema({"step": pl.Int64, "mid": pl.Float64, "low": pl.Float64, "high": pl.Float64})
MAX_POINTS: Final = 120
Curve = Callable[[Array, Array, Array, float | None], Array]


def late_value(length: Array) -> float:
    """The level of the latest stretch: mean of the last fifth, at least 5 rows."""
    return float(np.mean(length[-max(5, len(length) // 5) :]))


def constant(step: Array, length: Array, ahead: Array, limit: float | None) -> Array:
    """Stays at the late value."""
    return np.full(len(ahead), late_value(length))


def damped(step: Array, length: Array, ahead: Array, limit: float | None) -> Array:
    """Goes on as in the last half, the slope halving each time as many steps pass as that half held."""
    half = length[len(length) // 2 :]
    at = step[len(step) // 2 :]
    width = max(float(at[-1] - at[0]), 1.0)
    slope = float(np.polyfit(at, half, 1)[0]) if len(at) > 2 else 0.0
    rate = np.log(2) / width
    path: Array = late_value(length) + slope / rate * (1 - np.exp(-rate * (ahead - step[-1])))
    return path


def logarithmic(step: Array, length: Array, ahead: Array, limit: float | None) -> Array:
    """An intercept and a slope in log(1 + step), moved to pass through the late value; steps may count from 0."""
    slope = float(np.polyfit(np.log1p(step), length, 1)[0])
    path: Array = late_value(length) + slope * (np.log1p(ahead) - np.log1p(step[-1]))
    return path


def saturating(step: Array, length: Array, ahead: Array, limit: float | None) -> Array:
    """The gap to the limit closes at a constant rate, moved to pass through the late value."""
    if limit is None:
        return constant(step, length, ahead, limit)
    gap = np.maximum(limit - length, 0.01 * limit)
    rate = max(0.0, -float(np.polyfit(step, np.log(gap), 1)[0]))
    start = max(limit - late_value(length), 0.0)
    path: Array = limit - start * np.exp(-rate * (ahead - step[-1]))
    return path


CURVES: Final[dict[str, Curve]] = {
    "constant": constant, "damped": damped, "log": logarithmic, "saturating": saturating,
}  # fmt: skip


def bounded(values: Array, limit: float | None) -> Array:
    """Values inside [0, limit]."""
    return np.clip(values, 0.0, np.inf if limit is None else limit)


def find_limit(run: Run, rows: Rows, facts: Facts) -> tuple[float | None, str | None]:
    """The limit on response tokens and where it is from; inferred only when the longest answers pile up at one value."""
    if facts.max_tokens is not None:
        return float(facts.max_tokens), "given"
    known = run.info.number("max_tokens")
    if known and known > 0:
        return known, run.info.settings["max_tokens"].source
    longest = rows.len_max[np.isfinite(rows.len_max)]
    if len(longest) < 5:
        return None, None
    top = float(longest.max())
    piled = float(np.mean(longest >= top - 0.5))
    cut = rows.truncated[np.isfinite(rows.truncated)]
    seen_cut = len(cut) > 0 and float(cut.max()) > 0
    if piled >= 0.3 and (seen_cut or piled >= 0.6) and top > 1:
        return top, say("inferred: the longest answers pile up at it")
    return None, None


def fit_growth(
    run: Run, clock: Clock, facts: Facts | None = None, total_steps: int | None = None, rows: Rows | None = None
) -> Growth:
    """Response length so far and to come. Works on every row with a length, timed or not."""
    facts = facts or Facts()
    rows = make_rows(run, clock) if rows is None else rows
    if len(rows) == 0 and run.has_steps:
        rows = _untimed(run)
    limit, limit_from = find_limit(run, rows, facts)
    rows = rows.pick(np.isfinite(rows.len_mean) & (rows.len_mean >= 0))
    length, step = rows.len_mean, np.maximum(rows.step, 1.0)
    cut = rows.truncated[np.isfinite(rows.truncated)]
    truncated = float(np.mean(cut[-max(5, len(cut) // 5) :])) if len(cut) else None
    if len(length) == 0:
        why = say("This log has no response lengths; log the mean length of the answers to see whether they grow.")
        return Growth(
            None, None, None, limit, limit_from, truncated, "constant", pl.DataFrame(schema=FORECAST), why, why
        )
    first, last = float(np.mean(length[: max(1, min(10, len(length) // 4))])), late_value(length)
    name, weight = choose(step, length, limit)
    ratio = last / first if first > 0 else None
    forecast = _forecast(name, weight, step, length, limit, total_steps)
    return Growth(
        first, last, ratio, limit, limit_from, truncated, name, forecast,
        _sentence(len(length), first, last, ratio, limit, limit_from, truncated, name, forecast),
    )  # fmt: skip


def _untimed(run: Run) -> Rows:
    """Rows of a log without any time: lengths only."""
    frame = run.steps.unique(("segment", "step"), keep="last", maintain_order=True)
    nothing, no = np.full(frame.height, np.nan), np.zeros(frame.height, dtype=np.bool_)
    known = (floats(frame, name) for name in QUANTITIES)
    return Rows(
        floats(frame, "segment"), floats(frame, "step"), np.ones(frame.height), nothing, nothing, no, no, *known
    )


def choose(step: Array, length: Array, limit: float | None) -> tuple[str, float]:
    """The curve and how far to follow it (0 = stay at the late value), by forecasts from earlier moments of this run."""
    if len(length) < MIN_ROWS or not np.all(np.diff(step) > 0):
        return "constant", 0.0
    flat = np.array(list(_errors(constant, step, length, limit)))
    best, paid = "constant", 1.0
    for name in ("damped", "log", "saturating"):
        found = _unless_lost(_errors(CURVES[name], step, length, limit), flat, min(paid, MUST_PAY))
        ratio = float(found.sum() / flat.sum()) if flat.sum() > 0 else 1.0
        if ratio < min(paid, MUST_PAY) and np.mean(found < flat) >= 0.75:
            best, paid = name, ratio
    return (best, min(1.0, 1.4 * (1 - paid))) if best != "constant" else ("constant", 0.0)


def _unless_lost(errors: Iterator[float], flat: Array, most: float) -> Array:
    """A curve's errors; infinite from where it cannot win any more: those are not worth the fits."""
    found = np.full(len(flat), np.inf)
    for at, error in enumerate(errors):
        found[at] = error
        seen = found[: at + 1]
        if seen.sum() > 1.001 * most * flat.sum() or np.sum(~(seen < flat[: at + 1])) > 0.25 * len(flat):
            break
    return found


def _errors(curve: Curve, step: Array, length: Array, limit: float | None) -> Iterator[float]:
    """Error of the mean of the stretch after each of several origins: what a row does by chance is no error of a curve."""
    n = len(length)
    for share in (0.4, 0.5, 0.6, 0.7, 0.8):
        cut = max(6, int(n * share))
        until = min(n, cut + max(3, cut // 2))
        ahead = bounded(curve(step[:cut], length[:cut], step[cut:until], limit), limit)
        yield abs(float(np.mean(ahead - length[cut:until])))


def forecast_at(name: str, weight: float, step: Array, length: Array, ahead: Array, limit: float | None) -> Array:
    """The shrunken forecast at the steps `ahead`; a trend is followed for HORIZON times the steps it has lasted, then it stays."""
    ahead = np.minimum(ahead, step[-1] + HORIZON * (step[-1] - step[0]))
    flat = constant(step, length, ahead, limit)
    return bounded(flat + weight * (CURVES[name](step, length, ahead, limit) - flat), limit)


def _forecast(
    name: str, weight: float, step: Array, length: Array, limit: float | None, total: int | None
) -> pl.DataFrame:
    """Middle and 80 % band up to the last step (twice the present one when the total is unknown)."""
    end = float(total) if total else 2 * float(step[-1])
    if end <= step[-1] or len(length) < 2:
        return pl.DataFrame(schema=FORECAST)
    ahead = np.unique(np.linspace(step[-1] + 1, end, min(MAX_POINTS, int(end - step[-1]))).round())
    mid = forecast_at(name, weight, step, length, ahead, limit)
    noise = float(np.std(np.diff(length))) / np.sqrt(2) if len(length) > 2 else 0.1 * length[-1]
    # What the level did over past windows as long as the horizon so far bounds what it may still do.
    drift = abs(late_value(length) - float(np.mean(length[: max(1, len(length) // 4)])))
    reach = (ahead - step[-1]) / max(step[-1] - step[0], 1.0)
    half = 1.28 * np.sqrt(noise**2 / 4 + (0.06 * late_value(length)) ** 2 * reach + (0.8 * drift) ** 2 * reach)
    return pl.DataFrame(
        {
            "step": ahead.astype(np.int64),
            "mid": mid,
            "low": bounded(mid - half, limit),
            "high": bounded(mid + half, limit),
        },
        schema=FORECAST,
    )


def _sentence(
    rows: int, first: float, last: float, ratio: float | None, limit: float | None, limit_from: str | None,
    truncated: float | None, name: str, forecast: pl.DataFrame,
) -> str:  # fmt: skip
    """The finding in words."""
    now = show_number(last)
    text = say("Answers keep their length, {last} tokens", last=now)
    if rows < FEW_ROWS:
        text = say("Answers have {last} tokens so far", last=now)
    elif ratio is not None and ratio > 1.1:
        text = say("Answers grew from {first} to {last} tokens", first=show_number(first), last=now)
    elif ratio is not None and ratio < 0.9:
        text = say("Answers shrank from {first} to {last} tokens", first=show_number(first), last=now)
    if name != "constant" and forecast.height:
        end = show_number(float(forecast["mid"][-1]))
        text = say("{answers}, and go on towards {end}", answers=text, end=end)
    if limit is None:
        return say("{done}.", done=text)
    at = show_number(limit, 4)
    if limit_from and limit_from.startswith("inferred"):
        text = say("{answers}; the limit is {limit} (inferred)", answers=text, limit=at)
    else:
        text = say("{answers}; the limit is {limit}", answers=text, limit=at)
    if truncated is None:
        return say("{done}.", done=text)
    return say("{answers}, {share} cut.", answers=text, share=show_share(truncated))
