"""Where a session's time is written: stamps, progress bar, elapsed column or step times, and how far each can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timeledger.clock_ticks import left_out, printed_tick, resolution, steps_tell_more
from timeledger.taut import straightest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIMESTAMPS: Final = "timestamps"
BAR: Final = "progress bar"
ELAPSED: Final = "elapsed column"
STEP_TIMES: Final = "step times"
RUN_TIME: Final = "run time"
NONE: Final = "none"

#: A clock finer than this share of a usual row is taken as exact.
_FINE: Final = 0.02
#: No training does so many rows in so few seconds, a usual one in less than a thousandth: they were stamped as they were sent.
_SENT_ROWS: Final = 100
_SENT_S: Final = 10.0
_SENT_ROW_S: Final = 2e-3
#: A framework's step time may miss this much of the wall clock before it is no longer taken for the step's shape.
_COVERS: Final = (0.25, 1.08)


@dataclass(frozen=True, slots=True)
class Session:
    """One session's rows as arrays. `gap` is steps since the row before; `work_s` what the framework says all of them took.

    `at` are seconds since the epoch; NaN where the log is silent. `bar_step`/`bar_s` are the bar's states.
    `begun_at` is the moment training began, `worked_at` of the last evaluation or checkpoint, where the log tells.
    `events_s` is the part of `work_s` that evaluations and checkpoints between the steps took.
    """

    index: int
    step: Ints
    gap: Ints
    at: Floats
    elapsed: Floats
    work_s: Floats
    bar_step: Ints
    bar_s: Floats
    bar_total: int | None = None
    begun_at: float | None = None
    worked_at: float | None = None
    events_s: Floats | None = None

    @property
    def steps_s(self) -> Floats:
        """What the steps of each row took by themselves, without what was done between two of them."""
        return self.work_s if self.events_s is None else self.work_s - self.events_s

    @property
    def first(self) -> int:
        """The step before the session's first one."""
        return int(self.step[0] - self.gap[0])


@dataclass(frozen=True, slots=True)
class Course:
    """A session's clock: `end_s` at each row, from 0 at the session's start; `tail_s` was seen after the last row.

    `start_known` is False when the first row's own time is not in the log (its `end_s` is then an estimate).
    `hidden_s` passed before the session's first row, in a part of the log that is missing.
    """

    source: str
    resolution_s: float
    end_s: Floats
    tail_s: float
    start_known: bool
    began: float | None
    hidden_s: float = 0.0


def course(session: Session) -> Course:
    """The best clock of a session."""
    for read in (from_stamps, from_bar, from_elapsed):
        found = read(session)
        if found is not None:
            return found
    steps = from_steps(session)
    if steps.source != NONE:
        return steps
    return _sparse(from_stamps, session, session.at) or _sparse(from_elapsed, session, session.elapsed) or steps


def _sparse(read: Callable[..., Course | None], session: Session, told: Floats) -> Course | None:
    """A clock that few rows show, where there is no other: the rows between take the same time, and are no evidence of more."""
    seen = np.flatnonzero(np.isfinite(told))
    if len(seen) < 3 or session.step[seen[-1]] - session.step[seen[0]] < 0.5 * (session.step[-1] - session.step[0]):
        return None
    found = read(session, least=0.0)
    return None if found is None else replace(found, resolution_s=max(found.resolution_s, usual(np.diff(told[seen]))))


# --- stamps ----------------------------------------------------------------------------------------------------


def from_stamps(session: Session, least: float = 0.5) -> Course | None:
    """Event time stamps, of at least this share of the rows. Stamps that many rows share are the moment of a flush: only the last row of a burst is dated by it."""
    seen = np.flatnonzero(np.isfinite(session.at))
    if len(seen) < 2 or len(seen) < least * len(session.step):
        return None
    at = _forward(session.at[seen])
    if (
        at is None
        or at[-1] - at[0] <= 0
        or _at_once(at)
        or _too_short(at[-1] - at[0], session.work_s[seen[0] + 1 : seen[-1] + 1])
    ):
        return None
    grid = resolution(at - np.floor(at[0]))
    last = np.append(np.diff(at) > 1e-3 * (at[-1] - at[0]) / len(at), True)
    step = session.step[seen].astype(float)
    if grid <= _FINE * usual(np.diff(at)) and last.mean() > 0.98:
        path, exact = at, 0.0
    else:
        before = np.concatenate([[at[0]], np.maximum.accumulate(np.where(last, at, -np.inf))[:-1]])
        low, high = np.where(last, at, np.where(np.isfinite(before), before, at[0])), at + grid
        low[0] = at[0]
        path = _shaped(session, step, low, high)
        exact = max(grid, usual(np.diff(at[last])) if last.mean() < 0.7 else grid)
    first_s, known = _first_row_s(session, seen, path)
    end = np.interp(session.step.astype(float), step, path) - path[0] + first_s
    end = _fill_edges(session, end, int(seen[0]), int(seen[-1]))
    tail = session.worked_at - path[-1] if session.worked_at is not None and seen[-1] == len(session.step) - 1 else 0.0
    tail = float(tail) if 0 < tail <= max(float(end[-1]), 3600.0) else 0.0
    return Course(TIMESTAMPS, max(exact, 0.0), end, tail, known, float(path[0]) - first_s)


def _forward(at: Floats) -> Floats | None:
    """Stamps that only rise: a few steps back (a changed clock) are replaced by the usual step, many make them useless."""
    move = np.diff(at)
    back = move < 0
    if back.mean() > 0.1:
        return None
    if back.any():
        move = np.where(back, np.median(move[~back]), move)
        at = at[0] + np.concatenate([[0.0], np.cumsum(move)])
    return at


def sent_at_once(session: Session) -> bool:
    """True when the stamps are those of an upload, or of a collector that took in all lines together, and none of a step."""
    return _at_once(session.at[np.isfinite(session.at)])


def _at_once(at: Floats) -> bool:
    if len(at) < _SENT_ROWS:
        return False
    took = float(at.max() - at.min())
    return took <= min(_SENT_S, _SENT_ROW_S * len(at)) and float(np.median(np.diff(at))) < _SENT_ROW_S / 2


def _too_short(span_s: float, work_s: Floats) -> bool:
    """True when the work between two stamps took much longer than the stamps say: they were written late, all at once."""
    return bool(np.isfinite(work_s).mean() > 0.5 and np.nansum(work_s) > 2 * span_s) if len(work_s) else False


def _first_row_s(session: Session, seen: Ints, path: Floats) -> tuple[float, bool]:
    """Seconds of the first stamped row, and whether the log tells them: from its step time, else from the session's beginning."""
    work = session.work_s[seen[0]]
    paces = np.diff(path) / np.maximum(np.diff(session.step[seen]), 1)
    a_step = max(
        usual(paces),
        float(paces[0])
        if len(paces) > 3 and paces[0] < 20 * usual(paces) and paces[1] > 1.25 * usual(paces[3:])
        else 0.0,
    )
    rest = a_step * float(session.gap[seen[0]])
    since = path[0] - session.begun_at if session.begun_at is not None else None
    if np.isfinite(work) and work > 0:
        return float(work), True
    if since is not None and 0.2 * rest <= since <= max(20 * rest, rest + 60):
        return float(since), True
    return rest, False


def _fill_edges(session: Session, end: Floats, first: int, last: int) -> Floats:
    """Rows before the first and after the last stamp, at the usual pace (or by their step times)."""
    pace = usual(np.diff(end[first : last + 1]) / np.maximum(session.gap[first + 1 : last + 1], 1))
    cost = np.where(np.isfinite(session.work_s), session.work_s, pace * session.gap)
    for i in range(last + 1, len(end)):
        end[i] = end[i - 1] + cost[i]
    if first:
        ahead = float(np.sum(cost[:first]))
        end[first:] += ahead
        end[:first] = np.cumsum(cost[:first])
    return end


# --- bar and elapsed column ------------------------------------------------------------------------------------


def from_bar(session: Session) -> Course | None:
    """The training bar: whole seconds, so the straightest course it allows, with the shape of the step times where there are any."""
    step, shown, tail_shown = _bar_states(session)
    if len(step) < 2 or step[-1] < session.step[-1] - max(0.2 * (session.step[-1] - session.first), session.gap[-1]):
        return None
    grid = max(resolution(shown), 1e-9)
    at_zero = step[0] == session.first and shown[0] == 0
    path = _shaped(session, step.astype(float), shown, shown + grid, zero=at_zero)
    x, y, hidden = _from_zero(session, step.astype(float), path)
    end = _after_bar(session, np.interp(session.step.astype(float), x, y) - hidden, float(step[-1]))
    full = session.bar_total is not None and int(step[-1]) >= session.bar_total
    tail = max(tail_shown + grid / 2 - float(path[-1]), 0.0) if full and tail_shown > shown[-1] else 0.0
    return Course(BAR, grid, end, tail, hidden == 0.0, None, hidden)


def _from_zero(session: Session, step: Floats, path: Floats) -> tuple[Floats, Floats, float]:
    """The course from the session's first step on, and the seconds before it when the log was cut and begins in mid-run.

    A running clock counts from the start. When its first value is far above what its rows can have cost, the log's
    beginning is missing: the first row then takes the usual time and the rest is hidden before it.
    """
    if step[0] <= session.first:
        return step, path, 0.0
    pace = usual(np.diff(path) / np.diff(step)) if len(step) > 1 else 0.0
    rows = float(step[0] - session.first)
    missing = session.index == 0 and path[0] > 5 * pace * rows and path[0] > 0.5 * pace * session.first
    if missing and session.first > 0 and pace > 0:
        hidden = float(path[0] - pace * rows)
        return np.append(session.first, step), np.append(hidden, path), hidden
    return np.append(session.first, step), np.append(0.0, path), 0.0


def _bar_states(session: Session) -> tuple[Ints, Floats, float]:
    """Steps of the bar and the first time each was shown; a resumed bar's zero is moved to the step it resumed from.

    The third value is the last time shown at all: a full bar that stays there waits for the final evaluation.
    """
    if len(session.bar_step) == 0:
        return session.bar_step, session.bar_s, 0.0
    order = np.lexsort((session.bar_s, session.bar_step))
    step, first = np.unique(session.bar_step[order], return_index=True)
    shown = np.minimum.accumulate(session.bar_s[order][first][::-1])[::-1]
    if step[0] < session.first and len(step) > 1 and step[1] > session.first:
        step = step.copy()
        step[0] = session.first
    keep = step >= session.first
    return step[keep], shown[keep], float(session.bar_s.max())


def _after_bar(session: Session, end: Floats, last_step: float) -> Floats:
    """Rows past the bar's last state (the bar is refreshed now and then only) go on at the usual pace."""
    beyond = session.step > last_step
    if beyond.any() and (~beyond).any():
        inside = end[~beyond]
        pace = inside[-1] / max(float(session.step[~beyond][-1] - session.first), 1.0)
        cost = np.where(np.isfinite(session.work_s), session.work_s, pace * session.gap)[beyond]
        end = end.copy()
        end[beyond] = inside[-1] + np.cumsum(cost)
    return end


def from_elapsed(session: Session, least: float = 0.5) -> Course | None:
    """The log's own running clock, counted from the session's start, of at least this share of the rows."""
    seen = np.flatnonzero(np.isfinite(session.elapsed))
    if len(seen) < 1 or len(seen) < least * len(session.step):
        return None
    values = session.elapsed[seen]
    if len(values) > 1 and ((np.diff(values) < 0).mean() > 0.02 or values[-1] <= values[0]):
        return None
    values = np.maximum.accumulate(values)
    if _too_short(float(values[-1] - values[0]), session.work_s[seen[0] + 1 : seen[-1] + 1]):
        return None
    tick = printed_tick(values)
    grid = resolution(values) if tick is None else tick
    coarse = len(values) > 1 and grid > _FINE * usual(np.diff(values))
    if steps_tell_more(values, session.steps_s[seen], session.gap[seen], grid, coarse=coarse):
        return None
    values = values + left_out(values, session.steps_s[seen], grid)
    step = session.step[seen].astype(float)
    if not coarse:
        path, exact = values, 0.0
    else:
        low = values if tick is None else np.maximum(values - tick / 2, 0.0)  # printed: to the nearest
        path, exact = _shaped(session, step, low, low + grid), grid
    x, y, hidden = _from_zero(session, step, path)
    end = _after_bar(session, np.interp(session.step.astype(float), x, y) - hidden, float(step[-1]))
    return Course(ELAPSED, exact, end, 0.0, hidden == 0.0, None, hidden)


def from_steps(session: Session) -> Course:
    """Step times added up; rows without one take the usual one."""
    known = np.isfinite(session.work_s)
    if not known.any():
        return Course(NONE, 0.0, np.full(len(session.step), np.nan), 0.0, False, None)
    pace = usual(session.work_s[known] / session.gap[known])
    cost = np.where(known, session.work_s, pace * session.gap)
    dated = np.flatnonzero(np.isfinite(session.at))
    end = np.cumsum(cost)
    began = float(session.at[dated[0]] - end[dated[0]]) if len(dated) else None
    return Course(STEP_TIMES, 0.0, end, 0.0, True, began)


def stretched(found: Course, session: Session, total_s: float | None) -> Course:
    """Step times brought to the run's total where the log tells it at the end: a small rest is spread over the steps.

    A larger rest (set-up, evaluations that were not logged) is put before the first step and stretches nothing.
    """
    if found.source != STEP_TIMES or total_s is None or len(found.end_s) == 0:
        return found
    rest = total_s - float(found.end_s[-1])
    if not 0 < rest < 4 * total_s / 5:
        return found
    if rest > 0.1 * total_s:
        return replace(found, hidden_s=rest)
    share = np.cumsum(session.gap) / max(int(session.gap.sum()), 1)
    return replace(found, end_s=found.end_s + rest * share)


# --- shared ----------------------------------------------------------------------------------------------------


def usual(values: Floats) -> float:
    """The median of what is finite and positive; 0 when nothing is."""
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.median(good)) if len(good) else 0.0


def _shaped(session: Session, step: Floats, low: Floats, high: Floats, zero: bool = False) -> Floats:
    """The straightest course between two walls, after taking away the step times' own course where it is known."""
    base = _base(session, step, float(high[-1] - low[0]))
    if zero:
        high = high.copy()
        high[0] = low[0]
    low, high = low - base, high - base
    end = _end(step, low, high)
    low, high = np.append(low[:-1], end), np.append(high[:-1], end)
    bent = straightest(step, low, high) + base
    return np.maximum.accumulate(bent)


def _end(step: Floats, low: Floats, high: Floats) -> float:
    """Where in its last second a coarse clock ended: on the line through the last stretch, else in the middle."""
    near = np.flatnonzero(high >= low[-1] - 20 * (high[-1] - low[-1]))[-200:]
    middle = float(low[-1] + high[-1]) / 2
    if len(near) < 8 or high[-1] <= low[-1]:
        return middle
    x, y = step[near], (low[near] + high[near]) / 2
    slope = float(np.cov(x, y)[0, 1] / np.var(x, ddof=1))
    return float(np.clip(np.mean(y) + slope * (x[-1] - np.mean(x)), low[-1], high[-1]))


def _base(session: Session, step: Floats, span_s: float) -> Floats:
    """Step times added up, at the given steps; zero where they cover too little of the clock, or more than it."""
    known = np.isfinite(session.work_s)
    if known.mean() < 0.9:
        return np.zeros_like(step)
    pace = usual(session.work_s[known] / session.gap[known])
    added = np.concatenate([[0.0], np.cumsum(np.where(known, session.work_s, pace * session.gap))])
    at = np.concatenate([[session.first], session.step]).astype(float)
    base = np.interp(step, at, added)
    beyond = step > at[-1]
    base[beyond] = added[-1] + (step[beyond] - at[-1]) * pace
    share = (base[-1] - base[0]) / span_s if span_s > 0 else 0.0
    return base if _COVERS[0] <= share <= _COVERS[1] else np.zeros_like(step)


def bars_beyond(step: Ints, last: int, span: int) -> Ints:
    """Bar steps past the last logged row, about one a logging interval: the live end of a log whose rows come late."""
    ahead = np.unique(step[step > last])
    if len(ahead) == 0 or span <= 1:
        return ahead
    keep = np.flatnonzero(np.diff((ahead - last) // span, prepend=0) > 0)
    return np.unique(np.append(ahead[keep], ahead[-1]))


def finite(column: pl.Series) -> Floats:
    """A column as floats; null and infinite become NaN."""
    values = column.cast(pl.Float64).to_numpy().astype(np.float64, copy=True)
    values[~np.isfinite(values)] = np.nan
    return values
