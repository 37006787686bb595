"""OpenRLHF: the console of the Ray trainers. Step lines since 0.8.1; before, only progress bars with rounded numbers."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.commands import CommandLine
from parsers.lines import LineReader
from parsers.moments import printed_at
from parsers.openrlhf_config import flags, namespace, settle
from parsers.printed import numbers
from parsers.tag_tables import OPENRLHF, Col
from parsers.text import Bar, Piece, YearlessClock, bars, stamp, stamp_has_zone, strip_actor
from parsers.vllm import EngineLines
from timeledger import units
from timeledger.said import say

_STEP: Final = re.compile(r"Global step (\d{1,12})(?: \[\w+\])?: \{")
_MADE: Final = re.compile(r"Experience making completed in ((?:\d+ days?, )?[\d:.]+)")
_EVALUATED: Final = re.compile(r"Evaluation completed in ((?:\d+ days?, )?[\d:.]+)(?:, global_step (\d{1,12}))?(.*)")
_EPISODE: Final = re.compile(r"Episode \[(\d{1,9})/(\d{1,9})\]$")
_EPOCH: Final = re.compile(r"Train epoch \[(\d+)/(\d+)\]$")
_POSTFIX: Final = re.compile(r"([\w/]+)=([^,\s\]]+)")
#: Postfix of the bars (rounded to three digits by tqdm), short and long names.
_SHORT: Final = {
    "policy_loss": "loss", "act_loss": "loss", "pg": "loss",
    "reward": "reward", "rm": "reward",
    "response_length": "len_mean", "glen": "len_mean", "gen_len": "len_mean",
    "total_length": "_total", "tlen": "_total", "tot_len": "_total",
    "kl": "kl", "act_lr": "lr", "actor_lr": "lr", "grad_norm": "grad_norm",
}  # fmt: skip
#: Better keys first: of two that name one column, the earlier is taken.
_ORDER: Final = (
    "rollout/response_length_mean", "response_length", "rollout/truncated_rate", "truncated", "response_clip_ratio",
    "rollout/reward_mean", "reward",
)  # fmt: skip
_TOTAL: Final = "timing/step_total"


class _OpenRlhfReader(LineReader):
    """The console. Each mode of it: step lines, or (before 0.8.1) the bar over the prompts."""

    format_name = "openrlhf"
    framework = "OpenRLHF"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._clock = YearlessClock(origin.modified)
        self._engine = EngineLines(self.build)
        self._step_lines = False
        self._seen: dict[int, dict[str, float]] = {}
        self._made_s: float | None = None
        self._train_s = 0.0
        self._train: dict[str, float] = {}
        self._offset_s = 0.0
        self._bar: Bar | None = None
        self._command = CommandLine()

    def take(self, piece: Piece) -> None:
        text = piece.text
        if "Global step" in text and (match := _STEP.search(text)):
            self._step(match, text, piece.no)
        elif "%|" in text:
            if "Episode [" in text or "Train epoch [" in text:
                self._bars(text, piece.no)
            else:
                self._engine.take(text, piece.no, self._clock)
        elif "completed in" in text and (match := _MADE.search(text)):
            self._made_s = units.seconds(match[1])
        elif "Evaluation" in text and self._evaluation(text, piece.no):
            pass
        elif "Saved best checkpoint" in text:
            self.build.event("checkpoint", line=piece.no, at=self._moment(text))
        elif "Namespace(" in text and "=" in text:
            settle(self.build, namespace(text), "OpenRLHF: printed arguments")
        elif self._command.is_open or "openrlhf.cli." in text:
            settle(self.build, flags(self._command.take(text) or ""), "command line")
        elif text.startswith("20") and (full := stamp(text)) is not None:
            self._clock.see(full)
            if "Ray instance" in text and self.build.started_at is None:
                self.build.started_at, self.build.zone_known = full, stamp_has_zone(text)
        elif not self._end(text, piece.no):
            self._engine.take(text, piece.no, self._clock)

    def _moment(self, text: str) -> datetime | None:
        return printed_at(self.build, self._clock, text)

    # --- step lines ---------------------------------------------------------------------------------------

    def _step(self, match: re.Match[str], text: str, line: int) -> None:
        """`✨ Global step 3: {...}`; the asynchronous trainer prints it without the star. Keys come in any order."""
        found = numbers(text[match.end() :].partition("}")[0])
        if not found:
            self.build.note("skipped", say("a step line without numbers"), line)
            return
        step = int(match[1])
        self._step_lines = True
        self._sessions(step, found, line)
        if all(key in self._seen.get(step, {}) for key in found):
            self.build.note("info", say("a step line stands twice: the repeat is left out"), line)
            return
        self._seen.setdefault(step, {}).update(found)
        values = _columns(found)
        extra = {key: value for key, value in found.items() if key not in OPENRLHF}
        self.build.row(step, values, line=line, at=self._moment(text[: match.start()]), extra=extra)
        self._phases(step, found, starred="✨" in text[: match.start()], line=line)

    def _sessions(self, step: int, found: dict[str, float], line: int) -> None:
        """A step that comes again with other numbers, or goes back, is a restart."""
        known, last = self._seen.get(step), self.build.last_step
        again = known is not None and any(key in known and known[key] != value for key, value in found.items())
        if again or (known is None and last is not None and step < last):
            self._seen.clear()
            self.build.new_segment()
            self.build.event("restart", line=line, step=step, text=f"goes on at step {step}")

    def _phases(self, step: int, found: dict[str, float], *, starred: bool, line: int) -> None:
        times = {
            key: value
            for key, value in found.items()
            if key in OPENRLHF and key.startswith("timing/") and key != _TOTAL
        }
        total = found.get(_TOTAL)
        summed = total is not None and abs(sum(times.values()) - total) <= 0.01 * total + 0.02
        together = bool(times) and not starred and total is not None and not summed
        if together:
            self.build.setting("async_mode", True, "OpenRLHF: step line of the asynchronous trainer", "inferred")
        elif summed:
            self.build.note(
                "info", say("timing/step_total is the sum of its phases: the true time of a step is longer"), line
            )
        for key, seconds in times.items():
            phase = OPENRLHF[key]
            if not isinstance(phase, Col):
                overlaps = together and phase.phase == "rollout"
                self.build.phase(
                    step, phase.phase, seconds, name=key, outside=None if overlaps else False, overlaps=overlaps
                )
        if not times and self._made_s is not None:
            self._experience(step)
        self._made_s = None

    def _experience(self, step: int) -> None:
        """Versions without timers print how long an experience took: generation with log-probabilities and rewards."""
        self.build.phase(step, "rollout", self._made_s, name="experience making")

    # --- bars ---------------------------------------------------------------------------------------------

    def _bars(self, text: str, line: int) -> None:
        for bar in bars(text):
            if match := _EPOCH.search(bar.desc):
                if bar.n == bar.total:
                    self._train_s += bar.elapsed_s
                    self._train = _postfix(bar.post)
            elif match := _EPISODE.search(bar.desc):
                self._episode(bar, int(match[1]), int(match[2]), line)

    def _episode(self, bar: Bar, episode: int, episodes: int, line: int) -> None:
        """The bar over the batches of prompts: before 0.8.1 it is all there is, one batch a step."""
        last, self._bar = self._bar, bar
        if last is not None and bar.elapsed_s < last.elapsed_s:
            self._offset_s += last.elapsed_s
        step = (episode - 1) * (bar.total or 0) + bar.n
        elapsed = self._offset_s + bar.elapsed_s
        if self._step_lines:
            if bar.n < 2 or step != self.build.last_step:
                return
        else:
            self._bar_row(step, bar, elapsed, line)
        total = (bar.total or 0) * episodes
        self.build.setting("total_steps", total or None, say("OpenRLHF: progress bar x episodes"), "inferred")
        self.build.progress(step, total=total or None, elapsed_s=elapsed, remaining_s=bar.remaining_s, line=line)

    def _bar_row(self, step: int, bar: Bar, elapsed: float, line: int) -> None:
        found = _postfix(bar.post)
        if not found or bar.n == 0 or self.build.has(step, "elapsed_s"):
            return
        values: dict[str, Any] = self._train | found
        whole = values.pop("_total", None)
        if whole is not None and values.get("len_mean") is not None:
            values["prompt_len"] = whole - values["len_mean"]
        self.build.row(step, values | {"elapsed_s": elapsed}, line=line)
        self.build.note(
            "guessed", say("numbers are from a progress bar: rounded to three digits, of the last micro-batch"), line
        )
        self.build.phase(step, "update", self._train_s or None, name="Train epoch", outside=False)
        if self._made_s is not None:
            self._experience(step)
        self._train_s, self._train, self._made_s = 0.0, {}, None

    # --- everything else ----------------------------------------------------------------------------------

    def _evaluation(self, text: str, line: int) -> bool:
        if "Evaluation start time" in text:
            self._moment(text[text.index("Evaluation start time") :])
            return True
        match = _EVALUATED.search(text)
        if match is None:
            return False
        seconds = units.seconds(match[1])
        step = int(match[2]) if match[2] else None
        self.build.event(
            "evaluation", line=line, at=self._moment(text[: match.start()]), step=step, seconds=seconds,
            text=match[3].lstrip(", ").strip(),
        )  # fmt: skip
        at = self.build.last_step if step is None else step
        if at is not None:
            self.build.phase(at, "evaluation", seconds, name="evaluation", outside=True)
        return True

    def _end(self, text: str, line: int) -> bool:
        plain = strip_actor(text).text if text.startswith("(") else text
        if plain.startswith("Traceback (most recent call last)") and plain is text:
            self.crashed(line, text)
            return True
        if plain.startswith("KeyboardInterrupt"):
            self.build.ended = "interrupted"
            return True
        return False


def _columns(found: dict[str, float]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key in sorted(found, key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER)):
        entry = OPENRLHF.get(key)
        if isinstance(entry, Col) and found[key] == found[key]:
            values.setdefault(entry.column, found[key] * entry.scale + entry.offset)
    whole = found.get("total_length")
    if whole is not None and "response_length" in found:
        values["prompt_len"] = whole - found["response_length"]
    return values


def _postfix(post: str) -> dict[str, float]:
    """The numbers behind a bar, by column."""
    found: dict[str, float] = {}
    for key, raw in _POSTFIX.findall(post):
        column, value = _SHORT.get(key), units.number(raw)
        if column is not None and value is not None:
            found.setdefault(column, value)
    return found


_MARKS: Final = ("openrlhf.cli.train", "Experience making completed in", "Starting experience making with")
_TELLING: Final = re.compile(r"['\"](?:timing/|rollout/|policy_loss|response_length|actor_lr|total_length)")


def recognises(head: Head) -> Confidence:
    """CERTAIN: its step line, its command, its experience line. LIKELY: the bar over episodes."""
    weak = NO
    for line in head.lines:
        if "Global step " in line and (match := _STEP.search(line)):
            if _TELLING.search(line, match.end()):
                return Confidence(Sure.CERTAIN, line[:100])
            weak = Confidence(Sure.LIKELY, line[:100])
        elif any(mark in line for mark in _MARKS):
            return Confidence(Sure.CERTAIN, line[:100])
        elif weak is NO and "%|" in line and any(_EPISODE.search(bar.desc) for bar in bars(line)):
            weak = Confidence(Sure.LIKELY, line[:100])
    return weak


OPENRLHF_CONSOLE: Final = Format(
    name="openrlhf",
    title="OpenRLHF console",
    kind="lines",
    recognises=recognises,
    open=_OpenRlhfReader,
    reads="step lines with lengths, rewards and timing/* phases, evaluations, arguments, engine lines; older bars",
    lacks="times of the phases before 0.9.6; longest and shortest answer",
    more="a version with timing/* in its step line (0.9.6)",
)
