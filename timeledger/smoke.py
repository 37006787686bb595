"""Smoke-test gates and health: is this run worth letting go on? The first 2, 10 and 20 steps stop most mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from timeledger import gate_first, gate_learning
from timeledger.gate_first import unknown
from timeledger.gates import LIMITS, Check, Checked, Limit, Verdict, View, with_limits
from timeledger.results import Analysis
from timeledger.trend import trend
from timeledger.units import show_number, show_seconds, show_share

__all__ = ["LIMITS", "Check", "Checked", "Limit", "check"]

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
    return unknown("cycle", "A full cycle", "2 steps", "2 steps without a crash", "this log has no training steps")


def _verdict(checks: tuple[Check, ...]) -> Verdict:
    if any(each.status == "fail" for each in checks):
        return "fail"
    started = all(each.status != "unknown" for each in checks if each.name == "cycle")
    told = any(each.status != "unknown" for each in checks if each.name in _TELLING)
    return "pass" if started and told else "unknown"


def _sentence(view: View, verdict: Verdict, checks: tuple[Check, ...]) -> str:
    count = {status: sum(each.status == status for each in checks) for status in ("pass", "warn", "fail", "unknown")}
    told = [
        f"{count['pass']} pass",
        f"{count['warn']} warn",
        f"{count['fail']} fail",
        f"{count['unknown']} cannot be told",
    ]
    worst = next((each for each in checks if each.status == "fail"), None) or next(
        (each for each in checks if each.status == "warn"), None
    )
    if verdict == "unknown":
        return (
            "Cannot tell: "
            + next(
                (each.why for each in checks if each.name == "cycle" and each.status == "unknown"),
                "this log holds nothing about learning",
            )
            + "."
        )
    lead = {"pass": f"Passes after {view.done:,} steps", "fail": f"Fails after {view.done:,} steps"}[verdict]
    return f"{lead} ({', '.join(told)})." + (f" {worst.why}" if worst is not None else "")


# --- memory, and health over time ------------------------------------------------------------------------------


def memory(view: View) -> Check:
    """GPU memory to spare."""
    name, title, gate = "memory", "Memory to spare", "10 steps"
    warn, fail = view.limits["memory_warn"], view.limits["memory_fail"]
    want = f"at most {show_share(warn)} of a GPU"
    used = view.finite("mem_gib")
    if len(used) == 0:
        return unknown(name, title, gate, want, "the peak memory is not in this log")
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
                f"Peak memory keeps rising, {show_number(peak)} GiB now.",
                "Find out what grows: answers, or a leak.",
            )
        return unknown(
            name,
            title,
            gate,
            want,
            f"peak memory is {show_number(peak)} GiB; the card's size is not in the log (--gpu-gib 80)",
            peak,
        )
    share = peak / card
    if share <= warn and not rising:
        return Check(name, title, gate, "pass", share, want, f"{show_number(peak)} of {show_number(card)} GiB at most.")
    why = f"Peak memory is {show_number(peak)} of {show_number(card)} GiB ({show_share(share)})" + (
        " and keeps rising." if rising else ": longer answers may not fit."
    )
    return Check(
        name,
        title,
        gate,
        "fail" if share > fail else "warn",
        share,
        want,
        why,
        "Smaller micro-batches, or less memory for the engine.",
    )


def length(view: View) -> Check:
    """Answers neither collapse nor run away."""
    name, title, gate = "length", "Answer length steady", "any time"
    low, floor, high = (view.limits[key] for key in ("shrink_warn", "shrink_fail", "grow_warn"))
    want = f"{low:g} to {high:g} times the first"
    values = view.finite("len_mean")
    if len(values) < 10:
        return unknown(name, title, gate, want, "fewer than 10 rows with an answer length")
    early, late = float(np.mean(values[: max(3, len(values) // 10)])), float(np.mean(view.late("len_mean")))
    share = late / early if early > 0 else 1.0
    told = f"Answers went from {show_number(early)} to {show_number(late)} tokens"
    if share < floor:
        return Check(
            name,
            title,
            gate,
            "fail",
            share,
            want,
            f"{told}: they have collapsed.",
            "Read a few answers; the reward pays for saying nothing.",
        )
    if share < low:
        return Check(
            name, title, gate, "warn", share, want, f"{told}.", "Read a few answers: shorter may be better, or empty."
        )
    if share > high:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            f"{told}: a step costs more than at first, and the limit comes nearer.",
            "Watch the truncation rate; see the projection's worst case.",
        )
    return Check(name, title, gate, "pass", share, want, f"{told}.")


def entropy(view: View) -> Check:
    """The policy still explores."""
    name, title, gate = "entropy", "Still exploring", "any time"
    least = view.limits["entropy_warn"]
    want = f"above {show_share(least)} of the first"
    values = view.finite("entropy")
    if len(values) < 10 or float(np.mean(values[:3])) <= 0:
        return unknown(name, title, gate, want, "fewer than 10 rows with an entropy above 0")
    share = float(np.mean(view.late("entropy"))) / float(np.mean(values[:3]))
    if share < least:
        return Check(
            name,
            title,
            gate,
            "warn",
            share,
            want,
            f"Entropy has fallen to {show_share(share)} of its first value: all answers are alike.",
            "Raise the temperature or the entropy bonus, lower the learning rate.",
        )
    return Check(name, title, gate, "pass", share, want, "Answers still vary.")


def alive(view: View) -> Check:
    """New steps keep coming."""
    name, title, gate, want = "stalled", "Still going", "any time", "a new step within six usual ones"
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
            f"No new step for much longer than a step takes ({usual}).",
            "Look at the process: it may hang, or the disk may be full.",
        )
    if state == "unknown":
        return unknown(name, title, gate, want, "the log does not say when it was written last", state)
    return Check(
        name, title, gate, "pass", state, want, f"The run is {state}." if state != "ended early" else "The run is over."
    )


def lost(view: View) -> Check:
    """Little time is lost in pauses and gaps."""
    name, title, gate = "lost_time", "Little time lost", "any time"
    most = view.limits["lost_warn"]
    want = f"at most {show_share(most)} of the elapsed time"
    clock = view.analysis.clock
    if clock.lost_s is None or not clock.elapsed_s:
        return unknown(name, title, gate, want, "the log tells no wall time")
    share = clock.lost_s / clock.elapsed_s
    told = f"{show_seconds(clock.lost_s)} of {show_seconds(clock.elapsed_s)} went into pauses and gaps"
    again = sum(each.redone for each in clock.segments)
    told += f", {again:,} steps were done twice" if again else ""
    if share > most:
        return Check(name, title, gate, "warn", share, want, f"{told}.", "Save more often, and restart by itself.")
    return Check(name, title, gate, "pass", share, want, f"{told}." if clock.lost_s >= 1 else "No pauses worth naming.")


CHECKS: Final[tuple[Callable[[View], Check], ...]] = (
    gate_first.cycle, gate_first.numbers, gate_first.reward_there,
    gate_first.ratio, gate_first.advantages, gate_learning.together, gate_learning.stuck, gate_learning.gradient, memory,
    gate_learning.rising, gate_learning.cut, gate_learning.silent_groups, gate_learning.spread,
    length, entropy, alive, lost,
)  # fmt: skip
