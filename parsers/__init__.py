"""Logs in, runs out.

`read` and `read_all` take a file, a folder or bytes; `read_paths` several files and folders at once, `read_uploads`
files in memory. `detect` says what a file is, `discover` which runs lie below a folder, `Live` follows runs that are
still being written, `merge` makes one run of several logs of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from parsers import formats
from parsers.base import HEAD_BYTES, Confidence, Format, Origin
from parsers.discover import RunSources, SourceFile, discover
from parsers.formats import FORMATS
from parsers.live import Live
from parsers.merge import merge
from parsers.renames import renames
from parsers.source import Feeder, Told, detect_head, origin_of, read_whole
from parsers.uploads import read_uploads as _read_uploads
from timeledger.errors import BadLog, UnknownFormat, UnreadableSource
from timeledger.run import Run
from timeledger.said import say

__all__ = [
    "FORMATS", "Live", "RunSources", "SourceFile", "detect", "discover", "merge", "read", "read_all", "read_paths",
    "read_uploads", "renames",
]  # fmt: skip

Source = str | Path | bytes | bytearray | memoryview
Mapping = tuple[tuple[str, str], ...]


def detect(source: Source, *, name: str = "") -> tuple[Format | None, Confidence]:
    """The format of a file or of bytes, with the line that decided; (None, ...) when no format recognises it.

    Raises:
        UnreadableSource: the file is missing or cannot be opened.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return detect_head(Origin(name or "input"), bytes(memoryview(source)[: 16 * HEAD_BYTES]))
    path = Path(source)
    origin = origin_of(path)
    try:
        with path.open("rb") as stream:
            return detect_head(origin, stream.read(16 * HEAD_BYTES))
    except OSError as error:
        raise UnreadableSource(
            say("{path}: cannot be read ({error}).", path=path, error=error.strerror or error)
        ) from error


def read_all(
    source: Source, *, name: str = "", format: str | None = None, mapping: Mapping = (), strict: bool = False
) -> tuple[Run, ...]:
    """Every run of a file, a folder or bytes. `name` names bytes; `mapping` renames the log's own keys to columns.

    The runs of one file come in its order, oldest first; the runs of a folder come newest last, each merged from all of
    its files. `strict` refuses a log of which a part had to be skipped.

    Raises:
        UnreadableSource: missing, empty, a folder without logs, or cannot be opened.
        UnknownFormat: no format recognises it.
        BadOption: `format` names none.
        BadLog: with `strict`, the first part that was skipped.
    """
    fixed = formats.by_name(format) if format else None
    if isinstance(source, bytes | bytearray | memoryview):
        feeder = read_whole(Origin(name or "input", mapping=mapping), fixed, memoryview(source))
        runs, size = feeder.runs(), len(source)
    else:
        path = Path(source)
        if not path.exists():
            raise UnreadableSource(say("{path}: there is no such file or folder.", path=path))
        if path.is_dir():
            return read_paths([path], format=format, mapping=mapping, strict=strict)
        feeder = read_whole(origin_of(path, mapping), fixed, None)
        runs, size = feeder.runs(), path.stat().st_size
    if feeder.format is None:
        raise unknown(feeder.origin, size, feeder)
    if not runs:
        raise BadLog(
            str(feeder.origin.path or feeder.origin.name),
            0,
            say("nothing readable in this {format} log", format=feeder.format.name),
        )
    return _checked(runs, strict)


def read(
    source: Source, *, name: str = "", format: str | None = None, mapping: Mapping = (), strict: bool = False
) -> Run:
    """The run of a file, a folder or bytes; the latest one when there are several. Arguments and errors as `read_all`."""
    return read_all(source, name=name, format=format, mapping=mapping, strict=strict)[-1]


def read_paths(
    paths: Iterable[str | Path], *, format: str | None = None, mapping: Mapping = (), strict: bool = False
) -> tuple[Run, ...]:
    """Every run of several files and folders, newest last; files of one run are merged. Errors as `read_all`."""
    listed = [Path(path) for path in paths]
    if len(listed) == 1 and not listed[0].is_dir():
        return read_all(listed[0], format=format, mapping=mapping, strict=strict)
    live = Live(listed, mapping, formats.by_name(format) if format else None)
    runs = live.poll()
    for path in listed:
        if not path.is_dir() and path not in live.paths:
            read_all(path, format=format, mapping=mapping)  # says why it is no log
    if not runs:
        raise live.nothing()
    return _checked(tuple(sorted(runs, key=_newest_last)), strict)


def read_uploads(
    uploads: Sequence[tuple[str, bytes | memoryview]],
    *,
    format: str | None = None,
    mapping: Mapping = (),
    strict: bool = False,
    told: Told | None = None,
) -> tuple[Run, ...]:
    """The runs of files in memory (name, bytes), grouped and merged as the files of a folder. Errors as `read_all`.

    `told` is called now and then with the number of bytes of all files that have been read.
    """
    fixed = formats.by_name(format) if format else None
    runs, unknown_names = _read_uploads(uploads, fixed, mapping, told)
    if not runs:
        if len(uploads) == 1:
            return read_all(
                uploads[0][1], name=PurePath(uploads[0][0]).name, format=format, mapping=mapping, strict=strict
            )
        raise UnknownFormat(
            say(
                "{names}: none of them is a log that timeledger knows.",
                names=", ".join(unknown_names) or say("no file"),
            )
        )
    return _checked(tuple(sorted(runs, key=_newest_last)), strict)


def _newest_last(run: Run) -> tuple[float, str]:
    newest = run.info.last_write
    return (newest.timestamp() if newest is not None else 0.0, run.name)


def _checked(runs: tuple[Run, ...], strict: bool) -> tuple[Run, ...]:
    """The runs; strictly, only if nothing was skipped.

    Raises:
        BadLog: names the source, the line and what was skipped.
    """
    if strict:
        for run in runs:
            for note in run.notes:
                if note.kind == "skipped":
                    raise BadLog(note.source or run.name, note.line, note.text)
    return runs


def unknown(origin: Origin, size: int, feeder: Feeder) -> UnknownFormat | UnreadableSource:
    """The error for a source that no format recognises: what it begins with, what was looked for, what to do."""
    where = str(origin.path or origin.name)
    if size == 0:
        return UnreadableSource(say("{path}: the file is empty.", path=where))
    if (kind := feeder.packed_as()) is not None:
        return UnknownFormat(
            say(
                "{path}: {kind}. Unpack it and read the log, or the folder, that is in it (gzip needs no unpacking).",
                path=where,
                kind=kind,
            )
        )
    first = feeder.first_line()
    names = ", ".join(each.name for each in FORMATS)
    return UnknownFormat(
        say(
            "{path}: not a log that timeledger knows.\n"
            "  It begins: {first}\n"
            "  Looked for: {names}.\n"
            "  If it is one of these, say so with --format; if it is a loop of your own, print one line a step such as\n"
            "  `step 3 | len 152 | reward 0.53 | time 33.1s`. `timeledger formats` shows what each format needs.",
            path=where,
            first=first,
            names=names,
        )
    )
