"""Pieces of a page that several views use. Whatever comes from a log passes `safe` (HTML) or `quiet` (Markdown) first."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import plotly.graph_objects as go
import streamlit as st

from dashboard import state
from dashboard.charts import CONFIG
from dashboard.charts_compare import waterfall
from dashboard.charts_health import Sign
from dashboard.load import Entry, Opened
from dashboard.summary import Card
from parsers.base import Format
from timeledger import units
from timeledger.compare import Ledger, LedgerPart
from timeledger.results import Analysis, State
from timeledger.run import Note

#: A shape for every state, so that colour is never the only sign.
STATES: Final[dict[State, str]] = {
    "running": "▶ running",
    "finished": "✓ finished",
    "stalled": "‖ stalled",
    "ended early": "■ ended early",
    "unknown": "? state unknown",
}
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#|$~:&^=!]|^\d*[-+.)])")
_UNIT: Final = re.compile(r"(?<=\d) (?=%|(?:s|m|h|d|tok/s)\b)")
_NOTE_MARK: Final = {"warning": "⚠", "skipped": "–", "repaired": "~", "guessed": "?", "missing": "∅", "info": "·"}


def safe(text: str) -> str:
    """Text of a log made inert in HTML."""
    return html.escape("".join(each if each.isprintable() else " " for each in text), quote=True)


def together(text: str) -> str:
    """Numbers stay on the line of their units."""
    return _UNIT.sub("\u00a0", text)


def quiet(text: str, limit: int = 400) -> str:
    """Text of a log made inert in Streamlit's Markdown: no emphasis, links, formulas, colours or emoji codes."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return _SPECIAL.sub(_escape, " ".join(short.split())).replace("\\:", "\\:\u2060")


def _escape(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\{found[0][-1]}"


def title(analysis: Analysis) -> None:
    """The run's name, framework, state and progress."""
    info, done, total = analysis.run.info, analysis.clock.position, analysis.projection.total_steps
    facts = [safe(each) for each in (info.framework or info.format, str(info.setting("model") or "")) if each]
    if done is not None:
        facts.append(
            f"step {done:,}" + (f" of {total:,} · {units.show_share(min(1.0, done / total))}" if total else "")
        )
    spans = "".join(f"<span>{each}</span>" for each in facts)
    bar = ""
    if done is not None and total:
        share = min(100.0, 100.0 * done / total)
        bar = f'<div class="tl-bar" role="progressbar" aria-valuenow="{share:.0f}"><div style="width:{share:.1f}%"></div></div>'
    st.html(
        f'<div class="tl-title"><h2>{safe(info.name)}</h2><span class="tl-state">{STATES[analysis.state]}</span>{spans}</div>{bar}'
    )


def cards(items: Sequence[Card]) -> None:
    """A row of numbers that wraps on a narrow screen."""
    st.html(f'<div class="tl-cards">{"".join(_card(each) for each in items)}</div>')


def _card(card: Card) -> str:
    kind = card.kind or "empty"
    mark = f'<span class="k">{card.kind}</span>' if card.kind else ""
    under = "".join(f'<div class="u">{safe(together(line))}</div>' for line in card.under if line)
    hover = f' title="{safe(card.help)}"' if card.help else ""
    return (
        f'<div class="tl-card {kind}"{hover}><div class="t"><span>{safe(card.title)}</span>{mark}</div>'
        f'<div class="v">{safe(together(card.value))}</div>{under}</div>'
    )


def say(sentence: str) -> None:
    """The one sentence a colleague could say aloud."""
    if sentence:
        st.html(f'<div class="tl-say">{safe(sentence)}</div>')


def empty(head: str, teach: str = "") -> None:
    """An empty place that says what is missing and how to fill it."""
    st.html(f'<div class="tl-empty"><b>{safe(head)}</b>{safe(teach)}</div>')


def chart(figure: go.Figure | None, key: str, alt: str, *, head: str = "", missing: str = "") -> None:
    """A chart with its heading and the same finding as text (also read aloud by a screen reader), or what is missing."""
    if head:
        st.markdown(f"##### {head}", anchors=False)
    if figure is None:
        empty("Nothing to draw.", missing)
        return
    st.plotly_chart(figure, theme=None, key=key, config=CONFIG, alt=alt or head or key)
    if alt:
        st.caption(quiet(alt, 600))


def notes(found: Iterable[Note], extra: Sequence[str] = ()) -> None:
    """What was skipped, repaired or guessed, with a count and the first line."""
    found = list(found)
    if not found and not extra:
        return
    with st.expander(f"Notes ({len(found) + len(extra)})", icon=":material/notes:"):
        rows = [f"<li>{safe(each)}</li>" for each in extra]
        rows += [_note(each) for each in found[:60]]
        if len(found) > 60:
            rows.append(f"<li>… and {len(found) - 60} more</li>")
        st.html(f'<ul class="tl-notes">{"".join(rows)}</ul>')


def _note(note: Note) -> str:
    where = [note.source] if note.source else []
    where += [f"first on line {note.line:,}"] if note.line else []
    where += [f"{note.count:,} times"] if note.count > 1 else []
    tail = f' <span class="w">({safe(", ".join(where))})</span>' if where else ""
    return f"<li>{_NOTE_MARK[note.kind]} {safe(note.text)}{tail}</li>"


def absent(signs: Sequence[Sign]) -> None:
    """What the log does not hold, and how to log it."""
    if signs:
        st.caption("Not in this log: " + "; ".join(f"**{quiet(each.label)}** ({each.how})" for each in signs) + ".")


def problems(opened: Opened) -> None:
    """What could not be read: one message each, with a way to close it; then what was left out."""
    for source, message in opened.problems:
        where, close = st.columns([8, 1], vertical_alignment="center")
        with where:
            failure(source, message)
        close.button("Close", key=f"close_{source}", on_click=state.close, args=(source,))
    for name, message in opened.notices:
        st.warning(f"{quiet(name)}: {quiet(message)}", icon=":material/info:")


def pick_run(opened: Opened) -> Entry | None:
    """The run to look at: the chosen one, else the first; a switch when there are several."""
    if not opened.entries:
        return None
    current = opened.find(state.chosen()) or opened.entries[0]
    if len(opened.entries) > 1:
        keys = [each.key for each in opened.entries]
        labels = {each.key: each.label for each in opened.entries}
        picked = st.selectbox("Run", keys, keys.index(current.key), format_func=lambda key: labels.get(key, key))
        current = opened.find(picked) or current
    state.choose(current.key)
    return current


def is_dark() -> bool:
    """Is the reader's page dark?"""
    return st.context.theme.type == "dark"


def zone() -> tzinfo | None:
    """The reader's time zone, or None when the browser does not say (then the machine's)."""
    try:
        return ZoneInfo(st.context.timezone) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def failure(name: str, message: str) -> None:
    """One message about input that could not be read: what, where, what to do; nothing in it is interpreted."""
    lines = [each for each in message.splitlines() if each.strip()]
    if not lines or not lines[0].startswith(name):
        lines.insert(0, name)
    st.error("  \n".join(quiet(each) for each in lines), icon=":material/error:")


def difference(found: Ledger | None, dark: bool, key: str = "waterfall") -> None:
    """The ledger of a difference: bars that add up, and the sentence; the sentence alone where there is none."""
    if found is None or found.from_s is None or not found.parts:
        empty("The difference cannot be split.", "" if found is None else found.sentence)
        return
    sentence = found.sentence[:1].upper() + found.sentence[1:] if found.sentence.startswith("the ") else found.sentence
    if found.verdict == "same pace":
        empty("The same pace.", sentence)
        return
    floor = 0.005 * max(found.from_s, found.from_s + (found.step_s or 0.0))
    bars: list[tuple[str, float]] = [(_named(each), each.seconds) for each in found.parts if abs(each.seconds) >= floor]
    small = sum(each.seconds for each in found.parts if abs(each.seconds) < floor)
    bars += [("smaller parts", small)] if small else []
    chart(waterfall(found.a, found.b, found.from_s, bars, dark), key, sentence)
    if found.why:
        st.caption(quiet(found.why))


def _named(part: LedgerPart) -> str:
    return "shorter answers" if part.part == "longer answers" and part.seconds < 0 else part.part


def hints(told: Sequence[str]) -> None:
    """Short advice, one line each."""
    if told:
        rows = "".join(f"<li>{safe(each)}</li>" for each in told)
        st.html(f'<ul class="tl-notes tl-hints">{rows}</ul>')


def save(name: str, make: Callable[[], str]) -> None:
    """A button that saves one self-contained HTML report; it is made when the button is pressed."""
    file = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "run"
    st.download_button(
        "Save as HTML report",
        lambda: make().encode(),
        file_name=f"{file}.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
    )


def warnings(told: Sequence[str]) -> None:
    """What to beware of, one quiet line each."""
    for each in told:
        st.caption(f":material/warning: {quiet(each)}")


def formats(known: Sequence[Format]) -> None:
    """What is read, what such a log lacks, and how to log more: one card a format."""
    rows = "".join(
        f'<div class="tl-card"><b>{_coded(each.title)}</b><div class="u">{_coded(each.reads)}</div>'
        f'<div class="u"><i>lacks:</i> {_coded(each.lacks)}</div><div class="u"><i>more:</i> {_coded(each.more)}</div></div>'
        for each in known
    )
    st.html(f'<div class="tl-cards tl-wide">{rows}</div>')


def _coded(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", safe(text))
