"""Checks of the first steps: a whole cycle, finite numbers, rewards that arrive, a ratio near 1, sane advantages."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from timeledger.gates import Check, View
from timeledger.units import show_number

_FINITE: Final = ("loss", "reward", "reward_std", "grad_norm", "kl", "entropy", "adv_mean", "adv_std", "ratio")
_NOT_A_NUMBER: Final = re.compile(r"^(\S+) is (?:not a number|-?inf\b|nan\b)", re.IGNORECASE)
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|OutOfMemory|\bOOM\b", re.IGNORECASE)
NOT_LOGGED: Final = "not in this log"


def unknown(name: str, title: str, gate: str, want: str, why: str, value: float | str | None = None) -> Check:
    """A check that cannot be judged, and why."""
    return Check(name, title, gate, "unknown", value, want, why)


def cycle(view: View) -> Check:
    """Two steps without a crash: everything from sampling to the update has run once."""
    name, title, gate, want = "cycle", "A full cycle", "2 steps", "2 steps without a crash"
    info, done = view.analysis.run.info, view.done
    if info.ended == "crashed":
        events = view.analysis.run.events
        texts = [text for text in events.filter(events["kind"] == "crash")["text"].to_list() if text]
        memory = any(_OUT_OF_MEMORY.search(text) for text in texts)
        what = "out of memory" if memory else (texts[-1][:120] if texts else "a traceback")
        do = (
            "Give the engine less memory or train smaller micro-batches."
            if memory
            else "Read the traceback at the end of the log."
        )
        return Check(name, title, gate, "fail", done, want, f"The run crashed after {done:,} steps: {what}.", do)
    if done < 2:
        return unknown(name, title, gate, want, "fewer than 2 steps so far", float(done))
    if info.ended == "interrupted":
        return Check(
            name, title, gate, "warn", done, want, f"The run was interrupted by hand after {done:,} steps.", ""
        )
    return Check(name, title, gate, "pass", float(done), want, "Sampling, reward, update and logging have all run.")


def numbers(view: View) -> Check:
    """No NaN and no infinity."""
    name, title, gate, want = "finite", "All numbers finite", "2 steps", "no NaN, no infinity"
    step = view.column("step")
    for column in _FINITE:
        values = view.column(column)
        bad = np.isinf(values)
        if bad.any():
            told = f"{column} is infinite from step {step[bad][0]:.0f} on ({bad.sum():,} of {len(values):,} rows)"
            return Check(
                name,
                title,
                gate,
                "fail",
                column,
                want,
                f"{told}: its advantages are worthless.",
                _do_not_finite(column),
            )
    for note in view.analysis.run.notes:
        match = _NOT_A_NUMBER.match(note.text) if note.kind == "warning" else None
        if match:
            told = (
                f"{match[1]} is not a number in {note.count:,} rows, first on line {note.line:,}"
                if note.line
                else f"{match[1]} is not a number in {note.count:,} rows"
            )
            return Check(name, title, gate, "fail", match[1], want, f"{told}.", _do_not_finite(match[1]))
    if not any(view.logs(column) for column in _FINITE):
        return unknown(name, title, gate, want, f"loss, reward and gradient norm are {NOT_LOGGED}")
    return Check(name, title, gate, "pass", None, want, "Loss, reward and gradient stay finite.")


def _do_not_finite(column: str) -> str:
    if column.startswith("reward"):
        return "Make the reward function return a finite number for every answer."
    return "Lower the learning rate, check the clipping of gradients, and look for empty answers."


def reward_there(view: View) -> Check:
    """The reward functions return numbers."""
    name, title, gate, want = "reward", "Rewards arrive", "2 steps", "a number for every step"
    values = view.column("reward")
    if not np.all(np.isnan(values)) and len(values):
        return Check(
            name,
            title,
            gate,
            "pass",
            float(np.nanmean(np.where(np.isinf(values), np.nan, values))) if np.isfinite(values).any() else None,
            want,
            "Rewards are logged.",
        )
    if view.logs("zero_std"):  # it is computed from the rewards
        why = "Groups are scored, but no step has a reward: every reward function returned None or NaN."
        return Check(
            name,
            title,
            gate,
            "fail",
            None,
            want,
            why,
            "Let at least one reward function return a number for each answer.",
        )
    return unknown(name, title, gate, want, f"the reward is {NOT_LOGGED}")


def ratio(view: View) -> Check:
    """The first updates see the policy that sampled."""
    name, title, gate = "ratio", "Ratio near 1", "10 steps"
    near, far = view.limits["ratio_warn"], view.limits["ratio_fail"]
    want = f"{1 - near:g} to {1 + near:g}"
    values = view.first("ratio", 10)
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the ratio is {NOT_LOGGED}; log the mean of exp(logp - old_logp)")
    mean = float(np.mean(values))
    away = abs(mean - 1)
    if away <= near:
        return Check(name, title, gate, "pass", mean, want, "The update sees the policy that sampled.")
    why = f"The mean ratio of the first 10 steps is {show_number(mean)}: the log-probs of engine and trainer differ, or the weights were not synced."
    return Check(
        name,
        title,
        gate,
        "warn" if away <= far else "fail",
        mean,
        want,
        why,
        "Compare log-probs of one batch in both; check the sync, temperature and padding.",
    )


def advantages(view: View) -> Check:
    """Advantages neither vanish nor explode."""
    name, title, gate = "adv_std", "Advantages sane", "10 steps"
    low, high, none = (view.limits[key] for key in ("adv_std_low", "adv_std_high", "adv_std_none"))
    want = f"{low:g} to {high:g}"
    values = view.first("adv_std", 10)
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the spread of advantages is {NOT_LOGGED}")
    mean = float(np.mean(values))
    if mean < none:
        return Check(
            name,
            title,
            gate,
            "fail",
            mean,
            want,
            "All advantages are the same: nothing can be learned.",
            "Look at the rewards of one group: they must differ.",
        )
    if low <= mean <= high:
        return Check(name, title, gate, "pass", mean, want, "Advantages have their usual spread.")
    why = f"Advantages spread by {show_number(mean)}: " + (
        "many groups give no signal." if mean < low else "rewards are not normalised, or one outweighs all."
    )
    return Check(name, title, gate, "warn", mean, want, why, "Look at reward and scale of a few groups.")
