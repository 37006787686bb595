"""verl's file logger: one `{"step": N, "data": {...}}` a line."""

from __future__ import annotations

import json
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.lines import LineReader
from parsers.text import Piece
from parsers.values import real, whole
from parsers.verl_rows import StepRows
from parsers.verl_text import KNOWN_KEY
from timeledger.said import say


class _JsonReader(LineReader):
    """The file logger: one `{"step": N, "data": {...}}` a line. A restart of the trainer begins the file anew."""

    format_name = "verl_jsonl"
    framework = "verl"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._rows = StepRows(self.build)

    def take(self, piece: Piece) -> None:
        record = _record(piece.text)
        if record is None:
            self.build.note("skipped", say("not a record of step and data"), piece.no)
            return
        self._rows.add(record[0], record[1], piece.no)


def _record(text: str) -> tuple[int, dict[str, float]] | None:
    """One record of the file logger: its step and its numbers (null, texts and lists are left out)."""
    if not text.startswith("{"):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    step, data = (whole(record.get("step")), record.get("data")) if isinstance(record, dict) else (None, None)
    if step is None or not isinstance(data, dict):
        return None
    return step, {key: number for key, value in data.items() if (number := real(value)) is not None}


def recognises(head: Head) -> Confidence:
    """CERTAIN: the first line is a record of step and data whose keys are verl's."""
    if not head.lines or '"data"' not in head.lines[0][:200]:
        return NO
    record = _record(head.lines[0])
    if record is not None and any(KNOWN_KEY.match(key) for key in record[1]):
        return Confidence(Sure.CERTAIN, head.lines[0][:100])
    return NO


VERL_JSONL: Final = Format(
    name="verl_jsonl",
    title="verl file logger (JSONL)",
    kind="lines",
    recognises=recognises,
    open=_JsonReader,
    reads="step time, every phase, lengths, rewards, tokens, validation and checkpoint times",
    lacks="total steps and configuration: give them with the console, or type them in",
    more="trainer.logger=[console,file] writes both",
)
