"""What is said of a run beside its analysis; kept like the analysis, for the newest state of the run only."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dashboard.follower import Newest
from dashboard.load import Entry, facts
from timeledger.advice import Advised, advise
from timeledger.compare import Ledger, within
from timeledger.gates import Checked
from timeledger.results import Analysis, Facts, State
from timeledger.smoke import check


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a run beside its analysis: what to change, the smoke test's gates, its late part against its early one."""

    advised: Advised
    checked: Checked
    pace: Ledger


@st.cache_resource(max_entries=64, show_spinner=False)
def _judged(key: str, facts: Facts, state: State) -> Newest[Judged]:
    """The place of a run's judgement; a run that stalls is judged anew."""
    return Newest()


def judged(entry: Entry, analysis: Analysis) -> Judged:
    """What to change first in an open run, whether it is worth going on, and how its pace changed."""
    place = _judged(entry.key, facts(entry.key), analysis.state)
    return place.of(entry.version, lambda: Judged(advise(analysis), check(analysis), within(analysis)))
