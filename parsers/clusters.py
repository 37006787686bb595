"""Units of logs on their way into clusters of one run each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from parsers.agree import Session
from parsers.homes import PLAIN_NAMES, nested
from timeledger.run import Note, Run

WANDB_ID: Final = re.compile(r"run-(\w+)\.wandb$")


@dataclass(frozen=True, slots=True)
class Unit:
    """One run of one file: the piece that grouping moves about. `index` is its place in the file.

    `copy` marks a console that W&B caught beside its own record of the run: it lost the bars that order its lines.
    """

    run: Run
    path: PurePath
    home: PurePath
    role: str = "trainer"
    index: int = 0
    copy: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """A place in one fixed order, whatever the order of arrival."""
        return self.path.as_posix(), self.index

    @property
    def engine_only(self) -> bool:
        """True for the log of an engine: samples, no steps, no bar."""
        return not self.run.has_steps and self.run.progress.is_empty() and not self.run.engine.is_empty()

    @property
    def empty(self) -> bool:
        """True while nothing happened yet: no step, no bar."""
        return not self.run.has_steps and self.run.progress.is_empty()

    @property
    def plain_name(self) -> bool:
        """True when the file's name says what it is (console.log, a tool's own name), not which run it is of."""
        name = self.path.name
        return name.split(".")[0].lower() in PLAIN_NAMES or "tfevents" in name or WANDB_ID.search(name) is not None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Units of one run, in fixed order, and what grouping has to say of them."""

    units: tuple[Unit, ...]
    notes: tuple[Note, ...] = ()


def islands(units: Sequence[Unit]) -> list[list[Unit]]:
    """Units whose homes have nothing to do with each other are never compared."""
    homes = {unit.home for unit in units}
    island: dict[PurePath, PurePath] = {home: home for home in homes}

    def top(home: PurePath) -> PurePath:
        while island[home] != home:
            home = island[home]
        return home

    by_name: dict[str, PurePath] = {}
    for home in sorted(homes):
        others = [parent for parent in home.parents if parent in homes]
        if home.name:
            others.append(by_name.setdefault(home.name, home))
        for other in others:
            a, b = sorted((top(home), top(other)))
            island[b] = a
    found: dict[PurePath, list[Unit]] = {}
    for unit in units:
        found.setdefault(top(unit.home), []).append(unit)
    return list(found.values())


class Work:
    """Units on their way into clusters."""

    def __init__(self, units: list[Unit], samples: list[tuple[Session, ...]]) -> None:
        self.units = units
        self.samples = samples
        self.different: set[tuple[int, int]] = set()
        self.dropped: set[int] = set()
        self.notes: list[tuple[int, Note]] = []
        self._root = list(range(len(units)))

    def pairs(self, fit: Callable[[Unit, Unit], bool]) -> list[tuple[int, int]]:
        """Pairs of units of different files that both have steps and fit."""
        with_steps = [i for i, sample in enumerate(self.samples) if sample and not self.units[i].copy]
        return [
            (i, j)
            for place, i in enumerate(with_steps)
            for j in with_steps[place + 1 :]
            if self.units[i].path != self.units[j].path and fit(self.units[i], self.units[j])
        ]

    def root(self, i: int) -> int:
        while self._root[i] != i:
            i = self._root[i]
        return i

    def join(self, i: int, j: int) -> None:
        a, b = sorted((self.root(i), self.root(j)))
        self._root[b] = a

    def members(self) -> dict[int, list[int]]:
        """Cluster root -> its units."""
        found: dict[int, list[int]] = {}
        for i in range(len(self.units)):
            if i not in self.dropped:
                found.setdefault(self.root(i), []).append(i)
        return found

    def trainers(self) -> dict[int, list[int]]:
        """The clusters that have steps."""
        return {root: each for root, each in self.members().items() if any(self.samples[i] for i in each)}

    def near(self, i: int, roots: Iterable[int]) -> list[int]:
        """Those clusters that a unit may belong to by place: of its own home, else of the homes around or inside it."""
        members = self.members()
        home = self.units[i].home
        own = [root for root in roots if any(self.units[k].home == home for k in members[root])]
        return own or [root for root in roots if any(nested(self.units[k].home, home) for k in members[root])]

    def apart(self, a: Iterable[int], b: Iterable[int]) -> bool:
        """True when values said that units of the two clusters are of different runs."""
        right = tuple(b)
        return any((min(i, j), max(i, j)) in self.different for i in a for j in right)

    def note(self, i: int, note: Note) -> None:
        self.notes.append((i, note))

    def clusters(self) -> tuple[Cluster, ...]:
        return tuple(
            Cluster(tuple(self.units[i] for i in each), tuple(note for i, note in self.notes if self.root(i) == root))
            for root, each in self.members().items()
        )
