"""Checks of learning: reward and accuracy together, a rising reward, answers that end, groups that differ, a gradient."""

from __future__ import annotations

import numpy as np

from timeledger.gate_first import NOT_LOGGED, unknown
from timeledger.gates import Check, View
from timeledger.trend import trend
from timeledger.units import show_number, show_share


def together(view: View) -> Check:
    """Reward and accuracy move the same way."""
    name, title, gate = "reward_acc", "Reward and accuracy together", "10 steps"
    floor = view.limits["against_warn"]
    want = f"correlation above {floor:g}"
    step, reward, acc = view.column("step"), view.column("reward"), view.column("acc")
    both = np.isfinite(reward) & np.isfinite(acc)
    if both.sum() < 5:
        return unknown(
            name,
            title,
            gate,
            want,
            f"reward and accuracy are not both {'in this log' if not both.any() else 'known for 5 rows'}",
        )
    step, reward, acc = step[both], reward[both], acc[both]
    if np.ptp(acc) == 0 or np.ptp(reward) == 0:
        what = "accuracy" if np.ptp(acc) == 0 else "reward"
        return unknown(
            name,
            title,
            gate,
            want,
            f"the {what} has not moved from {show_number(float(acc[0] if what == 'accuracy' else reward[0]))} yet",
        )
    found = float(np.corrcoef(reward, acc)[0, 1])
    up, down = trend(step, reward), trend(step, acc)
    if up and down and up.direction == "up" and down.direction == "down":
        return Check(
            name,
            title,
            gate,
            "fail",
            found,
            want,
            "The reward rises while accuracy falls: the reward is being gamed.",
            "Read the best-rewarded answers; fix the reward.",
        )
    if found < floor and abs(found) * np.sqrt(len(acc)) > 2:
        return Check(
            name,
            title,
            gate,
            "warn",
            found,
            want,
            "Reward and accuracy move against each other.",
            "Read answers with a high reward and a wrong result.",
        )
    return Check(name, title, gate, "pass", found, want, "Reward and accuracy do not contradict each other.")


def rising(view: View) -> Check:
    """The reward rises, with its uncertainty."""
    name, title, gate, want = "trend", "Reward rising", "20 steps", "a slope above 0"
    step, reward = view.column("step"), view.column("reward")
    found = trend(step, reward)
    if view.done < 20 or found is None:
        lack = (
            f"the reward is {NOT_LOGGED}"
            if not np.isfinite(reward).any()
            else f"20 steps are needed, {view.done:,} done"
        )
        return unknown(name, title, gate, want, lack)
    told = f"{found.slope:+.2g} a step (90 %: {found.low:+.2g} to {found.high:+.2g})".replace("-", "−")
    if found.direction == "up":
        return Check(name, title, gate, "pass", found.slope, want, f"The reward rises, {told}.")
    surely = trend(step, reward, level=0.99)
    if surely is not None and surely.direction == "down" and abs(found.slope) * found.steps > found.noise:
        return Check(
            name,
            title,
            gate,
            "fail",
            found.slope,
            want,
            f"The reward falls, {told}.",
            "Stop; check the sign of the reward, the learning rate and the KL term.",
        )
    why = f"No rise can be told from the noise yet, {told}."
    return Check(
        name, title, gate, "warn", found.slope, want, why, "Go on to 50 steps, or look at reward and groups first."
    )


def cut(view: View) -> Check:
    """Few answers are cut at the limit."""
    name, title, gate = "truncation", "Answers end by themselves", "20 steps"
    warn, fail = view.limits["truncated_warn"], view.limits["truncated_fail"]
    want = f"at most {show_share(warn)} cut"
    values = view.late("truncated")
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the truncation rate is {NOT_LOGGED}")
    late = float(np.mean(values))
    if late <= warn:
        return Check(name, title, gate, "pass", late, want, "Few answers are cut.")
    limit = view.analysis.growth.limit
    at = f" at {show_number(limit, 4)} tokens" if limit else ""
    do = "Raise the limit, or leave cut answers out of the loss; never shorten it now."
    if late < fail:
        return Check(
            name,
            title,
            gate,
            "warn",
            late,
            want,
            f"{show_share(late)} of the answers are cut{at}: their rewards say little.",
            do,
        )
    return Check(
        name,
        title,
        gate,
        "fail",
        late,
        want,
        f"{show_share(late)} of the answers are cut{at}: nothing can be learned from answers that never end.",
        do,
    )


def silent_groups(view: View) -> Check:
    """Groups differ in reward, so that there is something to learn."""
    name, title, gate = "signal", "Groups with signal", "20 steps"
    warn, fail = view.limits["silent_warn"], view.limits["silent_fail"]
    want = f"at most {show_share(warn)} of the groups with one reward for all answers"
    values = view.late("zero_std")
    if len(values) == 0:
        return unknown(name, title, gate, want, f"the share of groups without signal is {NOT_LOGGED}")
    late, early = float(np.mean(values)), float(np.mean(view.first("zero_std", 20)))
    if late <= warn:
        return Check(name, title, gate, "pass", late, want, "Most groups give a gradient.")
    told = f"In {show_share(late)} of the groups all answers have the same reward"
    if late <= fail:
        return Check(
            name,
            title,
            gate,
            "warn",
            late,
            want,
            f"{told}: that work teaches nothing.",
            "Leave out prompts that are always solved or never; look at the reward's steps.",
        )
    if early <= fail:
        return Check(
            name,
            title,
            gate,
            "fail",
            late,
            want,
            f"{told}; it was {show_share(early)} at first. Nothing is left to learn here.",
            "Stop, or go on with harder prompts; read a few answers first.",
        )
    return Check(
        name,
        title,
        gate,
        "fail",
        late,
        want,
        f"{told}, from the start: there is no gradient.",
        "Check the reward function and the difficulty of the prompts.",
    )


def spread(view: View) -> Check:
    """The reward takes more than one value."""
    name, title, gate, want = "reward_variance", "Rewards differ", "20 steps", "a spread above 0"
    reward, std = view.finite("reward"), view.late("reward_std")
    if len(reward) < 2 and len(std) == 0:
        return unknown(name, title, gate, want, f"the reward is {NOT_LOGGED}")
    if len(reward) >= 5 and np.ptp(reward) == 0 and not np.any(view.finite("reward_std") > 0):
        return Check(
            name,
            title,
            gate,
            "fail",
            0.0,
            want,
            f"Every reward is {show_number(float(reward[0]))}.",
            "The reward function gives one value for all answers: fix it.",
        )
    if len(std) >= 5 and np.max(std) == 0:
        return Check(
            name,
            title,
            gate,
            "warn",
            0.0,
            want,
            f"Lately every answer gets the same reward ({show_number(float(view.late('reward')[-1]))}).",
            "Nothing is learned any more: harder prompts or a finer reward.",
        )
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
        return unknown(
            name,
            title,
            gate,
            want,
            f"the gradient norm is {NOT_LOGGED}" if not len(norm) else "fewer than 5 rows so far",
        )
    still = float(np.mean(late == 0))
    silent = view.late("zero_std")
    some = len(silent) > 0 and float(np.mean(silent)) < view.limits["silent_fail"]  # rows are samples of the steps
    if still >= fail and not some:
        why = f"The gradient is exactly 0 in {show_share(still)} of the late rows: the model does not change any more."
        return Check(
            name,
            title,
            gate,
            "fail",
            still,
            want,
            why,
            "Look at rewards and advantages: without a difference inside a group there is no gradient.",
        )
    if still >= warn:
        return Check(
            name,
            title,
            gate,
            "warn",
            still,
            want,
            f"The gradient is exactly 0 in {show_share(still)} of the late rows.",
            "Many groups give no signal: see there.",
        )
    usual = float(np.median(norm[norm > 0])) if np.any(norm > 0) else 0.0
    if usual > 0 and float(np.max(late)) > spike * usual:
        return Check(
            name,
            title,
            gate,
            "warn",
            float(np.max(late)),
            want,
            f"A gradient norm of {show_number(float(np.max(late)))} against {show_number(usual)} usually.",
            "Check clipping and the learning rate.",
        )
    return Check(name, title, gate, "pass", still, want, "Updates change the model.")


def stuck(view: View) -> Check:
    """No gradient, no signal and every answer at the limit: the run has diverged."""
    name, title, gate, want = (
        "stuck",
        "Not stuck",
        "10 steps",
        "no stretch of steps with no gradient, no signal and all answers cut",
    )
    norm, silent, cut_off = (view.column(each) for each in ("grad_norm", "zero_std", "truncated"))
    known = np.isfinite(norm) & np.isfinite(silent) & np.isfinite(cut_off)
    if known.sum() < 5:
        return unknown(
            name,
            title,
            gate,
            want,
            f"gradient norm, groups without signal and truncation are not all {'in this log' if not known.any() else 'known for 5 rows'}",
        )
    dead = (norm == 0) & (silent == 1) & (cut_off == 1)
    late = dead[known][-max(5, int(known.sum()) // 4) :]
    share = float(np.mean(late))
    if share >= 0.9:
        first = view.column("step")[dead][0]
        return Check(
            name,
            title,
            gate,
            "fail",
            share,
            want,
            f"Since about step {first:.0f} every answer runs into the limit, all rewards are equal and the gradient is 0: the model has diverged.",
            "Stop. Lower the learning rate and go back to an earlier checkpoint.",
        )
    return Check(name, title, gate, "pass", share, want, "The run moves.")
