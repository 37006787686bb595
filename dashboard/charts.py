"""What every chart shares: an empty figure in the page's inks, thinning that keeps extremes, a time axis. No Streamlit here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl
from numpy.typing import NDArray

from dashboard.language import mark, t
from dashboard.theme import FONT, theme
from timeledger import units

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
#: No series sends more points than this to the browser.
MAX_POINTS: Final = 2000
#: An axis is cut where the largest value is this many times the largest usual one, in a series of at least so many.
_HUGE: Final = 4.0
_FEW: Final = 8
#: How a figure behaves in the page.
CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2, "filename": "timeledger"},
}


def floats(values: pl.Series) -> Floats:
    """A numeric column as floats, null as NaN."""
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def thin(length: int, *series: Floats, limit: int = MAX_POINTS) -> Indices:
    """Which points to keep: all of a short series, else each bucket's lowest and highest point of every series, and both ends."""
    if length <= limit or not series:
        return np.arange(length)
    size = -(-length // max(1, (limit - 2) // (2 * len(series))))
    starts = np.arange(0, length, size)
    gap = len(starts) * size - length
    keep = [np.array([0, length - 1])]
    for values in series:
        for outside, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            known = np.pad(np.where(np.isfinite(values), values, outside), (0, gap), constant_values=outside)
            keep.append(starts + pick(known.reshape(len(starts), size), axis=1))
    return np.unique(np.concatenate(keep)).astype(np.intp)


def small(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers for the browser in half the bytes: seven digits are more than a chart can show. Moments stay as they are."""
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    return (
        values.astype(np.int32)
        if values.dtype.kind in "iu" and (not len(values) or np.abs(values).max() < 2**31)
        else values
    )


def time_scale(longest_s: float) -> tuple[float, str]:
    """Seconds in a unit that suits a duration, and the unit's name."""
    for seconds, name in (
        (2 * units.DAY, mark("days")),
        (2 * units.HOUR, mark("hours")),
        (2 * units.MINUTE, mark("minutes")),
    ):
        if longest_s >= seconds:
            return seconds / 2, t(name)
    return 1.0, t("seconds")


def blank(dark: bool, *, height: int = 320, x: str | None = None, y: str = "", legend: bool = True) -> go.Figure:
    """An empty figure in the page's inks, transparent, with room for a legend above the plot."""
    inks, x = theme(dark), t("step") if x is None else x
    axis: dict[str, Any] = {
        "gridcolor": inks.grid,
        "zeroline": False,
        "linecolor": inks.grid,
        "automargin": True,
        "separatethousands": True,
        "exponentformat": "none",
        "title": {"standoff": 8, "font": {"size": 12, "color": inks.soft}},
        "tickfont": {"size": 12, "color": inks.soft},
    }
    figure = go.Figure()
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": 12, "t": 34 if legend else 12, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": inks.ink},
        hovermode="x unified",
        hoverlabel={"bgcolor": inks.ground, "bordercolor": inks.grid, "font": {"color": inks.ink, "family": FONT}},
        showlegend=legend,
        legend={
            "orientation": "h",
            "xref": "container",
            "yref": "container",
            "x": 0,
            "y": 1.0,
            "yanchor": "top",
            "font": {"size": 12},
        },
        xaxis={**axis, "title": {**axis["title"], "text": x}, "showgrid": False},
        yaxis={**axis, "title": {**axis["title"], "text": y}, "rangemode": "tozero"},
        dragmode="zoom",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": inks.soft, "activecolor": inks.ink},
    )
    return figure


def plain(text: str, limit: int = 60) -> str:
    """Text of a log made safe for Plotly, which reads a small HTML of its own: no tags, no entities, shortened."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def distinct(names: Sequence[str], limit: int = 34) -> list[str]:
    """Names short enough for a chart and still unlike: of what long ones begin with alike only the first part is kept."""
    long = [each for each in names if len(each) > limit]
    unlike = (at for at, letters in enumerate(zip(*long, strict=False)) if len(set(letters)) > 1)
    begin, same = limit // 3, next(unlike, min(map(len, long), default=0)) if len(long) > 1 else 0
    told: list[str] = []
    for name in names:
        short = name
        if len(name) > limit:
            short = f"{name[:begin]}…{name[same - 2 :]}" if same > begin + 3 else name
            short = short if len(short) <= limit else f"{short[: limit - 1]}…"
        nth = next(at for at in range(1, len(names) + 1) if _numbered(short, at) not in told)
        told.append(_numbered(short, nth))
    return told


def _numbered(name: str, nth: int) -> str:
    return name if nth == 1 else f"{name} ({nth})"


def see_through(colour: str, alpha: float) -> str:
    """A `#rrggbb` colour with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def reads_on(colour: str) -> str:
    """Black or white, whichever reads better on a `#rrggbb` colour (WCAG luminance; both read alike at 0.18)."""
    raw = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in raw]
    return "#000000" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 else "#ffffff"


def filled(colour: str, hatch: str, *, outlined: bool) -> dict[str, Any]:
    """A bar's marker for a phase: its colour, its hatching, or for the unexplained rest an outline only."""
    if outlined:
        return {"color": "rgba(0,0,0,0)", "line": {"color": colour, "width": 1}}
    pattern = {"shape": hatch, "fgcolor": colour, "bgcolor": see_through(colour, 0.25), "size": 6, "solidity": 0.5}
    return {"color": colour, "line": {"width": 0}} | ({"pattern": pattern} if hatch else {})


def broken(x: NDArray[Any], y: Floats) -> tuple[NDArray[Any], Floats]:
    """A line with a gap wherever it goes back: a resumed run does some steps again, and nothing lies between."""
    if x.dtype.kind not in "iuf" or len(x) < 2:
        return x, y
    back = np.flatnonzero(np.diff(x) <= 0) + 1
    return np.insert(x, back, x[back]), np.insert(y, back, np.nan)


def add_line(
    figure: go.Figure, steps: pl.Series, values: Floats, name: str, colour: str, unit: str, *, dash: str = "solid"
) -> None:
    """Add one thinned line."""
    kept = thin(len(values), values)
    x, y = broken(steps.to_numpy()[kept], values[kept])
    figure.add_trace(
        go.Scatter(
            x=small(x),
            y=small(y),
            mode="lines+markers" if len(values) < 3 else "lines",
            name=name,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"%{{y:,.4~r}} {unit}",
        )
    )


def add_band(figure: go.Figure, x: Floats, low: Floats, high: Floats, colour: str, name: str) -> None:
    """Add one thinned band between two lines; gaps are left out."""
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return
    x, low, high = x[known], low[known], high[known]
    kept = thin(len(x), low, high)
    figure.add_trace(
        go.Scatter(
            x=small(np.concatenate([x[kept], x[kept][::-1]])),
            y=small(np.concatenate([low[kept], high[kept][::-1]])),
            mode="lines",  # Plotly would add markers to a short one
            fill="toself",
            fillcolor=colour,
            line={"width": 0},
            name=name,
            hoverinfo="skip",
        )
    )


def highest(values: pl.Series) -> float:
    """The largest number of a column, 0 of an empty one."""
    top = values.max()
    return float(top) if isinstance(top, int | float) else 0.0


def lowest(values: pl.Series) -> float:
    """The smallest number of a column, 0 of an empty one."""
    bottom = values.min()
    return float(bottom) if isinstance(bottom, int | float) else 0.0


def crown(values: Floats) -> float | None:
    """Where an axis ends so that a few huge values do not flatten all the others; None where there are none such.

    At most one value in fifty (or one, in a short series) may lie beyond.
    """
    known = np.sort(values[np.isfinite(values)])
    if len(known) < _FEW:
        return None
    usual = float(known[-1 - max(1, len(known) // 50)])
    return 1.4 * usual if usual > 0 and known[-1] > _HUGE * usual else None
