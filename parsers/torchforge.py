"""torchforge: blocks of metrics behind `=== [global_reduce] - METRICS STEP 3 ===`."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.tagged import TaggedReader
from parsers.text import Piece, strip_actor
from timeledger import units

_HEADER: Final = re.compile(r"=== \[([^\]]+)\] - METRICS STEP (\d{1,9}) ===")
_ROW: Final = re.compile(r"^\s*([\w./\-]+/[\w./\-]+): (\S+)\s*$")
_END: Final = "====="


class _ForgeReader(TaggedReader):
    """Metrics of the block that is open; other processes' lines may stand between."""

    format_name = "torchforge"
    framework = "torchforge"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._step: int | None = None
        self._at: datetime | None = None

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if "METRICS STEP" in text and (match := _HEADER.search(text)):
            self._step, self._at = int(match[2]), self.moment(text[: match.start()] + " ")
        elif self._step is not None and "/" in text and (match := _ROW.match(strip_actor(text).text)):
            if (value := units.number(match[2])) is not None:
                self.put(self._step, {match[1]: value}, line, self._at)
        elif text.strip().startswith(_END):
            self._step = None
        else:
            self.rest(text, line)


def recognises(head: Head) -> Confidence:
    """CERTAIN: the header of a block."""
    for line in head.lines:
        if "METRICS STEP" in line and _HEADER.search(line):
            return Confidence(Sure.CERTAIN, line[:120])
    return NO


TORCHFORGE_CONSOLE: Final = Format(
    name="torchforge",
    title="torchforge console",
    kind="lines",
    recognises=recognises,
    open=_ForgeReader,
    reads="blocks of metrics: the training loop's time and its phases, generation beside it, reward, mean length, loss",
    lacks="the sum of a step's generation (its times are means over rollouts), longest answers",
    more="metric_logging with a W&B backend keeps the same names",
)
