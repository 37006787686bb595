"""Files in memory, grouped and merged as those of a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from parsers.base import Format, Origin
from parsers.clusters import Unit
from parsers.discover import is_copy, merged, names_of, units_of
from parsers.group import Grouper
from parsers.source import read_whole
from timeledger.run import Run


def read_uploads(
    uploads: Sequence[tuple[str, bytes | memoryview]], fixed: Format | None, mapping: tuple[tuple[str, str], ...],
    told: Callable[[int], None] | None = None,
) -> tuple[tuple[Run, ...], tuple[str, ...]]:  # fmt: skip
    """The runs of named files in memory (names may hold folders), and the names of those that are no logs.

    `told` is called now and then with the number of bytes of all files that have been read.
    """
    units: list[Unit] = []
    unknown: list[str] = []
    before = 0
    for name, data in uploads:
        path = PurePath(name)
        count = None if told is None else partial(_add, told, before)
        feeder = read_whole(Origin(path.name, path.parent.parts, None, None, mapping), fixed, memoryview(data), count)
        before += len(data)
        runs = feeder.runs()
        if not runs:
            unknown.append(name)
        found = units_of(path, feeder.format, runs, (), is_copy(path, (PurePath(other) for other, _ in uploads)))
        # A file dropped by itself was named by a person: it is never a stranger in a run's folder.
        units += found if path.parent.parts else [replace(each, role="trainer") for each in found]
    clusters = Grouper().group(units)
    return tuple(merged(clusters, names_of(clusters))), tuple(unknown)


def _add(told: Callable[[int], None], before: int, done: int) -> None:
    told(before + done)
