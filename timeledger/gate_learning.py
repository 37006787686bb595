"""Checks of learning: reward and accuracy together, a rising reward, answers that end, groups that differ, a gradient."""

from __future__ import annotations

import numpy as np

from timeledger.gates import Check, Gate, View
from timeledger.said import say
from timeledger.trend import trend
from timeledger.units import show_number, show_share


def together(view: View) -> Check:
    """Reward and accuracy move the same way."""
    floor = view.limits["against_warn"]
    gate = Gate(
        "reward_acc",
        say("Reward and accuracy together"),
        say("10 steps"),
        say("correlation above {floor}", floor=f"{floor:g}"),
    )
    step, reward, acc = view.column("step"), view.column("reward"), view.column("acc")
    both = np.isfinite(reward) & np.isfinite(acc)
    if both.sum() < 5:
        return gate.unknown(
            say("reward and accuracy are not both known for 5 rows")
            if both.any()
            else say("reward and accuracy are not both in this log")
        )
    step, reward, acc = step[both], reward[both], acc[both]
    if np.ptp(acc) == 0 or np.ptp(reward) == 0:
        why = say("the reward has not moved from {value} yet", value=show_number(float(reward[0])))
        if np.ptp(acc) == 0:
            why = say("the accuracy has not moved from {value} yet", value=show_number(float(acc[0])))
        return gate.unknown(why)
    found = float(np.corrcoef(reward, acc)[0, 1])
    up, down = trend(step, reward), trend(step, acc)
    if up and down and up.direction == "up" and down.direction == "down":
        return gate.fails(
            found,
            say("The reward rises while accuracy falls: the reward is being gamed."),
            say("Read the best-rewarded answers; fix the reward."),
        )
    if found < floor and abs(found) * np.sqrt(len(acc)) > 2:
        return gate.warns(
            found,
            say("Reward and accuracy move against each other."),
            say("Read answers with a high reward and a wrong result."),
        )
    return gate.passes(found, say("Reward and accuracy do not contradict each other."))


def rising(view: View) -> Check:
    """The reward rises, with its uncertainty."""
    gate = Gate("trend", say("Reward rising"), say("20 steps"), say("a slope above 0"))
    step, reward = view.column("step"), view.column("reward")
    found = trend(step, reward)
    if view.done < 20 or found is None:
        lack = (
            say("the reward is not in this log")
            if not np.isfinite(reward).any()
            else say("20 steps are needed, {done} done", done=f"{view.done:,}")
        )
        return gate.unknown(lack)
    slope, low, high = (f"{each:+.2g}".replace("-", "−") for each in (found.slope, found.low, found.high))
    told = say("{slope} a step (90 %: {low} to {high})", slope=slope, low=low, high=high)
    if found.direction == "up":
        return gate.passes(found.slope, say("The reward rises, {slope}.", slope=told))
    surely = trend(step, reward, level=0.99)
    if surely is not None and surely.direction == "down" and abs(found.slope) * found.steps > found.noise:
        return gate.fails(
            found.slope,
            say("The reward falls, {slope}.", slope=told),
            say("Stop; check the sign of the reward, the learning rate and the KL term."),
        )
    why = say("No rise can be told from the noise yet, {slope}.", slope=told)
    return gate.warns(found.slope, why, say("Go on to 50 steps, or look at reward and groups first."))


def cut(view: View) -> Check:
    """Few answers are cut at the limit."""
    warn, fail = view.limits["truncated_warn"], view.limits["truncated_fail"]
    gate = Gate(
        "truncation",
        say("Answers end by themselves"),
        say("20 steps"),
        say("at most {share} cut", share=show_share(warn)),
    )
    values = view.late("truncated")
    if len(values) == 0:
        return gate.unknown(say("the truncation rate is not in this log"))
    late = float(np.mean(values))
    if late <= warn:
        return gate.passes(late, say("Few answers are cut."))
    limit = view.analysis.growth.limit
    told = say("{share} of the answers are cut", share=show_share(late))
    if limit:
        at = show_number(limit, 4)
        told = say("{share} of the answers are cut at {limit} tokens", share=show_share(late), limit=at)
    do = say("Raise the limit, or leave cut answers out of the loss; never shorten it now.")
    if late < fail:
        return gate.warns(late, say("{told}: their rewards say little.", told=told), do)
    return gate.fails(late, say("{told}: nothing can be learned from answers that never end.", told=told), do)


def silent_groups(view: View) -> Check:
    """Groups differ in reward, so that there is something to learn."""
    warn, fail = view.limits["silent_warn"], view.limits["silent_fail"]
    gate = Gate(
        "signal",
        say("Groups with signal"),
        say("20 steps"),
        say("at most {share} of the groups with one reward for all answers", share=show_share(warn)),
    )
    values = view.late("zero_std")
    if len(values) == 0:
        return gate.unknown(say("the share of groups without signal is not in this log"))
    late, early = float(np.mean(values)), float(np.mean(view.first("zero_std", 20)))
    if late <= warn:
        return gate.passes(late, say("Most groups give a gradient."))
    told = say("In {share} of the groups all answers have the same reward", share=show_share(late))
    if late <= fail:
        return gate.warns(
            late,
            say("{told}: that work teaches nothing.", told=told),
            say("Leave out prompts that are always solved or never; look at the reward's steps."),
        )
    if early <= fail:
        return gate.fails(
            late,
            say("{told}; it was {share} at first. Nothing is left to learn here.", told=told, share=show_share(early)),
            say("Stop, or go on with harder prompts; read a few answers first."),
        )
    return gate.fails(
        late,
        say("{told}, from the start: there is no gradient.", told=told),
        say("Check the reward function and the difficulty of the prompts."),
    )


def spread(view: View) -> Check:
    """The reward takes more than one value."""
    gate = Gate("reward_variance", say("Rewards differ"), say("20 steps"), say("a spread above 0"))
    reward, std = view.finite("reward"), view.late("reward_std")
    if len(reward) < 2 and len(std) == 0:
        return gate.unknown(say("the reward is not in this log"))
    if len(reward) >= 5 and np.ptp(reward) == 0 and not np.any(view.finite("reward_std") > 0):
        return gate.fails(
            0.0,
            say("Every reward is {reward}.", reward=show_number(float(reward[0]))),
            say("The reward function gives one value for all answers: fix it."),
        )
    if len(std) >= 5 and np.max(std) == 0:
        return gate.warns(
            0.0,
            say(
                "Lately every answer gets the same reward ({reward}).",
                reward=show_number(float(view.late("reward")[-1])),
            ),
            say("Nothing is learned any more: harder prompts or a finer reward."),
        )
    late = float(np.mean(std)) if len(std) else float(np.std(reward))
    return gate.passes(late, say("Answers are told apart."))


def gradient(view: View) -> Check:
    """The gradient is there, and does not explode."""
    warn, fail, spike = (view.limits[key] for key in ("still_warn", "still_fail", "spike_warn"))
    gate = Gate(
        "gradient",
        say("A gradient in every step"),
        say("10 steps"),
        say("at most {share} of the steps without one", share=show_share(warn)),
    )
    norm = view.finite("grad_norm")
    late = view.late("grad_norm")
    if len(norm) < 5:
        return gate.unknown(
            say("the gradient norm is not in this log") if not len(norm) else say("fewer than 5 rows so far")
        )
    still = float(np.mean(late == 0))
    silent = view.late("zero_std")
    some = len(silent) > 0 and float(np.mean(silent)) < view.limits["silent_fail"]  # rows are samples of the steps
    if still >= fail and not some:
        why = say(
            "The gradient is exactly 0 in {share} of the late rows: the model does not change any more.",
            share=show_share(still),
        )
        return gate.fails(
            still, why, say("Look at rewards and advantages: without a difference inside a group there is no gradient.")
        )
    if still >= warn:
        return gate.warns(
            still,
            say("The gradient is exactly 0 in {share} of the late rows.", share=show_share(still)),
            say("Many groups give no signal: see there."),
        )
    usual = float(np.median(norm[norm > 0])) if np.any(norm > 0) else 0.0
    if usual > 0 and float(np.max(late)) > spike * usual:
        return gate.warns(
            float(np.max(late)),
            say(
                "A gradient norm of {norm} against {usual} usually.",
                norm=show_number(float(np.max(late))),
                usual=show_number(usual),
            ),
            say("Check clipping and the learning rate."),
        )
    return gate.passes(still, say("Updates change the model."))


def stuck(view: View) -> Check:
    """No gradient, no signal and every answer at the limit: the run has diverged."""
    gate = Gate(
        "stuck",
        say("Not stuck"),
        say("10 steps"),
        say("no stretch of steps with no gradient, no signal and all answers cut"),
    )
    norm, silent, cut_off = (view.column(each) for each in ("grad_norm", "zero_std", "truncated"))
    known = np.isfinite(norm) & np.isfinite(silent) & np.isfinite(cut_off)
    if known.sum() < 5:
        return gate.unknown(
            say("gradient norm, groups without signal and truncation are not all known for 5 rows")
            if known.any()
            else say("gradient norm, groups without signal and truncation are not all in this log")
        )
    dead = (norm == 0) & (silent == 1) & (cut_off == 1)
    late = dead[known][-max(5, int(known.sum()) // 4) :]
    share = float(np.mean(late))
    if share >= 0.9:
        first = view.column("step")[dead][0]
        return gate.fails(
            share,
            say(
                "Since about step {step} every answer runs into the limit, all rewards are equal and the gradient is 0: the model has diverged.",
                step=f"{first:.0f}",
            ),
            say("Stop. Lower the learning rate and go back to an earlier checkpoint."),
        )
    return gate.passes(share, say("The run moves."))
