"""The tables: runs at a glance, and runs side by side. Cells are plain text, so nothing a log says is interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import streamlit as st

from dashboard import summary
from dashboard.charts import floats, thin
from dashboard.language import mark, t
from dashboard.load import Entry
from dashboard.localised import seconds, share, signed, signed_share
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
    table = _arrow([_run_row(entry, analysis, zone) for entry, analysis in pairs])
    config: dict[str, Any] = {
        "state": st.column_config.TextColumn(t("State"), width="small"),
        "run": st.column_config.TextColumn(t("Run"), width="medium"),
        "done": st.column_config.ProgressColumn(t("Done"), format="percent", min_value=0.0, max_value=1.0, width="small"),
        "finish": t("Finish"),
        "step": st.column_config.TextColumn(t("Step now"), width="small", alignment="right"),
        "steps": st.column_config.LineChartColumn(t("Step time"), width="small", help=t("seconds of each step, over the run")),
        "sampling": st.column_config.TextColumn(t("Sampling"), width="small", alignment="right"),
        "answers": st.column_config.TextColumn(t("Answers"), width="small", alignment="right", help=t("mean response length, tokens")),
        "cost": t("Cost"),
    }  # fmt: skip
    chosen = st.dataframe(
        table, hide_index=True, column_config=config, on_select="rerun", selection_mode=["single-row", "single-cell"], key="runs_table", placeholder="—",
        alt=t("One line a run: state, progress, finish time, step time, sampling share, answers, cost."),
    )  # fmt: skip
    picked = [*chosen.selection.rows, *(row for row, _ in chosen.selection.cells)]
    return pairs[picked[0]][0].key if picked and picked[0] < len(pairs) else None


def finish_line(analysis: Analysis, zone: tzinfo | None) -> str:
    """The finish of a run in one line."""
    finish = summary.finish(analysis, zone)
    value = t("needs {time}", time=finish.value) if finish.title == t("Still needs") else finish.value
    return " · ".join((value, *finish.under[:1]))


def _run_row(entry: Entry, analysis: Analysis, zone: tzinfo | None) -> dict[str, Any]:
    done, total = analysis.clock.position, analysis.projection.total_steps
    return {
        "state": t(STATES[analysis.state]),
        "run": entry.label,
        "done": round(min(1.0, done / total), 2) if done is not None and total else None,
        "finish": finish_line(analysis, zone),
        "step": seconds(analysis.clock.step_s),
        "steps": spark(analysis.clock.steps, "wall_s"),
        "sampling": share(analysis.breakdown.sampling_share),
        "answers": units.show_number(analysis.growth.last),
        "cost": summary.cost(analysis).value,
    }


def side_by_side(comparison: Comparison) -> None:
    """Runs side by side, with their difference from the first; the best of each column is named under the table."""
    first = next(comparison.table.iter_rows(named=True))
    rows = []
    for row, analysis in zip(comparison.table.iter_rows(named=True), comparison.analyses, strict=True):
        cost = report.cost(analysis)
        rows.append(
            {
                **{name: row[name] for name in _PLAIN},
                "against": _against(row["step_s"], first["step_s"], row["run"] == first["run"]),
                "sampling": None if row["sampling_share"] is None else 100 * row["sampling_share"],
                "hours": None if cost is None else cost.gpu_hours,
                "total": seconds(row["total_s"] if row["total_s"] is not None else row["elapsed_s"]),
                "times": spark(analysis.clock.steps, "wall_s"),
                "lengths": spark(analysis.run.steps, "len_mean"),
                "rewards": spark(analysis.run.steps, "reward"),
            }
        )
    known = [name for name in _columns() if any(row[name] not in (None, []) for row in rows)]
    if len({row["framework"] for row in rows}) == 1 and "framework" in known:
        known.remove("framework")
    st.dataframe(
        _arrow([{name: row[name] for name in known} for row in rows]), hide_index=True, column_config=_columns(),
        placeholder="—", height="content", alt=t("Runs side by side."),
    )  # fmt: skip
    _name_best(rows)


def _arrow(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as the table that Streamlit sends as it is; a pandas frame would cost the first page its import."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))
    table = frame.to_arrow()
    plain = {pa.large_string(): pa.string(), pa.large_list(pa.float64()): pa.list_(pa.float64())}
    return table.cast(pa.schema([(each.name, plain.get(each.type, each.type)) for each in table.schema]))


def _against(own: float | None, first: float | None, same: bool) -> str | None:
    if same or own is None or not first:
        return None
    return f"{signed(own - first)} ({signed_share(own / first - 1)})"


_PLAIN: Final = (
    "run", "framework", "steps", "now_s", "step_s", "s_per_1k_tokens", "s_per_sample", "steps_per_hour", "tokens_per_hour",
    "len_last",
)  # fmt: skip


def _columns() -> dict[str, Any]:
    number, text, line = st.column_config.NumberColumn, st.column_config.TextColumn, st.column_config.LineChartColumn
    return {
        "run": text(t("Run"), pinned=True, width=190),
        "framework": text(t("Framework"), width=100),
        "steps": number(t("Steps"), format="localized", width=70),
        "step_s": number(t("Step, s"), format="%.2f", width=70, help=t("whole step: evaluation and checkpoints spread over all steps")),
        "against": text(t("Against the first"), width=130, alignment="right", help=t("whole step, against that of the first run")),
        "now_s": number(t("Now, s"), format="%.2f", width=70, help=t("an ordinary step now")),
        "s_per_1k_tokens": number(t("s / 1k tokens"), format="%.3f", width=100, help=t("seconds of a step per 1,000 answer tokens")),
        "s_per_sample": number(t("s / answer"), format="%.3f", width=85, help=t("seconds per answer")),
        "steps_per_hour": number(t("Steps / h"), format="%.0f", width=80),
        "tokens_per_hour": number(t("Tokens / h"), format="compact", width=85, help=t("answer tokens")),
        "sampling": number(t("Sampling, %"), format="%.0f", width=90),
        "len_last": number(t("Answers"), format="%.0f", width=80, help=t("mean response length late in the run, tokens")),
        "hours": number(t("GPU-hours"), format="%.2f", width=85),
        "total": text(t("Whole run"), alignment="right", width=90),
        "times": line(t("Step time"), width=90),
        "lengths": line(t("Answer length"), width=105),
        "rewards": line(t("Reward"), width=90),
    }  # fmt: skip


_BEST: Final = {
    "step_s": mark("shortest step"),
    "s_per_1k_tokens": mark("fewest seconds per 1,000 tokens"),
    "hours": mark("fewest GPU-hours"),
}


def _name_best(rows: Sequence[dict[str, Any]]) -> None:
    told = []
    for column, label in _BEST.items():
        known = [(row[column], row["run"]) for row in rows if row[column] is not None]
        if len(known) > 1:
            told.append(f"{t(label)}: {min(known)[1]}")
    if told:
        st.text(" · ".join(told))
