"""Generation and training at the same time, and batches that do not wait for their last answer."""

from __future__ import annotations

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
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
    symptom = f"Sampling ({show_share(sampling)}) and training ({show_share(training)}) take turns on {show_number(case.gpus)} GPUs."
    evidence = {"rollout_share": round(sampling, 3), "training_share": round(training, 3), "shorter": round(shorter, 3)}
    return Found(symptom, evidence, {part: between(0.0, 0.4, 1.0) for part in parts}, {"async_mode": "on"})


def fully_async(case: Case) -> Found | None:
    """Many GPUs wait for the longest answers of a batch."""
    share, tail = case.share("rollout"), case.tail or 0.0
    if share <= 0.5 or tail <= 4 or (case.gpus or 0) < 8 or _is_async(case):
        return None
    waits = 1 - 1 / tail
    symptom = f"Sampling is {show_share(share)} of a step on {show_number(case.gpus)} GPUs, and the longest answer is {show_number(tail)} times the mean one."
    evidence = {"rollout_share": round(share, 3), "longest_over_mean": round(tail, 2)}
    return Found(
        symptom, evidence, {"rollout": between(0.0, 0.5 * waits, waits)}, {"partial_rollout": "on", "async_mode": "on"}
    )


def cut_tail(case: Case) -> Found | None:
    """At the end of each batch a few long answers keep the engine nearly empty."""
    lonely, tail = case.engine.share("tail"), case.tail or 0.0
    if tail <= 4 or lonely < 0.2:
        return None
    symptom = f"{show_share(lonely)} of the engine's running time only the last answers of a batch run; the longest is {show_number(tail)} times the mean."
    evidence = {"tail_share": round(lonely, 3), "longest_over_mean": round(tail, 2)}
    removes = {"rollout": between(0.0, 0.5 * lonely, lonely)}
    return Found(symptom, evidence, removes, {"over_sample": "0.1", "gen_batch": "larger than the batch"})
