"""Which samples are worth their time: groups without signal, sampling again and again, reuse, and when to stop."""

from __future__ import annotations

import numpy as np

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.advice.knobs import present
from timeledger.results import Span
from timeledger.said import say
from timeledger.trend import trend
from timeledger.units import show_number, show_seconds, show_share

_SAMPLES = ("rollout", "reward", "old_logprob", "ref_logprob", "values", "update", "update_critic")


def no_signal(case: Case) -> Found | None:
    """Many groups have equal rewards: no advantage, no gradient, full price. Above 90 % it is an alarm, not a saving."""
    silent = case.late("zero_std")
    if silent is None or not 0.3 < silent < 0.9 or present(case, "filter") is True:
        return None
    parts = [phase for phase in _SAMPLES if phase in case.phases] or ["per token"]
    symptom = say(
        "In {share} of the groups all answers have the same reward: they give no gradient and cost as much.",
        share=show_share(silent),
    )
    return Found(
        symptom,
        {"zero_std": round(silent, 3)},
        {part: between(0.0, 0.5 * silent, silent) for part in parts},
        {"filter": "on"},
    )


def sampling_again(case: Case) -> Found | None:
    """Dynamic sampling generates several batches for each one it trains on."""
    batches, passed = case.extra("train/num_gen_batches"), case.extra("dynamic_filtering_pass_rate")
    if batches is None and passed:
        batches = 1 / (passed / 100 if passed > 1 else passed)
    if batches is None or batches <= 1.5:
        return None
    most = (batches - 1) / batches
    symptom = say(
        "Dynamic sampling generates {batches} batches for each one it trains on.", batches=show_number(batches)
    )
    return Found(
        symptom,
        {"num_gen_batches": round(batches, 2)},
        {"rollout": between(0.0, 0.5 * most, most)},
        {"gen_batch": say("larger, so that one is enough"), "filter": say("offline, by pass rate")},
    )


def reuse(case: Case) -> Found | None:
    """Generation dominates and each sample is used once, far from the clip range."""
    share, clipped = case.share("rollout"), case.late("clipfrac")
    if share <= 0.7 or case.number("num_iterations") != 1 or clipped is None or clipped >= 0.05:
        return None
    symptom = say(
        "Sampling is {share} of a step, each answer is used for one update, and {clipped} of the ratios are clipped.",
        share=show_share(share),
        clipped=show_share(clipped),
    )
    evidence = {"rollout_share": round(share, 3), "clipfrac": round(clipped, 5), "num_iterations": 1}
    return Found(symptom, evidence, {"rollout": Span(0.0, 0.35, 0.5)}, {"num_iterations": "2"})


def stop(case: Case) -> Found | None:
    """The reward has stopped rising: shown flat, not merely unclear.

    The last fifth must be flat so surely that even the upper end of its slope, kept up to the end of the run, would
    gain less than a tenth of what the run has gained.
    """
    rows = case.run.steps.unique(["segment", "step"], keep="last", maintain_order=True)
    step, reward = rows["step"].cast(float).to_numpy(), rows["reward"].fill_null(float("nan")).to_numpy()
    good = np.isfinite(reward)
    step, reward = step[good], reward[good]
    left = case.base.seconds
    count = len(reward) // 5
    if count < 20 or left is None or case.base.of != "the remaining run":
        return None
    found = trend(step[-count:], reward[-count:])
    gained = float(reward[-count:].mean() - reward[: max(count, 10)].mean())
    total = case.analysis.projection.total_steps or 0
    to_come = total - float(step[-1])
    if found is None or gained <= 0 or found.direction != "unclear" or found.high * to_come >= 0.1 * gained:
        return None
    symptom = say(
        "The reward gained {gained} and has been flat for the last {steps} steps; {time} are still planned.",
        gained=show_number(gained),
        steps=show_number(float(np.ptp(step[-count:]))),
        time=show_seconds(left.mid),
    )
    evidence = {"gained": round(gained, 4), "at_most_to_come": round(found.high * to_come, 4)}
    everything = Span(0.5, 0.5, 1.0)
    return Found(
        symptom,
        evidence,
        dict.fromkeys(case.base.shares, everything),
        {"total_steps": f"{round(float(step[-1]) + to_come / 2)}"},
    )
