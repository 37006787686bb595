"""Checks of a run's health: memory to spare, steady answers, an entropy that stays, steps that keep coming, little lost."""

from __future__ import annotations

from typing import Final

import numpy as np

from timeledger.gates import Check, Gate, View
from timeledger.said import say
from timeledger.trend import trend
from timeledger.units import show_number, show_seconds, show_share

#: What a run that goes on, or is done, is called.
_STILL: Final = {"running": say("The run is running."), "finished": say("The run is finished.")}


def memory(view: View) -> Check:
    """GPU memory to spare."""
    warn, fail = view.limits["memory_warn"], view.limits["memory_fail"]
    gate = Gate(
        "memory", say("Memory to spare"), say("10 steps"), say("at most {share} of a GPU", share=show_share(warn))
    )
    used = view.finite("mem_gib")
    if len(used) == 0:
        return gate.unknown(say("the peak memory is not in this log"))
    peak, card = float(np.max(used)), view.analysis.facts.gpu_gib or view.analysis.run.info.number("gpu_gib")
    grown = trend(view.column("step"), view.column("mem_gib"))
    rising = (
        grown is not None and grown.direction == "up" and grown.slope * grown.steps > 0.1 * peak and len(used) >= 20
    )
    if not card:
        if rising:
            return gate.warns(
                peak,
                say("Peak memory keeps rising, {peak} GiB now.", peak=show_number(peak)),
                say("Find out what grows: answers, or a leak."),
            )
        return gate.unknown(
            say(
                "peak memory is {peak} GiB; the card's size is not in the log ({option})",
                peak=show_number(peak),
                option="--gpu-gib 80",
            ),
            peak,
        )
    share = peak / card
    if share <= warn and not rising:
        return gate.passes(share, say("{peak} of {card} GiB at most.", peak=show_number(peak), card=show_number(card)))
    seen = {"peak": show_number(peak), "card": show_number(card), "share": show_share(share)}
    why = say("Peak memory is {peak} of {card} GiB ({share}): longer answers may not fit.", **seen)
    if rising:
        why = say("Peak memory is {peak} of {card} GiB ({share}) and keeps rising.", **seen)
    judge = gate.fails if share > fail else gate.warns
    return judge(share, why, say("Smaller micro-batches, or less memory for the engine."))


def length(view: View) -> Check:
    """Answers neither collapse nor run away."""
    low, floor, high = (view.limits[key] for key in ("shrink_warn", "shrink_fail", "grow_warn"))
    gate = Gate(
        "length",
        say("Answer length steady"),
        say("any time"),
        say("{low} to {high} times the first", low=f"{low:g}", high=f"{high:g}"),
    )
    values = view.finite("len_mean")
    if len(values) < 10:
        return gate.unknown(say("fewer than 10 rows with an answer length"))
    early, late = float(np.mean(values[: max(3, len(values) // 10)])), float(np.mean(view.late("len_mean")))
    share = late / early if early > 0 else 1.0
    told = say("Answers went from {first} to {last} tokens", first=show_number(early), last=show_number(late))
    if share < floor:
        return gate.fails(
            share,
            say("{told}: they have collapsed.", told=told),
            say("Read a few answers; the reward pays for saying nothing."),
        )
    if share < low:
        return gate.warns(share, say("{done}.", done=told), say("Read a few answers: shorter may be better, or empty."))
    if share > high:
        return gate.warns(
            share,
            say("{told}: a step costs more than at first, and the limit comes nearer.", told=told),
            say("Watch the truncation rate; see the projection's worst case."),
        )
    return gate.passes(share, say("{done}.", done=told))


def entropy(view: View) -> Check:
    """The policy still explores."""
    least = view.limits["entropy_warn"]
    gate = Gate(
        "entropy", say("Still exploring"), say("any time"), say("above {share} of the first", share=show_share(least))
    )
    values = view.finite("entropy")
    if len(values) < 10 or float(np.mean(values[:3])) <= 0:
        return gate.unknown(say("fewer than 10 rows with an entropy above 0"))
    share = float(np.mean(view.late("entropy"))) / float(np.mean(values[:3]))
    if share < least:
        return gate.warns(
            share,
            say("Entropy has fallen to {share} of its first value: all answers are alike.", share=show_share(share)),
            say("Raise the temperature or the entropy bonus, lower the learning rate."),
        )
    return gate.passes(share, say("Answers still vary."))


def alive(view: View) -> Check:
    """New steps keep coming."""
    gate = Gate("stalled", say("Still going"), say("any time"), say("a new step within six usual ones"))
    state = view.analysis.state
    if state == "stalled":
        usual = show_seconds(view.analysis.clock.step_s)
        return gate.fails(
            state,
            say("No new step for much longer than a step takes ({time}).", time=usual),
            say("Look at the process: it may hang, or the disk may be full."),
        )
    if state == "unknown":
        return gate.unknown(say("the log does not say when it was written last"), state)
    return gate.passes(state, _STILL.get(state, say("The run is over.")))


def lost(view: View) -> Check:
    """Little time is lost in pauses and gaps."""
    most = view.limits["lost_warn"]
    gate = Gate(
        "lost_time",
        say("Little time lost"),
        say("any time"),
        say("at most {share} of the elapsed time", share=show_share(most)),
    )
    clock = view.analysis.clock
    if clock.lost_s is None or not clock.elapsed_s:
        return gate.unknown(say("the log tells no wall time"))
    share = clock.lost_s / clock.elapsed_s
    lost_s, elapsed = show_seconds(clock.lost_s), show_seconds(clock.elapsed_s)
    told = say("{lost} of {time} went into pauses and gaps", lost=lost_s, time=elapsed)
    if again := sum(each.redone for each in clock.segments):
        told = say("{told}, {steps} steps were done twice", told=told, steps=f"{again:,}")
    if share > most:
        return gate.warns(share, say("{done}.", done=told), say("Save more often, and restart by itself."))
    return gate.passes(share, say("{done}.", done=told) if clock.lost_s >= 1 else say("No pauses worth naming."))
