"""Charts of several runs: profiles side by side, the ledger of a difference, curves on one axis; and of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from dashboard.charts import blank, broken, distinct, filled, floats, plain, reads_on, small, thin
from dashboard.language import mark, t
from dashboard.localised import phase as phase_name
from dashboard.localised import seconds, share, signed
from dashboard.theme import theme
from timeledger.compare import Comparison
from timeledger.palette import look, place
from timeledger.plan import Estimate
from timeledger.results import Analysis

#: What profiles can be divided by -> (column of `profiled`, axis, factor, unit).
PER: Final = {
    mark("per step"): ("seconds", mark("seconds of a step"), 1.0, " s"),
    mark("per 1,000 tokens"): ("per_1k_tokens", mark("seconds per 1,000 answer tokens"), 1.0, " s"),
    mark("per sample"): ("per_sample", mark("seconds per answer"), 1.0, " s"),
    mark("per wall hour"): ("per_hour", mark("minutes of an hour, pauses and restarts included"), 1.0, " min"),
    mark("share of a step"): ("share", mark("% of a step"), 100.0, " %"),
}
#: Curves: column -> label.
CURVES: Final = {
    "wall_s": mark("step time, s"),
    "len_mean": mark("answer length, tokens"),
    "reward": mark("reward"),
    "acc": mark("accuracy"),
    "truncated": mark("share cut at the limit"),
    "entropy": mark("entropy"),
    "kl": "KL",
}
#: What curves can run over -> axis label.
OVER: Final = {"step": mark("step"), "tokens": mark("answer tokens made so far"), "active_h": mark("active hours")}
_LOST: Final = "lost time"
_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")


def profiled(comparison: Comparison) -> pl.DataFrame:
    """`Comparison.profiles` with `per_hour`: minutes of a wall hour, the time lost to pauses and restarts as a phase of its own."""
    lost = comparison.table.select(
        "run", lost=(pl.col("lost_s") / pl.col("elapsed_s")).fill_null(0.0).fill_nan(0.0).clip(0.0, 1.0)
    )
    spent = comparison.profiles.join(lost, on="run", how="left", maintain_order="left")
    spent = spent.with_columns(per_hour=60 * pl.col("share") * (1 - pl.col("lost"))).drop("lost")
    idle = lost.filter((pl.col("lost") > 0.001) & pl.col("run").is_in(comparison.profiles["run"].implode()))
    idle = idle.select("run", phase=pl.lit(_LOST), per_hour=60 * pl.col("lost"))
    return pl.concat([spent, idle], how="diagonal")


def profiles(comparison: Comparison, per: str, dark: bool) -> go.Figure | None:
    """One stacked bar a run: its mean step, split into phases. A run whose log splits nothing gets one outlined bar."""
    column, axis, factor, unit = PER[per]
    told = profiled(comparison).drop_nulls(column)
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
    short = [plain(name) for name in distinct(runs)]
    phases = sorted({row[1] for row in rows}, key=lambda name: (name == _LOST, place(name)))
    figure = blank(dark, height=110 + 44 * len(runs) + 8 * len(phases), x=t(axis))
    for phase in phases:
        style, values = look(phase), {row[0]: row[2] for row in rows if row[1] == phase}
        figure.add_trace(
            go.Bar(
                y=short,
                x=[values.get(name) for name in runs],
                name=plain(phase_name(phase), 40),
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
    first, last = distinct([start, end], 28)
    names = [plain(first), *(plain(name, 28) for name, _ in parts), plain(last)]
    ends = np.cumsum([step_a, *(cost for _, cost in parts)])
    text = [seconds(step_a), *(signed(cost) for _, cost in parts), seconds(float(ends[-1]))]
    right = [step_a, *np.maximum(ends[1:], ends[:-1]), float(ends[-1])]
    figure = blank(dark, height=90 + 34 * len(names), x=t("seconds of a step"), legend=False)
    figure.add_trace(
        go.Waterfall(
            y=names,
            x=[step_a, *(cost for _, cost in parts), 0.0],
            orientation="h",
            measure=["absolute", *("relative" for _ in parts), "total"],
            connector={"line": {"color": inks.grid}},
            increasing={"marker": {"color": inks.alarm}},
            decreasing={"marker": {"color": inks.less}},
            totals={"marker": {"color": inks.whole}},
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
    figure = blank(dark, height=340, x=t(OVER[over]), y=t(CURVES[column]))
    short = distinct([each.run.name for each in comparison.analyses])
    for at, analysis in enumerate(comparison.analyses):
        rows = _curve(comparison, analysis, column, over)
        if not rows.height:
            continue
        values = floats(rows[column])
        kept = thin(len(values), values, limit=1000)
        x, y = broken(floats(rows[over])[kept], values[kept])
        figure.add_trace(
            go.Scatter(
                x=small(x),
                y=small(y),
                mode="lines+markers" if rows.height < 3 else "lines",
                name=plain(short[at]),
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
    now = (t("this plan"), answer)
    return plan_steps([(t("as it was"), before), now] if before is not None else [now], dark)


def plan_steps(rows: Sequence[tuple[str, Estimate]], dark: bool) -> go.Figure:
    """Planned steps as stacked bars, one a label."""
    figure = blank(dark, height=150 + 46 * (len(rows) - 1), x=t("seconds of a step"))
    names = sorted({part.phase for _, each in rows for part in each.parts}, key=place)
    rest = "fixed overhead" if {"weight sync", "sleep/wake"} & set(names) else ""  # else it has their colour to itself
    for name in names:
        style = look(name)
        hatch = "\\" if name == rest else style.hatch
        values = [next((part.seconds for part in each.parts if part.phase == name), np.nan) for _, each in rows]
        figure.add_trace(
            go.Bar(
                y=[label for label, _ in rows],
                x=values,
                name=plain(phase_name(name)),
                orientation="h",
                text=None if hatch else [share(each.share(name)) for _, each in rows],
                textposition="inside",
                insidetextanchor="middle",
                insidetextfont={"color": reads_on(style.colour(dark))},
                textangle=0,
                marker=filled(style.colour(dark), hatch, outlined=False),
                hovertemplate=t("{number} s", number="%{x:.2f}"),
            )
        )
    figure.update_layout(
        barmode="stack", bargap=0.3, legend={"traceorder": "normal"}, hovermode="y unified", yaxis={"showgrid": False, "type": "category", "autorange": "reversed"},
        xaxis={"showgrid": True, "gridcolor": theme(dark).grid}, uniformtext={"minsize": 10, "mode": "hide"},
    )  # fmt: skip
    return figure
