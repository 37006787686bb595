"""The table of runs at a glance. Cells are plain text, so nothing a log says is interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import streamlit as st

from dashboard import summary
from dashboard.charts import crown, floats, thin
from dashboard.language import t
from dashboard.load import Entry
from dashboard.localised import seconds, share
from dashboard.parts import STATES
from timeledger import report, units
from timeledger.forecast import known_done
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
    top = crown(values)
    values = values if top is None else np.minimum(values, top)
    return [float(each) for each in values[thin(len(values), values, limit=_SPARK)]]


def runs(pairs: Sequence[tuple[Entry, Analysis]], zone: tzinfo | None) -> str | None:
    """One line a run; the key of the run that was clicked."""
    table = _arrow([_run_row(entry, analysis, zone) for entry, analysis in pairs])
    text, line = st.column_config.TextColumn, st.column_config.LineChartColumn
    config: dict[str, Any] = {
        "state": text(t("State"), width=95),
        "run": text(t("Run"), width=190),
        "done": st.column_config.ProgressColumn(t("Done"), format="percent", min_value=0.0, max_value=1.0, width=95),
        "finish": t("Finish"),
        "step": text(t("Step now"), width=85, alignment="right"),
        "steps": line(t("Step time"), width=95, help=t("seconds of each step, over the run")),
        "sampling": text(t("Sampling"), width=80, alignment="right"),
        "answers": text(t("Answers"), width=75, alignment="right", help=t("mean response length, tokens")),
        "cost": text(t("Cost"), width=140),
    }
    chosen = st.dataframe(
        table, hide_index=True, column_config=config, on_select="rerun", selection_mode="single-cell", key="runs_table", placeholder="—",
        height="content",
        alt=t("One line a run: state, progress, finish time, step time, sampling share, answers, cost."),
    )  # fmt: skip
    picked = [row for row, _ in chosen.selection.cells]
    return pairs[picked[0]][0].key if picked and picked[0] < len(pairs) else None


def finish_line(analysis: Analysis, zone: tzinfo | None) -> str:
    """The finish of a run in one line."""
    finish = summary.finish(analysis, zone)
    if finish.value == "—":
        return " · ".join(finish.under[:1])
    needs = finish.title in (t("Still needs"), t("Still needs, once it goes on"))
    value = t("needs {time}", time=finish.value) if needs else finish.value
    return " · ".join((value, *finish.under[:1]))


def _run_row(entry: Entry, analysis: Analysis, zone: tzinfo | None) -> dict[str, Any]:
    done, total = known_done(analysis.run, analysis.clock), analysis.projection.total_steps
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


def _arrow(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as the table that Streamlit sends as it is; a pandas frame would cost the first page its import."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame = frame.with_columns(pl.col(pl.Null).cast(pl.String))
    table = frame.to_arrow()
    plain = {pa.large_string(): pa.string(), pa.large_list(pa.float64()): pa.list_(pa.float64())}
    return table.cast(pa.schema([(each.name, plain.get(each.type, each.type)) for each in table.schema]))
