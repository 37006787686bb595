"""Everything the model says of one run, in one call."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from timeledger.breakdown import breakdown as break_down
from timeledger.clock import clock as read_clock
from timeledger.growth import fit_growth
from timeledger.projection import project, steps_done, total_steps
from timeledger.results import Analysis, Clock, Facts, Growth, Projection, State, Timing
from timeledger.run import Run
from timeledger.timing import fit_timing
from timeledger.units import show_seconds, show_share, show_time

#: No new step for this many usual steps means stalled.
STALLED_AFTER: Final = 6.0
#: A step may legitimately take this long even when the usual one is short (an evaluation, a flush of a buffer).
PATIENCE_S: Final = 120.0


def analyse(run: Run, facts: Facts | None = None) -> Analysis:
    """Clock, breakdown, timing, length, projection, state and headline of a run. Never raises on odd logs."""
    facts = facts or Facts()
    clock = read_clock(run, facts)
    timing = fit_timing(run, clock, facts)
    breakdown = break_down(run, clock, timing, facts)
    total, _ = total_steps(run, facts)
    growth = fit_growth(run, clock, facts, total)
    projection = project(run, clock, timing, growth, facts)
    state = find_state(run, clock, projection, facts)
    headline = say(run, clock, timing, growth, projection, state, facts)
    return Analysis(run, facts, state, clock, breakdown, timing, growth, projection, headline)


def find_state(run: Run, clock: Clock, projection: Projection, facts: Facts) -> State:
    """Running, finished, stalled, ended early or unknown, from the log's own end, its age and the usual step."""
    total, position = projection.total_steps, clock.position
    if total is not None and position is not None and steps_done(run, clock) >= total:
        return "finished"
    if run.info.ended == "finished":
        return "finished"
    if run.info.ended is not None:
        return "ended early"
    last = _last_sign(run, clock)
    if last is None or facts.now is None or not run.has_steps:
        return "unknown"
    usual = clock.step_s or 0.0
    return "stalled" if (facts.now - last).total_seconds() > max(STALLED_AFTER * usual, PATIENCE_S) else "running"


def _last_sign(run: Run, clock: Clock) -> datetime | None:
    """When the run last gave a sign of life."""
    stamps = clock.steps["at"].drop_nulls()
    known = [each for each in (stamps[-1] if stamps.len() else None, run.info.last_write) if each is not None]
    return max(known) if known else None


def say(
    run: Run, clock: Clock, timing: Timing, growth: Growth, projection: Projection, state: State, facts: Facts
) -> str:
    """One sentence a colleague could say aloud."""
    if not run.has_steps:
        return "This log has no training steps." if run.engine.height == 0 else "This is an engine log: it has throughput but no training steps."
    if clock.elapsed_s is None:
        return clock.why or "This file has no timing, so neither the time nor the end can be told."
    done = f"{steps_done(run, clock):,}" + (f" of {projection.total_steps:,}" if projection.total_steps else "") + " steps"
    if state == "finished":
        return f"Finished: {done} in {show_seconds(clock.elapsed_s)}."
    if state == "ended early":
        return f"Ended early after {done}, {show_seconds(clock.elapsed_s)} in."
    rest = projection.remaining_s
    if rest is None:
        return f"{done} in {show_seconds(clock.elapsed_s)}; {projection.why or 'the end is not known.'}"
    between = f"between {show_seconds(rest.low)} and {show_seconds(rest.high)}"
    if projection.too_early:
        return f"{done} done; too early to say more than {between} to go."
    ends = f"ends {show_time(projection.finish_at[1], facts.now)}, " if projection.finish_at and state == "running" else ""
    lead = f"Stalled after {done}; would need" if state == "stalled" else f"{done} done; {ends}"
    return f"{lead} {show_seconds(rest.mid)} more ({between}, {show_share(projection.level)})".replace("  ", " ") + "."
