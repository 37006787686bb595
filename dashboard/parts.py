"""Pieces of a page that several views use. Whatever comes from a log passes `safe` (HTML) or `quiet` (Markdown) first."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import east_asian_width

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import state
from dashboard.charts import CONFIG
from dashboard.charts_health import Sign
from dashboard.language import mark, retold, shown, t
from dashboard.load import Entry, Opened
from dashboard.localised import share
from dashboard.summary import Card
from dashboard.terms import meaning
from parsers import FORMATS
from timeledger.forecast import known_done
from timeledger.results import Analysis, State
from timeledger.run import Note

#: A shape for every state, so that colour is never the only sign.
STATES: Final[dict[State, str]] = {
    "running": mark("▶ running"),
    "finished": mark("✓ finished"),
    "stalled": mark("‖ stalled"),
    "ended early": mark("■ ended early"),
    "unknown": mark("? state unknown"),
}
_SIDEWAYS: Final = "<style>@media print { @page { size: landscape; margin: 12mm } }</style>"
#: So many lines of a message stand in the open, the others behind a click.
_TOLD: Final = 2
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#|$~:&^=!]|^\d*[-+.)])")
_UNIT: Final = re.compile(r"(?<=\d) (?=%|(?:s|m|h|d|tok/s)\b|[秒分小天毫月日])")
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


def title(analysis: Analysis, *, named: bool = True) -> None:
    """The run's name (unless it stands above already), state, where its log comes from, and progress."""
    info, total = analysis.run.info, analysis.projection.total_steps
    done = known_done(analysis.run, analysis.clock)
    model = str(info.setting("model") or "")
    model = model.rstrip("/").rpartition("/")[2] if model.startswith("/") else model
    facts = [safe(each) for each in (info.framework or origin(info.format), model) if each]
    if done is not None:
        facts.append(progress(done, total))
    spans = "".join(f"<span>{each}</span>" for each in facts)
    name = f"<h1>{safe(info.name)}</h1>" if named else ""
    st.html(f'<div class="tl-title">{name}<span class="tl-state">{safe(t(STATES[analysis.state]))}</span>{spans}</div>')


def bar(analysis: Analysis) -> None:
    """How far the run is; nothing where its end is not known."""
    done, total = known_done(analysis.run, analysis.clock), analysis.projection.total_steps
    if done is not None and total:
        done_share = min(100.0, 100.0 * done / total)
        st.html(
            f'<div class="tl-bar" role="progressbar" aria-label="{safe(t("steps done"))}" aria-valuemin="0" '
            f'aria-valuemax="100" aria-valuenow="{done_share:.0f}"><div style="width:{done_share:.1f}%"></div></div>'
        )


def origin(name: str) -> str:
    """What a format is called by people."""
    return next((re.split(r" \(|（", t(each.title))[0] for each in FORMATS if each.name == name), name)


def progress(done: int, total: int | None) -> str:
    """`step 87 of 200 · 43 %`."""
    if not total:
        return t("step {done}", done=f"{done:,}")
    told = t("step {done} of {total}", done=f"{done:,}", total=f"{total:,}")
    return f"{told} · {share(min(1.0, done / total))}"


def cards(items: Sequence[Card], *, lead: bool = False) -> None:
    """A row of numbers that wraps on a narrow screen; with `lead` the first is the answer and the others stand beside it."""
    wide = f"max-width:{26 * len(items)}rem"
    st.html(
        f'<div class="tl-cards{" tl-lead" if lead else ""}" style="{wide}">{"".join(_card(each) for each in items)}</div>'
    )


def _card(card: Card) -> str:
    kind = card.kind or "empty"
    kind_told = f'<span class="k">{safe(t(card.kind))}</span>' if card.kind else ""
    under = "".join(f'<div class="u">{safe(together(line))}</div>' for line in card.under if line)
    hover = f' title="{safe(card.help)}"' if card.help else ""
    word = f' title="{safe(told)}"' if (told := meaning(card.title)) else ""
    return (
        f'<div class="tl-card {kind}"{hover}><div class="t"><span{word}>{safe(card.title)}</span>{kind_told}</div>'
        f'<div class="v">{safe(together(card.value))}</div>{under}</div>'
    )


def say(sentence: str) -> None:
    """The one sentence a colleague could say aloud."""
    if sentence:
        st.html(f'<div class="tl-say">{safe(sentence)}</div>')


def empty(head: str, teach: str = "") -> None:
    """An empty place that says what is missing and how to fill it."""
    st.html(f'<div class="tl-empty"><b>{safe(head)}</b>{safe(teach)}</div>')


def page_title(text: str) -> None:
    """The heading of a view."""
    st.markdown(f"# {text}", anchors=False)


def head_line(text: str, key: str) -> DeltaGenerator:
    """The heading of a section with a place for its switches on the same line (below it on a narrow screen)."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width="stretch"):
            head(text)
        return st.container(horizontal=True, horizontal_alignment="right", width="content", key=f"tl_switches_{key}")


def head(text: str) -> None:
    """The heading of a section."""
    st.markdown(f"## {text}", anchors=False)


def chart(
    figure: go.Figure | None, key: str, alt: str, *, title: str = "", missing: str = "", told: bool = True
) -> None:
    """A chart with its heading and the same finding as text (also read aloud by a screen reader), or what is missing.

    `told`: the finding stands under the chart; else the caller has said it already.
    """
    if title:
        head(title)
    if figure is None:
        lacking(missing)
        return
    room_for_legend(figure, key)
    st.plotly_chart(figure, theme=None, key=key, config=CONFIG, alt=alt or title or key)
    if alt and told:
        st.caption(quiet(alt, 600))


def room_for_legend(figure: go.Figure, key: str) -> None:
    """On a phone a legend takes several lines: the chart grows by them, so that the plot keeps its height."""
    if not figure.layout.showlegend:
        return
    named = [each for each in figure.data if each.name and each.showlegend is not False]
    beside = any(getattr(each, "orientation", None) == "h" for each in named)  # names of bars take the second column
    lines = len(named) if beside else -(-len(named) // 2)
    if lines > 1:
        tall = int(figure.layout.height) + 20 * lines
        which = f".st-key-{key}, .st-key-{key} > div, .st-key-{key} .stPlotlyChart"
        st.html(f"<style>@media (max-width: 700px) {{ {which} {{ min-height: {tall}px }} }}</style>")


def lacking(why: str) -> None:
    """In a chart's place: the reason as the model tells it, its first sentence as the head."""
    first, dot, rest = why.partition(". ")
    empty(f"{first}{dot.strip()}" if first else t("Nothing to draw."), rest)


def notes(found: Iterable[Note], extra: Sequence[str] = ()) -> None:
    """What was skipped, repaired or guessed, with a count and the first line."""
    found = list(found)
    if not found and not extra:
        return
    with st.expander(t("Notes ({count})", count=len(found) + len(extra)), icon=":material/notes:"):
        rows = [f"<li>{safe(each)}</li>" for each in extra]
        rows += [_note(each) for each in found[:60]]
        if len(found) > 60:
            rows.append(f"<li>{safe(t('… and {count} more', count=len(found) - 60))}</li>")
        st.html(f'<ul class="tl-notes">{"".join(rows)}</ul>')


def _note(note: Note) -> str:
    where = [note.source] if note.source else []
    where += [t("first on line {line}", line=f"{note.line:,}")] if note.line else []
    where += [t("{count} times", count=f"{note.count:,}")] if note.count > 1 else []
    tail = f' <span class="w">({safe(t(", ").join(where))})</span>' if where else ""
    return f"<li>{_NOTE_MARK[note.kind]} {safe(retold(note.text))}{tail}</li>"


def absent(signs: Sequence[Sign]) -> None:
    """What the log does not hold, and how to log it."""
    if signs:
        told = t("; ").join(t("{sign} ({how})", sign=f"**{quiet(t(each.label))}**", how=t(each.how)) for each in signs)
        st.caption(t("Not in this log: {signs}.", signs=told))


def problems(opened: Opened) -> None:
    """What could not be read: one message each, with a way to close it; then what was left out."""
    for source, message in opened.problems:
        where, close = st.columns([8, 1], vertical_alignment="center")
        with where:
            failure(source, message)
        close.button(t("Close"), key=f"close_{source}", on_click=state.close, args=(source,))
    for name, message in opened.notices:
        st.warning(f"{quiet(name)}: {quiet(message)}", icon=":material/info:")


def sideways() -> None:
    """Print this view on paper turned sideways: its charts are wide."""
    st.html(_SIDEWAYS)


def no_run() -> None:
    """What to do when no run is open; the ways in stand below it."""
    empty(t("No run is open."), t("Drop a log, name a path or take a sample: the answer appears here."))


def pick_run(opened: Opened) -> Entry | None:
    """The run to look at: the chosen one, else the first; a switch when there are several."""
    fit = opened.entries
    if not fit:
        return None
    current = next((each for each in fit if each.key == state.chosen()), fit[0])
    if len(fit) > 1:
        keys = [each.key for each in fit]
        labels = {each.key: each.label for each in fit}
        picked = st.selectbox(
            t("Run"), keys, keys.index(current.key), format_func=lambda key: labels.get(key, key),
            label_visibility="collapsed", width=230,
        )  # fmt: skip
        current = opened.find(picked) or current
    state.choose(current.key)
    return current


def head_row() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The first line of a run's view: a place for its title, and one for the tools, which go below on a narrow screen."""
    with st.container(horizontal=True, vertical_alignment="center", key="tl_head"):
        return (
            st.container(width="stretch", key="tl_name"),
            st.container(horizontal=True, horizontal_alignment="right", width="content", key="tl_tools"),
        )


def switch(label: str, options: Sequence[str], now: str, name: str) -> str:
    """One of a few, kept in the link; its label is read aloud only."""
    picked = st.segmented_control(
        label, options, default=now, required=True, key=f"switch_{name}", label_visibility="collapsed",
        persist_state="session", format_func=shown(options), wrap=True,
    )  # fmt: skip
    state.choose_view(name, picked or options[0], options[0])
    return picked or options[0]


def is_dark() -> bool:
    """Is the reader's page dark?"""
    return st.context.theme.type == "dark"


def failure(name: str, message: str) -> None:
    """One message about input that could not be read: what, where, what to do; nothing in it is interpreted."""
    lines = [each for each in message.splitlines() if each.strip()]
    if not lines or not lines[0].startswith(name):
        lines.insert(0, name)
    first = [f"**{quiet(lines[0])}**", *(quiet(each) for each in lines[1:_TOLD])]
    st.error("  \n".join(first), icon=":material/error:")
    if len(lines) > _TOLD:
        with st.expander(t("What was looked for, and how to log it"), icon=":material/help:"):
            st.markdown("  \n".join(quiet(each) for each in lines[_TOLD:]))


def hints(told: Sequence[str]) -> None:
    """Short advice, one line each."""
    if told:
        rows = "".join(f"<li>{safe(each)}</li>" for each in told)
        st.html(f'<ul class="tl-notes tl-hints">{rows}</ul>')


def warnings(told: Sequence[str]) -> None:
    """What to beware of, one quiet line each."""
    for each in told:
        st.caption(f":material/warning: {quiet(each)}")


def width(text: str) -> int:
    """How many Latin letters' room a text takes: a Chinese character takes two."""
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", left: int = 1, right_to: int = 99
) -> None:
    """A plain table that prints and can be read aloud; columns from `left` to before `right_to` are numbers, aligned right.

    One with more than four columns, or with sentences in it, becomes a block a row on a phone.
    """

    def cells(row: Sequence[str], tag: str) -> str:
        names = [' class="n"' if left <= at < right_to else "" for at in range(len(row))]
        heads = [f' data-head="{safe(each)}"' if tag == "td" else "" for each in columns]
        shown = zip(names, heads, row, strict=True)
        return "".join(f"<{tag}{name}{title}>{safe(together(cell))}</{tag}>" for name, title, cell in shown)

    told = f"<caption>{safe(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    stacked = " tl-stack" if len(columns) > 4 or any(width(cell) > 40 for row in rows for cell in row) else ""
    heads = f"<thead><tr>{cells(columns, 'th')}</tr></thead>" if any(columns) else ""
    st.html(
        f'<div class="tl-scroll" tabindex="0"><table class="tl-table{stacked}">{told}{heads}<tbody>{body}</tbody></table></div>'
    )
