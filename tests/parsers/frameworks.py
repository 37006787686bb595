"""What the tests of the frameworks' consoles share: reading made text, and looking at what came out."""

from __future__ import annotations

from typing import Any

import parsers
from timeledger.run import Run


def read(text: str, format: str, name: str = "train.log") -> Run:
    """The latest run of a text, which must be taken for this format without being told."""
    run = parsers.read(text.encode(), name=name)
    assert run.info.format == format
    return run


def column(run: Run, name: str) -> list[Any]:
    return run.steps[name].to_list()


def phases(run: Run, step: int, segment: int = 0) -> dict[str, dict[str, Any]]:
    """The phases of one step by the framework's own name; a name must come once only."""
    rows = [row for row in run.phases.to_dicts() if row["step"] == step and row["segment"] == segment]
    found = {row["name"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def setting(run: Run, name: str) -> Any:
    return run.info.setting(name)


def noted(run: Run, words: str) -> bool:
    return any(words in note.text for note in run.notes)


def events(run: Run, kind: str) -> list[dict[str, Any]]:
    return [row for row in run.events.to_dicts() if row["kind"] == kind]
