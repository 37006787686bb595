"""What a lower limit on the answers does to a step, by the fitted line."""

from __future__ import annotations

import numpy as np

from timeledger.results import Clock, Timing
from timeledger.rows import make_rows
from timeledger.run import Run
from timeledger.said import say
from timeledger.units import show_number, show_share

_LATE = 30


def shortening(run: Run, clock: Clock, timing: Timing, limit: int | None) -> tuple[float, str]:
    """Factor on the step time when answers are cut at `limit`, from the late steps, and what it rests on in words."""
    if limit is None:
        return 1.0, ""
    if timing.driver not in {"mean", "max"} or timing.fixed_s is None or timing.s_per_token is None:
        return (
            1.0,
            say(
                "The step time of this log does not follow the answers' length, so another limit changes nothing that it can tell."
            ),
        )
    rows = make_rows(run, clock).usable()
    longest, mean = rows.len_max[-_LATE:], rows.len_mean[-_LATE:]
    if timing.driver == "max":
        before = longest[np.isfinite(longest)]
        after = np.minimum(before, limit)
        how = say("the longest answers")
    else:
        known = np.isfinite(mean) & np.isfinite(longest) & (mean > 0)
        before, top = mean[known], longest[known]
        # Lengths are taken to fall off exponentially up to the longest one; the mean of what the limit leaves follows.
        after = np.where(top <= limit, before, before * (1 - np.exp(-limit / before)) / (1 - np.exp(-top / before)))
        how = say("the mean answer (lengths assumed to fall off exponentially)")
    if len(before) == 0:
        return 1.0, say("This log has no longest answers, so the effect of another limit is not known.")
    now, then = (timing.fixed_s.mid + timing.s_per_token.mid * float(np.mean(each)) for each in (before, after))
    factor = then / now if now > 0 else 1.0
    at = show_number(float(limit), 4)
    if factor >= 0.9995:
        return factor, say("At a limit of {limit} tokens {how} would make a step no shorter.", limit=at, how=how)
    less = show_share(1 - factor)
    return factor, say(
        "At a limit of {limit} tokens {how} would make a step {share} shorter.", limit=at, how=how, share=less
    )
