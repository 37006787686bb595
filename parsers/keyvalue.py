"""Hand-written training loops: one line a step in any syntax, or a block of lines, between prose, samples and bars.

What counts as a metric line is decided in `keyvalue_lines`; this module joins the lines to steps.
"""

from __future__ import annotations

import re
from typing import Final

from parsers import clocks, fields
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.epochs import Epochs
from parsers.evaluations import Evaluations, believed, with_sparse
from parsers.keyvalue_lines import UNSURE, VALIDATES, Line, read_line
from parsers.lines import LineReader
from parsers.marks import Mark
from parsers.moments import yearless
from parsers.prose import may_tell
from parsers.renames import resolver
from parsers.rows import RowWriter
from parsers.shapes import Shapes
from parsers.sorting import Sorted, merge
from parsers.stepless import is_certain, take_generation
from parsers.tables import TextTable
from parsers.text import Bar, Piece, YearlessClock, stamp_has_zone
from parsers.vllm import EngineLines, mentions_engine
from timeledger.run import Run
from timeledger.said import say

_WORST: Final = 99
_DIGITS: Final = re.compile(r"\d+")
#: A source of so few lines may be a run although it names no step.
_SHORT: Final = 40
#: In a longer source one row alone must tell so many things.
_RICH: Final = 4
#: So many rows settle what a source is, when they are alike.
_ENOUGH: Final = 8
#: A logger's stamp ends within so many characters.
_PREFIXED: Final = 40
_GUESSED: Final = say("no step number in the log: rows are counted")


class _KeyValueReader(LineReader):
    """Reads lines one by one; what a later line may still revise is settled in `runs` from all rows."""

    format_name = "keyvalue"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._look = resolver(origin.mapping)
        self._clock = YearlessClock(origin.modified)
        self._engine = EngineLines(self.build)
        self._engines = True
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
        self._bar_total: int | None = None
        self._heads: set[str] = set()
        self._shown = False
        self._evaluations = Evaluations(self.build)
        #: an evaluation of a step was found that tells what it found
        self.evaluated = False
        self._epochs = Epochs()

    def feed(self, data: bytes) -> None:
        """Take a block of whole lines."""
        self._engines = mentions_engine(data)
        super().feed(data)

    def take(self, piece: Piece) -> None:
        """Read one piece."""
        no, text = piece
        if self._engines and self._engine.take(text, no, self._clock):
            self._open = False
            return
        raw = text.encode(errors="replace")
        if self._table.is_open:
            self._in_full(text, raw, no)
        elif (line := self._shapes.known(text, raw)) is not None:
            self._say(line, text, no)
        elif self._open or may_tell(text, raw):
            self._in_full(text, raw, no)
        elif not self._rows.rows:
            self._prose(text, no)

    def _in_full(self, text: str, raw: bytes, no: int) -> None:
        if (cells := self._table.take(text)) is not None:
            self._take_row(cells, no)
        elif (line := read_line(text, self._look)) is None:
            self._prose(text, no)
        else:
            if not self._table.is_open and not line.dated:  # the numbers of a stamp are no values
                self._shapes.learn(text, raw)
            self._say(line, text, no)

    def _say(self, line: Line, text: str, no: int) -> None:
        if line.kind == "other" and not self._open:
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
        mark = line.mark or Mark(line.values.epoch or 0, None, 9, "epoch")
        if mark.rank >= 8 and self._family < 8:
            line.sub, line.values.step = True, None  # `0: kl=..` within a loop that names its steps
            self._metrics(line, no)
            return
        if mark.rank < self._family:
            self._better(mark)
        elif mark.rank > self._family:
            if VALIDATES.search(line.text):
                self._evaluation(line, no)
            return
        if self._rows.is_foreign(self._epochs.peek(mark), line.values):
            return
        step = self._epochs.step(mark)
        if mark.epoch is not None:
            line.values.put("epoch", float(mark.epoch[0]), 9)
        if mark.total is None and line.bar is not None and line.bar.n == mark.step:
            mark.total = line.bar.total
        if mark.total is not None:
            line.values.total = self._epochs.total(mark)
        if line.bar is not None:
            self._from_bar(line, step, no)
        self._write(step, line, no, first=True)
        self._open = True

    def _better(self, mark: Mark) -> None:
        """A better step mark than any before: rows under worse ones were parts of steps."""
        under = self._under_head if self._family == _WORST and self._mark_rank > mark.rank else None
        if self._rows.rows and (self._family < _WORST or under is not None):
            self.build = RunBuilder(self.origin, self.format_name, self.framework)
            self._engine.build = self.build
            self._restart()
        if under is not None:  # `Iteration 1/3` stood before the loop: what came then is the first step's
            self._waiting, self._before = under, set(under.names)
        self._family = mark.rank

    def _write(self, step: int, line: Line, no: int, *, first: bool = False) -> None:
        values = line.values
        if first and self._waiting is not None and not line.sub:
            merge(values, self._waiting)
            self._waiting = None
        if line.clock is not None and line.at is None:
            values.extra.setdefault(clocks.DAY_CLOCK, _of_day(line.clock))
        self._rows.write(step, values, no, line.at, sub=line.sub)
        self._mark, self._mark_rank = step, min(self._mark_rank, self._family)

    def _from_bar(self, line: Line, step: int, no: int) -> None:
        """The bar's clock is the run's (over all epochs); its rate is a smoothed mean."""
        bar = line.bar
        assert bar is not None
        elapsed = self._epochs.elapsed(bar.elapsed_s)
        line.values.put("elapsed_s", elapsed, 5)
        if bar.rate_s is not None and line.mark is not None and line.mark.word == "bar":
            line.values.clocks.setdefault(clocks.BAR_RATE, bar.rate_s)
        self._progress(bar, step, elapsed, no)

    def _progress(self, bar: Bar, step: int, elapsed: float, no: int) -> None:
        if bar.total is None:
            return
        self._bar_total = bar.total
        epochs = self._epochs.planned or 1
        remaining = bar.remaining_s if epochs == 1 else None
        self.build.progress(step, total=bar.total * epochs, elapsed_s=elapsed, remaining_s=remaining, line=no)

    def _head(self, line: Line, no: int) -> None:
        """A step's head (`Iter 25:`), or a bar: what follows without a step is this step's, where that is plausible."""
        mark = line.mark
        if mark is None and line.bar is not None and line.bar.total is not None:
            if not line.bar.desc and line.bar.total != self._bar_total:
                return  # any program's bar
            mark = Mark(line.bar.n, line.bar.total, 6, "bar")
            self._progress(line.bar, line.bar.n, line.bar.elapsed_s, no)
            self._shown = self._shown or line.bar.desc == "train"
        if mark is None or mark.rank > min(self._family, self._mark_rank) or mark.total == 1:
            return  # `Iteration 1/1` is a loop around the steps
        last = self._rows.last
        style = _DIGITS.sub("#", line.text.strip())
        near = last is None or mark.step == last or line.bar is not None or mark.step - last == (self._rows.gap or 1)
        trusted = (
            line.pure and last is not None and mark.step > last and (self._rows.gap is None or style in self._heads)
        )
        if (near and (line.pure or last is not None or line.bar is not None)) or trusted:
            self._heads.add(style)
            self._mark, self._mark_rank, self._open = mark.step, mark.rank, line.bar is None
            if mark.total is not None and line.bar is None:
                self._rows.total = max(mark.total, self._rows.total or 0)

    def _metrics(self, line: Line, no: int) -> None:
        """Metrics without a step: of the open block's step, of the step to come, or counted."""
        values = line.values
        certain = is_certain(values)
        if not (self._open or line.known >= 3 or certain):
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

    def _wait(self, line: Line, names: set[str], no: int) -> None:
        if not self._rows.rows:
            self._before |= names
        if self._waiting is None:
            self._waiting, self._waiting_line = line.values, no
            return
        again = {*self._waiting.columns, *self._waiting.clocks} & {*line.values.columns, *line.values.clocks}
        if len(again) >= 2 and (self._mark is None or self._counted):
            self._count(self._waiting_line)
            self._waiting, self._waiting_line = line.values, no
        elif again:
            merge(line.values, self._waiting)
            self._waiting = line.values
        else:
            merge(self._waiting, line.values)

    def _count(self, no: int) -> None:
        """Rows without any step number are counted."""
        if self._waiting is None:
            return
        self._counted = True
        self._rows.write((self._rows.last or 0) + 1, self._waiting, no)
        self.build.note("guessed", _GUESSED, no)
        self._waiting = None

    def _prose(self, text: str, no: int) -> None:
        """Any other line: it ends a block; in front of the first row it may be a setting."""
        if not text.strip(" \t-=*#_~|─═╰╭╮╯│") or text.rstrip().endswith(":"):
            return
        self._open = False
        if not self._rows.rows:
            self._setting(text, no)

    def _setting(self, text: str, no: int) -> None:
        key, sep, raw = text.strip(" -*│|").partition(":" if ":" in text else "=")
        name = fields.setting(key.rsplit("|", 1)[-1].strip()) if sep and len(key) < 80 else None
        value = fields.setting_value(name, raw.strip(" ,'\"")) if name is not None else None
        if name is not None and value is not None:
            self.build.setting(name, value, f"line {no}: {text.strip()[:80]}")

    def _evaluation(self, line: Line, no: int) -> None:
        """An evaluation of the step it names, else of the last one; lines of one evaluation are one event."""
        mark, last = line.mark, self._rows.last
        if mark is not None and mark.rank >= UNSURE and mark.step != last:
            return  # a batch of it
        self.evaluated = self.evaluated or (line.telling and mark is not None and mark.rank < UNSURE)
        step = last if mark is None else mark.step
        if step is None:
            return
        took = next((seconds for phase, seconds in line.values.phases.values() if phase == "evaluation"), None)
        self._evaluations.tell(step, took, line=no, at=line.at, text=line.text.strip())

    def _take_row(self, cells: Sorted, no: int) -> None:
        if cells.step is not None and cells.known >= 1:
            self._better(Mark(cells.step, None, 0)) if self._family else None
            self._rows.write(cells.step, cells, no)
            self._mark, self._mark_rank, self._open = cells.step, 0, False

    @property
    def rows(self) -> int:
        """How many steps were found so far."""
        return self._rows.rows

    @property
    def found(self) -> bool:
        """True when a metric of a step was found, be it without a step number, or a trainer's own progress."""
        return self._rows.rows > 0 or self._waiting is not None or self._shown

    @property
    def richest(self) -> int:
        """How many things the step tells that tells most."""
        return self._rows.richest()

    @property
    def alike(self) -> bool:
        """True when the steps have numbers of their own and look like rows of one log."""
        return not self._counted and self._rows.alike()

    # --- the end -------------------------------------------------------------------------------------------------

    def runs(self) -> tuple[Run, ...]:
        """The run so far: times whose role was open are settled from all rows."""
        build, rows = self.build, self._rows
        if self._waiting is not None and (self._counted or not rows.rows):
            build = self.build.fork()
            rows = RowWriter(build)
            rows.write(
                (self._rows.last or 0) + 1 if self._mark is None else self._mark, self._waiting, self._waiting_line
            )
            build.note("guessed", _GUESSED, self._waiting_line)
        total = self._epochs.whole(self._rows.total, self._rows.rows)
        if total is not None:
            build.setting("total_steps", total, say("the step count's own total"), replace=True)
        if self._epochs.planned is not None:
            build.setting("epochs", self._epochs.planned, say("epoch e/E"), replace=True)
        return (with_sparse(believed(clocks.settle(build.run()))),)


def _of_day(clock: str) -> float:
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds)


def recognises(head: Head) -> Confidence:
    """LIKELY: two rows of one shape and different steps. MAYBE: one row, or a short source with metrics and no step."""
    reader = _KeyValueReader(Origin(head.name))
    first, enough = "", _ENOUGH
    for no, text in enumerate(head.lines, 1):
        reader.take(Piece(no, text))
        first = first or (text.strip()[:100] if reader.found or reader.evaluated else "")
        if reader.rows >= enough:
            if reader.alike:  # the rest of the head would say the same
                break
            enough *= 2
    if reader.rows >= 2 and reader.alike:
        return Confidence(Sure.LIKELY, first)
    few = head.whole and len(head.lines) <= _SHORT
    if (reader.rows and (few or reader.richest >= _RICH)) or ((reader.found or reader.evaluated) and few):
        return Confidence(Sure.MAYBE, first)
    return NO


KEYVALUE: Final = Format(
    name="keyvalue",
    title="Hand-written loop",
    kind="lines",
    recognises=recognises,
    open=_KeyValueReader,
    reads="one line or block a step in any syntax: `step 3 | len 152 | reward 0.53 | time 33.1s`, `[step 3/200] loss=0.1 dt=12s`, "
    "dicts, progress bars with metrics, markdown tables; English and Chinese names; phases with a unit (`rollout=12.0s`)",
    lacks="whatever is not printed; without any time the progress bar's clock or the logger's time stamps are used",
    more='print(f"step {step}/{total} | len {length:.0f} | reward {reward:.3f} | rollout {gen:.1f}s | update {train:.1f}s | time {dt:.1f}s")',
    role="own",
    most=Sure.LIKELY,
)
