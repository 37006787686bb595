"""What is thrown out unread says nothing: no line that `read_line` finds something in is among it."""

from __future__ import annotations

import random

import pytest

from parsers import field_names
from parsers.fields import resolve
from parsers.keyvalue_lines import read_line
from parsers.prose import may_tell

_FILLER = (
    "the of so we and apples Janet has sold there are each, then more than . ; -- ( ) [ ] = : | 's it's don't to at in we'll Answer "
    "therefore box http://x/y /usr/lib.py: \"quoted text\" 'x' \\frac{1} AvgLen meanReward KLLoss GPU0 v2.0 x86_64 — “so” ×"
).split(" ")
_NUMBERS = (
    "3",
    "0.5",
    "-0.25",
    "1e-06",
    "12/250",
    "45%",
    "33.1s",
    "812ms",
    "1:30",
    "2h 5m",
    "1,234",
    "nan",
    "[0.1, 0.2]",
    "7 tokens",
)


def _tells(line: str) -> bool:
    found = read_line(line, resolve)
    return found is not None and found.kind != "other"


def _vocabulary() -> list[str]:
    words = [*field_names.WORDS, *field_names.EXACT, *field_names.UNITS, *field_names.SETTINGS]
    return [word for word in words if word] + [
        "step",
        "Step",
        "iter",
        "Epoch",
        "Update",
        "batch",
        "round",
        "rollout",
        "it",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Natalia sold clips to 48 of her friends in April, and then half as many in May.",
        "/site/torch/utils.py:173: UserWarning: the given buffer is not writable, and that is not supported here",
        'INFO:     127.0.0.1:40112 - "POST /v1/completions HTTP/1.1" 200 OK',
        "Downloading shards to the folder that was given",
        "so there are 12 + 7 = 19 of them in the town near the river",
    ],
)
def test_text_is_thrown_out(line: str) -> None:
    assert not may_tell(line, line.encode())
    assert not _tells(line)


@pytest.mark.parametrize(
    "line",
    [
        "step 3 loss 0.5",
        "loss: 0.5",
        "AvgLen=152.5",
        "KLLoss 0.01",
        "reward 0.5 (max 1.0, min 0.0)",
        "Rewards: mean=0.5, std=0.1, max=1 for all of the prompts of this step",
        "generated 64 responses",
        "rollout took 12.8s",
        "| step | loss | reward |",
        "step   loss   reward   kl",
        "第 3 步 奖励 0.5",
        "12 0.5 s/it [00:30<01:00]",
    ],
)
def test_what_may_be_a_metric_line_is_kept(line: str) -> None:
    assert may_tell(line, line.encode())


def test_every_key_with_a_meaning_is_kept() -> None:
    for key, (kind, _, _) in field_names.EXACT.items():
        line = f"{key} = 0.5"
        assert may_tell(line, line.encode()) or not _tells(line), (key, kind)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_is_read_is_thrown_out(seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = _vocabulary()
    thrown = 0
    for _ in range(1500):
        words = [
            rng.choice(vocabulary if rng.random() < 0.3 else _NUMBERS if rng.random() < 0.4 else _FILLER)
            for _ in range(rng.randrange(2, 24))
        ]
        line = "".join(word + rng.choice((" ", " ", " ", ": ", "=", ", ")) for word in words)
        if not may_tell(line, line.encode()):
            thrown += 1
            assert not _tells(line), line
    assert thrown > 20  # the test looked at something
