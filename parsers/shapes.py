"""Lines that one print statement wrote: taken apart in full a few times, from then on by one expression.

The shape of a line is its text without digits. A shape is used when `experiment` finds that the line's values follow its
numbers in proportion while the line stays the same kind of line; a number outside of the form or the range that was tried
is read in full. Now and then a line is read both ways, and a shape that proves wrong is given up.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from parsers.experiment import (
    OF_LINE,
    OF_MARK,
    OF_SORTED,
    Found,
    Read,
    experiment,
    value_of,
    values_of,
)  # fmt: skip
from parsers.field_rules import SHARES
from parsers.keyvalue_lines import Line
from parsers.marks import Mark
from parsers.sorting import Sorted
from parsers.text import stamp
from parsers.values import MOST

_VARYING: Final = b"0123456789-"
#: Most shapes that are learned, of lines of at most this length; most shapes that are counted at a time.
_MOST: Final = 200
_LONGEST: Final = 1000
_COUNTED: Final = 4096
_VARIANTS: Final = 3
_LINES_A_SHAPE: Final = 50
_CHECK_EVERY: Final = 1024


class Shapes:
    """The shapes of one log. `known` reads a line of a shape that was learned, `learn` is told of every other line."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._shapes: dict[bytes, list[_Shape]] = {}
        self._wrong: set[bytes] = set()
        self._seen: dict[bytes, int] = {}
        self._learned = self._told = 0

    def known(self, text: str, raw: bytes) -> Line | None:
        """What the line (`raw`: the same in UTF-8) says; None when it has to be read in full."""
        key = raw.translate(None, _VARYING)
        for shape in self._shapes.get(key, ()):
            if (line := shape.read(text)) is not None:
                shape.uses += 1
                due = shape.uses & (shape.uses - 1) == 0 or shape.uses % _CHECK_EVERY == 0
                if due and self._read(text) != line:
                    del self._shapes[key]
                    self._wrong.add(key)
                    return None
                return line
        return None

    def learn(self, text: str, raw: bytes) -> None:
        """Take note of a line that was read in full; learn its shape once it has been seen often enough to pay off."""
        if len(raw) > _LONGEST or self._learned >= _MOST:
            return
        key = raw.translate(None, _VARYING)
        self._told += 1
        if len(self._seen) > _COUNTED:
            self._seen.clear()
        seen = self._seen[key] = self._seen.get(key, 0) + 1
        # an experiment costs as much as reading two dozen lines: at the 8th, the 16th, the 32nd, ... line, one in so many
        if seen < 8 or seen & (seen - 1) or self._learned * _LINES_A_SHAPE > self._told:
            return
        if key in self._wrong or len(self._shapes.get(key, ())) >= _VARIANTS:
            return
        self._learned += 1
        line = self._read(text)  # afresh: the reader may change the one it has
        found = None if line is None else experiment(text, line, self._read)
        if line is not None and found is not None:
            shape = _Shape(text, line, found)
            if all(shape.values(texts) == told for texts, told in found.trials):
                self._shapes.setdefault(key, []).append(shape)


class _Shape:
    """Reads lines of one shape."""

    def __init__(self, text: str, line: Line, found: Found) -> None:
        self.uses = 0
        self._line, self._message, self._told = line, found.message, found.told
        self._fields, self._sorted = values_of(line, OF_LINE), values_of(line.values, OF_SORTED)
        self._stores = [place for place, kept in enumerate(self._sorted) if isinstance(kept, dict | list | set)]
        self._counted = [] if line.mark is None else values_of(line.mark, OF_MARK)
        self._clock = None
        if line.clock is not None:  # what stands before the message keeps its number of digits
            place = text.index(line.clock)
            self._clock = slice(place, place + len(line.clock))
        self._write(text, found)
        self._place()

    def _write(self, text: str, found: Found) -> None:
        """The expression, and which of its numbers each value follows."""
        parts, pieces, at = found.parts, [], 0
        for part in parts:
            pieces += [re.escape(text[at : part.start]), part.pattern()]
            at = part.end
        self._pattern = re.compile("".join(pieces) + re.escape(text[at:]))
        taken = self._taken = [place for place, part in enumerate(parts) if part.counts]
        self._kinds = [parts[place].kind for place in taken]
        self._plain = not any(self._kinds)
        #: of each value: the numbers it follows, with their factors
        self._sums = [
            [(place, parts[at].follow[value]) for place, at in enumerate(taken) if value in parts[at].follow]
            for value in range(len(found.told))
        ]
        alone = all(len(sums) == 1 and sums[0][1] == 1.0 for sums in self._sums)
        self._alone = [sums[0][0] for sums in self._sums] if alone else None
        # `n/N` is a mark only while n is not above N
        pairs = [place for place, (a, b) in enumerate(pairwise(taken)) if b == a + 1 and parts[b].of]
        self._counts = [place for place in pairs if parts[taken[place]].of]
        self._above = [float(parts[taken[place]].text) > float(parts[taken[place + 1]].text) for place in self._counts]

    def _place(self) -> None:
        """Where in the list of values everything stands, and the limits that the full reading has for some."""
        mark, values = self._line.mark, self._line.values
        at = 0 if mark is None else 1 + (mark.total is not None) + sum(each is not None for each in mark.epoch or ())
        self._own = at
        totals = [1] if mark is not None and mark.total is not None else []
        totals += [at + (values.step is not None)] if values.total is not None else []
        self._columns = at + (values.step is not None) + (values.total is not None)
        self._limits: list[tuple[int, float, float]] = [
            (place, int(place in totals), MOST - 1) for place in range(self._columns)
        ]
        self._phases = self._columns + len(values.columns)
        self._clocks = self._phases + len(values.phases)
        self._extra = self._clocks + len(values.clocks)
        for place, name in enumerate(values.columns, self._columns):
            if name in SHARES:
                self._limits.append((place, 0, 1) if self._told[place] <= 1 else (place, 1.000001, 100))

    def values(self, texts: list[str]) -> list[float]:
        """The values that follow from the numbers of a line."""
        return self._follow([value_of(texts[at], kind) for at, kind in zip(self._taken, self._kinds, strict=True)])

    def _follow(self, numbers: list[float]) -> list[float]:
        if self._alone is not None:
            return [numbers[place] for place in self._alone]
        told = []
        for sums in self._sums:
            place, scale = sums[0]
            value = numbers[place] * scale
            for place, scale in sums[1:]:
                value += numbers[place] * scale
            told.append(value)
        return told

    def read(self, text: str) -> Line | None:
        """What a line says; None when it is not of this shape, or beyond the limits."""
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        groups = found.groups()
        if self._plain:
            numbers = [float(group) for group in groups]
        else:
            numbers = [value_of(group, kind) for group, kind in zip(groups, self._kinds, strict=True)]
        told = self._follow(numbers)
        for place, low, high in self._limits:
            if not low <= told[place] <= high:
                return None
        for place, above in zip(self._counts, self._above, strict=True):
            if (numbers[place] > numbers[place + 1]) is not above:
                return None
        return self._made(text, told)

    def _made(self, text: str, told: list[float]) -> Line | None:
        like, message = self._line, self._message
        at = None
        if like.at is not None and (at := stamp(text[:message])) is None:
            return None
        columns, phases, clocks, extra = self._columns, self._phases, self._clocks, self._extra
        values, now = like.values, self._sorted.copy()
        for place in self._stores:
            now[place] = now[place].copy()
        now[_STEP] = None if values.step is None else int(told[self._own])
        now[_TOTAL] = None if values.total is None else int(told[columns - 1])
        now[_COLUMNS] = dict(zip(values.columns, told[columns:phases], strict=True))
        timed = zip(values.phases.items(), told[phases:clocks], strict=True)
        now[_PHASES] = {key: (phase, seconds) for (key, (phase, _)), seconds in timed}
        now[_CLOCKS] = dict(zip(values.clocks, told[clocks:extra], strict=True))
        now[_EXTRA] = dict(zip(values.extra, told[extra:], strict=True))
        line = self._fields.copy()
        line[_VALUES], line[_MARK], line[_AT] = Sorted(*now), self._mark(told), at
        line[_CLOCK], line[_TEXT] = None if self._clock is None else text[self._clock], text[message:]
        return Line(*line)

    def _mark(self, told: list[float]) -> Mark | None:
        like = self._line.mark
        if like is None:
            return None
        mark = self._counted.copy()
        mark[_NUMBER], mark[_OF] = int(told[0]), None if like.total is None else int(told[1])
        if like.epoch is not None:
            at = 1 if like.total is None else 2
            mark[_EPOCH] = (int(told[at]), None if like.epoch[1] is None else int(told[at + 1]))
        return Mark(*mark)


_VALUES, _MARK, _AT, _CLOCK, _TEXT = OF_LINE
_STEP, _TOTAL, _COLUMNS, _PHASES, _CLOCKS, _EXTRA = OF_SORTED
_NUMBER, _OF, _EPOCH = OF_MARK
