"""An analysis at another moment: what depends on the clock on the wall is told anew, nothing is computed again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo

from timeledger.headline import headline
from timeledger.results import Analysis
from timeledger.state import find_state


def at(analysis: Analysis, now: datetime, zone: tzinfo | None = None) -> Analysis:
    """State, finish time and headline as of `now` (UTC), moments in `zone`; for an analysis made without a moment."""
    facts, projection = replace(analysis.facts, now=now), analysis.projection
    over = projection.remaining_s is not None and projection.remaining_s.high <= 0
    if projection.finish_at is not None and not over:
        low, mid, high = (max(each, now) for each in projection.finish_at)
        projection = replace(projection, finish_at=(low, mid, high))
    run, clock = analysis.run, analysis.clock
    state = find_state(run, clock, projection, facts)
    told = headline(run, clock, analysis.breakdown, analysis.growth, projection, state, facts, zone)
    return replace(analysis, facts=facts, projection=projection, state=state, headline=told)
