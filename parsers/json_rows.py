"""JSON documents that a loop dumped at its end: a list of rows, or one list a metric, alone or beside the configuration.

`[{"step": 1, "reward": 0.2}, ..]`, `{"step": [1, 2], "reward": [0.2, 0.3]}`, `{"config": {..}, "history": [{..}, ..]}`.
Rows that were written one after the other over several lines each (`json.dumps(row, indent=2)`) are read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.documents import DocumentReader
from parsers.json_run import config_settings
from parsers.jsonl import JSONL, is_metric
from timeledger.run import Run
from timeledger.said import say

_DEEPEST: Final = 3
_FEWEST: Final = 2
_CONFIG: Final = ("config", "args", "cfg", "hparams", "hyperparameters", "settings", "params")
_NOT_TRAINING: Final = re.compile(r"eval|val|test|sample|completion|rollouts$|trajector", re.IGNORECASE)
_ROWS: Final = re.compile(r"(?:^\s*|\"(?P<name>\w{1,40})\"\s*:\s*)\[\s*(?=\{)")
_LIST: Final = re.compile(r"\"(?P<name>[\w /.\-]{1,60})\"\s*:\s*(?P<list>\[\s*-?\d[^\]\[{}\"]*\])")
_BETWEEN: Final = re.compile(r"[\s,\ufeff\x1e]*")
#: Rows looked at to recognise a document.
_LOOK: Final = 20


class _Reader(DocumentReader):
    """Reads the document's longest list of rows, as JSON lines."""

    format_name = "json"
    largest = 1 << 28

    def read(self) -> tuple[Run, ...]:
        """The run of these rows."""
        document, rows, whole = _parsed(self.text())
        lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode(errors="replace")
        return tuple(self._with_config(run, document, whole=whole) for run in self._of_lines(lines))

    def _of_lines(self, lines: bytes) -> tuple[Run, ...]:
        """The rows as JSON lines, read by the format whose names they have."""
        from parsers.source import read_whole  # noqa: PLC0415  the table of formats holds this module

        feeder = read_whole(self.origin, None, lines)
        if feeder.format is not None and feeder.format.name.endswith("jsonl"):
            return feeder.runs()
        reader = JSONL.open(self.origin)
        reader.feed(lines)
        return reader.runs()

    def _with_config(self, run: Run, document: Any, *, whole: bool) -> Run:
        build = self.builder()
        for name in _CONFIG if isinstance(document, dict) else ():
            config_settings(build, document.get(name), f"the document's {name}")
        run = run.with_settings(**{**build.settings, **run.info.settings})
        if not whole:
            build.note("repaired", say("the JSON is not complete: read as far as it goes"))
        info = run.info.model_copy(update={"format": "json"})
        return replace(run, info=info).with_notes(*build.run().notes)


def _tables(found: Any, name: str, depth: int) -> Iterator[list[dict[str, Any]]]:
    """Every list of metric rows in a document, and every group of equally long lists of numbers as rows."""
    if isinstance(found, list):
        rows = [each for each in found if isinstance(each, dict)]
        if len(rows) >= _FEWEST and not _NOT_TRAINING.match(name) and _are_metrics(rows):
            yield rows
    elif isinstance(found, dict) and depth < _DEEPEST:
        if not _NOT_TRAINING.match(name) and _are_metrics(rows := _turned(found)):
            yield rows
        for key, value in found.items():
            yield from _tables(value, str(key), depth + 1)


def _turned(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Lists of numbers, one a metric, as rows: the longest ones that are as long as each other."""
    lists = {
        key: value
        for key, value in columns.items()
        if isinstance(value, list)
        and len(value) >= _FEWEST
        and all(isinstance(each, int | float | None) for each in value)
    }
    longest = max(map(len, lists.values()), default=0)
    alike = {key: value for key, value in lists.items() if len(value) == longest}
    return (
        [dict(zip(alike, values, strict=True)) for values in zip(*alike.values(), strict=True)]
        if len(alike) > 1
        else []
    )


def _are_metrics(rows: list[dict[str, Any]]) -> bool:
    shown = rows[:_LOOK]
    return bool(shown) and sum(map(is_metric, shown)) > 0.6 * len(shown)


def _parsed(text: str) -> tuple[Any, list[dict[str, Any]], bool]:
    """The document (None when it is no single one), its rows of metrics, and whether all of it could be read."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return document, max(_tables(document, "", 0), key=len, default=[]), True
    rows, end = _objects(text, 0)  # one after the other, each over several lines
    if len(rows) >= _FEWEST and _are_metrics(rows):
        return None, rows, not text[end:].strip()
    return None, _first_rows(text), False


def _first_rows(text: str) -> list[dict[str, Any]]:
    """The rows of the first list of rows in a document that is cut off, or of its lists of numbers."""
    for begin in _ROWS.finditer(text):
        rows, _ = _objects(text, begin.end())
        if len(rows) >= _FEWEST and not _NOT_TRAINING.match(begin["name"] or "") and _are_metrics(rows):
            return rows
    try:
        return _turned({match["name"]: json.loads(match["list"]) for match in _LIST.finditer(text)})
    except ValueError:
        return []


def _objects(text: str, at: int) -> tuple[list[dict[str, Any]], int]:
    """The whole objects that follow each other from `at` on, and where the last one ends."""
    decode, rows = json.JSONDecoder().raw_decode, []
    try:
        while text.startswith("{", start := _past(text, at)):
            row, at = decode(text, start)
            rows.append(row)
    except (ValueError, RecursionError):
        pass
    return rows, at


def _past(text: str, at: int) -> int:
    """The place behind what may stand between two objects."""
    blank = _BETWEEN.match(text, at)
    return at if blank is None else blank.end()


def recognises(head: Head) -> Confidence:
    """LIKELY: a document that begins like one and holds rows of metrics."""
    start = head.data[:400].lstrip()
    if not start.startswith((b"[", b"{")) or not head.lines or _many_objects(head):
        return NO
    _, rows, _ = _parsed(head.data.decode("utf-8-sig", errors="replace"))
    if not rows or not _are_metrics(rows):
        return NO
    return Confidence(Sure.LIKELY, f"rows such as {json.dumps(rows[0])[:80]}")


def _many_objects(head: Head) -> bool:
    """True for JSON lines: several lines, each an object of its own."""
    return len(head.lines) > 1 and head.lines[0].lstrip().startswith("{") and head.lines[0].rstrip().endswith("}")


JSON_ROWS: Final = Format(
    name="json",
    title="JSON document of rows",
    kind="document",
    recognises=recognises,
    open=_Reader,
    reads="a list of rows, or one list a metric, with any keys; the configuration beside them",
    lacks="whatever the writer leaves out",
    more='history.append({"step": step, "time": seconds, "len_mean": length, "reward": reward}) and json.dump(history, file)',
    role="own",
    most=Sure.LIKELY,
)
