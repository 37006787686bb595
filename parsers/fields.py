"""What a key of a free-form log means: the synonym table of hand-written loops, generic JSONL and CSV.

Three calls: `resolve(key, unit)` gives the meaning, `meaning.of(number)` the value in the canonical unit, `spell(key)`
the normal spelling. The unit decides before the name does: `reward=0.12s` is the time spent on rewards. Where several
keys of one row mean the same column, the lowest `rank` wins.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import Final

from parsers import field_names as names
from parsers.field_rules import EXTRA, UNIT_RULES, Kind, Meaning, by_name, scaled
from timeledger import units

__all__ = ["EXTRA", "Kind", "Meaning", "resolve", "setting", "setting_value", "spell"]

_TAG: Final = re.compile(r"@(?:sum|mean|avg|max|min|std|p\d+)$", re.IGNORECASE)
_BRACKET: Final = re.compile(r"\s*\(([^()]*)\)\s*$")
#: `lr(1e-3)`: written in thousandths.
_FACTOR: Final = re.compile(r"\d+(?:\.\d+)?[eE]-?\d+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RECENT: Final = re.compile(r"(?:最近|近|过去)\s*\d+\s*(?:轮|步|回合|次|个)|\blast[_ -]?\d+")
_BLANK: Final = re.compile(r"[\s_\-.·:#?*`'\"，。、]+")
#: A count that a writer groups with its times.
_COUNTED: Final = re.compile(rf"(?:\w+/)?(?:time|times|timing|misc)/(?:n_|num_)?({'|'.join(names.COUNTED)})")
#: How many of something were done, grouped with times: `elapsed/policy_updates`.
_HOW_MANY: Final = re.compile(
    r"(?:.*[/_])?(?:time|times|timing|misc|elapsed)/(?:\w+_)?(?:updates|steps|timesteps|episodes|iterations|epochs|batches)"
)
_CJK: Final = re.compile("[一-鿿]")
_CHINESE: Final = re.compile("|".join(sorted(names.CHINESE, key=len, reverse=True)))


@lru_cache(maxsize=4096)
def spell(key: str) -> str:
    """The normal spelling of a key: lower case, words in one form, `_` between words, `/` between path parts.

    `AvgLen`, `avg_len` and `Avg Length` are `mean_len`; a tag such as `@sum` and a unit in brackets are taken off.
    """
    text = _BRACKET.sub("", _TAG.sub("", unicodedata.normalize("NFKC", key).strip()))
    if _CJK.search(text):
        text = _RECENT.sub(" recent ", text)
        text = _CHINESE.sub(lambda match: names.CHINESE[match.group()], text)
    text = spell_apart(text).lower()
    parts = ("_".join(_words(part)) for part in text.split("/"))
    return "/".join(part for part in parts if part)


def spell_apart(text: str) -> str:
    """`AvgLen` as `Avg_Len`."""
    return _CAMEL.sub("_", text)


def _words(part: str) -> list[str]:
    return [names.WORDS.get(word, word) for word in _BLANK.split(part) if word]


@lru_cache(maxsize=8192)
def resolve(key: str, unit: str = "") -> Meaning:
    """The meaning of a key whose value carries a unit ("" for none; `%`, `s`, `ms`, `GB`, `tok/s`, `s/step`, ...).

    A unit in the key's own brackets (`memory(GiB)`, `ref_step (s)`) counts when the value has none.
    """
    found = _BRACKET.search(key)
    if not unit and found and found.group(1).strip().lower() in names.UNITS:
        unit = found.group(1).strip()
    if found and not unit and (factor := _FACTOR.fullmatch(found.group(1).strip())):
        return scaled(by_name(spell(key)), float(factor.group()))
    spelled = spell(key)
    measure, scale = names.UNITS.get(unit.lower(), ("", 1.0))
    by_unit = UNIT_RULES.get(measure)
    if by_unit is not None:
        return by_unit(spelled, scale)
    if measure:  # a unit that says nothing more than the number: thousands, words
        meaning = by_name(spelled)
        return EXTRA if measure == "words" else replace(meaning, scale=meaning.scale * scale)
    if counted := _COUNTED.fullmatch(key.strip().lower()):
        return Meaning("step", "step", names.COUNTED[counted.group(1)])
    if _HOW_MANY.fullmatch(key.strip().lower()):
        return EXTRA
    meaning = by_name(spelled)
    if meaning.kind == "step" and key.rstrip().lower().endswith("steps"):  # more often how many than which
        return replace(meaning, rank=6) if "/" not in key else meaning
    return meaning


def setting(key: str) -> str | None:
    """The setting that a configuration key names, or None."""
    return names.SETTINGS.get(spell(key))


def setting_value(name: str, text: str) -> bool | int | float | str | None:
    """A printed value of a setting: a number where the setting is one, a short word where it is a name; else None."""
    number = units.number(text)
    if name in {"model", "algorithm", "vllm_mode"}:
        return text if 0 < len(text) <= 120 and " " not in text and number is None else None
    if text in {"True", "true", "False", "false"}:
        return text in {"True", "true"} if name.startswith(("use_", "enable_")) else None
    if number is None or not math.isfinite(number) or number < 0:
        return None
    return int(number) if number == int(number) and name not in {"learning_rate", "beta", "temperature"} else number
