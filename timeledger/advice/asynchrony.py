"""Generation and training at the same time, and batches that do not wait for their last answer."""

from __future__ import annotations

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.said import say
from timeledger.units import show_number, show_share

_TRAINING = ("old_logprob", "ref_logprob", "values", "update", "update_critic")


def _is_async(case: Case) -> bool:
    return case.says("async_mode") is True or case.analysis.breakdown.overlapped


def one_step_off(case: Case) -> Found | None:
    """Generation and training take turns and are of like size."""
    sampling, training = case.share("rollout"), case.share(*_TRAINING)
    if not 0.4 < sampling < 0.75 or training <= 0.1 or (case.gpus or 0) < 2 or _is_async(case):
        return None
    shorter = min(sampling, training)
    parts = ("rollout",) if sampling <= training else tuple(phase for phase in _TRAINING if phase in case.phases)
    symptom = say(
        "Sampling ({sampling}) and training ({training}) take turns on {gpus} GPUs.",
        sampling=show_share(sampling),
        training=show_share(training),
        gpus=show_number(case.gpus),
    )
    evidence = {"rollout_share": round(sampling, 3), "training_share": round(training, 3), "shorter": round(shorter, 3)}
    return Found(symptom, evidence, {part: between(0.0, 0.4, 1.0) for part in parts}, {"async_mode": "on"})


def fully_async(case: Case) -> Found | None:
    """Many GPUs wait for the longest answers of a batch."""
    share, tail = case.share("rollout"), case.tail or 0.0
    if share <= 0.5 or tail <= 4 or (case.gpus or 0) < 8 or _is_async(case):
        return None
    waits = 1 - 1 / tail
    symptom = say(
        "Sampling is {share} of a step on {gpus} GPUs, and the longest answer is {times} times the mean one.",
        share=show_share(share),
        gpus=show_number(case.gpus),
        times=show_number(tail),
    )
    evidence = {"rollout_share": round(share, 3), "longest_over_mean": round(tail, 2)}
    return Found(
        symptom, evidence, {"rollout": between(0.0, 0.5 * waits, waits)}, {"partial_rollout": "on", "async_mode": "on"}
    )


def cut_tail(case: Case) -> Found | None:
    """At the end of each batch a few long answers keep the engine nearly empty."""
    lonely, tail = case.engine.share("tail"), case.tail or 0.0
    if tail <= 4 or lonely < 0.2:
        return None
    symptom = say(
        "{share} of the engine's running time only the last answers of a batch run; the longest is {times} times the mean.",
        share=show_share(lonely),
        times=show_number(tail),
    )
    evidence = {"tail_share": round(lonely, 3), "longest_over_mean": round(tail, 2)}
    removes = {"rollout": between(0.0, 0.5 * lonely, lonely)}
    return Found(symptom, evidence, removes, {"over_sample": "0.1", "gen_batch": say("larger than the batch")})
