"""What the page remembers: what makes a link in the URL, everything else in the session, under the keys of `keys`.

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
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from dashboard import keys, language
from dashboard.packed import Typed, pack, unpack

if TYPE_CHECKING:
    from timeledger.run import Run


@dataclass(frozen=True, slots=True)
class Upload:
    """Files dropped together: the digest of their bytes, their names, and the runs read from them."""

    digest: str
    names: tuple[str, ...]
    runs: tuple[Run, ...] = field(repr=False)


def restore() -> None:
    """Take what makes a link from the URL, else from this session, else (paths) from the command line; write it back."""
    session, query = st.session_state, st.query_params
    for name, key in keys.SEVERAL.items():
        if name in query:
            session[key] = tuple(dict.fromkeys(query.get_all(name)))
    for name, key in keys.ONE.items():
        if name in query:
            session[key] = query[name]
    if keys.PATHS not in session:
        session[keys.PATHS] = from_command_line()
    keys.write()


def from_command_line() -> tuple[str, ...]:
    """The paths given to `timeledger open`, or none."""
    try:
        given = json.loads(os.environ.get(keys.ENVIRONMENT, "[]"))
    except ValueError:
        return ()
    return tuple(str(each) for each in given) if isinstance(given, list) else ()


def paths() -> tuple[str, ...]:
    """The paths that are open."""
    found: tuple[str, ...] = st.session_state.get(keys.PATHS, ())
    return found


def open_path(path: str) -> None:
    """Add a path."""
    st.session_state[keys.PATHS] = tuple(dict.fromkeys((*paths(), path)))
    keys.write()


def close(source: str) -> None:
    """Remove a path, or an upload by its digest."""
    st.session_state[keys.PATHS] = tuple(each for each in paths() if each != source)
    st.session_state[keys.UPLOADS] = tuple(each for each in uploads() if each.digest != source)
    keys.write()


def uploads() -> tuple[Upload, ...]:
    """What was dropped in this session."""
    found: tuple[Upload, ...] = st.session_state.get(keys.UPLOADS, ())
    return found


def add_upload(upload: Upload) -> None:
    """Keep an upload; the same bytes again change nothing."""
    if all(each.digest != upload.digest for each in uploads()):
        st.session_state[keys.UPLOADS] = (*uploads(), upload)


def chosen() -> str | None:
    """The key of the run that is looked at."""
    found: str | None = st.session_state.get(keys.CHOSEN)
    return found


def choose(key: str) -> None:
    """Look at this run."""
    st.session_state[keys.CHOSEN] = key
    keys.write()


def query() -> dict[str, str | list[str]]:
    """The URL's parameters, for another view."""
    session = st.session_state
    told: dict[str, str | list[str]] = {
        name: list(session[key]) for name, key in keys.SEVERAL.items() if session.get(key)
    }
    return told | {name: str(session[key]) for name, key in keys.ONE.items() if session.get(key)}


def compared() -> tuple[str, ...]:
    """Keys of the runs that are compared; empty means all."""
    found: tuple[str, ...] = st.session_state.get(keys.COMPARED, ())
    return found


def compare(runs: tuple[str, ...]) -> None:
    """Compare these runs."""
    st.session_state[keys.COMPARED] = runs
    keys.write()


def ticked() -> tuple[str, ...]:
    """Rules whose advice is tried out."""
    found: tuple[str, ...] = st.session_state.get(keys.TICKED, ())
    return found


def tick(rules: tuple[str, ...]) -> None:
    """Try out the advice of these rules."""
    st.session_state[keys.TICKED] = rules
    keys.write()


def renames() -> tuple[str, ...]:
    """Names that only the reader's own log uses, as KEY=COLUMN."""
    found: tuple[str, ...] = st.session_state.get(keys.RENAMES, ())
    return found


def rename(texts: tuple[str, ...]) -> None:
    """Read logs with these names from now on."""
    st.session_state[keys.RENAMES] = texts
    keys.write()


def language_code() -> str:
    """The language of the page: the one switched to, else the browser's."""
    switched = st.session_state.get(keys.LANGUAGE)
    return str(switched) if switched in language.LANGUAGES else language.preferred(st.context.locale)


def switch_language(code: str) -> None:
    """Speak this language from now on."""
    st.session_state[keys.LANGUAGE] = code
    keys.write()


def zone() -> tzinfo | None:
    """The reader's time zone, or None when the browser does not say (then the machine's)."""
    try:
        return ZoneInfo(st.context.timezone) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def changed(key: str, value: str) -> str | None:
    """What was noted under this key before, when it differs from `value`, which is noted now."""
    seen: dict[str, str] = st.session_state.setdefault(keys.SEEN, {})
    before = seen.get(key)
    seen[key] = value
    return before if before != value else None


def given(run: str) -> dict[str, Typed]:
    """What the reader typed about a run ("Your facts")."""
    found: tuple[str, ...] = st.session_state.get(keys.GIVEN, ())
    return next((unpack(told) for key, _, told in (each.partition("~") for each in found) if key == run), {})


def give(run: str, values: dict[str, Typed]) -> None:
    """Keep what the reader typed about a run."""
    found: tuple[str, ...] = st.session_state.get(keys.GIVEN, ())
    told = pack(values)
    others = tuple(each for each in found if each.partition("~")[0] != run)
    st.session_state[keys.GIVEN] = (*others, f"{run}~{told}") if told else others
    keys.write()


def choice(name: str, among: Iterable[str], otherwise: str) -> str:
    """What was chosen of a view before, as far as it can be chosen now."""
    chosen = unpack(str(st.session_state.get(keys.CHOICES, ""))).get(name)
    return chosen if isinstance(chosen, str) and chosen in among else otherwise


def choose_view(name: str, value: str, otherwise: str) -> None:
    """Keep a choice of a view; its first choice needs no word in the link."""
    known = unpack(str(st.session_state.get(keys.CHOICES, "")))
    st.session_state[keys.CHOICES] = pack(known | {name: None if value == otherwise else value})
    keys.write()


def held() -> bool:
    """Does the reader want the page to stand still?"""
    return bool(st.session_state.get(keys.HELD))


def hold(still: bool) -> None:
    """Let the page stand still, or follow its log again."""
    st.session_state[keys.HELD] = still


def typed() -> tuple[str, ...]:
    """Paths typed in this session, newest first."""
    found: tuple[str, ...] = st.session_state.get(keys.TYPED, ())
    return found


def remember(path: str) -> None:
    """Keep a typed path among the recent ones."""
    st.session_state[keys.TYPED] = tuple(dict.fromkeys((path, *typed())))[:8]


def newly_typed(path: str) -> bool:
    """True once for a path that was typed and not yet tried."""
    new = bool(path) and path != st.session_state.get(keys.TRIED)
    st.session_state[keys.TRIED] = path
    return new


def drop_key() -> str:
    """The key of the place where files are dropped; it changes when they have been taken, which empties the place."""
    return f"drop_{st.session_state.get(keys.ROUND, 0)}"


def keep_dropped(files: tuple[tuple[str, bytes], ...]) -> None:
    """Keep dropped files until they have been read (none: they have), and empty the place where they lay."""
    if files:
        st.session_state[keys.ROUND] = st.session_state.get(keys.ROUND, 0) + 1
    st.session_state[keys.DROPPED] = files


def dropped() -> tuple[tuple[str, bytes], ...]:
    """Dropped files that have not been read yet."""
    found: tuple[tuple[str, bytes], ...] = st.session_state.get(keys.DROPPED, ())
    return found


def fail_drop(names: str, message: str) -> None:
    """Keep why the files that were dropped last cannot be read (empty: they can)."""
    st.session_state[keys.FAILED] = (names, message) if message else None


def failed_drop() -> tuple[str, str] | None:
    """The names of the files that were dropped last, and why they cannot be read."""
    found: tuple[str, str] | None = st.session_state.get(keys.FAILED)
    return found
