"""Metric dicts as trainers print them: finding them in a piece of console text, reading them, telling their kinds apart.

transformers 4 prints plain numbers (`'loss': -0.1029`, bare `nan`), 5 prints quoted ones with four significant digits
(`'num_tokens': '2.949e+04'`). Both are read with one expression; nothing is ever evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from parsers.values import real
from timeledger import units

DictKind = Literal["train", "eval", "end"]

_PAIR: Final = re.compile(
    r"""\s*(?:'([^'\n]{1,200})'|"([^"\n]{1,200})")\s*:\s*"""
    r"""('[^'\n]*'|"[^"\n]*"|\[[^\]\n]*\]|\([^)\n]*\)|[^,{}\[\]()'"\s][^,{}\[\]()'"\n]*"""
    r"""(?:\((?:[^()\n]|\([^()\n]*\))*\)[^,{}\n]*)?)\s*([,}]|$)"""
)
_OPEN: Final = re.compile(r"""\{(?=\s*['"])""")
#: A dict that begins like this is a trainer's, whole or cut by the edge of a terminal.
_BEGINS: Final = re.compile(
    r"""\{\s*['"](?:loss|eval_\w+|train_runtime|train_loss|eps|rewards?|num_tokens|grad_norm|objective/|completion|step_time|"""
    r"""epoch|clip_ratio|entropy|frac_reward|learning_rate|kl['"]|global_step)"""
)
#: What places a dict in a run, and what makes it a trainer's.
_PLACES: Final = frozenset(
    {"epoch", "episode", "global_step/max_steps", "iteration", "learning_rate", "lr", "step", "global_step"}
)
_CORE: Final = frozenset(
    {
        "loss", "reward", "grad_norm", "eps", "completion_length", "completions/mean_length", "objective/kl", "step_time",
        "rewards/chosen", "num_tokens", "kl", "reward/mean", "perf/step_s",
    }
)  # fmt: skip
_RATES: Final = frozenset({"train_samples_per_second", "train_steps_per_second", "train_loss"})
_NOTHING: Final = {"None", "null", "nan", "'nan'", "NaN"}


@dataclass(slots=True)
class Metrics:
    """One dict: its numbers, its other values as they stand, and whether its numbers are rounded to four digits."""

    numbers: dict[str, float]
    words: dict[str, str]
    rounded: bool
    start: int
    end: int

    @property
    def kind(self) -> DictKind | None:
        """What the dict reports; None when it is not a trainer's."""
        keys = self.numbers.keys()
        if "train_runtime" in keys and not _RATES.isdisjoint(keys):
            return "end"
        if "loss" not in keys and any(key.startswith("eval_") for key in keys):
            return "eval"
        known = len(keys) + len(self.words)
        placed = not _PLACES.isdisjoint(keys) or "global_step/max_steps" in self.words or "iteration" in self.words
        return "train" if known >= 3 and placed and not _CORE.isdisjoint(keys) else None

    def half_digit(self, key: str) -> float:
        """The largest rounding error of a number as printed (`4.392e+04` stands for anything within 5 of it)."""
        value = abs(self.numbers[key])
        if not self.rounded or value < 1000 or not math.isfinite(value):
            return 0.0
        return 0.5 * float(10 ** max(0, math.floor(math.log10(value)) - 3))


def _value(token: str) -> float | None:
    plain = token[1:-1] if token[0] in "'\"" else token
    try:
        return float(plain)
    except ValueError:
        return units.number(plain)


def _evenly(text: str, start: int, end: int) -> Metrics | None:
    """The dict between `start` and `end` when all its numbers are plain, or all in quotes: cut at the quotes at once."""
    inner = text[start + 1 : end - 1]
    parts = inner.split("'")
    if parts[0]:
        return None
    quoted = len(parts) > 3 and parts[2] == ": "
    keys, tokens = (parts[1::4], parts[3::4]) if quoted else (parts[1::2], parts[2::2])
    count = len(keys)
    colon, comma = ("': '", "', '") if quoted else ("': ", ", '")
    if len(tokens) != count or inner.count(colon) != count or inner.count(comma) != count - 1:
        return None
    if not quoted:
        tokens = [token[2:-2] for token in tokens[:-1]] + [tokens[-1][2:]]
    elif len(parts) != 4 * count + 1 or parts[-1]:
        return None
    try:
        return Metrics(dict(zip(keys, map(float, tokens), strict=True)), {}, quoted, start, end)
    except ValueError:
        return None


def _plainly(text: str, start: int) -> Metrics | None:
    """The dict at `start` when all of it is single-quoted keys with plain or quoted numbers, as trainers print it."""
    end = text.find("}", start)
    if (quick := _evenly(text, start, end + 1)) is not None:
        return quick
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    rounded = False
    for part in text[start + 1 : end].split(", "):
        key, colon, token = part.partition("': ")
        if not colon or key[:1] != "'" or not token or "'" in key[1:]:
            return None
        if token[0] == "'":
            rounded, token = True, token[1:-1] if token[-1] == "'" else "?"
        try:
            numbers[key[1:]] = float(token)
        except ValueError:
            if token != "None":
                return None
            words[key[1:]] = ""
    return Metrics(numbers, words, rounded, start, end + 1)


def read(text: str, start: int = 0) -> tuple[Metrics | None, bool]:
    """The dict that opens at or behind `start`, and whether it is cut off by the end of the text."""
    opened = _OPEN.search(text, start)
    if opened is None:
        return None, False
    if text.find("}", start) > 0 and (plain := _plainly(text, opened.start())) is not None:
        return plain, False
    at, rounded = opened.end(), False
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    while True:
        pair = _PAIR.match(text, at)
        if pair is None:
            return None, not text[at:].strip() or _unfinished(text, at)
        single, double, token, closed = pair.groups()
        key, token = single or double, token.strip()
        value = _value(token)
        if value is not None:
            numbers[key] = value
            rounded = rounded or token[0] in "'\""
        elif token not in _NOTHING:
            words[key] = token.strip("'\"")
        else:
            words[key] = ""
        at = pair.end()
        if closed != ",":
            return (Metrics(numbers, words, rounded, opened.start(), at), False) if closed else (None, True)
        if text[at:].lstrip() == "":
            return None, True


def _unfinished(text: str, at: int) -> bool:
    """True when what follows `at` is the beginning of a pair that the end of the text cuts."""
    rest = text[at:].lstrip()
    return len(rest) < 260 and re.fullmatch(r"""['"][^'"]*(?:['"]\s*:?\s*(?:['"]?[^'",{}]*)?)?""", rest) is not None


def dicts(text: str) -> Iterator[Metrics]:
    """Every flat dict of the text, in order."""
    at = 0
    while (opened := _OPEN.search(text, at)) is not None:
        found, _ = read(text, opened.start())
        if found is not None:
            yield found
        at = found.end if found is not None else opened.end()


def metrics_of(row: Mapping[str, Any]) -> Metrics:
    """A JSON row as if it were printed."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    quoted = False
    for key, value in row.items():
        number = units.number(value) if isinstance(value, str) else real(value)
        if number is not None:
            numbers[key] = number
            quoted = quoted or isinstance(value, str)
        elif isinstance(value, str):
            words[key] = value
    return Metrics(numbers, words, quoted, 0, 0)


def begins(text: str) -> int | None:
    """Where a trainer's dict begins in the text; None when none does."""
    match = _BEGINS.search(text)
    return None if match is None else match.start()
