"""Small static charts as SVG text for reports that must work offline: a stacked bar and lines with a band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from timeledger import palette, units

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 240, 64, 28, 12
_MOST_POINTS = 600


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `colour` is any CSS colour; a band has `low` and `high` instead of a drawn middle."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: str
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two series over the same x."""

    x: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]
    colour: str


def stacked_bar(parts: Sequence[tuple[str, float]], label: str) -> str:
    """One horizontal bar of phases (canonical name, share 0..1); `label` is its text alternative."""
    total = sum(share for _, share in parts) or 1.0
    at, boxes = 0.0, []
    for phase, share in parts:
        width = share / total * WIDTH
        look = palette.look(phase)
        text = escape(f"{look.label} {units.show_share(share)}")
        boxes.append(
            f'<rect x="{at:.1f}" y="0" width="{width:.1f}" height="28" fill="{look.light}"><title>{text}</title></rect>'
        )
        at += width
    return f'<svg viewBox="0 0 {WIDTH} 28" role="img" aria-label="{escape(label, quote=True)}">{"".join(boxes)}</svg>'


def chart(lines: Sequence[Line], bands: Sequence[Band], *, x_title: str, label: str, seconds: bool) -> str:
    """Lines and bands on shared axes. `seconds` shows y as durations."""
    xs = [x for line in lines for x in line.x] + [x for band in bands for x in band.x]
    ys = [y for line in lines for y in line.y if _ok(y)] + [
        y for band in bands for y in (*band.low, *band.high) if _ok(y)
    ]
    if not xs or not ys:
        return ""
    x0, x1 = min(xs), max(xs)
    y1 = max(y for y in ys if y is not None) or 1.0

    def place(x: float, y: float) -> str:
        px = LEFT + (x - x0) / ((x1 - x0) or 1.0) * (WIDTH - LEFT - 8)
        py = HEIGHT - BOTTOM - max(y, 0.0) / y1 * (HEIGHT - BOTTOM - TOP)
        return f"{px:.1f},{py:.1f}"

    shapes = [_grid(y1, seconds)]
    for band in bands:
        edge = [(x, low) for x, low in zip(band.x, band.low, strict=True)] + [
            (x, high) for x, high in zip(reversed(band.x), reversed(band.high), strict=True)
        ]
        points = " ".join(place(x, y) for x, y in edge if y is not None and math.isfinite(y))
        shapes.append(f'<polygon points="{points}" fill="{band.colour}" opacity="0.22"/>')
    for line in lines:
        pairs = [(x, y) for x, y in zip(line.x, line.y, strict=True) if y is not None and math.isfinite(y)]
        keep = pairs[:: max(1, len(pairs) // _MOST_POINTS)]
        points = " ".join(place(x, y) for x, y in keep)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2"{dash}><title>{escape(line.label)}</title></polyline>'
        )
    ends = (
        f'<text x="{LEFT}" y="{HEIGHT - 8}">{x0:,.0f}</text><text x="{WIDTH - 8}" y="{HEIGHT - 8}" text-anchor="end">{x1:,.0f}</text>'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_title)}</text>'
    )
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">{"".join(shapes)}{ends}</svg>'


def _ok(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


#: Steps of a time axis people can read, in seconds.
_TIME_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def ticks(top: float, *, seconds: bool) -> list[float]:
    """Two to five round values from 0 up to at most `top`."""
    if seconds and top >= 4:
        step = next((float(each) for each in _TIME_STEPS if top / each <= 5), 86400.0 * math.ceil(top / 86400 / 5))
    else:
        size = 10.0 ** math.floor(math.log10(top / 4))
        step = next(size * each for each in (1, 2, 5, 10) if top / (size * each) <= 5)
    return [step * at for at in range(int(top / step) + 1)]


def _grid(top: float, seconds: bool) -> str:
    rows = []
    for value in ticks(top, seconds=seconds):
        y = HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - TOP)
        text = "0" if value == 0 else units.show_seconds(value) if seconds else units.show_number(value)
        rows.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    return "".join(rows)
