"""Reads hand-written training loops: joins their lines to steps."""

from __future__ import annotations

import re
from typing import Final

from parsers import around, clocks, deepspeed, endings, rates
from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.countdown import counted_down
from parsers.counters import renumbered
from parsers.endings import CHINESE, ENGLISH
from parsers.epochs import Epochs
from parsers.evaluations import Evaluations, believed, rare, with_sparse
from parsers.keyvalue_lines import UNSURE, VALIDATES, Line, read_line
from parsers.lines import LineReader
from parsers.marks import Mark
from parsers.moments import yearless
from parsers.nearby import BEGINS, Nearby, of_day
from parsers.prose import may_tell
from parsers.renames import resolver
from parsers.rounded import RoundedSteps
from parsers.rows import RowWriter
from parsers.shapes import Shapes
from parsers.sorting import Sorted, merge
from parsers.stand_in import Instead, StandIn
from parsers.stepless import is_certain, take_generation
from parsers.tables import TextTable
from parsers.text import Piece, YearlessClock, stamp_has_zone
from parsers.training_bars import Bars
from parsers.uncounted import ENOUGH, Uncounted
from parsers.vllm import EngineLines, mentions_engine
from timeledger.run import Run
from timeledger.said import say

_WORST: Final = 99
_DIGITS: Final = re.compile(r"\d+")
#: A logger's stamp ends within so many characters.
_PREFIXED: Final = 40
#: A row that tells so many things is one although it tells others than the rows before the run's end.
_TELLS: Final = 3
_GUESSED: Final = say("no step number in the log: rows are counted")


class KeyValueReader(LineReader):
    """Reads lines one by one; what a later line may still revise is settled in `runs` from all rows."""

    format_name = "keyvalue"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._look = resolver(origin.mapping)
        self._clock = YearlessClock(origin.modified)
        self._engine = EngineLines(self.build)
        self.engines = True
        self._table = TextTable(self._look)
        self._shapes = Shapes(lambda text: read_line(text, self._look))
        self._restart()

    def _restart(self) -> None:
        self._rows = RowWriter(self.build)
        self._family = _WORST
        self._mark: int | None = None
        self._mark_rank = _WORST
        self._open = False
        self._waiting: Sorted | None = None
        self._waiting_line = 0
        self._under_head: Sorted | None = None
        self._before: set[str] = set()
        self._counted = False
        #: counted rows that tell their time
        self._dated = 0
        self._uncounted = Uncounted()
        self._heads: set[str] = set()
        self._near: Nearby | None = Nearby()
        self._evaluations = Evaluations(self.build)
        #: an evaluation of a step was found that tells what it found
        self.evaluated = False
        self._epochs = Epochs()
        self._bars = Bars(self.build, self._epochs)
        self._stand_in = StandIn(self.build)
        self._rounded = RoundedSteps(self.build)
        self.ending = endings.Ending(self.build, self._epochs, lambda: self.rows)

    def feed(self, data: bytes) -> None:
        """Take a block of whole lines."""
        self.engines = mentions_engine(data)
        super().feed(data)

    def take(self, piece: Piece) -> None:
        """Read one piece."""
        no, text = piece
        if self.engines and self._engine.take(text, no, self._clock):
            self._open = False
            if self._near is not None:
                self._near.see(text)
            return
        if (ENGLISH in text or CHINESE in text) and self.rows:
            self.ending.hear(text)
        if "100%|" in text:
            self._evaluations.full_bar(text, line=no)
        raw = text.encode(errors="replace")
        if self._table.is_open:
            self._in_full(text, raw, no)
            return
        if (line := self._shapes.known(text, raw)) is not None:
            self._say(line, text, no)
            return
        if self._near is not None and text[0] in BEGINS:
            self._near.see(text)
        if self._open or may_tell(text, raw):
            self._in_full(text, raw, no)
        elif not self._rows.rows:
            self._prose(text, no)

    def _in_full(self, text: str, raw: bytes, no: int) -> None:
        if (cells := self._table.take(text)) is not None:
            self._take_row(cells, no)
        elif (line := read_line(text, self._look)) is None:
            self._epochs.beside(text)
            if self._near is not None and self._mark is not None and self._rows.last == self._mark:
                deepspeed.date(self.build, self._mark, text)
            self._prose(text, no)
        else:
            if not self._table.is_open and not line.dated:  # the numbers of a stamp are no values
                self._shapes.learn(text, raw)
            self._say(line, text, no)

    def _say(self, line: Line, text: str, no: int) -> None:
        if line.headed and line.values.epoch is not None:
            self._epochs.told(line.values.epoch, line.epochs)
            self._stand_in.heading(line.values.epoch, line.epochs)
        elif not self._rows.rows:
            self._stand_in.under(line, no)
        if line.kind == "epoch" or (line.kind == "other" and not self._open):
            self._prose(text, no)
            return
        if line.at is None:
            line.at = yearless(self.build, self._clock, text[:_PREFIXED])
        elif self.build.zone_known and not stamp_has_zone(text):
            self.build.zone_known = False
        self._use(line, no)

    # --- lines ---------------------------------------------------------------------------------------------------

    def _use(self, line: Line, no: int) -> None:
        if line.kind == "eval":
            self._evaluation(line, no)
        elif line.kind == "mark":
            self._head(line, no)
        elif line.kind == "row":
            self._row(line, no)
        elif line.kind == "other":
            if self._mark is not None and self._rows.last == self._mark:
                self._write(self._mark, line, no)
        else:
            self._metrics(line, no)

    def _row(self, line: Line, no: int) -> None:
        mark = line.mark or Mark(line.values.epoch or 0, line.epochs, 9, "epoch")
        if mark.rank >= 8 and self._family < 8:
            line.sub, line.values.step = True, None  # `0: kl=..` within a loop that names its steps
            if line.mark is None:  # what an epoch took is no time of its last step
                line.values.clocks.clear()
            self._metrics(line, no)
            return
        if mark.rank < self._family:
            self._better(mark)
        elif mark.rank > self._family:
            if VALIDATES.search(line.text):
                self._evaluation(line, no)
            elif line.bar is not None:
                self._bars.elapsed(line.bar)
            return
        mark.step = self._rounded.step(mark, line.values, no)
        foreign = line.bar is None and self._rows.is_foreign(self._epochs.peek(mark), line.values)
        if (foreign and not (self.ending.over and line.known >= _TELLS)) or not self.ending.row(mark, no):
            return
        step = self._epochs.step(mark)
        if mark.epoch is not None:
            line.values.put("epoch", float(mark.epoch[0]), 9)
        if mark.total is None and line.bar is not None and line.bar.n == mark.step:
            mark.total = line.bar.total
        if mark.total is not None:
            line.values.total = self._epochs.total(mark)
        if line.bar is not None:
            self._bars.row(line, line.bar, step, no)
        self._write(step, line, no, first=True)
        self._open = True

    def _better(self, mark: Mark) -> None:
        """A better step mark than any before: rows under worse ones were parts of steps."""
        under = self._under_head if self._family == _WORST and self._mark_rank > mark.rank else None
        if self._rows.rows and (self._family < _WORST or under is not None or self._counted):
            self._begin_anew()
        if under is not None:  # `Iteration 1/3` stood before the loop: what came then is the first step's
            self._waiting, self._before = under, set(under.names)
        self._family = mark.rank

    def _begin_anew(self) -> None:
        """What was taken for steps so far were none."""
        self.build = RunBuilder(self.origin, self.format_name, self.framework)
        self._engine.build = self.build
        self._restart()

    def _write(self, step: int, line: Line, no: int, *, first: bool = False) -> None:
        values = line.values
        if first and self._waiting is not None and not line.sub:
            if not self._rows.rows and no - self._waiting_line > endings.START_UP:
                endings.forget_whole(self._waiting)
            merge(values, self._waiting)
            self._waiting = None
        if line.at is not None:
            self._near = None
        elif line.clock is not None or self._near is not None:
            self._time_around(line, first)
        self._rows.write(step, values, no, line.at, sub=line.sub)
        self._mark, self._mark_rank = step, min(self._mark_rank, self._family)

    def _tell_time(self, line: Line) -> None:
        """A line's own time goes with its values, which may have to wait for their step."""
        line.values.at = line.values.at or line.at
        if line.clock is not None and line.at is None:
            line.values.extra.setdefault(clocks.DAY_CLOCK, of_day(line.clock))

    def _time_around(self, line: Line, first: bool) -> None:
        """A row without a date has a time of day, or that of the last line before it; rows that tell a time need no other."""
        self._tell_time(line)
        if line.clock is not None or not first or self._near is None:
            return
        if line.values.at is not None or line.values.clocks or line.bar is not None:
            self._near = None
        elif (seen := self._near.take()) is not None:
            line.values.extra[clocks.NEAR_CLOCK] = seen

    def _head(self, line: Line, no: int) -> None:
        """A step's head (`Iter 25:`), or a bar: what follows without a step is this step's, where that is plausible."""
        mark = line.mark
        if mark is None and line.bar is not None and line.bar.total is not None:
            mark = self._bars.head(line.bar, line.bar.total, no)
        if mark is None or mark.rank > min(self._family, self._mark_rank) or mark.total == 1:
            return  # `Iteration 1/1` is a loop around the steps
        last = self._rows.last
        style = _DIGITS.sub("#", line.text.strip())
        near = last is None or mark.step == last or line.bar is not None or mark.step - last == (self._rows.gap or 1)
        trusted = (
            line.pure and last is not None and mark.step > last and (self._rows.gap is None or style in self._heads)
        )
        again = mark.step == self._mark  # `Iteration 1 metrics:` behind `Iteration 1/50`
        if (near and (line.pure or last is not None or line.bar is not None)) or trusted or again:
            self._heads.add(style)
            self._mark, self._mark_rank, self._open = mark.step, mark.rank, line.bar is None
            if mark.total is not None and line.bar is None:
                self._rows.plan(mark.total)

    def _metrics(self, line: Line, no: int) -> None:
        """Metrics without a step: of the open block's step, of the step to come, or counted."""
        values = line.values
        if self.ending.closes(values, self._rows):
            self._open = False
            return
        certain = is_certain(values)
        self._tell_time(line)
        if not (self._open or line.known >= 3 or certain):
            self._alone(line, no)
            return
        take_generation(values)
        names = values.names
        if self._mark is None or names & self._before:
            self._wait(line, names, no)
        elif not self._rows.has(self._mark, names) or line.sub or self._open:
            if self._family == _WORST:
                self._under_head = values
            self._write(self._mark, line, no)
        else:
            self._wait(line, names, no)

    def _alone(self, line: Line, no: int) -> None:
        """One or two metrics without a step: a setting in front of the rows, or one of many alike lines."""
        if not self._rows.rows:
            around.setting(self.build, line.text, no)
        if self._family == _WORST and self._mark is None and self._waiting is None:
            for values, place in self._uncounted.take(line, no):
                self._count(values, place)

    def _wait(self, line: Line, names: set[str], no: int) -> None:
        if not self._rows.rows:
            self._before |= names
        if self._waiting is None:
            self._waiting, self._waiting_line = line.values, no
            return
        again = {*self._waiting.columns, *self._waiting.clocks} & {*line.values.columns, *line.values.clocks}
        if len(again) >= 2 and (self._mark is None or self._counted):
            first, place = self._waiting, self._waiting_line
            if self._uncounted.chosen is not None:  # richer lines than those counted so far
                self._begin_anew()
            self._count(first, place)
            self._waiting, self._waiting_line = line.values, no
        elif again:
            merge(line.values, self._waiting)
            self._waiting = line.values
        else:
            merge(self._waiting, line.values)

    def _count(self, values: Sorted, no: int) -> None:
        """Rows without any step number are counted."""
        self._counted = True
        self._dated += values.at is not None or clocks.DAY_CLOCK in values.extra or bool(values.clocks)
        self._rows.write((self._rows.last or 0) + 1, values, no)
        self.build.note("guessed", _GUESSED, no)

    def _prose(self, text: str, no: int) -> None:
        """Any other line: it ends a block; in front of the first row it may be a setting."""
        if not text.strip(" \t-=*#_~|─═╰╭╮╯│") or text.rstrip().endswith(":"):
            return
        self._open = False
        if not self._rows.rows:
            around.setting(self.build, text, no)

    def _evaluation(self, line: Line, no: int) -> None:
        """An evaluation of the step it names, else of the last one; lines of one evaluation are one event."""
        mark, last = line.mark, self._rows.last
        if mark is not None and mark.rank >= UNSURE and mark.step != last:
            return  # a batch of it
        self.evaluated = self.evaluated or (line.telling and mark is not None and mark.rank < UNSURE)
        if not self._rows.rows:
            self._tell_time(line)
            self._stand_in.evaluation(line, no)
        step = last if mark is None else mark.step
        if step is None or (self.ending.over and last is not None and step < last):
            return  # of a run to come
        took = next((seconds for phase, seconds in line.values.phases.values() if phase == "evaluation"), None)
        self._evaluations.tell(step, took, line=no, at=line.at, text=line.text.strip())

    def _take_row(self, cells: Sorted, no: int) -> None:
        if cells.step is not None and cells.known >= 1:
            self._better(Mark(cells.step, None, 0)) if self._family else None
            self._rows.write(cells.step, cells, no)
            self._mark, self._mark_rank, self._open = cells.step, 0, False

    @property
    def _instead(self) -> Instead | None:
        """What stands for the rows where there are none, nor a bar that tells as much."""
        return None if self._rows.rows or self._bars.shown else self._stand_in.found

    @property
    def _written(self) -> RowWriter:
        found = self._instead
        return self._rows if found is None else found.rows

    @property
    def rows(self) -> int:
        """How many steps were found so far."""
        return self._written.rows

    @property
    def found(self) -> bool:
        """True when a metric of a step was found, be it without a step number, or a trainer's own progress."""
        return self.rows > 0 or self._waiting is not None or self._bars.shown

    @property
    def shown(self) -> bool:
        """True when a trainer's own progress was found."""
        return self._bars.shown

    @property
    def richest(self) -> int:
        """How many things the step tells that tells most."""
        return self._written.richest()

    @property
    def alike(self) -> bool:
        """True when the steps have numbers of their own and look like rows of one log."""
        return not self._counted and self._written.alike()

    @property
    def counted(self) -> bool:
        """True when many rows without numbers of their own are alike and tell their time."""
        return self._dated >= max(ENOUGH, 0.8 * self.rows) and self._rows.alike()

    # --- the end -------------------------------------------------------------------------------------------------

    def runs(self) -> tuple[Run, ...]:
        """The run so far: times whose role was open are settled from all rows."""
        build, rows, counts = self.build, self._rows, self._epochs
        if (found := self._instead) is not None:
            build, rows, counts = found.builder(), found.rows, found.epochs
        elif self._waiting is not None and (self._counted or not rows.rows):
            build = self.build.fork()
            rows = RowWriter(build)
            step = (self._rows.last or 0) + 1 if self._mark is None else self._mark
            rows.write(step, self._waiting, self._waiting_line)
            build.note("guessed", _GUESSED, self._waiting_line)
        bar = self._bars.total if self._bars.shown and not self._rows.rows else None
        counts.settle(build, self._written.total, self.rows, bar)
        self.ending.settle(build)
        run, planned = renumbered(build.run())
        run = counted_down(clocks.settle(run, rows.step_key), planned)
        return (with_sparse(rare(believed(rates.timed(run)))),)
