"""Metrics without a step number: when they can only be a step's, and what a time beside them was."""

from __future__ import annotations

from typing import Final

from parsers import fields
from parsers.sorting import Sorted

#: Columns that nothing but a training step has.
_OWN: Final = frozenset({"truncated", "zero_std", "clipfrac", "kl", "adv_mean", "adv_std", "len_max", "grad_norm"})


def is_certain(values: Sorted) -> bool:
    """True when even a lone value can only be a step's: a share of truncated answers, an explicit mean, a named phase."""
    if any(column in _OWN for column in values.columns) or "reward" in values.lists:
        return True
    if any(
        "mean" in fields.spell(key)
        for column, key in values.keys.items()
        if column in {"reward", "len_mean", "entropy", "loss", "acc"}
    ):
        return True
    return len(values.timed) > 1 or any(len(key) > 5 for key in values.timed)


def take_generation(values: Sorted) -> None:
    """A time beside a list of rewards, without a step, is what the generating process took for them."""
    if "reward" in values.lists and len(values.clocks) == 1 and not values.phases:
        name, seconds = values.clocks.popitem()
        values.phases[name.rsplit(":", 1)[-1]] = ("rollout", seconds)
