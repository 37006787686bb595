"""The bundled sample logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

import sample_logs


@dataclass(frozen=True, slots=True)
class Sample:
    """A bundled log: its folder and what it shows."""

    name: str
    path: str
    shows: str


@st.cache_data(show_spinner=False)
def bundled() -> list[Sample]:
    """The bundled sample logs, by name; `SOURCES.md` beside them says what each shows (the last cell of its row)."""
    root = Path(sample_logs.__file__).parent
    sources = root / "SOURCES.md"
    rows = sources.read_text(encoding="utf-8").splitlines() if sources.is_file() else []
    cells = [[cell.strip(" `") for cell in row.strip("| ").split("|")] for row in rows if row.startswith("| `")]
    shows = {row[0]: row[-1] for row in cells}
    folders = sorted(each for each in root.iterdir() if each.is_dir() and not each.name.startswith(("_", ".")))
    return [Sample(each.name, str(each), shows.get(each.name, "")) for each in folders]
