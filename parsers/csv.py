"""Tables of metrics (CSV, TSV): hand-written ones, exports of TensorBoard and W&B charts, long tables, our own export."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from parsers import clocks, day_times, values
from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.build import RunBuilder
from parsers.csv_shapes import Header, Shape, chart_parts, counter, header_of, long_columns, shape_of, tag_of_file
from parsers.documents import DocumentReader
from parsers.epochs import InEpochs
from parsers.evaluations import with_sparse
from parsers.renames import Resolver, resolver
from parsers.rows import RowWriter
from parsers.runs_apart import Key, groups, label
from parsers.sorting import Pair, Sorted, sort_out
from parsers.tagrows import TagRows
from parsers.text import stamp, stamp_has_zone
from parsers.trackers import MetricRows
from timeledger import schema, units
from timeledger.run import Run
from timeledger.said import say

_LONGEST_FIELD: Final = 1 << 20
_STAMPS: Final = {"timestamp", "time", "date", "datetime", "wall_time", "created_at", "at", "wall time"}
_CERTAIN: Final = {"own", "tensorboard", "wandb"}
#: Where semicolons part the cells, a comma may be the decimal point: `0,25`, `20,5`; `12,345` alone does not say so.
_DECIMAL_COMMA: Final = re.compile(r"(?:^|;)\s*[-+]?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))\s*(?=;|$)", re.MULTILINE)
_COMMA_NUMBER: Final = re.compile(r"^(\s*[-+]?\d+),(\d+(?:[eE][-+]?\d+)?\s*)$")
Row = dict[str, str]


def recognises(head: Head) -> Confidence:
    """A header whose names are known, and a row of as many cells below it."""
    lines = [line for line in head.lines if not line.lstrip().startswith("#")][:3]
    header = header_of(lines[0]) if lines else None
    if header is None or (shape := shape_of(header)) is None:
        return NO
    if len(lines) < 2:
        return Confidence(Sure.MAYBE, lines[0][:100])
    cells = lines[1].count(header.delimiter)
    if not len(header.names) - 1 <= cells or not any(
        units.number(cell) is not None for cell in lines[1].split(header.delimiter)
    ):
        return NO
    return Confidence(Sure.CERTAIN if shape in _CERTAIN else Sure.LIKELY, lines[0][:100])


class CsvReader(DocumentReader):
    """Reads the table: one run, or one for each run of a W&B chart."""

    format_name = "csv"

    def read(self) -> tuple[Run, ...]:
        """The runs of the table."""
        text = self.text().replace("\0", "")
        lines = text.splitlines(keepends=True)
        start = next((at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), 0)
        header = header_of(lines[start]) if start < len(lines) else None
        shape = shape_of(header) if header is not None else None
        if header is None or shape is None:
            return self.nothing(say("no header with a known name"))
        if not text.endswith(("\n", "\r")) and len(lines) > start + 1:
            lines = _whole_rows(lines, header)
        build = self.builder()
        rows = _rows(build, lines[start + 1 :], header, start + 2)
        return _SHAPES[shape](build, header, rows)


def _whole_rows(lines: list[str], header: Header) -> list[str]:
    """Without a last line that is still being written: it has fewer cells than the header."""
    return lines if lines[-1].count(header.delimiter) >= len(header.names) - 1 else lines[:-1]


def _rows(build: RunBuilder, lines: list[str], header: Header, first: int) -> Iterator[tuple[int, Row]]:
    """Line number and cells by name; a row of another width is skipped and noted."""
    csv.field_size_limit(_LONGEST_FIELD)
    text = "".join(lines)
    comma = header.delimiter == ";" and _DECIMAL_COMMA.search(text) is not None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            build.note("skipped", say("a row that is no CSV"), first + reader.line_num - 1)
            continue
        no = first + reader.line_num - 1
        if not any(cell.strip() for cell in cells) or tuple(cell.strip() for cell in cells) == header.names:
            continue
        if len(cells) < len(header.names) or any(cell.strip() for cell in cells[len(header.names) :]):
            build.note("skipped", say("a row with another number of cells than the header"), no)
            continue
        if comma:
            cells = [_COMMA_NUMBER.sub(r"\1.\2", cell) for cell in cells]
        yield no, {name: cell.strip() for name, cell in zip(header.names, cells, strict=False) if name and cell.strip()}


def _at(build: RunBuilder, row: Row) -> datetime | None:
    for name, cell in row.items():
        if name.lower().lstrip("_") in _STAMPS and (at := stamp(cell)) is not None:
            build.zone_known = build.zone_known and stamp_has_zone(cell)
            return at
    return None


def _step(row: Row, name: str | None) -> int | None:
    return values.whole(units.number(row.get(name, ""))) if name else None


def _own(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """Our own export: columns by their own names; `wall_s` stands in where the log had no clock of its own."""
    timed = bool({"step_s", "at", "elapsed_s"} & set(header.names))
    for no, row in rows:
        step, segment = _step(row, "step"), _step(row, "segment")
        if step is None or segment is None:
            build.note("skipped", say("a row without a step"), no)
            continue
        if build.segment < segment:
            build.new_segment()
            build.segment = segment
        numbers = {name: number for name, cell in row.items() if (number := units.number(cell)) is not None}
        known = {name: value for name, value in numbers.items() if name in schema.STEPS and name not in _PLACE}
        if not timed and "wall_s" in numbers:
            known["step_s"] = numbers["wall_s"]
        if (span := values.whole(numbers.get("span"))) is not None:
            known["span"] = span
        extra = {name: value for name, value in numbers.items() if name not in schema.STEPS and name not in _DERIVED}
        build.row(step, known, line=values.whole(numbers.get("line")) or no, at=stamp(row.get("at", "")), extra=extra)
    return (build.run(),)


_PLACE: Final = {"segment", "step", "span", "line", "at", "wall_s"}
#: Columns that the export adds to the log's own.
_DERIVED: Final = {"end_s", "extra_s", "kind", "outside_s"}


def _tensorboard(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """One tag of TensorBoard, named by the file."""
    tags, tag = TagRows(build), tag_of_file(build.origin.name)
    wall, step, value = header.names
    for no, row in rows:
        at, number, when = _step(row, step), units.number(row.get(value, "")), units.number(row.get(wall, ""))
        if at is None or number is None:
            build.note("skipped", say("a row without a step or a value"), no)
            continue
        tags.add(at, tag, number, when)
    return (tags.run(),)


def _wandb(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """A chart of W&B: one metric (or several) of one run a column; the lower and upper bounds are left out."""
    columns = {name: parts for name in header.names[1:] if (parts := chart_parts(name)) is not None}
    builders: dict[str, TagRows] = {}
    for run, _ in columns.values():
        if run not in builders:
            mine = RunBuilder(build.origin, "csv")
            mine.name = run
            builders[run] = TagRows(mine)
    axis = header.names[0]
    if "step" not in axis.lower():
        build.note(
            "missing", say("the chart was exported over {axis}, not over steps: choose Step as its x axis", axis=axis)
        )
        return (build.run(),)
    for no, row in rows:
        step = _step(row, axis)
        if step is None:
            next(iter(builders.values())).build.note("skipped", say("a row without a step"), no)
            continue
        for name, (run, metric) in columns.items():
            if (number := units.number(row.get(name, ""))) is not None:
                builders[run].add(step, metric, number, None)
    return tuple(each.run() for each in builders.values())


def _long(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """One metric a row; rows are put into the order of their steps, as exports sort them by name."""
    metric, value = long_columns(header)
    points = []
    for no, row in rows:
        step, number = _step(row, header.step()), units.number(row.get(value, ""))
        if step is None or number is None or metric not in row:
            build.note("skipped", say("a row without a step, a name or a value"), no)
            continue
        wall = next((units.number(cell) for name, cell in row.items() if name.lower() in _STAMPS), None)
        at = _at(build, row)
        points.append((step, no, row[metric], number, at.timestamp() if at is not None else wall))
    tags = TagRows(build)
    for step, _, name, number, wall in sorted(points, key=lambda point: point[:2]):
        tags.add(step, name, number, wall / 1000 if wall is not None and wall > 1e11 else wall)
    return (tags.run(),)


def _tracker(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """The history of a tracker, under a framework's own names."""
    metrics, step = MetricRows(build, counts_rows="_step" in header.names), header.step() or "_step"
    for _, row in rows:
        numbers = {name: number for name, cell in row.items() if (number := units.number(cell)) is not None}
        at = _at(build, row)
        wall = at.timestamp() if at is not None else numbers.get("_timestamp")
        metrics.add(numbers, wall, _step(row, step))
    return (with_sparse(metrics.run()),)


def _plain(build: RunBuilder, header: Header, rows: Iterator[tuple[int, Row]]) -> tuple[Run, ...]:
    """A hand-written table: names by the synonyms, times by how they behave, rows counted when no column does."""
    table = list(rows)
    axis = header.step() or counter(header, [row for _, row in table])
    placed = [(no, row) for no, row in table if axis is None or _step(row, axis) is not None]
    columns, keys = groups([row for _, row in placed], [_step(row, axis) or 0 for _, row in placed])
    if not columns:
        return (_one_run(build, axis, table),)
    parts: dict[Key, list[tuple[int, Row]]] = {}
    for key, row in zip(keys, placed, strict=True):
        parts.setdefault(key, []).append(row)
    return tuple(_one_run(_named(build, label(build.name, columns, key)), axis, part) for key, part in parts.items())


def _named(build: RunBuilder, name: str) -> RunBuilder:
    mine = RunBuilder(build.origin, build.format_name)
    mine.name = name
    return mine


def _one_run(build: RunBuilder, axis: str | None, rows: list[tuple[int, Row]]) -> Run:
    look, writer, epochs = resolver(build.origin.mapping), RowWriter(build), InEpochs()
    for no, row in rows:
        sorted_ = _sorted(build, row, look)
        step = sorted_.step if sorted_.step is not None else _step(row, axis)
        if step is None and axis is not None:
            build.note("skipped", say("a row without a step"), no)
            continue
        if step is None:
            step = (writer.last or 0) + 1
            build.note("guessed", say("no step column: rows are counted"), no)
        if sorted_.step is None:  # `total_steps` that rise are no plan
            sorted_.total = None
        writer.write(epochs.step(step, sorted_.epoch), sorted_, no)
    if writer.total is not None:
        build.setting("total_steps", writer.total, say("the rows' own total"))
    return with_sparse(clocks.settle(day_times.placed(build.run()), writer.step_key))


def _sorted(build: RunBuilder, row: Row, look: Resolver) -> Sorted:
    clock = day_times.key_of(row)
    cells = ((name, values.take(cell, 0)) for name, cell in row.items() if name != clock)
    found = sort_out((Pair(name, value[0]) for name, value in cells if value is not None), look)
    found.at = found.at or _at(build, row)
    if clock is not None:
        day_times.tell(build, row, clock, found)
    return found


_Maker = Callable[[RunBuilder, Header, Iterator[tuple[int, Row]]], tuple[Run, ...]]
_SHAPES: Final[dict[Shape, _Maker]] = {
    "own": _own,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "long": _long,
    "tracker": _tracker,
    "plain": _plain,
}

CSV: Final = Format(
    name="csv",
    title="CSV or TSV of metrics",
    kind="document",
    recognises=recognises,
    open=CsvReader,
    reads="a header and a row a step under any usual names; exports of TensorBoard and W&B charts; `timeledger export`",
    lacks="whatever has no column; settings, except planned steps",
    more="a column with the time of each row (`time` in seconds, or a time stamp)",
    role="own",
)
