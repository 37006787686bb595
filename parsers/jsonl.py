"""JSON lines of any writer: one object a line, with whatever keys its author chose."""

from __future__ import annotations

import json
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder, run_name
from parsers.dicts import flatten
from parsers.json_run import JsonRun, inner, is_dated, is_sample
from parsers.lines import LineReader
from parsers.renames import resolver
from parsers.runs_apart import RunKeys, label
from parsers.sorting import Sorted, sort_out
from parsers.text import Piece
from timeledger.run import Run
from timeledger.said import say

#: Objects looked at to recognise a file, and the share of its lines that must be metric objects.
_LOOK: Final = 40
_SHARE: Final = 0.6


class _JsonlReader(LineReader):
    """Reads objects line by line, each into the run that it names."""

    format_name = "jsonl"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._look = resolver(origin.mapping)
        self._keys = RunKeys()
        self._parts = {"": JsonRun(self.build, self._look)}

    def take(self, piece: Piece) -> None:
        """Read one line."""
        record = parse(piece.text)
        if record is None:
            cut = piece.text.lstrip().startswith("{")
            text = (
                say("a line is not a whole JSON object (cut off while being written?)")
                if cut
                else say("lines that are no JSON objects")
            )
            self.build.note("skipped", text, piece.no)
            return
        name = self._keys.of(record)
        (self._parts.get(name) or self._open(name)).take(record, piece.no)

    def _open(self, name: str) -> JsonRun:
        """The reader of another run; the first one bears the file's name while it is alone."""
        stem, column = run_name(self.origin), [self._keys.column]
        self.build.name = label(stem, column, [self._keys.first])
        build = RunBuilder(self.origin, self.format_name)
        build.name = label(stem, column, [name])
        self._parts[name] = JsonRun(build, self._look)
        return self._parts[name]

    def runs(self) -> tuple[Run, ...]:
        """The runs so far: times whose role was open are settled from all rows."""
        return tuple(part.run() for part in self._parts.values())


def parse(text: str) -> dict[str, Any] | None:
    """The object of a line (NaN and Infinity allowed), None when the line is none."""
    start = text.find("{")
    if start < 0 or text[:start].strip(" ,[\ufeff\x1e"):
        return None
    try:
        found = json.loads(text[start:].strip().rstrip(","))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _tells(record: dict[str, Any], values: Sorted) -> bool:
    """True for metrics of a step, or enough of them without its number."""
    if is_sample(record, values):
        return False
    strong = sum(column not in {"epoch", "acc"} for column in values.columns) + len(values.phases) + len(values.clocks)
    return (strong > 0 and (values.step is not None or strong >= 3)) or is_dated(record, values)


def is_metric(record: dict[str, Any]) -> bool:
    """True when the object is a row of a training's metrics."""
    return _tells(record, sort_out(flatten(inner(record)), resolver(())))


def recognises(head: Head) -> Confidence:
    """LIKELY: objects with a step and metrics on nearly every line. MAYBE: metrics without a step."""
    seen = metric = stepped = 0
    first = ""
    look = resolver(())
    for text in head.lines[: 4 * _LOOK]:
        seen += 1
        record = parse(text)
        if record is None:
            continue
        values = sort_out(flatten(inner(record)), look)
        if _tells(record, values):
            metric += 1
            stepped += values.step is not None
            first = first or text
        if metric >= _LOOK:
            break
    if not metric or metric < _SHARE * seen:
        return NO
    if stepped:
        return Confidence(Sure.LIKELY if stepped >= 2 or len(head.lines) <= 3 else Sure.MAYBE, first[:100])
    return Confidence(Sure.MAYBE, first[:100])


JSONL: Final = Format(
    name="jsonl",
    title="JSON lines",
    kind="lines",
    recognises=recognises,
    open=_JsonlReader,
    reads="one object a line with any keys (nested ones too): step, times, lengths, rewards, phases by their names; several objects of a step are one row",
    lacks="whatever the writer leaves out; times without a unit in their name are told apart by how they behave",
    more='json.dumps({"step": step, "time": seconds, "len_mean": length, "reward": reward, "time/rollout": gen_s, "time/update": train_s})',
    role="own",
    most=Sure.LIKELY,
)
