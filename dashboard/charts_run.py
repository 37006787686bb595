"""The charts of one run: where steps' time goes, when it ends, what a step costs, how long answers are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from dashboard.charts import (
    Floats,
    add_band,
    add_line,
    blank,
    crown,
    filled,
    floats,
    highest,
    lowest,
    plain,
    see_through,
    small,
    thin,
)
from dashboard.language import mark, t
from dashboard.localised import phase, seconds
from dashboard.theme import theme
from timeledger.palette import look, place
from timeledger.results import Analysis, Growth, Timing

#: What the profile can be divided by.
UNITS: Final = (mark("seconds"), mark("share of a step"), mark("seconds per 1,000 tokens"))
#: Phases that do not split a step's own work.
_BESIDE: Final = frozenset({"unexplained", "other", "evaluation", "checkpoint", "wait"})
#: From this many steps on a line shows more than bars.
_ENOUGH: Final = 12
#: Up to this many steps each gets a bar of its own; beyond, areas.
_BARS: Final = 80
#: So many of the steps beyond the end of the axis are told.
_TOLD: Final = 3
#: Symbols of the strip under the profile: shape tells them apart, not colour.
_MARKS: Final = {
    "evaluation": (mark("Evaluation"), "triangle-up"),
    "checkpoint": (mark("Checkpoint"), "square"),
    "restart": (mark("Restart"), "x-thin-open"),
    "pause": (mark("Pause"), "line-ns-open"),
}
_EVENT_MARK: Final = {"resume": "restart", "restart": "restart", "evaluation": "evaluation", "checkpoint": "checkpoint"}


def tokens_per_step(analysis: Analysis) -> pl.DataFrame:
    """(step, tokens): answer tokens of each step where lengths and sequences are known, else all tokens; may be empty."""
    answers = pl.col("len_mean") * pl.col("sequences")
    return (
        analysis.run.steps.select("step", tokens=pl.coalesce(answers, pl.col("tokens")))
        .filter(pl.col("tokens") > 0)
        .unique("step", keep="last")
    )


def profile_table(analysis: Analysis, unit: str) -> pl.DataFrame:
    """Wide: one row a step, one column a phase, in `unit`; empty where the log cannot tell."""
    long = analysis.breakdown.by_step
    if long.is_empty():
        return long
    wide = long.pivot(on="phase", index="step", values="seconds", aggregate_function="sum").sort("step")
    names = sorted((name for name in wide.columns if name != "step"), key=place)
    wide = wide.select("step", *names)
    if unit == UNITS[1]:
        whole = pl.sum_horizontal(pl.col(names).fill_null(0))
        return wide.with_columns(pl.col(names) / whole * 100).filter(pl.sum_horizontal(names) > 0)
    if unit == UNITS[2]:
        tokens = tokens_per_step(analysis)
        return (
            wide.join(tokens, on="step", how="inner")
            .with_columns(pl.col(names) / (pl.col("tokens") / 1000))
            .drop("tokens")
            .sort("step")
        )
    return wide


def marks(analysis: Analysis) -> pl.DataFrame:
    """(step, mark): evaluations, checkpoints, restarts and pauses to be marked under the profile."""
    seen = analysis.run.events.filter(pl.col("step").is_not_null()).select(
        "step", mark=pl.col("kind").replace_strict(_EVENT_MARK, default=None, return_dtype=pl.String)
    )
    rows = analysis.clock.steps.select("step", mark=pl.col("kind"))
    return pl.concat([seen, rows]).filter(pl.col("mark").is_in(list(_MARKS))).unique().sort("step")


def is_split(analysis: Analysis) -> bool:
    """Does the log (or the fit) tell at least one kind of a step's work from the rest?"""
    return not set(analysis.breakdown.by_step["phase"].unique()) <= _BESIDE


def step_times(analysis: Analysis, dark: bool) -> go.Figure | None:
    """How long each step takes, for a log that does not split it: every step faint, their running median strong."""
    rows = analysis.clock.steps.select("step", "wall_s").drop_nulls().unique("step", keep="last").sort("step")
    if rows.is_empty():
        return None
    inks, x, values = theme(dark), rows["step"], rows["wall_s"]
    figure = blank(dark, height=300, y=t("seconds of a step"))
    if rows.height >= _ENOUGH:
        add_line(figure, x, floats(values), t("each step"), see_through(inks.accent, 0.45), "s")
        figure.update_traces(line_width=1)
        smooth = values.rolling_median(max(3, min(25, rows.height // 8)), min_samples=1, center=True)
        add_line(figure, x, floats(smooth), t("running median"), inks.accent, "s")
        figure.update_xaxes(range=[lowest(x), highest(x)])
    else:
        hover = "%{y:,.3~r} s"
        figure.add_trace(go.Bar(x=x, y=values, name=t("each step"), marker={"color": inks.accent}, hovertemplate=hover))
        figure.update_layout(bargap=0.3)
    figure.add_trace(_clickable(x, values))
    _with_marks(figure, analysis, rows["step"], dark)
    _crop(figure, x, floats(values), dark)
    return figure


def profile(analysis: Analysis, unit: str, dark: bool) -> go.Figure | None:
    """Stacked seconds (or shares) of every step's phases, with events marked beneath; None where there is nothing to stack."""
    table = profile_table(analysis, unit)
    if table.is_empty():
        return None
    names = [name for name in table.columns if name != "step"]
    total = floats(table.select(pl.sum_horizontal(pl.col(names).fill_null(0))).to_series())
    table = table[thin(table.height, total, limit=1500)]
    suffix = {"seconds": " s", "share of a step": " %"}.get(unit, " s")
    figure = blank(dark, height=390, y=t("% of a step") if unit == UNITS[1] else t(unit))
    for name in names:
        figure.add_trace(_layer(table, name, dark, suffix))
    if table.height > _BARS:
        figure.add_trace(
            _clickable(table["step"], table.select(pl.sum_horizontal(pl.col(names).fill_null(0))).to_series())
        )
        figure.update_xaxes(range=[lowest(table["step"]), highest(table["step"])])
    figure.update_layout(barmode="stack", bargap=0.12, legend={"traceorder": "normal"})
    _with_marks(figure, analysis, table["step"], dark, set(names))
    if unit == UNITS[1]:
        figure.update_layout(yaxis_range=[0, 100])
    else:
        _crop(
            figure, table["step"], floats(table.select(pl.sum_horizontal(pl.col(names).fill_null(0))).to_series()), dark
        )
    return figure


def _crop(figure: go.Figure, steps: pl.Series, tops: Floats, dark: bool) -> None:
    """End the value axis where a few huge steps would flatten all others, and write what those took at the edge."""
    top = crown(tops)
    if top is None:
        return
    figure.update_layout(yaxis_range=[0, top])
    beyond = np.flatnonzero(tops > top)
    largest = beyond[np.argsort(tops[beyond])[::-1][:_TOLD]]
    middle = (lowest(steps) + highest(steps)) / 2
    for at in largest:
        step = float(steps[int(at)])
        figure.add_annotation(
            x=step, y=1, yref="y domain", yanchor="top", xanchor="right" if step > middle else "left", showarrow=False,
            xshift=-5 if step > middle else 5,
            text="↑ " + seconds(float(tops[at])), font={"size": 12, "color": theme(dark).soft},
        )  # fmt: skip


def _layer(table: pl.DataFrame, name: str, dark: bool, suffix: str) -> go.Bar | go.Scatter:
    shown = look(name)
    colour, values = shown.colour(dark), floats(table[name])
    common: dict[str, Any] = {
        "x": small(table["step"].to_numpy()),
        "name": plain(phase(name), 40),
        "hovertemplate": "%{y:,.3~r}" + suffix,
    }
    outlined = name == "unexplained"
    if table.height <= _BARS:
        return go.Bar(y=small(values), marker=filled(colour, shown.hatch, outlined=outlined), **common)
    pattern = {
        "shape": shown.hatch,
        "fgcolor": colour,
        "bgcolor": see_through(colour, 0.25),
        "size": 6,
        "solidity": 0.4,
    }
    fill: dict[str, Any] = {"fillcolor": see_through(colour, 0.1 if outlined else 0.85)}
    if shown.hatch:
        fill |= {"fillpattern": pattern}
    # Flat over a step's own width: a slope between two steps would show time that nobody spent.
    line = {"width": 1 if outlined else 0, "color": colour, "shape": "hvh"}
    return go.Scatter(y=small(np.nan_to_num(values)), mode="lines", stackgroup="step", line=line, **fill, **common)


def _clickable(steps: pl.Series, top: pl.Series) -> go.Scatter:
    """Points that cannot be seen: a click takes the nearest point of the last trace, and areas and lines have none."""
    kept = thin(len(steps), floats(top))
    marker = {"size": 5, "opacity": 0.0, "color": "rgba(0,0,0,0)"}
    return go.Scatter(
        x=small(steps.to_numpy()[kept]),
        y=small(floats(top)[kept]),
        mode="markers",
        marker=marker,
        showlegend=False,
        hoverinfo="none",
    )


def _with_marks(
    figure: go.Figure, analysis: Analysis, steps: pl.Series, dark: bool, named: Collection[str] = ()
) -> None:
    """Events marked in a strip under the plot; those `named` as a layer already need no legend of their own."""
    events, inks = marks(analysis).filter(pl.col("step").is_between(lowest(steps), highest(steps))), theme(dark)
    for row, (kind, (name, symbol)) in enumerate(_MARKS.items()):
        at = events.filter(pl.col("mark") == kind)["step"].to_numpy()
        if not len(at):
            continue
        at = at[thin(len(at), at.astype(float), limit=400)]
        marker = {"symbol": symbol, "size": 8, "color": inks.ink, "line": {"width": 1.5, "color": inks.ink}}
        figure.add_trace(
            go.Scatter(
                x=at,
                y=np.full(len(at), 3.5 - row),
                yaxis="y2",
                mode="markers",
                name=t(name),
                marker=marker,
                showlegend=kind not in named,
                hovertemplate=t("step {step}", step="%{x}"),
            )
        )
    if highest(steps) - lowest(steps) <= _ENOUGH:
        figure.update_xaxes(dtick=1)
    if events.height:
        strip = {"domain": [0, 0.07], "range": [-0.5, 4.5], "visible": False, "fixedrange": True}
        figure.update_layout(yaxis={"domain": [0.08, 1]}, yaxis2=strip, xaxis={"anchor": "y2"})


def step_cost(timing: Timing, dark: bool) -> go.Figure | None:
    """Step time against the length that drives it, with the fitted line down to its fixed part."""
    points = timing.points.drop_nulls(["x", "wall_s"])
    if points.is_empty():
        return None
    inks = theme(dark)
    words = {"max": t("longest answer, tokens"), "tokens": t("tokens of the step")}
    figure = blank(
        dark, height=340, x=words.get(timing.driver, t("mean answer length, tokens")), y=t("seconds of a step")
    )
    kept = points[thin(points.height, floats(points["wall_s"]))]
    figure.add_trace(
        go.Scatter(
            x=small(floats(kept["x"])),
            y=small(floats(kept["wall_s"])),
            mode="markers",
            name=t("a step"),
            customdata=small(kept["step"].to_numpy()),
            marker={"color": inks.accent, "size": 6, "opacity": 0.55},
            hovertemplate=t(
                "step {step}: {tokens} tokens, {time}",
                step="%{customdata}",
                tokens="%{x:,.0f}",
                time=t("{number} s", number="%{y:.1f}"),
            )
            + "<extra></extra>",
        )
    )
    line = points.drop_nulls("fitted_s").sort("x")
    if line.height and timing.driver != "none":
        ends = line[[0, line.height - 1]]
        x, y = floats(ends["x"]), floats(ends["fitted_s"])
        if timing.fixed_s is not None:
            x, y = np.append(0.0, x), np.append(timing.fixed_s.mid, y)
        name = t("fitted")
        if timing.fixed_s is not None:
            name = t("fitted; fixed part {time}", time=seconds(timing.fixed_s.mid))
        style = {"color": inks.ink, "width": 2}
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines", name=name, line=style, hoverinfo="skip"))
    from_zero = timing.driver != "none" and timing.fixed_s is not None
    figure.update_layout(hovermode="closest", xaxis={"rangemode": "tozero" if from_zero else "normal"})
    return figure


def lengths(steps: pl.DataFrame, growth: Growth, dark: bool) -> go.Figure | None:
    """Mean and longest answer over steps, the forecast and the limit; the truncated share on its own small axis."""
    known = [name for name in ("len_mean", "len_max") if steps[name].count()]
    if not known:
        return None
    inks = theme(dark)
    figure = blank(dark, height=340, y=t("tokens"))
    ahead = growth.forecast
    if ahead.height:
        x = floats(ahead["step"])
        add_band(figure, x, floats(ahead["low"]), floats(ahead["high"]), inks.band_wide, t("forecast interval"))
        add_line(figure, ahead["step"], floats(ahead["mid"]), t("forecast"), inks.accent, t("tokens"), dash="dash")
    for name, label, colour in (("len_max", t("longest"), inks.soft), ("len_mean", t("mean"), inks.accent)):
        if name in known:
            rows = steps.select("step", name).drop_nulls()
            add_line(figure, rows["step"], floats(rows[name]), label, colour, t("tokens"))
    if growth.limit is not None:
        figure.add_hline(y=growth.limit, line={"color": inks.alarm, "dash": "dot", "width": 1.5})
        text = t("limit {limit}", limit=f"{growth.limit:,.0f}")
        figure.add_annotation(xref="paper", x=0, y=growth.limit, text=text, showarrow=False, yshift=9, xanchor="left")
    cut = steps.select("step", "truncated").drop_nulls()
    if cut.height:
        kept = cut[thin(cut.height, floats(cut["truncated"]))]
        bars = go.Bar(
            x=small(kept["step"].to_numpy()),
            y=small(floats(kept["truncated"]) * 100),
            yaxis="y2",
            name=t("cut at the limit, %"),
            marker={"color": see_through(inks.alarm if not dark else "#F4A261", 0.6), "line": {"width": 0}},
            hovertemplate="%{y:.1f} %",
        )
        figure.add_trace(bars)
        top = max(5.0, highest(cut["truncated"]) * 100)
        fine = {"size": 10, "color": inks.soft}
        figure.update_layout(
            xaxis={"anchor": "y2"},
            yaxis={"domain": [0.24, 1]},
            yaxis2={
                "domain": [0, 0.16],
                "range": [0, top],
                "nticks": 3,
                "ticksuffix": " %",
                "tickfont": fine,
                "gridcolor": inks.grid,
            },
        )
    return figure
