"""The one sentence a colleague could say aloud."""

from __future__ import annotations

import math
from datetime import tzinfo

from timeledger.forecast import steps_done
from timeledger.results import Breakdown, Clock, Facts, Growth, Projection, State
from timeledger.run import Run
from timeledger.units import show_interval, show_number, show_seconds, show_share


def say(
    run: Run, clock: Clock, breakdown: Breakdown, growth: Growth, projection: Projection, state: State, facts: Facts,
    zone: tzinfo | None = None,
) -> str:  # fmt: skip
    """The headline: the answer first, then what drives it; moments in `zone` (default: the machine's)."""
    if not run.has_steps:
        return (
            "This is an engine's log: throughput, but no training steps."
            if run.engine.height
            else "This log has no training steps."
        )
    if clock.elapsed_s is None:
        return clock.why or "This file has no time, so neither the time spent nor the end can be told."
    total = projection.total_steps
    done = f"{steps_done(run, clock):,}" + (f" of {total:,}" if total else "") + " steps"
    lead = _lead(done, clock, projection, state, facts, zone)
    why = _why(breakdown, growth)
    return f"{lead}; {why}." if why else f"{lead}."


def _lead(done: str, clock: Clock, projection: Projection, state: State, facts: Facts, zone: tzinfo | None) -> str:
    spent, rest = show_seconds(clock.elapsed_s), projection.remaining_s
    if state == "finished":
        return f"Finished: {done} in {spent}"
    if state == "ended early":
        return f"Ended early after {done}, {spent} in"
    if rest is None:
        rate = f", {show_seconds(clock.step_s)} each" if clock.step_s else ""
        return f"{done} in {spent}{rate}, and no planned number of steps in this log"
    between = f"between {show_seconds(rest.low)} and {show_seconds(rest.high)}"
    if projection.too_early:
        return f"{done} done, too early for more than a range: {between} to go"
    if state == "stalled":
        return f"Stalled after {done}: no new step for too long; {show_seconds(rest.mid)} of work would be left ({between})"
    if projection.finish_at is not None and state == "running":
        return f"Finishes {show_interval(*projection.finish_at, facts.now, zone)} ({show_share(projection.level)}): {done} done"
    return f"{done} done, {show_seconds(rest.mid)} to go ({between})"


def _why(breakdown: Breakdown, growth: Growth) -> str:
    """What a step's time goes to, and whether the answers changed."""
    said = []
    if breakdown.sampling_share is not None and breakdown.sampling_share > 0:
        said.append(f"sampling takes {show_share(breakdown.sampling_share)} of a step")
    if growth.growth is not None and growth.growth > 0 and abs(math.log(growth.growth)) > 0.1:
        way = "grew" if growth.growth > 1 else "shrank"
        said.append(f"answers {way} from {show_number(growth.first)} to {show_number(growth.last)} tokens")
    return " and ".join(said)
