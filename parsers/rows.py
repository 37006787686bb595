"""From named values to rows: which key of a line wins a column, and how lines make up steps and sessions.

`sort_out` sorts one line's pairs by meaning; `RowWriter` puts sorted lines into a `RunBuilder`: a step may come on
several lines, a line may be printed twice, a step that goes back is a restart, a counter may begin anew each epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from parsers import clocks
from parsers.build import RunBuilder
from parsers.fields import Meaning, resolve, spell
from parsers.values import Value
from timeledger import schema
from timeledger.errors import BadOption
from timeledger.said import say

Resolver = Callable[[str, str], Meaning]
#: Lists are averaged for these columns only: a list under another key may be a range, a shape, a histogram.
_LISTABLE: Final = frozenset({"reward", "truncated", "len_mean", "acc"})
#: Units that stay with the name of a metric that has no column (its number is not converted).
_SHOWN: Final = frozenset({"w", "words", "chars", "%", "MB", "GB", "MiB", "GiB"})
_EARLIEST: Final = 1e9  # epoch seconds of 2001: a smaller number under `time` is not a moment
_RECENT: Final = 512


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

    def put(self, column: str, value: float, rank: int, key: str = "") -> None:
        """Give a column a value unless a better key has given one; the loser stays in `extra` under its own name."""
        if rank < self.ranks.get(column, 99):
            if column in self.columns and (loser := self.keys.get(column)):
                self.extra.setdefault(loser, self.columns[column])
            self.columns[column], self.ranks[column], self.keys[column] = value, rank, key
        elif key and key != self.keys.get(column):
            self.extra.setdefault(key, value)


def resolver(mapping: tuple[tuple[str, str], ...]) -> Resolver:
    """`fields.resolve`, with a person's own renames (`--map "my_len=len_mean"`) before it.

    Raises:
        BadOption: a rename names no column, phase or `step`.
    """
    own: dict[str, Meaning] = {}
    for key, name in mapping:
        own[key] = own[spell(key)] = _mapped(key, name)
    if not own:
        return resolve

    def look(key: str, unit: str) -> Meaning:
        found = own.get(key) or own.get(spell(key))
        if found is None:
            return resolve(key, unit)
        measured = resolve("time", unit) if (unit and found.name.endswith("_s")) or found.kind == "phase" else None
        scale = measured.scale if measured else 0.01 if unit == "%" else 1.0
        return Meaning(found.kind, found.name, -1, scale)

    return look


def renames(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A person's renames (`"my_len=len_mean"`) as pairs (key, column), checked.

    Raises:
        BadOption: not KEY=COLUMN, or no such column or phase; the text lists those there are.
    """
    pairs = []
    for text in texts:
        key, equals, column = (part.strip() for part in text.rpartition("="))
        if not equals or not key:
            raise BadOption(say('--map "{text}": wants KEY=COLUMN, such as "my_len=len_mean".', text=text))
        _mapped(key, column)
        pairs.append((key, column))
    return tuple(pairs)


def _mapped(key: str, name: str) -> Meaning:
    if name in {"step", "total_steps"}:
        return Meaning("step" if name == "step" else "total", name, -1)
    if name in schema.PHASE_NAMES:
        return Meaning("phase", name, -1)
    if name in schema.MEASURES and name not in {"at", "wall_s"}:
        return Meaning("column", name, -1)
    columns = [each for each in schema.MEASURES if each not in {"at", "wall_s"}]
    raise BadOption(
        say(
            "--map {key}={name}: there is no column or phase {name}. There are: {names}.",
            key=key,
            name=name,
            names=", ".join(("step", *columns, *schema.PHASE_NAMES)),
        )
    )


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
    _nest(out)
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
    elif kind == "phase":
        out.phases.setdefault(key, (meaning.name, canonical))
        if unit or key.endswith(("_s", "_sec", "_seconds", "_ms")):
            out.timed.add(key)
    elif kind == "total":
        out.total = int(canonical) if canonical < 1e12 and canonical >= 1 else out.total
    elif kind == "at":
        out.at = _moment(canonical)
    elif kind == "count":
        out.counts.append((meaning, canonical))
        out.extra.setdefault(key, canonical)
    elif kind == "clock" and canonical >= _EARLIEST:
        out.at = out.at or _moment(canonical)
    elif kind in {"clock", "mean_step"}:
        out.clocks.setdefault(clocks.key(key, meaning), canonical)
    elif kind == "remaining":
        out.extra["remaining_s"] = canonical
    else:
        out.extra.setdefault(f"{key} ({unit})" if unit in _SHOWN else key, canonical)


def _sort_step(out: Sorted, value: Value, meaning: Meaning) -> None:
    if meaning.rank >= out.step_rank or not 0 <= value.number < 1e12 or value.number != int(value.number):
        return
    out.step, out.step_rank = int(value.number), meaning.rank
    if value.total is not None and value.total >= value.number:
        out.total = int(value.total)


def _moment(seconds: float) -> datetime | None:
    """Epoch seconds (or milliseconds) as UTC."""
    seconds = seconds / 1000 if seconds > 1e11 else seconds
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds >= _EARLIEST else None
    except (OverflowError, ValueError, OSError):
        return None


def _nest(out: Sorted) -> None:
    """`rollout_generate` lies inside `rollout` when both are timed."""
    for name in out.phases if len(out.phases) > 1 else ():
        inside = [other for other in out.phases if other != name and name.startswith((f"{other}_", f"{other}/"))]
        if inside and name not in out.parents:
            out.parents[name] = max(inside, key=len)


# --- rows into a run ---------------------------------------------------------------------------------------------


class RowWriter:
    """Writes sorted lines into one run.

    `repeats_restart`: the same step with other values, timed again, is a restart (files that get one row a step), unless
    the next step comes twice as well.
    """

    def __init__(self, build: RunBuilder, *, repeats_restart: bool = False) -> None:
        self.build = build
        self.rows = 0
        self.last: int | None = None
        self.gap: int | None = None
        self.total: int | None = None
        self._repeats_restart = repeats_restart
        self._repeated: int | None = None
        self._ranks: dict[int, dict[str, int]] = {}
        self._values: dict[int, dict[str, float]] = {}
        self._timed: dict[int, set[str]] = {}

    def alike(self) -> bool:
        """True when two steps tell mostly the same things, as the rows of a log do."""
        shapes = [frozenset(known) for known in self._values.values() if known]
        return any(2 * len(a & b) >= len(a | b) for place, a in enumerate(shapes[:50]) for b in shapes[place + 1 : 50])

    def richest(self) -> int:
        """How many things the step tells that tells most."""
        return max((len(known) for known in self._values.values()), default=0)

    def is_foreign(self, step: int, values: Sorted) -> bool:
        """True for an unexpected step that tells little of what rows here tell: `Step 2: reward = 5` in a printed answer."""
        if self.rows < 3 or self.last is None or step in {self.last, self.last + (self.gap or 1)}:
            return False
        usual = self._values[self.last].keys()
        return len(values.names & usual) < 0.3 * len(usual)

    def has(self, step: int, names: Iterable[str]) -> bool:
        """True when this session's row of the step holds one of the columns or clocks."""
        return bool(self._values.get(step, {}).keys() & set(names))

    def write(self, step: int, values: Sorted, line: int, at: datetime | None = None, *, sub: bool = False) -> None:
        """Add a line's values to a step. `sub`: a line of a part of the step, which gives way to the step's own."""
        self._session(step, values, line, sub)
        worse, last = 20 if sub else 0, self.build.last_step
        ahead = last is None or step > last
        if (known := self._values.get(step)) is None:  # the usual case: one line a step
            known = self._values[step] = {}
            self._ranks[step] = (
                {name: rank + worse for name, rank in values.ranks.items()} if worse else dict(values.ranks)
            )
            self._timed[step] = set()
            self.rows += 1
            new = values.columns
        else:
            ranks = self._ranks[step]
            new = {
                name: value
                for name, value in values.columns.items()
                if values.ranks[name] + worse < ranks.get(name, 99)
            }
            ranks.update({name: values.ranks[name] + worse for name in new})
        if self.last is None or step > self.last:
            self.gap, self.last = (None if self.last is None else step - self.last), step
        known.update(new)
        for name, value in values.clocks.items():
            known.setdefault(name, value)
        extra = values.clocks if sub else values.extra | values.clocks
        if ahead:
            self.build.row(step, new, line=line, at=at or values.at, extra=extra)
        else:
            self.build.row(step, new, line=line, at=at or values.at, overwrite=True)
            self.build.row(step, {}, line=line, extra=extra)
        if values.phases:
            self._write_phases(step, values, known)
        if values.total is not None and step <= values.total:
            self.total = max(values.total, self.total or 0)
        if len(self._ranks) > _RECENT:
            first = next(iter(self._ranks))
            del self._ranks[first], self._values[first], self._timed[first]

    def _write_phases(self, step: int, values: Sorted, known: dict[str, float]) -> None:
        timed = self._timed[step]
        for name, (phase, seconds) in values.phases.items():
            known[f"phase {name}"] = seconds
            if name not in timed:
                timed.add(name)
                self.build.phase(step, phase, seconds, name=name, parent=values.parents.get(name))

    def _session(self, step: int, values: Sorted, line: int, sub: bool) -> None:
        """Open a new session when the step goes back (and is not a late line of a step already seen)."""
        if self.last is None or step > self.last:
            return
        seen, ranks = self._values.get(step), self._ranks.get(step, {})
        given = {name: value for name, value in values.columns.items() if ranks.get(name) == values.ranks[name]}
        other = seen is None or any(
            seen.get(name, value) != value for name, value in {**given, **values.clocks}.items()
        )
        if sub or not other:
            return
        if step == self.last:
            timed = values.at is not None or values.clocks or "step_s" in values.columns
            if self._repeated is not None and step - self._repeated <= (self.gap or 1):
                self._repeats_restart = False  # step after step: several rows a step
            if not (self._repeats_restart and timed):
                self.build.note("info", say("a step was logged again with other values: the first ones stay"), line)
                return
        self.build.new_segment()
        self.build.event("restart", line=line, step=step, text=f"the step count goes back from {self.last} to {step}")
        self._repeated = step if step == self.last else None
        self.last = self.gap = None
        self._ranks, self._values, self._timed = {}, {}, {}


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
