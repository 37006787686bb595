"""When the run ends: the forecast in words, with its interval, its worst case and the reasons."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from timeledger.forecast import ENOUGH_STEPS, Forecast, make_forecast, steps_done
from timeledger.reasons import reasons, warnings
from timeledger.results import Clock, Facts, Growth, Projection, Span, Timing
from timeledger.rows import Array, Rows
from timeledger.run import Run
from timeledger.said import say, sentences
from timeledger.state import last_step_at
from timeledger.timing import driver_values
from timeledger.units import shift, show_seconds

FAN: Final = pl.Schema(
    {"step": pl.Int64} | dict.fromkeys(("elapsed_s", "low", "high", "low95", "high95", "worst"), pl.Float64)
)
MAX_FAN: Final = 200


def total_steps(run: Run, facts: Facts) -> tuple[int | None, str | None]:
    """The planned number of steps and where it is from."""
    if facts.total_steps is not None and facts.total_steps > 0:
        return facts.total_steps, say("given")
    known = run.info.number("total_steps")
    if known is not None and math.isfinite(known) and known >= 1:
        return int(known), run.info.settings["total_steps"].source
    totals = run.progress["total"].drop_nulls()
    if totals.len() and isinstance(last := totals[-1], int) and last > 0:
        return last, say("progress bar")
    return None, None


def project(
    run: Run, clock: Clock, timing: Timing, growth: Growth, facts: Facts | None = None, factor: float = 1.0,
    rows: Rows | None = None,
) -> Projection:  # fmt: skip
    """Remaining and total time with an interval at `facts.level`, a worst case, and the reasons in words.

    Remaining time counts from the last step the log knows of; a run that is over has none left, and its total is
    measured. `factor` changes the steps to come (a what-if). Without a number of planned steps there is no projection, and `why` says what to type.
    """
    facts = facts or Facts()
    total, source = total_steps(run, facts)
    position = clock.position
    if clock.elapsed_s is None or position is None:
        return _nothing(total, source, facts, clock.why or say("This log has no time, so the end cannot be computed."))
    over = run.info.ended is not None and facts.total_steps is None
    done = steps_done(run, clock)
    if not over and total is not None and done > total + max(_rows_span(clock), 1):
        return _passed(done, total, facts)
    if over or (total is not None and done >= total):
        return _ended(run, clock, total, source, facts)
    if total is None:
        why = say("This log does not say how many steps are planned; type the total to see when it ends.")
        rate = say("An ordinary step takes {time}.", time=show_seconds(clock.step_s)) if clock.step_s else ""
        return _nothing(None, None, facts, sentences(why, rate))
    made = make_forecast(run, clock, timing, growth, facts, total, rows=rows)
    if made is None:
        return _nothing(total, source, facts, say("No step has a time yet."))
    if factor != 1.0:
        made = replace(made, pull=replace(made.pull, mid=made.pull.mid + math.log(max(factor, 1e-3)), what_if=factor))
    remaining = made.remaining(facts.level)
    worst = worst_case(made, timing, growth)
    worst = None if worst is None else max(worst, made.elapsed_s + remaining.high)
    return Projection(
        total_steps=total,
        total_steps_from=source,
        remaining_s=remaining,
        total_s=Span(*(made.elapsed_s + each for each in (remaining.low, remaining.mid, remaining.high))),
        finish_at=_finish(run, clock, facts, remaining),
        worst_case_s=worst,
        level=facts.level,
        method="drifting level of ordinary steps + scheduled extra work",
        because=reasons(made, clock, growth),
        warnings=warnings(made, clock, growth),
        too_early=made.open_cycle or made.starting or float(made.rows.span.sum()) < ENOUGH_STEPS,
        fan=fan(made, facts.level, worst),
    )


def worst_case(made: Forecast, timing: Timing, growth: Growth) -> float | None:
    """Total seconds when every answer to come reaches the limit; None when no limit is known or length drives nothing."""
    if growth.limit is None or timing.fixed_s is None or timing.s_per_token is None:
        return None
    at_limit = growth.limit
    if timing.driver == "tokens":
        seen = made.rows.tokens[np.isfinite(made.rows.tokens)]
        if not growth.last or len(seen) == 0:
            return None
        # Prompts do not grow; taking the whole step to grow with the answers errs on the late side, as a worst case may.
        at_limit = float(np.mean(seen[-20:])) * growth.limit / growth.last
    at = float(np.mean(driven[-20:])) if len(driven := _driver(made, timing)) else 0.0
    # The line is sure where the lengths were; towards the limit its slope may be as steep as the fit allows.
    here = timing.fixed_s.mid + timing.s_per_token.mid * at
    step = max(here + timing.s_per_token.high * max(at_limit - at, 0.0), made.step_s)
    return made.elapsed_s + made.steps_left * step + made.extra_s


def _driver(made: Forecast, timing: Timing) -> Array:
    values = driver_values(made.rows, timing.driver)
    return values[np.isfinite(values)]


def _rows_span(clock: Clock) -> int:
    """Steps of one row of the log: a plan is passed by no more than one of them at its end."""
    return int(clock.steps["span"][-1]) if clock.steps.height else 1


def _passed(done: int, total: int, facts: Facts) -> Projection:
    """A run that went on beyond its plan: what is planned now is not known."""
    why = say(
        "This run has passed its {total} planned steps ({done} done); type the new total to see when it ends.",
        total=f"{total:,}", done=f"{done:,}",
    )  # fmt: skip
    return _nothing(None, None, facts, why)


def _finish(run: Run, clock: Clock, facts: Facts, remaining: Span) -> tuple[datetime, datetime, datetime] | None:
    """The moment of the end: counted from the last known step; never before `now`."""
    anchor = last_step_at(run, clock)
    moments = [shift(anchor, each) for each in (remaining.low, remaining.mid, remaining.high)]
    if facts.now is not None:
        moments = [max(each, facts.now) if each is not None else None for each in moments]
    low, mid, high = moments
    return (low, mid, high) if low and mid and high else None


def fan(made: Forecast, level: float, worst: float | None) -> pl.DataFrame:
    """The chart's fan: elapsed seconds at steps from now to the last, with the interval at `level` and at 95 %."""
    left = made.steps_left
    points = np.unique(np.linspace(0, left, min(MAX_FAN, left + 1)).round())
    share = points / max(left, 1)
    mid = made.remaining_s * share
    knots = np.unique(np.linspace(0, left, min(9, left + 1)).round())
    columns: dict[str, object] = {"step": (points + made.position).astype(np.int64), "elapsed_s": made.elapsed_s + mid}
    shares = (0.5 - level / 2, 0.5 + level / 2, 0.025, 0.975)
    widths = np.array([made.log_widths(shares, max(float(knot), 1.0)) for knot in knots])
    for side, name in enumerate(("low", "high", "low95", "high95")):
        bent = np.interp(points, knots, widths[:, side])
        columns[name] = made.elapsed_s + mid * np.exp(np.maximum(bent, 0) if side % 2 else np.minimum(bent, 0))
    columns["worst"] = (
        np.full(len(points), np.nan) if worst is None else made.elapsed_s + (worst - made.elapsed_s) * share
    )
    return pl.DataFrame(columns, schema=FAN).with_columns(pl.col("worst").fill_nan(None))


def _nothing(total: int | None, source: str | None, facts: Facts, why: str) -> Projection:
    """No projection, and why."""
    empty = pl.DataFrame(schema=FAN)
    return Projection(total, source, None, None, None, None, facts.level, "none", (), (), True, empty, (), why)


def _ended(run: Run, clock: Clock, total: int | None, source: str | None, facts: Facts) -> Projection:
    """A run that is over: nothing remains, the total is measured."""
    spent = clock.elapsed_s or 0.0
    none_left = Span(0.0, 0.0, 0.0)
    finish = _finish(run, clock, replace(facts, now=None), none_left)
    return Projection(
        total, source, none_left, Span(spent, spent, spent), finish, None, facts.level, "measured",
        (say("The run is over; it took {time}.", time=show_seconds(spent)),), (), False, pl.DataFrame(schema=FAN),
    )  # fmt: skip
