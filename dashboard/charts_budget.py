"""The staircase of cuts down to the time there is. No Streamlit here."""

from __future__ import annotations

import plotly.graph_objects as go

from dashboard.charts import blank, plain, reads_on, see_through, time_scale
from dashboard.language import mark, t
from dashboard.localised import seconds
from dashboard.theme import theme
from timeledger import units
from timeledger.budget import Budget

_NAMES = {
    "steps": mark("fewer steps"), "data": mark("fewer questions"), "max_tokens": mark("tighter limit"), "group_size": mark("smaller group"),
    "eval_questions": mark("fewer evaluation questions"),
}  # fmt: skip


def staircase(found: Budget, dark: bool) -> go.Figure:
    """One bar for the plan and one after each cut, read from top to bottom, with what was cut away faint, and the line of the time there is."""
    inks, have_s = theme(dark), found.hours * units.HOUR
    scale, unit = time_scale(max(found.before_s, have_s))
    names, left, cut = [t("as planned")], [found.before_s], [0.0]
    for each in found.cuts:
        names.append(f"{t(_NAMES[each.what])}{t(': ')}{each.before:,} → {each.after:,}")
        left.append(left[-1] - each.saves_s)
        cut.append(each.saves_s)
    figure = blank(dark, height=130 + 46 * len(names), x=unit, legend=False)
    rows = [plain(name, 48) for name in names]
    kept, gone = [seconds(value) for value in left], [f"−{seconds(value)}" if value else "" for value in cut]
    for values, colour, ink, text in (
        (left, inks.whole, reads_on(inks.whole), kept),
        (cut, see_through(inks.whole, 0.22), inks.ink, gone),
    ):
        figure.add_trace(
            go.Bar(
                y=rows, x=[value / scale for value in values], orientation="h", marker={"color": colour, "line": {"width": 0}},
                text=text, textposition="inside", insidetextanchor="end", insidetextfont={"color": ink}, textangle=0, hoverinfo="skip",
            )
        )  # fmt: skip
    figure.add_vline(x=have_s / scale, line={"color": inks.alarm, "dash": "dash", "width": 2})
    note = t("{time} available", time=seconds(have_s))
    figure.add_annotation(
        x=have_s / scale,
        yref="paper",
        y=1,
        text=note,
        showarrow=False,
        yanchor="bottom",
        font={"color": inks.alarm, "size": 12},
    )
    figure.update_layout(
        barmode="stack", bargap=0.3, margin={"t": 30}, xaxis={"showgrid": True, "gridcolor": inks.grid, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "showgrid": False, "tickfont": {"size": 12, "color": inks.ink}}, uniformtext={"minsize": 10, "mode": "hide"},
    )  # fmt: skip
    return figure
