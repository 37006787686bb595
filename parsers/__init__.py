"""Logs in, runs out.

`read` and `read_all` take a file, a folder or bytes; `detect` says what a file is; `discover` finds runs below a folder.
"""

from __future__ import annotations

from pathlib import Path

from parsers import formats
from parsers.base import HEAD_BYTES, Confidence, Format, Origin
from parsers.formats import FORMATS
from parsers.source import Feeder, origin_of, read_whole
from parsers.windows import make_head
from timeledger.errors import UnknownFormat, UnreadableSource
from timeledger.run import Run

__all__ = ["FORMATS", "detect", "read", "read_all"]

Source = str | Path | bytes


def detect(source: Source, *, name: str = "") -> tuple[Format | None, Confidence]:
    """The format of a file or of bytes, with the line that decided; (None, ...) when no format recognises it."""
    if isinstance(source, bytes):
        return formats.detect(make_head(Origin(name or "input"), source, len(source) <= HEAD_BYTES))
    path = Path(source)
    with path.open("rb") as stream:
        data = stream.read(HEAD_BYTES + 1)
    return formats.detect(make_head(origin_of(path), data, len(data) <= HEAD_BYTES))


def read_all(
    source: Source, *, name: str = "", format: str | None = None, mapping: tuple[tuple[str, str], ...] = ()
) -> tuple[Run, ...]:
    """Every run of a file or of bytes, oldest first. `name` names bytes; `mapping` renames the log's own keys to columns.

    Raises:
        UnreadableSource: missing, empty, or cannot be opened.
        UnknownFormat: no format recognises it.
        BadOption: `format` names none.
    """
    fixed = formats.by_name(format) if format else None
    if isinstance(source, bytes):
        feeder = read_whole(Origin(name or "input", mapping=mapping), fixed, source)
        size = len(source)
    else:
        path = Path(source)
        if not path.exists():
            raise UnreadableSource(f"{path}: there is no such file or folder.")
        feeder = read_whole(origin_of(path, mapping), fixed, None)
        size = path.stat().st_size
    if feeder.format is None:
        raise unknown(feeder.origin, size, feeder)
    return feeder.runs()


def read(
    source: Source, *, name: str = "", format: str | None = None, mapping: tuple[tuple[str, str], ...] = ()
) -> Run:
    """The run of a file or of bytes; the latest one when the source holds several. Errors as `read_all`."""
    return read_all(source, name=name, format=format, mapping=mapping)[-1]


def unknown(origin: Origin, size: int, feeder: Feeder) -> UnknownFormat | UnreadableSource:
    """The error for a source that no format recognises: what it begins with, what was looked for, what to do."""
    where = str(origin.path or origin.name)
    if size == 0:
        return UnreadableSource(f"{where}: the file is empty.")
    first = feeder.first_line()
    names = ", ".join(each.name for each in FORMATS)
    return UnknownFormat(
        f"{where}: not a log that timeledger knows.\n"
        f"  It begins: {first}\n"
        f"  Looked for: {names}.\n"
        "  If it is one of these, say so with --format; if it is a loop of your own, print one line a step such as\n"
        "  `step 3 | len 152 | reward 0.53 | time 33.1s`. `timeledger formats` shows what each format needs."
    )
