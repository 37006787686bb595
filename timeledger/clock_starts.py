"""Where a resumed session's running clock counts from: its own start, or that of the whole run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timeledger.clock_sources import Floats, Ints, Session, usual


def from_own_start(before: Session, here: Session) -> Session:
    """A session whose running clock counts on from the one before, with its clock set to its own start."""
    bar_s, elapsed = here.bar_s, here.elapsed
    if _counts_on(before.bar_s, here.bar_step, bar_s):
        bar_s = bar_s - before.bar_s.max()
    known = np.isfinite(elapsed)
    earlier = before.elapsed[np.isfinite(before.elapsed)]
    if _counts_on(earlier, here.step[known], elapsed[known]):
        elapsed = elapsed - earlier.max()
    return replace(here, bar_s=bar_s, elapsed=elapsed)


def _counts_on(before_s: Floats, step: Ints, s: Floats) -> bool:
    """True when all values of a session are above the last one before, and far above what its first row can have taken."""
    if len(before_s) == 0 or len(s) < 2:
        return False
    pace = usual(np.diff(s) / np.maximum(np.diff(step), 1))
    rows = max(int(step[1] - step[0]), 1)
    return bool(s.min() >= before_s.max() > 5 * pace * rows)
