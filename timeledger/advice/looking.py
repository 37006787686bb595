"""Tier 0: what to log, or to know, before anything is changed."""

from __future__ import annotations

from timeledger.advice.base import Found
from timeledger.advice.case import Case
from timeledger.said import listing, say
from timeledger.units import show_seconds, show_share


def log_phases(case: Case) -> Found | None:
    """No phase of a step was logged: nothing can be said of where its time goes."""
    if case.has_phases or case.step_s is None:
        return None
    symptom = say(
        "A step takes {time}, and this log does not say what of it is sampling and what training.",
        time=show_seconds(case.step_s),
    )
    return Found(symptom, {"step_s": round(case.step_s, 3)}, change={"phases": "on"})


def log_engine(case: Case) -> Found | None:
    """Generation weighs much and the engine says nothing of memory and queue."""
    rollout = case.share("rollout")
    if case.run.engine.height or rollout < 0.4 or not case.engine_used:
        return None
    symptom = say(
        "Sampling is {share} of a step; without the engine's lines nobody can tell what it waits for.",
        share=show_share(rollout),
    )
    return Found(symptom, {"rollout_share": round(rollout, 3)}, change={"engine_stats": "off"})


def not_the_pace(case: Case) -> Found | None:
    """Slow first steps, pauses and gaps are a good part of the elapsed time: they are no pace to optimise."""
    clock = case.analysis.clock
    warmup, lost, elapsed = clock.warmup_s or 0.0, clock.lost_s or 0.0, clock.elapsed_s or 0.0
    if elapsed <= 0 or warmup + lost < 0.05 * elapsed:
        return None
    told = [say("{time} of slow first steps", time=show_seconds(warmup))] if warmup > 0 else []
    told += [say("{time} of pauses and gaps", time=show_seconds(lost))] if lost > 0 else []
    symptom = say(
        "{what} in {time}: kept out of every rate and saving here.", what=listing(told), time=show_seconds(elapsed)
    )
    return Found(symptom, {"warmup_s": round(warmup, 1), "lost_s": round(lost, 1)})
