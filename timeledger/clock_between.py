"""Rows where a log prints few and its progress bar shows more: the bar's states between them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from timeledger.clock_sources import Floats, Session, bars_beyond, from_bar

#: So many rows say enough by themselves.
_ENOUGH: Final = 20
#: At most about so many rows are made, each of so many seconds or more (a bar counts whole ones).
_MOST: Final = 60
_LEAST_S: Final = 4.0


def with_bar_rows(session: Session) -> Session:
    """The session with rows at the bar's states between its own, where those are few and the bar is their clock.

    Own step times then are means over more than their row and are left out.
    """
    step, known = session.step, np.isfinite(session.at) | np.isfinite(session.elapsed)
    shown = np.unique(session.bar_step)
    shown = shown[(shown > session.first) & (shown < step[-1])] if len(step) else shown
    if not 1 <= len(step) < _ENOUGH or known.mean() >= 0.5 or len(shown) < 2 * len(step):
        return session
    done = float(session.bar_step.max() - session.first)
    pace = float(session.bar_s.max() - session.bar_s.min()) / max(done, 1.0)
    apart = int(np.ceil(max((_LEAST_S / pace) if pace > 0 else done, done / _MOST, 1.0)))
    found = [
        bars_beyond(shown[shown <= late - (apart + 1) // 2], int(early), apart)
        for early, late in pairwise([session.first, *step.tolist()])
        if late - early > apart
    ]
    more = np.setdiff1d(np.concatenate(found), step) if found else np.array([], dtype=step.dtype)
    if len(more) == 0 or from_bar(session) is None:
        return session
    every = np.union1d(step, more)
    own = np.searchsorted(every, step)

    def spread(values: Floats) -> Floats:
        wide = np.full(len(every), np.nan)
        wide[own] = values
        return wide

    return replace(
        session, step=every, gap=np.diff(every, prepend=session.first), at=spread(session.at),
        elapsed=spread(session.elapsed), work_s=np.full(len(every), np.nan), events_s=None,
    )  # fmt: skip
