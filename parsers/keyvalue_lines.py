"""Is this line a metric line of a hand-written loop, and what does it say? Prose, samples and configurations are not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from parsers import clocks
from parsers.counters import COUNT, PLANNED
from parsers.field_names import UNITS
from parsers.fields import resolve, spell
from parsers.marks import Mark
from parsers.noise import is_noise, is_prose, is_sample
from parsers.pairs import Scan, scan
from parsers.prefixes import strip_prefix, take_moments
from parsers.rates import RATE
from parsers.renames import Resolver
from parsers.sorting import Pair, Sorted, sort_out
from parsers.text import Bar, bars, stamp, strip_actor
from parsers.values import Value
from timeledger import units
from timeledger.units import seconds

_LONGEST: Final = 20_000
#: Below this share of words outside of keys a line is a metric line and not prose.
_PROSE: Final = 0.4
_FINAL: Final = re.compile(
    r"^\W*(?:final|best|finished|training (?:finished|complete|done|took)|completed?|summary|resum\w+|load\w*|sav\w+|restor\w+"
    r"|baseline|before training|after training|overall|total training|mean over|averag\w+ over|results?\b)",
    re.IGNORECASE,
)
#: `Finished step 3 of 24 in 20.9 seconds: ..` is one step's line.
_FINISHED_STEP: Final = re.compile(r"\W*(?:finished|completed?)\W+(?:\w+ )?(?:step|iter|update)", re.IGNORECASE)
_EVAL: Final = re.compile(
    r"^\W*(?:(?:step|iter)\W*\d+\W+)?(?:eval\w*|validation|validate|val|test(?:ing)?|评估|验证|测试)\b", re.IGNORECASE
)
#: `validation step=5 reward_mean=0.1`: of the training step, where a mean is told; `eval step 3/20` is a batch of it, and
#: so may be `eval step 3: acc 0.31`, unless that is where the training stands.
_EVAL_STEP: Final = re.compile(
    r"^\W*(?:eval\w*|validation|val|test)[ _-]step\s*[=:#]?\s*(\d{1,9})(?![\d.]|\s*/)(.*(?:mean|avg|average))?",
    re.IGNORECASE,
)
#: `step 250: train loss 2.85, val loss 3.00` between the lines of a loop that counts its steps otherwise.
VALIDATES: Final = re.compile(r"\b(?:val|valid|validation|eval|test)[ _-]?loss\b", re.IGNORECASE)
_VALIDATED: Final = re.compile(rf"({VALIDATES.pattern})\s*[:=]?\s*(\d{{1,9}}\.\d{{1,12}})(?![\w.])", re.IGNORECASE)
#: What an evaluation tells; without one of these a numbered `test` is some other program's.
_EVALUATED: Final = re.compile(r"(?:reward|loss|acc|pass@|score|return|\bkl\b).*(?:\d\.\d|\d\s?%)", re.IGNORECASE)
_EPOCH_SUMMARY: Final = re.compile(
    r"平均指标|(?:mean|avg|average|summary|finished|done|complete|end|took|统计)\b", re.IGNORECASE
)
#: The rank of the step of a line that may as well count batches.
UNSURE: Final = 9
_WORTH: Final = re.compile(r"\d")
_WEAK: Final = frozenset({"ratio", "acc", "epoch", "sequences", "prompts", "prompt_len"})
_WEAK_KEYS: Final = frozenset({"length", "max length", "min length", "score", "average", "entropy"})
#: Keys without a column that only a training loop prints.
_TELLING: Final = frozenset({"return", "returns", "tok/seconds", "tok_per_seconds", "throughput"})
#: `3 windows * 2.5 minutes = 7.5 minutes`: an operator alone, or before a number, is no key but a sum in an answer.
_SUM: Final = re.compile(r"^[-+*/×÷]$|(?:^|\s)[-+*/×÷] \d+(?:\.\d+)?(?: |$)")
#: Keys that tell of an epoch what it came to.
_OF_EPOCH: Final = frozenset({"train", "training", "eval", "ppl", "perplexity", "train_ppl"})
#: Words in the names of what training, or an evaluation of it, tells.
_OF_TRAINING: Final = frozenset(
    {"acc", "loss", "reward", "score", "return", "correct", "solved", "eval", "ppl", "perplexity"}
)
_BREAKS: Final = re.compile("[/_]")
_BAR_NOISE: Final = re.compile(
    r"map|filter|tokeniz|load|captur|processed|generat|download|fetch|eval|valid|warm|shard|upload|convert|sav|preproc|roll|sampl|"
    r"test|gather|collect|scor|infer|compil|prefill|decod|examples|files",
    re.IGNORECASE,
)
_TAG_WORDS: Final = re.compile(r"[^\W\d_]+(?:[ _-][^\W\d_]+)?")

Kind = Literal["row", "metrics", "mark", "eval", "other", "epoch", "noise"]


@dataclass(slots=True)
class Line:
    """A line that says something. row: metrics of a marked step. metrics: metrics without a step. mark: a step's head.

    other: values under names that mean nothing here. epoch: nothing but the epoch that begins, or ends, here.
    """

    kind: Kind
    values: Sorted = field(default_factory=Sorted)
    mark: Mark | None = None
    bar: Bar | None = None
    sub: bool = False
    at: datetime | None = None
    clock: str | None = None
    strong: int = 0
    pure: bool = False
    known: int = 0
    text: str = ""
    #: an evaluation that tells what it found
    telling: bool = False
    #: a time stamp stands within the message
    dated: bool = False
    #: the epochs that are planned, of a line that is headed by one (its number is the column)
    epochs: int | None = None
    headed: bool = False


def read_line(piece: str, look: Resolver) -> Line | None:
    """What a piece of text says, None when it is nothing for a run."""
    if len(piece) > _LONGEST or _WORTH.search(piece) is None or is_prose(piece):
        return None
    prefix, message, clock = strip_prefix(strip_actor(piece).text)
    text, moment = take_moments(message) if ":" in message else (message, None)
    if not text.strip() or is_noise(text):
        return None
    line = _read(text, look)
    if line is not None:
        line.at, line.clock, line.text = stamp(prefix) if prefix else None, clock, text
        line.dated = text != message
        if line.at is None and moment is not None:
            line.at = stamp(moment)
    return line


def _read(text: str, look: Resolver) -> Line | None:
    bar, rest = _training_bar(text)
    if bar is None and rest is None:
        return None
    text = rest if rest is not None else text
    found = scan(text)
    if found.mark is None and not found.has_dict and any(_SUM.search(key) for key, _ in found.pairs):
        return None
    values = sort_out(_with_bare(found), look)
    values.parents.update(
        {key: parent for key, parent in found.parents.items() if parent in values.phases and key in values.phases}
    )
    if values.step is not None and values.step_rank < (6 if found.mark is None else found.mark.rank):
        found.mark = Mark(values.step, values.total, values.step_rank, rough=values.rough)
    _time_of_part(values, found.tag)
    if found.beside is not None:
        values.extra[COUNT] = float(found.beside.step)
        if found.beside.total is not None:
            values.extra[PLANNED] = float(found.beside.total)
    line = Line("noise", values, found.mark, bar, found.sub)
    line.known = values.known
    line.strong = sum(not _is_weak(column, values.keys.get(column, "")) for column in values.columns)
    line.strong += len(values.phases) + _sure_clocks(found)
    telling = sum(spell(key) in _TELLING for key in values.extra)
    line.pure = found.words == 0
    line.headed, line.epochs = found.head == "epoch" and found.mark is None, found.epochs
    if bar is not None and line.known:
        _bar_row(line, bar)
        return line
    if bar is not None:
        line.kind = "mark"
        return line
    if (begins := _EVAL.match(text)) or _only_eval(values):
        return _as_evaluation(line, found, text, begins=begins is not None)
    if (_FINAL.match(text) and not (found.mark and _FINISHED_STEP.match(text))) or (
        found.head == "epoch" and _EPOCH_SUMMARY.search(text)
    ):
        return _epoch_alone(line)
    share = found.words / max(1, found.words + found.key_words + len(found.pairs))
    line.kind = _kind_of(line, found, share, telling)
    if line.mark is not None and VALIDATES.search(text):
        _tell_validated(values, text)
        if line.kind == "noise":
            line.kind, line.telling = "eval", True
    if (
        line.kind in {"row", "metrics"}
        and not found.has_dict
        and is_sample(text)
        and not (line.mark and line.known >= 3)
    ):
        return None
    if line.kind == "row":
        _tell_rate(values, found)
    return line if line.kind != "noise" else _epoch_alone(line)


def _as_evaluation(line: Line, found: Scan, text: str, *, begins: bool) -> Line | None:
    """The line as one of an evaluation; None where it tells neither a step nor what was found nor a time."""
    line.kind = "eval"
    if found.mark is None and (of := _EVAL_STEP.match(text)):
        line.mark = Mark(int(of[1]), None, 0 if of[2] else UNSURE)
    elif begins and (mark := found.mark) is not None and mark.word == "batch" and mark.total is not None:
        mark.rank = UNSURE  # a batch of the evaluation
    line.telling = _EVALUATED.search(text) is not None
    timed = _time_of_evaluation(line.values, found)
    return line if line.mark is not None or line.telling or timed else None


def _tell_rate(values: Sorted, found: Scan) -> None:
    """A rate of tokens that stands without a name: `| 37.5k tok/s |`."""
    for value, _ in found.bare:
        measure, scale = UNITS.get(value.unit.lower(), ("", 1.0))
        if measure == "tok_s":
            values.extra.setdefault(RATE, value.number * scale)


def _epoch_alone(line: Line) -> Line | None:
    """Of a line that is headed by an epoch and tells no step's metrics, the epoch alone."""
    number = line.values.columns.get("epoch")
    if not line.headed or number is None:
        return None
    return Line("epoch", Sorted(columns={"epoch": number}), headed=True, epochs=line.epochs)


def _time_of_part(values: Sorted, tag: str) -> None:
    """A line that is tagged with a phase tells that phase's time (`[Rollout] step 3 | took 12.8s`).

    `[Train]` may also stand before every line of a loop: whether its time is the update's is settled from all rows.
    """
    named = resolve(tag, "s") if _TAG_WORDS.fullmatch(tag) and not values.phases else None
    if named is None or named.kind != "phase" or named.name in {"other", "evaluation"}:
        return
    times = [key for key in values.clocks if key.startswith(clocks.STEP)]
    if len(times) == 1:
        own = times[0].removeprefix(clocks.STEP)
        seconds = values.clocks.pop(times[0])
        if named.name == "update":
            values.clocks[f"{clocks.PART}{own}"] = seconds
        else:
            values.phases[f"{tag} {own}"] = (named.name, seconds)


def _time_of_evaluation(values: Sorted, found: Scan) -> bool:
    """The one time of an evaluation's line is what it took: `Eval: acc=0.31 (40.2s)`, `Evaluation took 40.2s`.

    True when the line tells it.
    """
    own = [key for key in values.clocks if key.startswith(clocks.STEP)]
    bare = [value for value, _ in found.bare if _is_time(value) and value.glued]
    if not values.phases and len(own) == 1:
        values.phases["evaluation"] = ("evaluation", values.clocks.pop(own[0]))
    elif not values.phases and len(bare) == 1 and not any(key.lower() == "elapsed" for key, _ in found.pairs):
        took = resolve("time", bare[0].unit).of(bare[0].number)
        values.clocks.clear()
        values.phases |= {} if took is None else {"evaluation": ("evaluation", took)}
    return any(phase == "evaluation" for phase, _ in values.phases.values())


def _kind_of(line: Line, found: Scan, share: float, telling: int) -> Kind:
    """Row, metrics without a step, head of a step, or noise: by marks, known keys and the share of other words."""
    mark = found.mark
    if mark is not None and mark.rank >= 8:  # a bare number in front
        if line.known >= 2 and line.strong >= 2 and found.words == 0:
            return "row"
        line.mark = mark = None
    if (
        mark is not None
        and line.known + telling >= 2
        and share < _PROSE
        and (line.strong + telling or (found.piped and not mark.colon))
    ):
        return "row"
    if mark is not None and line.known + telling == 1 and found.words == 0 and (line.strong or telling or found.piped):
        return "row"
    if mark is not None and mark.total is not None and "remaining_s" in line.values.extra and found.words == 0:
        return "row"
    if mark is not None and not mark.colon and found.piped and share < _PROSE and _is_timed(line, found):
        return "row"
    if mark is not None and not line.known and found.words <= 5 and not found.sub and not found.pairs:
        return "mark"
    if mark is None and found.head == "epoch" and share < _PROSE and (line.known >= 3 or _tells_epoch(line)):
        return "row"
    if (
        mark is None
        and line.known
        and share < _PROSE
        and (found.words == 0 or line.known >= 3 or found.has_dict or line.values.phases)
    ):
        return "metrics"
    return "other" if mark is None and found.pairs and found.words == 0 and not found.sub else "noise"


def _is_timed(line: Line, found: Scan) -> bool:
    """`step 5 | sample_acc: 85% | test: 91.0% | 351s elapsed`: a time with its unit beside metrics without a column."""
    glued = any(value.glued and _is_time(value) for value, _ in found.bare) or _sure_clocks(found) > 0
    return (
        glued
        and bool(line.values.clocks)
        and any(_OF_TRAINING & {*_BREAKS.split(spell(key))} for key, _ in found.pairs)
    )


def _tell_validated(values: Sorted, text: str) -> None:
    """`Val loss 9.2` without a sign between is no pair, beside the step's own loss it is one."""
    beside = _VALIDATED.search(text)
    if beside is not None and not any(spell(key).startswith("eval") for key in values.extra):
        values.extra[beside[1].lower()] = float(beside[2])


def _tells_epoch(line: Line) -> bool:
    """`Epoch 018: train=1.23, val=1.31, ppl=3.7`: names that mean a loss, or an accuracy, beside an epoch only."""
    return len({spell(key) for key in line.values.extra} & _OF_EPOCH) + line.known - 1 >= 2


def _is_weak(column: str, key: str) -> bool:
    """A name that worked answers use too: `length = 12, ratio = 0.5`, `r = 5, h = 10`."""
    return column in _WEAK or len(key) == 1 or key.lower() in _WEAK_KEYS


def _sure_clocks(found: Scan) -> int:
    """Times written with their unit (`33.1s`) are as telling as a reward; `time = 15` may be a sum in a worked answer."""
    return sum(isinstance(value, Value) and value.glued and value.unit in {"s", "ms"} for _, value in found.pairs)


def _only_eval(values: Sorted) -> bool:
    """Every metric of the line is an evaluation's (`step:0 - val/...`)."""
    names = [key for key in values.extra if key not in {"remaining_s", COUNT, PLANNED}]
    return not values.known and bool(names) and all(spell(key).startswith(("eval", "val")) for key in names)


def _with_bare(found: Scan) -> list[Pair]:
    """The pairs, with the times that stand without a key: `| 33.1s |` a step's, a last `| 628s` more likely the run's."""
    pairs = list(found.pairs)
    of_epoch = found.mark is None and found.head == "epoch" and len(pairs) > 1  # more than its number
    for value, last in found.bare:
        if value.unit in {"s/step", "s/it", "s/iter", "sec/step", "ms/step", "秒/步"}:
            pairs.append(Pair("s/step", value))
        elif (
            value.unit
            and value.unit not in {"%"}
            and _is_time(value)
            and ((found.mark is not None and found.mark.rank < 8) or of_epoch)
        ):
            whole = last and value.glued and not value.decimals
            pairs.append(Pair("elapsed" if whole else "time", value))
    return pairs


def _is_time(value: Value) -> bool:
    return value.unit in {"s", "ms", "sec", "seconds", "m", "min", "h", "秒"}


# --- progress bars -----------------------------------------------------------------------------------------------

#: The progress of a notebook's trainer: `[ 294/1000 1:30:03 < 3:37:44, 0.05 it/s, Epoch 0.16/1]`.
_NOTEBOOK: Final = re.compile(
    r"\[\s*(?P<n>\d{1,12})/(?P<total>\d{1,12})\s+(?P<elapsed>[\d:]+) < (?P<left>[\d:]+|\?), +[\d.]+ it/s"
)
#: The bar of a logger without a terminal, its counts to three digits: `Progress on: 16.4kit/200kit rate:0.6it/s
#: remaining:82:11:57 elapsed:7:07:06`.
_LOGGED: Final = re.compile(
    r"Progress on:(?P<desc>[^/]*) (?P<n>\d[\d.]*[kMG]?)it/(?P<total>\d[\d.]*[kMG]?)it rate:\S+ "
    r"remaining:(?P<left>[\d:]+|\?) elapsed:(?P<elapsed>[\d:]+)"
)
_THOUSANDS: Final = {"k": 1e3, "M": 1e6, "G": 1e9}
_DESC_WORD: Final = re.compile(r"train|epoch|step|grpo|ppo|rl\b|iter|loss|reward|optim|policy", re.IGNORECASE)


def _training_bar(text: str) -> tuple[Bar | None, str | None]:
    """The last progress bar of the text and the text around it; (None, None) when the bar is another program's."""
    if shown := _NOTEBOOK.search(text):
        elapsed, left = seconds(shown["elapsed"]), seconds(shown["left"])
        if elapsed is not None:
            return Bar(
                "train", int(shown["n"]), int(shown["total"]), elapsed, left, None, "it/s", "", *shown.span()
            ), ""
    if logged := _LOGGED.search(text):
        return _logged_bar(logged), ""
    if "it" not in text or "[" not in text or ("<" not in text and "it [" not in text):
        return None, text
    found = bars(text)
    if not found:
        return None, text
    bar = found[-1]
    around = f"{bar.desc} | {bar.post} | {text[bar.end :]}"
    telling = _DESC_WORD.search(bar.desc) is not None or bar.post != "" or not bar.desc
    if bar.unit.strip() not in {"it/s", "s/it", "?it/s", "", "step/s", "s/step", "steps/s"} or not telling:
        return None, None
    if _BAR_NOISE.search(bar.desc) and not _DESC_WORD.search(bar.desc):
        return None, None
    return bar, around


def _logged_bar(shown: re.Match[str]) -> Bar | None:
    n, total = (_shortened(shown[name]) for name in ("n", "total"))
    elapsed, left = seconds(shown["elapsed"]), seconds(shown["left"])
    if n is None or total is None or elapsed is None:
        return None
    return Bar(shown["desc"].strip() or "train", n, total, elapsed, left, None, "it/s", "", *shown.span())


def _shortened(text: str) -> int | None:
    """A count as `16.4k`."""
    value = units.number(text.rstrip("kMG"))
    return None if value is None else round(value * _THOUSANDS.get(text[-1], 1.0))


def _bar_row(line: Line, bar: Bar) -> None:
    """A bar with metrics in its description or behind its rate is a row of the step it stands at."""
    line.kind = "row"
    if line.mark is None or line.mark.rank > 2:
        epoch = None if line.values.epoch is None else (line.values.epoch, None)
        of = re.search(r"epoch\W*(\d{1,9})\s*/\s*(\d{1,9})", bar.desc, re.IGNORECASE)
        line.mark = Mark(
            bar.n, bar.total, 6, "bar", (int(of[1]), int(of[2])) if of else epoch, epoch is not None or of is not None
        )
