"""What the tests of hand-written loops share."""

from __future__ import annotations

from parsers.base import Origin, Sure
from parsers.keyvalue import KEYVALUE
from parsers.windows import make_head
from timeledger.clock import clock
from timeledger.run import Run


def read(text: str, mapping: tuple[tuple[str, str], ...] = ()) -> Run:
    """The one run of a text."""
    reader = KEYVALUE.open(Origin("train.log", mapping=mapping))
    reader.feed(text.encode())
    (run,) = reader.runs()
    return run


def sure(text: str) -> Sure:
    """How sure the format is of a whole text."""
    return KEYVALUE.recognises(make_head(Origin("train.log"), text.encode(), True)).sure


def column(run: Run, name: str) -> list[float | None]:
    """A column of the steps."""
    return run.steps[name].to_list()


def total_s(run: Run) -> float:
    """Seconds of the whole run by its clock."""
    elapsed = clock(run).elapsed_s
    assert elapsed is not None
    return elapsed


def notes(run: Run) -> str:
    """All notes of a run, one a line."""
    return "\n".join(note.text for note in run.notes)
