"""One late step of a run, shared out into the calculator's parts: measured phases first, then the fit, then the usual shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from timeledger import units
from timeledger.results import Analysis
from timeledger.run import Kind
from timeledger.said import say

#: Usual shares of a step where nothing is known: sampling takes 60-80 % of the part that grows with the tokens.
USUAL: Final = {"sampling": 0.60, "training": 0.25, "fixed": 0.15}
_TRAINING: Final = ("update", "update_critic", "values", "advantage")
_LOGPROB: Final = ("old_logprob", "ref_logprob")
_EXTRA: Final = ("evaluation", "checkpoint")
#: Sampling by a measured rate must leave this share of the step to the rest, or the rate is not this job's.
_LEAST_REST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Split:
    """Seconds of one step by part; `kinds` and `words` say for sampling, training and fixed how each is known.

    `fixed_s` holds `sync_s` and `sleep_wake_s`. `overlapped`: sampling and training run at the same time, so that only
    the longer of them counts.
    """

    sampling_s: float
    training_s: float
    fixed_s: float
    kinds: dict[str, Kind]
    words: dict[str, str]
    logprob_s: float = 0.0
    sync_s: float = 0.0
    sleep_wake_s: float = 0.0
    reward_s: float = 0.0
    overlapped: bool = False
    note: str = ""


def split_step(analysis: Analysis, step_s: float, tokens: float | None) -> Split:
    """`step_s` (a late step without evaluations and checkpoints) by part. `tokens`: answer tokens of a step, if known."""
    phases = _late_phases(analysis, step_s)
    if phases:
        return _by_phases(phases, overlapped=analysis.breakdown.overlapped)
    return _by_fit(analysis, step_s, tokens)


def _late_phases(analysis: Analysis, step_s: float) -> dict[str, float]:
    """Seconds of the phases of a late step, the unexplained rest included, brought to `step_s`; empty without phases."""
    if not analysis.breakdown.phases:
        return {}
    named = {each.phase for each in analysis.breakdown.phases} - {*_EXTRA}
    frame = analysis.breakdown.by_step.filter(~pl.col("phase").is_in(_EXTRA))
    if not named & {"rollout", *_TRAINING} or frame.is_empty():
        return {}
    steps = frame["step"].unique().sort()
    late = frame.filter(pl.col("step").is_in(steps.tail(max(5, steps.len() // 2)).to_list()))
    sums = dict(late.group_by("phase", maintain_order=True).agg(pl.col("seconds").sum()).iter_rows())
    whole = sum(sums.values())
    return {phase: seconds * step_s / whole for phase, seconds in sums.items()} if whole > 0 else {}


def _by_phases(phases: dict[str, float], *, overlapped: bool) -> Split:
    def total(*names: str) -> float:
        return sum(phases.get(name, 0.0) for name in names)

    training, logprob, sampling = total(*_TRAINING), total(*_LOGPROB), total("rollout")
    sync, sleep, reward = total("weight_sync"), total("sleep_wake"), total("reward")
    rest = total("data", "other", "unexplained")
    waiting = total("wait")
    if overlapped:
        # What a step waits for is what sampling takes longer than training.
        sampling = training + logprob + sampling + waiting
    else:
        rest += waiting
    how: Kind = "inferred" if overlapped else "measured"
    words = say("training time plus the wait for answers") if overlapped else say("rollout phase x response tokens")
    return Split(
        sampling_s=sampling,
        training_s=training,
        fixed_s=sync + sleep + rest,
        kinds={"sampling": how, "training": "measured", "fixed": "measured"},
        words={
            "sampling": words,
            "training": say("training phases x response tokens"),
            "fixed": say("phases outside sampling and training"),
        },
        logprob_s=logprob,
        sync_s=sync,
        sleep_wake_s=sleep,
        reward_s=reward,
        overlapped=overlapped,
    )


def _by_fit(analysis: Analysis, step_s: float, tokens: float | None) -> Split:
    """Fixed part by the fit, sampling by a measured rate; what is left of both by the usual shares."""
    timing = analysis.timing
    kinds: dict[str, Kind] = {"fixed": "assumed"}
    words = {"fixed": say("usual share ({share}) of the measured step", share=f"{USUAL['fixed']:.0%}")}
    fixed = USUAL["fixed"] * step_s
    if timing.fixed_s is not None:
        fixed = min(timing.fixed_s.mid, step_s)
        kinds["fixed"], words["fixed"] = "inferred", say("fitted constant")
    per_token = step_s - fixed
    sampling = tokens / timing.gen_tok_s if tokens and timing.gen_tok_s else None
    if sampling is not None and sampling < (1 - _LEAST_REST) * per_token:
        kinds |= {"sampling": "measured", "training": "inferred"}
        words |= {
            "sampling": timing.gen_tok_s_from or say("throughput"),
            "training": say("measured step without sampling and the fixed part"),
        }
        return Split(sampling, per_token - sampling, fixed, kinds, words)
    share = USUAL["sampling"] / (USUAL["sampling"] + USUAL["training"])
    kinds |= {"sampling": "assumed", "training": "assumed"}
    note, rate = "", units.show_rate(timing.gen_tok_s)
    if timing.gen_tok_s and not tokens:
        note = say(
            "The generation throughput of {rate} ({source}) is not used: the log does not say how many answers a step has. "
            "Type the prompts and G of that run.",
            rate=rate,
            source=timing.gen_tok_s_from,
        )
    if sampling is not None:
        note = say(
            "The generation throughput of {rate} ({source}) would make sampling take {sampling} of the {step} step, so it is "
            "not this run's; it is not used.",
            rate=rate, source=timing.gen_tok_s_from, sampling=units.show_seconds(sampling), step=units.show_seconds(step_s),
        )  # fmt: skip
    both = say("sampling and training are not told apart in the log: split by the usual shares; their sum is that")
    return Split(
        share * per_token,
        (1 - share) * per_token,
        fixed,
        kinds,
        words | {"sampling": both, "training": both},
        note=note,
    )
