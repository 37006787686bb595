"""Savings from the run's own parts: a change removes a share of a part, and no more than the part is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeledger.forecast import steps_done
from timeledger.results import Analysis, Span
from timeledger.said import say
from timeledger.schedule import extras_to_come

#: What a run's parts lose by a change: part of the step -> share of that part's time, 0..1.
Removes = Mapping[str, Span]
_SIDES = ("low", "mid", "high")
#: Parts that come at their own schedule, so that their share of the time to come is computed, not carried over.
_SCHEDULED = ("evaluation", "checkpoint")


def ceiling(share: float, speedup: float) -> float:
    """The most a speed-up of a part can save of the whole (Amdahl): share x (1 - 1/speedup)."""
    return share * (1 - 1 / speedup) if speedup > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Base:
    """The time that savings are counted on: its name, its seconds (None: not known), and the shares of its parts."""

    of: str
    seconds: Span | None
    shares: Mapping[str, float]


def make_base(analysis: Analysis, shares: Mapping[str, float], engine_s: float | None) -> Base:
    """The remaining run; what is over, where nothing remains; the engine's running time for an engine's log."""
    if not analysis.run.has_steps:
        seconds = None if not engine_s else Span(engine_s, engine_s, engine_s)
        return Base(say("the engine's running time"), seconds, {"rollout": 1.0})
    left, clock = analysis.projection.remaining_s, analysis.clock
    if left is not None and left.mid > 0:
        return Base(say("the remaining run"), left, _to_come(analysis, shares, left))
    spent = clock.active_s if clock.active_s is not None else clock.elapsed_s
    of = say("the whole run") if analysis.state == "finished" else say("the steps logged so far")
    return Base(of, None if spent is None else Span(spent, spent, spent), shares)


def _to_come(analysis: Analysis, shares: Mapping[str, float], left: Span) -> Mapping[str, float]:
    """Shares of the time to come: evaluations and checkpoints by their schedule, the rest as in the mean step."""
    total = analysis.projection.total_steps
    if total is None:
        return shares
    clock, facts = analysis.clock, analysis.facts
    extras = extras_to_come(clock, facts, steps_done(analysis.run, clock), total)
    scheduled = {each.kind: min(each.seconds / left.mid, 1.0) for each in extras if each.kind in _SCHEDULED}
    known = {each.kind for each in clock.periodic if each.kind in _SCHEDULED and each.seconds is not None}
    fixed = {
        name: scheduled.get(name, 0.0) for name in _SCHEDULED if name in scheduled or (name in known and name in shares)
    }
    rest = 1 - sum(fixed.values())
    others = {name: share for name, share in shares.items() if name not in fixed}
    whole = 1 - sum(shares.get(name, 0.0) for name in fixed)
    if whole <= 0 or rest < 0:
        return shares
    return {name: share * rest / whole for name, share in others.items()} | fixed


def removed(shares: Mapping[str, float], changes: Sequence[Removes]) -> Span:
    """The share of the whole that changes remove together: on one part they multiply what is left, they never add."""
    sides = []
    for side in _SIDES:
        kept: dict[str, float] = {}
        for change in changes:
            for part, span in change.items():
                kept[part] = kept.get(part, 1.0) * (1 - min(max(getattr(span, side), 0.0), 1.0))
        sides.append(sum(shares.get(part, 0.0) * (1 - left) for part, left in kept.items()))
    low, mid, high = sides
    return Span(low, mid, high)


def in_seconds(base: Base, share: Span) -> Span | None:
    """A share of the base as seconds, the base's own interval included."""
    if base.seconds is None:
        return None
    return Span(base.seconds.low * share.low, base.seconds.mid * share.mid, base.seconds.high * share.high)
