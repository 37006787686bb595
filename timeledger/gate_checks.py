"""The checks of learning and numbers: one small function each, from a view of the run to a check."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from timeledger.gates import Check, View
from timeledger.trend import trend
from timeledger.units import show_number, show_share

_FINITE: Final = ("loss", "reward", "reward_std", "grad_norm", "kl", "entropy", "adv_mean", "adv_std", "ratio")
_NOT_A_NUMBER: Final = re.compile(r"^(\S+) is (?:not a number|-?inf\b|nan\b)", re.IGNORECASE)
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|OutOfMemory|\bOOM\b", re.IGNORECASE)
_NOT_LOGGED: Final = "not in this log"


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
        do = "Give the engine less memory or train smaller micro-batches." if memory else "Read the traceback at the end of the log."
        return Check(name, title, gate, "fail", done, want, f"The run crashed after {done:,} steps: {what}.", do)
    if done < 2:
        return unknown(name, title, gate, want, "fewer than 2 steps so far", float(done))
    if info.ended == "interrupted":
        return Check(name, title, gate, "warn", done, want, f"The run was interrupted by hand after {done:,} steps.", "")
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
            return Check(name, title, gate, "fail", column, want, f"{told}: its advantages are worthless.", _do_not_finite(column))
    for note in view.analysis.run.notes:
        match = _NOT_A_NUMBER.match(note.text) if note.kind == "warning" else None
        if match:
            told = f"{match[1]} is not a number in {note.count:,} rows, first on line {note.line:,}" if note.line else f"{match[1]} is not a number in {note.count:,} rows"
            return Check(name, title, gate, "fail", match[1], want, f"{told}.", _do_not_finite(match[1]))
    if not any(view.logs(column) for column in _FINITE):
        return unknown(name, title, gate, want, f"loss, reward and gradient norm are {_NOT_LOGGED}")
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
        return Check(name, title, gate, "pass", float(np.nanmean(np.where(np.isinf(values), np.nan, values))) if np.isfinite(values).any() else None, want, "Rewards are logged.")
    if view.logs("zero_std"):  # it is computed from the rewards
        why = "Groups are scored, but no step has a reward: every reward function returned None or NaN."
        return Check(name, title, gate, "fail", None, want, why, "Let at least one reward function return a number for each answer.")
    return unknown(name, title, gate, want, f"the reward is {_NOT_LOGGED}")


def ratio(view: View) -> Check:
    """The first updates see the policy that sampled."""
    name, title, gate = "ratio", "Ratio near 1", "10 steps"
    near, far = view.limits["ratio_warn"], view.limits["ratio_fail"]
    want = f"{1 - near:g} to {1 + near:g}"
    values = view.first("ratio", 10)
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the ratio is {_NOT_LOGGED}; log the mean of exp(logp - old_logp)")
    mean = float(np.mean(values))
    away = abs(mean - 1)
    if away <= near:
        return Check(name, title, gate, "pass", mean, want, "The update sees the policy that sampled.")
    why = f"The mean ratio of the first 10 steps is {show_number(mean)}: the log-probs of engine and trainer differ, or the weights were not synced."
    return Check(name, title, gate, "warn" if away <= far else "fail", mean, want, why, "Compare log-probs of one batch in both; check the sync, temperature and padding.")


def advantages(view: View) -> Check:
    """Advantages neither vanish nor explode."""
    name, title, gate = "adv_std", "Advantages sane", "10 steps"
    low, high, none = (view.limits[key] for key in ("adv_std_low", "adv_std_high", "adv_std_none"))
    want = f"{low:g} to {high:g}"
    values = view.first("adv_std", 10)
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the spread of advantages is {_NOT_LOGGED}")
    mean = float(np.mean(values))
    if mean < none:
        return Check(name, title, gate, "fail", mean, want, "All advantages are the same: nothing can be learned.", "Look at the rewards of one group: they must differ.")
    if low <= mean <= high:
        return Check(name, title, gate, "pass", mean, want, "Advantages have their usual spread.")
    why = f"Advantages spread by {show_number(mean)}: " + ("many groups give no signal." if mean < low else "rewards are not normalised, or one outweighs all.")
    return Check(name, title, gate, "warn", mean, want, why, "Look at reward and scale of a few groups.")


def together(view: View) -> Check:
    """Reward and accuracy move the same way."""
    name, title, gate = "reward_acc", "Reward and accuracy together", "10 steps"
    floor = view.limits["against_warn"]
    want = f"correlation above {floor:g}"
    step, reward, acc = view.column("step"), view.column("reward"), view.column("acc")
    both = np.isfinite(reward) & np.isfinite(acc)
    if both.sum() < 5:
        return unknown(name, title, gate, want, f"reward and accuracy are not both {'in this log' if not both.any() else 'known for 5 rows'}")
    step, reward, acc = step[both], reward[both], acc[both]
    if np.ptp(acc) == 0 or np.ptp(reward) == 0:
        what = "accuracy" if np.ptp(acc) == 0 else "reward"
        return unknown(name, title, gate, want, f"the {what} has not moved from {show_number(float(acc[0] if what == 'accuracy' else reward[0]))} yet")
    found = float(np.corrcoef(reward, acc)[0, 1])
    up, down = trend(step, reward), trend(step, acc)
    if up and down and up.direction == "up" and down.direction == "down":
        return Check(name, title, gate, "fail", found, want, "The reward rises while accuracy falls: the reward is being gamed.", "Read the best-rewarded answers; fix the reward.")
    if found < floor and abs(found) * np.sqrt(len(acc)) > 2:
        return Check(name, title, gate, "warn", found, want, "Reward and accuracy move against each other.", "Read answers with a high reward and a wrong result.")
    return Check(name, title, gate, "pass", found, want, "Reward and accuracy do not contradict each other.")


def rising(view: View) -> Check:
    """The reward rises, with its uncertainty."""
    name, title, gate, want = "trend", "Reward rising", "20 steps", "a slope above 0"
    step, reward = view.column("step"), view.column("reward")
    found = trend(step, reward)
    if view.done < 20 or found is None:
        lack = f"the reward is {_NOT_LOGGED}" if not np.isfinite(reward).any() else f"20 steps are needed, {view.done:,} done"
        return unknown(name, title, gate, want, lack)
    told = f"{found.slope:+.2g} a step (90 %: {found.low:+.2g} to {found.high:+.2g})".replace("-", "−")
    if found.direction == "up":
        return Check(name, title, gate, "pass", found.slope, want, f"The reward rises, {told}.")
    surely = trend(step, reward, level=0.99)
    if surely is not None and surely.direction == "down" and abs(found.slope) * found.steps > found.noise:
        return Check(name, title, gate, "fail", found.slope, want, f"The reward falls, {told}.", "Stop; check the sign of the reward, the learning rate and the KL term.")
    why = f"No rise can be told from the noise yet, {told}."
    return Check(name, title, gate, "warn", found.slope, want, why, "Go on to 50 steps, or look at reward and groups first.")


def cut(view: View) -> Check:
    """Few answers are cut at the limit."""
    name, title, gate = "truncation", "Answers end by themselves", "20 steps"
    warn, fail = view.limits["truncated_warn"], view.limits["truncated_fail"]
    want = f"at most {show_share(warn)} cut"
    values = view.late("truncated")
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the truncation rate is {_NOT_LOGGED}")
    late = float(np.mean(values))
    if late <= warn:
        return Check(name, title, gate, "pass", late, want, "Few answers are cut.")
    limit = view.analysis.growth.limit
    at = f" at {show_number(limit, 4)} tokens" if limit else ""
    do = "Raise the limit, or leave cut answers out of the loss; never shorten it now."
    if late < fail:
        return Check(name, title, gate, "warn", late, want, f"{show_share(late)} of the answers are cut{at}: their rewards say little.", do)
    return Check(name, title, gate, "fail", late, want, f"{show_share(late)} of the answers are cut{at}: nothing can be learned from answers that never end.", do)


def silent_groups(view: View) -> Check:
    """Groups differ in reward, so that there is something to learn."""
    name, title, gate = "signal", "Groups with signal", "20 steps"
    warn, fail = view.limits["silent_warn"], view.limits["silent_fail"]
    want = f"at most {show_share(warn)} of the groups with one reward for all answers"
    values = view.late("zero_std")
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the share of groups without signal is {_NOT_LOGGED}")
    late, early = float(np.mean(values)), float(np.mean(view.first("zero_std", 20)))
    if late <= warn:
        return Check(name, title, gate, "pass", late, want, "Most groups give a gradient.")
    told = f"In {show_share(late)} of the groups all answers have the same reward"
    if late <= fail:
        return Check(name, title, gate, "warn", late, want, f"{told}: that work teaches nothing.", "Leave out prompts that are always solved or never; look at the reward's steps.")
    if early <= fail:
        return Check(name, title, gate, "fail", late, want, f"{told}; it was {show_share(early)} at first. Nothing is left to learn here.", "Stop, or go on with harder prompts; read a few answers first.")
    return Check(name, title, gate, "fail", late, want, f"{told}, from the start: there is no gradient.", "Check the reward function and the difficulty of the prompts.")


def spread(view: View) -> Check:
    """The reward takes more than one value."""
    name, title, gate, want = "reward_variance", "Rewards differ", "20 steps", "a spread above 0"
    reward, std = view.finite("reward"), view.late("reward_std")
    if len(reward) < 2 and len(std) == 0:
        return unknown(name, title, gate, want, f"the reward is {_NOT_LOGGED}")
    if len(reward) >= 5 and np.ptp(reward) == 0 and not np.any(view.finite("reward_std") > 0):
        return Check(name, title, gate, "fail", 0.0, want, f"Every reward is {show_number(float(reward[0]))}.", "The reward function gives one value for all answers: fix it.")
    if len(std) >= 5 and np.max(std) == 0:
        return Check(name, title, gate, "warn", 0.0, want, f"Lately every answer gets the same reward ({show_number(float(view.late('reward')[-1]))}).", "Nothing is learned any more: harder prompts or a finer reward.")
    late = float(np.mean(std)) if len(std) else float(np.std(reward))
    return Check(name, title, gate, "pass", late, want, "Answers are told apart.")


def gradient(view: View) -> Check:
    """The gradient is there, and does not explode."""
    name, title, gate = "gradient", "A gradient in every step", "10 steps"
    warn, fail, spike = (view.limits[key] for key in ("still_warn", "still_fail", "spike_warn"))
    want = f"at most {show_share(warn)} of the steps without one"
    norm = view.finite("grad_norm")
    late = view.late("grad_norm")
    if len(norm) < 5:
        return unknown(name, title, gate, want, f"the gradient norm is {_NOT_LOGGED}" if not len(norm) else "fewer than 5 rows so far")
    still = float(np.mean(late == 0))
    silent = view.late("zero_std")
    some = len(silent) > 0 and float(np.mean(silent)) < view.limits["silent_fail"]  # rows are samples of the steps
    if still >= fail and not some:
        why = f"The gradient is exactly 0 in {show_share(still)} of the late rows: the model does not change any more."
        return Check(name, title, gate, "fail", still, want, why, "Look at rewards and advantages: without a difference inside a group there is no gradient.")
    if still >= warn:
        return Check(name, title, gate, "warn", still, want, f"The gradient is exactly 0 in {show_share(still)} of the late rows.", "Many groups give no signal: see there.")
    usual = float(np.median(norm[norm > 0])) if np.any(norm > 0) else 0.0
    if usual > 0 and float(np.max(late)) > spike * usual:
        return Check(name, title, gate, "warn", float(np.max(late)), want, f"A gradient norm of {show_number(float(np.max(late)))} against {show_number(usual)} usually.", "Check clipping and the learning rate.")
    return Check(name, title, gate, "pass", still, want, "Updates change the model.")


def stuck(view: View) -> Check:
    """No gradient, no signal and every answer at the limit: the run has diverged."""
    name, title, gate, want = "stuck", "Not stuck", "10 steps", "no stretch of steps with no gradient, no signal and all answers cut"
    norm, silent, cut_off = (view.column(each) for each in ("grad_norm", "zero_std", "truncated"))
    known = np.isfinite(norm) & np.isfinite(silent) & np.isfinite(cut_off)
    if known.sum() < 5:
        return unknown(name, title, gate, want, f"gradient norm, groups without signal and truncation are not all {'in this log' if not known.any() else 'known for 5 rows'}")
    dead = (norm == 0) & (silent == 1) & (cut_off == 1)
    late = dead[known][-max(5, int(known.sum()) // 4) :]
    share = float(np.mean(late))
    if share >= 0.9:
        first = view.column("step")[dead][0]
        return Check(name, title, gate, "fail", share, want, f"Since about step {first:.0f} every answer runs into the limit, all rewards are equal and the gradient is 0: the model has diverged.", "Stop. Lower the learning rate and go back to an earlier checkpoint.")
    return Check(name, title, gate, "pass", share, want, "The run moves.")
