"""Whether two logs tell of the same steps: values are compared at equal steps, as exactly as the rounder log allows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Final

import polars as pl

from timeledger import schema
from timeledger.run import Run

#: A schedule is the same in every run of a recipe, and a clock says when, not what.
_NO_EVIDENCE: Final = {"at", "elapsed_s", "wall_s", "lr", "epoch", "prompts", "sequences"}
COMPARED: Final = tuple(name for name in schema.MEASURES if name not in _NO_EVIDENCE)
#: Consoles print 4 significant digits or 3 to 4 decimals; two roundings may meet.
_RELATIVE: Final = 6e-4
_ABSOLUTE: Final = 6e-4
#: Below this the absolute tolerance would make any two values equal.
_TINY: Final = 5e-3
#: Rows of one session that are looked at; the choice depends on the step alone, so that two logs choose alike.
_SAMPLE: Final = 384
_ALWAYS: Final = 32
#: Two time stamps of one step lie closer than this: sinks write within seconds of each other, a bar or a buffer later.
_SAME_MOMENT_S: Final = 300.0
_QUARTER_HOUR_S: Final = 900.0


#: For the quick look over many logs: rows of a session, columns, and how many logs may share a value that still tells.
_LOOKED_AT: Final = 24
_LOOKED_FOR: Final = {"reward", "loss", "len_mean", "grad_norm", "entropy", "step_s", "kl"}
_COMMON: Final = 24


class Verdict(Enum):
    """What the values of two logs say."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Session:
    """A sample of one session's rows: step -> values, and when the step was logged (seconds since 1970).

    `telling` are the columns that move; one that never does (all answers at the limit) tells nothing.
    """

    segment: int
    first: int
    last: int
    span: int
    rows: dict[int, dict[str, float]]
    times: dict[int, float]
    zone_known: bool
    begins: float | None
    ends: float | None
    telling: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Agreement:
    """Steps of two samples that agree and that differ, how many values were compared, and the columns that agree."""

    same: tuple[int, ...] = ()
    other: tuple[int, ...] = ()
    values: int = 0
    columns: frozenset[str] = frozenset()

    @property
    def share(self) -> float:
        """The share of decided steps that agree; 0 when none was decided."""
        decided = len(self.same) + len(self.other)
        return len(self.same) / decided if decided else 0.0


def sessions(run: Run) -> tuple[Session, ...]:
    """The run's sessions as samples, in their order."""
    steps = run.steps
    if steps.is_empty():
        return ()
    return tuple(
        _session(steps.filter(pl.col("segment") == segment), int(segment), run.info.zone_known)
        for segment in steps["segment"].unique().sort()
    )


def _session(rows: pl.DataFrame, segment: int, zone_known: bool) -> Session:
    steps = rows["step"]
    at = rows["at"].drop_nulls()
    span = rows["span"].drop_nulls()
    sample = _sample(rows)
    times = sample.select("step", pl.col("at").dt.epoch("us") / 1e6).drop_nulls()
    values = {row["step"]: _values(row) for row in sample.select("step", *COMPARED).iter_rows(named=True)}
    return Session(
        segment=segment,
        first=int(steps.min() or 0),  # type: ignore[arg-type]
        last=int(steps.max() or 0),  # type: ignore[arg-type]
        span=int(span.median() or 1) if len(span) else 1,  # type: ignore[arg-type]
        rows=values,
        times=dict(times.iter_rows()),
        zone_known=zone_known,
        begins=at.min().timestamp() if len(at) else None,  # type: ignore[union-attr]
        ends=at.max().timestamp() if len(at) else None,  # type: ignore[union-attr]
        telling=_telling(values.values()),
    )


def _sample(rows: pl.DataFrame) -> pl.DataFrame:
    every = 1
    while rows.height > every * (_SAMPLE - _ALWAYS) + _ALWAYS:
        every *= 2
    if every == 1:
        return rows
    return pl.concat([rows.head(_ALWAYS), rows.slice(_ALWAYS).filter(pl.col("step") % every == 0)])


def _values(row: dict[str, float | None]) -> dict[str, float]:
    return {
        name: value
        for name, value in row.items()
        if name != "step" and value is not None and not math.isnan(value) and abs(value) >= _TINY
    }


def compare(a: Iterable[Session], b: Iterable[Session], shift: int = 0, limit: int | None = None) -> Agreement:
    """Compare samples step by step (step s of `a` with step s + shift of `b`); of repeated steps the best pair counts.

    `limit` looks at so many shared steps only, spread over all of them.
    """
    left, right = tuple(a), tuple(b)
    telling = frozenset[str]().union(*(one.telling for one in (*left, *right)))
    same: list[int] = []
    other: list[int] = []
    seen: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    shared = sorted({step for one in left for step in one.rows} & {step - shift for one in right for step in one.rows})
    if limit is not None and len(shared) > limit:
        shared = shared[:: len(shared) // limit]
    for step in shared:
        pairs = [
            _match(x.rows[step], y.rows[step + shift], telling)
            for x in left
            for y in right
            if step in x.rows and step + shift in y.rows
        ]
        matched, compared = max(pairs, key=lambda pair: (len(pair[0]) / len(pair[1]) if pair[1] else 0.0, len(pair[1])))
        seen.update(compared)
        agree.update(matched)
        if compared and len(matched) >= 0.75 * len(compared):
            same.append(step)
        elif compared and len(matched) <= 0.5 * len(compared):
            other.append(step)
    columns = frozenset(name for name, count in agree.items() if count >= 0.75 * seen[name])
    return Agreement(tuple(same), tuple(other), seen.total(), columns)


def _telling(rows: Collection[dict[str, float]]) -> frozenset[str]:
    seen: dict[str, set[float]] = {}
    for row in rows:
        for name, value in row.items():
            found = seen.setdefault(name, set())
            if len(found) < 2:
                found.add(float(f"{value:.3g}"))
    few = len(rows) < 3  # then a value that is no round number may speak for itself
    return frozenset(name for name, found in seen.items() if len(found) >= 2 or (few and not min(found).is_integer()))


def _match(a: dict[str, float], b: dict[str, float], telling: frozenset[str]) -> tuple[list[str], list[str]]:
    names = [name for name in a if name in b and name in telling]
    return [name for name in names if close(a[name], b[name])], names


def close(a: float, b: float) -> bool:
    """True when two spellings of one value could give these two numbers."""
    return a == b or abs(a - b) <= _ABSOLUTE + _RELATIVE * max(abs(a), abs(b))


def apart_in_time(a: Iterable[Session], b: Iterable[Session]) -> bool | None:
    """True when the shared steps were logged at other times (two executions); None when the logs do not say.

    Where a zone is not known, whole quarter hours are forgiven.
    """
    right = tuple(b)
    gaps: list[float] = []
    for one in a:
        for step in one.times.keys() & {step for other in right for step in other.times}:
            gaps.append(min(_gap(one, other, step) for other in right if step in other.times))
    return median(gaps) > _SAME_MOMENT_S if gaps else None


def _gap(a: Session, b: Session, step: int) -> float:
    gap = a.times[step] - b.times[step]
    if not (a.zone_known and b.zone_known):
        gap -= round(gap / _QUARTER_HOUR_S) * _QUARTER_HOUR_S
    return abs(gap)


def verdict(
    a: Sequence[Session], b: Sequence[Session], *, same_format: bool = False, strictly: bool = False
) -> Verdict:
    """Whether the values say "one run" or "two".

    `strictly` asks for two columns at least (rows of a general shape beside a trainer's may hold one of its columns only).
    Steps that may have been run again, or are means over another number of steps, may differ in one run.
    """
    if not a or not b:
        return Verdict.UNKNOWN
    redone = _redone(a, b) or a[0].span != b[0].span
    if not redone and _plainly_different(a, b):
        return Verdict.DIFFERENT
    shift = best_shift(a, b)
    found = compare(a, b, shift)
    if not redone and ((found.same and apart_in_time(a, b)) or (same_format and same_clock(a, b, shift) is False)):
        return Verdict.DIFFERENT
    if strictly and len(found.columns) < 2:
        return Verdict.UNKNOWN
    just_begun = min(sum(len(one.rows) for one in side) for side in (a, b)) == 1
    if found.share >= 0.8 and ((found.values >= 4 and len(found.same) >= 2) or (just_begun and found.values >= 2)):
        return Verdict.SAME
    if len(found.same) >= 3 and _one_stretch(found) and (redone or same_clock(a, b, shift, found.same)):
        return Verdict.SAME
    if not redone and len(found.other) >= 2 and found.share <= 0.4:
        return Verdict.DIFFERENT
    return Verdict.UNKNOWN


def _plainly_different(a: Sequence[Session], b: Sequence[Session]) -> bool:
    """A quick look at a few steps, for folders of many runs: nothing agrees, whichever step the counts begin at."""
    return all(
        len(found.other) >= 4 and not found.same for found in (compare(a, b, shift, limit=6) for shift in (0, 1, -1))
    )


def best_shift(a: Sequence[Session], b: Sequence[Session]) -> int:
    """0, or the +-1 by which the counts differ: only when the values fit there and do not fit at 0."""
    plain = compare(a, b)
    if plain.share >= 0.5 or len(plain.other) < 2:
        return 0
    for shift in (1, -1):
        moved = compare(a, b, shift)
        if len(moved.same) >= 3 and moved.share >= 0.9 and moved.values >= 6:
            return shift
    return 0


def _redone(a: Sequence[Session], b: Sequence[Session]) -> bool:
    """True when one of the two may hold another session of the run: it has several, or begins later than its first step."""
    return any(len(each) > 1 or each[0].first > 1 + each[0].span for each in (a, b))


def _one_stretch(found: Agreement) -> bool:
    """True when the agreeing steps and the differing ones lie apart: before the resume and after it."""
    if not found.other:
        return True
    return max(found.same) < min(found.other) or min(found.same) > max(found.other)


def same_clock(a: Sequence[Session], b: Sequence[Session], shift: int, steps: Sequence[int] = ()) -> bool | None:
    """Whether the step times are the same: no two executions of a recipe share them. None: too few, or in between."""
    pairs = [
        (x.rows[step]["step_s"], y.rows[step + shift]["step_s"])
        for x in a
        for y in b
        for step in steps or x.rows
        if "step_s" in x.rows.get(step, {}) and "step_s" in y.rows.get(step + shift, {})
    ]
    if len(pairs) < 3:
        return None
    share = sum(close(*pair) for pair in pairs) / len(pairs)
    return True if share >= 0.8 else False if share < 0.2 else None


def alike(samples: Sequence[Sequence[Session]]) -> set[tuple[int, int]]:
    """Pairs of logs that share a few values at the same (or the next) step: worth comparing, in folders of many logs."""
    holders: dict[tuple[int, str, float], set[int]] = {}
    for log, sample in enumerate(samples):
        for one in sample:
            for step in [*one.rows][:_LOOKED_AT]:
                for name in _LOOKED_FOR & one.rows[step].keys():
                    value = one.rows[step][name]
                    for near in {_short(value), _short(value * (1 + _RELATIVE)), _short(value * (1 - _RELATIVE))}:
                        holders.setdefault((step, name, near), set()).add(log)
    shared: Counter[tuple[int, int]] = Counter()
    for (step, name, near), logs in holders.items():
        others = logs | holders.get((step + 1, name, near), set())
        if 1 < len(others) <= _COMMON:
            shared.update((a, b) for a in others for b in others if a < b)
    return {pair for pair, count in shared.items() if count >= 3}


def _short(value: float) -> float:
    return float(f"{value:.3g}") if math.isfinite(value) else value
