"""The three ways in: drop files, name a path, take a bundled sample."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dashboard import load, parts, samples, state
from dashboard.language import t
from dashboard.load import Opened


def ask() -> None:
    """Inputs for all three ways."""
    left, right = st.columns([3, 2], gap="large")
    with left, st.container(key="tl_ways"):
        parts.head(t("Drop log files"))
        _drop()
        parts.head(t("Or name a file or a run's folder on this machine"))
        _path()
        with st.expander(t("Does your log use names of its own?"), icon=":material/match_word:"):
            _names()
    with right:
        parts.head(t("Or look at a sample"))
        _samples()


def _drop() -> None:
    if state.dropped():
        names, message = _read()
        state.fail_drop(names, message or "")
        if message is None:
            _go()
    key = state.drop_key()
    st.file_uploader(
        t("Log files (several of one run are put together; .gz is fine)"),
        accept_multiple_files=True,
        key=key,
        on_change=_hold,
        args=(key,),
    )
    if (failed := state.failed_drop()) is not None:
        parts.failure(*failed)


def _hold(key: str) -> None:
    """Take what was dropped before the page is drawn: the value that a drawn widget gives is a copy of every byte."""
    # A browser that tells of the drop once more finds its bytes gone: those files have been taken.
    files = [each for each in st.session_state.get(key) or () if isinstance(each, UploadedFile)]
    if not files:
        return
    context = get_script_run_ctx()
    state.keep_dropped(tuple((each.name, each.getvalue()) for each in files))
    # Streamlit would keep the bytes until the session ends.
    forget = getattr(context.uploaded_file_mgr, "remove_file", None) if context is not None else None
    for each in files:
        each.close()
        if context is not None and forget is not None:
            forget(session_id=context.session_id, file_id=each.file_id)


def _read() -> tuple[str, str | None]:
    """Read what is held and let go of it; names and, where it cannot be read, the message. Begun anew when interrupted."""
    files = state.dropped()
    message = load.drop(files)
    state.keep_dropped(())
    return ", ".join(name for name, _ in files), message


def _path() -> None:
    typed = st.text_input(
        t("Path"),
        key="path",
        placeholder="/data/runs/grpo-7b or ~/train.log",
        help=t("A path is followed: new lines appear by themselves."),
    )
    typed = typed.strip()
    pressed = st.button(t("Open the path"), disabled=not typed)
    if state.newly_typed(typed) or (pressed and typed):
        path = str(Path(typed.strip("'\"")).expanduser().absolute())
        message = load.problem(path)
        if message is None:
            state.remember(path)
            state.open_path(path)
            _go()
        parts.failure(path, message)
    recent = [each for each in state.typed() if each not in state.paths()]
    for each in recent[:5]:
        if st.button(parts.quiet(each, 90), key=f"recent_{each}", icon=":material/history:", type="tertiary"):
            state.open_path(each)
            _go()


def _names() -> None:
    """Names that no reader can know (`my_len=len_mean`); they stay in the link."""
    typed = st.text_input(
        t("Names only your log uses"),
        value=", ".join(state.renames()),
        placeholder="my_len=len_mean, took=step_s",
        help=t("KEY=COLUMN, several with commas. Files dropped afterwards and all paths are read with them."),
    )
    texts = tuple(each.strip() for each in typed.split(",") if each.strip())
    if texts != state.renames():
        message = load.rename(texts)
        if message is None:
            st.rerun()
        parts.failure(typed, message)


def _samples() -> None:
    found = samples.bundled()
    if not found:
        st.caption(t("No samples are installed."))
        return
    for each in found:
        if each.path in state.paths():
            continue
        with st.container(gap="xxsmall", key=f"tl_sample_{each.name}"):
            chosen = st.button(
                parts.quiet(each.name), key=f"sample_{each.name}", icon=":material/description:", type="tertiary"
            )
            if each.shows:
                st.caption(parts.quiet(t(each.shows)))
        if chosen:
            state.open_path(each.path)
            _go()
    if st.button(t("Open all samples"), key="all_samples"):
        for each in found:
            state.open_path(each.path)
        st.rerun()


def _go() -> NoReturn:
    """To the run itself when it is the only one, else to the list."""
    state.fail_drop("", "")
    entries = load.opened().entries
    if len(entries) == 1:
        state.choose(entries[0].key)
        st.switch_page("views/run.py", query_params=state.query())
    st.rerun()


def sources(opened: Opened) -> None:
    """What is open, each with a way to close it."""
    names = {each.source: each.path or t("dropped: {name}", name=each.label) for each in opened.entries}
    with st.expander(t("Open sources ({count})", count=len(names)), icon=":material/folder_open:"):
        for source, name in names.items():
            where, close = st.columns([8, 1], vertical_alignment="center")
            where.text(name)
            close.button(t("Close"), key=f"shut_{source}", on_click=state.close, args=(source,))
