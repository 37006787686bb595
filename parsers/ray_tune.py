"""Names of Ray Tune and RLlib in event files: `ray/tune/time_this_iter_s`.

Their step is `timesteps_total`, which stands still while no environment answers: the iteration is what a row is of. The
timers are means over several calls, and no times of one iteration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from parsers.tag_entries import Col, Table

PREFIX: Final = "ray/tune/"
#: The number of the iteration among its own metrics; Ray leaves `training_iteration` out of its event files.
COUNTER: Final = f"{PREFIX}iterations_since_restore"
_PLAIN: Final[Table] = {
    "time_this_iter_s": Col("step_s"),
    "time_since_restore": Col("elapsed_s"),
    "time_total_s": Col("elapsed_s", rank=1),
    **{
        f"{where}{name}": Col("reward", rank=rank)
        for where in ("", "env_runners/", "sampler_results/")
        for rank, name in enumerate(("episode_return_mean", "episode_reward_mean"))
    },
}
#: What each policy's learner tells: `info/learner/default_policy/learner_stats/kl`, `learners/default_policy/entropy`.
_LEARNER: Final = re.compile(r"(?:info/learner|learners)/[^/]+/(?:learner_stats/)?(\w+)")
_LEARNED: Final[Table] = {
    "total_loss": Col("loss"),
    "policy_loss": Col("loss", rank=1),
    "kl": Col("kl"),
    "mean_kl_loss": Col("kl", rank=1),
    "entropy": Col("entropy"),
    "grad_gnorm": Col("grad_norm"),
    "cur_lr": Col("lr"),
}


def column(name: str) -> Col | None:
    """The column of a name without its prefix."""
    learned = _LEARNER.fullmatch(name)
    found = _PLAIN.get(name) if learned is None else _LEARNED.get(learned[1])
    return found if isinstance(found, Col) else None


def iteration(tags: Mapping[str, tuple[float, float | None]]) -> int | None:
    """The iteration that these metrics are of, None where they are none of Ray Tune's."""
    count = tags.get(COUNTER)
    return None if count is None or not 0 <= count[0] < 2**53 else int(count[0])
