"""How sure the calculator is: each input's range carried through to the total, in logs, and what stays assumed."""

from __future__ import annotations

import math
from typing import Final

from timeledger import units
from timeledger.plan_inputs import LABELS, NUMBERS, WHOLE, Bounds, PlanInputs
from timeledger.results import Span
from timeledger.said import say
from timeledger.step_cost import SCALING_RANGE, step_cost, total_s

#: How far a calculation from measured throughputs and a late mean length may be off; the calculator's interval.
ASSUMED_ERROR: Final = 0.30
#: The quantities whose errors that is made of.
_ASSUMED: Final = ("mean_length", "gen_tok_s", "train_tok_s", "fixed_s")


def interval(inputs: PlanInputs) -> tuple[Span, tuple[str, ...]]:
    """The total with its interval, and what the interval is made of, in words.

    Each range moves its input alone; the moves are independent, so their logs add up in squares, up and down apart.
    What has no range is as unsure as the calculator is in general, by its weight in the step.
    """
    mid = total_s(inputs)
    up = down = 0.0
    words: list[str] = []
    for name, ends in _ranges(inputs).items():
        least, most = _moved(inputs, name, ends, mid)
        up, down = math.hypot(up, most), math.hypot(down, least)
        if max(least, most) >= 0.005:
            words.append(
                say(
                    "{input} {range}: {low} to {high}",
                    input=LABELS[name], range=_show(ends), low=_share(-least), high=_share(most),
                )
            )  # fmt: skip
    if inputs.spread is not None:
        low, high = (math.log(max(each, 1e-9)) for each in inputs.spread)
        up, down = math.hypot(up, max(high, 0.0)), math.hypot(down, min(low, 0.0))
        swing = {"low": _share(min(low, 0.0)), "high": _share(max(high, 0.0))}
        words.append(say("the measured run's own spread: {low} to {high}", **swing))
    rest = _assumed(inputs)
    if rest > 0:
        up = math.hypot(up, math.log(1 + ASSUMED_ERROR) * rest)
        down = math.hypot(down, math.log(1 - ASSUMED_ERROR) * rest)
        words.append(say("what has no range, assumed: ±{share}", share=units.show_share(ASSUMED_ERROR * rest)))
    return Span(mid * math.exp(-down), mid, mid * math.exp(up)), tuple(words)


def _ranges(inputs: PlanInputs) -> dict[str, Bounds]:
    """Typed and measured ranges, and those that follow from other inputs."""
    found = {name: ends for name, ends in inputs.ranges.items() if name in NUMBERS}
    if "length_growth" not in found and inputs.length_growth is not None and inputs.length_growth != 1:
        found["length_growth"] = (min(1.0, inputs.length_growth), max(1.0, inputs.length_growth))
    if "mean_length" not in found and inputs.first_length is not None:
        # Early steps are as short as the start's; the plan stands on the late value.
        mean = (inputs.first_length + inputs.mean_length) / 2
        found["mean_length"] = (min(mean, inputs.mean_length), max(mean, inputs.mean_length))
    scaled = inputs.gpus is not None and (inputs.gen_gpus or inputs.measured_gpus not in {None, inputs.gpus})
    if scaled and inputs.gpu_scaling is None and "gpu_scaling" not in found:
        found["gpu_scaling"] = SCALING_RANGE
    return found


def _moved(inputs: PlanInputs, name: str, ends: Bounds, mid: float) -> tuple[float, float]:
    """How far (in logs, both at least 0) the total falls and rises when one input goes to the ends of its range."""
    totals = [total_s(inputs.model_copy(update={name: round(end) if name in WHOLE else end})) for end in ends]
    logs = [math.log(max(total, 1e-12) / mid) if mid > 0 else 0.0 for total in totals]
    return -min(*logs, 0.0), max(*logs, 0.0)


def _assumed(inputs: PlanInputs) -> float:
    """The part (0..1) of the calculator's general error that no range and no run covers, by weight in the step."""
    seconds = step_cost(inputs).shown
    sampling, training = seconds.get("sampling", 0.0), seconds.get("forward-backward", 0.0)
    fixed = math.fsum(seconds.get(name, 0.0) for name in ("fixed overhead", "weight sync", "sleep/wake"))
    logprob = seconds.get("log-probs", 0.0)
    weight = dict(zip(_ASSUMED, (sampling + training + logprob, sampling, training + logprob, fixed), strict=True))
    whole = math.hypot(*weight.values())
    if whole <= 0:
        return 0.0 if inputs.spread is not None else 1.0
    covered = {name for name in _ASSUMED if name in inputs.ranges}
    if inputs.spread is not None:
        covered |= {name for name in _ASSUMED if inputs.source(name).kind != "assumed" or _from_run(inputs, name)}
    return math.hypot(*(each for name, each in weight.items() if name not in covered)) / whole


def _from_run(inputs: PlanInputs, name: str) -> bool:
    """Assumed only in how it splits a step that was measured."""
    return inputs.source(name).text not in {"default", "typed in"}


def _show(ends: Bounds) -> str:
    low, high = (units.show_number(end) for end in ends)
    return f"{low}..{high}"


def _share(log: float) -> str:
    change = units.show_share(abs(math.expm1(log)))
    return say("+{share}", share=change) if log >= 0 else say("−{share}", share=change)
