"""Files in memory, grouped and merged as those of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from parsers.base import Format, Origin
from parsers.clusters import Unit
from parsers.discover import is_copy, merged, names_of, units_of
from parsers.group import Grouper
from parsers.source import Told, further, read_whole
from timeledger.run import Run


def read_uploads(
    uploads: Sequence[tuple[str, bytes | memoryview]], fixed: Format | None, mapping: tuple[tuple[str, str], ...],
    told: Told | None = None,
) -> tuple[tuple[Run, ...], tuple[str, ...]]:  # fmt: skip
    """The runs of named files in memory (names may hold folders), and the names of those that are no logs."""
    units: list[Unit] = []
    unknown: list[str] = []
    before = 0
    for name, data in uploads:
        path = PurePath(name)
        origin = Origin(path.name, path.parent.parts, None, None, mapping)
        feeder = read_whole(origin, fixed, memoryview(data), further(told, before))
        before += len(data)
        runs = feeder.runs()
        if not runs:
            unknown.append(name)
        found = units_of(path, feeder.format, runs, (), is_copy(path, (PurePath(other) for other, _ in uploads)))
        # A file dropped by itself was named by a person: it is never a stranger in a run's folder.
        units += found if path.parent.parts else [replace(each, role="trainer") for each in found]
    clusters = Grouper().group(units)
    return tuple(merged(clusters, names_of(clusters))), tuple(unknown)
