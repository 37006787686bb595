"""Tables of metrics by their header: which known export it is, and how its cells are to be read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from parsers import tag_tables, trl_keys, verl_keys
from parsers.fields import resolve
from parsers.row_axis import COUNTERS
from parsers.tags import meaning
from timeledger import schema, units

#: own: `timeledger export`. tensorboard, wandb: exports of a chart. long: one metric a row. tracker: a framework's own
#: names. plain: names of a hand-written loop.
Shape = Literal["own", "tensorboard", "wandb", "long", "tracker", "plain"]

_DELIMITERS: Final = ",\t;|"
_CHART: Final = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<bound>__MIN|__MAX|__step)?$")
_NAMES: Final = {"tag", "key", "metric", "name", "metric_name"}
#: Columns of tables that list runs or models.
_RUNS: Final = {"name", "state", "run", "run id", "run_id", "id", "model", "experiment", "sweep", "tags"}
_VALUES: Final = {"value", "metric_value"}
_LONGEST_FIELD: Final = 1 << 20
#: Rows from which on a column is seen to count.
_COUNTING: Final = 3


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a table: its delimiter and its names, as they stand."""

    delimiter: str
    names: tuple[str, ...]

    @property
    def plain(self) -> tuple[str, ...]:
        """The names in lower case."""
        return tuple(name.lower() for name in self.names)

    def step(self) -> str | None:
        """The column that numbers the steps, best first; None when no name says so."""
        ranked = [(resolve(name).rank, at, name) for at, name in enumerate(self.names) if resolve(name).kind == "step"]
        return min(ranked)[2] if ranked else None


def header_of(line: str) -> Header | None:
    """The header in a line of text: names split by the delimiter that splits it most; None when it cannot be one."""
    line = line.lstrip("\ufeff").rstrip("\r\n")
    delimiter = max(_DELIMITERS, key=line.count)
    if not line.count(delimiter) or len(line) > _LONGEST_FIELD:
        return None
    try:
        names = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except (csv.Error, StopIteration):
        return None
    while names and not names[-1]:
        names.pop()
    words = [name for name in names if name]
    sound = len(words) >= 2 and all(_is_name(name) for name in words) and len(set(words)) == len(words)
    return Header(delimiter, tuple(names)) if sound else None


def _is_name(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return len(cell) <= 200 and not cell.startswith(("{", "["))
    return False


def shape_of(header: Header) -> Shape | None:
    """What kind of table the header announces; None when nothing in it is known."""
    plain = header.plain
    if plain == ("wall time", "step", "value"):
        return "tensorboard"
    if "segment" in header.names and "step" in header.names and len(set(header.names) & set(schema.STEPS)) >= 3:
        return "own"
    if any(chart_parts(name) for name in header.names[1:]) and not chart_parts(header.names[0]):
        return "wandb"
    if "step" in plain and set(plain) & _NAMES and set(plain) & _VALUES:
        return "long"
    known = [meaning(name) for name in header.names if name]
    stepped = header.step() is not None or "_step" in header.names
    if not stepped and set(plain) & _RUNS:
        return None  # a table of runs, not of steps
    if stepped and (any(each.framework for each in known) or "_step" in header.names):
        return "tracker"
    columns = {each.target for each in known if each.role in {"column", "phase"}}
    columns |= {resolve(name).name for name in header.names if resolve(name).kind in {"column", "phase", "clock"}}
    epochs = (
        "epoch" in columns and "reward" in columns
    )  # a loop that calls its rounds epochs; without a reward any training does
    counted = any(name.rpartition("/")[2] in COUNTERS for name in plain)
    timed = counted and any(resolve(name).kind == "clock" for name in header.names)
    few = 1 if stepped or timed else 2 if epochs or counted else 3
    return "plain" if len(columns - {"epoch", ""}) >= few else None


def counter(header: Header, rows: Sequence[Mapping[str, str]]) -> str | None:
    """A column that counts on from row to row, for a table whose names say of none that it is the step."""
    by_plain = {name.lower().rpartition("/")[2]: name for name in header.names if name}
    for name in (by_plain[plain] for plain in COUNTERS if plain in by_plain):
        counts = [units.number(row.get(name, "")) for row in rows]
        known = [count for count in counts if count is not None]
        if len(known) >= _COUNTING and len(known) == len(counts) and all(a < b for a, b in pairwise(known)):
            return name
    return None


def chart_parts(name: str) -> tuple[str, str] | None:
    """Run and metric of a column of a W&B chart export (`<run> - <metric>`); None for its bounds and other names."""
    match = _CHART.match(name)
    if match is None or match["bound"]:
        return None
    return match["run"], match["metric"]


def long_columns(header: Header) -> tuple[str, str]:
    """The columns of a long table that hold the metric's name and its value."""
    by_plain = dict(zip(header.plain, header.names, strict=True))
    return next(by_plain[name] for name in by_plain if name in _NAMES), next(
        by_plain[name] for name in by_plain if name in _VALUES
    )


def _flat(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()


def _known_tags() -> Iterator[str]:
    tables = (tag_tables.NEMO_RL, tag_tables.AREAL, tag_tables.SKYRL, tag_tables.SLIME, tag_tables.ROLL,
              tag_tables.OPEN_INSTRUCT, tag_tables.PRIME_RL, verl_keys.COLUMNS)  # fmt: skip
    for table in tables:
        yield from table
    for timer in verl_keys.PHASES:
        yield f"timing_s/{timer}"
    for key in (*trl_keys.TRL, *tag_tables.OPENRLHF, "num_tokens"):
        yield f"train/{key}"
        yield key


_BY_FLAT: Final = {_flat(tag): tag for tag in reversed(list(_known_tags()))}


def tag_of_file(name: str) -> str:
    """The tag that a TensorBoard download is of: `run-<run>-tag-<tag>.csv`, with `/` and others written as `_`."""
    stem = name.rsplit(".", 1)[0]
    written = stem.rsplit("-tag-", 1)[-1] if "-tag-" in stem else stem
    return _BY_FLAT.get(_flat(written), written)
