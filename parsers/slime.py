"""slime: the console of its rollout manager and its Megatron or FSDP actors, several lines a rollout."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.literals import plain
from parsers.printed import numbers
from parsers.slime_args import ARGUMENT, BEGIN, END, settle
from parsers.tag_tables import SLIME, Ph
from parsers.tagged import TaggedReader
from parsers.text import Piece
from timeledger.run import SettingValue
from timeledger.said import say

_LINE: Final = re.compile(
    r"(?:^|[\s):])(?P<role>[a-z]+-)?(?P<what>perf|rollout|step|eval|passrate|multi_turn) (?P<n>\d{1,9}): (?P<dict>\{.*)"
)
_TIMER: Final = re.compile(r"Timer (\w+) end \(elapsed: ([\d.]+)s\)")
#: Keys of the trainer's own `perf` line; the other one comes from the rollout manager.
_TRAINER: Final = (
    "perf/train_time",
    "perf/step_time",
    "perf/total_train_time",
    "perf/train_wait_time",
    "perf/actor_train_time",
)
_ROLLOUT: Final = "perf/rollout_time"
_WAIT: Final = "perf/train_wait_time"
_ZERO: Final = "rollout/zero_std/count_"
#: Rollouts that may be ahead of the trainer.
_AHEAD: Final = 2


class _SlimeReader(TaggedReader):
    """A step is a rollout, counted from 0; optimizer steps belong to the rollout that is being trained on."""

    format_name = "slime"
    framework = "slime"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._arguments: dict[str, SettingValue] | None = None
        self._fresh()

    def _fresh(self) -> None:
        self.rows.apart = False
        self._now: int | None = None
        self._told = False
        self._made: dict[int, tuple[float, datetime | None]] = {}
        self._updates: dict[str, list[float]] = {}
        self._timers: dict[str, float] = {}
        self._timed: list[tuple[int, dict[str, float]]] = []
        self._perf = False

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if self._arguments is not None and self._argument(text):
            return
        if ": {" in text and (match := _LINE.search(text)):
            self._metrics(match, text, line)
        elif "Timer " in text and (found := _TIMER.search(text)):
            name = f"perf/{found[1]}_time"
            self._timers[name] = self._timers.get(name, 0.0) + float(found[2])
        elif BEGIN.search(text):
            if not self.rows.empty:
                self._give_updates(line)
                self.session("restart", line, "the arguments are printed again")
                self._fresh()
            self._arguments = {}
        else:
            self.rest(text, line)

    # --- metrics ------------------------------------------------------------------------------------------

    def _metrics(self, match: re.Match[str], text: str, line: int) -> None:
        raw = match["dict"]
        tags = numbers(raw[: raw.rfind("}") + 1] or raw)
        what, number = match["what"], int(match["n"])
        if what == "step":
            for key, value in tags.items():
                if key.startswith("train/") and key != "train/step":
                    self._updates.setdefault(key, []).append(value)
        elif what == "perf" and any(key in tags for key in _TRAINER):
            self._trained(number, tags, line, self.moment(text[: match.start()] + " "))
        elif what == "perf":
            self._rolled(number, tags, line, self.moment(text[: match.start()] + " "))
        elif what == "eval":
            self._evaluated(number, tags, line, self.moment(text[: match.start()] + " "))
        else:
            if what == "rollout":
                self._begins(number, line, told=True)
            self.put(number, {key: value for key, value in tags.items() if key.startswith(f"{what}/")}, line)

    def _evaluated(self, number: int, tags: dict[str, float], line: int, at: datetime | None) -> None:
        """Scores of an evaluation; a generation time on this line is its own."""
        found = {key: value for key, value in tags.items() if key.startswith("eval/") and key != "eval/step"}
        if (seconds := tags.get(_ROLLOUT)) is not None:
            found["eval/runtime"] = seconds
        self.put(number, found, line, at)

    def _begins(self, number: int, line: int, *, told: bool) -> None:
        """The trainer (`told`), or for want of its word the rollout manager, turns to this rollout."""
        if self._told and not told:
            return
        self._told = told
        if self._now is not None and number != self._now:
            self._give_updates(line)
        self._now = number

    def _rolled(self, number: int, tags: dict[str, float], line: int, at: datetime | None) -> None:
        self._begins(number, line, told=False)
        counts = [value for key, value in tags.items() if key.startswith(_ZERO)]
        prompts = self.build.settings.get("prompts_per_step")
        if counts and prompts is not None and isinstance(prompts.value, int) and sum(counts) <= prompts.value > 0:
            tags["rollout/zero_std/share"] = sum(counts) / prompts.value
        seconds = tags.pop(_ROLLOUT, None)
        self.put(number, tags, line)
        if seconds is not None:
            self._made[number] = (seconds, at)
        while len(self._made) > _AHEAD:
            oldest = next(iter(self._made))
            took, when = self._made.pop(oldest)
            self.build.phase(oldest, "rollout", took, name=_ROLLOUT)
            if not self._perf and when is not None:  # no line of the trainer tells the time
                self.build.row(oldest, {}, line=line, at=when)

    def _trained(self, number: int, tags: dict[str, float], line: int, at: datetime | None) -> None:
        """The trainer's line ends the step. What it waited for includes the generation, unless that ran beside it."""
        self._perf, self._now = True, number
        self._timers, self._timed = {}, []
        self._give_updates(line)
        made = self._made.pop(number, None)
        waited = tags.get(_WAIT)
        self.put(number, tags, line, at)
        if "perf/step_time" in tags:
            self.build.note("info", say("perf/step_time is train_wait + train"))
        if made is not None:
            inside = waited is not None and made[0] <= 1.02 * waited
            self.build.phase(number, "rollout", made[0], name=_ROLLOUT, parent=_WAIT if inside else None, overlaps=not inside and waited is not None)  # fmt: skip
        total = self.build.settings.get("total_steps")
        if total is not None and number + 1 == total.value:
            self.finish(line, at=at)

    def _give_updates(self, line: int) -> None:
        """Means over the optimizer steps of the rollout; its timers are kept while the trainer has no line of its own."""
        updates, self._updates = self._updates, {}
        timers, self._timers = self._timers, {}
        if self._now is None:
            return
        self.put(self._now, {key: sum(values) / len(values) for key, values in updates.items()}, line)
        if timers and not self._perf:
            self._timed.append((self._now, timers))

    def settle(self, build: RunBuilder) -> None:
        """Generation whose training is not over yet; the timers of a log without the trainer's lines."""
        for number, (seconds, _) in self._made.items():
            build.phase(number, "rollout", seconds, name=_ROLLOUT)
        for number, timers in self._timed:
            build.note("guessed", say("phases are from Timer lines, to a tenth of a second"))
            for name, seconds in timers.items():
                if isinstance(entry := SLIME.get(name), Ph):
                    build.phase(number, entry.phase, seconds, name=name, parent=entry.parent)

    # --- arguments ----------------------------------------------------------------------------------------

    def _argument(self, text: str) -> bool:
        """A line of Megatron's printed arguments; False for any other line, which may stand between."""
        assert self._arguments is not None
        if END in text:
            settle(self.build, self._arguments)
            self._arguments = None
            return True
        if match := ARGUMENT.search(text):
            if (value := plain(match[2])) is not None:
                self._arguments[match[1]] = value
            return True
        return False


def recognises(head: Head) -> Confidence:
    """CERTAIN: a numbered line of metrics with slime's names."""
    for line in head.lines:
        if ": {" in line and (match := _LINE.search(line)) and _TELLING.search(match["dict"][:2000]):
            return Confidence(Sure.CERTAIN, line[:120])
    return NO


_TELLING: Final = re.compile(r"\{.*?'(?:perf|rollout|train|eval|passrate|multi_turn)/")

SLIME_CONSOLE: Final = Format(
    name="slime",
    title="slime console",
    kind="lines",
    recognises=recognises,
    open=_SlimeReader,
    reads="rollout and trainer lines merged by rollout, step time, every perf/*_time, lengths, truncation, rewards, update "
    "metrics, evaluations, Megatron's arguments, SGLang lines",
    lacks="advantage spread and ratio; what the trainer waits for beyond generation, sleep, wake and weights",
    more="--use-tensorboard keeps the same names",
)
