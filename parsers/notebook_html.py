"""What `NotebookProgressCallback` shows: a progress line and a table of metrics, as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from timeledger import units

_DURATION: Final = r"(?:\d+ days?,? ?)?(?:\d+:)?\d+:\d{2}"
#: `[ 294/1000 1:30:03 < 3:37:44, 0.05 it/s, Epoch 0.16/1]` while it runs, `[500/500 6:57:24, Epoch 0/1]` at the end.
_PROGRESS: Final = re.compile(
    rf"\[\s*(?P<n>\d{{1,12}})/(?P<total>\d{{1,12}})\s+(?P<elapsed>{_DURATION})(?:\s*<\s*(?P<left>{_DURATION}|\?))?[^\]]*\]"
)
_LONGEST_CELL: Final = 200


@dataclass(slots=True)
class Shown:
    """One display: its progress line, if any, and its table of metrics (header and rows of texts)."""

    step: int | None = None
    total: int | None = None
    elapsed_s: float | None = None
    remaining_s: float | None = None
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def trains(self) -> bool:
        """True for the display of a training: a table that begins with a step (or epoch) and has a training loss."""
        return self.header[:1] in (["Step"], ["Epoch"]) and "Training Loss" in self.header

    @property
    def done(self) -> bool:
        """True when the progress line says that the last step is done (it shows no time left then)."""
        return self.step is not None and self.step == self.total and self.remaining_s is None


class _Table(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.header: list[str] = []
        self.rows: list[list[str]] = []
        self.outside: list[str] = []
        self._cells: list[str] | None = None
        self._text: list[str] | None = None
        self._is_header = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._cells, self._is_header = [], False
        elif tag in {"td", "th"} and self._cells is not None:
            self._text = []
            self._is_header = self._is_header or tag == "th"

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"} and self._text is not None and self._cells is not None:
            self._cells.append("".join(self._text).strip()[:_LONGEST_CELL])
            self._text = None
        elif tag == "tr" and self._cells is not None:
            if self._is_header and not self.header:
                self.header = self._cells
            elif self._cells and not self._is_header:
                self.rows.append(self._cells)
            self._cells = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)
        elif self._cells is None:
            self.outside.append(data)


def read(html: str) -> Shown:
    """What the HTML of one display holds; an empty `Shown` for anything else."""
    if "<progress" not in html and "Training Loss" not in html:
        return Shown()
    table = _Table()
    table.feed(html)
    table.close()
    shown = Shown(header=table.header, rows=table.rows)
    # The training's own line comes first, an evaluation's may follow.
    if line := _PROGRESS.search("".join(table.outside)):
        shown.step, shown.total = int(line["n"]), int(line["total"])
        shown.elapsed_s = units.seconds(line["elapsed"])
        shown.remaining_s = units.seconds(line["left"] or "")
    return shown
