"""torchtune: what its DiskLogger and StdoutLogger write, `Step 3 | loss:0.1 lr:1e-05 `."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.tagged import TaggedReader
from parsers.text import Piece
from timeledger import units
from timeledger.said import say

_LINE: Final = re.compile(r"(?:^|[\]>] ?)Step (\d{1,9}) \| (\S.*)")
_PAIR: Final = re.compile(r"([A-Za-z][\w./@\-]*(?: \([^)]{1,8}\))?):(\S+)")
#: Names that only torchtune's recipes write this way.
_TELLING: Final = re.compile(
    r"\| (?:.* )?(?:peak_memory_(?:alloc|active|reserved)|num_stop_tokens|tokens_per_second_per_gpu|approx_policy_kl"
    r"|(?:train|postprocessing|datacollector)_worker_performance/[\w ()]+):\S"
)
_FILE: Final = re.compile(r"log_(\d{10})\.txt$")


class _TuneReader(TaggedReader):
    """Each line is a step, or an optimizer pass of one (`ppo_epochs`): its number grows by those."""

    format_name = "torchtune"
    framework = "torchtune"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        if match := _FILE.search(origin.name):
            self.build.started_at = datetime.fromtimestamp(int(match[1]), UTC)

    def take(self, piece: Piece) -> None:
        text = piece.text
        if "Step " not in text or (match := _LINE.search(text)) is None:
            self.rest(text, piece.no)
            return
        tags = {name: value for name, raw in _PAIR.findall(match[2]) if (value := units.number(raw)) is not None}
        if "rewards" in tags:
            self.build.note("info", say("rewards is the sum over torchtune's reward functions"))
        self.put(int(match[1]), tags, piece.no, self.moment(text[: match.start()]) if match.start() else None)


def recognises(head: Head) -> Confidence:
    """CERTAIN: a step line with names of torchtune's recipes."""
    for line in head.lines:
        if "Step " in line and "|" in line and _LINE.search(line) and _TELLING.search(line):
            return Confidence(Sure.CERTAIN, line[:120])
    return NO


TORCHTUNE_LOG: Final = Format(
    name="torchtune",
    title="torchtune DiskLogger or StdoutLogger",
    kind="lines",
    recognises=recognises,
    open=_TuneReader,
    reads="rewards, successes, losses, KL, ratio, clipping, lengths, memory; times of the asynchronous recipe's workers",
    lacks="any time in the synchronous recipe: the progress bar of the console has it",
    more="the TensorBoard or W&B logger, which keep the time of each row",
)
