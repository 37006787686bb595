"""Whether a run is running, finished, stalled, ended early, or cannot be known."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from timeledger.forecast import steps_done
from timeledger.results import Clock, Facts, Projection, State
from timeledger.run import Run
from timeledger.units import shift

#: No new step for this many usual steps means stalled.
STALLED_AFTER: Final = 6.0
#: Shorter silences than this never mean stalled: writers flush late, machines breathe.
PATIENCE_S: Final = 30.0


def find_state(run: Run, clock: Clock, projection: Projection, facts: Facts) -> State:
    """The state, from the log's own end, the planned steps, its age and the usual step."""
    total = projection.total_steps
    if run.info.ended == "finished" or (
        total is not None and clock.position is not None and steps_done(run, clock) >= total
    ):
        return "finished"
    if run.info.ended is not None:
        return "ended early"
    last = last_step_at(run, clock)
    if last is None or facts.now is None or not run.trains:
        return "unknown"
    if (facts.now - last).total_seconds() <= patience_s(clock):
        return "running"
    # a silence is long against a step; where none has been timed yet (models load, a first rollout takes long) nobody knows
    return "stalled" if clock.step_s is not None else "unknown"


def patience_s(clock: Clock) -> float:
    """Seconds without a new row that are still usual: six rows, and the longest periodic work on top."""
    span = clock.steps["span"].median() if clock.steps.height else 1
    row = (clock.step_s or 0.0) * max(float(span) if isinstance(span, int | float) else 1.0, float(clock.cycle))
    extra = max((each.seconds or 0.0 for each in clock.periodic), default=0.0)
    return max(STALLED_AFTER * row, PATIENCE_S) + extra


def last_step_at(run: Run, clock: Clock) -> datetime | None:
    """When the last step was written: its own stamp where its zone is known, else when the file was last written.

    A stamp without a zone may be hours away from the moment it means; where no file tells more, the moment is not known.
    """
    stamps = clock.steps["at"].drop_nulls()
    stamped = stamps[-1] if stamps.len() else None
    late = clock.steps.height > 0 and clock.steps["at"][-1] is None  # the bar is ahead of the rows
    if isinstance(stamped, datetime) and run.info.zone_known and not (late and run.info.last_write is not None):
        return stamped
    return run.info.last_write


def own_end(run: Run, clock: Clock, projection: Projection) -> datetime | None:
    """The middle of the end by the log's own wall clock where its zone is not known: digits to show, not a moment to compare.

    None where a stamp has a zone, the latest step has no stamp, or nothing is projected.
    """
    stamp = clock.steps["at"][-1] if clock.steps.height else None
    if stamp is None or run.info.zone_known or projection.remaining_s is None:
        return None
    return shift(stamp, projection.remaining_s.mid)
