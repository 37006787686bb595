"""What the page remembers: the paths and the chosen run in the URL, everything else under keys named here only.

Streamlit empties the URL's parameters when the reader goes to another view; `restore` puts them back.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Final

import streamlit as st

from timeledger.plan import PlanInputs
from timeledger.run import Run

_PATHS: Final = "tl_paths"
_CHOSEN: Final = "tl_chosen"
_UPLOADS: Final = "tl_uploads"
_COMPARED: Final = "tl_compared"
_GIVEN: Final = "tl_given"
_TYPED: Final = "tl_typed"
_TRIED: Final = "tl_tried"
_ROUND: Final = "tl_round"
_PLAN: Final = "tl_plan"
_PLAN_FROM: Final = "tl_plan_from"
#: The environment variable through which `timeledger open PATH...` hands its paths over.
ENVIRONMENT: Final = "TIMELEDGER_PATHS"


@dataclass(frozen=True, slots=True)
class Upload:
    """Files dropped together: the digest of their bytes, their names, and the runs read from them."""

    digest: str
    names: tuple[str, ...]
    runs: tuple[Run, ...] = field(repr=False)


def restore() -> None:
    """Take paths and the chosen run from the URL, else from this session, else from the command line; write them back."""
    session, query = st.session_state, st.query_params
    if "path" in query:
        session[_PATHS] = tuple(dict.fromkeys(query.get_all("path")))
    elif _PATHS not in session:
        session[_PATHS] = from_command_line()
    if "run" in query:
        session[_CHOSEN] = query["run"]
    _write()


def from_command_line() -> tuple[str, ...]:
    """The paths given to `timeledger open`, or none."""
    try:
        given = json.loads(os.environ.get(ENVIRONMENT, "[]"))
    except ValueError:
        return ()
    return tuple(str(each) for each in given) if isinstance(given, list) else ()


def paths() -> tuple[str, ...]:
    """The paths that are open."""
    found: tuple[str, ...] = st.session_state.get(_PATHS, ())
    return found


def open_path(path: str) -> None:
    """Add a path."""
    st.session_state[_PATHS] = tuple(dict.fromkeys((*paths(), path)))
    _write()


def close(source: str) -> None:
    """Remove a path, or an upload by its digest."""
    st.session_state[_PATHS] = tuple(each for each in paths() if each != source)
    st.session_state[_UPLOADS] = tuple(each for each in uploads() if each.digest != source)
    _write()


def uploads() -> tuple[Upload, ...]:
    """What was dropped in this session."""
    found: tuple[Upload, ...] = st.session_state.get(_UPLOADS, ())
    return found


def add_upload(upload: Upload) -> None:
    """Keep an upload; the same bytes again change nothing."""
    if all(each.digest != upload.digest for each in uploads()):
        st.session_state[_UPLOADS] = (*uploads(), upload)


def chosen() -> str | None:
    """The key of the run that is looked at."""
    found: str | None = st.session_state.get(_CHOSEN)
    return found


def choose(key: str) -> None:
    """Look at this run."""
    st.session_state[_CHOSEN] = key
    _write()


def query(**more: str) -> dict[str, str | list[str]]:
    """The URL's parameters for another view, with more of them."""
    told: dict[str, str | list[str]] = {"path": list(paths())} if paths() else {}
    key = chosen()
    return told | ({"run": key} if key else {}) | more


def compared() -> tuple[str, ...]:
    """Keys of the runs that are compared; empty means all."""
    found: tuple[str, ...] = st.session_state.get(_COMPARED, ())
    return found


def compare(keys: tuple[str, ...]) -> None:
    """Compare these runs."""
    st.session_state[_COMPARED] = keys


def given(run: str) -> dict[str, float | int | str | bool | None]:
    """What the reader typed about a run ("Your facts")."""
    everything: dict[str, dict[str, float | int | str | bool | None]] = st.session_state.setdefault(_GIVEN, {})
    return everything.setdefault(run, {})


def give(run: str, values: dict[str, float | int | str | bool | None]) -> None:
    """Keep what the reader typed about a run."""
    given(run).clear()
    given(run).update(values)


def typed() -> tuple[str, ...]:
    """Paths typed in this session, newest first."""
    found: tuple[str, ...] = st.session_state.get(_TYPED, ())
    return found


def remember(path: str) -> None:
    """Keep a typed path among the recent ones."""
    st.session_state[_TYPED] = tuple(dict.fromkeys((path, *typed())))[:8]


def newly_typed(path: str) -> bool:
    """True once for a path that was typed and not yet tried."""
    new = bool(path) and path != st.session_state.get(_TRIED)
    st.session_state[_TRIED] = path
    return new


def drop_key() -> str:
    """The key of the place where files are dropped; it changes when they have been taken, which empties the place."""
    return f"drop_{st.session_state.get(_ROUND, 0)}"


def empty_drop() -> None:
    """Empty the place where files are dropped."""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


def plan_source() -> str:
    """The key of the run that the plan starts from; empty for the defaults."""
    return str(st.session_state.get(_PLAN_FROM, ""))


def plan_from(key: str) -> None:
    """Start the plan from a run (empty: from the defaults); its inputs are filled anew."""
    if key != plan_source():
        st.session_state.pop(_PLAN, None)
    st.session_state[_PLAN_FROM] = key


def planned() -> PlanInputs | None:
    """What the plan started from."""
    found: PlanInputs | None = st.session_state.get(_PLAN)
    return found


def start_plan(inputs: PlanInputs) -> None:
    """Keep what the plan starts from."""
    st.session_state[_PLAN] = inputs


def _write() -> None:
    query = st.query_params
    wanted = list(paths())
    if query.get_all("path") != wanted:
        if wanted:
            query["path"] = wanted
        elif "path" in query:
            del query["path"]
    key = chosen()
    if key and query.get("run") != key:
        query["run"] = key
