"""Timed runs of the corpus as a live reader would have met them: cut at a share of their steps, read through the parsers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from parsers import read_all
from parsers.source import Feeder, origin_of
from timeledger.clock import clock as read_clock
from timeledger.cutting import cut_after
from timeledger.errors import TimeledgerError
from timeledger.forecast import steps_done
from timeledger.results import Clock, Facts
from timeledger.run import Run

#: Rows with a time below which a run tells nothing about projections.
MIN_ROWS: Final = 20
_NOT_LOGS: Final = {"source.json", "expected.csv", "truth.jsonl", "meta.json", "spec.json", "README.md"}


def corpus_folders() -> list[Path]:
    """The folders of real logs that are here: those of $TIMELEDGER_CORPUS (several as in $PATH), or ../shared/corpus beside the checkout."""
    named = os.environ.get("TIMELEDGER_CORPUS")
    beside = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    folders = [Path(each) for each in named.split(os.pathsep) if each] if named else [beside]
    return [each for each in folders if each.is_dir()]


def corpus_folder() -> Path | None:
    """The first folder of real logs, which the benchmarks measure on; None when there is none."""
    return next(iter(corpus_folders()), None)


@dataclass(frozen=True, slots=True)
class Case:
    """One finished run: its repository (runs are weighed by it), its log and what it came to."""

    repository: str
    name: str
    path: Path
    run: Run
    clock: Clock
    alone: bool

    @property
    def steps(self) -> int:
        """Steps done at the end."""
        return steps_done(self.run, self.clock)

    @property
    def total_s(self) -> float:
        """Seconds from the first step to the last."""
        return self.clock.elapsed_s or float("nan")

    def facts(self, run: Run) -> Facts:
        """What is typed in: the planned steps, only where this log does not name those that were done.

        And no evaluation after the last step, where one is announced but the whole log's clock ends with that step.
        """
        known = run.info.number("total_steps")
        untold = run.info.setting("eval_at_end") is True and self.clock.steps["kind"][-1] != "evaluation"
        return Facts(total_steps=None if known == self.steps else self.steps, eval_at_end=False if untold else None)


def cases(corpus: Path) -> list[Case]:
    """Every timed run of the corpus once, each from its best log."""
    found: list[Case] = []
    for repository, folder in _folders(corpus):
        for path in _logs(folder):
            new = [each for each in _read(repository, folder.name, path) if not any(_same(each, old) for old in found)]
            found += new
            if new:
                break
    return found


def _folders(corpus: Path) -> Iterator[tuple[str, Path]]:
    for source in sorted(corpus.glob("fetched/*/*/source.json")):
        yield json.loads(source.read_text(encoding="utf-8"))["repo"], source.parent
    for meta in sorted(corpus.glob("made/trl/*/meta.json")):
        yield "made with TRL", meta.parent


def _logs(folder: Path) -> list[Path]:
    """A folder's logs, the one with the best time first: event files, then the biggest file."""
    events = sorted(folder.glob("output/runs/**/events.*"))
    console = [folder / "console.log"] if (folder / "console.log").exists() else []
    if events or console:
        return [*events[:1], *console]
    return sorted(
        (each for each in folder.iterdir() if each.is_file() and each.name not in _NOT_LOGS),
        key=lambda p: -p.stat().st_size,
    )


def _read(repository: str, name: str, path: Path) -> list[Case]:
    try:
        runs = read_all(path)
    except (TimeledgerError, OSError):
        return []
    made = []
    for number, run in enumerate(part for whole in runs for part in sessions(whole)):
        clock = read_clock(run)
        timed = clock.steps["wall_s"].drop_nulls().drop_nans().len()
        if timed >= MIN_ROWS and clock.elapsed_s and clock.position:
            made.append(
                Case(
                    repository,
                    name + (f" #{number + 1}" if number else ""),
                    path,
                    run,
                    clock,
                    len(runs) == 1 and number == 0 and run is runs[0],
                )
            )
    return made


def sessions(run: Run) -> list[Run]:
    """The run, or its sessions as runs of their own when one began again from the start: nobody can foresee a restart."""
    starts = read_clock(run).segments
    if not any(each.index > 0 and each.first_step <= 1 for each in starts):
        return [run]

    def only(frame: pl.DataFrame, index: int) -> pl.DataFrame:
        return frame.filter(pl.col("segment") == index).with_columns(pl.lit(0, pl.Int64).alias("segment"))

    return [
        replace(
            run, steps=only(run.steps, each.index), phases=only(run.phases, each.index), events=only(run.events, each.index),
            progress=only(run.progress, each.index),
        )
        for each in starts
    ]  # fmt: skip


def _same(one: Case, other: Case) -> bool:
    """True for the same run logged twice (two formats, a longer and a shorter capture)."""
    if one.repository != other.repository:
        return False
    a, b = one.clock.steps["wall_s"].to_numpy(), other.clock.steps["wall_s"].to_numpy()
    n = min(len(a), len(b), 60)
    with np.errstate(invalid="ignore", divide="ignore"):
        close = np.abs(a[1:n] / b[1:n] - 1) < 0.01
    return bool(
        n >= MIN_ROWS
        and np.mean(close) > 0.9
        and np.std(a[1:n]) > 1e-6
        and abs(one.steps - other.steps) < 0.4 * one.steps
    )


def cut(case: Case, shares: tuple[float, ...]) -> dict[float, Run]:
    """The run as it looked when each share of its steps was done: the log cut at that byte, or (whole documents) its rows."""
    targets = {share: max(int(np.ceil(share * case.steps - 1e-9)), 1) for share in shares}
    if case.alone and case.path.suffix not in {".json", ".ipynb", ".csv", ".db"}:
        cuts = _cut_bytes(case, targets)
        if cuts:
            return cuts
    return {share: _cut_rows(case, target) for share, target in targets.items()}


def _cut_rows(case: Case, target: int) -> Run:
    zero = 1 if case.clock.first_step == 0 else 0
    steps = case.clock.steps
    row = int(np.searchsorted(steps["step"].to_numpy() + zero, target)) if case.clock.segments[-1].index == 0 else None
    if row is None:
        done = np.flatnonzero(steps["step"].to_numpy() + zero >= target)
        row = int(done[0]) if len(done) else steps.height - 1
    row = min(row, steps.height - 1)
    return cut_after(case.run, int(steps["segment"][row]), int(steps["step"][row]))


def _cut_bytes(case: Case, targets: dict[float, int]) -> dict[float, Run]:
    """Prefixes of the file at whole lines, found by reading it once in blocks and then narrowing down."""
    data = case.path.read_bytes()
    ends = _line_ends(data)
    if len(ends) < 8:
        return {}
    found: dict[float, Run] = {}
    for share, target in targets.items():
        low, high = 0, len(ends) - 1
        for _ in range(9):
            middle = (low + high) // 2
            if _position(case.path, data[: ends[middle]]) >= target:
                high = middle
            else:
                low = middle + 1
            if low >= high:
                break
        run = _prefix(case.path, data[: ends[high]])
        if run is not None:
            found[share] = replace(run, info=run.info.model_copy(update={"last_write": None}))
    return found


def _line_ends(data: bytes) -> list[int]:
    """Offsets behind line ends, at most 4,000 of them, evenly spread."""
    marks = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero((marks == 10) | (marks == 13)) + 1
    if len(ends) > 4000:
        ends = ends[np.linspace(0, len(ends) - 1, 4000).astype(int)]
    return [int(each) for each in ends]


def _prefix(path: Path, data: bytes) -> Run | None:
    feeder = Feeder(origin_of(path))
    feeder.feed(data)
    feeder.finish()
    runs = feeder.runs()
    return runs[-1] if runs else None


def _position(path: Path, data: bytes) -> int:
    run = _prefix(path, data)
    if run is None:
        return 0
    steps = [run.steps["step"].max(), run.progress["step"].max()]
    known = [each for each in steps if isinstance(each, int)]
    return max(known, default=0)
