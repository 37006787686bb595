"""Reads a console capture of an HF-Trainer run: pieces to bars, dicts and other lines; sessions and runs of a file."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers import trl_dict
from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.countdown import counted_down
from parsers.epochs import Epochs
from parsers.lines import LineReader
from parsers.text import Bar, Piece, YearlessClock, bars, stamp, stamp_has_zone
from parsers.trl_bars import TrainingBar, Turn, is_named
from parsers.trl_dict import Metrics
from parsers.trl_ending import Ending, How
from parsers.trl_facts import Facts
from parsers.trl_join import Joiner
from parsers.trl_rows import RowWriter
from parsers.trl_session import Session
from parsers.vllm import EngineLines
from timeledger.run import Run
from timeledger.said import say

_CHECKPOINT: Final = re.compile(r"[Ss]av(?:ed|ing)\b.*\bcheckpoint-(\d+)")
#: A dict that W&B drops stands in full in its warning: a copy of a row that is there already.
COPY: Final = "Dropping entry"
#: Lines kept between two runs of a file, for the settings of the second.
_HELD: Final = 400


class TrlReader(LineReader):
    """Reads a console capture piece by piece."""

    format_name = "trl"
    framework = "TRL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._bar = TrainingBar()
        self._facts = Facts()
        self._session = self._new_session(RowWriter(self.build))
        self._behind: list[Session] = []  # finished trainings whose last dicts are still in the process's buffer
        self._ending = Ending()
        self._held: list[str] = []
        self._joiner = Joiner()
        self._epochs = Epochs()
        self._engine = EngineLines(self.build)
        self._clock = YearlessClock(origin.modified)

    # --- pieces -------------------------------------------------------------------------------------------

    def take(self, piece: Piece) -> None:
        """Read one piece: bars, at most a few dicts, or a line of another kind."""
        text = piece.text
        if "%|" in text or "it [" in text:
            self._with_bars(text, piece.no)
        elif self._joiner.waits or "{'" in text or '{"' in text:
            self._with_dict(text, piece.no)
        else:
            self._other(text, piece.no)

    def _with_bars(self, text: str, line: int) -> None:
        """Bars, and what is glued to them: a dict before or behind, a warning or a traceback behind."""
        at = 0
        for bar in bars(text):
            if "{'" in bar.desc:
                self._with_dict(text[at : bar.start], line)
            self._take_bar(bar, line)
            at = bar.end
        if at == 0:
            self._with_dict(text, line)
        elif len(behind := text[at:].strip()) > 3:
            self._with_dict(behind, line)
        self._epochs.beside(text)
        if "toks/s" in text:
            self._engine.take(text, line, self._clock)

    def _with_dict(self, text: str, line: int) -> None:
        if COPY in text:
            return
        if not self._joiner.waits and "{'" not in text and '{"' not in text:
            self._other(text, line)
            return
        text, found = self._joiner.take(text), False
        for metrics in trl_dict.dicts(text):
            if metrics.kind is not None:
                found = True
                self._take_dict(metrics, text, line)
        if self._joiner.lost:
            self._joiner.lost = 0
            self.build.note("skipped", say("a metric dict that is cut off"), line)
            self._session.lost(line)
        if not found and not self._joiner.waits:
            self._other(text, line)

    def _other(self, text: str, line: int) -> None:
        if self._ending.take(text, line):
            self._bar.over = True
            return
        if "checkpoint-" in text and (saved := _CHECKPOINT.search(text)):
            self._saved(int(saved[1]), line)
        elif not self._bar.over and not self._bar.fresh:
            self._facts.take(text, self.build)
        elif len(self._held) < _HELD:
            self._held.append(text)
        if "INFO" in text or "WARNING" in text:
            self._engine.take(text, line, self._clock)

    # --- bars ---------------------------------------------------------------------------------------------

    def _take_bar(self, bar: Bar, line: int) -> None:
        if bar.desc.endswith("Writing model shards"):
            if bar.n == 0 and self._session.order.last > 0:
                self._saved(self._session.order.last, line)
            return
        bar = self._over_epochs(bar)
        turn = self._bar.see(bar)
        if turn is Turn.OTHER:
            return
        if turn is Turn.REPLACE:
            self._forget_bar(bar)
        elif turn is Turn.SESSION:
            self._begin(bar.total, line)
        elif turn is Turn.PROMOTE:
            self._promote(line)
            return
        self._state(bar, line)

    def _over_epochs(self, bar: Bar) -> Bar:
        """A loop of one's own may draw a bar an epoch, and print nothing that could be read."""
        if bar.total is None or self._session.order.count or not is_named(bar):
            return bar
        step, elapsed = self._epochs.bar(bar.n, bar.total), self._epochs.elapsed(bar.elapsed_s)
        if not self._epochs.begun:
            return bar
        return bar._replace(n=step, total=None, elapsed_s=elapsed, remaining_s=None)

    def _promote(self, line: int) -> None:
        """The bar that may be the next training's is it: take its states so far."""
        earlier = self._bar.promote()
        self._begin(earlier[0].total, line)
        self.build.settings.pop("total_steps", None)  # the bar's own holds
        for state in earlier:
            self._bar.see(state)
            self._state(state, line)

    def _state(self, bar: Bar, line: int) -> None:
        order, total = self._session.order, bar.total
        if total is None and "total_steps" in self.build.settings:
            del self.build.settings["total_steps"]
            self.build.note(
                "warning", say("the bar went past its total: the planned number of steps is not known"), line
            )
        elif total is not None and (bar.n == 0 or total != order.total or "total_steps" not in self.build.settings):
            self.build.setting("total_steps", total, say("progress bar"), replace=True)
        moved = bar.n > order.last
        if moved:
            self._ending.moved()
        self._session.bar(bar.n, total, bar.elapsed_s)
        self._bar.rows = self._bar.rows or (not moved and order.logs)
        self.build.progress(bar.n, total=total, elapsed_s=bar.elapsed_s, remaining_s=bar.remaining_s, line=line)
        if moved and (skipped := order.skipped(bar.n, bar.elapsed_s)) is not None:
            self.build.event("resume", line=line, step=skipped, text=f"continues behind step {skipped}")

    def _saved(self, step: int, line: int) -> None:
        if step != self._session.checkpoint:
            self._session.checkpoint = step
            self._session.order.saved(step)
            self.build.event("checkpoint", line=line, step=step)

    def _forget_bar(self, bar: Bar) -> None:
        """What was taken for the training bar was another (an evaluation before training): keep the settings only."""
        fresh = RunBuilder(self.origin, self.format_name, self.framework)
        fresh.settings = {name: value for name, value in self.build.settings.items() if value.source != "progress bar"}
        fresh.name, fresh.started_at, fresh.zone_known = self.build.name, self.build.started_at, self.build.zone_known
        self._use(fresh)
        self._session = self._new_session(RowWriter(fresh), bar.total)
        self._read_held()

    def _use(self, build: RunBuilder) -> None:
        self.build = build
        self._engine.build = build

    # --- sessions -----------------------------------------------------------------------------------------

    def _new_session(self, writer: RowWriter, total: int | None = None, before: Session | None = None) -> Session:
        return Session(writer, total, before, self._facts.plan)

    def _begin(self, total: int | None, line: int) -> None:
        """A training bar begins: the first of the file, another session of the run, or another run."""
        before = self._session
        late = before.late
        if not late:
            before.write()
        if not before.begun:
            self._session = self._new_session(before.writer, total)
        elif self._ended() == "finished" or (before.order.total is not None and total != before.order.total):
            self._close()
            if late:
                self._behind.append(before)
            self.next_run()
            self._use(self.build)
            self._session = self._new_session(RowWriter(self.build), total)
        else:
            if self._ending.kind is not None:
                self._finish(self.build)
            self.build.new_segment()
            self.build.event("restart", line=line, step=before.order.last or before.writer.last_step)
            self._session = self._new_session(before.writer, total, before)
            self._ending.restarted()
        self._bar.over = False
        self._read_held()

    def _read_held(self) -> None:
        for text in self._held:
            self._facts.take(text, self.build)
        self._held.clear()

    def _close(self) -> None:
        self._finish(self.build)
        self._facts, self._ending = Facts(), Ending()

    def _finish(self, build: RunBuilder) -> None:
        """What is known at the end of what is there: settings, and how it ended."""
        self._facts.finish(build)
        build.ended = self._ended()
        if build.last_step is None and build.settings.keys() <= {"total_steps"}:
            build.framework = None
            build.note(
                "guessed",
                say("only a progress bar and no metrics: whose it is, and whether of a training, is not known"),
            )
        if build.ended in {"crashed", "interrupted"}:
            step = self._session.order.last or None
            build.event("crash", line=self._ending.line, step=step, text=self._ending.text)

    def _ended(self) -> How | None:
        order = self._session.order
        full = order.total is not None and 0 < order.total <= order.last
        return "finished" if self._ending.finished else self._ending.kind or ("finished" if full else None)

    # --- dicts --------------------------------------------------------------------------------------------

    def _take_dict(self, metrics: Metrics, text: str, line: int) -> None:
        kind = metrics.kind
        if self._behind and self._for_earlier(metrics, line):
            return
        if kind == "end":
            self._session.end(metrics, line)
            self._ending.finished = self._bar.over = True
        elif kind == "eval":
            self._session.evaluation(metrics, line, self._moment(text, metrics))
        elif not (self._ending.finished and "step" in metrics.numbers):  # else: the history, printed at the end
            self._turn(metrics, line)
            self._bar.rows = True
            self._session.train(
                metrics, line, self._moment(text, metrics), text[max(0, metrics.start - 80) : metrics.start]
            )

    def _for_earlier(self, metrics: Metrics, line: int) -> bool:
        """Dicts leave the buffer in order: those of a finished training of the same process come first."""
        earlier = self._behind[0]
        if metrics.kind == "end":
            earlier.end(metrics, line)
            self._behind.pop(0)
            return True
        if earlier.order.owed == 0 and metrics.kind == "train":  # its end-of-run dict was lost or is not written
            earlier.write()
            self._behind.pop(0)
            return False
        if metrics.kind == "eval":
            earlier.evaluation(metrics, line, None)
        else:
            earlier.train(metrics, line, None)
        return True

    def _turn(self, metrics: Metrics, line: int) -> None:
        """A training dict may show that another run or session has begun."""
        back = self._session.went_back(metrics)
        if self._bar.candidate:
            self._promote(line)
        elif self._ending.finished or back:
            self._begin(None, line)
            self._bar.total = None
        else:
            return
        self._session.went_back(metrics)

    def _moment(self, text: str, metrics: Metrics) -> datetime | None:
        if metrics.start < 19:
            return None
        head = text[: metrics.start]
        at = stamp(head)
        if at is not None and not stamp_has_zone(head):
            self.build.zone_known = False
        return at

    def runs(self) -> tuple[Run, ...]:
        """Every run so far; rows whose step is not settled are placed as well as can be now."""
        build = self._session.provisional().build
        self._finish(build)
        late = {id(session.writer.build): session.provisional().build for session in self._behind}
        return tuple(counted_down(each.run()) for each in [*(late.get(id(done), done) for done in self._done), build])
