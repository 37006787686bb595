"""What the start-up banner plans, and what that tells of the dicts behind it: their epochs become steps.

transformers, Unsloth and LLaMA-Factory print the number of examples, epochs and optimization steps before training. Where
the console has no bar, the epoch of the dicts and the steps of an epoch are the only way from a dict to its step.
(transformers/trainer.py: with `max_steps` the epochs are those steps rounded up to whole epochs.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: The steps of an epoch are known up to one step, or to this share where there are few.
_EPOCH_ERROR: Final = 0.06


@dataclass(slots=True)
class Plan:
    """Examples, epochs, sequences a step and steps as announced; None where they are not."""

    examples: int | None = None
    epochs: int | None = None
    batch: int | None = None
    steps: int | None = None
    _seen: int | None = None

    def take(self, numbers: Iterable[tuple[str, int]]) -> Plan:
        """Take a banner line's numbers: this plan, or the next one once a training announces other epochs.

        An evaluation names its examples too, but no epochs behind them.
        """
        plan = self
        for name, number in numbers:
            if name == "num examples":
                plan._seen = number
            elif name == "num epochs":
                if plan.epochs is not None and (plan.examples, plan.epochs) != (plan._seen, number):
                    plan = Plan(_seen=plan._seen)
                plan.examples, plan.epochs = plan._seen, number
            elif name in {"total train batch size", "total batch size"}:
                plan.batch = number
            elif name in {"total optimization steps", "total steps"}:
                plan.steps = number
        return plan

    def steps_an_epoch(self, steps: int | None) -> tuple[float, float] | None:
        """The least and the most steps that an epoch of this plan has; `steps`: the bar's total, where there is a bar."""
        planned = steps or self.steps
        if planned is None or self.epochs is None:
            return None
        least, most = planned / self.epochs, planned / (self.epochs - 1) if self.epochs > 1 else math.inf
        if self.examples is not None and self.batch is not None:
            low, high = _about(self.examples / self.batch)  # not so where a prompt is answered several times
            if low <= _about(most)[1] and high >= _about(least)[0]:
                return low, high
        return _about(least)


def _about(steps: float) -> tuple[float, float]:
    """Whether the last, smaller batch of an epoch counts differs between versions."""
    error = min(1.0, _EPOCH_ERROR * steps)
    return steps - error, steps + error


def interval_by_epochs(epochs: Sequence[float], an_epoch: tuple[float, float]) -> tuple[int, int, bool] | None:
    """The least and the most steps between two dicts of these epochs, and whether step 1 was logged too.

    None when no whole number of steps fits.
    """
    if not epochs or any(after < before for before, after in pairwise(epochs)):
        return None
    low, high = an_epoch
    first_step = len(epochs) > 1 and epochs[0] * low < 1.5 < 2 < (epochs[1] - epochs[0]) * high
    from_zero = first_step or len(epochs) == 1
    begin, unsure = (0.0, 0.0) if from_zero else (epochs[0], half_digit(epochs[0]))
    count = max(len(epochs) - 1, 1)
    a_row, error = (epochs[-1] - begin) / count, (unsure + half_digit(epochs[-1])) / count
    least, most = math.ceil((a_row - error) * low), math.floor((a_row + error) * high)
    return (max(least, 1), most, first_step) if most >= max(least, 1) else None


def half_digit(epoch: float) -> float:
    """Half the last printed digit of an epoch: two decimals, or four significant digits."""
    return 0.005 if round(epoch, 2) == epoch else 5e-4 * epoch
