"""Reports and data from the page, as files; each is made when its button is pressed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence

import polars as pl
import streamlit as st

from dashboard import state
from dashboard.language import t
from timeledger import document, render
from timeledger.compare import Comparison
from timeledger.report import compare_document, show_document, timed_steps
from timeledger.results import Analysis


def run(name: str, analysis: Analysis) -> None:
    """Everything that can be saved of a run."""
    zone = state.zone()
    _menu(
        name,
        html=lambda: render.show_html([analysis], zone),
        markdown=lambda: render.show_markdown([analysis], zone),
        json=lambda: document.to_json(show_document([analysis], with_steps=True)),
        table=lambda: steps(analysis),
    )


def comparison(name: str, found: Comparison) -> None:
    """Everything that can be saved of a comparison."""
    zone = state.zone()
    _menu(
        name,
        html=lambda: render.compare_html(found, zone),
        markdown=lambda: render.compare_markdown(found, zone),
        json=lambda: document.to_json(compare_document(found)),
        table=lambda: found.table,
    )


def text(label: str, name: str, ending: str, mime: str, content: str) -> None:
    """One button that saves a text."""
    st.download_button(
        label,
        content.encode(),
        file_name=f"{_named(name)}.{ending}",
        mime=mime,
        on_click="ignore",
        icon=":material/download:",
    )


def steps(analysis: Analysis) -> pl.DataFrame:
    """A run's rows with the clock's step time and the metrics that have no column of their own."""
    frame, extra = timed_steps(analysis), analysis.run.extra
    own = [name for name in extra.columns if name not in {"segment", "step"} and name not in frame.columns]
    if not own:
        return frame
    rows = extra.select("segment", "step", *own).unique(["segment", "step"], keep="last")
    return frame.join(rows, on=["segment", "step"], how="left", maintain_order="left")


def csv(frame: pl.DataFrame) -> bytes:
    """CSV; what begins like a formula is quoted, so that a spreadsheet does not compute a name from a log."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    harmless = [
        pl.when(pl.col(name).str.contains(r"^[=+\-@\t\r]")).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in texts
    ]
    return frame.with_columns(harmless).write_csv().encode()


def parquet(frame: pl.DataFrame) -> bytes:
    """A Parquet file."""
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _menu(
    name: str, *, html: Callable[[], str], markdown: Callable[[], str], json: Callable[[], str],
    table: Callable[[], pl.DataFrame],
) -> None:  # fmt: skip
    """The menu of files; each is made when its button is pressed."""
    with st.popover(
        t("Save"), icon=":material/download:", help=t("Reports to send, data to compute with"), key="tl_save"
    ):
        _file("HTML", name, "html", "text/html", lambda: html().encode(), t("one file, works offline"))
        _file("Markdown", name, "md", "text/markdown", lambda: markdown().encode(), t("for an issue or a model card"))
        _file("JSON", name, "json", "application/json", lambda: json().encode(), t("everything, for programs"))
        _file("CSV", name, "csv", "text/csv", lambda: csv(table()), t("for a spreadsheet"))
        _file(
            "Parquet", name, "parquet", "application/vnd.apache.parquet", lambda: parquet(table()), t("for data frames")
        )


def _file(kind: str, name: str, ending: str, mime: str, make: Callable[[], bytes], use: str) -> None:
    st.download_button(
        f"{kind}{t(': ')}{use}",
        make,
        file_name=f"{_named(name)}.{ending}",
        mime=mime,
        on_click="ignore",
        width="stretch",
        key=f"save_{ending}",
    )


def _named(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "run"


def names(found: Sequence[Analysis]) -> str:
    """A file name for several runs."""
    return "-vs-".join(_named(each.run.name)[:24] for each in found[:3])
