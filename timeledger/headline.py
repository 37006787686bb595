"""The one sentence a colleague could say aloud."""

from __future__ import annotations

import math
from datetime import tzinfo

from timeledger.forecast import steps_done
from timeledger.results import Breakdown, Clock, Facts, Growth, Projection, Span, State
from timeledger.run import Run
from timeledger.said import say
from timeledger.units import show_interval, show_number, show_seconds, show_share


def headline(
    run: Run, clock: Clock, breakdown: Breakdown, growth: Growth, projection: Projection, state: State, facts: Facts,
    zone: tzinfo | None = None,
) -> str:  # fmt: skip
    """The answer first, then what drives it; moments in `zone` (default: the machine's)."""
    if not run.trains:
        engine_only = say("This is an engine's log: throughput, but no training steps.")
        return engine_only if run.engine.height else say("This log has no training steps.")
    if clock.elapsed_s is None:
        return clock.why or say("This file has no time, so neither the time spent nor the end can be told.")
    done = _done(run, clock, projection.total_steps)
    lead = _lead(done, clock, projection, state, facts, zone)
    why = _why(breakdown, growth)
    return say("{lead}; {why}.", lead=lead, why=why) if why else say("{lead}.", lead=lead)


def _done(run: Run, clock: Clock, total: int | None) -> str:
    """How many steps are done; which ones, where the log (and so its time) begins in mid-run."""
    position, first = steps_done(run, clock), clock.first_step or 1
    last, of = f"{position:,}", "" if total is None else f"{total:,}"
    if first <= 1:
        return say("{done} of {total} steps", done=last, total=of) if total else say("{done} steps", done=last)
    begun = f"{first:,}"
    if total:
        return say("{done} of {total} steps (this log from {first} on)", done=last, total=of, first=begun)
    return say("{done} steps ({first} to {last})", done=f"{position - first + 1:,}", first=begun, last=last)


def _lead(done: str, clock: Clock, projection: Projection, state: State, facts: Facts, zone: tzinfo | None) -> str:
    spent, rest = _spent(clock), projection.remaining_s
    if state == "finished":
        return say("Finished: {done} in {time}", done=done, time=spent)
    if state == "ended early":
        return say("Ended early after {done}, {time} in", done=done, time=spent)
    if rest is not None:
        return _to_come(done, rest, projection, state, facts, zone)
    if projection.total_steps is not None:
        return say("{done} in {time}, too early to tell when it ends", done=done, time=spent)
    if clock.step_s:
        each = show_seconds(clock.step_s)
        return say(
            "{done} in {time}, {each} each, and no planned number of steps in this log",
            done=done,
            time=spent,
            each=each,
        )
    return say("{done} in {time}, and no planned number of steps in this log", done=done, time=spent)


def _spent(clock: Clock) -> str:
    """The time so far; what was done before the run began anew from its first step stands apart."""
    begins = [each.index for each in clock.segments if each.first_step <= 1]
    earlier_s = math.fsum(each.elapsed_s or 0.0 for each in clock.segments if begins and each.index < begins[-1])
    if len(begins) < 2 or not earlier_s:
        return show_seconds(clock.elapsed_s)
    own = [each for each in clock.segments if each.index >= begins[-1]]
    own_s = math.fsum(each.elapsed_s or 0.0 for each in own) + math.fsum(each.lost_before_s or 0.0 for each in own[1:])
    return say("{time} (after {earlier} in earlier starts)", time=show_seconds(own_s), earlier=show_seconds(earlier_s))


def _to_come(done: str, rest: Span, projection: Projection, state: State, facts: Facts, zone: tzinfo | None) -> str:
    low, high, left = show_seconds(rest.low), show_seconds(rest.high), show_seconds(rest.mid)
    between = say("between {low} and {high}", low=low, high=high)
    if low == high:
        between = say("give or take {time}", time=show_seconds((rest.high - rest.low) / 2))
    if projection.too_early:
        return say("{done} done, too early for more than a range: {between} to go", done=done, between=between)
    if state == "stalled":
        return say(
            "Stalled after {done}: no new step for too long; {time} of work would be left ({between})",
            done=done, time=left, between=between,
        )  # fmt: skip
    if projection.finish_at is not None and state == "running":
        when, level = show_interval(*projection.finish_at, facts.now, zone), show_share(projection.level)
        return say("Finishes {when} ({level}): {done} done", when=when, level=level, done=done)
    return say("{done} done, {time} to go ({between})", done=done, time=left, between=between)


def _why(breakdown: Breakdown, growth: Growth) -> str:
    """What a step's time goes to, and whether the answers changed."""
    share = breakdown.sampling_share
    sampling = (
        say("sampling takes {share} of a step", share=show_share(share)) if share is not None and share > 0 else ""
    )
    if growth.growth is None or growth.growth <= 0 or abs(math.log(growth.growth)) <= 0.1:
        return sampling
    first, last = show_number(growth.first), show_number(growth.last)
    if growth.growth > 1:
        answers = say("answers grew from {first} to {last} tokens", first=first, last=last)
    else:
        answers = say("answers shrank from {first} to {last} tokens", first=first, last=last)
    return say("{sampling} and {answers}", sampling=sampling, answers=answers) if sampling else answers
