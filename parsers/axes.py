"""Names of one file that count different things: episodes on one axis, updates on another, time on a third.

A tracker keeps a step with each value, and a program may count each group of names its own way. Steps of two axes say
nothing of one another, so that only one of them makes the rows: when its names reach a step tells whether another
name counts the same. A name of another axis stands beside the row that was the last one then, and its times nowhere:
they are no time of that row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parsers.build import RunBuilder
from parsers.tagrows import TagRows
from parsers.tags import meaning
from timeledger.run import Run
from timeledger.said import say

Event = tuple[int, str, float, float | None]

#: Values that are looked at before it is decided which names count alike.
_LOOK: Final = 20_000
#: So many values of a name show what it counts.
_ENOUGH: Final = 3
#: A name counts like another while it reaches a step within so many of their usual waits, and this share of the time.
_WAITS: Final = 1.5
_SHARE: Final = 0.25
#: The longest wait of so many is a usual one.
_USUAL: Final = 0.95
#: A name that first comes late may be at a step this many times the last one, or smaller by as much.
_LATE: Final = 2.0
#: A step that falls so often, and mostly to a higher place each time, begins a round again and no session.
_ROUNDS: Final = 3
_RISES: Final = 0.8
#: A name with more values than this a row is none of the row.
_DENSE: Final = 1.2
_SHOWN: Final = 3


@dataclass(slots=True)
class _Points:
    """The steps of a name and when it had them (seconds), in the order of the log."""

    steps: list[int] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)

    @property
    def falls(self) -> list[int]:
        """The steps that it falls to."""
        return [here for before, here in pairwise(self.steps) if here < before]

    @property
    def in_rounds(self) -> bool:
        """True for steps that begin each round again a little further on: 0, 1024, 2048, 1024, 2048, 3072, 2048, ..."""
        falls = self.falls
        rises = sum(here > before for before, here in pairwise(falls))
        return len(falls) >= _ROUNDS and rises >= _RISES * (len(falls) - 1)


class Gate:
    """Hands values on to the rows, each at the step of the one axis that makes them."""

    def __init__(self, own: Iterable[str] = (), beside: Iterable[str] = (), never: Iterable[str] = (), *,
                 in_rounds: bool = False) -> None:  # fmt: skip
        self._own = set(own)
        self._beside = set(beside)
        self._never = set(never)
        self._in_rounds = in_rounds
        self._step: int | None = None
        self._given: dict[str, int] = {}

    def give(self, rows: TagRows, step: int, tag: str, value: float, wall: float | None) -> None:
        """One value, to where it belongs."""
        if tag not in self._own:
            if tag not in self._beside and tag not in self._never:
                self._sort(rows.build, step, tag)
            if tag in self._never:
                return
            if tag in self._beside:
                if self._step is not None and self._given.get(tag) != self._step:
                    self._given[tag] = self._step
                    rows.add(self._step, tag, value, wall)
                return
        if self._in_rounds and self._step is not None:
            step = max(step, self._step)
        self._step = step
        rows.add(step, tag, value, wall)

    def _sort(self, build: RunBuilder, step: int, tag: str) -> None:
        """A name that first comes now: it counts alike when it is near the last step."""
        last = self._step
        if last is None or self._in_rounds or (last <= _LATE * max(step, 1) and step <= _LATE * max(last, 1)):
            self._own.add(tag)
            return
        (self._never if _is_time(tag) else self._beside).add(tag)
        _tell(build, [tag])


class AxisRows:
    """Gathers the values of a file with several axes into rows: see `TagRows` for what becomes of those of one axis."""

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        self._rows = TagRows(build)
        self._gate = Gate()
        self._early: list[Event] | None = []

    def add(self, step: int, tag: str, value: float, wall: float | None) -> None:
        """Take one value of one step; `wall` is Unix seconds."""
        if self._early is None:
            self._gate.give(self._rows, step, tag, value, wall)
            return
        self._early.append((step, tag, value, wall))
        if len(self._early) >= _LOOK:
            early, self._early = self._early, None
            self._gate = _give_all(early, self._rows)

    def run(self) -> Run:
        """The run so far."""
        if self._early is None:
            return self._rows.run()
        rows = TagRows(self.build.fork())
        _give_all(self._early, rows)
        return rows.run()


def _give_all(events: list[Event], rows: TagRows) -> Gate:
    gate = _look(events, rows.build)
    for event in events:
        gate.give(rows, *event)
    return gate


def _look(events: list[Event], build: RunBuilder) -> Gate:
    """Which names count alike."""
    names: dict[str, _Points] = {}
    falls, last = False, -1
    for step, tag, _, wall in events:
        falls, last = falls or step < last, step
        if wall is not None:
            points = names.setdefault(tag, _Points())
            points.steps.append(step)
            points.walls.append(wall)
    if not falls:
        return Gate(tag for _, tag, _, _ in events)
    rounds = {tag for tag, points in names.items() if points.in_rounds}
    groups = _groups({tag: points for tag, points in names.items() if tag not in rounds})
    if not groups:
        return Gate(names, in_rounds=bool(rounds))
    main = max(groups, key=lambda tags: (_told(tags), len(names[tags[0]].steps)))
    course = names[main[0]]
    if course.falls:  # a session that began again
        return Gate(names)
    other = [tags for tags in groups if tags is not main and not _counts_alike(course, names[tags[0]])]
    return _gate(names, course, [*other, sorted(rounds)], build)


def _gate(names: dict[str, _Points], course: _Points, other: list[list[str]], build: RunBuilder) -> Gate:
    apart = [tag for tags in other for tag in tags]
    _tell(build, apart)
    most = _DENSE * len(course.steps)
    never = {tag for tag in apart if _is_time(tag) or len(names[tag].steps) > most}
    return Gate(names.keys() - set(apart), set(apart) - never, never)


def _groups(names: dict[str, _Points]) -> list[list[str]]:
    """Names that have the same steps, as they were written together; those with few are left out."""
    groups: dict[tuple[int, int, int], list[str]] = {}
    for tag, points in names.items():
        if len(points.steps) >= _ENOUGH:
            groups.setdefault((len(points.steps), points.steps[0], points.steps[-1]), []).append(tag)
    return list(groups.values())


def _told(tags: list[str]) -> int:
    """How much of what a step is known by these names tell."""
    means = [meaning(tag) for tag in tags]
    return len({(each.role, each.target) for each in means if each.role in {"column", "phase", "runtime"}})


def _is_time(tag: str) -> bool:
    what = meaning(tag)
    return what.role in {"phase", "runtime"} or what.target in {"step_s", "elapsed_s"}


def _counts_alike(main: _Points, other: _Points) -> bool:
    """True when the other name has its steps about when the main axis has them."""
    steps, first = np.unique(np.array(main.steps, dtype=np.float64), return_index=True)
    walls = np.array(main.walls, dtype=np.float64)[first]
    if len(steps) < _ENOUGH:
        return True
    pace = (walls[-1] - walls[0]) / (steps[-1] - steps[0])
    own, when = np.array(other.steps, dtype=np.float64), np.array(other.walls, dtype=np.float64)
    due = np.interp(own, steps, walls)
    due += pace * (np.minimum(own - steps[0], 0.0) + np.maximum(own - steps[-1], 0.0))
    waits = _usual_wait(np.diff(walls)) + _usual_wait(np.diff(when))
    allowed = _WAITS * waits + _SHARE * np.maximum(when - walls[0], 0.0)
    return bool((np.abs(due - when) <= allowed).mean() >= 0.5)


def _usual_wait(waits: NDArray[np.float64]) -> float:
    return float(np.quantile(np.abs(waits), _USUAL))


def _tell(build: RunBuilder, tags: list[str]) -> None:
    if tags:
        names = ", ".join([*tags[:_SHOWN], *(["..."] if len(tags) > _SHOWN else [])])
        build.note(
            "info", say("names that count something else than the steps ({names}): left out as times", names=names)
        )
