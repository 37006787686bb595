"""Text as logs hold it: pieces between CR and LF, colour codes, process prefixes, time stamps, progress bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from timeledger import units

_ANSI: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_ANSI_TEXT: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_REPEATED: Final = re.compile(r"\s*\[repeated \d+x across cluster\].*$")
#: `(TaskRunner pid=12, ip=10.0.0.1) `, `(pid=38606) `, `(EngineCore_DP0 pid=1) `, `(Worker rank=0 pid=3)`; may repeat.
_ACTOR: Final = re.compile(r"\((?P<actor>[\w.\-/ =<>]*?) ?pid=(?P<pid>\d+)(?:, ip=[\d.:a-fA-F]+)?\)\s?")
_RANK: Final = re.compile(r"\[(?:default|rank)?(?P<rank>\d+)\]:\s?", re.IGNORECASE)


class Piece(NamedTuple):
    """One piece of text between line ends; `no` is the 1-based line (counted by LF)."""

    no: int
    text: str


def strip_ansi(text: str) -> str:
    """The text without terminal control sequences; a bar inside another one keeps its mark, see `Bar.inner`."""
    return _ANSI_TEXT.sub("", text.replace("]\x1b[A", "][A")) if "\x1b" in text else text


class Pieces:
    """Splits blocks of bytes into clean pieces and keeps the line count over blocks."""

    def __init__(self) -> None:
        self.line = 1

    def split(self, block: bytes) -> Iterator[Piece]:
        """The block's non-empty pieces, in order. CR, LF and CRLF all end a piece; LF alone counts lines."""
        if b"\x1b" in block:
            block = _ANSI.sub(b"", block.replace(b"]\x1b[A", b"][A"))
        lines = block.decode("utf-8", errors="replace").split("\n")
        first = self.line
        self.line += len(lines) - 1  # the text after the block's last LF is the beginning of the line still to come
        for no, text in enumerate(lines, first):
            if "\r" in text:
                for part in text.split("\r"):
                    if part and not part.isspace():
                        yield Piece(no, part)
            elif text and not text.isspace():
                yield Piece(no, text)


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A piece without its process prefix: `actor` ("TaskRunner", "" when none) and what follows."""

    actor: str
    text: str


def strip_actor(text: str) -> Prefixed:
    """Takes process prefixes, rank marks and the repetition suffix of Ray off a line."""
    actor = ""
    if "pid=" in text[:200]:
        while match := _ACTOR.match(text):
            actor, text = match.group("actor").strip() or actor, text[match.end() :]
        if "[repeated" in text:
            text = _REPEATED.sub("", text)
    if text.startswith("[") and (rank := _RANK.match(text)):
        text = text[rank.end() :]
    return Prefixed(actor, text)


# --- time stamps -----------------------------------------------------------------------------------------------

_STAMP: Final = re.compile(
    r"(?P<y>\d{4})(?P<sep>[-/.]?)(?P<mo>\d{2})(?P=sep)(?P<d>\d{2})(?:[T \-_]|, )(?P<h>\d{2}):(?P<mi>\d{2}):(?P<s>\d{2})"
    r"(?:[.,](?P<f>\d{1,9}))?\s?(?P<z>Z|[+-]\d{2}:?\d{2})?"
)
_DAY: Final = timedelta(days=1)
_NO_YEAR: Final = re.compile(
    r"(?<![\d-])(?P<mo>\d{2})-(?P<d>\d{2}) (?P<h>\d{2}):(?P<mi>\d{2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,6}))?(?!\d)"
)


def stamp(text: str) -> datetime | None:
    """The first full time stamp (with a year) in the text's first 120 characters, as UTC; None when there is none.

    A stamp without a zone is read as UTC: callers set `RunInfo.zone_known` to False (`stamp_has_zone` tells).
    """
    match = _STAMP.search(text[:120])
    if match is None:
        return None
    year, _, *parts, zone = match.groups()
    if not zone or zone == "Z":
        return _moment(int(year), parts)
    offset = (-1 if zone[0] == "-" else 1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return _moment(int(year), parts, offset) if abs(offset) < _DAY else None


def is_stamped(text: str) -> bool:
    """True when the text's first 120 characters hold a full time stamp, be it of a day that does not exist."""
    return _STAMP.search(text[:120]) is not None


def stamp_has_zone(text: str) -> bool:
    """True when the first full time stamp of the text carries its zone."""
    match = _STAMP.search(text[:120])
    return match is not None and match["z"] is not None


def _moment(year: int, parts: Sequence[str | None], offset: timedelta | None = None) -> datetime | None:
    """The moment of a year with month, day, hour, minute, second and fraction; None when there is no such one."""
    *whole, fraction = parts
    month, day, hour, minute, second = (int(each or 0) for each in whole)
    micro = int(fraction.ljust(6, "0")[:6]) if fraction else 0
    try:
        moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
        return moment - offset if offset else moment
    except (ValueError, OverflowError):
        return None


class YearlessClock:
    """Completes stamps without a year (`11-30 08:21:53`), in the order of the log: the year steps up when December turns into January.

    The first year is chosen so that the stamp is the latest one not after `newest` (the file's last write) by more than a day.
    """

    def __init__(self, newest: datetime | None = None) -> None:
        self._newest = newest
        self._last: datetime | None = None
        #: False while the year is a guess from the file's last write.
        self.sure = False

    def see(self, full: datetime) -> None:
        """A stamp with a year, seen nearby: it decides the year of what follows."""
        self._last, self.sure = full, True

    def read(self, text: str) -> datetime | None:
        """The first year-less stamp of the text's first 120 characters, completed; None when there is none."""
        match = _NO_YEAR.search(text[:120])
        if match is None:
            return None
        parts = match.groups()
        if self._last is None:
            newest = self._newest or datetime.now(UTC)
            guesses = [_moment(newest.year - back, parts) for back in (0, 1)]
            fit = [at for at in guesses if at is not None and at <= newest + timedelta(days=1)]
            at = fit[0] if fit else _moment(newest.year - 4, parts)
        else:
            last = self._last
            at = _moment(last.year, parts)
            if at is None or abs((at - last).days) > 180:  # across a new year, or 29 February
                near = [_moment(last.year + move, parts) for move in (-1, 0, 1)]
                known = [moment for moment in near if moment is not None]
                at = min(known, key=lambda moment: abs((moment - last).total_seconds())) if known else None
        if at is not None:
            self._last = at
        return at


# --- progress bars ---------------------------------------------------------------------------------------------

_DURATION = r"(?:\d{1,9} days?, ?)?(?:\d{1,9}:)?\d{1,9}:\d{2}"
#: `desc:  53%|#####   | 53/100 [00:47<00:41,  1.13it/s, reward=0.5]`, and without a total `59it [00:37, 1.60it/s]`.
_BAR: Final = re.compile(
    r"(?:(?P<pct>\d{1,3})%\|[^|]*\|\s*)(?P<n>\d{1,12})/(?P<total>\d{1,12})\s*\[(?P<el>"
    + _DURATION
    + r")<(?P<rem>"
    + _DURATION
    + r"|\?)"
    r"(?:,\s*(?P<rate>[\d.]+|\?)\s*(?P<unit>[^\],]*))?(?P<post>,[^\]]*)?\](?P<up>\[A)?"
)
_COUNT: Final = re.compile(
    r"(?<!\d)(?P<n>\d{1,12})it \[(?P<el>"
    + _DURATION
    + r"),\s*(?P<rate>[\d.]+|\?)\s*(?P<unit>it/s|s/it)(?P<post>,[^\]]*)?\](?P<up>\[A)?"
)


class Bar(NamedTuple):
    """One state of a progress bar. `rate_s` is the bar's own smoothed seconds an item; `post` the text after the rate.

    `inner`: drawn below another bar, to whose line tqdm goes back up (`ESC [A`; logs often keep the `[A` alone).
    """

    desc: str
    n: int
    total: int | None
    elapsed_s: float
    remaining_s: float | None
    rate_s: float | None
    unit: str
    post: str
    start: int
    end: int
    inner: bool = False


def bars(text: str) -> tuple[Bar, ...]:
    """Every progress bar state in a piece of text, in order (captures often glue other text behind or before one)."""
    drawn, counted = "%|" in text, "it [" in text
    return _bars(text, drawn, counted) if (drawn or counted) and "]" in text else ()


@lru_cache(maxsize=16)  # a bar that was written past is drawn again as it was
def _bars(text: str, drawn: bool, counted: bool) -> tuple[Bar, ...]:
    found: list[Bar] = []
    at = 0
    while match := (drawn and _BAR.search(text, at)) or (counted and _COUNT.search(text, at)):
        _, n, total, elapsed, remaining, pace, unit, post, up = match.groups() if match.re is _BAR else _of_count(match)
        rate, unit = _rate(pace) if pace else None, unit.strip() if unit else ""
        start, end = match.span()
        found.append(
            Bar(
                text[at:start].strip().rstrip(":"),
                int(n or 0),
                int(total) if total else None,
                _clock(elapsed or ""),
                None if remaining is None or remaining == "?" else _clock(remaining),
                (1 / rate if unit.endswith("/s") else rate) if rate else None,
                unit,
                post.lstrip(", ") if post else "",
                start,
                end,
                up is not None,
            )
        )
        at = end
    return tuple(found)


def _of_count(match: re.Match[str]) -> tuple[str | None, ...]:
    """The groups of `_BAR` for a bar without a total."""
    n, elapsed, rate, unit, post, up = match.groups()
    return None, n, None, elapsed, None, rate, unit, post, up


def _rate(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # `?`
        return units.number(text)


def _clock(text: str) -> float:
    """Seconds of a bar's `MM:SS`, `H:MM:SS` or `2 days, H:MM:SS`."""
    if "d" in text:
        return units.seconds(text) or 0.0
    total = 0
    for part in text.split(":"):
        total = total * 60 + int(part)
    return float(total)
