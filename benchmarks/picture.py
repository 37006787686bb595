"""A small picture of the projection table: error against the share of the run that is done, as SVG without dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.projection import Row

WIDTH: Final = 640
HEIGHT: Final = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 24, 44
_SERIES: Final = (
    ("ours", "timeledger", "#4477AA", ""),
    ("tqdm", "tqdm mean", "#EE7733", "6 3"),
    ("average", "tqdm average", "#AA3377", "2 3"),
    ("own", "log's own ETA", "#7A7A7A", "8 3 2 3"),
)


def fan_of_errors(rows: list[Row]) -> str:
    """Mean |log error| of each estimator over the shares."""
    top = max(
        (row.errors[name][1] for row in rows for name, *_ in _SERIES if row.errors[name][1] == row.errors[name][1]),
        default=0.1,
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="16" font-weight="bold">Mean error of the run\'s total time, by share of the run done</text>',
    ]
    for i in range(5):
        value = top * i / 4
        y = _y(value, top)
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.0%}</text>')
    for i, row in enumerate(rows):
        parts.append(
            f'<text x="{_x(i, len(rows)):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{row.share:.0%}</text>'
        )
    for at, (name, words, colour, dash) in enumerate(_SERIES):
        points = [(i, row.errors[name][1]) for i, row in enumerate(rows) if row.errors[name][1] == row.errors[name][1]]
        path = " ".join(f"{_x(i, len(rows)):.1f},{_y(value, top):.1f}" for i, value in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
        )
        y = _TOP + 20 + 20 * at
        parts.append(
            f'<line x1="{WIDTH - _RIGHT + 12}" x2="{WIDTH - _RIGHT + 40}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
        )
        parts.append(f'<text x="{WIDTH - _RIGHT + 46}" y="{y + 4}">{words}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(i: int, count: int) -> float:
    return _LEFT + 20 + (WIDTH - _LEFT - _RIGHT - 40) * i / max(count - 1, 1)


def _y(value: float, top: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM - 10) * value / top
