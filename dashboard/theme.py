"""Inks, grounds and fonts of the charts, for a light and a dark page. Phase colours live in `timeledger.palette`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The page's own font first; every one of the others is on the reader's machine, none is fetched.
FONT: Final = '"Source Sans", "Source Sans 3", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif'


@dataclass(frozen=True, slots=True)
class Theme:
    """What a chart needs beside phase colours.

    `whole` is for whole runs and steps, `alarm` for more time, limits and the worst case, `less` for less time; `runs` tells
    runs apart (colour-blind safe, order fixed).
    """

    ink: str
    soft: str
    grid: str
    ground: str
    accent: str
    band: str
    band_wide: str
    alarm: str
    whole: str
    less: str
    runs: tuple[str, ...]


LIGHT: Final = Theme(
    ink="#1d2430",
    soft="#5b6675",
    grid="rgba(29,36,48,0.10)",
    ground="#ffffff",
    accent="#4477AA",
    band="rgba(68,119,170,0.30)",
    band_wide="rgba(68,119,170,0.14)",
    alarm="#BB5500",
    whole="#6B7686",
    less="#2E7D4F",
    runs=("#4477AA", "#E8702A", "#228833", "#AA3377", "#33779A", "#A3951B", "#CC3311", "#555555", "#009988", "#882255"),
)
DARK: Final = Theme(
    ink="#e6e9ee",
    soft="#a4afbd",
    grid="rgba(230,233,238,0.13)",
    ground="#11151b",
    accent="#6699CC",
    band="rgba(102,153,204,0.38)",
    band_wide="rgba(102,153,204,0.18)",
    alarm="#F4A261",
    whole="#8B97A8",
    less="#7CC48F",
    runs=("#6699CC", "#F4A261", "#66BB77", "#CC6699", "#77CCEE", "#DDCC77", "#EE8866", "#C0C0C0", "#44BB99", "#B0557F"),
)


def theme(dark: bool) -> Theme:
    """The inks for a dark or a light page."""
    return DARK if dark else LIGHT
