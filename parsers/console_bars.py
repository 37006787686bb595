"""The training bar among the writes of a console, each with its moment: what a W&B run file keeps beside its history."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import polars as pl

from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.text import Bar, bars, strip_ansi
from parsers.trl_bars import TrainingBar, Turn
from timeledger.run import Run
from timeledger.said import say

#: A bar cut off where a narrow terminal ends, within its times: `  2%| | 11775/500000 [08:0`.
_CUT: Final = re.compile(r"^\s*\d{1,3}%\|[^|]*\|\s*(?P<n>\d{1,12})/(?P<total>\d{1,12}) \[[\d:<?]*$")

#: A row and the bar that is drawn after its step lie no further apart: seconds, and share of the step.
_AFTER: Final = 1.0
_NEAR: Final = 0.02


class ConsoleBars:
    """Follows the one training bar of a console; with several of them (one an epoch) it tells nothing."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._bar = TrainingBar()
        self._states: list[tuple[float | None, Bar]] = []
        self._sessions = 0
        self._cut_since: float | None = None

    def take(self, text: str, wall: float | None) -> None:
        """One write of the console; `wall` is Unix seconds."""
        if "%|" not in text:
            return
        for part in re.split(r"[\r\n]", strip_ansi(text)):
            for bar in bars(part) or self._cut(part, wall):
                self._see(bar, wall)

    def _cut(self, text: str, wall: float | None) -> tuple[Bar, ...]:
        """A bar whose end is missing, its time counted by the moments of the writes."""
        shown = _CUT.match(text)
        if shown is None or wall is None:
            return ()
        n = int(shown["n"])
        if n == 0 or self._cut_since is None:
            self._cut_since = wall
            if n:  # the beginning is missing
                return ()
        elapsed = max(wall - self._cut_since, 0.0)
        return (Bar("", n, int(shown["total"]), elapsed, None, None, "", "", *shown.span()),)

    def _see(self, bar: Bar, wall: float | None) -> None:
        turn = self._bar.see(bar)
        if turn is Turn.OTHER:
            return
        if turn in {Turn.SESSION, Turn.REPLACE}:
            self._states = []
            self._sessions += turn is Turn.SESSION
        self._states += [(wall, each) for each in (self._bar.promote() if turn is Turn.PROMOTE else [bar])]

    def beside(self, run: Run) -> Run:
        """The run with the bar as its progress, where its rows tell no time or the bar is of the same plan and goes on."""
        if self._sessions != 1 or len(self._states) < 2 or not self._fits(run):
            return run
        build = RunBuilder(self._origin, run.info.format)
        for _, bar in self._states:
            build.progress(bar.n, total=bar.total, elapsed_s=bar.elapsed_s, remaining_s=bar.remaining_s)
        build.setting("total_steps", self._states[-1][1].total, say("progress bar"))
        info = run.info.model_copy(update={"settings": build.settings | run.info.settings})
        return replace(run, info=info, progress=build.run().progress)

    def _fits(self, run: Run) -> bool:
        if run.steps.height == 0:
            return True
        last, (_, bar) = run.steps["step"][-1], self._states[-1]
        if run.steps["segment"][-1] or bar.n < last or (bar.total or 0) < last:
            return False
        dated = run.steps.drop_nulls("at")
        planned = run.info.number("total_steps")
        return dated.height < 2 or planned == bar.total or (planned is None and self._counts(dated))

    def _counts(self, dated: pl.DataFrame) -> bool:
        """True when the bar stood at the step of the first and the last row when these were written."""
        walls = [wall for wall, _ in self._states]
        if None in walls:
            return False
        for step, at in (dated.select("step", "at").row(place) for place in (0, -1)):
            before = sum(wall <= at.timestamp() + _AFTER for wall in walls if wall is not None)
            if not before or abs(self._states[before - 1][1].n - step) > max(1.0, _NEAR * step):
                return False
        return True
