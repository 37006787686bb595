"""Every word of the pages with the field's own term and its meaning, for the Help view and for hovers. No Streamlit here."""

from __future__ import annotations

from typing import Final

from dashboard.language import mark, t

#: What the page says -> (the field's own term, what it means).
WORDS: Final = (
    (mark("Step now"), "step time", mark("Seconds of one optimizer step, as an ordinary step takes now; generation included.")),
    (mark("Sampling"), "rollout, generation", mark("Making the answers, token by token. Usually 60 to 80 % of a step.")),
    (mark("Forward-backward"), "update", mark("Training on the answers: forward and backward passes, and the optimizer.")),
    (mark("Old log-probs"), "old_log_prob", mark("Scoring the answers with the policy that made them.")),
    (mark("Reference log-probs"), "ref_log_prob", mark("Scoring the answers with the reference model, for the KL term.")),
    (mark("Weight sync"), "weight sync", mark("Giving the new weights to the inference engine.")),
    (mark("Sleep/wake"), "colocate switch", mark("The engine frees its memory for training and takes it back.")),
    (mark("Fixed overhead"), "intercept", mark("The part of a step that does not follow the answers' length. A larger batch dilutes it.")),
    (mark("Unexplained"), "residual", mark("Time of a step that the log does not account for. Never shown as zero.")),
    (mark("Answers"), "response length", mark("Mean length of the answers in tokens, late in the run.")),
    (mark("cut at the limit"), "truncation rate, clip ratio", mark("Share of answers that reached the limit and were cut.")),
    (mark("reward"), "reward", mark("Mean reward of a step.")),
    (mark("accuracy"), "acc", mark("Share of right answers.")),
    (mark("reward spread (std)"), "reward_std", mark("How far rewards differ inside a group. None means no signal.")),
    (mark("advantage spread (std)"), "adv_std", mark("Standard deviation of the advantages; near 1 when GRPO normalises them.")),
    (mark("policy ratio (near 1)"), "importance ratio", mark("New over old probability of the answers' tokens; far from 1 means the policies have drifted apart.")),
    (mark("zero-signal groups"), "frac_reward_zero_std", mark("Groups whose answers all got the same reward: they teach nothing.")),
    ("KL", "KL", mark("Distance from the reference model.")),
    (mark("entropy"), "entropy", mark("How undecided the policy is; near zero means no exploration is left.")),
    (mark("KV cache"), "KV cache", mark("Memory of the engine for running answers; full means that requests wait.")),
    (mark("GPU-hours"), "GPU-hours", mark("GPUs times hours, idle or not.")),
    (mark("Lost time"), "lost time", mark("Pauses, and gaps between a crash and its restart. Counted as elapsed, never projected.")),
    (mark("Worst case"), "worst case", mark("The end if every answer reached the limit from now on.")),
)  # fmt: skip


def meaning(shown: str) -> str:
    """What a word means, as the page shows it; empty for a word that is not here."""
    return next((f"{term}{t(': ')}{t(told)}" for word, term, told in WORDS if t(word) == shown), "")
