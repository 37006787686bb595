"""When a run ends: elapsed time, the projection with its intervals, what would have been said earlier. No Streamlit here."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dashboard.charts import add_band, add_line, blank, floats, highest, time_scale
from dashboard.language import t
from dashboard.localised import share
from dashboard.theme import theme
from timeledger.results import Analysis


def fan(analysis: Analysis, dark: bool) -> go.Figure | None:
    """Elapsed time over steps: what was, then the projection with its intervals, the worst case, and earlier projections."""
    projection, inks = analysis.projection, theme(dark)
    past = analysis.clock.steps.select("step", "end_s").drop_nulls()
    ahead = projection.fan
    if past.is_empty():
        return None
    longest = max(
        highest(past["end_s"]), *(highest(ahead[name]) for name in ("high95", "worst", "high") if ahead.height), 0
    )
    scale, unit = time_scale(longest)
    figure = blank(dark, height=340, y=t("elapsed, {unit}", unit=unit))
    x = floats(ahead["step"])
    level = share(projection.level)
    for low, high, colour, label in (
        ("low95", "high95", inks.band_wide, t("{level} interval", level=share(0.95))),
        ("low", "high", inks.band, t("{level} interval", level=level)),
    ):
        add_band(figure, x, floats(ahead[low]) / scale, floats(ahead[high]) / scale, colour, label)
    add_line(figure, past["step"], floats(past["end_s"]) / scale, t("so far"), inks.ink, unit)
    if ahead.height and not projection.too_early:
        add_line(
            figure, ahead["step"], floats(ahead["elapsed_s"]) / scale, t("most likely"), inks.accent, unit, dash="dash"
        )
    if ahead.height and ahead["worst"].count():
        add_line(
            figure,
            ahead["step"],
            floats(ahead["worst"]) / scale,
            t("all answers at the limit"),
            inks.alarm,
            unit,
            dash="dot",
        )
    _ghosts(figure, analysis, scale, unit, dark)
    told = max((each.total_s.high for each in projection.backtest), default=0.0)
    figure.update_layout(yaxis={"range": [0, 1.05 * max(longest, min(1.8 * longest, told)) / scale]})
    return figure


def _ghosts(figure: go.Figure, analysis: Analysis, scale: float, unit: str, dark: bool) -> None:
    """What it would have said of the total at earlier points: a dot with its interval at each."""
    told = analysis.projection.backtest
    if not told:
        return
    middle = np.array([each.total_s.mid for each in told]) / scale
    up = np.array([each.total_s.high for each in told]) / scale - middle
    down = middle - np.array([each.total_s.low for each in told]) / scale
    figure.add_trace(
        go.Scatter(
            x=[each.step for each in told],
            y=middle,
            mode="markers",
            name=t("total, as told then"),
            marker={"symbol": "diamond-open", "size": 8, "color": theme(dark).soft},
            error_y={"type": "data", "array": up, "arrayminus": down, "thickness": 1, "width": 4},
            hovertemplate=f"%{{y:.2f}} {unit}",
        )
    )
