"""The evidence that rules need: whether a log holds it, what to call it, and how to log it.

A need is "phase:x", "work:x" (evaluation or checkpoint, from phases or found by the clock), "column:x", "setting:x", "extra:x", "engine:x" (a column of engine samples), "fact:x", "event:x" or
"limit"; alternatives are separated by " | ".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from timeledger.advice.case import Case
from timeledger.breakdown import HOW_TO_LOG, HOW_TO_LOG_ANY
from timeledger.said import say, unstopped

_WORDS: Final = {
    "phase:rollout": "the seconds of generation",
    "phase:update": "the seconds of the update",
    "phase:old_logprob": "the seconds of the old log-probs",
    "phase:ref_logprob": "the seconds of the reference log-probs",
    "phase:reward": "the seconds of the reward",
    "phase:weight_sync": "the seconds of weight sync",
    "phase:sleep_wake": "the seconds of sleeping and waking",
    "work:evaluation": "the seconds of an evaluation",
    "work:checkpoint": "the seconds of a checkpoint",
    "engine:kv_cache": "the KV cache's use",
    "engine:waiting": "the requests waiting",
    "engine:running": "the requests running",
    "engine:prefix_hit": "the prefix cache's hit rate",
    "event:sleep": "sleep and wake times of the engine",
    "column:truncated": "the truncation rate",
    "column:len_mean": "the mean answer length",
    "column:len_max": "the longest answer",
    "column:zero_std": "the share of groups without signal",
    "column:reward": "the reward",
    "column:mem_gib": "the peak memory",
    "column:prompt_len": "the prompt length",
    "column:clipfrac": "the clip fraction",
    "extra:train/num_gen_batches": "batches generated for each step (dynamic sampling)",
    "extra:dynamic_filtering_pass_rate": "the pass rate of dynamic filtering",
    "extra:training/rollout_probs_diff_mean": "the difference between the engine's log-probs and the trainer's",
    "extra:global_seqlen/mean": "tokens by rank",
    "extra:global_seqlen/max": "tokens of the fullest rank",
    "extra:fully_async/trainer/idle_ratio": "idle ratios of an asynchronous run",
    "extra:trainer/idle_ratio": "idle ratios of an asynchronous run",
    "fact:gpu_gib": "the memory of one GPU",
    "fact:gpus": "the number of GPUs",
    "fact:billions": "the model's size",
    "limit": "the limit on answer tokens",
}
#: Own names of settings -> words, where the last part of the name would say too little.
_SETTINGS: Final = {"beta": "the KL coefficient", "group_size": "the group size G", "model": "the model's name"}
_ENGINE: Final = {
    "trl": say(
        "run the vLLM server (trl vllm-serve) and give its log beside this one: its lines show KV cache and queue"
    ),
    "verl": "actor_rollout_ref.rollout.disable_log_stats=False",
    "openrlhf": say("give the log of the vLLM engines (LLM(disable_log_stats=False)) beside this one"),
}
_ENGINE_ANY: Final = say("LLM(disable_log_stats=False), or the server's log beside the trainer's")
_METRICS: Final = {
    "trl": say("TRL logs it from version 0.18 on with logging_steps=1: give trainer_state.json or TensorBoard files"),
    "verl": say('trainer.logger=["console","file"] keeps every metric of a step'),
}
_FACTS: Final = {
    "fact:gpu_gib": say("type it: {options}", options="--gpu-gib 80"),
    "fact:gpus": say("type it: {options}", options="--gpus 8"),
    "fact:billions": say("the model's name or configuration tells it"),
    "limit": say("type it: {options}", options="--max-tokens 1024"),
}


def missing(case: Case, needs: tuple[str, ...]) -> tuple[str, ...]:
    """The needs that this log does not meet."""
    return tuple(need for need in needs if not any(_has(case, each.strip()) for each in need.split("|")))


def _has(case: Case, need: str) -> bool:
    kind, _, name = need.partition(":")
    if kind in {"phase", "work"}:
        return name in case.phases
    if kind == "column":
        values = case.run.steps[name]
        return bool(values.is_finite().fill_null(False).any())
    if kind == "setting":
        return case.setting(name) is not None
    if kind == "extra":
        return case.extra(name) is not None
    if kind == "engine":
        samples = case.run.engine.filter(pl.col("kind") == "log")
        return samples[name].null_count() < samples.height
    if kind == "event":
        return bool((case.run.events["kind"] == name).any())
    if kind == "fact":
        return getattr(case, name) is not None
    return case.analysis.growth.limit is not None


def words(need: str) -> str:
    """A need as people call it."""
    return " or ".join(dict.fromkeys(_one(each.strip()) for each in need.split("|")))


def _one(need: str) -> str:
    kind, _, name = need.partition(":")
    if need in _WORDS:
        return _WORDS[need]
    if kind == "setting":
        return _SETTINGS.get(name, f"the setting {name.rsplit('.', 1)[-1]}")
    return name.rsplit("/", 1)[-1].replace("_", " ")


def how_to_log(case: Case, lacks: Iterable[str]) -> tuple[str, ...]:
    """How to log what is missing, with the run's framework; each way once."""
    return tuple(dict.fromkeys(unstopped(_how(case, each.split("|")[0].strip())) for each in lacks))


def _how(case: Case, need: str) -> str:
    kind, _, name = need.partition(":")
    if need in _FACTS:
        return _FACTS[need]
    key = case.framework or ""
    if kind in {"engine", "event"}:
        return _ENGINE.get(key, _ENGINE_ANY)
    if not case.run.has_steps:
        return say("give the trainer's log beside this one")
    if kind == "work":
        what = "eval" if name == "evaluation" else "save"
        return say("type it: {options}", options=f"--{what}-every 100 --{what}-s 60")
    if kind == "phase":
        return HOW_TO_LOG.get("ms-swift" if key == "swift" else key, HOW_TO_LOG_ANY)
    if kind == "setting":
        return say("give the run's folder (TensorBoard, W&B or MLflow files hold the settings), or the console's start")
    return _METRICS.get(key, say("log it with each step"))
