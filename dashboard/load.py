"""From paths and dropped files to analysed runs: read once for all sessions; what cannot be read becomes a message here.

A path is followed by one reader for all sessions (behind a lock), which reads only what is new; dropped files are read
once and known by their digest. Runs, frames and analyses are frozen, so every session may share them; of a run that
grows only the newest state is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import streamlit as st

from dashboard import packed, state
from dashboard.follower import PATIENCE, Follower, Newest
from dashboard.language import retold, t
from parsers import read_uploads, renames
from timeledger import moment
from timeledger.analysis import analyse
from timeledger.backtest import backtest
from timeledger.compare import Comparison, Ledger, between, compare
from timeledger.errors import TimeledgerError
from timeledger.plausible import LARGEST
from timeledger.results import Analysis, Backtest, Facts
from timeledger.run import Run

#: What can be typed about a run: whole numbers, and other numbers.
_WHOLE: Final = frozenset({"total_steps", "max_tokens", "eval_every", "save_every", "gpus"})
_REAL: Final = frozenset({"eval_s", "save_s", "gen_tok_s", "gpu_gib", "price_per_gpu_hour"})
#: More runs than this of one folder are left out, with a word.
MOST_RUNS: Final = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that is open. `version` changes whenever its log has grown; `path` is None for dropped files."""

    key: str
    label: str
    run: Run = field(repr=False)
    version: int
    source: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Opened:
    """All open runs; what could not be read as (source, message); and what was left out of what could, as (name, message)."""

    entries: tuple[Entry, ...]
    problems: tuple[tuple[str, str], ...]
    notices: tuple[tuple[str, str], ...] = ()

    def find(self, key: str | None) -> Entry | None:
        """The entry of this key, or None."""
        return next((each for each in self.entries if each.key == key), None)


@st.cache_resource(max_entries=64, show_spinner=False)
def _follower(path: str, mapping: tuple[tuple[str, str], ...]) -> Follower:
    """The one follower of a path, read with these names."""
    return Follower(path, mapping)


def follower(path: str) -> Follower:
    """The one follower of a path, read with the names that this session uses."""
    return _follower(path, mapping())


@st.cache_resource(max_entries=16, show_spinner=False)
def _dropped(digest: str, mapping: tuple[tuple[str, str], ...]) -> Newest[tuple[Run, ...]]:
    """The place of the runs of dropped files; the digest is that of names and bytes, which are not kept."""
    return Newest()


@st.cache_resource(max_entries=64, show_spinner=False)
def _analyses(key: str, facts: Facts) -> Newest[Analysis]:
    """The place of a run's analysis under these facts."""
    return Newest()


@st.cache_resource(max_entries=64, show_spinner=False)
def _backtests(key: str, facts: Facts) -> Newest[tuple[Backtest, ...]]:
    """The place of a run's backtest: it costs as much as the analysis, and few views show it."""
    return Newest()


@st.cache_resource(max_entries=16, show_spinner=False)
def _comparisons(keys: tuple[str, ...]) -> Newest[Comparison]:
    """The place of a comparison of these runs."""
    return Newest()


def opened() -> Opened:
    """Every run of every open path and upload, with unique labels; what cannot be read is told, never raised."""
    entries: list[Entry] = []
    problems: list[tuple[str, str]] = []
    notices: list[tuple[str, str]] = []
    for path in state.paths():
        try:
            version, runs = _look(path)
        except TimeledgerError as error:
            problems.append((path, retold(error.text)))
            continue
        entries += _entries(path, runs[:MOST_RUNS], version, path)
        if len(runs) > MOST_RUNS:
            notice = t(
                "Holds {count} runs; the first {most} are shown. Open a folder further down.",
                count=len(runs),
                most=MOST_RUNS,
            )
            notices.append((path, notice))
    for upload in state.uploads():
        if lost := unread(upload):
            notices.append((", ".join(lost), t("Not a log that timeledger knows; the other files were read.")))
        entries += _entries(upload.digest, upload.runs, 0, None)
    return Opened(_with_unique_labels(entries), tuple(problems), tuple(notices))


def mapping() -> tuple[tuple[str, str], ...]:
    """The reader's names as pairs; a link with names that cannot be used reads as if it had none."""
    try:
        return renames(state.renames())
    except TimeledgerError:
        return ()


def rename(texts: tuple[str, ...]) -> str | None:
    """Take over names such as `my_len=len_mean`; the message when they cannot be used."""
    try:
        renames(texts)
    except TimeledgerError as error:
        return retold(error.text)
    state.rename(texts)
    return None


def _look(path: str) -> tuple[int, tuple[Run, ...]]:
    """A path's runs, with a word to the reader while it is read for the first time."""
    followed = follower(path)
    if followed.version:
        return followed.look()
    with _reading() as told:
        return followed.look(told)


@contextmanager
def _reading() -> Iterator[Callable[[float], None]]:
    """A word and a bar while something is read; small files show neither. To be told the share that has been read."""
    with st.spinner(t("Reading …")):
        bar = st.empty()

        def told(share: float) -> None:
            if share < 1:
                bar.progress(share)

        yield told
        bar.empty()


def _entries(source: str, runs: Sequence[Run], version: int, path: str | None) -> list[Entry]:
    """Entries of one source; a run keeps its key when others appear beside it."""
    seen: dict[str, int] = {}
    found = []
    for run in runs:
        seen[run.name] = nth = seen.get(run.name, 0) + 1
        key = hashlib.blake2s(f"{source}\0{run.name}\0{nth}".encode(errors="replace"), digest_size=6).hexdigest()
        found.append(Entry(key, run.name, run, version, source, path))
    return found


def _with_unique_labels(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    seen: dict[str, int] = {}
    found = []
    for each in entries:
        seen[each.label] = count = seen.get(each.label, 0) + 1
        found.append(each if count == 1 else replace(each, label=f"{each.label} ({count})"))
    return tuple(found)


def drop(files: Sequence[tuple[str, bytes]]) -> str | None:
    """Read dropped files and keep their runs in this session; the message when they cannot be read."""
    digest = hashlib.blake2s(digest_size=12)
    for name, data in files:
        digest.update(name.encode(errors="replace") + b"\0" + hashlib.blake2s(data).digest())
    key, names = digest.hexdigest(), mapping()
    size = sum(len(data) for _, data in files)
    try:
        with _reading() as told:
            runs = _dropped(key, names).of(
                0, lambda: read_uploads(files, mapping=names, told=lambda done: told(done / size))
            )
    except TimeledgerError as error:
        return retold(error.text)
    state.add_upload(state.Upload(key, tuple(name for name, _ in files), runs))
    return None


def unread(upload: state.Upload) -> list[str]:
    """Names of dropped files that went into no run."""
    used = {Path(source).name for run in upload.runs for source in run.info.sources}
    return [name for name in upload.names if Path(name).name not in used]


def problem(path: str) -> str | None:
    """Why a path cannot be opened, or None when it can."""
    try:
        _look(path)
    except TimeledgerError as error:
        return retold(error.text)
    return None


def facts(key: str) -> Facts:
    """What the reader typed about a run; whatever else a link holds is passed over."""
    known = state.given(key)
    numbers = packed.numbers(known)
    typed: dict[str, Any] = {
        name: int(value) for name, value in numbers.items() if name in _WHOLE and 1 <= value < LARGEST
    }
    typed |= {name: value for name, value in numbers.items() if name in _REAL and value < LARGEST}
    return Facts(
        **typed,
        currency=str(known.get("currency") or ""),
        eval_at_end=True if known.get("eval_at_end") is True else None,
    )


def analysed(entry: Entry, *, patient: bool = False, backtested: bool = False) -> Analysis:
    """The analysis of an open run with what the reader typed about it, as of this moment and in the reader's zone."""
    given = facts(entry.key)
    place = _analyses(entry.key, given)
    made = place.of(entry.version, lambda: analyse(entry.run, given, backtested=False), patient=patient)
    if backtested:
        tests = _backtests(entry.key, given)
        found = tests.of(entry.version, lambda: backtest(made.run, made.clock, made.projection, given))
        made = replace(made, projection=replace(made.projection, backtest=found))
    return moment.at(made, datetime.now(UTC), state.zone())


def rest_s(entry: Entry) -> float:
    """Seconds to wait before a run that grows is analysed anew."""
    given = facts(entry.key)
    return PATIENCE * (_analyses(entry.key, given).cost_s + _backtests(entry.key, given).cost_s)


def compared(entries: Sequence[Entry]) -> Comparison:
    """The comparison of open runs, under their labels (names alone may be the same)."""
    analyses = tuple(_labelled(each) for each in entries)
    given = tuple((each.version, facts(each.key), each.label) for each in entries)
    return _comparisons(tuple(each.key for each in entries)).of(given, lambda: compare(analyses))


def difference(first: Entry | None, second: Entry | None) -> Ledger | None:
    """Why a step of the second run takes longer than one of the first."""
    return None if first is None or second is None else between(_labelled(first), _labelled(second))


def _labelled(entry: Entry) -> Analysis:
    analysis = analysed(entry, backtested=True)  # the comparison's document tells of it
    info = analysis.run.info.model_copy(update={"name": entry.label})
    return replace(analysis, run=replace(analysis.run, info=info))
