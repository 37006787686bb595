"""The table of formats. A new format is one module and one line here; earlier lines win ties."""

from __future__ import annotations

from typing import Final

from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.jsonl import JSONL
from parsers.keyvalue import KEYVALUE
from parsers.openrlhf import OPENRLHF_CONSOLE
from parsers.prometheus import PROMETHEUS
from parsers.sglang import SGLANG
from parsers.tensorboard import TENSORBOARD
from parsers.tracker_db import TRACKER_DB
from parsers.verl import VERL, VERL_JSONL
from parsers.vllm import VLLM
from parsers.vllm_bench import VLLM_BENCH, VLLM_BENCH_JSON
from parsers.wandb_offline import WANDB
from timeledger.errors import BadOption

FORMATS: Final[tuple[Format, ...]] = (
    TENSORBOARD,
    WANDB,
    TRACKER_DB,
    VERL_JSONL,
    VERL,
    OPENRLHF_CONSOLE,
    PROMETHEUS,
    VLLM_BENCH_JSON,
    VLLM_BENCH,
    VLLM,
    SGLANG,
    JSONL,  # any keys: after the formats whose keys are known
    KEYVALUE,  # any lines: last
)


def detect(head: Head) -> tuple[Format | None, Confidence]:
    """The format that is surest of this head, with the line that decided; (None, NO) when none recognises it.

    A trainer's usual shape wins over an engine's certain line: a trainer's log may hold its engine's lines.
    """
    best: Format | None = None
    answer = NO
    for each in FORMATS:
        confidence = each.recognises(head)
        if confidence.sure and (best is None or weight(each, confidence.sure) > weight(best, answer.sure)):
            best, answer = each, confidence
        if answer.sure is Sure.CERTAIN and best is not None and best.role == "trainer":
            break
    return best, answer


def weight(each: Format, sure: Sure) -> tuple[bool, bool, Sure]:
    """How much an answer weighs: any above a fallback, then a trainer's above the others', then the surer one."""
    return sure > Sure.MAYBE, each.role == "trainer", sure


def by_name(name: str) -> Format:
    """The format of this name.

    Raises:
        BadOption: there is none; the text lists those there are.
    """
    for each in FORMATS:
        if each.name == name:
            return each
    raise BadOption(f"--format {name}: no such format. There are: {', '.join(each.name for each in FORMATS)}.")
