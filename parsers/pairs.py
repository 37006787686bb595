"""Key and value pairs in a line of any syntax: `len 152 | time 33.1s`, `loss=0.1 kl=0.2`, `Avg Len: 110, LR: 1e-7`.

`scan` finds the step mark, the pairs, values that stand alone, and counts the words that belong to none of them: prose
and printed samples have many, a metric line has few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from parsers.bracketed import Bracketed
from parsers.dicts import dict_pairs
from parsers.fields import resolve
from parsers.marks import Mark, leading_mark, take_marks
from parsers.rewrites import usual
from parsers.sorting import Pair
from parsers.values import Value, closing, take

#: A key has at most this many words and characters; one of a single word may be long.
_KEY_WORDS: Final = 4
_KEY_LENGTH: Final = 40
_WORD_LENGTH: Final = 80
#: No metric line has so many things that look like values and are none: what is left of it is not read.
_MISSES: Final = 200
_TABLE: Final = str.maketrans(
    {"：": ":", "，": ",", "｜": "|", "│": "|", "┃": "|", "％": "%", "＝": "=", "（": "(", "）": ")", "\t": " "}
)

_SUB: Final = re.compile(
    r"\b(?:example|micro|mini|inner|sub|pass|ppo[ _-]?epoch|grad[ _-]accum\w*|sample|sgd)(?:[ _-]?(?:step|batch|iter|epoch))?\s*[=:#\[]?\s*\d",
    re.IGNORECASE,
)
#: Words that `_SUB` and `_RESPONSES` need: most lines have none, and these are found much faster.
_SUB_WORDS: Final = ("example", "micro", "mini", "inner", "sub", "pass", "ppo", "grad", "sample", "sgd")
_RESPONSE_WORDS: Final = ("responses", "completions", "samples", "rollouts", "sequences")
_START: Final = re.compile(
    r"(?<![\w./@<>%])(?:[+\-−]?\.?\d|\[|['\"]|nan\b|NaN\b|[+-]?inf\b|None\b|N/A\b|n/a\b|null\b|(?:[a-zA-Z_]+\.)?(?:b?float|u?int|tensor|array|Array)\d*\()"
)
_DELIMITER: Final = re.compile(r"[|,;{}\[\]()]| - |\s{2,}|\band\b|—|–|•|>>+|→|->")
_WORD: Final = re.compile(r"[A-Za-z一-鿿][\w'一-鿿]*")
#: Pictures and corners that people put in front of labels.
_SYMBOLS: Final = re.compile("[\u2300-\u23ff\u2500-\u257f\u25a0-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+")
_TAG: Final = re.compile(r"\s*[\[(<【][\w .:/\-]{1,30}[\])>】]")
#: A word before a key that makes it another thing: `val loss=0.3` is not the training loss.
_QUALIFIERS: Final = frozenset({
    "val", "eval", "validation", "test", "best", "ema", "old", "target", "prev", "previous", "last", "max",
    "min", "baseline", "value", "critic", "vf", "format", "ref", "example", "sample", "initial", "final", "init",
    "this", "per", "max_", "min_", "no", "not", "expected"
})  # fmt: skip
_STATISTICS: Final = frozenset({
    "mean", "avg", "average", "std", "min", "max", "median", "total", "sum", "low", "high", "overall"
})  # fmt: skip
#: Words of sentences: a key that is followed by its value without `=` or `:` holds none.
_PROSE: Final = frozenset(
    {"the", "a", "an", "of", "we", "is", "are", "that", "this", "then", "so", "she", "he", "it", "answer"}
)
_QUOTED_TEXT: Final = re.compile(r"(?<=[=:,\[(\s])(?:'(?:[^'\\]|\\.){0,4000}'|\"(?:[^\"\\]|\\.){0,4000}\")")
_RETURNS: Final = re.compile(
    r"^\s*(?P<key>\w+(?: \w+)?) (?:of|at|for|in|after) (?=(?:step|iter(?:ation)?|update)\s+\d+\s*[:=])", re.IGNORECASE
)
_RESPONSES: Final = re.compile(
    r"\b(generat\w*|sampl\w*|roll(?:ed|ing)? out)\s+(\d+)\s+(responses|completions|samples|rollouts|sequences)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Scan:
    """What a line holds. `words` counts those outside of keys, `key_words` those inside; `bare` are values without a key."""

    mark: Mark | None = None
    pairs: list[Pair] = field(default_factory=list)
    bare: list[tuple[Value, bool]] = field(default_factory=list)
    words: int = 0
    key_words: int = 0
    sub: bool = False
    head: str = ""
    piped: bool = False
    has_dict: bool = False
    inside: str = ""
    parents: dict[str, str] = field(default_factory=dict)
    units: Bracketed = field(default_factory=Bracketed)
    tag: str = ""
    #: the planned epochs of a line that is headed by an epoch
    epochs: int | None = None
    #: a counter of updates beside the step's
    beside: Mark | None = None


def scan(text: str) -> Scan:
    """Find marks, pairs and words of a line (prefix and progress bars taken off before)."""
    out = Scan(piped="|" in text or "│" in text)
    text = _SYMBOLS.sub("  ", text.translate(_TABLE))
    text = usual(_take_dicts(text, out))
    if rewritten := _RETURNS.match(text):
        text = f"{text[rewritten.end() :].replace(':', ' | ' + rewritten.group('key') + ':', 1)}"
    low = text.lower()
    if any(word in low for word in _RESPONSE_WORDS) and (counted := _RESPONSES.search(text)):
        out.pairs.append(Pair("num_" + counted.group(3).lower(), Value(float(counted.group(2)))))
        text = text[: counted.start()] + counted.group(1) + text[counted.end() :]
    out.sub = any(word in low for word in _SUB_WORDS) and _SUB.search(text) is not None
    marks = take_marks(text)
    out.mark, out.sub, text = marks.mark, out.sub or marks.sub, marks.text
    out.beside = marks.beside
    if marks.epoch is not None:
        out.pairs.append(Pair("epoch", Value(float(marks.epoch))))
        out.head, out.epochs = ("epoch", marks.epochs) if out.mark is None else ("", None)
    if tag := _TAG.match(text):
        out.tag = tag.group().strip(" []()<>【】")
    text = out.units.hide(_QUOTED_TEXT.sub(_hide, text))
    _take_pairs(text, out)
    out.mark = out.mark or leading_mark(text)
    return out


def _hide(match: re.Match[str]) -> str:
    """A quoted text is one word, unless it is a quoted number."""
    return match.group() if take(match.group(), 0) else " text "


def _take_dicts(text: str, out: Scan) -> str:
    """Take `{...}` off the text and its items into pairs (nested ones with `/` between keys)."""
    at = text.find("{")
    while at >= 0:
        end = closing(text, at)
        if end is None:
            return text
        items = dict_pairs(text[at : end + 1])
        if not items:
            at = text.find("{", end + 1)
            continue
        out.pairs += items
        out.key_words += len(items)
        out.has_dict = True
        text = f"{text[:at]} | {text[end + 1 :]}"
        at = text.find("{", at)
    return text


# --- pairs -------------------------------------------------------------------------------------------------------


def _take_pairs(text: str, out: Scan) -> None:
    """Walk over the values of the text; what stands before each is its key, or prose."""
    at, head, end_of_text, misses = 0, "", len(text.rstrip()), 0
    for start in _START.finditer(text):
        if start.start() < at:
            continue
        found = take(text, start.start())
        if found is None:
            misses += 1
            if misses > _MISSES:
                break
            continue
        value, end = found
        before = text[at : start.start()]
        if value.items and text[start.start()] == "[" and not _separator(before)[1]:
            continue  # `[0.1, 0.2]` without a key in front
        head = _one(before, value, end >= end_of_text, head, out)
        at = end
    out.words += _count(_drop_tag(text[at:]))


def _count(text: str) -> int:
    return len(_WORD.findall(text)) if text else 0


def _drop_tag(text: str) -> str:
    """`[grpo] ` and the like in front say which program speaks."""
    tag = _TAG.match(text)
    return f" {text[tag.end() :]}" if tag else text


def _separator(before: str) -> tuple[str, str]:
    """The text before a value without its separator, and the separator ("" when the value follows after a blank)."""
    body = before.rstrip()
    if body.endswith(("=", ":")):
        return body[:-1].rstrip(), body[-1]
    return (body[:-3], "is") if body.endswith(" is") else (body, "")


def _one(before: str, value: Value, last: bool, head: str, out: Scan) -> str:
    """Sort out one value by the text before it; gives back the head (`Rewards:` of `Rewards: mean=0.5, std=0.1`)."""
    body, sep = _separator(_drop_tag(before))
    head, segment = _head(body, sep, head, out)
    segment = out.units.show(segment)
    over = head
    if segment.lower() in _STATISTICS and out.pairs:
        if "(" in body:  # `reward 0.5 (max 1.0, min 0.0)`
            out.inside = out.pairs[-1].key
        elif ")" in body:
            out.inside = ""
        over = out.inside or head
    else:
        out.inside = ""
    if not segment:
        out.bare.append((value, last))
        return head
    words = segment.split()
    if sep == "=" and len(words) > 1:
        words, dropped = _last_key(words, value.unit)
        out.words += dropped
        segment = " ".join(words)
    longest = _WORD_LENGTH if sep and len(words) == 1 else _KEY_LENGTH
    too_long = len(words) > (_KEY_WORDS if sep else 3) or len(segment) > longest
    prose = (
        not sep and len(words) > 1 and (not _PROSE.isdisjoint(words) or resolve(segment, value.unit).kind == "extra")
    )
    if too_long or prose:
        out.words += _count(segment)
        return head
    out.key_words += len(words)
    key = _under(over, segment, value.unit)
    out.pairs.append(Pair(key, value))
    if head and "tim" in head.lower():
        out.parents[key] = f"{head} total" if key != f"{head} total" else ""
    return head


def _head(body: str, sep: str, head: str, out: Scan) -> tuple[str, str]:
    """The head that holds for the value, and the last part of the text before it: the key, if it is one."""
    parts = _DELIMITER.split(body)
    segment = parts.pop().strip(" .*`'\"#")
    segment = "" if segment == "-" else segment  # `loss = 0.0072 - 6.7s`
    if "|" in body:
        head = ""
    if parts and parts[-1].rstrip().endswith(":") and len(parts[-1].split()) <= _KEY_WORDS:  # `Rewards:  mean=0.5`
        head = parts.pop().strip(" :-*")
        out.key_words += len(head.split())
    out.words += sum(_count(part) for part in parts)
    if ":" in segment:
        above, segment = segment.rsplit(":", 1)
        if sep:
            head = above.strip() if len(above.split()) <= _KEY_WORDS else ""
            out.key_words += len(above.split())
        else:
            out.words += _count(above)
    return head, segment.strip()


def _last_key(words: list[str], unit: str) -> tuple[list[str], int]:
    """The words of a key before `=`: all of them when they mean something together, else the last one."""
    if resolve(" ".join(words), unit).kind != "extra" or _QUALIFIERS & {
        word.lower().strip("[]()") for word in words[:-1]
    }:
        return words, 0
    return words[-1:], len(words) - 1


def _under(head: str, key: str, unit: str) -> str:
    """The key with its head where it needs one: `mean` under `Rewards`, anything under `Val`."""
    if not head:
        return key
    if _QUALIFIERS & set(head.lower().split()):
        return f"eval {key}"
    whose_rate = unit.endswith("/s") and resolve(f"{head} {key}", unit).kind == "column"
    return f"{head} {key}" if key.lower() in _STATISTICS or key.lower() == "latency" or whose_rate else key
