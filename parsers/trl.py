"""Console captures of TRL and everything else that logs through the HF Trainer: SFT, DPO, GRPO, RLOO, PPO, Unsloth, ms-swift.

What such a console holds is a progress bar and metric dicts without a step; `trl_steps` says how the two are brought
together. A file may hold several sessions of one run (resume, restart) and several runs.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers import swift, trl_dict
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.lines import LineReader
from parsers.text import Bar, Piece, YearlessClock, bars, stamp, stamp_has_zone
from parsers.trl_bars import TrainingBar, Turn
from parsers.trl_dict import Metrics
from parsers.trl_ending import Ending
from parsers.trl_facts import Facts
from parsers.trl_join import Joiner
from parsers.trl_rows import Record, RowWriter, gaps
from parsers.trl_steps import Order, Spacing
from parsers.vllm import EngineLines
from timeledger.run import NoteKind, Run

_CHECKPOINT: Final = re.compile(r"[Ss]av(?:ed|ing)\b.*\bcheckpoint-(\d+)")
#: A dict that the logger drops stands in full in its warning: a copy of a row that is there already.
_COPY: Final = "Dropping entry"
#: Words of a start-up that belong to an HF trainer.
_BANNERS: Final = re.compile(
    r"Total optimization steps|Unsloth|\[transformers\]|transformers/|\btrl/|use_cache=True|torch_dtype|max_steps is given|"
    r"Running training|PAD/BOS/EOS tokens|trainable params: "
)
#: Lines kept between two runs of a file, for the settings of the second.
_HELD: Final = 400


class TrlReader(LineReader):
    """Reads a console capture piece by piece."""

    format_name = "trl"
    framework = "TRL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._bar = TrainingBar()
        self._order = Order()
        self._waiting: list[Record] = []
        self._index = 0  # training dicts of this session that have got their step
        self._writer = RowWriter(self.build)
        self._explicit: list[int] = []
        self._per_step: float | None = None  # episodes a step, of the older PPO
        self._ending = Ending()
        self._facts = Facts()
        self._held: list[str] = []
        self._joiner = Joiner()
        self._engine = EngineLines(self.build)
        self._clock = YearlessClock(origin.modified)
        self._checkpoint = -1
        self._previous: Metrics | None = None
        self._epoch: float | None = None

    # --- pieces -------------------------------------------------------------------------------------------

    def take(self, piece: Piece) -> None:
        """Read one piece: bars, at most a few dicts, or a line of another kind."""
        text = piece.text
        if "%|" in text or "it [" in text:
            self._with_bars(piece)
        elif self._joiner.waits or "{'" in text or '{"' in text:
            self._with_dict(text, piece.no)
        else:
            self._other(text, piece.no)

    def _with_bars(self, piece: Piece) -> None:
        """Bars, and what is glued to them: a dict before or behind, a warning or a traceback behind."""
        text, at = piece.text, 0
        for bar in bars(text):
            if "{'" in bar.desc:
                self._with_dict(text[at : bar.start], piece.no)
            self._take_bar(bar, piece.no)
            at = bar.end
        if at == 0:
            self._with_dict(text, piece.no)
        elif len(behind := text[at:].strip()) > 3:
            self._with_dict(behind, piece.no)
        if "toks/s" in text:
            self._engine.take(text, piece.no, self._clock)

    def _with_dict(self, text: str, line: int) -> None:
        if _COPY in text:
            return
        if not self._joiner.waits and "{'" not in text and '{"' not in text:
            self._other(text, line)
            return
        text = self._joiner.take(text)
        found = False
        for metrics in trl_dict.dicts(text):
            if metrics.kind is not None:
                found = True
                self._take_dict(metrics, text, line)
        if self._joiner.lost:
            self._joiner.lost = 0
            self.build.note("skipped", "a metric dict that is cut off", line)
            self._order.dict(None, (None, None))  # it was a logged step all the same
            self._waiting.append(Record("train", Metrics({}, {}, False, 0, 0), line))
        if not found and not self._joiner.waits:
            self._other(text, line)

    def _other(self, text: str, line: int) -> None:
        if self._ending.take(text, line):
            self._bar.over = True
            return
        if "checkpoint-" in text and (saved := _CHECKPOINT.search(text)):
            self._saved(int(saved[1]), line)
        elif self._bar.over or self._bar.fresh:
            if len(self._held) < _HELD:
                self._held.append(text)
        else:
            self._facts.take(text, self.build)
        if "INFO" in text or "WARNING" in text:
            self._engine.take(text, line, self._clock)

    # --- bars ---------------------------------------------------------------------------------------------

    def _take_bar(self, bar: Bar, line: int) -> None:
        if bar.desc.endswith("Writing model shards") or bar.desc.endswith("Writing model shards:"):
            if bar.n == 0 and self._order.last > 0:
                self._saved(self._order.last, line)
            return
        turn = self._bar.see(bar)
        if turn is Turn.OTHER:
            return
        if turn is Turn.REPLACE:
            self._forget_bar()
        elif turn is Turn.SESSION:
            earlier = self._bar.candidate
            self._begin(bar.total, line)
            for state in earlier:
                self._state(state, line)
        self._state(bar, line)

    def _state(self, bar: Bar, line: int) -> None:
        total = bar.total
        if total is None and "total_steps" in self.build.settings:
            del self.build.settings["total_steps"]
            self.build.note("warning", "the bar went past its total: the planned number of steps is not known", line)
        elif total is not None:
            self.build.setting("total_steps", total, "progress bar", replace=True)
        moved = bar.n > self._order.last
        if moved:
            self._ending.moved()
        self._order.bar(bar.n)
        self._order.total = total
        self.build.progress(bar.n, total=total, elapsed_s=bar.elapsed_s, remaining_s=bar.remaining_s, line=line)
        if moved:
            self._resumed(bar, line)
        if self._waiting:
            self._settle()

    def _resumed(self, bar: Bar, line: int) -> None:
        """A first state far beyond step 1, reached in no time: steps of an earlier session are skipped."""
        skipped = self._order.skipped(bar.n, bar.elapsed_s)
        if skipped is not None:
            self.build.event("resume", line=line, step=skipped, text=f"continues behind step {skipped}")

    def _saved(self, step: int, line: int) -> None:
        if step != self._checkpoint:
            self._checkpoint = step
            self.build.event("checkpoint", line=line, step=step)

    def _forget_bar(self) -> None:
        """What was taken for the training bar was another (an evaluation before training): keep the settings only."""
        fresh = RunBuilder(self.origin, self.format_name, self.framework)
        fresh.settings = {name: value for name, value in self.build.settings.items() if value.source != "progress bar"}
        fresh.name, fresh.started_at, fresh.zone_known = self.build.name, self.build.started_at, self.build.zone_known
        self._use(fresh)
        self._order = Order()

    def _use(self, build: RunBuilder) -> None:
        self.build = build
        self._writer.build = build
        self._engine.build = build

    # --- sessions -----------------------------------------------------------------------------------------

    def _begin(self, total: int | None, line: int) -> None:
        """A training bar begins: the first of the file, another session of the run, or another run."""
        before = self._order
        self._write_waiting(self._writer, final=True)
        if before.count or before.last:
            if self._ended() == "finished" or (total != before.total and before.total is not None):
                self._close()
                self.next_run()
                self._writer = RowWriter(self.build)
                self._use(self.build)
            else:
                if self._ending.kind is not None:
                    self._finish(self.build)
                self.build.new_segment()
                self._ending.restarted()
                self.build.event("restart", line=line, step=before.last)
        hint = before.spacing().interval if before.count else None
        self._order = Order(total=total, hint=hint, again=self.build.segment > 0)
        self._index, self._checkpoint, self._explicit, self._per_step = 0, -1, [], None
        self._epoch = None
        self._writer.begin(0)
        self._bar.over = False
        for text in self._held:
            self._facts.take(text, self.build)
        self._held.clear()

    def _close(self) -> None:
        self._finish(self.build)
        self._facts = Facts()
        self._ending = Ending()

    def _finish(self, build: RunBuilder) -> None:
        """What is known at the end of what is there: settings, and how it ended."""
        self._facts.finish(build)
        build.ended = self._ended()
        if build.ended in {"crashed", "interrupted"}:
            build.event("crash", line=self._ending.line, step=self._order.last or None, text=self._ending.text)

    def _ended(self) -> Ending.Kind | None:
        if self._ending.finished:
            return "finished"
        full = self._order.total is not None and 0 < self._order.total <= self._order.last
        return self._ending.kind or ("finished" if full else None)

    # --- dicts --------------------------------------------------------------------------------------------

    def _take_dict(self, metrics: Metrics, text: str, line: int) -> None:
        kind = metrics.kind
        if kind == "end":
            self._end(metrics, line)
            return
        if self._bar.candidate and kind == "train":
            earlier = self._bar.promote()
            self._begin(earlier[0].total, line)
            for state in earlier:
                self._state(state, line)
        elif self._ending.finished and kind == "train":
            if metrics.words.keys() | metrics.numbers.keys() >= {"step"}:
                return  # the history of the run, printed at its end
            self._begin(None, line)
            self._bar.total = None
        if kind == "train":
            self._went_back(metrics, line)
            self._train(metrics, text, line)
        elif kind == "eval":
            self._waiting.append(Record("eval", metrics, line, self._moment(text, metrics)))
            self._settle()

    def _went_back(self, metrics: Metrics, line: int) -> None:
        """Without a bar, an epoch that falls is another session."""
        epoch = metrics.numbers.get("epoch")
        if epoch is not None:
            if not self._order.has_bar and self._epoch is not None and epoch < self._epoch - 1e-9:
                self._begin(None, line)
            self._epoch = epoch

    def _moment(self, text: str, metrics: Metrics) -> datetime | None:
        head = text[: metrics.start]
        at = stamp(head) if len(head) >= 19 else None
        if at is not None and not stamp_has_zone(head):
            self.build.zone_known = False
        return at

    def _train(self, metrics: Metrics, text: str, line: int) -> None:
        if metrics.start > 3 and self._previous is not None and self._previous.numbers == metrics.numbers:
            return  # a logger repeats what was printed
        self._previous = metrics
        self._bar.rows = True
        own = swift.without_progress(metrics)
        record = Record("train", own, line, self._moment(text, metrics))
        step = self._own_step(metrics, line)
        if step is not None:
            spans = dict(gaps(step, self._explicit))
            where = swift.place(metrics.words, metrics.numbers)
            self._writer.train(record, step, spans.pop(step, None), where.elapsed_s if where else None)
            for other, span in spans.items():
                self.build.row(other, {"span": span})
            return
        numbers = own.numbers
        lengths = (numbers.get("completions/min_length"), numbers.get("completions/max_length"))
        self._order.dict(numbers.get("epoch"), lengths)
        self._waiting.append(record)
        self._settle()

    def _own_step(self, metrics: Metrics, line: int) -> int | None:
        """The step that a dict names itself: ms-swift's, a loop's own, or counted in episodes."""
        where = swift.place(metrics.words, metrics.numbers)
        if where is not None:
            self.build.framework = "ms-swift"
            self.build.setting("total_steps", where.total, "global_step/max_steps")
            return where.step
        numbers = metrics.numbers
        for key in ("step", "global_step"):
            if key in numbers and numbers[key].is_integer() and numbers[key] >= 0:
                return int(numbers[key])
        if "episode" in numbers and "eps" in numbers and numbers["episode"] > 0:
            if self._per_step is None:
                self._per_step = numbers["episode"] / (self._order.last + 1)
            return round(numbers["episode"] / self._per_step)
        return None

    def _end(self, metrics: Metrics, line: int) -> None:
        runtime, pace = metrics.numbers["train_runtime"], metrics.numbers.get("train_steps_per_second")
        self._ending.finished = True
        self._order.ended = True
        self._order.finished_by(runtime, pace, metrics.rounded)
        self._write_waiting(self._writer, final=True)
        self.build.train_runtime_s = runtime
        self.build.event("finish", line=line, seconds=runtime, step=self._order.last or self._writer.last_step)
        if "total_steps" not in self.build.settings and (steps := self._order.steps_by_end()):
            self.build.setting("total_steps", steps, "train_runtime x train_steps_per_second", "inferred")
        self._bar.over = True

    # --- steps --------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        spacing = self._order.settle()
        if spacing is not None:
            self._write_waiting(self._writer, final=True)

    def _write_waiting(self, writer: RowWriter, *, final: bool) -> None:
        """Write the records that wait, with the best spacing known now; `final` takes them off the list."""
        if not self._waiting:
            return
        spacing, start, index = self._order.spacing(), self._order.start, self._index
        if index == 0:
            writer.begin(start)
        for record in self._waiting:
            if record.kind == "eval":
                writer.evaluation(record, writer.eval_step(record.metrics.numbers.get("epoch")))
                continue
            if record.metrics.numbers:
                writer.train(record, spacing.step(index, start), spacing.span(index, start))
            index += 1
        self._explain(writer.build, spacing)
        if final:
            self._index = index
            self._waiting.clear()

    def _explain(self, build: RunBuilder, spacing: Spacing) -> None:
        if spacing.interval is None:
            self._tell(build, "guessed", "the logging interval is not known: rows are numbered 1, 2, 3, ... as they come")
        else:
            build.setting("logging_steps", spacing.interval, spacing.because or "spacing of the metric dicts", "inferred")
        if self._order.bursts:
            self._tell(build, "info", "standard output was buffered: metric dicts came late and are numbered by their order")

    @staticmethod
    def _tell(build: RunBuilder, kind: NoteKind, text: str) -> None:
        """Note a fact of the whole run, once."""
        if not build.noted(kind, text):
            build.note(kind, text)

    def runs(self) -> tuple[Run, ...]:
        """Every run so far; rows whose step is not settled are placed as well as can be now."""
        writer = self._writer.fork()
        self._write_waiting(writer, final=False)
        self._finish(writer.build)
        return tuple(build.run() for build in [*self._done, writer.build])


def recognises(head: Head) -> Confidence:
    """A trainer's metric dict is certain; a banner with a bare bar is likely; a bare bar alone is a last resort."""
    bar, banner = "", ""
    for line in head.lines:
        if line.lstrip().startswith('{"'):
            continue  # a JSON line: other formats read those
        if "{'" in line and _COPY not in line:
            begin = trl_dict.begins(line)
            found = trl_dict.read(line, begin)[0] if begin is not None else None
            if found is not None and _is_trainers(found):
                return Confidence(Sure.CERTAIN, line[found.start : found.start + 100])
        if not bar and "%|" in line:
            bar = next((line[:100] for state in bars(line) if TrainingBar().see(state) is not Turn.OTHER), "")
        if not banner and _BANNERS.search(line):
            banner = line[:100]
    if bar and banner:
        return Confidence(Sure.LIKELY, banner.strip())
    return Confidence(Sure.MAYBE, bar.strip()) if bar else NO


def _is_trainers(found: Metrics) -> bool:
    names = found.numbers.keys() | found.words.keys()
    return found.kind is not None and (
        "epoch" in names or "global_step/max_steps" in names or {"eps", "episode"} <= names or found.kind != "train"
    )


FORMAT = Format(
    name="trl",
    title="TRL / HF Trainer console",
    kind="lines",
    recognises=recognises,
    open=TrlReader,
    reads="metric dicts, progress bar, step_time, lengths, rewards, evaluations, checkpoints, vLLM lines, crashes",
    lacks="phases (only AsyncGRPO prints them) and the configuration",
    more="logging_steps=1, and report_to=wandb, mlflow or trackio for the profiling times of the phases",
)
