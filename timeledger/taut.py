"""The straightest path through what coarse clocks allow: exact where they are exact, smooth where they only count seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def straightest(x: Floats, low: Floats, high: Floats) -> Floats:
    """The shortest path y(x) with low <= y <= high at every x (the taut string), as values at x.

    A clock that shows whole seconds says only that the true time lies in [shown, shown + 1): among all the courses it
    allows, the shortest one has no jitter of rounding and keeps every real jump. `x` rises strictly; O(n).
    """
    n = len(x)
    if n <= 2:
        return (low + high) / 2
    xs, lows, highs = x.tolist(), low.tolist(), high.tolist()
    at_x, at_y = _knots(xs, lows, highs)
    return np.interp(x, at_x, at_y)


def _knots(x: list[float], low: list[float], high: list[float]) -> tuple[list[float], list[float]]:
    """The path's corners, by the funnel algorithm: two hulls that share an apex, which moves on where they cross."""
    n = len(x)
    start, end = (low[0] + high[0]) / 2, (low[-1] + high[-1]) / 2
    low, high = [start, *low[1:-1], end], [start, *high[1:-1], end]
    knots_x, knots_y = [x[0]], [start]
    # Each hull is a list of corners after its head index: `over` below the upper walls (convex), `under` above the lower ones (concave).
    over_x, over_y, over_at = [x[0]], [start], 0
    under_x, under_y, under_at = [x[0]], [start], 0
    for i in range(1, n):
        over_at = _push(over_x, over_y, over_at, x[i], high[i], 1.0, under_x, under_y, under_at, knots_x, knots_y)
        under_at = _catch_up(under_x, under_at, knots_x[-1])
        under_at = _push(under_x, under_y, under_at, x[i], low[i], -1.0, over_x, over_y, over_at, knots_x, knots_y)
        over_at = _catch_up(over_x, over_at, knots_x[-1])
    tail_x, tail_y = over_x[over_at + 1 :], over_y[over_at + 1 :]
    return knots_x + tail_x, knots_y + tail_y


def _catch_up(hull_x: list[float], head: int, apex_x: float) -> int:
    """The hull's head after the apex moved along it."""
    while head < len(hull_x) - 1 and hull_x[head] < apex_x:
        head += 1
    return head


def _push(
    hull_x: list[float], hull_y: list[float], head: int, x: float, y: float, sign: float,
    other_x: list[float], other_y: list[float], other_head: int, knots_x: list[float], knots_y: list[float],
) -> int:  # fmt: skip
    """Add a wall point to one hull; where it cuts the other hull, the apex moves on along that other hull."""
    while len(hull_x) - head >= 2:
        ax, ay, bx, by = hull_x[-2], hull_y[-2], hull_x[-1], hull_y[-1]
        if sign * ((y - by) * (bx - ax) - (by - ay) * (x - bx)) > 0:
            break
        hull_x.pop()
        hull_y.pop()
    if len(hull_x) - head == 1:
        moved = False
        while other_head < len(other_x) - 1:
            ax, ay, bx, by = other_x[other_head], other_y[other_head], other_x[other_head + 1], other_y[other_head + 1]
            if sign * ((by - ay) * (x - ax) - (y - ay) * (bx - ax)) <= 0:
                break
            other_head += 1
            knots_x.append(bx)
            knots_y.append(by)
            moved = True
        if moved:
            del hull_x[head:], hull_y[head:]
            hull_x.append(knots_x[-1])
            hull_y.append(knots_y[-1])
    hull_x.append(x)
    hull_y.append(y)
    return head
