"""Charts of several runs: profiles side by side, the ledger of a difference, curves on one axis; and of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from dashboard.charts import blank, filled, floats, plain, thin
from dashboard.theme import theme
from timeledger import units, words
from timeledger.compare import Comparison
from timeledger.palette import look, place
from timeledger.plan import Estimate
from timeledger.results import Analysis

#: What profiles can be divided by -> (column of `Comparison.profiles`, axis, factor, unit).
PER: Final = {
    "per step": ("seconds", "seconds of a step", 1.0, " s"),
    "per 1,000 tokens": ("per_1k_tokens", "seconds per 1,000 answer tokens", 1.0, " s"),
    "per sample": ("per_sample", "seconds per answer", 1.0, " s"),
    "share of a step": ("share", "% of a step", 100.0, " %"),
}
#: Curves: column -> label.
CURVES: Final = {
    "wall_s": "step time, s",
    "len_mean": "answer length, tokens",
    "reward": "reward",
    "acc": "accuracy",
    "truncated": "share cut at the limit",
    "entropy": "entropy",
    "kl": "KL",
}
#: What curves can run over -> axis label.
OVER: Final = {"step": "step", "tokens": "answer tokens made so far", "active_h": "active hours"}
_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")


def profiles(comparison: Comparison, per: str, dark: bool) -> go.Figure | None:
    """One stacked bar a run: its mean step, split into phases. A run whose log splits nothing gets one outlined bar."""
    column, axis, factor, unit = PER[per]
    told = comparison.profiles.drop_nulls(column)
    whole = {"seconds": "step_s", "per_1k_tokens": "s_per_1k_tokens", "per_sample": "s_per_sample"}.get(column)
    undivided = comparison.table.filter(~pl.col("run").is_in(told["run"].implode()))
    rows = [
        (each["run"], "not split", each[whole])
        for each in undivided.iter_rows(named=True)
        if whole and each[whole] is not None
    ]
    rows += told.select("run", "phase", pl.col(column) * factor).rows()
    if not rows:
        return None
    runs = [name for name in comparison.table["run"] if any(row[0] == name for row in rows)]
    phases = sorted({row[1] for row in rows}, key=place)
    figure = blank(dark, height=110 + 44 * len(runs) + 8 * len(phases), x=axis)
    for phase in phases:
        style, values = look(phase), {row[0]: row[2] for row in rows if row[1] == phase}
        figure.add_trace(
            go.Bar(
                y=[plain(name, 34) for name in runs],
                x=[values.get(name) for name in runs],
                name=plain(style.label, 40),
                orientation="h",
                marker=filled(style.colour(dark), style.hatch, outlined=phase in {"unexplained", "not split"}),
                hovertemplate="%{x:,.3~r}" + unit,
            )
        )
    figure.update_layout(
        barmode="stack", bargap=0.35, legend={"traceorder": "normal"}, hovermode="y unified",
        yaxis={"autorange": "reversed", "showgrid": False}, xaxis={"showgrid": True, "gridcolor": theme(dark).grid},
    )  # fmt: skip
    return figure


def waterfall(start: str, end: str, step_a: float, parts: Sequence[tuple[str, float]], dark: bool) -> go.Figure:
    """From a step of one run to a step of another: bars that add up, read from top to bottom."""
    inks = theme(dark)
    names = [plain(start, 24), *(plain(name, 28) for name, _ in parts), plain(end, 24)]
    if names[0] == names[-1]:
        names[-1] += " "
    ends = np.cumsum([step_a, *(seconds for _, seconds in parts)])
    text = [units.show_seconds(step_a), *(words.signed_seconds(seconds) for _, seconds in parts)]
    text.append(units.show_seconds(float(ends[-1])))
    right = [step_a, *np.maximum(ends[1:], ends[:-1]), float(ends[-1])]
    figure = blank(dark, height=90 + 34 * len(names), x="seconds of a step", legend=False)
    figure.add_trace(
        go.Waterfall(
            y=names,
            x=[step_a, *(seconds for _, seconds in parts), 0.0],
            orientation="h",
            measure=["absolute", *("relative" for _ in parts), "total"],
            connector={"line": {"color": inks.grid}},
            increasing={"marker": {"color": inks.alarm}},
            decreasing={"marker": {"color": inks.runs[8]}},
            totals={"marker": {"color": inks.accent}},
            hoverinfo="skip",
        )
    )
    labels = {
        "mode": "text",
        "text": [f" {each}" for each in text],
        "textposition": "middle right",
        "hoverinfo": "skip",
    }
    figure.add_trace(go.Scatter(x=right, y=names, textfont={"size": 12, "color": inks.ink}, cliponaxis=False, **labels))
    figure.update_layout(
        yaxis={"autorange": "reversed", "showgrid": False, "tickfont": {"size": 12, "color": inks.ink}},
        xaxis={"showgrid": True, "gridcolor": inks.grid, "range": [0, 1.2 * max(right)]},
        bargap=0.3,
    )
    return figure


def curves(comparison: Comparison, column: str, over: str, dark: bool) -> go.Figure | None:
    """One line a run; colour and dash tell runs apart."""
    inks = theme(dark)
    figure = blank(dark, height=340, x=OVER[over], y=CURVES[column])
    for at, analysis in enumerate(comparison.analyses):
        rows = _curve(comparison, analysis, column, over)
        if not rows.height:
            continue
        values = floats(rows[column])
        kept = thin(len(values), values, limit=1000)
        figure.add_trace(
            go.Scatter(
                x=floats(rows[over])[kept],
                y=values[kept],
                mode="lines+markers" if rows.height < 3 else "lines",
                name=plain(analysis.run.name, 34),
                line={
                    "color": inks.runs[at % len(inks.runs)],
                    "width": 1.8,
                    "dash": _DASHES[(at + at // len(inks.runs)) % len(_DASHES)],
                },
                hovertemplate="%{y:,.4~r}",
            )
        )
    figure.update_layout(yaxis={"rangemode": "normal"})
    return figure if figure.data else None


def _curve(comparison: Comparison, analysis: Analysis, column: str, over: str) -> pl.DataFrame:
    rows = comparison.curves.filter(pl.col("run") == analysis.run.name)
    if column not in rows.columns:
        logged = analysis.run.steps.select("step", column).unique("step", keep="last")
        rows = rows.join(logged, on="step", how="left", maintain_order="left")
    return rows.drop_nulls([column, over])


def drawable(comparison: Comparison) -> list[str]:
    """The curves that at least one run can draw."""
    return [
        name for name in CURVES if any(_curve(comparison, each, name, "step").height for each in comparison.analyses)
    ]


def plan_step(answer: Estimate, before: Estimate | None, dark: bool) -> go.Figure:
    """A planned step as one stacked bar, and above it the one it is compared with."""
    rows = [("as it was", before), ("this plan", answer)] if before is not None else [("this plan", answer)]
    figure = blank(dark, height=150 + 46 * (len(rows) - 1), x="seconds of a step")
    for name in sorted({part.phase for _, each in rows for part in each.parts}, key=place):
        style = look(name)
        values = [next((part.seconds for part in each.parts if part.phase == name), np.nan) for _, each in rows]
        text = [f"{each.share(name):.0%}".replace("%", " %") for _, each in rows]
        figure.add_trace(
            go.Bar(
                y=[label for label, _ in rows],
                x=values,
                name=style.label,
                orientation="h",
                text=text,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                marker=filled(style.colour(dark), style.hatch, outlined=False),
                hovertemplate="%{x:.2f} s",
            )
        )
    figure.update_layout(
        barmode="stack", bargap=0.3, legend={"traceorder": "normal"}, hovermode="y unified", yaxis={"showgrid": False},
        xaxis={"showgrid": True, "gridcolor": theme(dark).grid}, uniformtext={"minsize": 10, "mode": "hide"},
    )  # fmt: skip
    return figure
