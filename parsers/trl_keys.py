"""TRL's metric names (GRPO, RLOO, SFT, DPO, PPO, AsyncGRPO; every version since 0.14) and what they mean.

Console dicts, trainer_state.json, TensorBoard, W&B, trackio and MLflow carry the same names; loggers put `train/` in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from parsers.fields import Meaning, resolve
from parsers.tag_tables import Col, Ph, Table

#: `step_time` is seconds of one optimizer step inside `training_step`; the perf/ names are AsyncGRPO's, whose
#: `perf/step_s` is wall time between step ends. `rewards/chosen` of DPO is an implicit reward, not the reward.
TRL: Final[Table] = {
    "loss": Col("loss"),
    "grad_norm": Col("grad_norm"),
    "learning_rate": Col("lr"),
    "lr": Col("lr"),
    "epoch": Col("epoch"),
    "reward": Col("reward"),
    "reward_std": Col("reward_std"),
    "frac_reward_zero_std": Col("zero_std"),
    "completion_length": Col("len_mean"),
    "completions/mean_length": Col("len_mean"),
    "completions/max_length": Col("len_max"),
    "completions/min_length": Col("len_min"),
    "completions/clipped_ratio": Col("truncated"),
    "kl": Col("kl"),
    "entropy": Col("entropy"),
    "entropy/mean": Col("entropy"),
    "clip_ratio": Col("clipfrac"),
    "clip_ratio/region_mean": Col("clipfrac"),
    "rewards/accuracies": Col("acc"),
    "step_time": Col("step_s"),
    "memory(GiB)": Col("mem_gib"),
    # older PPO and RLOO: the reward is the score with the KL penalty taken off, which is what they maximise
    "objective/rlhf_reward": Col("reward"),
    "objective/kl": Col("kl"),
    "policy/clipfrac_avg": Col("clipfrac"),
    "policy/entropy_avg": Col("entropy"),
    "val/ratio": Col("ratio"),
    "loss/policy_avg": Col("loss"),
    # AsyncGRPO: the trainer's own time; generation runs beside it
    "perf/step_s": Col("step_s"),
    "perf/fwd_bwd_s": Ph("update", outside=False),
    "perf/fwd_s": Ph("update", parent="perf/fwd_bwd_s"),
    "perf/optimizer_s": Ph("update", outside=False),
    "perf/rollout_wait_s": Ph("wait", outside=False),
    "perf/weight_sync_s": Ph("weight_sync", outside=False),
    "perf/weight_sync_pause_s": Ph("weight_sync", parent="perf/weight_sync_s"),
    "perf/weight_sync_barrier_s": Ph("wait", parent="perf/weight_sync_s"),
    "perf/weight_sync_transfer_s": Ph("weight_sync", parent="perf/weight_sync_s"),
    "rollout/duration_s": Ph("rollout", overlaps=True),
    "rollout/score_s": Ph("reward", overlaps=True),
    "rollout/generated_tok_s": Col("gen_tok_s"),
    "weight_sync_time_s": Ph("weight_sync"),
    "forward_time_s": Ph("update"),
    "queue_wait_time_s": Ph("wait"),
}

_PROFILING: Final = re.compile(r"profiling/Time taken: (?P<trainer>\w+)\.(?P<name>.+)")
#: Inside `_prepare_inputs` (long only on steps that generate) and `compute_loss` (forward pass only).
_NESTED: Final = {
    "transformers.generate": "rollout",
    "transformers.generate_batch": "rollout",
    "vLLM.generate": "rollout",
    "sync_weights": "weight_sync",
    "_move_model_to_vllm": "weight_sync",
    "_calculate_rewards": "reward",
}
#: Reward functions that by name are the share of right answers; their mean is one only within 0..1.
_ACCURACY: Final = re.compile(r"rewards/(?:math_?)?acc(?:uracy)?(?:_?reward)?(?:_func)?(?:/mean)?$", re.IGNORECASE)
#: Means since the start, and totals: they say nothing of one step.
_MEANS: Final = {
    "train_loss", "train_tokens_per_second", "train_samples_per_second", "train_steps_per_second", "num_tokens",
    "num_input_tokens_seen", "total_flos", "eps", "episode", "throughput", "total_tokens",
}  # fmt: skip
#: Names that describe the log's own progress, not the model.
_PLACE: Final = {"step", "global_step", "train_runtime"}


def normal(key: str) -> str:
    """The key without `train/` and without the blanks that notebooks put around a slash."""
    return key.removeprefix("train/").replace(" / ", "/")


def profiling(key: str) -> Ph | None:
    """The phase of a `profiling/Time taken: GRPOTrainer.x` row (trl/extras/profiling.py): seconds of one call.

    `_get_per_token_logps*` runs inside `compute_loss` on every micro-step and inside `_prepare_inputs` on some: a reader
    that sees the rows in order knows which parent's row follows; the default here is `compute_loss`.
    """
    match = _PROFILING.match(key)
    if match is None:
        return None
    mark, name = f"profiling/Time taken: {match['trainer']}.", match["name"]
    if name == "_prepare_inputs":
        return Ph("rollout", outside=False)
    if name == "compute_loss":
        return Ph("update", outside=False)
    if name in _NESTED:
        return Ph(_NESTED[name], parent=f"{mark}_prepare_inputs")
    if name.startswith("_get_per_token_logps"):
        return Ph("old_logprob", parent=f"{mark}compute_loss")
    parent = "_prepare_inputs" if name.startswith("_") else "_calculate_rewards"
    return Ph("other" if name.startswith("_") else "reward", parent=mark + parent)


def look_up(key: str) -> Col | Ph | None:
    """What a TRL metric name means; None when it has no column and no phase."""
    found = TRL.get(key) or TRL.get(normal(key))
    return found if found is not None else profiling(normal(key))


@dataclass(slots=True)
class Taken:
    """The metrics of one row, sorted: columns of `schema.STEPS`, phases (own name, meaning, seconds), everything else.

    `not_numbers` names the columns whose value was NaN.
    """

    columns: dict[str, float] = field(default_factory=dict)
    phases: list[tuple[str, Ph, float]] = field(default_factory=list)
    extra: dict[str, float] = field(default_factory=dict)
    not_numbers: list[str] = field(default_factory=list)


@lru_cache(maxsize=8192)
def _meaning(key: str) -> Col | Ph | Meaning | None:
    """A name's meaning: TRL's own, or that of a metric which a user's code adds (`reward_mean`, `adv_std`, `gen_time`)."""
    found = look_up(key)
    if found is not None or "/" in key or key in _MEANS:
        return found
    own = resolve(key)
    return own if own.kind in {"phase", "column", "remaining"} else None


def take(values: Mapping[str, float]) -> Taken:
    """Sorts one row's numbers. A NaN becomes a missing value (the log has no number), an infinity stays."""
    taken, shape = Taken(), _shape(tuple(values))
    for key, column in shape.columns:
        if (value := values[key]) == value:
            taken.columns.setdefault(column, value)
        else:
            taken.not_numbers.append(column)
    taken.extra = {key: value for key in shape.extra if (value := values[key]) == value}
    own: list[tuple[int, str, float]] = []
    for key, meaning in shape.timed:
        value = values[key]
        if isinstance(meaning, Ph):
            taken.phases.append((key, meaning, value * meaning.scale))
        elif (number := meaning.of(value)) is None:
            continue
        elif meaning.kind == "phase":
            taken.phases.append((key, Ph(meaning.name), number))
        elif meaning.kind == "remaining":
            taken.extra.setdefault(meaning.name, number)
        else:
            own.append((meaning.rank, meaning.name, number))
    for _, column, number in sorted(own):
        taken.columns.setdefault(column, number)
    if shape.has_rewards:
        _accuracy(taken)
    return taken


class _Shape(NamedTuple):
    """What the keys of a row mean, looked up once for all rows with these keys."""

    columns: list[tuple[str, str]]
    timed: list[tuple[str, Ph | Meaning]]
    extra: list[str]
    has_rewards: bool


@lru_cache(maxsize=512)
def _shape(keys: tuple[str, ...]) -> _Shape:
    shape = _Shape([], [], [], any(key.startswith("rewards/") for key in keys))
    for key in keys:
        meaning = _meaning(key)
        if isinstance(meaning, Col):
            shape.columns.append((key, meaning.column))
        elif isinstance(meaning, Ph):
            shape.timed.append((key, meaning))
        elif key not in _PLACE:
            shape.extra.append(key)
            if meaning is not None:
                shape.timed.append((key, meaning))
    return shape


def _accuracy(taken: Taken) -> None:
    if "acc" in taken.columns:
        return
    for key, value in taken.extra.items():
        if key.startswith("rewards/") and _ACCURACY.match(key) and 0 <= value <= 1:
            taken.columns["acc"] = value
            return
