"""What the page remembers: what makes a link in the URL, everything else under keys named here only.

In the URL: open paths, the chosen run, what was typed about each run, compared runs, ticked advice, names of the reader's own
log, the plan's inputs, the time budget, the choices of a view, the language if it was switched. Nothing that a log holds.
Streamlit empties the URL's parameters when the reader goes to another view; `restore` puts them back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from dashboard import language
from dashboard.packed import Typed, numbers, pack, unpack

if TYPE_CHECKING:
    from timeledger.plan import PlanInputs
    from timeledger.run import Run

_PATHS: Final = "tl_paths"
_CHOSEN: Final = "tl_chosen"
_UPLOADS: Final = "tl_uploads"
_COMPARED: Final = "tl_compared"
_TICKED: Final = "tl_ticked"
_RENAMES: Final = "tl_map"
_HOURS: Final = "tl_hours"
_LANGUAGE: Final = "tl_language"
_SEEN: Final = "tl_seen"
_GIVEN: Final = "tl_given"
_CHOICES: Final = "tl_choices"
_TYPED: Final = "tl_typed"
_TRIED: Final = "tl_tried"
_ROUND: Final = "tl_round"
_DROPPED: Final = "tl_dropped"
_FAILED: Final = "tl_failed"
_PLAN: Final = "tl_plan"
_PLAN_FROM: Final = "tl_plan_from"
_PLANNED: Final = "tl_planned"
_AROUND: Final = "tl_around"
_PINS: Final = "tl_pins"
_HELD: Final = "tl_held"
#: URL parameters that hold several values, and those that hold one -> where the session keeps them.
_SEVERAL: Final = {
    "path": _PATHS, "fact": _GIVEN, "with": _COMPARED, "tick": _TICKED, "map": _RENAMES, "keep": _PINS,
}  # fmt: skip
_ONE: Final = {
    "run": _CHOSEN, "hours": _HOURS, "from": _PLAN_FROM, "plan": _PLANNED, "around": _AROUND, "view": _CHOICES, "lang": _LANGUAGE,
}  # fmt: skip
#: In the URL for "start the plan from the defaults", where that was chosen.
_DEFAULTS: Final = "defaults"
#: The environment variable through which `timeledger open PATH...` hands its paths over.
ENVIRONMENT: Final = "TIMELEDGER_PATHS"


@dataclass(frozen=True, slots=True)
class Upload:
    """Files dropped together: the digest of their bytes, their names, and the runs read from them."""

    digest: str
    names: tuple[str, ...]
    runs: tuple[Run, ...] = field(repr=False)


def restore() -> None:
    """Take what makes a link from the URL, else from this session, else (paths) from the command line; write it back."""
    session, query = st.session_state, st.query_params
    for name, key in _SEVERAL.items():
        if name in query:
            session[key] = tuple(dict.fromkeys(query.get_all(name)))
    for name, key in _ONE.items():
        if name in query:
            session[key] = query[name]
    if _PATHS not in session:
        session[_PATHS] = from_command_line()
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


def query() -> dict[str, str | list[str]]:
    """The URL's parameters, for another view."""
    session = st.session_state
    told: dict[str, str | list[str]] = {name: list(session[key]) for name, key in _SEVERAL.items() if session.get(key)}
    return told | {name: str(session[key]) for name, key in _ONE.items() if session.get(key)}


def compared() -> tuple[str, ...]:
    """Keys of the runs that are compared; empty means all."""
    found: tuple[str, ...] = st.session_state.get(_COMPARED, ())
    return found


def compare(keys: tuple[str, ...]) -> None:
    """Compare these runs."""
    st.session_state[_COMPARED] = keys
    _write()


def ticked() -> tuple[str, ...]:
    """Rules whose advice is tried out."""
    found: tuple[str, ...] = st.session_state.get(_TICKED, ())
    return found


def tick(rules: tuple[str, ...]) -> None:
    """Try out the advice of these rules."""
    st.session_state[_TICKED] = rules
    _write()


def renames() -> tuple[str, ...]:
    """Names that only the reader's own log uses, as KEY=COLUMN."""
    found: tuple[str, ...] = st.session_state.get(_RENAMES, ())
    return found


def rename(texts: tuple[str, ...]) -> None:
    """Read logs with these names from now on."""
    st.session_state[_RENAMES] = texts
    _write()


def hours() -> float | None:
    """The time budget in hours, as in the URL."""
    try:
        return float(st.session_state.get(_HOURS, "")) or None
    except ValueError:
        return None


def set_hours(value: float | None) -> None:
    """Keep the time budget."""
    st.session_state[_HOURS] = "" if value is None else f"{value:g}"
    _write()


def language_code() -> str:
    """The language of the page: the one switched to, else the browser's."""
    switched = st.session_state.get(_LANGUAGE)
    return str(switched) if switched in language.LANGUAGES else language.preferred(st.context.locale)


def switch_language(code: str) -> None:
    """Speak this language from now on."""
    st.session_state[_LANGUAGE] = code
    _write()


def zone() -> tzinfo | None:
    """The reader's time zone, or None when the browser does not say (then the machine's)."""
    try:
        return ZoneInfo(st.context.timezone) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def changed(key: str, value: str) -> str | None:
    """What was noted under this key before, when it differs from `value`, which is noted now."""
    seen: dict[str, str] = st.session_state.setdefault(_SEEN, {})
    before = seen.get(key)
    seen[key] = value
    return before if before != value else None


def given(run: str) -> dict[str, Typed]:
    """What the reader typed about a run ("Your facts")."""
    found: tuple[str, ...] = st.session_state.get(_GIVEN, ())
    return next((unpack(told) for key, _, told in (each.partition("~") for each in found) if key == run), {})


def give(run: str, values: dict[str, Typed]) -> None:
    """Keep what the reader typed about a run."""
    found: tuple[str, ...] = st.session_state.get(_GIVEN, ())
    told = pack(values)
    others = tuple(each for each in found if each.partition("~")[0] != run)
    st.session_state[_GIVEN] = (*others, f"{run}~{told}") if told else others
    _write()


def choice(name: str, among: Iterable[str], otherwise: str) -> str:
    """What was chosen of a view before, as far as it can be chosen now."""
    chosen = unpack(str(st.session_state.get(_CHOICES, ""))).get(name)
    return chosen if isinstance(chosen, str) and chosen in among else otherwise


def choose_view(name: str, value: str, otherwise: str) -> None:
    """Keep a choice of a view; its first choice needs no word in the link."""
    known = unpack(str(st.session_state.get(_CHOICES, "")))
    st.session_state[_CHOICES] = pack(known | {name: None if value == otherwise else value})
    _write()


def held() -> bool:
    """Does the reader want the page to stand still?"""
    return bool(st.session_state.get(_HELD))


def hold(still: bool) -> None:
    """Let the page stand still, or follow its log again."""
    st.session_state[_HELD] = still


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
    """Empty the place where files are dropped: they have been taken."""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state[_DROPPED] = True
    fail_drop("", "")


def newly_dropped() -> bool:
    """True once after files were dropped and taken."""
    return bool(st.session_state.pop(_DROPPED, False))


def fail_drop(names: str, message: str) -> None:
    """Keep why the files that lie in the place cannot be read (empty: there is nothing to say)."""
    st.session_state[_FAILED] = (names, message) if message else None


def failed_drop() -> tuple[str, str] | None:
    """The names of files that cannot be read, and the message."""
    found: tuple[str, str] | None = st.session_state.get(_FAILED)
    return found


def plan_source() -> str | None:
    """The key of the run that the plan starts from; empty for the defaults; None where nothing was chosen."""
    chosen = st.session_state.get(_PLAN_FROM)
    return None if not chosen else "" if chosen == _DEFAULTS else str(chosen)


def plan_from(key: str) -> None:
    """Start the plan from a run (empty: from the defaults); its inputs are filled anew."""
    if key != plan_source():
        st.session_state.pop(_PLAN, None)
        st.session_state[_PLANNED] = ""
    st.session_state[_PLAN_FROM] = key or _DEFAULTS
    _write()


def plan_typed() -> dict[str, Typed]:
    """Inputs of the plan that were typed over what it starts from."""
    return unpack(str(st.session_state.get(_PLANNED, "")))


def type_plan(values: dict[str, Typed]) -> None:
    """Keep the inputs of the plan that were typed."""
    st.session_state[_PLANNED] = pack(values)
    _write()


def around() -> dict[str, float | int]:
    """What was typed of the time around the run."""
    return numbers(unpack(str(st.session_state.get(_AROUND, ""))))


def type_around(values: dict[str, Typed]) -> None:
    """Keep what was typed of the time around the run."""
    st.session_state[_AROUND] = pack(values)
    _write()


def pins() -> tuple[str, ...]:
    """What a budget must not cut, and `sure` where its upper end must fit."""
    found: tuple[str, ...] = st.session_state.get(_PINS, ())
    return found


def pin(names: tuple[str, ...]) -> None:
    """Keep what a budget must not cut."""
    st.session_state[_PINS] = names
    _write()


def planned() -> PlanInputs | None:
    """What the plan started from."""
    found: PlanInputs | None = st.session_state.get(_PLAN)
    return found


def start_plan(inputs: PlanInputs) -> None:
    """Keep what the plan starts from."""
    st.session_state[_PLAN] = inputs


def _write() -> None:
    query, session = st.query_params, st.session_state
    for name, key in _SEVERAL.items():
        wanted = list(session.get(key, ()))
        if query.get_all(name) != wanted:
            if wanted:
                query[name] = wanted
            elif name in query:
                del query[name]
    for name, key in _ONE.items():
        value = session.get(key)
        if value and query.get(name) != value:
            query[name] = str(value)
        elif not value and name in query:
            del query[name]
