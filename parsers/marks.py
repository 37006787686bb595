"""Step marks: `[step 2/200]`, `Epoch:[1/2](30/1200)`, `iter 00012`, `第 12 步`, `Epoch 1, Batch 12/250, Update 3/63`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from parsers.values import MOST

#: Words of a step mark -> how good a mark it is; lower wins.
_MARKS: Final = {
    "step": 0, "global_step": 0, "global step": 0, "train step": 0, "training step": 0, "training_step": 0, "train_step": 0,
    "optimizer step": 0, "optim step": 0, "grpo step": 0, "rl step": 0, "步骤": 0, "步": 0, "步数": 0,
    "ステップ": 0, "스텝": 0,
    "update": 1, "iter": 2, "iteration": 2, "it": 2, "轮次": 3, "回合": 3, "episode": 3, "round": 3, "batch": 4, "轮": 4,
    "rollout": 5,
}  # fmt: skip
#: Words of marks that count updates where what is called a step is one of the environment.
_UPDATES: Final = frozenset({"update", "iter", "iteration"})
_COUNTED: Final = r"[=:#]?\s*[\[(#]?\s*(?P<n>\d[\d,]*)(?:\s*(?:/|of)\s*(?P<total>\d[\d,]*))?\s*[\])]?"
_MARK: Final = re.compile(
    r"(?<![\w/.\-])(?P<qualifier>(?:example|micro|inner|mini|sub|sgd|ppo|grad|accum\w*|grpo|eval|val|validation|test|warmup|env)[ _-])?"
    r"(?P<word>global[ _]step|(?:train|training|optimizer|optim|rl)[ _]step|step|iter(?:ation)?|update|it|episode|round|rollout|batch|epoch"
    r"|步骤|步数|步|回合|轮次|轮|ステップ|스텝|ep(?=\s*[:#]?\s*\d{1,9}(?:/\d{1,9})?\s*[\[(]\s*(?:step|iter|batch)))(?P<sep>\s*)"
    + _COUNTED
    + r"(?![\w.%]|-\w|\s*(?:examples?|tokens?|epochs|updates)\b)",
    re.IGNORECASE,
)
#: `step:25K`, as a number that was rounded when it was shown.
_ROUGH: Final = re.compile(
    r"(?<![\w/.\-])(?P<word>(?:global|train|training)[ _]step|step|iter(?:ation)?|update)\s*[:=]?\s*"
    r"(?P<n>\d{1,4}(?:\.(?P<rest>\d{1,3}))?)(?P<unit>[kKMB])(?![\w.%-]|\s*[/%])",
    re.IGNORECASE,
)
#: What it needs: found faster.
_ROUNDED: Final = re.compile(r"\d[kKMB](?!\w)")
_UNITS: Final = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
#: `Tokens / optimizer step: 32,768` is how many of them a step has.
_PER: Final = re.compile(r"(?:\bper|\btokens ?/) $", re.IGNORECASE)
_SMALL_MARK: Final = re.compile(_MARK.pattern)
_CHINESE_MARK: Final = re.compile(
    r"[【\[(]?第\s*(?P<n>\d+)\s*(?:/\s*(?P<total>\d+)\s*)?(?P<word>步|轮|回合|次更新)(?:\s*[/,，]?\s*共\s*(?P<all>\d+)\s*(?:步|轮|回合|次))?[】\])]?"
)
_EPOCH_PAIR: Final = re.compile(
    r"epoch\s*:?\s*\[?\s*(?P<e>\d{1,9})\s*/\s*(?P<all>\d{1,9})\s*\]?[\s,|:]*(?:[\[(]\s*(?P<n>\d{1,12})\s*/\s*(?P<total>\d{1,12})\s*[\])])",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    r"\s*(?:[\[(]\s*(?P<a>\d+)\s*(?:/\s*(?P<total>\d+)\s*)?[\])]|(?P<b>\d+)\s*/\s*(?P<of>\d+)(?=\s*[:|,]|\s+[A-Za-z])"
    r"|(?P<n>\d{1,9})(?=\s*[:|]|\s+[A-Za-z]))\s*[:|]?"
)


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
    #: of a number that was rounded when it was shown (`25K`): to multiples of this
    rough: int = 0


@dataclass(slots=True)
class Marks:
    """What `take_marks` found: the step's mark, the epoch alone, whether a part of a step is meant, the text without them."""

    mark: Mark | None
    epoch: int | None
    sub: bool
    text: str
    epochs: int | None = None
    #: a counter of updates beside the step's
    beside: Mark | None = None


def _whole(text: str | None) -> int | None:
    number = int(text.replace(",", "")) if text and len(text) < 20 else MOST
    return number if number < MOST else None


def take_marks(text: str) -> Marks:
    """Find the best step mark of a line and take every mark off it."""
    if match := _EPOCH_PAIR.search(text):
        pair = (int(match["e"]), int(match["all"]))
        mark = Mark(int(match["n"]), int(match["total"]), 0, "epoch", pair, True)
        return Marks(mark, pair[0], False, f"{text[: match.start()]} | {text[match.end() :]}")
    epoch: tuple[int, int | None] | None = None
    found: list[Mark] = []
    if _ROUNDED.search(text) and (rounded := _ROUGH.search(text)):
        found.append(_rough(rounded))
        text = f"{text[: rounded.start()]} | {text[rounded.end() :]}"
    pieces: list[str] = []
    sub, at = False, 0
    if text.isascii():  # small letters are found faster than letters of any size
        matches = list(_SMALL_MARK.finditer(text.lower()))
    else:
        matches = sorted([*_CHINESE_MARK.finditer(text), *_MARK.finditer(text)], key=lambda match: match.start())
    for match in matches:
        step, total = _whole(match["n"]), _whole(match["total"] or match.groupdict().get("all"))
        if step is None or (total is not None and total < step) or match.start() < at:
            continue
        if _PER.search(text, max(match.start() - 12, 0), match.start()):
            continue
        pieces.append(text[at : match.start()])
        at = match.end()
        word, qualifier = match["word"].lower(), (match.groupdict().get("qualifier") or "").strip(" _-").lower()
        if word in {"epoch", "ep"}:  # `Ep 1 (Step 000005)`
            epoch = (step, total)
        elif qualifier and qualifier != "grpo":
            sub = True
        else:
            mark = Mark(step, total, _MARKS.get(word, 3) + (3 if qualifier else 0), word)
            mark.colon = text[at : at + 1] == ":"
            found.append(mark)
    pieces.append(text[at:])
    number, planned = epoch or (None, None)
    best = _best(found, epoch)
    beside = next((mark for mark in found if mark is not best and mark.word in _UPDATES), None)
    return Marks(best, number, sub, " | ".join(pieces), planned, beside)


def _rough(match: re.Match[str]) -> Mark:
    word, rough = match["word"].lower(), _UNITS[match["unit"]] // 10 ** len(match["rest"] or "")
    return Mark(round(float(match["n"]) * _UNITS[match["unit"]]), None, _MARKS[word], word, rough=rough)


def _best(found: list[Mark], epoch: tuple[int, int | None] | None) -> Mark | None:
    """The mark of the smallest unit that is a step; `Iteration 2/3` around `Step 5/500` counts like an epoch."""
    if not found:
        return None
    best = min(found, key=lambda mark: (mark.rank, -(mark.total or 0)))
    around = [mark for mark in found if mark.word.startswith("iter") and mark.total is not None and mark is not best]
    if epoch is None and around and best.rank < around[0].rank:
        epoch = (around[0].step, around[0].total)
    best.epoch = epoch
    return best


def leading_mark(text: str) -> Mark | None:
    """`120 GRPO loss 0.012`, `[12/500] loss=..`: a number in front, the step when known keys follow."""
    match = _LEADING.match(text)
    if match is None:
        return None
    step, total = _whole(match["n"] or match["a"] or match["b"]), _whole(match["total"] or match["of"])
    if step is None or (total is not None and step > total):
        return None
    return Mark(step, total, 8, "")
