"""Lines that one print statement wrote: taken apart in full a few times, from then on by one expression.

What a line of a shape (its text without digits) says is found out by experiment: one number of it is changed at a time,
and the full reading shows which values change with it. A shape is used when its values follow the numbers in proportion
and the line stays the same kind of line; a number outside of the form or the range that was tried is read in full. Now
and then a line is read both ways, and a shape that proves wrong is given up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from parsers.field_names import UNITS
from parsers.field_rules import SHARES
from parsers.keyvalue_lines import Line
from parsers.marks import Mark
from parsers.rows import Sorted
from parsers.text import stamp
from timeledger import units

_VARYING: Final = b"0123456789-"
_NUMBER: Final = re.compile(
    r"(?P<clock>\d{1,3}(?::\d\d){1,2}(?:\.\d+)?)(?![\d:])|(?P<comma>\d{1,3}(?:,\d{3})+(?!\d))|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+"
)
_FORM: Final = re.compile(r"(?P<whole>\d*)(?P<rest>(?:\.\d*)?)(?P<power>(?:[eE][+-]?)?)\d*")
#: What a sign may stand behind.
_BEFORE_SIGN: Final = " =:([,|{"
#: Factors between a printed number and its value.
_SCALES: Final = tuple(dict.fromkeys((1.0, 0.01, *(scale for _, scale in UNITS.values()))))
#: Most shapes that are learned, of lines of at most this length; most shapes that are counted at a time.
_MOST: Final = 200
_LONGEST: Final = 1000
_COUNTED: Final = 4096
_VARIANTS: Final = 3
_CHECK_EVERY: Final = 1024

Read = Callable[[str], Line | None]


class Shapes:
    """The shapes of one log. `known` reads a line of a shape that was learned, `learn` is told of every other line."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._shapes: dict[bytes, list[_Shape]] = {}
        self._wrong: set[bytes] = set()
        self._seen: dict[bytes, int] = {}
        self._learned = 0

    def known(self, text: str, raw: bytes) -> Line | None:
        """What the line (`raw`: the same in UTF-8) says; None when it has to be read in full."""
        key = raw.translate(None, _VARYING)
        for shape in self._shapes.get(key, ()):
            if (line := shape.read(text)) is not None:
                shape.uses += 1
                if shape.uses & (shape.uses - 1) == 0 or shape.uses % _CHECK_EVERY == 0:
                    if self._read(text) != line:
                        del self._shapes[key]
                        self._wrong.add(key)
                        return None
                return line
        return None

    def learn(self, text: str, raw: bytes, line: Line) -> None:
        """Take note of a line that was read in full; learn its shape once it has been seen often enough to pay off."""
        if len(raw) > _LONGEST or self._learned >= _MOST:
            return
        key = raw.translate(None, _VARYING)
        if len(self._seen) > _COUNTED:
            self._seen.clear()
        seen = self._seen[key] = self._seen.get(key, 0) + 1
        # an experiment costs as much as reading a dozen lines: at the 8th, the 16th, the 32nd, ... line
        if seen < 8 or seen & (seen - 1) or key in self._wrong or len(self._shapes.get(key, ())) >= _VARIANTS:
            return
        self._learned += 1
        own = self._read(text)  # the line that was passed on is changed by whoever uses it
        if own is not None and (shape := _experiment(text, own, self._read)) is not None:
            self._shapes.setdefault(key, []).append(shape)


def _numbers(line: Line) -> list[float]:
    """The numbers that a line tells, in the order in which `_Shape` puts them back."""
    mark, values = line.mark, line.values
    counts = [] if mark is None else [mark.step, mark.total, *(mark.epoch or ())]
    told = [float(each) for each in (*counts, values.step, values.total) if each is not None]
    told += [*values.columns.values(), *(seconds for _, seconds in values.phases.values())]
    return [*told, *values.clocks.values(), *values.extra.values()]


def _frame(line: Line) -> tuple[object, ...]:
    """All that a line says besides its numbers, its text and its time."""
    mark, values = line.mark, line.values
    counted = mark and (
        mark.total is None, mark.rank, mark.word, mark.epoch and mark.epoch[1] is None, mark.inside_epoch, mark.colon
    )  # fmt: skip
    phases = [(key, phase) for key, (phase, _) in values.phases.items()]
    return (
        line.kind, line.sub, line.at is None, line.clock, line.strong, line.pure, line.known, counted,
        values.step is None, values.step_rank, values.total is None, [*values.columns], values.ranks, values.keys, phases,
        values.parents, [*values.clocks], [*values.extra], values.lists, values.timed,
    )  # fmt: skip


@dataclass(slots=True)
class _Part:
    """A number in a line: its place, whether it may have a sign, and which values follow it by which factors.

    `fixed` is True when the line becomes another line with any other number here.
    """

    start: int
    text: str
    kind: str
    signed: bool = False
    fixed: bool = False
    follow: dict[int, float] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def others(self) -> list[str]:
        """The number with its last digit changed."""
        last = max(place for place, char in enumerate(self.text.lower().partition("e")[0]) if char.isdigit())
        found = [f"{self.text[:last]}{(int(self.text[last]) + by) % 10}{self.text[last + 1 :]}" for by in (1, 9, 2, 8)]
        return [text for text in found if not (text[0] == "0" and text[1:2].isdigit()) or self.text[0] == "0"]

    def pattern(self) -> str:
        """An expression for numbers of this form; where nothing follows the number, for as many digits."""
        if self.fixed:
            return re.escape(self.text)
        if not self.follow:
            return re.sub(r"\d+", lambda run: rf"\d{{{len(run.group())}}}", self.text.replace(".", r"\."))
        if self.kind == "clock":
            first, _, rest = self.text.partition(":")
            points = r"\.\d+" if "." in rest else ""
            return rf"(\d{{1,3}}(?::[0-5]\d){{{rest.count(':') + 1}}}{points})"
        sign = "-?" if self.signed else ""
        if self.kind == "comma":
            return rf"({sign}[1-9]\d{{0,2}}(?:,\d{{3}}){{{self.text.count(',')}}})"
        form = _FORM.fullmatch(self.text.removeprefix("-"))
        assert form is not None
        whole, rest, power = form["whole"], form["rest"], form["power"]
        # a longer number might be beyond what a value can be (seconds since 1970, planned steps)
        digits = 4 if any(scale > 1 for scale in self.follow.values()) else 8
        zeros = len(whole) > 1 and whole[0] == "0"
        head = rf"\d{{{len(whole)}}}" if zeros else rf"(?:0|[1-9]\d{{0,{digits}}})" if whole else ""
        tail = r"\.\d{1,20}" if len(rest) > 1 else re.escape(rest)
        end = re.escape(power) + r"\d{1,2}" if power else ""
        return f"({sign}{head}{tail}{end})"


def _value(text: str, kind: str) -> float:
    if kind == "clock":
        return units.seconds(text) or 0.0
    return float(text.replace(",", "") if kind == "comma" else text)


def _parts(text: str, message: int) -> list[_Part]:
    """The numbers of a text; those before `message` (stamps, process numbers) keep their number of digits."""
    found = []
    for match in _NUMBER.finditer(text):
        start = match.start()
        if start > message and text[start - 1] == "-" and match.lastgroup != "clock":
            before = text[start - 2 : start - 1] if start - 1 > message else " "
            start -= before in _BEFORE_SIGN
        found.append(_Part(start, text[start : match.end()], match.lastgroup or ""))
    return found


def _experiment(text: str, line: Line, read: Read) -> _Shape | None:
    """The shape of a line, or None when its values do not simply follow its numbers."""
    message = len(text) - len(line.text)
    told, frame = _numbers(line), _frame(line)
    if text[message:] != line.text or line.bar is not None or line.values.at is not None or line.values.counts:
        return None
    if any(math.isnan(value) for value in told) or (line.at is not None and stamp(text[:message]) != line.at):
        return None
    if line.clock is not None and text[:message].count(line.clock) != 1:
        return None
    parts = _parts(text, message)
    trials = [([part.text for part in parts], told)]
    for place, part in enumerate(parts):
        if part.start < message:
            continue
        trial = _try(text, part, part.others(), frame, read)
        part.fixed = trial is None
        if trial is None:
            continue
        if not _follow(part, trial, told):
            return None
        trials.append(([trial[0] if at == place else each.text for at, each in enumerate(parts)], trial[1]))
        if part.follow and part.kind != "clock" and (part.text[0] == "-" or text[part.start - 1] in _BEFORE_SIGN):
            flipped = part.text[1:] if part.text[0] == "-" else f"-{part.text}"
            turned = _try(text, part, [flipped], frame, read)
            part.signed = turned is not None
            if turned is not None:
                trials.append(([flipped if at == place else each.text for at, each in enumerate(parts)], turned[1]))
    shape = _Shape(text, line, message, parts, told)
    return shape if all(shape.values(texts) == values for texts, values in trials) else None


def _try(
    text: str, part: _Part, others: list[str], frame: tuple[object, ...], read: Read
) -> tuple[str, list[float]] | None:
    """The first of the other numbers with which the line is the same kind of line, and what it then tells."""
    for other in others:
        line = read(f"{text[: part.start]}{other}{text[part.end :]}")
        if line is not None and _frame(line) == frame:
            return other, _numbers(line)
    return None


def _follow(part: _Part, trial: tuple[str, list[float]], told: list[float]) -> bool:
    """Note which values moved with the number; False when one did not move by a known factor."""
    moved = _value(trial[0], part.kind) - _value(part.text, part.kind)
    for place, (new, old) in enumerate(zip(trial[1], told, strict=True)):
        if new != old:
            scale = next((each for each in _SCALES if math.isclose(moved * each, new - old, rel_tol=1e-6)), None)
            if scale is None:
                return False
            part.follow[place] = scale
    return True


class _Shape:
    """Reads lines of one shape."""

    def __init__(self, text: str, line: Line, message: int, parts: list[_Part], told: list[float]) -> None:
        self.uses = 0
        self._line, self._message = line, message
        self._clock = None
        if line.clock is not None:  # what stands before the message keeps its number of digits
            place = text.index(line.clock)
            self._clock = slice(place, place + len(line.clock))
        pieces, at = [], 0
        for part in parts:
            pieces += [re.escape(text[at : part.start]), part.pattern()]
            at = part.end
        self._pattern = re.compile("".join(pieces) + re.escape(text[at:]))
        taken = [place for place, part in enumerate(parts) if part.follow and not part.fixed]
        self._kinds = [parts[place].kind for place in taken]
        self._plain = not any(self._kinds)
        self._taken = taken
        #: of each value: the numbers it follows, with their factors
        self._sums = [
            [(place, parts[at].follow[value]) for place, at in enumerate(taken) if value in parts[at].follow]
            for value in range(len(told))
        ]
        alone = all(len(sums) == 1 and sums[0][1] == 1.0 for sums in self._sums)
        self._alone = [sums[0][0] for sums in self._sums] if alone else None
        self._told = told
        self._place()

    def _place(self) -> None:
        """Where in the list of numbers everything stands, and the limits that the full reading has for some."""
        mark, values = self._line.mark, self._line.values
        at = 0 if mark is None else 1 + (mark.total is not None) + sum(each is not None for each in mark.epoch or ())
        self._own = at
        self._limits: list[tuple[int, float, float]] = []
        self._orders: list[tuple[int, int]] = [(0, 1)] if mark is not None and mark.total is not None else []
        if values.step is not None and values.total is not None:
            self._orders.append((at, at + 1))
        totals = [1] if mark is not None and mark.total is not None else []
        totals += [at + (values.step is not None)] if values.total is not None else []
        self._limits += [(place, 1, math.inf) for place in totals]
        self._columns = at + (values.step is not None) + (values.total is not None)
        self._phases = self._columns + len(values.columns)
        self._clocks = self._phases + len(values.phases)
        self._extra = self._clocks + len(values.clocks)
        for place, name in enumerate(values.columns, self._columns):
            if name in SHARES:
                self._limits.append((place, 0, 1) if self._told[place] <= 1 else (place, 1.000001, 100))

    def values(self, texts: list[str]) -> list[float]:
        """The values that follow from the numbers of a line."""
        return self._follow([_value(texts[at], kind) for at, kind in zip(self._taken, self._kinds, strict=True)])

    def _follow(self, numbers: list[float]) -> list[float]:
        if self._alone is not None:
            return [numbers[place] for place in self._alone]
        told = []
        for value, sums in zip(self._told, self._sums, strict=True):
            for place, scale in sums[:1]:
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
            numbers = [_value(group, kind) for group, kind in zip(groups, self._kinds, strict=True)]
        told = self._follow(numbers)
        for place, low, high in self._limits:
            if not low <= told[place] <= high:
                return None
        for small, large in self._orders:
            if told[small] > told[large]:
                return None
        return self._made(text, told)

    def _made(self, text: str, told: list[float]) -> Line | None:
        like, message = self._line, self._message
        values, at = like.values, None
        if like.at is not None and (at := stamp(text[:message])) is None:
            return None
        clock = None if self._clock is None else text[self._clock]
        own, columns, phases, clocks, extra = self._own, self._columns, self._phases, self._clocks, self._extra
        sorted_ = Sorted(
            None if values.step is None else int(told[own]),
            values.step_rank,
            None if values.total is None else int(told[columns - 1]),
            dict(zip(values.columns, told[columns:phases], strict=True)),
            values.ranks.copy(),
            values.keys.copy(),
            {key: (name, seconds) for (key, (name, _)), seconds in zip(values.phases.items(), told[phases:clocks], strict=True)},
            values.parents.copy(),
            dict(zip(values.clocks, told[clocks:extra], strict=True)),
            dict(zip(values.extra, told[extra:], strict=True)),
            [],
            values.lists.copy(),
            values.timed.copy(),
        )  # fmt: skip
        return Line(
            like.kind, sorted_, self._mark(told), None, like.sub, at, clock, like.strong, like.pure, like.known, text[message:]
        )  # fmt: skip

    def _mark(self, told: list[float]) -> Mark | None:
        like = self._line.mark
        if like is None:
            return None
        total = None if like.total is None else int(told[1])
        epoch = like.epoch
        if epoch is not None:
            at = 1 if total is None else 2
            epoch = (int(told[at]), None if epoch[1] is None else int(told[at + 1]))
        return Mark(int(told[0]), total, like.rank, like.word, epoch, like.inside_epoch, like.colon)
