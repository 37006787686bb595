"""The table of formats. A new format is one module and one line here; earlier lines win ties."""

from __future__ import annotations

from typing import Final

from parsers.areal import AREAL_CONSOLE
from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.boxed import BOXED
from parsers.csv import CSV
from parsers.deepspeed import DEEPSPEED
from parsers.json_rows import JSON_ROWS
from parsers.jsonl import JSONL
from parsers.keyvalue import KEYVALUE
from parsers.llama_factory import LLAMA_FACTORY
from parsers.mlflow import MLFLOW_STORE
from parsers.nemo_rl import NEMO_RL_CONSOLE
from parsers.notebook import NOTEBOOK
from parsers.open_instruct import OPEN_INSTRUCT_CONSOLE
from parsers.openrlhf import OPENRLHF_CONSOLE
from parsers.prime_rl import PRIME_RL_CONSOLE
from parsers.prometheus import PROMETHEUS
from parsers.roll import ROLL_CONSOLE
from parsers.sglang import SGLANG
from parsers.skyrl import SKYRL_CONSOLE
from parsers.slime import SLIME_CONSOLE
from parsers.swift import SWIFT
from parsers.tagged_jsonl import TAGGED_JSONL
from parsers.tensorboard import TENSORBOARD
from parsers.torchforge import TORCHFORGE_CONSOLE
from parsers.torchtune import TORCHTUNE_LOG
from parsers.tracker_db import TRACKER_DB
from parsers.trainer_state import TRAINER_STATE
from parsers.trl import TRL
from parsers.verl import VERL
from parsers.verl_jsonl import VERL_JSONL
from parsers.vllm import VLLM
from parsers.vllm_bench import VLLM_BENCH, VLLM_BENCH_JSON
from parsers.wandb_offline import WANDB
from timeledger.errors import BadOption

FORMATS: Final[tuple[Format, ...]] = (
    TENSORBOARD,
    WANDB,
    TRACKER_DB,
    MLFLOW_STORE,
    NOTEBOOK,
    CSV,
    SWIFT,
    LLAMA_FACTORY,
    TRAINER_STATE,
    VERL_JSONL,
    VERL,
    OPENRLHF_CONSOLE,
    AREAL_CONSOLE,
    NEMO_RL_CONSOLE,
    SKYRL_CONSOLE,
    SLIME_CONSOLE,
    PRIME_RL_CONSOLE,
    ROLL_CONSOLE,
    OPEN_INSTRUCT_CONSOLE,
    TORCHTUNE_LOG,
    TORCHFORGE_CONSOLE,
    BOXED,
    TAGGED_JSONL,
    TRL,
    PROMETHEUS,
    VLLM_BENCH_JSON,
    VLLM_BENCH,
    VLLM,
    SGLANG,
    JSON_ROWS,
    JSONL,  # any keys: after the formats whose keys are known
    KEYVALUE,  # any lines: last, but for
    DEEPSPEED,  # lines that stand in other logs too
)


#: See `weight`.
Weight = tuple[bool, bool, Sure, bool]


def detect(head: Head, known: tuple[Format, Sure] | None = None) -> tuple[Format | None, Confidence]:
    """The format that is surest of this head, with the line that decided; (None, NO) when none recognises it.

    A trainer's usual shape wins over an engine's certain line: a trainer's log may hold its engine's lines. When earlier
    bytes are `known` to be a format's, only another format of more weight counts.
    """
    best: Format | None = None
    answer = NO
    beat = None if known is None else weight(*known)
    for each in FORMATS:
        if beat is not None and ((known is not None and each is known[0]) or weight(each, each.most) <= beat):
            continue
        confidence = each.recognises(head)
        if confidence.sure and (beat is None or weight(each, confidence.sure) > beat):
            best, answer, beat = each, confidence, weight(each, confidence.sure)
    return best, answer


def weight(each: Format, sure: Sure) -> Weight:
    """How much an answer weighs: any above a fallback, then a trainer's, then the surer one, then rows above an engine's."""
    return sure > Sure.MAYBE, each.role == "trainer", sure, each.role == "own"


def by_name(name: str) -> Format:
    """The format of this name.

    Raises:
        BadOption: there is none; the text lists those there are.
    """
    for each in FORMATS:
        if each.name == name:
            return each
    raise BadOption(f"--format {name}: no such format. There are: {', '.join(each.name for each in FORMATS)}.")
