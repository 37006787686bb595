"""What an entry of a framework's table of names is."""

from __future__ import annotations

from typing import NamedTuple


class Col(NamedTuple):
    """A column of `schema.STEPS`: value * scale + offset. Of several names for one column the lowest rank counts."""

    column: str
    scale: float = 1.0
    offset: float = 0.0
    rank: int = 0


class Ph(NamedTuple):
    """A phase: see `schema.PHASES` for what parent, outside and overlaps mean. `scale` makes seconds of the value."""

    phase: str
    parent: str | None = None
    outside: bool | None = None
    overlaps: bool = False
    scale: float = 1.0


Table = dict[str, Col | Ph]
