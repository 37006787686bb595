"""Small multiples of what tells whether a run learns: one row a quantity, one shared axis of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go
import polars as pl

from dashboard.charts import blank, floats, see_through, thin
from dashboard.theme import theme

_ROW: Final = 92


@dataclass(frozen=True, slots=True)
class Sign:
    """A quantity of the health panel: its column, its name on the page, a line to read it against, and how to log it."""

    column: str
    label: str
    healthy: float | None
    how: str


SIGNS: Final = (
    Sign("reward", "reward", None, "every trainer logs it; keep the metric lines in the log"),
    Sign("acc", "accuracy", None, "log the share of right answers as `acc`, or give an accuracy reward its own name"),
    Sign("reward_std", "reward spread (std)", None, "TRL logs it as `reward_std`"),
    Sign("adv_std", "advantage spread (std)", None, "print the advantages' standard deviation as `adv_std`"),
    Sign("ratio", "policy ratio (near 1)", 1.0, "print the mean importance ratio as `ratio`"),
    Sign(
        "zero_std",
        "zero-signal groups",
        None,
        "TRL logs `frac_reward_zero_std`; else print the share of groups without spread",
    ),
    Sign("kl", "KL", None, "logged when beta is above 0"),
    Sign("entropy", "entropy", None, "TRL 0.19 and later and verl log it"),
)


def present(steps: pl.DataFrame) -> list[Sign]:
    """The signs this run logs."""
    return [sign for sign in SIGNS if steps[sign.column].count()]


def absent(steps: pl.DataFrame) -> list[Sign]:
    """The signs it does not log."""
    return [sign for sign in SIGNS if not steps[sign.column].count()]


def health(steps: pl.DataFrame, dark: bool) -> go.Figure | None:
    """One small chart a sign, stacked on one axis of steps: values faint, their running median strong."""
    signs = present(steps)
    if not signs:
        return None
    inks = theme(dark)
    figure = blank(dark, height=56 + _ROW * len(signs), legend=False)
    room = 1 / len(signs)
    for row, sign in enumerate(signs):
        axis = "y" if row == 0 else f"y{row + 1}"
        top = 1 - row * room
        rows = steps.select("step", sign.column).drop_nulls()
        smooth = rows[sign.column].rolling_median(max(1, min(25, rows.height // 8)), min_samples=1, center=True)
        for values, width, colour in (
            (rows[sign.column], 1.0, see_through(inks.accent, 0.4)),
            (smooth, 2.0, inks.accent),
        ):
            shown = floats(values)
            kept = thin(len(shown), shown, limit=1000)
            figure.add_trace(
                go.Scatter(
                    x=rows["step"].to_numpy()[kept],
                    y=shown[kept],
                    yaxis=axis,
                    mode="lines+markers" if rows.height < 3 else "lines",
                    name=sign.label,
                    line={"color": colour, "width": width},
                    hovertemplate="%{y:,.4~r}",
                    hoverinfo="skip" if width == 1.0 else None,
                )
            )
        layout = {
            "domain": [top - room * 0.74, top - room * 0.06],
            "nticks": 3,
            "rangemode": "normal",
            "gridcolor": inks.grid,
            "zeroline": False,
            "automargin": True,
            "title": {"text": ""},
            "tickfont": {"size": 11, "color": inks.soft},
        }
        figure.update_layout({f"yaxis{'' if row == 0 else row + 1}": layout})
        label = {"text": sign.label, "showarrow": False, "font": {"size": 12, "color": inks.ink}}
        figure.add_annotation(xref="paper", yref="paper", x=0, y=top + 0.0, xanchor="left", yanchor="middle", **label)
        if sign.healthy is not None:
            figure.add_shape(
                type="line", xref="paper", x0=0, x1=1, yref=axis, y0=sign.healthy, y1=sign.healthy,
                line={"color": inks.soft, "dash": "dot", "width": 1},
            )  # fmt: skip
    figure.update_layout(xaxis={"anchor": f"y{len(signs)}" if len(signs) > 1 else "y"}, margin={"t": 18})
    return figure
