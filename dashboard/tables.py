"""The tables: runs at a glance, and runs side by side. Cells are plain text, so nothing a log says is interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
import streamlit as st

from dashboard import summary
from dashboard.charts import floats, thin
from dashboard.load import Entry
from dashboard.parts import STATES
from timeledger import report, units
from timeledger.compare import Comparison
from timeledger.results import Analysis, State

_FIRST: Final[tuple[State, ...]] = ("stalled", "running", "unknown", "ended early", "finished")
_SPARK: Final = 60


def urgency(analysis: Analysis) -> tuple[int, float]:
    """Sort key of the list of runs: stalled first, then running, the newest sign of life on top."""
    last = report.last_seen(analysis)
    return _FIRST.index(analysis.state), -(last.timestamp() if last is not None else 0.0)


def spark(frame: pl.DataFrame, column: str) -> list[float]:
    """A column thinned for a line in a cell; gaps are left out."""
    values = floats(frame[column])
    values = values[np.isfinite(values)]
    return [float(each) for each in values[thin(len(values), values, limit=_SPARK)]]


def runs(pairs: Sequence[tuple[Entry, Analysis]], zone: tzinfo | None) -> str | None:
    """One line a run; the key of the run that was clicked."""
    rows = [_run_row(entry, analysis, zone) for entry, analysis in pairs]
    table = pd.DataFrame(rows)
    config: dict[str, Any] = {
        "run": st.column_config.TextColumn("Run", width="medium", pinned=True),
        "done": st.column_config.ProgressColumn("Done", format="percent", min_value=0.0, max_value=1.0, width="small"),
        "step": st.column_config.TextColumn("Step now", width="small", alignment="right"),
        "steps": st.column_config.LineChartColumn("Step time", width="small", help="seconds of each step, over the run"),
        "sampling": st.column_config.TextColumn("Sampling", width="small", alignment="right"),
        "answers": st.column_config.TextColumn("Answers", width="small", alignment="right", help="mean response length, tokens"),
        "state": "State", "finish": "Finish", "cost": "Cost",
    }  # fmt: skip
    chosen = st.dataframe(
        table, hide_index=True, column_config=config, on_select="rerun", selection_mode=["single-row", "single-cell"], key="runs_table", placeholder="—",
        alt="One line a run: state, progress, finish time, step time, sampling share, answers, cost.",
    )  # fmt: skip
    picked = [*chosen.selection.rows, *(row for row, _ in chosen.selection.cells)]
    return pairs[picked[0]][0].key if picked and picked[0] < len(pairs) else None


def _run_row(entry: Entry, analysis: Analysis, zone: tzinfo | None) -> dict[str, Any]:
    done, total = analysis.clock.position, analysis.projection.total_steps
    finish = summary.finish(analysis, zone)
    cost = summary.cost(analysis)
    growth = analysis.growth
    return {
        "run": entry.label,
        "finish": ", ".join(
            (f"needs {finish.value}" if finish.title.startswith("Still") else finish.value, *finish.under[:1])
        ),
        "state": STATES[analysis.state],
        "done": round(min(1.0, done / total), 2) if done is not None and total else None,
        "step": units.show_seconds(analysis.clock.step_s),
        "steps": spark(analysis.clock.steps, "wall_s"),
        "sampling": units.show_share(analysis.breakdown.sampling_share),
        "answers": units.show_number(growth.last),
        "cost": cost.value,
    }


def side_by_side(comparison: Comparison) -> None:
    """Runs side by side; the best of each column is named under the table."""
    rows = []
    for row, analysis in zip(comparison.table.iter_rows(named=True), comparison.analyses, strict=True):
        cost = report.cost(analysis)
        rows.append(
            {
                **{
                    name: row[name]
                    for name in ("run", "framework", "steps", "now_s", "step_s", "s_per_1k_tokens", "len_last")
                },
                "sampling": None if row["sampling_share"] is None else 100 * row["sampling_share"],
                "hours": None if cost is None else cost.gpu_hours,
                "total": units.show_seconds(row["total_s"] if row["total_s"] is not None else row["elapsed_s"]),
                "times": spark(analysis.clock.steps, "wall_s"),
                "lengths": spark(analysis.run.steps, "len_mean"),
                "rewards": spark(analysis.run.steps, "reward"),
            }
        )
    table = pd.DataFrame(rows)
    filled = [
        name
        for name in table.columns
        if table[name].map(lambda cell: cell is not None and cell == cell and cell != []).any()
    ]
    st.dataframe(
        table[filled],
        hide_index=True,
        column_config=_COLUMNS,
        placeholder="—",
        height="content",
        alt="Runs side by side.",
    )
    _name_best(table)


_COLUMNS: Final[dict[str, Any]] = {
    "run": st.column_config.TextColumn("Run", pinned=True, width="medium"),
    "framework": st.column_config.TextColumn("Framework", width="small"),
    "steps": st.column_config.NumberColumn("Steps", format="localized", width="small"),
    "now_s": st.column_config.NumberColumn("Step now, s", format="%.2f", width="small", help="an ordinary step now"),
    "step_s": st.column_config.NumberColumn(
        "Whole step, s", format="%.2f", width="small", help="evaluation and checkpoints spread over all steps"
    ),
    "s_per_1k_tokens": st.column_config.NumberColumn(
        "s per 1,000 tokens", format="%.3f", help="seconds of a step per 1,000 answer tokens"
    ),
    "sampling": st.column_config.NumberColumn("Sampling, %", format="%.0f", width="small"),
    "len_last": st.column_config.NumberColumn(
        "Answers", format="%.0f", width="small", help="mean response length late in the run, tokens"
    ),
    "hours": st.column_config.NumberColumn("GPU-hours", format="%.2f", width="small"),
    "total": st.column_config.TextColumn("Whole run", alignment="right", width="small"),
    "times": st.column_config.LineChartColumn("Step time", width="small"),
    "lengths": st.column_config.LineChartColumn("Answer length"),
    "rewards": st.column_config.LineChartColumn("Reward", width="small"),
}
_BEST: Final = {
    "step_s": "shortest step",
    "s_per_1k_tokens": "fewest seconds per 1,000 tokens",
    "hours": "fewest GPU-hours",
}


def _name_best(table: pd.DataFrame) -> None:
    told = []
    for column, label in _BEST.items():
        known = table[column].astype(float)
        if known.notna().sum() > 1:
            told.append(f"{label}: {table['run'].iloc[int(known.argmin())]}")
    if told:
        st.text(" · ".join(told))
