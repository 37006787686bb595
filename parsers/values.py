"""One value of a metric line: number, unit, `n/N`, list, tensor, duration, in the spellings found in logs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from parsers.field_names import UNITS
from timeledger import units

_BRACKETS: Final = re.compile(r"[()\[\]{}'\"]")
#: No count of a run, and no step, is so large.
MOST: Final = 10**12
#: Seconds since 1970 in 2001: a smaller number is no moment, and a time as long as this is no duration.
EARLIEST: Final = 1e9
#: No list or quoted value of a metric line is longer.
_LONGEST: Final = 4000


class Value(NamedTuple):
    """`number` in `unit` ("" for none; durations spelled out are in "s"). `total` is N of `n/N`. `items` is a list's numbers.

    `glued` is true when the unit stands directly behind the number, `decimals` when the number has a point; `spread` is
    what follows a `±`.
    """

    number: float
    unit: str = ""
    total: float | None = None
    items: tuple[float, ...] = ()
    glued: bool = False
    decimals: bool = False
    spread: float | None = None


_NUMBER: Final = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_CLOCK: Final = re.compile(r"(?:\d+ days?, ?)?(?:\d+:)?\d{1,3}:\d{2}(?:\.\d+)?(?![\d:])")
_SPELLED: Final = re.compile(
    r"\d+(?:\.\d+)?\s?(?:d|days?|h|hrs?|hours?|m|mins?|minutes?)(?:,?\s{0,2}\d+(?:\.\d+)?\s?(?:h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b)+"
)
#: How both of these begin.
_TIMED: Final = re.compile(r"\d+(?:\.\d+)?\s?[dhm:]")
_PLAIN: Final = re.compile(_NUMBER)
_UNIT: Final = re.compile(
    r"(?P<glued>%|[kK] (?:tok|toks|tokens)/s(?:ec)?(?!\w)|(?:[a-zA-Zµμ]+|秒|毫秒|分钟?|小时|天|字符?)(?:/[a-zA-Z]+|/步)?)"
    r"|(?P<apart> (?:%|(?:[kK]?(?:tokens?|toks?|tok)/(?:s|sec|second|sample|seq)|seconds?|secs?|sec|minutes?|mins?|hours?|ms|GiB|GB|MiB|MB|it/s|s/it|s/step|iter/s|s|秒)(?!\w|\s*[=:])|seconds(?=:)|(?:tokens?|toks?)(?=\s*(?:$|[|,;)\]]))))"
)
_FRACTION: Final = re.compile(r"\s?/\s?(" + _NUMBER + r")")
_SPREAD: Final = re.compile(r"\s?(?:±|\+/?-)\s?(" + _NUMBER + r")")
_WRAPPED: Final = re.compile(r"(?:[a-zA-Z_]+\.)?[a-zA-Z_]*(?:float|int|tensor|array|Array)\d*\(")
_WORDS: Final = re.compile(r"(?:nan|NaN|NAN|[+-]?inf|None|N/A|n/a|null)(?![\w/])")
_QUOTED: Final = re.compile(r"(['\"])([^'\"]{1,60})\1")
_ITEM: Final = re.compile(r"True|False|" + _NUMBER + r"|[+-]?(?:nan|inf)\b")
_STOP: Final = re.compile(r"[\w.]|-[\w\d]|:\d|/[\w]")


def take(text: str, at: int) -> tuple[Value, int] | None:
    """The value that begins at `at` and where it ends; None when none does (`0adv`, `10-step`, `1.2.3`, a date)."""
    head = text[at : at + 1]
    if head in {"'", '"'}:
        return _quoted(text, at)
    if head == "[":
        return _listed(text, at)
    if head.isalpha():
        return _worded(text, at)
    if _TIMED.match(text, at) and ((match := _SPELLED.match(text, at)) or (match := _CLOCK.match(text, at))):
        span = units.seconds(match.group())
        if span is not None and not _STOP.match(text, match.end()):
            return Value(span, "s"), match.end()
    return _numeric(text, at)


def _numeric(text: str, at: int) -> tuple[Value, int] | None:
    match = _PLAIN.match(text, at)
    if match is None:
        return None
    number = float(match.group().replace(",", "").replace("−", "-"))
    end, total, unit, glued = match.end(), None, "", False
    spread = _SPREAD.match(text, end)
    end = spread.end() if spread else end
    while fraction := _FRACTION.match(text, end):
        total = total if total is not None else float(fraction.group(1).replace(",", "").replace("−", "-"))
        end = fraction.end()
    if (found := _UNIT.match(text, end)) and is_unit(found.group().strip()):
        unit, glued, end = found.group().strip(), found.group("glued") is not None, found.end()
    elif "." in match.group() and text[end : end + 1] == "S" and not text[end + 1 : end + 2].isalnum():
        unit, glued, end = "s", True, end + 1  # a line in capitals: `TIME=20.9S`
    if _STOP.match(text, end) and not (text[end] == "." and not text[end + 1 : end + 2].isalnum()):
        return None
    around = float(spread.group(1).replace(",", "")) if spread else None
    return Value(number, unit, total, glued=glued, decimals="." in match.group(), spread=around), end


def is_unit(text: str) -> bool:
    """True for a unit that is known. `124M` are parameters, not minutes: a capital alone is no unit of time."""
    return text.lower() in UNITS and text not in {"M", "D", "H", "S", "W"}


def _quoted(text: str, at: int) -> tuple[Value, int] | None:
    match = _QUOTED.match(text, at)
    inner = take(match.group(2), 0) if match else None
    if match is None or inner is None or match.group(2)[inner[1] :].strip():
        return None
    return inner[0], match.end()


def _worded(text: str, at: int) -> tuple[Value, int] | None:
    if match := _WORDS.match(text, at):
        word = match.group().lower()
        return Value(-math.inf if word == "-inf" else math.inf if "inf" in word else math.nan), match.end()
    match = _WRAPPED.match(text, at)
    if match is None:
        return None
    end = closing(text, match.end() - 1)
    if end is None:
        return None
    inner = text[match.end() : end]
    if inner.lstrip().startswith("["):
        listed = _listed(inner, len(inner) - len(inner.lstrip()))
        return (listed[0], end + 1) if listed else None
    number = units.number(inner.split(",")[0])
    return None if number is None else (Value(number, decimals="." in inner), end + 1)


def _listed(text: str, at: int) -> tuple[Value, int] | None:
    """A flat list of numbers or truth values: its mean, and the items."""
    end = closing(text, at, _LONGEST)
    if end is None:
        return None
    inner = text[at + 1 : end].replace("[", " ").replace("]", " ").replace("'", " ").replace('"', " ")
    inner = re.sub(r"np\.\w+\(([^()]*)\)", r"\1", inner)
    parts = [part.strip() for part in re.split(r"[,\s]+", inner) if part.strip()]
    if not parts or not all(_ITEM.fullmatch(part) for part in parts):
        return None
    return of_list(
        [{"True": 1.0, "False": 0.0}.get(part) if part[0] in "TF" else float(part) for part in parts]
    ), end + 1


def of_list(items: Sequence[Any]) -> Value:
    """The value of a list of numbers: its mean (NaN when it holds none), with the items."""
    numbers = tuple(float(item) for item in items if isinstance(item, int | float))
    mean = sum(numbers) / len(numbers) if numbers else math.nan
    return Value(mean, items=numbers)


def closing(text: str, at: int, longest: int = 20_000) -> int | None:
    """Where the bracket that opens at `at` closes, strings skipped; None when it does not within so many characters."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth, quote = 0, ""
    for match in _BRACKETS.finditer(text, at, min(len(text), at + longest)):
        place, char = match.start(), match.group()
        if quote:
            if char == quote and text[place - 1] != "\\":
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in pairs:
            depth += 1
        elif char in pairs.values():
            depth -= 1
            if depth == 0:
                return place
    return None


def real(raw: object) -> float | None:
    """A JSON number; None for anything else, truth values included, and for what no float holds."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        return float(raw)
    except OverflowError:
        return None


def whole(raw: object) -> int | None:
    """A JSON number that counts something: whole, 0 or more, of a size that a run can have."""
    number = real(raw)
    return int(number) if number is not None and 0 <= number < MOST and number == int(number) else None


def of_json(raw: object) -> Value | None:
    """The value of a JSON scalar, list or text (`"36s"`, `"5/3766"`, `"0.0005"`); None for what holds no number."""
    if isinstance(raw, bool):
        return Value(float(raw))
    if (number := real(raw)) is not None:
        return Value(number, decimals=isinstance(raw, float))
    if isinstance(raw, list):
        plain = all(isinstance(item, int | float | bool) for item in raw)
        return of_list(raw) if raw and plain else None
    if isinstance(raw, str) and 0 < len(raw) <= 60:
        text = raw.strip()
        found = take(text, 0) if text else None
        return found[0] if found and found[1] >= len(text) else None
    return None
