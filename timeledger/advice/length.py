"""Answer length and group size: what changes the result, behind the truncation rate, last of all."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.results import Span
from timeledger.said import say, sentences
from timeledger.trend import trend
from timeledger.units import show_number, show_share

#: Truncation rates: above the first the limit is too tight already; only below the second may it be lowered.
TOO_MUCH: Final = 0.10
FEW: Final = 0.01
LEAST_GROUP: Final = 4
_PER_SAMPLE: Final = (
    "rollout",
    "reward",
    "old_logprob",
    "ref_logprob",
    "values",
    "update",
    "update_critic",
    "per token",
)


def truncation(case: Case) -> Found | None:
    """Too many answers are cut: never shorten the limit, lengthen it or leave cut answers out of the loss."""
    cut = case.late("truncated")
    limit = case.analysis.growth.limit
    if cut is None or cut <= TOO_MUCH:
        return None
    told = say("{share} of the answers are cut.", share=show_share(cut))
    if limit:
        at = show_number(limit, 4)
        told = say("{share} of the answers are cut at {limit} tokens.", share=show_share(cut), limit=at)
    alarm = say("Nothing can be learned from answers that never end.") if cut >= 0.9 else ""
    change = {"max_tokens": f"{round(limit * 1.5)}" if limit else say("larger"), "mask_truncated": "on"}
    return Found(sentences(told, alarm), {"truncated": round(cut, 3)}, {}, change)


def overlong_penalty(case: Case) -> Found | None:
    """Answers grow without a gain in reward."""
    rows = case.run.steps.unique(["segment", "step"], keep="last", maintain_order=True)
    step, length, reward = (
        rows[name].cast(float).fill_null(float("nan")).to_numpy() for name in ("step", "len_mean", "reward")
    )
    good = np.isfinite(length) & np.isfinite(reward)
    step, length, reward = step[good], length[good], reward[good]
    half = len(step) // 2
    if half < 10:
        return None
    grown, gained = trend(step[half:], length[half:]), trend(step[half:], reward[half:])
    before, now = float(np.mean(length[half : half + half // 2])), float(np.mean(length[-max(5, half // 4) :]))
    if grown is None or gained is None or grown.direction != "up" or gained.direction == "up" or now < 1.15 * before:
        return None
    parts = [
        part for part in ("rollout", "update", "old_logprob", "ref_logprob", "per token") if part in case.base.shares
    ]
    likely, most = (1 - before / max(to_come, now) for to_come in _lengths_to_come(case, now))
    symptom = say(
        "In the second half answers grew from {before} to {now} tokens while the reward did not rise.",
        before=show_number(before),
        now=show_number(now),
    )
    evidence = {"len_before": round(before, 1), "len_now": round(now, 1), "reward_slope": round(gained.slope, 6)}
    return Found(symptom, evidence, {part: between(0.0, 0.5 * likely, most) for part in parts}, {"overlong": "on"})


def _lengths_to_come(case: Case, now: float) -> tuple[float, float]:
    """Mean length of the steps to come, the middle and the upper end of the forecast; `now` where there is none."""
    ahead = case.analysis.growth.forecast
    if ahead.height == 0 or case.base.of != "the remaining run":
        return now, now
    return float(np.mean(ahead["mid"].to_numpy())), float(np.mean(ahead["high"].to_numpy()))


def lower_limit(case: Case) -> Found | None:
    """A few runaway answers reach the limit and the whole batch waits for them; almost none is cut."""
    cut, longest, mean = case.late("truncated"), case.late("len_max"), case.late("len_mean")
    limit, count = case.analysis.growth.limit, case.sequences
    if cut is None or cut >= FEW or not longest or not mean or not limit or not count or count < 16:
        return None
    new = rare_length(mean, longest, count)
    if longest < 0.5 * limit or new > 0.85 * longest:
        return None
    rounded = max(64 * math.ceil(new / 64), 64)
    most = max(1 - rounded / longest, 0.0)
    if most <= 0.05:
        return None
    part = "rollout" if "rollout" in case.base.shares else "per token"
    symptom = say(
        "{share} of the answers are cut, yet the longest of each step ({longest} tokens) is {times} times the mean: all wait for it.",
        share=show_share(cut),
        longest=show_number(longest),
        times=show_number(longest / mean),
    )
    evidence = {
        "truncated": round(cut, 4),
        "len_max": round(longest, 1),
        "len_mean": round(mean, 1),
        "about_1_in_200_above": round(new),
    }
    return Found(symptom, evidence, {part: between(0.0, 0.7 * most, most)}, {"max_tokens": str(rounded)})


def rare_length(mean: float, longest: float, count: float, share: float = 0.005) -> float:
    """The length that a share of the answers exceeds, for a log-normal with this mean and this usual longest of `count`.

    longest = mean exp(s z - s^2/2) with z the usual largest of `count` standard normals.
    """
    z = NormalDist().inv_cdf(1 - 0.56 / count)
    ratio = math.log(max(longest / mean, 1.0))
    spread = z - math.sqrt(max(z * z - 2 * ratio, 0.0))
    return mean * math.exp(spread * NormalDist().inv_cdf(1 - share) - spread**2 / 2)


def smaller_group(case: Case) -> Found | None:
    """Fewer answers a prompt: the last thing to touch, never below 4."""
    group, silent = case.number("group_size"), case.late("zero_std")
    if group is None or group <= LEAST_GROUP or silent is None or silent > 0.3:
        return None
    new = max(LEAST_GROUP, round(group / 2))
    most = 1 - new / group
    parts = [part for part in _PER_SAMPLE if part in case.base.shares]
    symptom = say(
        "G is {group}; {share} of the groups have no signal. Only if nothing else fits the budget.",
        group=show_number(group),
        share=show_share(silent),
    )
    return Found(
        symptom,
        {"group_size": group, "zero_std": round(silent, 3)},
        {part: Span(0.4 * most, 0.8 * most, most) for part in parts},
        {"group_size": str(new)},
    )
