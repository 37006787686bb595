"""The keys of the session, which of them stand in the URL, and writing them there. `state` and `planning` use them, nothing else."""

from __future__ import annotations

from typing import Final

import streamlit as st

PATHS: Final = "tl_paths"
CHOSEN: Final = "tl_chosen"
UPLOADS: Final = "tl_uploads"
COMPARED: Final = "tl_compared"
TICKED: Final = "tl_ticked"
RENAMES: Final = "tl_map"
HOURS: Final = "tl_hours"
LANGUAGE: Final = "tl_language"
SEEN: Final = "tl_seen"
GIVEN: Final = "tl_given"
CHOICES: Final = "tl_choices"
TYPED: Final = "tl_typed"
TRIED: Final = "tl_tried"
ROUND: Final = "tl_round"
DROPPED: Final = "tl_dropped"
FAILED: Final = "tl_failed"
PLAN: Final = "tl_plan"
PLAN_FROM: Final = "tl_plan_from"
PLANNED: Final = "tl_planned"
AROUND: Final = "tl_around"
PINS: Final = "tl_pins"
HELD: Final = "tl_held"
#: URL parameters that hold several values, and those that hold one -> where the session keeps them.
SEVERAL: Final = {
    "path": PATHS, "fact": GIVEN, "with": COMPARED, "tick": TICKED, "map": RENAMES, "keep": PINS,
}  # fmt: skip
ONE: Final = {
    "run": CHOSEN, "hours": HOURS, "from": PLAN_FROM, "plan": PLANNED, "around": AROUND, "view": CHOICES, "lang": LANGUAGE,
}  # fmt: skip
#: In the URL for "start the plan from the defaults", where that was chosen.
DEFAULTS: Final = "defaults"
#: The environment variable through which `timeledger open PATH...` hands its paths over.
ENVIRONMENT: Final = "TIMELEDGER_PATHS"


def write() -> None:
    """Bring the URL in line with the session."""
    query, session = st.query_params, st.session_state
    for name, key in SEVERAL.items():
        wanted = list(session.get(key, ()))
        if query.get_all(name) != wanted:
            if wanted:
                query[name] = wanted
            elif name in query:
                del query[name]
    for name, key in ONE.items():
        value = session.get(key)
        if value and query.get(name) != value:
            query[name] = str(value)
        elif not value and name in query:
            del query[name]
