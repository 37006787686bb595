"""One line's named values, sorted by what they mean: which key wins a column, what is a phase, a clock or the step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from parsers import clocks
from parsers.fields import Meaning, resolve
from parsers.moments import epoch
from parsers.nesting import nest
from parsers.renames import Resolver
from parsers.values import EARLIEST, MOST, Value

#: Lists are averaged for these columns only: a list under another key may be a range, a shape, a histogram.
_LISTABLE: Final = frozenset({"reward", "truncated", "len_mean", "acc"})
#: Units that stay with the name of a metric that has no column (its number is not converted).
_SHOWN: Final = frozenset({"w", "words", "chars", "%", "MB", "GB", "MiB", "GiB"})


class Pair(NamedTuple):
    """A key and its value, as they stand on the line; a number alone stands for itself."""

    key: str
    value: Value | float


@dataclass(slots=True)
class Sorted:
    """What one line says, in canonical units. `ranks` says how good the key of each column was (lower is better).

    `lists` are the columns averaged from a list here, `timed` the phases written with a unit of time.
    """

    step: int | None = None
    step_rank: int = 99
    #: of a step's number that was rounded when it was shown (`25K`): to multiples of this
    rough: int = 0
    total: int | None = None
    columns: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    phases: dict[str, tuple[str, float]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, float] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    counts: list[tuple[Meaning, float]] = field(default_factory=list)
    lists: set[str] = field(default_factory=set)
    timed: set[str] = field(default_factory=set)
    at: datetime | None = None

    @property
    def known(self) -> int:
        """How many keys resolved to something."""
        return len(self.columns) + len(self.phases) + len(self.clocks)

    @property
    def names(self) -> set[str]:
        """What the line tells, by column, clock and phase: two lines of one step tell different things."""
        return {*self.columns, *self.clocks, *(f"phase {name}" for name in self.phases)}

    @property
    def epoch(self) -> int | None:
        """The epoch that the line is in."""
        found = self.columns.get("epoch")
        return None if found is None or not 0 <= found < MOST else int(found)

    def put(self, column: str, value: float, rank: int, key: str = "") -> None:
        """Give a column a value unless a better key has given one; the loser stays in `extra` under its own name."""
        if rank < self.ranks.get(column, 99):
            if column in self.columns and (loser := self.keys.get(column)):
                self.extra.setdefault(loser, self.columns[column])
            self.columns[column], self.ranks[column], self.keys[column] = value, rank, key
        elif key and key != self.keys.get(column):
            self.extra.setdefault(key, value)


def sort_out(pairs: Iterable[tuple[str, Value | float]], look: Resolver = resolve) -> Sorted:
    """Sort one line's pairs by what they mean."""
    out = Sorted()
    for key, value in pairs:
        if isinstance(value, Value):
            _sort_value(out, key, value, look(key, value.unit))
        elif (meaning := look(key, "")).kind == "extra":  # by far the most keys of a long row
            if value == value:
                out.extra.setdefault(key, value)
        elif meaning.kind == "step":
            _sort_step(out, Value(value), meaning)
        elif (canonical := meaning.of(value)) is not None:
            _sort_number(out, key, canonical, meaning, "")
    for meaning, count in out.counts:
        whole = out.columns.get("sequences")
        if whole and 0 <= count <= whole:
            share = count / whole
            out.put(meaning.name, 1 - share if meaning.complement else share, meaning.rank)
    nest(out)
    if out.phases and all(
        phase == "other" for phase, _ in out.phases.values()
    ):  # a duration, but nothing says it is a part of a step
        out.extra.update({f"{key} (s)": seconds for key, (_, seconds) in out.phases.items()})
        out.phases = {}
    return out


def _sort_value(out: Sorted, key: str, value: Value, meaning: Meaning) -> None:
    if value.items and not (meaning.kind == "column" and meaning.name in _LISTABLE):
        return
    number = value.number
    if meaning.kind == "step":
        _sort_step(out, value, meaning)
        return
    if (
        value.total is not None
        and meaning.kind in {"column", "count"}
        and meaning.name in {"acc", "zero_std", "truncated"}
    ):
        whole = value.total or math.nan
        number, meaning = (
            value.number / whole,
            Meaning("column", meaning.name, meaning.rank, complement=meaning.complement),
        )
    canonical = meaning.of(number)
    if canonical is None:
        return
    _sort_number(out, key, canonical, meaning, value.unit)
    if meaning.kind == "column":
        if value.spread is not None and meaning.name == "reward":
            out.put("reward_std", value.spread, 5, f"{key} ±")
        if value.items:
            out.lists.add(meaning.name)


def _sort_number(out: Sorted, key: str, canonical: float, meaning: Meaning, unit: str) -> None:
    kind = meaning.kind
    if kind == "column":
        out.put(meaning.name, canonical, meaning.rank, key)
    elif kind == "phase" and canonical < EARLIEST:  # a later one is a moment: `save_start_time: 1767000000.0`
        out.phases.setdefault(key, (meaning.name, canonical))
        if unit or key.endswith(("_s", "_sec", "_seconds", "_ms")):
            out.timed.add(key)
    elif kind == "total":
        out.total = int(canonical) if canonical < 1e12 and canonical >= 1 else out.total
    elif kind == "at":
        out.at = epoch(canonical)
    elif kind == "count":
        out.counts.append((meaning, canonical))
        out.extra.setdefault(key, canonical)
    elif kind == "clock" and (at := epoch(canonical)) is not None:
        out.at = out.at or at
    elif kind in {"clock", "mean_step"}:
        out.clocks.setdefault(clocks.key(key, meaning), canonical)
    elif kind == "remaining":
        out.extra["remaining_s"] = canonical
    else:
        out.extra.setdefault(f"{key} ({unit})" if unit in _SHOWN else key, canonical)


def _sort_step(out: Sorted, value: Value, meaning: Meaning) -> None:
    number = round(value.number * meaning.scale, 3) if meaning.scale != 1 else value.number  # `25K`
    if meaning.rank >= out.step_rank or not 0 <= number < 1e12 or number != int(number):
        return
    out.step, out.step_rank = int(number), meaning.rank
    if meaning.scale > 1:
        out.rough = int(meaning.scale) // (10 if value.decimals else 1)
    if value.total is not None and value.total >= value.number:
        out.total = int(value.total)


def merge(into: Sorted, late: Sorted) -> None:
    """Add to `into` what it does not have (lines without a step, waiting for theirs)."""
    for column, value in late.columns.items():
        into.put(column, value, late.ranks[column])
    for store, more in (
        (into.phases, late.phases), (into.parents, late.parents), (into.clocks, late.clocks), (into.extra, late.extra)
    ):  # fmt: skip
        _fill(store, more)
    into.at = into.at or late.at


def _fill(store: dict, more: Mapping) -> None:  # type: ignore[type-arg]
    for key, value in more.items():
        store.setdefault(key, value)
