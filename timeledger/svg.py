"""Small static charts as SVG text for reports that must work offline, in the light and in the dark.

Every colour is a pair (on a light, on a dark ground); every series stands in the legend under its chart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from timeledger import palette, units

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 250, 84, 38, 12, 10
Colour = tuple[str, str]
#: Ink and soft ink, what a middle is drawn in, limits and worst cases, less time, whole runs: as on the page.
INK: Final = ("#1d2430", "#e6e9ee")
SOFT: Final = ("#5b6675", "#a4afbd")
ACCENT: Final = ("#4477AA", "#6699CC")
ALARM: Final = ("#BB5500", "#F4A261")
LESS: Final = ("#2E7D4F", "#7CC48F")
WHOLE: Final = ("#6B7686", "#8B97A8")
_MOST_POINTS: Final = 600
#: Steps are put together until so many columns are left.
_MOST_COLUMNS: Final = 160
#: Hatching that any chart of a page may use.
HATCHES: Final = (
    '<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs>'
    '<pattern id="h" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2.2" height="5" class="ground"/></pattern></defs></svg>'
)


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a chart: what the legend calls it, its points, its colour."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    colour: Colour
    dash: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two series over the same x."""

    label: str
    x: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]
    colour: Colour


def painted(what: str, colour: Colour) -> str:
    """A colour for `fill` or `stroke`: by attribute for old readers, by style for those that know the dark."""
    return f'{what}="{colour[0]}" style="{what}:light-dark({colour[0]},{colour[1]})"'


def swatch(colour: Colour, *, hatched: bool = False, outlined: bool = False) -> str:
    """The key of a colour in a legend or a table."""
    inside = '<rect width="12" height="12" fill="url(#h)"/>' if hatched else ""
    paint = f'fill="none" stroke-width="2" {painted("stroke", colour)}' if outlined else painted("fill", colour)
    return f'<svg class="key" viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" rx="2" {paint}/>{inside}</svg>'


def phase_swatch(phase: str) -> str:
    """The key of a phase."""
    look = palette.look(phase)
    return swatch((look.light, look.dark), hatched=bool(look.hatch), outlined=phase == "unexplained")


def stacked_bar(parts: Sequence[tuple[str, float]], label: str, *, of: float = 1.0) -> str:
    """One horizontal bar of phases (canonical name, share 0..1); `of` is its length, `label` its text alternative."""
    total = sum(share for _, share in parts) or 1.0
    at, boxes = 0.0, []
    for phase, share in parts:
        width = share / total * WIDTH * of
        title = f"<title>{escape(f'{palette.look(phase).label} {units.show_share(share)}')}</title>"
        boxes.append(_box(at, 0.0, width, 28.0, phase, title))
        at += width
    return f'<svg viewBox="0 0 {WIDTH} 28" role="img" aria-label="{escape(label, quote=True)}">{"".join(boxes)}</svg>'


def _box(x: float, y: float, width: float, height: float, phase: str, title: str = "") -> str:
    look = palette.look(phase)
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{max(height, 0.0):.1f}"'
    if phase == "unexplained":
        return f'<rect {place} fill="none" {painted("stroke", (look.light, look.dark))}>{title}</rect>'
    hatch = f'<rect {place} fill="url(#h)"/>' if look.hatch else ""
    return f"<rect {place} {painted('fill', (look.light, look.dark))}>{title}</rect>{hatch}"


def stacked_steps(steps: Sequence[int], phases: Sequence[tuple[str, Sequence[float]]], *, label: str) -> str:
    """Seconds of every step's phases over steps; many steps are put together as their mean."""
    if not steps or not phases:
        return ""
    size = -(-len(steps) // _MOST_COLUMNS)
    columns = [
        [sum(values[at : at + size]) / len(values[at : at + size]) for at in range(0, len(steps), size)]
        for _, values in phases
    ]
    top = max((sum(each) for each in zip(*columns, strict=True)), default=0.0) or 1.0
    room, high = (WIDTH - LEFT - RIGHT) / len(columns[0]), HEIGHT - BOTTOM - TOP
    shapes = [_grid(top, seconds=True)]
    base = [0.0] * len(columns[0])
    for (phase, _), values in zip(phases, columns, strict=True):
        boxes = []
        for at, value in enumerate(values):
            y = HEIGHT - BOTTOM - (base[at] + value) / top * high
            boxes.append(_plain_box(LEFT + at * room, y, room, value / top * high))
            base[at] += value
        shapes.append(_group(phase, boxes))
    return _svg(shapes, _ends(steps[0], steps[-1], "step"), label)


def _plain_box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z" if height > 0.04 else ""


def _group(phase: str, boxes: Sequence[str]) -> str:
    look, path = palette.look(phase), "".join(boxes)
    title = f"<title>{escape(look.label)}</title>"
    if phase == "unexplained":
        return f'<path d="{path}" fill="none" stroke-width=".5" {painted("stroke", (look.light, look.dark))}>{title}</path>'
    hatch = f'<path d="{path}" fill="url(#h)"/>' if look.hatch else ""
    return f'<path d="{path}" {painted("fill", (look.light, look.dark))}>{title}</path>{hatch}'


def chart(lines: Sequence[Line], bands: Sequence[Band], *, x_title: str, label: str, seconds: bool) -> str:
    """Lines and bands on shared axes, with their legend. `seconds` shows y as durations."""
    xs = [x for line in lines for x in line.x] + [x for band in bands for x in band.x]
    ys = [y for line in lines for y in line.y if _ok(y)] + [
        y for band in bands for y in (*band.low, *band.high) if _ok(y)
    ]
    if not xs or not ys:
        return ""
    x0, x1 = min(xs), max(xs)
    y1 = max(y for y in ys if y is not None) or 1.0

    def place(x: float, y: float) -> str:
        px = LEFT + (x - x0) / ((x1 - x0) or 1.0) * (WIDTH - LEFT - RIGHT)
        py = HEIGHT - BOTTOM - max(y, 0.0) / y1 * (HEIGHT - BOTTOM - TOP)
        return f"{px:.1f},{py:.1f}"

    shapes = [_grid(y1, seconds)]
    for band in bands:
        edge = [(x, low) for x, low in zip(band.x, band.low, strict=True)] + [
            (x, high) for x, high in zip(reversed(band.x), reversed(band.high), strict=True)
        ]
        points = " ".join(place(x, y) for x, y in edge if y is not None and math.isfinite(y))
        shapes.append(f'<polygon points="{points}" {painted("fill", band.colour)} opacity="0.25"/>')
    shapes += [_polylines(line, place) for line in lines]
    keys = [f"<span>{_stroke(line)}{escape(line.label)}</span>" for line in lines]
    keys += [f'<span class="band">{swatch(band.colour)}{escape(band.label)}</span>' for band in bands]
    return _svg(shapes, _ends(x0, x1, x_title), label) + f'<p class="keys">{"".join(keys)}</p>'


def _polylines(line: Line, place: Callable[[float, float], str]) -> str:
    """A line, broken wherever it goes back: a resumed run does some steps again."""
    pairs = [(x, y) for x, y in zip(line.x, line.y, strict=True) if y is not None and math.isfinite(y)]
    keep = pairs[:: max(1, len(pairs) // _MOST_POINTS)]
    keep += pairs[-1:] if keep and keep[-1] != pairs[-1] else []
    pieces: list[list[str]] = [[]]
    for at, (x, y) in enumerate(keep):
        if at and x <= keep[at - 1][0]:
            pieces.append([])
        pieces[-1].append(place(x, y))
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    style = f'fill="none" stroke-width="2"{dash} {painted("stroke", line.colour)}'
    title = f"<title>{escape(line.label)}</title>"
    return "".join(f'<polyline points="{" ".join(each)}" {style}>{title}</polyline>' for each in pieces if each)


def _stroke(line: Line) -> str:
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    return f'<svg class="key" viewBox="0 0 24 12" aria-hidden="true"><path d="M0 6h24" stroke-width="3"{dash} {painted("stroke", line.colour)}/></svg>'


def waterfall(start: str, end: str, from_s: float, parts: Sequence[tuple[str, float]], *, label: str) -> str:
    """From a step of one run to a step of another: bars that add up, read from top to bottom."""
    rows, at = [(start, 0.0, from_s, WHOLE, units.show_seconds(from_s))], from_s
    for name, cost in parts:
        sign = "+" if cost > 0 else ""
        rows.append(
            (name, min(at, at + cost), abs(cost), ALARM if cost > 0 else LESS, f"{sign}{units.show_seconds(cost)}")
        )
        at += cost
    rows.append((end, 0.0, at, WHOLE, units.show_seconds(at)))
    left, top = 190, max(low + size for _, low, size, _, _ in rows) or 1.0
    scale = (WIDTH - left - 80) / top
    shapes = []
    for row, (name, low, size, colour, told) in enumerate(rows):
        y = row * 26
        shapes.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{escape(shortened(name))}</text>'
            f'<rect x="{left + low * scale:.1f}" y="{y + 2}" width="{max(size * scale, 1):.1f}" height="20" {painted("fill", colour)}/>'
            f'<text x="{left + (low + size) * scale + 6:.1f}" y="{y + 16}">{escape(told)}</text>'
        )
    return f'<svg class="wide" viewBox="0 0 {WIDTH} {len(rows) * 26}" role="img" aria-label="{escape(label, quote=True)}">{"".join(shapes)}</svg>'


def shortened(name: str, limit: int = 26) -> str:
    """A name that fits beside a bar: its beginning and its end, since the end tells long names apart."""
    return name if len(name) <= limit else f"{name[: limit // 2 - 1]}…{name[-limit // 2 :]}"


def _svg(shapes: Sequence[str], ends: str, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">{"".join(shapes)}{ends}</svg>'


def _ends(x0: float, x1: float, title: str) -> str:
    y = HEIGHT - BOTTOM + 21
    return (
        f'<text x="{LEFT}" y="{y}">{x0:,.0f}</text><text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{x1:,.0f}</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{y}" text-anchor="middle">{escape(title)}</text>'
    )


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
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    return "".join(rows)
