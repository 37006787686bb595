"""Lines that cannot tell anything of a run, at the price of splitting them: text that a model wrote, warnings, listings.

A line is a metric line because of a step mark, of keys that mean something, or of nothing standing beside its pairs
(`keyvalue_lines`). Each of these needs certain words; most lines have none of them, and those need not be taken apart.
What is thrown out here is what `read_line` would find nothing in; whatever is not sure is kept.
"""

from __future__ import annotations

import re
from typing import Final

from parsers import field_names as names
from parsers.fields import spell_apart
from parsers.noise import is_prose
from parsers.prefixes import strip_prefix

_LETTERS: Final = re.compile(r"[a-z]+")
#: Words of which every key with a meaning that is not spelled out in `field_names.EXACT` holds one (see `field_rules`).
_RULES: Final = frozenset(
    "reward score acc success correct solve len tok tps adv ratio entropy loss grad lr learning clip clipfrac truncated zero "
    "epoch kl mem peak gpu alloc allocated reserved cuda time seconds took latency t s ms eta remaining elapsed clock return "
    "throughput per".split()
)
#: Words of step marks, and of what a line says that it generated.
_MARKS: Final = frozenset(
    "step update iter it episode round rollout batch epoch response completion sample sequence".split()
)
_UNITS: Final = frozenset(unit for unit, (measure, _) in names.UNITS.items() if measure == "time" and unit.isascii())
_TIMES: Final = frozenset("time seconds took latency t s ms".split())
_STATS: Final = frozenset("mean avg average std min max median total sum low high overall".split())
_PHASES: Final = frozenset().union(*(words for _, words in names.PHASES), names.STEP_WORDS, {"train", "training"})


def _spellings(words: frozenset[str]) -> frozenset[bytes]:
    """The words and everything that `field_names.WORDS` makes one of them."""
    found = words | {raw for raw, word in names.WORDS.items() if not words.isdisjoint(word.split("_"))}
    return frozenset(run.encode() for word in found for run in _LETTERS.findall(word))


def _telling() -> frozenset[str]:
    """Words of which every key with a meaning holds one: of each key its only word, else the longest, else one of the rules'."""
    keys = [_LETTERS.findall(key) for key, (kind, _, _) in names.EXACT.items() if kind != "extra"]
    found = _RULES | _MARKS | {words[0] for words in keys if len(set(words)) == 1}
    return found | {max(words, key=len) for words in keys if words and found.isdisjoint(words)}


_TELLING: Final = _spellings(_telling())
_ALERT: Final = _TELLING | _spellings(_UNITS)
_TIMED: Final = _spellings(_UNITS | _TIMES)
_PARTS: Final = _spellings(_PHASES)
_STATISTIC: Final = _spellings(_STATS)

_LOWER: Final = bytes(place | 32 if chr(place).isalpha() and place < 128 else 32 for place in range(256))
_FIGURES: Final = bytes(place if 48 <= place < 58 else 32 for place in range(256))
#: Small letters and digits as `a`, capitals as `A`: `aA` and `AAa` are where words begin without a blank.
_CASES: Final = bytes(
    97 if 48 <= place < 58 or 97 <= place < 123 else 65 if 65 <= place < 91 else 32 for place in range(256)
)
#: Letters that mean others, or are taken for separators, once the text is normalised: such a line is read in full.
_FOREIGN: Final = re.compile("[^\\x00-\\x7f\u00b0\u00d7\u00f7\u2010-\u2027\u2190-\u22ff\U0001f300-\U0001faff]")
_DIGITS: Final = b"0123456789"
_MARKED: Final = re.compile(
    r"(?:step|iter\w*|update|it|episode|round|rollout|batch|epoch)\s*[=:#]?\s*[\[(#]?\s*\d", re.IGNORECASE
)
_CLOCK: Final = re.compile(r"\d:\d\d(?!\d)")
_NO_CAPITALS: Final = bytes(place for place in range(256) if not 65 <= place < 91)
_TABLE_START: Final = frozenset({"step", "iter", "upda", "glob"})
_QUOTED: Final = re.compile(r'(?<=\s)"[A-Za-z][^"\\]*"')
_MARK_WORDS: Final = frozenset(b"step iter iteration update it episode round rollout batch epoch".split())
#: So many words behind the last number are more than a unit.
_WORDS_BEHIND: Final = 4


def may_tell(text: str, raw: bytes) -> bool:
    """False when the line (`raw`: the same in UTF-8) has no step mark, no table and no metrics that count."""
    if len(raw) != len(text) and _FOREIGN.search(text) is not None:
        return True
    piped = "|" in text
    if not piped and len(raw.translate(None, _DIGITS)) == len(raw):
        return text.lstrip(" *#")[:4].lower() in _TABLE_START
    words = raw.translate(_LOWER).split()
    capitals = len(raw.translate(None, _NO_CAPITALS))
    inside = capitals > 1 or (capitals == 1 and not text[:1].isupper())
    if inside and (b"aA" in (cases := raw.translate(_CASES)) or b"AAa" in cases):
        words += spell_apart(text).encode().translate(_LOWER).split()
    # `1:30` is a time without a word for it
    clocked = ":" in text and _CLOCK.search(text) is not None and _CLOCK.search(strip_prefix(text)[1]) is not None
    if _ALERT.isdisjoint(words) and not clocked:
        return False
    return piped or _suspicious(text, words, raw.translate(_FIGURES).split(), clocked)


def _suspicious(text: str, words: list[bytes], numbers: list[bytes], clocked: bool) -> bool:
    """True unless the line has words that belong to no key, no mark, and too few metrics to be one all the same."""
    if is_prose(text) and text.lstrip(" *#")[:4].lower() not in _TABLE_START:
        return False
    if '"' in text and '":' not in text and "{" not in text:  # what stands in quotes is no key
        outside = spell_apart(_QUOTED.sub(" ", text)).encode(errors="replace").translate(_LOWER).split()
        if _ALERT.isdisjoint(outside) and not clocked:
            return False
    if "{" in text or not (_MARK_WORDS.isdisjoint(words) or _MARKED.search(text) is None):
        return True
    if b"it" in words and ("[" in text or "/" in text):  # a progress bar, a pace
        return True
    if (clocked or not _TIMED.isdisjoint(words)) and not _PARTS.isdisjoint(words):
        return True
    statistic = not _STATISTIC.isdisjoint(words) or "/s" in text or sum(word in _TELLING for word in words) >= 3
    if len(numbers) >= 3 and statistic:
        return True
    behind = text[text.rfind(numbers[-1].decode()) + len(numbers[-1]) :]
    return len(_LETTERS.findall(behind.lower())) < _WORDS_BEHIND or not {"[", "(", "<"}.isdisjoint(behind)
