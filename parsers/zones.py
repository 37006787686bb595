"""Clocks of two logs side by side: how far an engine's log lies inside a trainer's time, and in which time zone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

import polars as pl

from parsers.agree import Session
from timeledger.run import Run

_QUARTER_S: Final = 900.0
#: Zones reach from UTC-12 to UTC+14; two logs may differ by up to 26 hours.
_MOST: Final = 26 * 4
_MOST_YEARS: Final = 6
#: A trainer logs a step after it ended: the engine worked before the first stamp, by about a step.
_LEAD_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Shift:
    """Seconds to add to an engine's stamps so that they lie in the trainer's time; `share` of its busy samples then do."""

    seconds: float
    share: float


def windows(run: Run) -> list[tuple[float, float]]:
    """When the run's sessions were at work, in seconds since 1970, from the stamps of its steps."""
    stamped = run.steps.drop_nulls("at")
    if stamped.is_empty():
        return []
    spans = stamped.group_by("segment").agg(
        first=pl.col("at").min().dt.epoch("us") / 1e6, last=pl.col("at").max().dt.epoch("us") / 1e6
    )
    return sorted((first - _LEAD_S, last + _LEAD_S) for _, first, last in spans.iter_rows())


def busy_times(run: Run) -> list[float]:
    """When the engine was at work (all its samples, when none says that it generated), sorted."""
    engine = run.engine.drop_nulls("at")
    busy = engine.filter((pl.col("gen_tok_s") > 0) | (pl.col("running") > 0))
    chosen = engine if busy.is_empty() else busy
    return sorted((chosen["at"].dt.epoch("us") / 1e6).to_list())


def _inside(times: list[float], spans: list[tuple[float, float]], shift: float) -> float:
    """The share of the moments that lie in the spans after the shift."""
    count = sum(bisect_left(times, last - shift) - bisect_left(times, first - shift) for first, last in spans)
    return min(1.0, count / len(times))


def shift_of(trainer: Run, engine: Run) -> Shift | None:
    """How an engine's stamps must move to fit the trainer's; None when one of the two has no stamps.

    Only when a zone is unknown may they move, by whole quarter hours (and by whole years when the log has no year): the
    move with the most samples inside, of equal ones the smallest whole-hour one. Stamps that fit as they are stay.
    """
    spans, times = windows(trainer), busy_times(engine)
    if not spans or not times:
        return None
    here = _inside(times, spans, 0.0)
    if here >= 0.5 or (trainer.info.zone_known and engine.info.zone_known):
        return Shift(0.0, here)
    hours = [move * _QUARTER_S for move in range(-_MOST, _MOST + 1)]
    moves = [(year, by) for year in _years(engine, times[0]) for by in hours]
    moves.sort(key=lambda move: (abs(move[0]), move[1] % 3600 != 0, abs(move[1]), move))
    year, by = max(moves, key=lambda move: round(_inside(times, spans, sum(move)), 2))  # the first of equals
    share = _inside(times, spans, year + by)
    return Shift(year + by, share) if share > here + 0.25 else Shift(0.0, here)


def _years(engine: Run, first: float) -> list[float]:
    """Moves by whole years, in seconds: only of stamps whose year was guessed."""
    if not any("no year" in note.text for note in engine.notes):
        return [0.0]
    at = datetime.fromtimestamp(first, UTC)
    if (at.month, at.day) == (2, 29):
        return [0.0]
    return [(at.replace(year=at.year + move) - at).total_seconds() for move in range(-_MOST_YEARS, _MOST_YEARS + 1)]


def busy_overlap(trainer: Run, engine: Run) -> float | None:
    """The share of the engine's busy samples inside the trainer's time, zones put right; None when unknown."""
    found = shift_of(trainer, engine)
    return None if found is None else found.share


def quarter_hours_ahead(local: Iterable[Session], reference: Iterable[Session]) -> float | None:
    """By how many seconds (whole quarter hours) the one clock is ahead of the other at the same steps; None: no shared step."""
    other: dict[int, list[float]] = {}
    for one in reference:
        for step, at in one.times.items():
            other.setdefault(step, []).append(at)
    gaps: list[float] = []
    for one in local:
        for step, at in one.times.items():
            if step in other:
                gaps.append(min((at - known for known in other[step]), key=abs))
    return round(median(gaps) / _QUARTER_S) * _QUARTER_S if gaps else None


def moved_clock(frame: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """The frame with its stamps moved."""
    return frame.with_columns(pl.col("at") + timedelta(seconds=seconds))
