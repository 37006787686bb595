"""Small multiples on one shared axis: what tells whether a run learns, and what its inference engine did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from dashboard.charts import blank, broken, floats, see_through, small, thin
from dashboard.language import mark, t
from dashboard.terms import meaning
from dashboard.theme import Theme, theme

_ROW: Final = 98


@dataclass(frozen=True, slots=True)
class Sign:
    """A quantity of the health panel: its column, its name on the page, a line to read it against, and how to log it."""

    column: str
    label: str
    healthy: float | None
    how: str


SIGNS: Final = (
    Sign("reward", mark("reward"), None, mark("every trainer logs it; keep the metric lines in the log")),
    Sign("acc", mark("accuracy"), None, mark("log the share of right answers as `acc`, or give an accuracy reward its own name")),
    Sign("reward_std", mark("reward spread (std)"), None, mark("TRL logs it as `reward_std`")),
    Sign("adv_std", mark("advantage spread (std)"), None, mark("print the advantages' standard deviation as `adv_std`")),
    Sign("ratio", mark("policy ratio (near 1)"), 1.0, mark("print the mean importance ratio as `ratio`")),
    Sign("zero_std", mark("zero-signal groups"), None, mark("TRL logs `frac_reward_zero_std`; else print the share of groups without spread")),
    Sign("kl", "KL", None, mark("logged when beta is above 0")),
    Sign("entropy", mark("entropy"), None, mark("TRL 0.19 and later and verl log it")),
)  # fmt: skip


def present(steps: pl.DataFrame) -> list[Sign]:
    """The signs this run logs."""
    return [sign for sign in SIGNS if steps[sign.column].count()]


def absent(steps: pl.DataFrame) -> list[Sign]:
    """The signs it does not log."""
    return [sign for sign in SIGNS if not steps[sign.column].count()]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a panel; a `faint` one is not named on hover."""

    x: Any
    values: pl.Series
    name: str
    faint: bool = False
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class Panel:
    """One small chart: its label, its lines, a level to read it against."""

    label: str
    lines: tuple[Line, ...]
    level: float | None = None


def health(steps: pl.DataFrame, dark: bool) -> go.Figure | None:
    """One small chart a sign: values faint, their running median strong."""
    panels = []
    for sign in present(steps):
        rows = steps.select("step", sign.column).drop_nulls()
        values, x = rows[sign.column], rows["step"].to_numpy()
        smooth = values.rolling_median(max(1, min(25, rows.height // 8)), min_samples=1, center=True)
        label = t(sign.label)
        panels.append(Panel(label, (Line(x, values, label, True), Line(x, smooth, label)), sign.healthy))
    return stacked(panels, t("step"), dark)


def engine(samples: pl.DataFrame, dark: bool) -> go.Figure | None:
    """What the inference engine did over time: throughput, requests, KV cache; None without at least two samples."""
    samples = samples.filter(pl.col("kind").is_in(["log", "metrics"]))
    if samples.height < 2:
        return None
    timed = samples["at"].null_count() == 0
    x = samples["at"].to_numpy() if timed else samples["line"].to_numpy()
    wanted = (
        (t("generated, tok/s"), (("gen_tok_s", t("generated"), "solid"),)),
        (
            t("requests: running (line), waiting (dotted)"),
            (("running", t("running"), "solid"), ("waiting", t("waiting"), "dot")),
        ),
        (t("KV cache used, %"), (("kv_cache", t("KV cache"), "solid"),)),
        (t("preemptions"), (("preemptions", t("preemptions"), "solid"),)),
    )
    panels = []
    for label, columns in wanted:
        lines = [
            Line(x, samples[name] * (100 if name == "kv_cache" else 1), shown, dash=dash)
            for name, shown, dash in columns
            if samples[name].count()
        ]
        if lines:
            panels.append(Panel(label, tuple(lines)))
    return stacked(panels, "" if timed else t("line of the log"), dark)


def stacked(panels: Sequence[Panel], x: str, dark: bool) -> go.Figure | None:
    """Panels one above the other on one axis."""
    if not panels:
        return None
    inks = theme(dark)
    figure = blank(dark, height=56 + _ROW * len(panels), legend=False, x=x)
    room = 1 / len(panels)
    for row, panel in enumerate(panels):
        axis, top = "y" if row == 0 else f"y{row + 1}", 1 - row * room
        for line in panel.lines:
            figure.add_trace(_trace(line, axis, inks))
        figure.update_layout({f"yaxis{axis[1:]}": _axis(top - room * 0.82, top - room * 0.22, inks)})
        label = {"text": panel.label, "hovertext": meaning(panel.label), "showarrow": False}
        figure.add_annotation(
            xref="paper",
            yref="paper",
            x=0,
            y=top,
            xanchor="left",
            yanchor="top",
            font={"size": 12, "color": inks.ink},
            **label,
        )
        if panel.level is not None:
            dotted = {"color": inks.soft, "dash": "dot", "width": 1}
            ends = {"x0": 0, "x1": 1, "y0": panel.level, "y1": panel.level}
            figure.add_shape(type="line", xref="paper", yref=axis, line=dotted, **ends)
    figure.update_layout(xaxis={"anchor": f"y{len(panels)}" if len(panels) > 1 else "y"}, margin={"t": 4})
    return figure


def _trace(line: Line, axis: str, inks: Theme) -> go.Scatter:
    shown = floats(line.values)
    kept = thin(len(shown), shown, limit=1000)
    x, y = broken(np.asarray(line.x)[kept], shown[kept])
    return go.Scatter(
        x=small(x),
        y=small(y),
        yaxis=axis,
        mode="lines+markers" if len(shown) < 3 else "lines",
        name=line.name,
        line={
            "color": see_through(inks.accent, 0.4) if line.faint else inks.accent,
            "width": 1 if line.faint else 2,
            "dash": line.dash,
        },
        hovertemplate=None if line.faint else "%{y:,.4~r}",
        hoverinfo="skip" if line.faint else None,
    )


def _axis(bottom: float, top: float, inks: Theme) -> dict[str, Any]:
    return {
        "domain": [bottom, top],
        "nticks": 3,
        "rangemode": "normal",
        "gridcolor": inks.grid,
        "zeroline": False,
        "automargin": True,
        "separatethousands": True,
        "exponentformat": "none",
        "title": {"text": ""},
        "tickfont": {"size": 11, "color": inks.soft},
    }
