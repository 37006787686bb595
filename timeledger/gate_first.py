"""Checks of the first steps: a whole cycle, finite numbers, rewards that arrive, a ratio near 1, sane advantages."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from timeledger.gates import Check, Gate, View
from timeledger.said import say
from timeledger.units import show_number

_FINITE: Final = ("loss", "reward", "reward_std", "grad_norm", "kl", "entropy", "adv_mean", "adv_std", "ratio")
_NOT_A_NUMBER: Final = re.compile(r"^(\S+) is (?:not a number|-?inf\b|nan\b)", re.IGNORECASE)
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|OutOfMemory|\bOOM\b", re.IGNORECASE)
#: The first of all checks, and the only one of a log without steps.
CYCLE: Final = Gate("cycle", say("A full cycle"), say("2 steps"), say("2 steps without a crash"))


def cycle(view: View) -> Check:
    """Two steps without a crash: everything from sampling to the update has run once."""
    info, done = view.analysis.run.info, view.done
    if info.ended == "crashed":
        events = view.analysis.run.events
        texts = [text for text in events.filter(events["kind"] == "crash")["text"].to_list() if text]
        memory = any(_OUT_OF_MEMORY.search(text) for text in texts)
        what = say("out of memory") if memory else (texts[-1][:120] if texts else say("a traceback"))
        do = (
            say("Give the engine less memory or train smaller micro-batches.")
            if memory
            else say("Read the traceback at the end of the log.")
        )
        return CYCLE.fails(done, say("The run crashed after {steps} steps: {what}.", steps=f"{done:,}", what=what), do)
    if done < 2:
        return CYCLE.unknown(say("fewer than 2 steps so far"), float(done))
    if info.ended == "interrupted":
        return CYCLE.warns(done, say("The run was interrupted by hand after {steps} steps.", steps=f"{done:,}"))
    return CYCLE.passes(float(done), say("Sampling, reward, update and logging have all run."))


def numbers(view: View) -> Check:
    """No NaN and no infinity."""
    gate = Gate("finite", say("All numbers finite"), say("2 steps"), say("no NaN, no infinity"))
    step = view.column("step")
    for column in _FINITE:
        values = view.column(column)
        bad = np.isinf(values)
        if bad.any():
            why = say(
                "{column} is infinite from step {step} on ({bad} of {rows} rows): its advantages are worthless.",
                column=column, step=f"{step[bad][0]:.0f}", bad=f"{bad.sum():,}", rows=f"{len(values):,}",
            )  # fmt: skip
            return gate.fails(column, why, _do_not_finite(column))
    for note in view.analysis.run.notes:
        match = _NOT_A_NUMBER.match(note.text) if note.kind == "warning" else None
        if match:
            seen = {"column": match[1], "rows": f"{note.count:,}"}
            why = say("{column} is not a number in {rows} rows.", **seen)
            if note.line:
                line = f"{note.line:,}"
                why = say("{column} is not a number in {rows} rows, first on line {line}.", **seen, line=line)
            return gate.fails(match[1], why, _do_not_finite(match[1]))
    if not any(view.logs(column) for column in _FINITE):
        return gate.unknown(say("loss, reward and gradient norm are not in this log"))
    return gate.passes(None, say("Loss, reward and gradient stay finite."))


def _do_not_finite(column: str) -> str:
    if column.startswith("reward"):
        return say("Make the reward function return a finite number for every answer.")
    return say("Lower the learning rate, check the clipping of gradients, and look for empty answers.")


def reward_there(view: View) -> Check:
    """The reward functions return numbers."""
    gate = Gate("reward", say("Rewards arrive"), say("2 steps"), say("a number for every step"))
    values = view.column("reward")
    if not np.all(np.isnan(values)) and len(values):
        return gate.passes(
            float(np.nanmean(np.where(np.isinf(values), np.nan, values))) if np.isfinite(values).any() else None,
            say("Rewards are logged."),
        )
    if view.logs("zero_std"):  # it is computed from the rewards
        why = say("Groups are scored, but no step has a reward: every reward function returned None or NaN.")
        return gate.fails(None, why, say("Let at least one reward function return a number for each answer."))
    return gate.unknown(say("the reward is not in this log"))


def ratio(view: View) -> Check:
    """The first updates see the policy that sampled."""
    near, far = view.limits["ratio_warn"], view.limits["ratio_fail"]
    gate = Gate(
        "ratio", say("Ratio near 1"), say("10 steps"), say("{low} to {high}", low=f"{1 - near:g}", high=f"{1 + near:g}")
    )
    values = view.first("ratio", 10)
    if len(values) == 0:
        return gate.unknown(say("the ratio is not in this log; log the mean of exp(logp - old_logp)"))
    mean = float(np.mean(values))
    away = abs(mean - 1)
    if away <= near:
        return gate.passes(mean, say("The update sees the policy that sampled."))
    why = say(
        "The mean ratio of the first 10 steps is {ratio}: the log-probs of engine and trainer differ, or the weights were not synced.",
        ratio=show_number(mean),
    )
    judge = gate.warns if away <= far else gate.fails
    return judge(mean, why, say("Compare log-probs of one batch in both; check the sync, temperature and padding."))


def advantages(view: View) -> Check:
    """Advantages neither vanish nor explode."""
    low, high, none = (view.limits[key] for key in ("adv_std_low", "adv_std_high", "adv_std_none"))
    gate = Gate(
        "adv_std", say("Advantages sane"), say("10 steps"), say("{low} to {high}", low=f"{low:g}", high=f"{high:g}")
    )
    values = view.first("adv_std", 10)
    if len(values) == 0:
        return gate.unknown(say("the spread of advantages is not in this log"))
    mean = float(np.mean(values))
    if mean < none:
        return gate.fails(
            mean,
            say("All advantages are the same: nothing can be learned."),
            say("Look at the rewards of one group: they must differ."),
        )
    if low <= mean <= high:
        return gate.passes(mean, say("Advantages have their usual spread."))
    spread = show_number(mean)
    why = say("Advantages spread by {spread}: rewards are not normalised, or one outweighs all.", spread=spread)
    if mean < low:
        why = say("Advantages spread by {spread}: many groups give no signal.", spread=spread)
    return gate.warns(mean, why, say("Look at reward and scale of a few groups."))
