"""Finds the runs below files and folders, and puts the files of one run together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Final

from parsers.base import HEAD_BYTES, Format, Sure
from parsers.clusters import Cluster, Unit
from parsers.formats import FORMATS
from parsers.group import Grouper
from parsers.homes import home_of, is_plain, shown
from parsers.merge import merge
from parsers.source import Feeder, detect_head, origin_of
from parsers.walk import Found, Walk, walk
from timeledger import schema
from timeledger.errors import UnreadableSource
from timeledger.run import Note, Run
from timeledger.said import say

#: How far into a file with the name of a log its format is looked for, before it is read as a whole.
_LOG_HEAD: Final = 16 * HEAD_BYTES
_LOG_NAME: Final = re.compile(
    r"\.(?:log|out|err|txt|stdout|stderr|cast|o\d+|e\d+)(?:\.\d+)?(?:\.gz)?$|^[^.]+$", re.IGNORECASE
)
#: How much of a file is read to group it, when only the list of runs is wanted.
_PEEK: Final = 4 * HEAD_BYTES
_CHECKPOINT: Final = re.compile(r"checkpoint-(\d+)$")
_STATE_STEP: Final = re.compile(rb'"global_step":\s*(\d{1,12})')


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One log file: what it was taken for and the line that decided."""

    path: Path
    format: str
    because: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class RunSources:
    """The files of one run. `home` is the folder they belong to; `notes` say what was left out or guessed."""

    name: str
    home: Path
    files: tuple[SourceFile, ...]
    notes: tuple[Note, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, ready for `read_paths` and `Live`."""
        return tuple(each.path for each in self.files)

    @property
    def modified(self) -> datetime:
        """When the run was last written to (UTC)."""
        return max(each.modified for each in self.files)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file that some format recognises."""

    found: Found
    format: Format
    sure: Sure
    because: str


#: path -> size, time of change and answer when it was last looked at.
Sniffed = dict[Path, tuple[int, int, Recognised | None]]


def discover(paths: Path | str | Iterable[Path | str]) -> tuple[RunSources, ...]:
    """Every run below these files and folders, newest last, each with its files. Only the beginning of files is read.

    Raises:
        UnreadableSource: a path does not exist, or there is no log below the folders; the text says what was looked for.
    """
    roots = as_roots(paths)
    walked = walk(roots)
    known = recognise(walked)
    if not known:
        raise nothing_found(roots, walked)
    units: list[Unit] = []
    for each in known:
        path = each.found.path
        units += units_of(path, each.format, _peek(each), roots, is_copy(path, (other.found.path for other in known)))
    by_path = {each.found.path: each for each in known}
    clusters = Grouper().group(units)
    names = names_of(clusters)
    found = [_run_sources(cluster, name, by_path, walked) for cluster, name in zip(clusters, names, strict=True)]
    return tuple(sorted(found, key=lambda each: (each.modified, str(each.home), each.name)))


def as_roots(paths: Path | str | Iterable[Path | str]) -> list[Path]:
    """The paths as a list.

    Raises:
        UnreadableSource: one of them does not exist.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    roots = [Path(path) for path in listed]
    for root in roots:
        if not root.exists():
            raise UnreadableSource(say("{path}: there is no such file or folder.", path=root))
    return roots


def nothing_found(roots: Sequence[Path], walked: Walk) -> UnreadableSource:
    """The error for folders without a log: what was looked at, what was looked for, what to do."""
    where = ", ".join(str(root) for root in roots)
    folders, files = len(walked.folders), len(walked.files)
    names = ", ".join(each.name for each in FORMATS)
    return UnreadableSource(
        say(
            "{path}: no log of a training run here ({folders} folders and {files} files were looked at).\n"
            "  Looked for: checkpoint-*/trainer_state.json, events.out.tfevents.*, wandb/*run-*/, trackio/*.db, mlruns/,\n"
            "  mlflow.db, *.ipynb, *.log, *.txt, *.out, *.jsonl, *.json, *.csv (also .gz), told by what stands in them.\n"
            "  Formats: {names}.\n"
            "  If a file is a log of your own, name it: timeledger show FILE.",
            path=where,
            folders=folders,
            files=files,
            names=names,
        )
    )


def recognise(walked: Walk, sniffed: Sniffed | None = None) -> list[Recognised]:
    """The files that are logs; of checkpoints only the newest. `sniffed` remembers answers between walks.

    Fallback answers of rows of a general shape count only where a person named the file, or where nothing better lies beside or above it.
    """
    remembered = {} if sniffed is None else sniffed
    known = [each for found in walked.files if (each := _remembered(found, remembered)) is not None]
    known = _newest_checkpoints(known)
    better = {each.found.path.parent for each in known if each.sure > Sure.MAYBE}
    return [
        each
        for each in known
        if each.found.named
        or each.sure > Sure.MAYBE
        or each.format.role != "own"
        or not any(each.found.path.parent.is_relative_to(folder) for folder in better)
    ]


def _remembered(found: Found, sniffed: Sniffed) -> Recognised | None:
    """The answer of the walk before, unless the part of the file that decides may have changed."""
    size, changed, known = sniffed.get(found.path, (-1, -1, None))
    settled = known is not None and size >= _LOG_HEAD and found.size >= size
    if not settled and (size, changed) != (found.size, found.mtime_ns):
        known = sniff(found)
    elif known is not None:
        known = replace(known, found=found)
    sniffed[found.path] = (found.size, found.mtime_ns, known)
    return known


def sniff(found: Found) -> Recognised | None:
    """What a file is, from its beginning; None for a file that is no log, is empty or cannot be read."""
    if not found.size:
        return None
    limit = _LOG_HEAD if _LOG_NAME.search(found.path.name) else HEAD_BYTES
    try:
        with found.path.open("rb") as stream:
            origin = origin_of(found.path)
            format_, answer = detect_head(origin, stream.read(HEAD_BYTES))
            if format_ is None and limit > HEAD_BYTES and found.size > HEAD_BYTES:
                stream.seek(0)
                format_, answer = detect_head(origin, stream.read(limit))
    except (OSError, UnreadableSource):
        return None
    return None if format_ is None else Recognised(found, format_, answer.sure, answer.because)


def _newest_checkpoints(known: Sequence[Recognised]) -> list[Recognised]:
    """Of the trainer_state.json of one output folder the furthest whole one: it holds the history from step 1 on."""
    best: dict[Path, tuple[tuple[bool, int, int], Recognised]] = {}
    others: list[Recognised] = []
    for each in known:
        path = each.found.path
        if path.name != "trainer_state.json" or each.found.named:
            others.append(each)
            continue
        folder = path.parent.parent if _CHECKPOINT.match(path.parent.name) else path.parent
        rank = _state_rank(each.found)
        if folder not in best or rank > best[folder][0]:
            best[folder] = (rank, each)
    return sorted([*others, *(each for _, each in best.values())], key=lambda each: str(each.found.path))


def _state_rank(found: Found) -> tuple[bool, int, int]:
    """Whole (not being written just now), step, time of change; beside a checkpoint the output folder's own file wins."""
    number = _CHECKPOINT.match(found.path.parent.name)
    try:
        with found.path.open("rb") as stream:
            head = stream.read(4096)
            stream.seek(max(0, found.size - 64))
            whole = stream.read().rstrip().endswith(b"}")
    except OSError:
        return (False, 0, 0)
    step = _STATE_STEP.search(head)
    return (whole, int(step[1]) if step else int(number[1]) if number else 0, 0 if number else 1)


def _peek(each: Recognised) -> tuple[Run, ...]:
    """The runs of a file as far as its beginning tells; documents are read whole."""
    feeder = Feeder(origin_of(each.found.path))
    limit = each.found.size if each.format.kind == "document" else _PEEK
    try:
        with each.found.path.open("rb") as stream:
            feeder.feed(stream.read(limit))
    except OSError:
        return ()
    feeder.finish()
    return feeder.runs()


def is_copy(path: PurePath, files: Iterable[PurePath]) -> bool:
    """True for the console that W&B keeps (`files/output.log`) beside its own record of the run."""
    folder = path.parent.parent
    return path.name == "output.log" and any(each.parent == folder and each.suffix == ".wandb" for each in files)


def units_of(
    path: PurePath, format_: Format | None, runs: Sequence[Run], roots: Sequence[PurePath], copy: bool = False
) -> list[Unit]:
    """A file's runs as units to be grouped; their source is the path below the run's home."""
    home = home_of(path, tuple(roots))
    role = format_.role if format_ is not None else "trainer"
    label = shown(path, home)
    return [
        Unit(replace(run, info=run.info.model_copy(update={"sources": (label,)})), path, home, role, index, copy)
        for index, run in enumerate(runs)
        if len(runs) == 1 or run.has_steps or run.engine.height or run.progress.height
    ]


def names_of(clusters: Sequence[Cluster]) -> list[str]:
    """A name for each run: its folder's when the folder holds no other run and says something, else its main log's; all differ."""
    count: dict[PurePath, int] = {}
    for cluster in clusters:
        count[cluster.units[0].home] = count.get(cluster.units[0].home, 0) + 1
    names: list[str] = []
    for cluster in clusters:
        name = _name(cluster, alone=count[cluster.units[0].home] == 1)
        parent = cluster.units[0].home.parent.name
        if name in names and parent:
            name = f"{parent}/{name}"
        number, base = 2, name
        while name in names:
            name, number = f"{base} ({number})", number + 1
        names.append(name)
    return names


def _name(cluster: Cluster, *, alone: bool) -> str:
    first = min(
        cluster.units, key=lambda unit: (not unit.run.has_steps, unit.role != "trainer", unit.plain_name, unit.key)
    )
    home = min((unit.home for unit in cluster.units), key=lambda each: len(each.parts)).name
    if alone and home and not is_plain(home) and (len(cluster.units) > 1 or first.plain_name):
        return home
    return first.run.name


def merged(clusters: Sequence[Cluster], names: Sequence[str]) -> list[Run]:
    """One run a cluster."""
    return [_merged(cluster, name) for cluster, name in zip(clusters, names, strict=True)]


def _merged(cluster: Cluster, name: str) -> Run:
    others = [unit for unit in cluster.units if not unit.copy]
    if any(unit.run.has_steps for unit in others):
        bars = any(unit.run.progress.height for unit in others)
        runs = [_without_rows(unit.run, bars=bars) if unit.copy else unit.run for unit in cluster.units]
    else:
        runs = [unit.run for unit in cluster.units]
    return merge(runs, name=name).with_notes(*cluster.notes)


def _without_rows(run: Run, *, bars: bool) -> Run:
    """What a copy of the console adds to the record itself: how it ended, what it warned of, and bars where there are none."""
    empty = schema.empty(schema.PROGRESS) if bars else run.progress
    return replace(
        run, steps=run.steps.clear(), extra=run.extra.clear(), phases=run.phases.clear(), progress=empty,
        notes=tuple(note for note in run.notes if note.kind != "guessed"),
    )  # fmt: skip


def _run_sources(cluster: Cluster, name: str, by_path: dict[Path, Recognised], walked: Walk) -> RunSources:
    files: dict[Path, SourceFile] = {}
    for unit in cluster.units:
        each = by_path[Path(unit.path)]
        modified = datetime.fromtimestamp(each.found.mtime_ns / 1e9, UTC)
        files[each.found.path] = SourceFile(each.found.path, each.format.name, each.because, each.found.size, modified)
    home = min((unit.home for unit in cluster.units), key=lambda each: len(each.parts))
    return RunSources(name, Path(home), tuple(files.values()), (*cluster.notes, *walked.notes))
