"""The terminal: 80 columns where there is none, no markup, and bars of characters."""

from __future__ import annotations

from typing import Final

from rich.console import Console

_BAR_CELLS: Final = 24


def console() -> Console:
    """Standard output; 80 columns where it is not a terminal, so that captured text is stable."""
    plain = Console(highlight=False, emoji=False, markup=False)
    return plain if plain.is_terminal else Console(highlight=False, emoji=False, markup=False, width=80)


def bar(share: float, fill: str = "█") -> str:
    """A share as a bar of up to 24 cells."""
    cells = round(max(0.0, min(1.0, share)) * _BAR_CELLS)
    return fill * cells or ("▏" if share > 0 else "")
