"""verl's metric keys: which column or phase each is. The same keys stand on the console, in the JSONL file and in TensorBoard."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from parsers.build import RunBuilder
from timeledger.said import say

#: Key -> column of `schema.STEPS`. Where several keys name one column, the earlier one wins.
#: `critic/rewards` is the score after a KL penalty. `actor/ppo_kl` is against the policy that sampled, not the
#: reference, and so not `kl`. `perf/throughput` is a rate of one GPU with prompt tokens counted: no column.
COLUMNS: Final[Mapping[str, str]] = {
    "timing_s/step": "step_s",
    "perf/time_per_step": "step_s",
    "response_length/mean": "len_mean",
    "response_length/max": "len_max",
    "response_length/min": "len_min",
    "response_length/clip_ratio": "truncated",
    "prompt_length/mean": "prompt_len",
    "perf/total_num_tokens": "tokens",
    "critic/rewards/mean": "reward",
    "critic/score/mean": "reward",
    "critic/advantages/mean": "adv_mean",
    "actor/pg_clipfrac": "clipfrac",
    "actor/kl_loss": "kl",
    "actor/reward_kl_penalty": "kl",
    "critic/kl": "kl",
    "actor/entropy": "entropy",
    "actor/entropy_loss": "entropy",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "lr",
    "actor/pg_loss": "loss",
    "actor/loss": "loss",
    "perf/max_memory_allocated_gb": "mem_gib",
    "actor/perf/max_memory_allocated_gb": "mem_gib",
    "training/epoch": "epoch",
    "train/time(s)": "step_s",  # the SFT trainer
    "train/loss": "loss",
    "train/grad_norm": "grad_norm",
    "train/lr": "lr",
}
#: The SFT trainer's learning rate in thousandths.
_LR_THOUSANDTHS: Final = "train/lr(1e-3)"

#: Timer -> canonical phase. `gen` of an asynchronous trainer is what it waits for samples.
PHASES: Final[Mapping[str, str]] = {
    "gen": "rollout",
    "gen_max": "rollout",  # ReMax: the greedy baseline's own generation
    "generate_sequences": "rollout",
    "generate_async": "rollout",
    "reward": "reward",
    "old_log_prob": "old_logprob",
    "ref": "ref_logprob",
    "values": "values",
    "adv": "advantage",
    "update_actor": "update",
    "update_policy": "update",
    "load_param": "sleep_wake",
    "load_optim": "sleep_wake",
    "update_critic": "update_critic",
    "update_weights": "weight_sync",
    "sync_rollout_weights": "weight_sync",
    "param_sync": "weight_sync",
    "timing_s/param_sync": "weight_sync",
    "reshard": "weight_sync",
    "switch_to_trainer": "sleep_wake",
    "switch_to_rollout": "sleep_wake",
    "wait_prev_gen": "wait",
    "wait_last_valid": "wait",
    "switch_wait": "wait",
    "testing": "evaluation",
    "save_checkpoint": "checkpoint",
    "dump_rollout_generations": "other",
    "start_profile": "other",
    "stop_profile": "other",
}
#: Timers that lie inside another: own name -> the name of the phase around it.
_INSIDE: Final = {
    "generate_sequences": "gen",
    "reshard": "gen",
    **dict.fromkeys(("update_policy", "load_param", "load_optim", "offload_param", "offload_optim"), "update_actor"),
}
#: Timers around the step timer, never inside.
_AROUND: Final = {"start_profile", "stop_profile"}
#: Timers that some versions keep inside the step timer and some outside: the numbers decide, or nobody.
_EITHER: Final = ("testing", "save_checkpoint")
#: Runs beside training: never to be added.
_BESIDE: Final = {"generate_async"}
_STEP: Final = "step"
#: Counts, ratios and overlapping times of single samples, although they stand under the timers' prefix.
_NOT_SECONDS: Final = ("agent_loop/", "generation_timing/", "fully_async/")
_PREFIXES: Final = ("timing_s/", "timing/")
#: Names of phases that only forks have, by the words in them; the first match wins.
_WORDS: Final = (
    ({"wait", "idle"}, "wait"),
    ({"checkpoint", "save", "ckpt"}, "checkpoint"),
    ({"test", "testing", "validate", "validation", "val", "eval", "evaluation"}, "evaluation"),
    ({"sync", "reshard", "broadcast", "weights", "weight"}, "weight_sync"),
    ({"sleep", "wake", "offload", "onload", "reload"}, "sleep_wake"),
    ({"reward", "rewards", "rm", "verify", "verifier"}, "reward"),
    ({"rollout", "gen", "generate", "generation", "sampling", "collect"}, "rollout"),
    ({"adv", "advantage", "advantages"}, "advantage"),
)  # fmt: skip
_SPLIT: Final = re.compile(r"[^a-z]+")

_VALIDATION: Final = ("val/", "val-core/", "val-aux/", "validation/")
#: Rounding of a mean in single precision, and of a measured rate, as a share of a quotient by it.
_SINGLE: Final = 1e-6
_RATE: Final = 1e-4


def is_validation(metrics: Mapping[str, float]) -> bool:
    """True when a step's metrics are those of an evaluation alone: the one before training, or a late extra line."""
    return bool(metrics) and all(map(of_validation, metrics))


@lru_cache(maxsize=4096)
def of_validation(key: str) -> bool:
    """True for a metric of an evaluation."""
    return key.startswith(_VALIDATION)


@lru_cache(maxsize=4096)
def timer(key: str) -> str | None:
    """The timer's own name of a key that holds seconds of a phase (`gen`), or None."""
    for prefix in _PREFIXES:
        if key.startswith(prefix):
            name = key[len(prefix) :]
            return None if name == _STEP or name.startswith(_NOT_SECONDS) or not name else name
    return None


@lru_cache(maxsize=4096)
def phase_of(name: str) -> str:
    """The canonical phase of a timer; a fork's own timer goes by the words in its name, else it is `other`."""
    if name in PHASES:
        return PHASES[name]
    words = set(_SPLIT.split(name.lower()))
    return next((phase for marks, phase in _WORDS if words & marks), "other")


class _Shape(NamedTuple):
    """What the keys of a step mean, looked up once for all steps with these keys."""

    timers: list[tuple[str, str]]
    columns: list[tuple[str, str]]
    others: list[str]
    validates: bool


@lru_cache(maxsize=512)
def _shape(keys: tuple[str, ...]) -> _Shape:
    timers = [(key, name) for key in keys if (name := timer(key)) is not None]
    timed = {key for key, _ in timers}
    others = [key for key in keys if key not in timed and key not in COLUMNS]
    columns = [(key, column) for key, column in COLUMNS.items() if key in keys]
    return _Shape(timers, columns, others, any(map(of_validation, others)))


def apply(
    build: RunBuilder, step: int, metrics: Mapping[str, float], line: int = 0, at: datetime | None = None
) -> None:
    """Add one step's metrics, under verl's own keys, to a run.

    An evaluation alone makes an event, not a row. Validation and checkpoint timers make phases and events. What has no
    column is kept as an extra metric.
    """
    if is_validation(metrics):
        build.event("evaluation", line=line, at=at, step=step, text=_scores(metrics))
        return
    shape = _shape(tuple(metrics))
    times = {name: metrics[key] for key, name in shape.timers}
    extra = {key: metrics[key] for key in shape.others}
    values = _columns(build, metrics, extra, line)
    _check_truncated(build, values, line)
    _exact(build, metrics, values)
    if "step_s" not in values and "timing/gen" in metrics:
        values["step_s"] = sum(value for name, value in times.items() if name not in _INSIDE)
        build.note("guessed", say("this version logs no step time: the sum of the phases stands for it"), line)
    build.row(step, values, line=line, at=at, extra=extra)
    _phases(build, step, times, values.get("step_s"))
    if (seconds := times.get("testing")) is not None:
        build.event("evaluation", line=line, at=at, step=step, seconds=seconds, text=_scores(metrics))
    elif shape.validates:
        build.event("evaluation", line=line, at=at, step=step, text=_scores(metrics))
    if (seconds := times.get("save_checkpoint")) is not None:
        build.event("checkpoint", line=line, at=at, step=step, seconds=seconds)


def _columns(build: RunBuilder, metrics: Mapping[str, float], extra: dict[str, float], line: int) -> dict[str, float]:
    """The columns of a step. A key that comes second to another one of its column goes to `extra`."""
    values: dict[str, float] = {}
    for key, column in _shape(tuple(metrics)).columns:
        found = metrics[key]
        if not math.isfinite(found):
            build.note("warning", say("{name} is {value}", name=key, value=found), line)
        elif column in values:
            extra[key] = found
        else:
            values[column] = found
    if (rate := metrics.get(_LR_THOUSANDTHS)) is not None:
        values.setdefault("lr", rate / 1000)
    return values


def _check_truncated(build: RunBuilder, values: dict[str, float], line: int) -> None:
    """Version 0.9 pads to the longest answer of the batch: its clip ratio then counts longest answers, not cut ones."""
    limit = build.settings.get("max_tokens")
    longest = values.get("len_max")
    if limit is None or longest is None or not values.get("truncated"):
        return
    if isinstance(limit.value, int) and longest < limit.value:
        del values["truncated"]
        build.note(
            "missing", say("response_length/clip_ratio is not a truncation here: no answer reached the limit"), line
        )


def _phases(build: RunBuilder, step: int, times: Mapping[str, float], step_s: float | None) -> None:
    inside = _inside(times, step_s)
    rollouts = [name for name in times if phase_of(name) == "rollout" and name not in _INSIDE and name not in _BESIDE]
    for name, seconds in times.items():
        parent = _parent(name, times, rollouts)
        outside: bool | None = None
        if parent is None and name in _AROUND:
            outside = True
        elif parent is None and name in _EITHER:
            outside = None if inside is None else name not in inside
        elif parent is None and name in PHASES and name not in _BESIDE:
            outside = False
        build.phase(
            step, phase_of(name), seconds, name=name, parent=parent, outside=outside, overlaps=name in _BESIDE
        )  # fmt: skip


def _parent(name: str, times: Mapping[str, float], rollouts: list[str]) -> str | None:
    """The phase that contains this one. Generation timers of the workers lie in whatever the trainer calls generation."""
    if name in _INSIDE:
        around = _INSIDE[name]
        return around if around in times else (rollouts[0] if around == "gen" and rollouts else None)
    head = name.split("/", 1)[0]
    return head if head != name and head in times else None


def _inside(times: Mapping[str, float], step_s: float | None) -> set[str] | None:
    """Which of validation and checkpoint lie inside the step time; None when the numbers do not say.

    Versions differ. The phases of a step fill it but for a small rest: the choice that leaves the smallest rest is
    taken when it is clearly better than the next.
    """
    either = [name for name in _EITHER if name in times]
    if step_s is None or not either:
        return None
    apart = {*either, *_AROUND, *_BESIDE, *_INSIDE}
    core = sum(value for name, value in times.items() if name not in apart and _parent(name, times, []) is None)
    choices: list[set[str]] = [set()]
    for name in either:
        choices += [choice | {name} for choice in choices]
    rests = sorted(
        ((abs(step_s - core - sum(times[name] for name in choice)), sorted(choice)) for choice in choices),
        key=lambda pair: pair[0],
    )
    best, second = rests[0][0], rests[1][0]
    return set(rests[0][1]) if best <= 0.03 * step_s and second > 4 * best + 0.05 else None


def _exact(build: RunBuilder, metrics: Mapping[str, float], values: dict[str, float]) -> None:
    """What follows exactly from the numbers of one step: sequences, and the GPUs behind the rate per GPU."""
    tokens, length = values.get("tokens"), (values.get("len_mean") or 0) + (values.get("prompt_len") or 0)
    if tokens and values.get("prompt_len") is not None and length > 0:
        count = _whole(tokens / length, _rounding(values, length))
        if count is not None:
            values["sequences"] = float(count)
            build.setting("sequences_per_step", count, "verl: total tokens / mean sequence length", "inferred")
    rate, seconds = metrics.get("perf/throughput"), values.get("step_s")
    if tokens and rate and seconds:
        gpus = _whole(tokens / (rate * seconds), _RATE + 0.0005 / seconds)
        build.setting("gpus", gpus, "verl: tokens / (throughput x step time)", "inferred")


def _rounding(values: Mapping[str, float], length: float) -> float:
    """How far off a quotient by the mean length may be, as a share of it: single precision, or three decimals.

    Means over other answers than the counted tokens (tool turns, dropped prompts) give no whole number but by chance.
    """
    three = all(values.get(name, 0.0) == round(values.get(name, 0.0), 3) for name in ("len_mean", "prompt_len"))
    return _SINGLE + (0.001 / length if three else 0.0)


def _whole(value: float, share: float) -> int | None:
    """The whole number this is but for rounding in the log (a share of it), or None."""
    near = round(value)
    return near if near >= 1 and abs(value - near) <= min(0.1, share * near) else None


def _scores(metrics: Mapping[str, float]) -> str:
    """The scores of an evaluation, the core ones first."""
    found = [key for key in metrics if of_validation(key)]
    found.sort(key=lambda key: not key.startswith(("val-core/", "val/")))
    return ", ".join(f"{key} {metrics[key]:.4g}" for key in found[:4])
