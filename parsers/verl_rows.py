"""verl's step metrics on their way into a run: partial lines merge, repeats are dropped, a step that comes again is a restart."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from parsers.build import RunBuilder
from parsers.verl_keys import apply, is_validation, of_validation
from timeledger.said import say

#: How many steps back a late partial line may belong to.
_RECENT: Final = 256
_CLOCKS: Final = ("timing_s/step", "perf/time_per_step", "timing_s/gen", "timing/gen")


class StepRows:
    """Adds metrics, step by step, to `build`."""

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        self._seen: dict[int, dict[str, float]] = {}
        self._evaluated: int | None = None
        self._new_session = ""

    def session(self, kind: str) -> None:
        """A start-up line was read (kind `resume` or `restart`): if rows exist, the next step opens a new session."""
        if self.build.last_step is not None:
            self._new_session = "resume" if "resume" in {kind, self._new_session} else kind

    def add(self, step: int, metrics: Mapping[str, float], line: int, at: datetime | None = None) -> None:
        """Add what one line (or record) says of a step."""
        if is_validation(metrics) and step == self._evaluated:
            return
        self._sessions(step, metrics, line)
        known = self._seen.setdefault(step, {})
        fresh = {key: value for key, value in metrics.items() if key not in known} if known else metrics
        if not fresh:
            self.build.note("info", say("a step line stands twice: the repeat is left out"), line)
            return
        known.update(fresh)
        apply(self.build, step, fresh, line, at)
        if "timing_s/testing" in fresh or any(map(of_validation, fresh)):
            self._evaluated = step
        if len(self._seen) > _RECENT:
            del self._seen[next(iter(self._seen))]

    def _sessions(self, step: int, metrics: Mapping[str, float], line: int) -> None:
        """Open a new session where the log began again."""
        last = self.build.last_step
        if last is None:
            self._new_session = ""
            return
        known = self._seen.get(step)
        again = known is not None and any(
            key in metrics and key in known and metrics[key] != known[key] for key in _CLOCKS
        )
        back = known is None and step < last and not is_validation(metrics)
        if not (self._new_session or again or back):
            return
        kind = self._new_session or "restart"
        self._new_session, self._evaluated = "", None
        self._seen.clear()
        self.build.new_segment()
        self.build.event(
            "resume" if kind == "resume" else "restart", line=line, step=step, text=f"goes on at step {step}"
        )
