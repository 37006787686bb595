"""The rules behind `parsers.fields`: what a unit decides, what the words of a name decide."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from parsers import field_names as names

#: step: the step's number. total: planned steps. column: of `schema.STEPS`. phase: seconds of a canonical phase.
#: clock: a time that only its behaviour over rows tells to be the step's or the run's (`name`: what it is on its own).
#: count: a number of sequences, a share (`name`) only over the row's `sequences`. mean_step: a running mean of the step
#: time. remaining: seconds to the end. at: a moment. extra: kept by its own name.
Kind = Literal["step", "total", "column", "phase", "clock", "count", "mean_step", "remaining", "at", "extra"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a key means. `name`: the column, phase or setting ("" for extra); `rank`: lower wins over other keys.

    `scale` turns the written number into the canonical unit, `complement` takes it from 1, `inverse` turns a rate over.
    """

    kind: Kind
    name: str = ""
    rank: int = 0
    scale: float = 1.0
    complement: bool = False
    inverse: bool = False

    def of(self, number: float) -> float | None:
        """The value in the canonical unit; None when the number cannot be that quantity (NaN, a share over 1)."""
        if math.isnan(number):
            return None
        value = number * self.scale
        if self.inverse:
            return 1 / value if value > 0 else None
        if self.kind in {"phase", "clock", "mean_step", "remaining"} and not 0 <= value < math.inf:
            return None
        if self.kind == "count":
            return value
        if self.name in SHARES and not -1e-9 <= value <= 1 + 1e-9:
            percent = self.name == "acc" and self.rank != _MAY_COUNT and 0 <= value <= 100 and not self.complement
            return value if percent else None
        return 1 - value if self.complement else value


EXTRA: Final = Meaning("extra")
#: The rank of names that may be counts (`correct`, `solved`): over 1 they are no share.
_MAY_COUNT: Final = 1
SHARES: Final = frozenset({"truncated", "zero_std", "clipfrac", "acc"})
_STATS: Final = frozenset({"mean", "max", "min", "std"})
_DONE: Final = frozenset({"done", "finished", "completed", "complete", "step", "iter", "update"})


def scaled(meaning: Meaning, scale: float) -> Meaning:
    return replace(meaning, scale=meaning.scale * scale) if meaning.kind != "extra" else meaning


# --- units decide ------------------------------------------------------------------------------------------------


def _timed(spelled: str, scale: float) -> Meaning:
    """A key whose value is a duration: a clock, a phase, never a reward or a ratio."""
    whole = names.EXACT.get(spelled)
    if (whole and whole[0] in {"clock", "remaining", "mean_step", "total"}) or (whole and whole[1] == "step_s"):
        return scaled(Meaning(_kind(whole[0]), whole[1], whole[2]), scale)
    words = spelled.replace("/", "_").split("_")
    if role := _clock_word(words):
        return Meaning(role[0], role[1], 1, scale)
    if words[-1] == "in" and {*words[:-1]} <= _DONE:  # `step 3: reward 0.5, done in 20.9s`
        return Meaning("clock", "step_s", 1, scale)
    return scaled(_phase(words), scale)


def _clock_word(words: list[str]) -> tuple[Kind, str] | None:
    """A key that says itself that it counts from the start, or to the end."""
    known = set(words)
    if known & {"eta", "remaining"}:
        return "remaining", "remaining_s"
    return ("clock", "elapsed_s") if _of_run(known) else None


def _of_run(known: set[str]) -> bool:
    """True for `elapsed`, `wall_time_s`, `cum_step_time`; not where a word says of what part (`rollout_wall_time`)."""
    rest = known - names.CLOCK_WORDS
    if "cum" in known:
        return bool(known & names.TIME_UNITS) and rest <= names.STEP_WORDS
    if "elapsed" in known:
        return not any(rest & phase for _, phase in names.PHASES)
    return not rest and bool(known & {"wall", "since"}) and bool(known & names.TIME_UNITS)


def _share(spelled: str, scale: float) -> Meaning:
    meaning = by_name(spelled)
    fits = meaning.name in SHARES or (meaning.kind == "column" and meaning.name == "reward")
    return scaled(meaning, scale) if fits else EXTRA


def _rate(spelled: str, scale: float) -> Meaning:
    """Tokens a second: of generation or of training when the key says so; else it is only known to be a rate."""
    words = set(re.split("[_/]", spelled))
    if words & {"gpu", "dp", "per", "prompt", "input"} - {"per" if "seconds" in words else ""}:
        return replace(EXTRA, scale=scale)
    if words & {"gen", "generation", "rollout", "decode", "output", "sampling", "inference", "vllm"}:
        return Meaning("column", "gen_tok_s", 0, scale)
    if words & {"train", "training", "learner", "update"}:
        return Meaning("column", "train_tok_s", 0, scale)
    return replace(EXTRA, scale=scale)


def _length(spelled: str, scale: float) -> Meaning:
    meaning = by_name(spelled)
    return scaled(meaning, scale) if meaning.name.startswith(("len_", "prompt_len", "tokens")) else EXTRA


def _memory(spelled: str, scale: float) -> Meaning:
    words = set(re.split("[_/]", spelled))
    if words & {"total", "free", "cpu", "disk", "model", "size", "kv", "cache", "ram"}:
        return EXTRA
    known = words & {"mem", "peak", "gpu", "alloc", "allocated", "reserved", "cuda"}
    return Meaning("column", "mem_gib", 1 if "reserved" in words else 0, scale) if known else EXTRA


def _is_mean(spelled: str) -> bool:
    return "mean" in spelled or spelled == "train_speed"


UNIT_RULES: Final[dict[str, Callable[[str, float], Meaning]]] = {
    "time": _timed,
    "share": _share,
    "tok_s": _rate,
    "len": _length,
    "mem": _memory,
    "mean_step": lambda _spelled, scale: Meaning("mean_step", "step_s", 0, scale),
    "step_rate": lambda spelled, scale: Meaning(
        "mean_step" if _is_mean(spelled) else "column", "step_s", 3, scale, inverse=True
    ),
}

# --- names decide ------------------------------------------------------------------------------------------------


#: The last word of a time's key where it is a unit.
_SUFFIX: Final = {"ms": 1e-3, "min": 60.0, "mins": 60.0, "minutes": 60.0, "m": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0,
                  "hours": 3600.0}  # fmt: skip
#: Those of them that can be nothing else behind a name (`min` may be the smallest value).
_UNIT_WORDS: Final = frozenset(_SUFFIX) - {"min", "m"}
_CLOCK_UNITS: Final = _UNIT_WORDS | {"s", "seconds"}
_TIMED_HEAD: Final = re.compile(r"((?:\w+_)?(?:time|latency))_(ms|mins|minutes|hr|hrs|hours)")
_PER_SECOND: Final = re.compile(r"([a-z]+)(?:_per_|/)(?:seconds|s)$")


def _kind(word: str) -> Kind:
    for kind in ("step", "total", "column", "phase", "clock", "count", "mean_step", "remaining", "at"):
        if word == kind:
            return kind
    return "extra"


def _whole(spelled: str) -> Meaning | None:
    found = names.EXACT.get(spelled)
    if found is None:
        return None
    word, name, rank = found
    if word in {"complement", "uncount"}:
        return Meaning("column" if word == "complement" else "count", name, rank, complement=True)
    return Meaning(_kind(word), name, rank)


def by_name(spelled: str) -> Meaning:
    parts = spelled.split("/")
    for at, part in enumerate(parts[:-1]):
        if headed := _TIMED_HEAD.fullmatch(part):  # `timing_ms/step`
            return scaled(by_name("/".join([*parts[:at], headed.group(1), *parts[at + 1 :]])), _SUFFIX[headed.group(2)])
    whole, _, unit = spelled.rpartition("_")
    if unit in _CLOCK_UNITS and (known := names.EXACT.get(whole)) and known[1] in {"elapsed_s", "at", "remaining_s"}:
        return scaled(Meaning(_kind(known[0]), known[1], known[2]), _SUFFIX.get(unit, 1.0))
    for start in range(len(parts)):
        if start and parts[start - 1] not in names.HEADS:
            break
        if (found := _whole("/".join(parts[start:]))) is not None:
            return found
    return _by_words(parts)


def _by_words(parts: list[str]) -> Meaning:
    words = [word for part in parts for word in part.split("_")]
    if "env" in parts[:-2] and _is_time(words):  # `env/all/time/check_answer_s`: a mean over the environments
        return EXTRA
    if set(words) & {"eval"}:
        return EXTRA if not _is_time(words) else Meaning("phase", "evaluation")
    if role := _clock_word(words):
        return Meaning(role[0], role[1], 1, _SUFFIX.get(words[-1], 1.0))
    if rate := _PER_SECOND.search("/".join(parts)):
        per_step = Meaning("column", "step_s", 3, inverse=True)
        return (
            per_step if rate.group(1) in {"step", "iter"} else _rate("_".join(words), 1.0) if "tok" in words else EXTRA
        )
    if "tok" in words and set(words) & {"s", "seconds"}:
        return _rate("_".join(words), 1.0)
    if _is_time(words):
        return _phase(_ungrouped(parts, words))
    return _metric(words) or EXTRA


def _ungrouped(parts: list[str], words: list[str]) -> list[str]:
    """The words of a time without those that only say that times are grouped here: `phase_seconds/step_total`."""
    if len(parts) == 1:
        return words
    head = [word for word in parts[0].split("_") if word not in names.GROUP_WORDS]
    return [*head, *words[parts[0].count("_") + 1 :]]


def _is_time(words: list[str]) -> bool:
    if words[-1] in names.NO_TIMES:  # `time/fps`
        return False
    return not names.TIMED.isdisjoint(words) or words[0] == "t" or words[-1] in {"s", "ms"}


#: Words of a time that is the step's as a whole: `time/training_loop/total`.
_OF_STEPS: Final = names.STEP_WORDS | {"train", "training", "loop"}
#: Words of a timed key that say nothing of what was timed.
_NO_PARTS: Final = frozenset({"s", "ms", "t", "for", "to", "perf", "wall", "clock", "elapsed", "this"})
#: Words of shares and of how far times lie apart, which are no seconds that a step took.
_NO_SECONDS: Final = frozenset({"ratio", "fraction", "pct", "std"})
_PERCENTILES: Final = re.compile(r"(?:^|_)p\d{2,3}(?:_|$)")


def _phase(words: list[str]) -> Meaning:
    """The phase that the words of a timed key name; the whole step when they name none but `step` or `total`."""
    if not _NO_SECONDS.isdisjoint(words) or words[-1] == "min" or _PERCENTILES.search("_".join(words)):
        return EXTRA  # `min`: the smallest, or minutes
    scale = _SUFFIX["ms"] if words[-1] == "ms" else 1.0
    core = {word for word in words if word not in names.TIME_WORDS | _STATS | _NO_PARTS}
    if not core or (core <= _OF_STEPS and core & names.STEP_WORDS):
        if "total" in core and core & {"train", "training"} and core <= {"total", "train", "training"}:
            return Meaning("clock", "elapsed_s", 1, scale)
        return Meaning("clock" if core <= {"total"} else "column", "step_s", 1, scale)
    phases = (phase for phase, known in names.PHASES if core & known)
    # work on the numbers between the phases, whatever these are called: `time/compute_kl_sample_train`
    books = "assemble" in core or {"compute", "kl"} <= core
    phase = next(phases, "other") if not books or "ref" in core else "other"
    return Meaning("phase", phase, 0, scale)


def _metric(words: list[str]) -> Meaning | None:
    """A metric from the words of its key: one concept, one statistic, and words that change nothing."""
    stats = [word for word in words if word in _STATS]
    core = [word for word in words if word not in _STATS and word not in names.NEUTRAL]
    stat = stats[-1] if stats else ""
    if not core or len(set(stats)) > 2:
        return None
    if stat in {"max", "min", "std"} and stats[0] != stat and "mean" in stats:
        stat = stats[-1]
    for rule in (_reward_rule, _len_rule, _speed_rule, _policy_rule, _memory_rule):
        if (found := rule(frozenset(core), stat)) is not None:
            return found
    return None


def _reward_rule(core: frozenset[str], stat: str) -> Meaning | None:
    if core in ({"reward"}, {"reward", "group"}, {"score"}, {"reward", "total"}, {"reward", "rollout"}):
        rank = {"reward": 0, "score": 3}.get("".join(core), 2)
        if core == {"reward", "total"} and not stat:
            return None  # a sum of parts, or of answers
        if stat in {"", "mean"} and core != {"reward", "group"}:
            return Meaning("column", "reward", rank + (0 if stat else 1))
        if stat == "std":
            return Meaning("column", "reward_std", rank)
    if core == {"reward", "recent"} and stat in {"", "mean"}:
        return Meaning("column", "reward", 5)
    if core <= {"acc", "success", "correct", "solve", "answer", "rate"} and core & {
        "acc",
        "success",
        "correct",
        "solve",
    }:
        return Meaning("column", "acc", 2) if stat in {"", "mean"} else None
    return None


def _len_rule(core: frozenset[str], stat: str) -> Meaning | None:
    if not core & {"len", "tok"} or stat == "std":
        return None
    rest = core - {"len", "tok"}
    if rest <= {"prompt", "prompts", "input", "question"} and rest and ("len" in core or stat == "mean"):
        return Meaning("column", "prompt_len", 0) if stat in {"", "mean"} else None
    column = {"": "len_mean", "mean": "len_mean", "max": "len_max", "min": "len_min"}[stat]
    if rest <= names.LEN_WORDS and ("len" in core or stat):
        return Meaning("column", column, 0 if rest else 1)
    if rest <= names.LEN_WORDS | {"sequence"} and ("len" in core or stat):
        return Meaning("column", column, 3)
    if rest == {"terminated"} or (rest <= names.LEN_WORDS | {"terminated"} and "terminated" in rest):
        return None
    if stat in {"mean", "max", "min"} and rest <= names.LEN_WORDS | {"num", "n", "count", "per", "sample"}:
        return Meaning("column", column, 2)
    if rest <= names.LEN_WORDS | {"per", "sample", "sequence", "completion"} and "per" in rest:
        return Meaning("column", column, 2)
    return None


def _speed_rule(core: frozenset[str], stat: str) -> Meaning | None:
    return _rate("_".join(core), 1.0) if "tps" in core else None


def _policy_rule(core: frozenset[str], stat: str) -> Meaning | None:
    if core in ({"adv"}, {"adv", "group"}):
        column = {"": "adv_mean", "mean": "adv_mean", "std": "adv_std"}.get(stat)
        return Meaning("column", column, 0 if stat else 1) if column else None
    if stat not in {"", "mean"}:
        return None
    for column, known in _PLAIN.items():
        for rank, each in enumerate(known):
            if core == each:
                return Meaning("column", column, rank)
    if "kl" in core and core <= {"kl", "divergence", "ref", "approx", "reverse", "forward", "loss", "penalty"}:
        rank = 4 if "approx" in core else 2 if core & {"loss", "penalty"} else 7 if core & {"reverse", "forward"} else 1
        return Meaning("column", "kl", rank)
    return None


#: What the words without `mean` and neutral words must be, by column, in order of preference.
_PLAIN: Final[dict[str, tuple[frozenset[str], ...]]] = {
    "ratio": (frozenset({"ratio"}), frozenset({"ratio", "importance"}), frozenset({"ratio", "is"}), frozenset({"ratio", "probs"})),
    "entropy": (frozenset({"entropy"}), frozenset({"entropy", "tok"})),
    "loss": (frozenset({"loss"}), frozenset({"loss", "total"}), frozenset({"loss", "pg"}), frozenset({"loss", "surrogate"}), frozenset({"loss", "grad"}),
             frozenset({"loss", "iter"})),
    "grad_norm": (frozenset({"grad", "norm"}), frozenset({"grad_norm"}), frozenset({"grad", "norm", "total"})),
    "lr": (frozenset({"lr"}), frozenset({"learning", "rate"})),
    "clipfrac": (frozenset({"clip", "fraction"}), frozenset({"clipfrac"}), frozenset({"pg", "clip", "fraction"}), frozenset({"pg", "clipfrac"}),
                 frozenset({"clip", "ratio", "fraction"})),
    "truncated": (frozenset({"truncated"}), frozenset({"truncated", "rate"}), frozenset({"truncated", "fraction"}),
                  frozenset({"truncated", "ratio"}), frozenset({"truncated", "response"}), frozenset({"truncated", "completion"})),
    "zero_std": (frozenset({"zero", "std", "group"}),),
    "epoch": (frozenset({"epoch"}),),
}  # fmt: skip


def _memory_rule(core: frozenset[str], stat: str) -> Meaning | None:
    """Memory without a unit on the value: only when the key itself names it (`max_memory_allocated_gb`)."""
    if (
        "mem" in core
        and core & {"gb", "gib"}
        and core <= {"mem", "gb", "gib", "gpu", "cuda", "peak", "allocated", "reserved", "alloc"}
    ):
        return Meaning("column", "mem_gib", 1 if "reserved" in core else 0)
    if (
        "mem" in core
        and core & {"mb", "mib"}
        and core <= {"mem", "mb", "mib", "gpu", "cuda", "peak", "allocated", "reserved", "alloc"}
    ):
        return Meaning("column", "mem_gib", 1 if "reserved" in core else 0, 1 / 1024)
    if {"mem", "peak"} <= core <= {"mem", "peak", "alloc", "allocated", "active", "reserved", "gpu"}:
        return Meaning("column", "mem_gib", 0 if "active" not in core and "reserved" not in core else 2)
    return None
