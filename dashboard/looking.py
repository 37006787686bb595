"""Looking at one step: a click on a chart or a typed number shows its row, and the line of the log it came from."""

from __future__ import annotations

import gzip
import itertools
import re
from pathlib import Path
from typing import IO, Any, Final

import plotly.graph_objects as go
import polars as pl
import streamlit as st

from dashboard import parts, state
from dashboard.charts import CONFIG
from dashboard.language import mark, t
from dashboard.load import Entry
from dashboard.localised import moment, phase, seconds
from timeledger.results import Analysis
from timeledger.units import show_number

_STEP: Final = "tl_step"
#: A line longer than this is cut.
_LONGEST: Final = 4000
_PLACE: Final = ("segment", "step", "span", "line", "at")
#: What a step's row may be, for the catalogue.
KINDS: Final = (
    mark("ordinary"), mark("warmup"), mark("pause"), mark("evaluation"), mark("checkpoint"), mark("periodic"), mark("restart"),
)  # fmt: skip


def chart_of_steps(figure: go.Figure | None, key: str, alt: str, *, title: str = "", missing: str = "") -> None:
    """A chart whose points are steps: a click on one looks at it."""
    if title:
        parts.head(title)
    if figure is None:
        parts.lacking(missing)
        return
    parts.room_for_legend(figure, key)
    st.plotly_chart(
        figure,
        theme=None,
        key=key,
        config=CONFIG,
        alt=alt or title or key,
        on_select=_clicked(key),
        selection_mode="points",
    )
    if alt:
        st.caption(parts.quiet(alt, 600))


def _clicked(key: str) -> Any:
    def take() -> None:
        points = st.session_state[key].selection.points
        if points:
            at = points[0].get("customdata") or points[0].get("x")
            at = at[0] if isinstance(at, list | tuple) else at
            if isinstance(at, int | float):
                st.session_state[_STEP] = int(at)

    return take


def ask(analysis: Analysis) -> None:
    """Which step to look at: typed here, or clicked on a chart."""
    steps = analysis.run.steps["step"]
    low, high = steps.min(), steps.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return
    known = st.session_state.get(_STEP)
    if isinstance(known, int) and not low <= known <= high:
        st.session_state[_STEP] = None
    with st.container(width=230, key="tl_look"):
        st.number_input(
            t("Look at a step"), min_value=low, max_value=high, value=None, step=1, key=_STEP,
            placeholder=t("a step: click it, or type"), label_visibility="collapsed",
        )  # fmt: skip


def at_a_step(entry: Entry, analysis: Analysis) -> None:
    """The row of the step that was clicked or typed."""
    wanted = st.session_state.get(_STEP)
    if isinstance(wanted, int):
        _show(entry, analysis, wanted)


def _show(entry: Entry, analysis: Analysis, step: int) -> None:
    rows = analysis.run.steps.filter(pl.col("step") >= step).head(1)
    if rows.is_empty():
        return
    row = rows.row(0, named=True)
    if row["step"] != step:
        st.caption(t("The log holds no row for this step; the next one is step {step}.", step=f"{row['step']:,}"))
    told = "".join(
        f"<div><dt>{parts.safe(name)}</dt><dd>{parts.safe(parts.together(value))}</dd></div>"
        for name, value in facts(analysis, row)
    )
    st.html(f'<dl class="tl-facts">{told}</dl>')
    line, number = _line(entry, analysis, row), row["line"]
    if number:
        st.caption(t("Line {line} of the log.", line=f"{number:,}"))
    if line:
        st.code(line, language=None, wrap_lines=True)


def facts(analysis: Analysis, row: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known of a step: its time, its phases, its metrics."""
    step, clock = row["step"], analysis.clock.steps.filter(pl.col("step") == row["step"]).tail(1)
    told = [(t("step"), f"{step:,}")]
    if row["at"] is not None:
        told.append((t("logged"), moment(row["at"], analysis.facts.now, state.zone())))
    if clock.height and clock["wall_s"][0] is not None:
        told.append(
            (t("seconds of the step"), t("{time} ({kind})", time=seconds(clock["wall_s"][0]), kind=t(clock["kind"][0])))
        )
    split = analysis.breakdown.by_step.filter((pl.col("step") == step) & (pl.col("seconds") > 0))
    told += [(phase(each["phase"]), seconds(each["seconds"])) for each in split.iter_rows(named=True)]
    told += [(name, show_number(value, 4)) for name, value in row.items() if name not in _PLACE and value is not None]
    extra = analysis.run.extra.filter(pl.col("step") == step).tail(1)
    for name in extra.columns:
        value = extra[name][0] if extra.height and name not in _PLACE else None
        if value is not None:
            told.append((name, show_number(value, 4) if isinstance(value, int | float) else str(value)[:80]))
    return told[:60]


def _line(entry: Entry, analysis: Analysis, row: dict[str, Any]) -> str | None:
    """The line itself, of a path only; of several files the one whose line holds a value of the row."""
    if entry.path is None or not row["line"]:
        return None
    root = Path(entry.path)
    files = [root] if root.is_file() else [root / name for name in analysis.run.info.sources]
    found = [line for file in files if (line := line_of(file, row["line"])) is not None]
    fitting = [line for line in found if holds(line, row)]
    return max(re.split("\r", fitting[0]), key=len).strip() if fitting else None  # a progress bar rewrites its line


def holds(line: str, row: dict[str, Any]) -> bool:
    """True when the line shows a number of the row: its step, or a metric to three digits."""
    seen = {float(each) for each in re.findall(r"(?<![\w.])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", line.replace(",", ""))}
    measured = [
        value
        for name, value in row.items()
        if name not in {"segment", "span", "line", "at"} and isinstance(value, int | float)
    ]
    return any(abs(each - value) <= 0.005 * abs(value) for value in measured if value for each in seen)


def line_of(file: Path, number: int) -> str | None:
    """A line of a text file (or a `.gz` of one) by its number, shortened; None where it cannot be read as text."""
    try:
        with _opened(file) as stream:
            raw = next(itertools.islice(stream, number - 1, None), None)
    except (OSError, EOFError):
        return None
    if raw is None or b"\0" in raw[:_LONGEST]:
        return None
    return raw[:_LONGEST].decode("utf-8", errors="replace").rstrip("\r\n")


def _opened(file: Path) -> IO[bytes]:
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")  # type: ignore[return-value]
