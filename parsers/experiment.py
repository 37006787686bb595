"""Finds out by experiment how what a line says depends on its numbers: one is changed at a time, and the line read again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Final

from parsers.field_names import UNITS
from parsers.keyvalue_lines import Line
from parsers.marks import Mark
from parsers.sorting import Sorted
from parsers.text import is_stamped, stamp
from timeledger import units

Read = Callable[[str], Line | None]

_NUMBER: Final = re.compile(
    r"(?P<clock>\d{1,3}(?::\d\d){1,2}(?:\.\d+)?)(?![\d:])|(?P<comma>\d{1,3}(?:,\d{3})+(?!\d))|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+"
)
_FORM: Final = re.compile(r"(?P<whole>\d*)(?P<rest>(?:\.\d*)?)(?P<power>(?:[eE][+-]?)?)\d*")
_OF: Final = re.compile(r"\s*(?:/|of)\s*")
#: What a sign may stand behind.
_BEFORE_SIGN: Final = " =:([,|{"
#: Factors between a printed number and its value.
_SCALES: Final = tuple(dict.fromkeys((1.0, 0.01, *(scale for _, scale in UNITS.values()))))
#: So many digits surely count in a float.
_SURE_DIGITS: Final = 9


# --- what a line says --------------------------------------------------------------------------------------------


def numbers_of(line: Line) -> list[float]:
    """The numbers that a line tells: of its mark, its step, its columns, phases, clocks, and other metrics."""
    mark, values = line.mark, line.values
    counts = [] if mark is None else [mark.step, mark.total, *(mark.epoch or ())]
    told = [float(each) for each in (*counts, values.step, values.total) if each is not None]
    told += [*values.columns.values(), *(seconds for _, seconds in values.phases.values())]
    return [*told, *values.clocks.values(), *values.extra.values()]


def places(of: type[Line] | type[Sorted] | type[Mark], *names: str) -> list[int]:
    """Where the fields of these names stand among the arguments of a dataclass."""
    return [[each.name for each in fields(of)].index(name) for name in names]


#: Fields that hold numbers, or come from the text itself; all others of a line are the same for its shape.
OF_LINE: Final = places(Line, "values", "mark", "at", "clock", "text")
OF_SORTED: Final = places(Sorted, "step", "total", "columns", "phases", "clocks", "extra")
OF_MARK: Final = places(Mark, "step", "total", "epoch")


def values_of(of: Line | Sorted | Mark, without: list[int]) -> list[Any]:
    """The object's fields in order, those at `without` blank."""
    return [None if place in without else getattr(of, each.name) for place, each in enumerate(fields(of))]


def frame_of(line: Line) -> list[object]:
    """All that a line says besides its numbers, its text and its time."""
    mark, values = line.mark, line.values
    counted = mark and (values_of(mark, OF_MARK), mark.total is None, mark.epoch and mark.epoch[1] is None)
    phases = [(key, phase) for key, (phase, _) in values.phases.items()]
    names = [[*values.columns], [*values.clocks], [*values.extra], phases]
    missing = [line.at is None, line.clock, values.step is None, values.total is None]
    return [values_of(line, OF_LINE), counted, values_of(values, OF_SORTED), names, missing]


# --- its numbers -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Part:
    """A number in a line, and which of the line's values follow it by which factors.

    `signed`: a sign may stand before it. `fixed`: with any other number the line becomes another line. `of`: it is the
    n or the N of `n/N`.
    """

    start: int
    text: str
    kind: str
    signed: bool = False
    fixed: bool = False
    of: bool = False
    follow: dict[int, float] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def counts(self) -> bool:
        """True when the number has to be read."""
        return not self.fixed and (self.of or bool(self.follow))

    def others(self) -> list[str]:
        """The number with a digit changed: the last one that surely counts."""
        digits = [place for place, char in enumerate(self.text.lower().partition("e")[0]) if char.isdigit()]
        last = digits[:_SURE_DIGITS][-1]
        found = [f"{self.text[:last]}{(int(self.text[last]) + by) % 10}{self.text[last + 1 :]}" for by in (1, 9, 2, 8)]
        return [text for text in found if not (text[0] == "0" and text[1:2].isdigit()) or self.text[0] == "0"]

    def far(self) -> list[str]:
        """The least and the largest numbers of as many digits."""
        whole, point, rest = self.text.partition(".")
        if self.kind or not (whole + rest).isdigit():
            return []
        first = (
            ["0", "1", "9"] if len(whole) == 1 else ["1" + "0" * (len(whole) - 1), "9" * len(whole)] if whole else [""]
        )
        return [each + point + digit * len(rest) for each in first for digit in ("0", "5")]

    def pattern(self) -> str:
        """An expression for numbers of this form; where nothing follows the number, for as many digits."""
        if self.fixed:
            return re.escape(self.text)
        if not self.counts:
            plain = self.text.replace(".", r"\.").replace("+", r"\+")
            return re.sub(r"\d+", lambda run: rf"\d{{{len(run.group())}}}", plain)
        if self.kind == "clock":
            rest = self.text.partition(":")[2]
            points = r"\.\d+" if "." in rest else ""
            return rf"(\d{{1,3}}(?::[0-5]\d){{{rest.count(':') + 1}}}{points})"
        plain = self.text.removeprefix("-")
        sign = "-?" if self.signed else "-" if self.text != plain else ""
        if self.kind == "comma":
            return rf"({sign}[1-9]\d{{0,2}}(?:,\d{{3}}){{{self.text.count(',')}}})"
        form = _FORM.fullmatch(plain)
        assert form is not None
        whole, rest, power = form["whole"], form["rest"], form["power"]
        # a longer number might be beyond what a value can be (seconds since 1970, planned steps)
        digits = 4 if any(scale > 1 for scale in self.follow.values()) else 8
        zeros = len(whole) > 1 and whole[0] == "0"
        head = rf"\d{{{len(whole)}}}" if zeros else rf"(?:0|[1-9]\d{{0,{digits}}})" if whole else ""
        tail = r"\.\d{1,20}" if len(rest) > 1 else re.escape(rest)
        end = re.escape(power) + r"\d{1,2}" if power else ""
        return f"({sign}{head}{tail}{end})"


def value_of(text: str, kind: str) -> float:
    """The number that the text of a part of this kind is."""
    if kind == "clock":
        return units.seconds(text) or 0.0
    return float(text.replace(",", "") if kind == "comma" else text)


def _parts(text: str, message: int) -> list[Part]:
    """The numbers of a text; those before `message` (stamps, process numbers) keep their number of digits."""
    found: list[Part] = []
    for match in _NUMBER.finditer(text):
        start = match.start()
        if start > message and text[start - 1] == "-" and match.lastgroup != "clock":
            before = text[start - 2 : start - 1] if start - 1 > message else " "
            start -= before in _BEFORE_SIGN
        found.append(Part(start, text[start : match.end()], match.lastgroup or ""))
        if len(found) > 1 and found[-2].start >= message and _OF.fullmatch(text, found[-2].end, start):
            found[-2].of = found[-1].of = found[-2].text.isdigit() and found[-1].text.isdigit()
    return found


# --- the experiment ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """The numbers of a line, what it tells, where its message begins, and the trials: texts of the numbers, what was told."""

    parts: list[Part]
    told: list[float]
    message: int
    trials: list[tuple[list[str], list[float]]]


def experiment(text: str, line: Line, read: Read) -> Found | None:
    """How a line's values follow its numbers; None when they do not do so simply."""
    message, told = len(text) - len(line.text), numbers_of(line)
    if text[message:] != line.text or line.bar is not None or line.values.at is not None or line.values.counts:
        return None
    if any(math.isnan(value) for value in told) or stamp(text[:message]) != line.at:
        return None
    if line.at is None and is_stamped(text[:message]):  # a day that does not exist
        return None
    if line.clock is not None and text[:message].count(line.clock) != 1:
        return None
    parts = _parts(text, message)
    found = Found(parts, told, message, [([part.text for part in parts], told)])
    frame = frame_of(line)
    if not all(_tried(text, found, place, frame, read) for place, part in enumerate(parts) if part.start >= message):
        return None
    return found if {value for part in parts for value in part.follow} == set(range(len(told))) else None


def _tried(text: str, found: Found, place: int, frame: list[object], read: Read) -> bool:
    """Try other numbers at one place; False when the line's values do not simply follow."""
    part = found.parts[place]
    trial = _first(text, part, part.others(), frame, read)
    part.fixed = trial is None
    if trial is None:
        return True
    if not _follow(part, trial, found.told):
        return False
    _note(found, place, trial)
    if not part.follow:  # a value that is too large for its column, or a number that means nothing
        return all(_first(text, part, [other], frame, read) == (other, found.told) for other in part.far())
    if part.kind != "clock" and (part.text[0] == "-" or text[part.start - 1] in _BEFORE_SIGN):
        flipped = part.text[1:] if part.text[0] == "-" else f"-{part.text}"
        if (turned := _first(text, part, [flipped], frame, read)) is not None:
            part.signed = True
            _note(found, place, turned)
    return True


def _note(found: Found, place: int, trial: tuple[str, list[float]]) -> None:
    texts = [trial[0] if at == place else part.text for at, part in enumerate(found.parts)]
    found.trials.append((texts, trial[1]))


def _first(text: str, part: Part, others: list[str], frame: list[object], read: Read) -> tuple[str, list[float]] | None:
    """The first of the other numbers with which the line is the same kind of line, and what it then tells."""
    for other in others:
        line = read(f"{text[: part.start]}{other}{text[part.end :]}")
        if line is not None and frame_of(line) == frame:
            return other, numbers_of(line)
    return None


def _follow(part: Part, trial: tuple[str, list[float]], told: list[float]) -> bool:
    """Note which values moved with the number; False when one did not move by a known factor."""
    moved = value_of(trial[0], part.kind) - value_of(part.text, part.kind)
    for place, (new, old) in enumerate(zip(trial[1], told, strict=True)):
        if new != old:
            scale = next((each for each in _SCALES if math.isclose(moved * each, new - old, rel_tol=1e-6)), None)
            if scale is None:
                return False
            part.follow[place] = scale
    return True
