"""Lines that are a loop's rows where no others are.

`Ep 1 (Step 000005): Train loss 9.1, Val loss 9.2` tells of an evaluation between a loop's rows, or is the only row. What
stands below `epoch: 3` (`本轮训练时间: 477.43秒`, `Epoch time: 33.2s`) is of a step only where an epoch is all that is
counted.
"""

from __future__ import annotations

import re
from typing import Final

from parsers import clocks
from parsers.build import RunBuilder
from parsers.epochs import Epochs
from parsers.fields import spell
from parsers.keyvalue_lines import UNSURE, Line
from parsers.rows import RowWriter
from parsers.sorting import Sorted

#: So many of them are a loop's rows.
_FEWEST: Final = 2
_SHOWN_UNIT: Final = re.compile(r" \(s\)$")
#: Words of the time of an epoch, in a line below its head.
_EPOCH: Final = frozenset({"epoch", "this", "took", "taken", "round"})
_TIME: Final = _EPOCH | {"time", "train", "training", "seconds", "s", "total", "elapsed", "in", "iter", "for"}


class StandIn:
    """Keeps such lines as rows of their own, in case that no others come."""

    def __init__(self, build: RunBuilder) -> None:
        self._evaluated, self._headed = Instead(build), Instead(build)
        self._heading: tuple[int, int | None] | None = None
        self._timed = 0

    @property
    def found(self) -> Instead | None:
        """The rows that stand in; None while too few of them are known."""
        if self._evaluated.rows.rows >= _FEWEST:
            return self._evaluated
        return self._headed if self._timed >= _FEWEST else None

    def evaluation(self, line: Line, no: int) -> None:
        """A line that tells what an evaluation found, and the training's loss beside it."""
        if line.mark is None or line.mark.rank >= UNSURE or not line.telling or not line.values.known:
            return
        self._evaluated.write(line, line.values, no)

    def heading(self, epoch: int, planned: int | None) -> None:
        """What follows is of this epoch."""
        self._heading = epoch, planned

    def under(self, line: Line, no: int) -> None:
        """Metrics without a step, below an epoch's head."""
        if self._heading is None or line.mark is not None or line.bar is not None or line.headed:
            return
        epoch, planned = self._heading
        values = Sorted(columns=dict(line.values.columns), ranks=line.values.ranks, keys=line.values.keys, at=line.at)
        if (told := _time_of_epoch(line.values)) is not None:
            name, seconds = told
            values.clocks[f"{clocks.STEP}{name}"] = seconds
            self._timed += not self._headed.rows.has(epoch, values.clocks)
        if values.known:
            values.put("epoch", float(epoch), 9)
            values.total = planned
            self._headed.rows.write(epoch, values, no, line.at)
            self._headed.epochs.planned = planned or self._headed.epochs.planned


class Instead:
    """Rows that stand in, with all else that was found of the run."""

    def __init__(self, build: RunBuilder) -> None:
        self._of = build
        self._build = RunBuilder(build.origin, build.format_name, build.framework)
        self.rows = RowWriter(self._build)
        self.epochs = Epochs()

    def write(self, line: Line, values: Sorted, no: int) -> None:
        mark = line.mark
        assert mark is not None
        step = self.epochs.step(mark)
        if mark.total is not None:
            values.total = self.epochs.total(mark)
        if mark.epoch is not None:
            values.put("epoch", float(mark.epoch[0]), 9)
        self.rows.write(step, values, no, line.at)

    def builder(self) -> RunBuilder:
        """A builder of these rows, to write on."""
        build, of = self._build.fork(), self._of
        build.settings, build.zone_known, build.train_runtime_s = dict(of.settings), of.zone_known, of.train_runtime_s
        build.ended = of.ended
        for note in of.notes:
            build.note(note.kind, note.text, note.line)
        return build


def _time_of_epoch(values: Sorted) -> tuple[str, float] | None:
    """Name and seconds of the one time of a line, where it is an epoch's."""
    told = {name: seconds for name, (_, seconds) in values.phases.items()}
    told |= {_SHOWN_UNIT.sub("", name): took for name, took in values.extra.items() if _SHOWN_UNIT.search(name)}
    told |= {
        name.removeprefix(clocks.STEP): took for name, took in values.clocks.items() if name.startswith(clocks.STEP)
    }
    if len(told) != 1:
        return None
    name, seconds = next(iter(told.items()))
    words = set(spell(name).replace("/", "_").split("_"))
    return (name, seconds) if words <= _TIME else None
