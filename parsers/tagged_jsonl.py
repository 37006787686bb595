"""JSON lines of a framework's own metric names: prime-rl's metrics.jsonl, and any tracker's history written out row by row."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.jsonl import parse
from parsers.moments import epoch
from parsers.tagged import TaggedReader
from parsers.tags import meaning
from parsers.text import Piece, stamp
from parsers.values import real, whole
from timeledger.said import say

#: Those whose metric names stand in `tag_tables` (verl, TRL and OpenRLHF have readers of their own, or none is needed).
_FRAMEWORKS: Final = frozenset(
    {"prime-rl", "NeMo-RL", "AReaL", "SkyRL", "slime", "ROLL", "open-instruct", "torchtune", "torchforge"}
)
_STEPS: Final = ("step", "_step", "global_step", "trainer/global_step", "system/global_step", "training_step")
_CLOCKS: Final = ("time", "timestamp", "_timestamp", "ts")
_LOOK: Final = 60
#: Share of lines that may be no objects (cut off, or another's).
_BROKEN: Final = 0.4


class _TaggedJsonlReader(TaggedReader):
    """Several objects of one step are one row."""

    format_name = "tagged_jsonl"

    def take(self, piece: Piece) -> None:
        record = parse(piece.text)
        step = None if record is None else _step(record)
        if record is None or step is None:
            text = say("lines that are no JSON objects") if record is None else say("objects without a step number")
            self.build.note("skipped", text, piece.no)
            return
        tags = {
            key: number
            for key, value in record.items()
            if key not in _STEPS and key not in _CLOCKS and (number := real(value)) is not None
        }
        self.put(step, tags, piece.no, _at(record))


def _step(record: dict[str, Any]) -> int | None:
    return next((step for key in _STEPS if (step := whole(record.get(key))) is not None), None)


def _at(record: dict[str, Any]) -> datetime | None:
    for key in _CLOCKS:
        value = record.get(key)
        if isinstance(value, str):
            return stamp(value)
        if (at := epoch(real(value))) is not None:
            return at
    return None


def recognises(head: Head) -> Confidence:
    """CERTAIN: two rows with a step and names that only one framework writes; one, in a file that has no more."""
    found, first = 0, ""
    records = [(line, parse(line)) for line in head.lines[:_LOOK]]
    if sum(record is None for _, record in records) > _BROKEN * len(records):
        return NO
    for line, record in records:
        if (
            record is not None
            and _step(record) is not None
            and any(meaning(key).framework in _FRAMEWORKS for key in record if "/" in key)
        ):
            found += 1
            first = first or line
    enough = found >= 2 or (found == 1 and head.whole)
    return Confidence(Sure.CERTAIN, first[:120]) if enough else NO


TAGGED_JSONL: Final = Format(
    name="tagged_jsonl",
    title="prime-rl metrics.jsonl, and JSON lines of other frameworks' metric names",
    kind="lines",
    recognises=recognises,
    open=_TaggedJsonlReader,
    reads="every metric by the name the framework gives it: step time, phases, lengths, rewards, the time of each row; several "
    "objects of a step are one row",
    lacks="settings",
    more="keep it beside the console's log",
)
