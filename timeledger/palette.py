"""How phases are called and coloured, the same in every view, report and terminal.

Colours hold against a white and a near-black ground and stay apart for colour-blind readers; phases that share a
colour differ by hatching, so colour is never the only sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from timeledger.schema import PHASE_NAMES, ROLLUP


@dataclass(frozen=True, slots=True)
class Look:
    """A phase as shown: its label, its colour on a light and on a dark ground, its hatching ("" is none)."""

    label: str
    light: str
    dark: str
    hatch: str = ""

    def colour(self, dark: bool) -> str:
        """The colour for the ground in use."""
        return self.dark if dark else self.light


_SAMPLING = ("#4477AA", "#6699CC")
_TRAINING = ("#E8702A", "#F4A261")
_LOGPROBS = ("#AA3377", "#CC6699")
_CRITIC = ("#882255", "#B0557F")
_REWARD = ("#A3951B", "#DDCC77")
_SYNC = ("#009988", "#44BB99")
_SLEEP = ("#1F9BCB", "#77CCEE")
_EVALUATION = ("#7A7A7A", "#A0A0A0")
_CHECKPOINT = ("#555555", "#C0C0C0")
_GREY = ("#8A8A8A", "#9A9A9A")

#: Canonical phases, the lesson's parts, and the parts of a calculation or a difference.
LOOKS: Final[dict[str, Look]] = {
    "rollout": Look("Sampling", *_SAMPLING),
    "sampling": Look("Sampling", *_SAMPLING),
    "reward": Look("Reward", *_REWARD),
    "log-probs": Look("Log-probs", *_LOGPROBS),
    "old_logprob": Look("Old log-probs", *_LOGPROBS),
    "ref_logprob": Look("Reference log-probs", *_LOGPROBS, "/"),
    "values": Look("Critic values", *_CRITIC, "/"),
    "advantage": Look("Advantages", *_REWARD, "/"),
    "update": Look("Forward-backward", *_TRAINING),
    "forward-backward": Look("Forward-backward", *_TRAINING),
    "update_critic": Look("Critic training", *_CRITIC),
    "weight_sync": Look("Weight sync", *_SYNC),
    "weight sync": Look("Weight sync", *_SYNC),
    "sleep_wake": Look("Sleep/wake", *_SLEEP),
    "sleep/wake": Look("Sleep/wake", *_SLEEP),
    "fixed": Look("Fixed overhead", *_SYNC),
    "per token": Look("Follows the answers", *_SAMPLING, "/"),
    "fixed overhead": Look("Fixed overhead", *_SYNC),
    "data": Look("Data loading", *_SLEEP, "/"),
    "evaluation": Look("Evaluation", *_EVALUATION),
    "checkpoint": Look("Checkpoints", *_CHECKPOINT),
    "wait": Look("Waiting", *_GREY, "/"),
    "waiting": Look("Waiting", *_GREY, "/"),
    "other": Look("Other", *_GREY, "."),
    "unexplained": Look("Unexplained", *_GREY),
}
#: Order of drawing and of tables: a step's own order, the unexplained rest last.
ORDER: Final = (*PHASE_NAMES, "unexplained")
#: The lesson's parts stand where the first of their phases stands.
_PART_OF: Final = {part: phase for phase, part in reversed(ROLLUP.items()) if part not in ORDER} | {
    "fixed": "weight_sync",
    "fixed overhead": "weight_sync",
    "log-probs": "old_logprob",
}


def look(phase: str) -> Look:
    """How a phase is shown; a name that is not known keeps itself as label, in grey."""
    return LOOKS.get(phase) or Look(phase.replace("_", " "), *_GREY, "x")


def place(phase: str) -> tuple[int, str]:
    """Sort key: the place of a phase in a step; unknown names come before "unexplained", by name."""
    known = phase if phase in ORDER else _PART_OF.get(phase)
    return (2 * ORDER.index(known), phase) if known else (2 * len(PHASE_NAMES) - 1, phase)
