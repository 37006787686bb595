"""Key and value pairs in a line of any syntax: `len 152 | time 33.1s`, `loss=0.1 kl=0.2`, `Avg Len: 110, LR: 1e-7`.

`scan` finds the step mark, the pairs, values that stand alone, and counts the words that belong to none of them: prose
and printed samples have many, a metric line has few.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from parsers.fields import resolve
from parsers.rows import Pair
from parsers.values import Value, closing, of_json, take

#: A key has at most this many words and characters.
_KEY_WORDS: Final = 4
_KEY_LENGTH: Final = 40
_TABLE: Final = str.maketrans({"：": ":", "，": ",", "｜": "|", "│": "|", "┃": "|", "％": "%", "＝": "=", "（": "(", "）": ")", "\t": " "})

#: Words of a step mark -> how good a mark it is; lower wins.
_MARKS: Final = {
    "step": 0, "global_step": 0, "global step": 0, "train step": 0, "training step": 0, "training_step": 0, "train_step": 0,
    "optimizer step": 0, "optim step": 0, "grpo step": 0, "rl step": 0, "steps": 0, "步骤": 0, "步": 0, "步数": 0,
    "update": 1, "iter": 2, "iteration": 2, "it": 2, "轮次": 3, "回合": 3, "episode": 3, "round": 3, "batch": 4, "轮": 4,
    "rollout": 5,
}  # fmt: skip
_COUNTED: Final = r"[=:#]?\s*[\[(#]?\s*(?P<n>\d[\d,]*)(?:\s*(?:/|of)\s*(?P<total>\d[\d,]*))?\s*[\])]?"
_MARK: Final = re.compile(
    r"(?<![\w/.\-])(?P<qualifier>(?:example|micro|inner|mini|sub|sgd|ppo|grad|accum\w*|grpo|eval|val|validation|test|warmup|env)[ _-])?"
    r"(?P<word>global[ _]step|(?:train|training|optimizer|optim|rl)[ _]step|steps?|iter(?:ation)?|update|it|episode|round|rollout|batch|epoch"
    r"|步骤|步数|步|回合|轮次|轮)(?P<sep>\s*)" + _COUNTED + r"(?![\w.%]|-\w|\s*(?:examples?|tokens?|epochs|updates)\b)",
    re.IGNORECASE,
)
_CHINESE_MARK: Final = re.compile(r"第\s*(?P<n>\d+)\s*(?:/\s*(?P<total>\d+)\s*)?(?P<word>步|轮|回合|次更新)")
_EPOCH_PAIR: Final = re.compile(
    r"epoch\s*:?\s*\[?\s*(?P<e>\d+)\s*/\s*(?P<all>\d+)\s*\]?[\s,|:]*(?:[\[(]\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)\s*[\])])", re.IGNORECASE
)
_LEADING: Final = re.compile(r"\s*(?:[\[(]\s*(?P<a>\d+)\s*/\s*(?P<total>\d+)\s*[\])]|(?P<n>\d{1,9})(?=\s*[:|]|\s+[A-Za-z]))\s*[:|]?")
_SUB: Final = re.compile(
    r"\b(?:example|micro|mini|inner|sub|pass|ppo[ _-]?epoch|grad[ _-]accum\w*|sample|sgd)(?:[ _-]?(?:step|batch|iter|epoch))?\s*[=:#\[]?\s*\d", re.IGNORECASE
)
_START: Final = re.compile(r"(?<![\w./@<>%])(?:[+\-−]?\.?\d|\[|['\"]|nan\b|NaN\b|[+-]?inf\b|None\b|N/A\b|n/a\b|null\b|(?:[a-zA-Z_]+\.)?(?:b?float|u?int|tensor|array|Array)\d*\()")
_DELIMITER: Final = re.compile(r"[|,;{}\[\]()]| - |\s{2,}|\band\b|—|–|•|>>+|→|->")
_WORD: Final = re.compile(r"[A-Za-z一-鿿][\w'一-鿿]*")
_ENDS: Final = re.compile(r"\s*(?:[=:]|\bis\b|：)\s*$")
#: A word before a key that makes it another thing: `val loss=0.3` is not the training loss.
_QUALIFIERS: Final = frozenset(
    "val eval validation test best ema old target prev previous last max min baseline value critic vf format ref example sample "
    "initial final init this per max_ min_ no not expected".split()
)
_STATISTICS: Final = frozenset("mean avg average std min max median total sum low high overall".split())
_QUOTED_TEXT: Final = re.compile(r"(?<=[=:,\[(\s])(?:'(?:[^'\\]|\\.){0,4000}'|\"(?:[^\"\\]|\\.){0,4000}\")")
_RETURNS: Final = re.compile(r"^\s*(?P<key>\w+(?: \w+)?) (?:of|at|for|in|after) (?=(?:step|iter(?:ation)?|update)\s+\d+\s*[:=])", re.IGNORECASE)
_RESPONSES: Final = re.compile(r"\b(?:to\s+)?(generat\w*|sampl\w*|roll(?:ed|ing)? out)\s+(\d+)\s+(responses|completions|samples|rollouts|sequences)\b", re.IGNORECASE)


@dataclass(slots=True)
class Mark:
    """A step mark: number, planned total, how good (lower is better). `epoch` is (e, E) where the count lies inside one."""

    step: int
    total: int | None
    rank: int
    word: str = "step"
    epoch: tuple[int, int | None] | None = None
    inside_epoch: bool = False
    colon: bool = False


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
    bars: bool = False
    piped: bool = False
    has_dict: bool = False
    parents: dict[str, str] = field(default_factory=dict)


def scan(text: str) -> Scan:
    """Find marks, pairs and words of a line (prefix and progress bars taken off before)."""
    out = Scan(piped="|" in text or "│" in text)
    text = text.translate(_TABLE)
    text = _take_dicts(text, out)
    if rewritten := _RETURNS.match(text):
        text = f"{text[rewritten.end() :].replace(':', ' | ' + rewritten.group('key') + ':', 1)}"
    if counted := _RESPONSES.search(text):
        out.pairs.append(Pair("num_" + counted.group(3).lower(), Value(float(counted.group(2)))))
        text = text[: counted.start()] + counted.group(1) + text[counted.end() :]
    out.sub = _SUB.search(text) is not None
    text = _take_mark(text, out)
    text = _QUOTED_TEXT.sub(_hide, text)
    _take_pairs(text, out)
    if out.mark is None:
        _take_leading(text, out)
    return out


def _hide(match: re.Match[str]) -> str:
    """A quoted text is one word, unless it is a quoted number."""
    return match.group() if take(match.group(), 0) else " text "


# --- marks -------------------------------------------------------------------------------------------------------


def _whole(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text else None


def _take_mark(text: str, out: Scan) -> str:
    """Find the best step mark, take every mark off the text."""
    if match := _EPOCH_PAIR.search(text):
        out.mark = Mark(int(match["n"]), int(match["total"]), 0, "epoch", (int(match["e"]), int(match["all"])), True)
        return text[: match.start()] + " | " + text[match.end() :]
    epoch: tuple[int, int | None] | None = None
    found: list[Mark] = []
    outer: Mark | None = None
    pieces: list[str] = []
    at = 0
    for match in [*_CHINESE_MARK.finditer(text), *_MARK.finditer(text)]:
        groups = match.groupdict()
        word = match["word"].lower()
        qualifier = (groups.get("qualifier") or "").strip(" _-").lower()
        step, total = _whole(match["n"]), _whole(match["total"])
        if step is None or (total is not None and total < step) or step > 10**12 or match.start() < at:
            continue
        pieces.append(text[at : match.start()])
        at = match.end()
        if word == "epoch":
            epoch = (step, total)
            continue
        if qualifier and qualifier not in {"grpo", "rl"}:
            out.sub = True
            continue
        mark = Mark(step, total, _MARKS.get(word, 3) + (3 if qualifier else 0), word)
        mark.colon = text[match.end() : match.end() + 1] == ":"
        found.append(mark)
    if not found and epoch is None:
        return text
    pieces.append(text[at:])
    if found:
        best = min(found, key=lambda mark: (mark.rank, -(mark.total or 0)))
        outer = next((mark for mark in found if mark.rank == 2 and mark is not best and mark.total is not None and best.rank < 2), None)
        best.epoch = epoch or ((outer.step, outer.total) if outer else None)
        out.mark = best
    if epoch is not None:
        out.pairs.append(Pair("epoch", Value(float(epoch[0]))))
        if not found:
            out.head = "epoch"
    return " | ".join(pieces)


def _take_leading(text: str, out: Scan) -> None:
    """`120 GRPO loss 0.012`, `[12/500] loss=..`: a number in front is the step when known keys follow."""
    match = _LEADING.match(text)
    if match is None:
        return
    step = _whole(match["n"] or match["a"])
    assert step is not None
    total = _whole(match["total"])
    if total is None or step <= total:
        out.mark = Mark(step, total, 8, "")


# --- dicts -------------------------------------------------------------------------------------------------------

_DICT_KEY: Final = re.compile(r"[{,]\s*(['\"])(?P<key>[^'\"]{1,80})\1\s*:\s*")


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


def dict_pairs(text: str) -> list[Pair]:
    """The pairs of a printed dict: JSON, Python, or a Python repr with tensors that only a scan can read."""
    try:
        return list(flatten(json.loads(text)))
    except (ValueError, RecursionError):
        pass
    if len(text) <= 20_000:
        try:
            return list(flatten(ast.literal_eval(text)))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            pass
    pairs = []
    for match in _DICT_KEY.finditer(text):
        if found := take(text, match.end()):
            pairs.append(Pair(match["key"], found[0]))
    return pairs


def flatten(record: Any, path: str = "", depth: int = 0) -> list[Pair]:
    """The numbers of a record, keys joined with `/`."""
    if not isinstance(record, dict) or depth > 6:
        return []
    pairs: list[Pair] = []
    for key, raw in record.items():
        name = f"{path}/{key}" if path else str(key)
        if isinstance(raw, dict):
            pairs += flatten(raw, name, depth + 1)
        elif (value := of_json(raw)) is not None:
            pairs.append(Pair(name, value))
    return pairs


# --- pairs -------------------------------------------------------------------------------------------------------


def _take_pairs(text: str, out: Scan) -> None:
    """Walk over the values of the text; what stands before each is its key, or prose."""
    at, head = 0, ""
    for start in _START.finditer(text):
        if start.start() < at:
            continue
        found = take(text, start.start())
        if found is None:
            continue
        value, end = found
        if value.items and text[start.start()] == "[" and not _ENDS.search(text[at : start.start()]):
            continue  # `[0.1, 0.2]` without a key in front
        head = _one(text[at : start.start()], value, end >= len(text.rstrip()), head, out)
        at = end
    out.words += len(_WORD.findall(_drop_tag(text[at:])))


def _drop_tag(text: str) -> str:
    """`[grpo] ` and the like in front say which program speaks."""
    return re.sub(r"^\s*[\[(<【][\w .:/\-]{1,30}[\])>】]", " ", text)


def _one(before: str, value: Value, last: bool, head: str, out: Scan) -> str:
    """Sort out one value by the text before it; gives back the head (`Rewards:` of `Rewards: mean=0.5, std=0.1`)."""
    before = _drop_tag(before)
    strong = _ENDS.search(before)
    body = before[: strong.start()] if strong else before
    parts = _DELIMITER.split(body)
    segment = parts[-1].strip(" .*`'\"#")
    if "|" in body:
        head = ""
    out.words += sum(len(_WORD.findall(part)) for part in parts[:-1])
    if ":" in segment and strong:
        above, segment = segment.rsplit(":", 1)
        segment = segment.strip()
        head = above.strip() if len(above.split()) <= _KEY_WORDS else ""
        out.key_words += len(above.split())
    elif ":" in segment:
        above, segment = segment.rsplit(":", 1)
        out.words += len(_WORD.findall(above))
        segment = segment.strip()
    if not segment:
        out.bare.append((value, last))
        return head
    words = segment.split()
    if strong and "=" in strong.group() and len(words) > 1:
        words, dropped = _last_key(words, value.unit)
        out.words += dropped
        segment = " ".join(words)
    if len(words) > (_KEY_WORDS if strong else 3) or len(segment) > _KEY_LENGTH:
        out.words += len(_WORD.findall(segment))
        return head
    if not strong and len(words) > 1 and resolve(segment, value.unit).kind == "extra":
        out.words += len(_WORD.findall(segment))
        return head
    out.key_words += len(words)
    key = _under(head, segment)
    out.pairs.append(Pair(key, value))
    if head and "tim" in head.lower():
        out.parents[key] = f"{head} total" if key != f"{head} total" else ""
    return head


def _last_key(words: list[str], unit: str) -> tuple[list[str], int]:
    """The words of a key before `=`: all of them when they mean something together, else the last one."""
    if resolve(" ".join(words), unit).kind != "extra" or _QUALIFIERS & {word.lower().strip("[]()") for word in words[:-1]}:
        return words, 0
    return words[-1:], len(words) - 1


def _under(head: str, key: str) -> str:
    """The key with its head where it needs one: `mean` under `Rewards`, anything under `Val`."""
    if not head:
        return key
    if _QUALIFIERS & set(head.lower().split()):
        return f"eval {key}"
    return f"{head} {key}" if key.lower() in _STATISTICS else key
