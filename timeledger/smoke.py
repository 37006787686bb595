"""Smoke-test gates and health: is this run worth letting go on? The first 2, 10 and 20 steps stop most mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from timeledger import gate_first, gate_health, gate_learning
from timeledger.gates import LIMITS, Check, Checked, Limit, Verdict, View, with_limits
from timeledger.results import Analysis
from timeledger.said import say, sentences

__all__ = ["LIMITS", "Check", "Checked", "Limit", "check"]

_NO_STEPS: Final = gate_first.CYCLE.unknown(say("this log has no training steps"))
_NO_METRICS: Final = gate_first.CYCLE.unknown(say("this log shows how far the run is, and no metrics of its steps"))
#: Checks that say something about learning: when all of them are unknown, so is the verdict.
_TELLING: Final = ("finite", "reward", "gradient", "signal", "reward_variance", "trend", "adv_std", "truncation")


def check(analysis: Analysis, limits: Mapping[str, float] | None = None) -> Checked:
    """All gates of a run. `limits` overrides thresholds of `LIMITS` by name.

    Raises:
        BadOption: a limit that does not exist.
    """
    view = View(analysis, with_limits(limits))
    nothing = _NO_METRICS if analysis.run.trains else _NO_STEPS
    checks = tuple(each(view) for each in CHECKS) if analysis.run.has_steps else (nothing,)
    verdict = _verdict(checks)
    return Checked(analysis.run.name, verdict, checks, _sentence(view, verdict, checks))


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


CHECKS: Final[tuple[Callable[[View], Check], ...]] = (
    gate_first.cycle, gate_first.numbers, gate_first.reward_there, gate_first.ratio, gate_first.advantages,
    gate_learning.together, gate_learning.stuck, gate_learning.gradient, gate_health.memory, gate_learning.rising,
    gate_learning.cut, gate_learning.silent_groups, gate_learning.spread,
    gate_health.length, gate_health.entropy, gate_health.alive, gate_health.lost,
)  # fmt: skip
