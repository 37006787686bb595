"""Smoke-test gates and health: is this run worth letting go on? The first 2, 10 and 20 steps stop most mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from timeledger import gate_first, gate_learning
from timeledger.gate_first import unknown
from timeledger.gates import LIMITS, Check, Checked, Limit, Verdict, View, with_limits
from timeledger.results import Analysis
from timeledger.said import say, sentences
from timeledger.trend import trend
from timeledger.units import show_number, show_seconds, show_share

__all__ = ["LIMITS", "Check", "Checked", "Limit", "check"]

#: What a run that goes on, or is done, is called.
_STILL: Final = {"running": say("The run is running."), "finished": say("The run is finished.")}
#: Checks that say something about learning: when all of them are unknown, so is the verdict.
_TELLING: Final = ("finite", "reward", "gradient", "signal", "reward_variance", "trend", "adv_std", "truncation")


def check(analysis: Analysis, limits: Mapping[str, float] | None = None) -> Checked:
    """All gates of a run. `limits` overrides thresholds of `LIMITS` by name.

    Raises:
        BadOption: a limit that does not exist.
    """
    view = View(analysis, with_limits(limits))
    checks = tuple(each(view) for each in CHECKS) if analysis.run.has_steps else (_no_steps(),)
    verdict = _verdict(checks)
    return Checked(analysis.run.name, verdict, checks, _sentence(view, verdict, checks))


def _no_steps() -> Check:
    return unknown(
        "cycle",
        say("A full cycle"),
        say("2 steps"),
        say("2 steps without a crash"),
        say("this log has no training steps"),
    )


def _verdict(checks: tuple[Check, ...]) -> Verdict:
    if any(each.status == "fail" for each in checks):
        return "fail"
    started = all(each.status != "unknown" for each in checks if each.name == "cycle")
    told = any(each.status != "unknown" for each in checks if each.name in _TELLING)
    return "pass" if started and told else "unknown"


def _sentence(view: View, verdict: Verdict, checks: tuple[Check, ...]) -> str:
    count = {status: sum(each.status == status for each in checks) for status in ("pass", "warn", "fail", "unknown")}
    told = say(
        "{passes} pass, {warn} warn, {fail} fail, {unknown} cannot be told",
        passes=count["pass"], warn=count["warn"], fail=count["fail"], unknown=count["unknown"],
    )  # fmt: skip
    worst = next((each for each in checks if each.status == "fail"), None) or next(
        (each for each in checks if each.status == "warn"), None
    )
    if verdict == "unknown":
        why = next(
            (each.why for each in checks if each.name == "cycle" and each.status == "unknown"),
            say("this log holds nothing about learning"),
        )
        return say("Cannot tell: {why}.", why=why)
    steps = f"{view.done:,}"
    lead = say("Fails after {steps} steps ({counts}).", steps=steps, counts=told)
    if verdict == "pass":
        lead = say("Passes after {steps} steps ({counts}).", steps=steps, counts=told)
    return sentences(lead, None if worst is None else worst.why)


# --- memory, and health over time ------------------------------------------------------------------------------


def memory(view: View) -> Check:
    """GPU memory to spare."""
    name, title, gate = "memory", say("Memory to spare"), say("10 steps")
    warn, fail = view.limits["memory_warn"], view.limits["memory_fail"]
    want = say("at most {share} of a GPU", share=show_share(warn))
    used = view.finite("mem_gib")
    if len(used) == 0:
        return unknown(name, title, gate, want, say("the peak memory is not in this log"))
    peak, card = float(np.max(used)), view.analysis.facts.gpu_gib or view.analysis.run.info.number("gpu_gib")
    grown = trend(view.column("step"), view.column("mem_gib"))
    rising = (
        grown is not None and grown.direction == "up" and grown.slope * grown.steps > 0.1 * peak and len(used) >= 20
    )
    if not card:
        if rising:
            return Check(
                name,
                title,
                gate,
                "warn",
                peak,
                want,
                say("Peak memory keeps rising, {peak} GiB now.", peak=show_number(peak)),
                say("Find out what grows: answers, or a leak."),
            )
        return unknown(
            name,
            title,
            gate,
            want,
            say(
                "peak memory is {peak} GiB; the card's size is not in the log ({option})",
                peak=show_number(peak),
                option="--gpu-gib 80",
            ),
            peak,
        )
    share = peak / card
    if share <= warn and not rising:
        return Check(
            name,
            title,
            gate,
            "pass",
            share,
            want,
            say("{peak} of {card} GiB at most.", peak=show_number(peak), card=show_number(card)),
        )
    seen = {"peak": show_number(peak), "card": show_number(card), "share": show_share(share)}
    why = say("Peak memory is {peak} of {card} GiB ({share}): longer answers may not fit.", **seen)
    if rising:
        why = say("Peak memory is {peak} of {card} GiB ({share}) and keeps rising.", **seen)
    return Check(
        name,
        title,
        gate,
        "fail" if share > fail else "warn",
        share,
        want,
        why,
        say("Smaller micro-batches, or less memory for the engine."),
    )


def length(view: View) -> Check:
    """Answers neither collapse nor run away."""
    name, title, gate = "length", say("Answer length steady"), say("any time")
    low, floor, high = (view.limits[key] for key in ("shrink_warn", "shrink_fail", "grow_warn"))
    want = say("{low} to {high} times the first", low=f"{low:g}", high=f"{high:g}")
    values = view.finite("len_mean")
    if len(values) < 10:
        return unknown(name, title, gate, want, say("fewer than 10 rows with an answer length"))
    early, late = float(np.mean(values[: max(3, len(values) // 10)])), float(np.mean(view.late("len_mean")))
    share = late / early if early > 0 else 1.0
    told = say("Answers went from {first} to {last} tokens", first=show_number(early), last=show_number(late))
    if share < floor:
        return Check(
            name,
            title,
            gate,
            "fail",
            share,
            want,
            say("{told}: they have collapsed.", told=told),
            say("Read a few answers; the reward pays for saying nothing."),
        )
    if share < low:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            say("{done}.", done=told),
            say("Read a few answers: shorter may be better, or empty."),
        )
    if share > high:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            say("{told}: a step costs more than at first, and the limit comes nearer.", told=told),
            say("Watch the truncation rate; see the projection's worst case."),
        )
    return Check(name, title, gate, "pass", share, want, say("{done}.", done=told))


def entropy(view: View) -> Check:
    """The policy still explores."""
    name, title, gate = "entropy", say("Still exploring"), say("any time")
    least = view.limits["entropy_warn"]
    want = say("above {share} of the first", share=show_share(least))
    values = view.finite("entropy")
    if len(values) < 10 or float(np.mean(values[:3])) <= 0:
        return unknown(name, title, gate, want, say("fewer than 10 rows with an entropy above 0"))
    share = float(np.mean(view.late("entropy"))) / float(np.mean(values[:3]))
    if share < least:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            say("Entropy has fallen to {share} of its first value: all answers are alike.", share=show_share(share)),
            say("Raise the temperature or the entropy bonus, lower the learning rate."),
        )
    return Check(name, title, gate, "pass", share, want, say("Answers still vary."))


def alive(view: View) -> Check:
    """New steps keep coming."""
    name, title, gate, want = "stalled", say("Still going"), say("any time"), say("a new step within six usual ones")
    state = view.analysis.state
    if state == "stalled":
        usual = show_seconds(view.analysis.clock.step_s)
        return Check(
            name,
            title,
            gate,
            "fail",
            state,
            want,
            say("No new step for much longer than a step takes ({time}).", time=usual),
            say("Look at the process: it may hang, or the disk may be full."),
        )
    if state == "unknown":
        return unknown(name, title, gate, want, say("the log does not say when it was written last"), state)
    return Check(name, title, gate, "pass", state, want, _STILL.get(state, say("The run is over.")))


def lost(view: View) -> Check:
    """Little time is lost in pauses and gaps."""
    name, title, gate = "lost_time", say("Little time lost"), say("any time")
    most = view.limits["lost_warn"]
    want = say("at most {share} of the elapsed time", share=show_share(most))
    clock = view.analysis.clock
    if clock.lost_s is None or not clock.elapsed_s:
        return unknown(name, title, gate, want, say("the log tells no wall time"))
    share = clock.lost_s / clock.elapsed_s
    lost_s, elapsed = show_seconds(clock.lost_s), show_seconds(clock.elapsed_s)
    told = say("{lost} of {time} went into pauses and gaps", lost=lost_s, time=elapsed)
    if again := sum(each.redone for each in clock.segments):
        told = say("{told}, {steps} steps were done twice", told=told, steps=f"{again:,}")
    if share > most:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            say("{done}.", done=told),
            say("Save more often, and restart by itself."),
        )
    return Check(
        name,
        title,
        gate,
        "pass",
        share,
        want,
        say("{done}.", done=told) if clock.lost_s >= 1 else say("No pauses worth naming."),
    )


CHECKS: Final[tuple[Callable[[View], Check], ...]] = (
    gate_first.cycle, gate_first.numbers, gate_first.reward_there,
    gate_first.ratio, gate_first.advantages, gate_learning.together, gate_learning.stuck, gate_learning.gradient, memory,
    gate_learning.rising, gate_learning.cut, gate_learning.silent_groups, gate_learning.spread,
    length, entropy, alive, lost,
)  # fmt: skip
