"""Sessions of several logs of one run side by side: which are the same session, in which order, and whose steps those are.

A log may hold every session (an appended console), one (an event file), or what is left of all of them (a
trainer_state.json, whose early steps come from before the resume and whose late ones from after it).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from parsers.agree import Session, apart_in_time, best_shift, compare, same_clock, sessions
from timeledger.run import Run


@dataclass(slots=True)
class Piece:
    """One session of one log."""

    log: int
    session: Session


@dataclass(slots=True)
class Place:
    """One session of the run: the logs' sessions that tell of it."""

    pieces: list[Piece] = field(default_factory=list)

    @property
    def first(self) -> int:
        return min(piece.session.first for piece in self.pieces)

    @property
    def last(self) -> int:
        return max(piece.session.last for piece in self.pieces)

    @property
    def begins(self) -> float | None:
        """The first time stamp with a known zone, else the first one; None without stamps."""
        known = [
            each for piece in self.pieces if piece.session.zone_known and (each := piece.session.begins) is not None
        ]
        some = [each for piece in self.pieces if (each := piece.session.begins) is not None]
        return min(known or some, default=None)


@dataclass(frozen=True, slots=True)
class Stitched:
    """For each log: `shift` to add to its steps, and (segment, step of the run) -> segment of the run."""

    shifts: tuple[int, ...]
    segments: tuple[dict[int, int], ...]
    spread: tuple[dict[int, dict[int, int]], ...]
    count: int

    def place(self, log: int, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame of the log with the run's segments and steps."""
        if frame.is_empty() or "segment" not in frame.columns:
            return frame
        frame = frame.with_columns(pl.col("step") + self.shifts[log])
        spread, whole = self.spread[log], self.segments[log]
        if not spread and all(key == value for key, value in whole.items()):
            return frame
        last = max([*whole.values(), *(max(rows.values()) for rows in spread.values() if rows)], default=0)
        pairs = frame.select("segment", "step").iter_rows()
        placed = [_nearest(spread[s], step) if s in spread else whole.get(s, last) for s, step in pairs]
        return frame.with_columns(pl.Series("segment", placed, dtype=pl.Int64))


def _nearest(rows: dict[int, int], step: int | None) -> int:
    """The segment of this step, or of the last one before it (an evaluation between two logged steps)."""
    if step is None:
        return max(rows.values(), default=0)
    if step in rows:
        return rows[step]
    steps = sorted(rows)
    return rows[steps[max(0, bisect_left(steps, step) - 1)]] if steps else 0


def stitch(runs: Sequence[Run]) -> Stitched:
    """How the sessions of these logs of one run fit together."""
    samples = [sessions(run) for run in runs]
    shifts = _shifts(samples)
    moved = [tuple(_moved(one, shift) for one in sample) for sample, shift in zip(samples, shifts, strict=True)]
    pieces = [Piece(log, one) for log, sample in enumerate(moved) for one in sample]
    spread = [piece for piece in pieces if _is_composite(piece, pieces)]
    places = _places([piece for piece in pieces if piece not in spread])
    segments: list[dict[int, int]] = [{} for _ in runs]
    rows: list[dict[int, dict[int, int]]] = [{} for _ in runs]
    for number, place in enumerate(places):
        for piece in place.pieces:
            segments[piece.log][piece.session.segment] = number
    for piece in spread:
        rows[piece.log][piece.session.segment] = _spread(piece, places, runs[piece.log], shifts[piece.log])
    _without_steps(runs, segments, rows, len(places))
    return Stitched(tuple(shifts), tuple(segments), tuple(rows), max(1, len(places)))


def _shifts(samples: Sequence[tuple[Session, ...]]) -> list[int]:
    """What to add to each log's steps so that all count alike: the higher count wins (1-based over 0-based)."""
    with_steps = [log for log, sample in enumerate(samples) if sample]
    ahead = dict.fromkeys(range(len(samples)), 0)
    if with_steps:
        reference = max(with_steps, key=lambda log: (sum(len(one.rows) for one in samples[log]), -log))
        for log in with_steps:
            if log != reference:
                ahead[log] = best_shift(samples[reference], samples[log])
    most = max((ahead[log] for log in with_steps), default=0)
    return [most - ahead[log] if samples[log] else 0 for log in range(len(samples))]


def _moved(one: Session, shift: int) -> Session:
    if not shift:
        return one
    return Session(
        one.segment, one.first + shift, one.last + shift, one.span,
        {step + shift: row for step, row in one.rows.items()},
        {step + shift: at for step, at in one.times.items()},
        one.zone_known, one.begins, one.ends, one.telling,
    )  # fmt: skip


def _is_composite(piece: Piece, pieces: Sequence[Piece]) -> bool:
    """True for the one session of a log without stamps that holds two sessions which other logs keep apart."""
    one = piece.session
    others = [other for other in pieces if other.log != piece.log]
    if one.times or len(pieces) - len(others) > 1:
        return False
    for x in others:
        for y in others:
            apart = x.session.first < y.session.first and _follow(x, y)
            if (
                apart
                and one.first < y.session.first <= one.last
                and one.first <= x.session.last
                and _holds(one, y.session)
            ):
                return True
    return False


def _holds(one: Session, later: Session) -> bool:
    """True when the steps both have are the later session's own, not those it ran again."""
    clock = same_clock([one], [later], 0)
    return compare([one], [later]).share >= 0.8 if clock is None else clock


def _follow(x: Piece, y: Piece) -> bool:
    """True when the second is a later session than the first, not a part of it."""
    if x.log == y.log:
        return x.session.segment < y.session.segment
    if x.session.ends is not None and y.session.begins is not None:
        return x.session.ends <= y.session.begins
    return not _one_session(x, y) and y.session.first <= x.session.last + 1 + y.session.span


def _one_session(x: Piece, y: Piece) -> bool:
    """True when two logs tell of the same session."""
    a, b = x.session, y.session
    if min(a.last, b.last) < max(a.first, b.first) or apart_in_time([a], [b]):
        return False
    near = abs(a.first - b.first) <= max(a.span, b.span)
    found = compare([a], [b])
    if not found.same and (not found.other or a.span != b.span):  # a mean over ten steps is not the tenth step's value
        return near
    clock = same_clock([a], [b], 0)
    if found.share < 0.8 or (clock is False and not near):
        return False
    inside = b.last <= a.last if b.first > a.first else a.last <= b.last
    return near or clock is True or bool(a.times and b.times) or inside


def _places(pieces: Sequence[Piece]) -> list[Place]:
    places: list[Place] = []
    for piece in sorted(pieces, key=lambda each: (-len(each.session.rows), each.log, each.session.segment)):
        for place in places:
            if all(other.log != piece.log for other in place.pieces) and any(
                _one_session(piece, other) for other in place.pieces
            ):
                place.pieces.append(piece)
                break
        else:
            places.append(Place([piece]))
    return _in_order(places)


def _in_order(places: Sequence[Place]) -> list[Place]:
    """Sessions in the order they were run: by their stamps, by a log that holds both, else by their steps."""
    ordered: list[Place] = []
    for place in sorted(places, key=lambda each: (each.first, each.last)):
        at = next((i for i, other in enumerate(ordered) if _before(place, other)), len(ordered))
        ordered.insert(at, place)
    return ordered


def _before(a: Place, b: Place) -> bool:
    for x in a.pieces:
        for y in b.pieces:
            if x.log == y.log:
                return x.session.segment < y.session.segment
    if a.begins is not None and b.begins is not None:
        return a.begins < b.begins
    return False


def _spread(piece: Piece, places: Sequence[Place], run: Run, shift: int) -> dict[int, int]:
    """Each step of a log of what is left belongs to the last session that ran it, as far as the values agree."""
    fit = [
        (number, place)
        for number, place in enumerate(places)
        if (found := compare([piece.session], [each.session for each in place.pieces])).share >= 0.5
        or not (found.same or found.other)
    ] or list(enumerate(places))
    rows: dict[int, int] = {}
    own = run.steps.filter(pl.col("segment") == piece.session.segment)["step"]
    for step in (value + shift for value in own):
        holding = [number for number, place in fit if place.first <= step <= place.last]
        before = [number for number, place in fit if place.last < step]
        rows[step] = holding[-1] if holding else before[-1] if before else fit[0][0]
    return rows


def _without_steps(
    runs: Sequence[Run], segments: list[dict[int, int]], rows: list[dict[int, dict[int, int]]], count: int
) -> None:
    """Segments of a log that hold no step (a bar, an evaluation): counted from the end, where logs of one run meet."""
    for log, run in enumerate(runs):
        frames = (run.progress, run.phases, run.events)
        seen = sorted({int(value) for frame in frames for value in frame["segment"].drop_nulls().unique()})
        known = {**segments[log], **{key: max(value.values(), default=0) for key, value in rows[log].items()}}
        for place, segment in enumerate(seen):
            if segment in known:
                continue
            later = [known[other] for other in seen[place + 1 :] if other in known]
            guess = later[0] - 1 if later else count - (len(seen) - place)
            segments[log][segment] = min(max(guess, 0), max(count - 1, 0))
