"""AReaL: the trainer's console (boxes of metrics below each step's line), and the master's of version 0.3."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.tagged import TaggedReader
from parsers.text import Piece
from timeledger import units

_DONE: Final = re.compile(r"Epoch (\d{1,9})/(\d{1,9}) Step (\d{1,9})/(\d{1,9}) Train step (\d{1,9})/(\d{1,9}) done")
_FINISHES: Final = re.compile(
    r"Epoch (\d{1,9})/(\d{1,9}) step (\d{1,9})/(\d{1,9}) \(global step (\d{1,9})\) finishes\."
    r".*?execution time: \*([\d.]+)\*s\.(?: Total time consumption: ([\d.]+)s\.)?(?: Estimated remaining time: ([\d.]+)s\.)?"
)
#: A box closes with this line; what stands in a box has this between its cells.
_CELL: Final = "│"
_CLOSE: Final = "╘"
_LAUNCHED: Final = re.compile(r"Launcher: experiment_name=")
_ELAPSED: Final = re.compile(r"Total time elapsed (\d+(?:\.\d+)?)")
_MOST_NAMES: Final = 2000


class _ArealReader(TaggedReader):
    """Since 0.3.1 a line says that a step is done and its boxes follow; before, the boxes came first."""

    format_name = "areal"
    framework = "AReaL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._step: int | None = None
        self._at: datetime | None = None
        self._boxed: dict[str, float] = {}

    def take(self, piece: Piece) -> None:
        text = piece.text
        if _CELL in text:
            self._row(text, piece.no)
        elif _CLOSE in text:
            pass  # other lines may stand between the rows of a box, so that its end says nothing
        elif " done" in text and (match := _DONE.search(text)):
            self._step_line(match, text, piece.no)
        elif "finishes." in text and (match := _FINISHES.search(text)):
            self._finishes(match, text, piece.no)
        elif "Launcher: " in text and _LAUNCHED.search(text):
            self.session(
                "resume" if "is_recover_run=True" in text else "restart", piece.no, "the launcher starts again"
            )
            self._step, self._boxed = None, {}
        elif "Training completes" in text or "Experiment Completes" in text:
            if match := _ELAPSED.search(text):
                self.build.train_runtime_s = float(match[1])
            self.finish(piece.no, at=self.moment(text))
        else:
            self.rest(text, piece.no)

    def _row(self, text: str, line: int) -> None:
        """A row of a box: names and numbers in turn. Of several boxes of a step (one an update) the first one counts."""
        cells = [cell.strip() for cell in text[text.index(_CELL) + 1 :].split(_CELL)]
        new: dict[str, float] = {}
        for name, raw in zip(cells[::2], cells[1::2], strict=False):
            value = units.number(raw)
            if name and value is not None and name not in self._boxed and len(self._boxed) < _MOST_NAMES:
                self._boxed[name] = new[name] = value
        if self._step is not None:
            self.put(self._step, new, line, self._at)

    def _step_line(self, match: re.Match[str], text: str, line: int) -> None:
        epoch, epochs, step, steps, now, total = (int(part) for part in match.groups())
        self._step, self._at, self._boxed = now, self.moment(text), {}
        self._facts(epochs, total, "AReaL: step line")
        self.put(now, {"epoch": epoch - 1 + step / steps if steps else epoch - 1}, line, self._at)
        if now == total:
            self.finish(line, at=self._at)

    def _finishes(self, match: re.Match[str], text: str, line: int) -> None:
        epoch, epochs, step, steps, now = (int(part) for part in match.groups()[:5])
        took, since, left = (None if part is None else float(part) for part in match.groups()[5:])
        total = epochs * steps
        self._facts(epochs, total, "AReaL: step line, epochs x steps of one")
        tags = {"epoch": epoch - 1 + step / steps if steps else epoch - 1, **self._boxed}
        tags |= {"timeperf/e2e": took} if took is not None else {}
        tags |= {"train_runtime": since} if since is not None else {}
        self.put(now, tags, line, self.moment(text))
        if since is not None:
            self.build.progress(now, total=total or None, elapsed_s=since, remaining_s=left, line=line)
        self._boxed = {}

    def _facts(self, epochs: int, total: int, source: str) -> None:
        self.build.setting("total_steps", total or None, source, replace=True)
        self.build.setting("epochs", epochs, source, replace=True)


def recognises(head: Head) -> Confidence:
    """CERTAIN: a step line, or a box with AReaL's timers. LIKELY: its launcher."""
    weak = NO
    for line in head.lines:
        if (" done" in line and _DONE.search(line)) or ("finishes." in line and _FINISHES.search(line)):
            return Confidence(Sure.CERTAIN, line[:120])
        if _CELL in line and "timeperf/" in line:
            return Confidence(Sure.CERTAIN, line[:120])
        if "Launcher: experiment_name=" in line or "(AReaL) " in line[:60]:
            weak = Confidence(Sure.LIKELY, line[:120])
    return weak


AREAL_CONSOLE: Final = Format(
    name="areal",
    title="AReaL console",
    kind="lines",
    recognises=recognises,
    open=_ArealReader,
    reads="steps and total, timeperf/* phases, lengths without the prompt, rewards, tokens, restarts, time stamps; "
    "SGLang and vLLM lines; the master's log of 0.3",
    lacks="a step time of its own (the stamps of the step lines tell it), the longest answer without its prompt, truncation",
    more="keep the inference server's log beside it for generation throughput",
)
