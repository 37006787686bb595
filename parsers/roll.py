"""ROLL: the driver's log, with one JSON object of all metrics a logged step."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.printed import numbers
from parsers.tagged import TaggedReader
from parsers.text import Piece
from parsers.values import real, whole

_PREFIX: Final = re.compile(r"\[(?P<worker>[\w\-]+) \d+ / \d+\]\[PID \d+\] ")
_METRICS: Final = re.compile(r"(?:^|\] )(\{\".*\})\s*$")
_STARTS: Final = re.compile(r"pipeline (?:rollout )?(?:global )?step (\d{1,9}) start")
_FINISHED: Final = re.compile(r"pipeline step (\d{1,9}) finished")
_STEP_KEYS: Final = ("system/global_step", "system/step", "global_step")
#: The time of the step before, under this step's number.
_TOTAL: Final = "time/step_total"
_PART: Final = re.compile(
    r"(?:\w+/)?time/(reward_postprocess|get_token_reward|get_sample_level_mask|compute_advantage)$"
)
_MOVED: Final = re.compile(r"time/(\w+)/(train_step|compute_log_probs|compute_values)/(onload|offload)$")
_AGGREGATE: Final = re.compile(r"@\w+$")


class _RollReader(TaggedReader):
    """Steps count from 0. Answers are printed too, as a JSON list: only objects of metrics are read."""

    format_name = "roll"
    framework = "ROLL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._open: int | None = None
        self._held: dict[str, float] = {}
        self._last: int | None = None

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if "/" in text and text.rstrip().endswith("}") and (match := _METRICS.search(text)):
            self._metrics(match[1], text, line)
        elif "pipeline " in text and self._around(text, line):
            pass
        elif "pipeline complete" in text:
            self.finish(line, at=self.moment(text))
        else:
            self.rest(text, line)

    def _around(self, text: str, line: int) -> bool:
        if match := _STARTS.search(text):
            step = int(match[1])
            if self._last is not None and step <= self._last:
                self.session("restart", line, f"goes on at step {step}")
                self._last = None
            self._open, self._held = step, {}
        elif match := _FINISHED.search(text):
            held, self._held = self._held, {}
            if held:
                self._give(int(match[1]), held, line, text)
            self._open = None
        else:
            return False
        return True

    def _metrics(self, raw: str, text: str, line: int) -> None:
        tags = _numbers(raw)
        if not any("/" in tag for tag in tags):
            return
        key = next((key for key in _STEP_KEYS if whole(tags.get(key)) is not None), None)
        step = self._open if key is None else whole(tags.pop(key))
        if step is None:
            self._held = tags
        else:
            self._give(step, tags, line, text)

    def _give(self, step: int, tags: dict[str, float], line: int, text: str) -> None:
        before = tags.pop(_TOTAL, None)
        if before and self._last == step - 1:
            self.put(step - 1, {"time/step_total_of": before}, line)
        self._last = step
        apart = {tag for tag in tags if _PART.search(tag) or _MOVED.search(tag)}
        self.put(step, {tag: value for tag, value in tags.items() if tag not in apart}, line, self.moment(text))
        for tag in sorted(apart):
            if match := _MOVED.search(tag):
                parent = _parent(match[1], match[2])
                self.build.phase(step, "sleep_wake", tags[tag], name=tag, parent=parent if parent in tags else None)
            else:
                self.build.phase(step, "advantage" if tag.endswith("advantage") else "reward", tags[tag], name=tag)


def _parent(cluster: str, work: str) -> str:
    if work == "train_step":
        return "time/step_train"
    return "time/old_log_probs" if cluster.startswith("actor") else "time/ref_log_probs_values"


def _numbers(raw: str) -> dict[str, float]:
    """The numbers of the object; NaN stays NaN. Text that is not whole JSON is scanned."""
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return numbers(raw)
    if not isinstance(found, dict):
        return {}
    return {key: number for key, value in found.items() if (number := real(value)) is not None}


def recognises(head: Head) -> Confidence:
    """CERTAIN: an object of metrics behind ROLL's prefix, or its pipeline's step lines there."""
    for line in head.lines:
        if "[PID " in line and (match := _PREFIX.search(line)):
            rest = line[match.end() :]
            if _STARTS.match(rest) or _FINISHED.match(rest) or (rest.startswith('{"') and "system/" in rest):
                return Confidence(Sure.CERTAIN, line[:120])
    return NO


ROLL_CONSOLE: Final = Format(
    name="roll",
    title="ROLL driver log",
    kind="lines",
    recognises=recognises,
    open=_RollReader,
    reads="time/* phases with loading and unloading, step time (ROLL prints it with the next step), lengths, rewards, ratio, "
    "clipping, KL, time stamps",
    lacks="the time of the last step; total steps",
    more="logging_steps: 1; log_rank_DRIVER_0_1.log is the file that has it",
)
