"""DeepSpeed's own progress lines, in logs whose loop prints no steps of its own.

The engine prints `step=40, skipped=0, lr=[1e-05], mom=[..]` every `steps_per_print` optimizer steps, its throughput timer
`epoch=0/micro_step=160/global_step=40, RunningAvgSamplesPerSec=..` (formerly `0/40, ..`) beside it, both behind a stamp.
(deepspeed/runtime/engine.py `_report_progress`, deepspeed/utils/timer.py `ThroughputTimer`)

Samples a second are those of the time inside the engine: what lies between two steps is missing, so the stamps are the
clock. Every engine of a process prints the same lines: an actor and its critic do it together.
"""

from __future__ import annotations

import re
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.lines import LineReader
from parsers.text import Piece, stamp, stamp_has_zone
from parsers.trl_ending import Ending
from timeledger import units
from timeledger.run import Run
from timeledger.said import say

_STEP: Final = re.compile(r"\[Rank \d+\] step=(\d{1,9}), skipped=(\d{1,9}), lr=\[?([\d.e+-]+)")
_TIMER: Final = re.compile(
    r"(?:epoch=\d+/micro_step=(?P<micro>\d{1,12})/global_step=|\b\d+/)(?P<step>\d{1,9}), "
    r"RunningAvgSamplesPerSec=[^,\s]+, CurrSamplesPerSec=(?P<rate>[^,\s]+)"
    r"(?:,.*?MaxMemAllocated=(?P<memory>[\d.]+)GB)?"
)
#: What DeepSpeed-Chat's loops announce.
_EPOCH: Final = re.compile(r"Beginning of Epoch \d+/(\d{1,6}), Total Micro Batches (\d{1,12})")
_BEGINS: Final = "DeepSpeed info: version="
#: What every line that counts holds.
MARKS: Final = ("skipped=", "RunningAvgSamplesPerSec=")
_SECOND: Final = say("steps of a second DeepSpeed engine: left out")


def reports(text: str) -> bool:
    """True for a line that says how far the engine is."""
    return ("skipped=" in text and _STEP.search(text) is not None) or (
        "RunningAvgSamplesPerSec=" in text and _TIMER.search(text) is not None
    )


def date(build: RunBuilder, step: int, text: str) -> None:
    """The engine's own report behind a row that carries no time says when it was done."""
    at = stamp(text) if reports(text) else None
    if at is not None:
        build.row(step, {}, at=at)
        build.zone_known = build.zone_known and stamp_has_zone(text)


class DeepSpeedReader(LineReader):
    """Reads a console line by line; every line but the engine's own is passed over."""

    format_name = "deepspeed"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._ending = Ending()
        self._fresh = False
        self._epochs: tuple[int, int] | None = None

    def take(self, piece: Piece) -> None:
        """Read one piece."""
        no, text = piece
        if "skipped=" in text and (found := _STEP.search(text)) is not None:
            self._step(int(found[1]), {"lr": units.number(found[3])}, {"skipped": float(found[2])}, text, no)
        elif "RunningAvgSamplesPerSec=" in text and (found := _TIMER.search(text)) is not None:
            self._timer(found, text, no)
        elif _BEGINS in text:
            self._fresh = self.build.last_step is not None
        elif "Micro Batches" in text and (found := _EPOCH.search(text)) is not None:
            self._epochs = int(found[1]), int(found[2])
        else:
            self._ending.take(text, no)

    def _timer(self, found: re.Match[str], text: str, no: int) -> None:
        step, micro = int(found["step"]), found["micro"]
        memory = found["memory"]
        extra = {"samples_per_second": units.number(found["rate"])}
        self._step(step, {"mem_gib": float(memory) if memory else None}, extra, text, no)
        if micro and step and int(micro) % step == 0:
            self.build.setting("grad_accumulation", int(micro) // step, "micro_step / global_step", "inferred")

    def _step(
        self, step: int, values: dict[str, float | None], extra: dict[str, float | None], text: str, no: int
    ) -> None:
        build, at = self.build, stamp(text)
        if build.last_step is not None and step < build.last_step:
            if not self._fresh:
                build.note("repaired", _SECOND, no)
                return
            build.new_segment()
            build.event("restart", line=no, at=at, step=step)
        self._fresh = False
        self._ending.moved()
        build.row(step, values, line=no, at=at, extra=extra)
        if at is not None and build.zone_known and not stamp_has_zone(text):
            build.zone_known = False

    def runs(self) -> tuple[Run, ...]:
        """The run so far."""
        build = self.build
        build.ended = self._ending.kind
        if self._epochs is not None:
            epochs, batches = self._epochs
            build.setting("epochs", epochs, "Beginning of Epoch e/E")
            each = build.settings.get("grad_accumulation")
            if each is not None and isinstance(each.value, int):
                total = epochs * batches // each.value
                build.setting("total_steps", total, say("micro-batches of all epochs"), "inferred")
        return (build.run(),)


def recognises(head: Head) -> Confidence:
    """LIKELY: the engine's line at two steps. MAYBE: at one."""
    if not any(mark.encode() in head.data for mark in MARKS):
        return NO
    seen: set[str] = set()
    first = ""
    for line in head.lines:
        if "skipped=" in line and (found := _STEP.search(line)) is not None:
            seen.add(found[1])
            first = first or line[:100]
    if not seen:
        return NO
    return Confidence(Sure.LIKELY if len(seen) > 1 else Sure.MAYBE, first)


DEEPSPEED: Final = Format(
    name="deepspeed",
    title="DeepSpeed engine lines",
    kind="lines",
    recognises=recognises,
    open=DeepSpeedReader,
    reads="step, time stamp, learning rate, samples a second, memory",
    lacks="phases, rewards, lengths, and the planned steps where DeepSpeed-Chat does not tell them",
    more="steps_per_print: 1 in the DeepSpeed configuration, or one line a step from the loop itself",
    role="own",
    most=Sure.LIKELY,
)
