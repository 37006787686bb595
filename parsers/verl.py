"""verl: the console of the trainer, all generations and forks."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.commands import CommandLine, overrides
from parsers.lines import LineReader
from parsers.moments import dated
from parsers.text import Bar, Piece, YearlessClock, bars, stamp, stamp_has_zone, strip_actor
from parsers.verl_config import ConfigDump, settle
from parsers.verl_rows import StepRows
from parsers.verl_text import KNOWN_KEY, block_line, joined, metrics, step_line
from parsers.vllm import EngineLines
from timeledger.run import Run
from timeledger.said import say

_TOTAL: Final = re.compile(r"Total training steps: (\d{1,12})\b")
_LOADER: Final = re.compile(r"Size of train dataloader: (\d{1,12})\b")
#: W&B keeps so many characters of a line in files/output.log (one less when a wide character stood at the border).
_WANDB_CUT: Final = frozenset({4095, 4096})
_EPOCH: Final = re.compile(r"\bEpoch \d+/(\d{1,6})$")
_RESUMED: Final = re.compile(r"Setting global step to (\d{1,12})\b")


class _Open:
    """A step line that may go on in the next line (a terminal broke it), or a list of one key a line."""

    def __init__(self, step: int | None, text: str, line: int, at: datetime | None = None) -> None:
        self.step = step
        self.text = text
        self.line = line
        self.at = at
        self.broken = False
        self.values: dict[str, float] = {}


class _VerlReader(LineReader):
    """The console. Works on the driver's output with Ray's prefixes, on W&B's output.log, and on pasted pieces."""

    format_name = "verl"
    framework = "verl"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._clock = YearlessClock(origin.modified)
        self._begin()
        self._config = ConfigDump()
        self._open: _Open | None = None
        self._bar: Bar | None = None
        self._command = CommandLine()

    def _begin(self) -> None:
        self._engine = EngineLines(self.build)
        self._rows = StepRows(self.build)

    def runs(self) -> tuple[Run, ...]:
        self._settle()
        return super().runs()

    def take(self, piece: Piece) -> None:
        text = piece.text
        if self._open is not None and self._goes_on(text):
            return
        if (self._config.active or "{'actor_rollout_ref'" in text) and self._config_text(text):
            return
        if "step" in text and self._step_text(text, piece.no):
            return
        if "%|" in text:
            if "Training" in text:
                self._progress(text, piece.no)
            elif "Epoch " in text:
                self._epochs(text)
            elif "toks/s" in text or "throughput" in text:
                self._engine.take(text, piece.no, self._clock)
        elif "timing_s/" in text and (found := block_line(strip_actor(text).text)) is not None:
            self._block(found, piece.no)
        elif not self._start_text(text, piece.no):
            self._engine.take(text, piece.no, self._clock)

    # --- step lines ---------------------------------------------------------------------------------------

    def _step_text(self, text: str, line: int) -> bool:
        """Lines with the word step: metrics, the total, a resume."""
        if "step:" in text:
            found = step_line(strip_actor(text).text)
            if found is not None:
                before = text[: text.index("step:")]
                if "%|" in before:
                    self._progress(before, line)
                self._open = _Open(found[0], self._uncut(text, found[1], line), line, self._moment(before))
                return True
        if match := _TOTAL.search(text):
            self._session("restart")
            if (total := int(match.group(1))) > 0:
                self.build.setting("total_steps", total, "verl: Total training steps", replace=True)
        elif match := _RESUMED.search(text):
            self._session("resume")
            self.build.event("resume", line=line, step=int(match.group(1)), text=match.group())
        else:
            return False
        return True

    def _uncut(self, text: str, body: str, line: int) -> str:
        """The body without its last pair, when W&B's output.log cut the line: half a number is another number."""
        if len(text) not in _WANDB_CUT or len(body.rpartition(" - ")[0]) == 0:
            return body
        self.build.note(
            "missing",
            say("a step line is cut at 4,096 characters (W&B's output.log): the metrics behind are not here"),
            line,
        )
        return body.rpartition(" - ")[0]

    def _moment(self, text: str) -> datetime | None:
        """The stamp that a container or a logger put before the line."""
        return dated(self.build, self._clock, text) if "20" in text else None

    def _session(self, kind: str) -> None:
        """A start-up line: what follows is another session of this run, or another run when this one is finished."""
        if self.build.ended == "finished" and kind == "restart" and self.build.last_step is not None:
            self.next_run()
            self._begin()
        self._rows.session(kind)

    def _goes_on(self, text: str) -> bool:
        """Join the rest of a broken step line, or one more key of a list; else close what is open."""
        now = self._open
        assert now is not None
        if now.values:
            if "/" in text and (found := block_line(strip_actor(text).text)) is not None and found[0] not in now.values:
                now.values[found[0]] = found[1]
                return True
        elif (whole := joined(now.text, text, now.broken)) is not None:
            now.text, now.broken = whole, True
            return True
        self._settle()
        return False

    def _settle(self) -> None:
        """Read the step line that is open."""
        now, self._open = self._open, None
        if now is None:
            return
        found, hidden = (now.values, []) if now.values else metrics(now.text)
        if not found:
            return
        if now.broken:
            self.build.note("repaired", say("a step line was broken into several lines: joined"), now.line)
        for key in hidden:
            self.build.note(
                "missing",
                say("{name} is printed as 0.000: with three decimals its value is unknown", name=key),
                now.line,
            )
        step = now.step
        if step is None:
            step = self._bar.n if self._bar is not None else (self.build.last_step or 0) + 1
            how = say("the progress bar before it") if self._bar is not None else say("counting")
            self.build.note(
                "guessed", say("metrics without a step number: the number is from {how}", how=how), now.line
            )
        self._rows.add(step, found, now.line, now.at)
        if self.build.ended in {"crashed", "interrupted"}:  # it went on
            self.build.ended = None

    def _block(self, found: tuple[str, float], line: int) -> None:
        self._open = _Open(None, "", line)
        self._open.values[found[0]] = found[1]

    # --- everything else ----------------------------------------------------------------------------------

    def _progress(self, text: str, line: int) -> None:
        for bar in bars(text):
            if bar.total and re.search(r"\bTraining(?: Progress)?$", bar.desc):
                self._bar = bar
                self.build.progress(
                    bar.n, total=bar.total, elapsed_s=bar.elapsed_s, remaining_s=bar.remaining_s, line=line
                )  # fmt: skip
                self.build.setting("total_steps", bar.total, say("verl: progress bar"))
                if bar.n == bar.total:
                    self._finish(line)

    def _epochs(self, text: str) -> None:
        """The SFT trainer draws one bar an epoch."""
        for bar in bars(text):
            if bar.total and (epoch := _EPOCH.search(bar.desc)):
                self.build.setting(
                    "total_steps", bar.total * int(epoch[1]), say("verl: epochs x steps of the progress bar")
                )

    def _config_text(self, text: str) -> bool:
        """A line of the printed configuration; False for a line of another process in between."""
        plain = strip_actor(text)
        if self._config.active:
            used = self._config.take(plain.actor, plain.text)
        else:
            used = self._config.begins(plain.actor, plain.text)
            if used:
                self._session("restart")
        if not self._config.active:
            settle(self.build, self._config.found, "verl: printed configuration")
        return used

    def _start_text(self, text: str, line: int) -> bool:
        """Lines printed once a session; True when the line was one."""
        if self._command.is_open or "actor_rollout_ref." in text or "-m verl." in text or "-m recipe." in text:
            self._command_line(text)
        elif "Size of train dataloader: " in text and (match := _LOADER.search(text)):
            self.build.setting("verl.steps_per_epoch", int(match.group(1)), "verl: Size of train dataloader")
        elif "Ray instance" in text and (at := stamp(text)) is not None:
            self._clock.see(at)
            if self.build.started_at is None:
                self.build.started_at, self.build.zone_known = at, stamp_has_zone(text)
        elif "Final validation metrics" in text:
            self._finish(line)
        elif text[0] in "ETK^":
            return self._end_text(text, line)
        else:
            return False
        return True

    def _end_text(self, text: str, line: int) -> bool:
        """Signs of the driver's own end, printed without a process prefix."""
        if text.startswith(("Error executing job with overrides", "Traceback (most recent call last)")):
            if self.build.ended != "crashed":
                self.build.event("crash", line=line, text=text)
            self.build.ended = "crashed"
        elif text.startswith("KeyboardInterrupt") or text.strip() == "^C":
            self.build.ended = "interrupted"
        else:
            return False
        return True

    def _finish(self, line: int) -> None:
        if self.build.ended != "finished":
            self.build.ended = "finished"
            self.build.event("finish", line=line)

    def _command_line(self, text: str) -> None:
        """Overrides of a shell trace."""
        found = overrides(self._command.take(text) or "")
        if len(found) >= 3:  # one or two `name=value` also stand in warnings
            self._session("restart")
            settle(self.build, found, "command line")


#: A line of a JSON file may quote a log: it is none.
_QUOTING: Final = ('{"', '["', '"')


def recognises(head: Head) -> Confidence:
    """CERTAIN: a step line with verl's keys, its printed configuration, or its command. LIKELY: single keys."""
    weak = NO
    for line in head.lines:
        if line.lstrip().startswith(_QUOTING):
            continue
        if "step:" in line and (found := step_line(strip_actor(line).text)) is not None and KNOWN_KEY.search(found[1]):
            return Confidence(Sure.CERTAIN, line[:100])
        if "'actor_rollout_ref': {" in line or "verl.trainer.main_" in line or " actor_rollout_ref." in line:
            return Confidence(Sure.CERTAIN, line[:100])
        if weak is NO and "timing_s/" in line and block_line(strip_actor(line).text) is not None:
            weak = Confidence(Sure.LIKELY, line[:100])
    return weak


VERL: Final = Format(
    name="verl",
    title="verl console",
    kind="lines",
    recognises=recognises,
    open=_VerlReader,
    reads="step time, every phase, lengths, rewards, tokens, validation and checkpoint times, configuration, engine lines",
    lacks="the engine's own rate, unless its statistics are switched on",
    more="actor_rollout_ref.rollout.disable_log_stats=False, trainer.logger=[console,file]",
)
