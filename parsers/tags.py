"""What a flat metric name of any framework stands for, wherever it is logged: TensorBoard, W&B, MLflow, trackio, CSV.

`meaning` answers for one name. The names themselves stand in one table a framework: `trl_keys`, `verl_keys`,
`tag_tables` and, for what is in none of them, the synonyms of hand-written loops in `fields`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from parsers import fields, ray_tune, tag_tables, trl_keys, verl_keys
from parsers.tag_tables import Col, Ph

#: column/phase: a value of the step. evaluation: belongs to an evaluation (`eval_s`: its seconds). end: stands in an
#: end-of-run row. runtime: seconds since training began (each row, or the whole run). tokens_seen: a running total.
#: beside: goes with any row (epoch, its own step number). off: on another axis or no metric of the run at all.
Role = Literal["column", "phase", "evaluation", "eval_s", "end", "runtime", "tokens_seen", "beside", "off", "unknown"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for. `target` is the column or phase; a value becomes value * scale + offset.

    Where several names of one row mean the same column, the lowest `rank` wins, then the first.
    """

    role: Role
    target: str = ""
    name: str = ""
    scale: float = 1.0
    offset: float = 0.0
    parent: str | None = None
    outside: bool | None = None
    overlaps: bool = False
    framework: str | None = None
    rank: int = 0


#: Frameworks' own tables, asked in this order.
_TABLES: Final[tuple[tuple[str, tag_tables.Table], ...]] = (
    ("NeMo-RL", tag_tables.NEMO_RL),
    ("AReaL", tag_tables.AREAL),
    ("SkyRL", tag_tables.SKYRL),
    ("slime", tag_tables.SLIME),
    ("ROLL", tag_tables.ROLL),
    ("open-instruct", tag_tables.OPEN_INSTRUCT),
    ("prime-rl", tag_tables.PRIME_RL),
    ("torchtune", tag_tables.TORCHTUNE),
    ("torchforge", tag_tables.TORCHFORGE),
)
_EVALUATION: Final = re.compile(
    r"(?:eval|eval-rollout|evaluation|validation|val-core|val-aux|test)/|eval_|validation_|val/(?:test_|.*/?acc)|val_"
)
_EVAL_SECONDS: Final = {"eval/runtime", "eval_runtime"}
_END: Final = {"train_samples_per_second", "train_steps_per_second", "total_flos", "train_loss"}
_BESIDE: Final = {
    "epoch", "train/epoch", "training/epoch", "trainer/epoch", "global_step", "train/global_step", "step", "_step",
    "training/global_step", "trainer/global_step", "train/step", "rollout/step", "eval/step", "training_step", "episode",
    "train/episode", "_runtime", "_timestamp", "_wandb",
}  # fmt: skip
#: Other clocks than the step (GPU monitors count seconds), start-up timers, and what no one can add up.
_OFF: Final = re.compile(
    r"ray/|system/(?:gpu|cpu|mem|system_mem|disk|network|proc)|timing/setup/|_hparams_/|hparam|hp_metric|gpu_monitor/"
)
_AGGREGATE: Final = re.compile(r"@(?:sum|mean|max|min|std|p50|p99)$")
#: Names that only one framework writes; the others of its table are shared with hand-written loops.
_TELLING: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "TRL": r"(?:train/)?(?:completions?[/_]|rewards/|frac_reward_zero_std|profiling/)|train/(?:eps$|objective/|num_tokens|step_time)",
        "verl": r"timing_s/|timing_per_token|critic/(?:rewards|score|advantages)/|response_length/|prompt_length/|perf/total_num",
        "OpenRLHF": r"(?:rollout/(?:response_length_mean|truncated_rate|reward_mean|num_samples)|timing/|perf/experience_maker|actor_lr$|actor_grad)",
        "NeMo-RL": r"timing/train/|timing/validation/|train/(?:mean|max)_gen_tokens_per_sample",
        "AReaL": r"timeperf/|(?:ppo|grpo)_actor/",
        "SkyRL": r"generate/(?:avg|max|min)_num_tokens|timing/(?:fwd_|train_critic|policy_train|sync_weights)|policy/policy_",
        "slime": r"rollout/(?:response_len/|raw_reward)|perf/(?:rollout|train_wait|actor_train|update_weights)_time",
        "ROLL": r"tokens?/(?:response|prompt|total)_|time/step_(?:generate|rollout|train|model_update)|system/samples",
        "open-instruct": r"val/sequence_lengths|val/stop_rate|time/(?:trainer_waiting|group_generation)|learner_tokens",
        "torchforge": r"main_perf/|generator_perf/|rl_trainer_perf/|reward/evaluate_response/",
        "torchtune": r"(?:train|datacollector|postprocessing)_worker_performance/",
        "prime-rl": r"time/(?:wait_for|broadcast_weights|forward_backward|generate_completions)|entropy/all/|is_truncated/|seq_len/all/",
    }.items()
}
#: Means of torchforge's tracers over any number of calls: only those that its table names are times of a step.
_TRACED: Final = re.compile(r"_perf/.*duration_(?:avg|max)_s$")
#: Timers of slime and its forks that no table names: they lie inside one of the others.
_SLIMES: Final = re.compile(r"perf/\w+_time$")
_LAST_RESORT: Final = 10
#: First parts of a name that only group metrics.
_GROUPS: Final = {"train", "training", "rollout", "rollouts", "metrics", "charts", "stats", "env", "episode", "global"}


@lru_cache(maxsize=8192)
def meaning(tag: str) -> Meaning:
    """What the name stands for; role `unknown` when nobody says."""
    name = tag.replace(" / ", "/").strip()
    if name.startswith(ray_tune.PREFIX):
        return _ray(name)
    bare = trl_keys.normal(name)
    if bare == "train_runtime":
        return Meaning("runtime", name=name)
    if bare in _END:
        return Meaning("end", name=name)
    if bare == "num_tokens":
        return Meaning("tokens_seen", name=name, framework=_sure(name, "TRL"))
    if name in _BESIDE:
        return Meaning("beside", "epoch" if name.endswith("epoch") else "", name)
    if name in _EVAL_SECONDS:
        return Meaning("eval_s", name=name)
    if bare in tag_tables.NOT_WHAT_IT_SEEMS or name in tag_tables.NOT_WHAT_IT_SEEMS:
        return Meaning("unknown", name=name)
    return _tabled(name, bare) or _rest(name)


def _ray(name: str) -> Meaning:
    if name == ray_tune.COUNTER:
        return Meaning("beside", name=name)
    found = ray_tune.column(name.removeprefix(ray_tune.PREFIX))
    return Meaning("unknown", name=name) if found is None else _of(found, name, None)


def _tabled(name: str, bare: str) -> Meaning | None:
    """The answer of the frameworks' tables."""
    if found := trl_keys.look_up(bare):
        return _of(found, name, "TRL")
    plain = _AGGREGATE.sub("", name)
    for framework, table in _TABLES:
        if found := table.get(name) or table.get(plain):
            return _of(found, name, framework)
    return _verl(name) or (_of(found, bare, "OpenRLHF") if (found := tag_tables.OPENRLHF.get(bare)) else None)


def _sure(name: str, framework: str | None) -> str | None:
    """The framework, when only it writes this name."""
    return framework if framework is not None and _TELLING[framework].match(name) else None


def _of(entry: Col | Ph, name: str, framework: str | None) -> Meaning:
    framework = _sure(name, framework)
    if isinstance(entry, Col):
        return Meaning("column", entry.column, name, entry.scale, entry.offset, framework=framework, rank=entry.rank)
    return Meaning("phase", entry.phase, name, entry.scale, 0.0, entry.parent, entry.outside, entry.overlaps, framework)


def _verl(name: str) -> Meaning | None:
    """Names of verl one by one; a whole step of verl goes to `verl_keys.apply`, which sees them together."""
    if column := verl_keys.COLUMNS.get(name):
        order = list(verl_keys.COLUMNS).index(name)
        return Meaning("column", column, name, framework=_sure(name, "verl"), rank=order)
    timer = verl_keys.timer(name)
    if timer is None or (name.startswith("timing/") and timer not in verl_keys.PHASES):
        return None
    return Meaning("phase", verl_keys.phase_of(timer), timer, framework=_sure(name, "verl"))


def _rest(name: str) -> Meaning:
    """Evaluations and other axes by their prefix, then the synonyms of hand-written loops."""
    if _EVALUATION.match(name):
        return Meaning("evaluation", name=name)
    if _OFF.match(name):
        return Meaning("off", name=name)
    if _TRACED.search(name) or _SLIMES.match(name):
        return Meaning("unknown", name=name)
    if name.startswith("timing/train/"):  # a timer of a NeMo-RL fork: its words say less than they seem to
        return Meaning("phase", "other", name, framework="NeMo-RL")
    found = fields.resolve(name)
    head, _, tail = name.partition("/")
    if found.kind == "extra" and tail and head in _GROUPS:
        found = fields.resolve(tail)
    if found.kind == "column" and not found.inverse:
        scale, offset = (-found.scale, 1.0) if found.complement else (found.scale, 0.0)
        return Meaning("column", found.name, name, scale, offset, rank=_LAST_RESORT + found.rank)
    if found.kind == "phase" and found.name != "other":
        return Meaning("phase", found.name, name, found.scale)
    return Meaning("unknown", name=name)


def derive(tags: Mapping[str, float]) -> dict[str, float]:
    """Columns that follow from several metrics of one step."""
    found: dict[str, float] = {}
    for actor in ("ppo_actor", "grpo_actor"):
        whole, prompt = tags.get(f"{actor}/seq_len/avg"), tags.get(f"{actor}/prompt_len/avg")
        if whole is not None and prompt is not None:
            found["len_mean"] = whole - prompt
        right, count = tags.get(f"{actor}/correct_n_seqs"), tags.get(f"{actor}/n_seqs")
        if right is not None and count:
            found["acc"] = right / count
        tokens = tags.get(f"{actor}/n_tokens")
        if (
            count is None
            and tokens
            and whole
            and math.isfinite(made := tokens / whole)
            and abs(made - round(made)) < 0.01
        ):
            found["sequences"] = float(round(made))
    total = tags.get("train/total_length", tags.get("rollout/total_lengths"))
    answer = tags.get(
        "train/response_length", tags.get("train/rollout/response_length_mean", tags.get("rollout/response_lengths"))
    )
    if total is not None and answer is not None:
        found["prompt_len"] = total - answer
    return found
