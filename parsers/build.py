"""Collects what a reader finds and makes it a `Run`: rows merge by step, a step that goes back opens a segment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import Any, Final, Literal

from parsers.base import Origin
from parsers.frames import OPEN_ROWS, ExtraTable, Table
from parsers.homes import PLAIN_NAMES, is_plain
from parsers.values import EARLIEST, MOST
from timeledger import schema
from timeledger.run import Note, NoteKind, Run, RunInfo, Setting, SettingValue
from timeledger.said import say

_STEP_COLUMNS: Final = frozenset(schema.STEPS)
_TIMES: Final = ("step_s", "elapsed_s")


class RunBuilder:
    """One run in the making. Readers call the verbs below; `run()` may be called at any time, any number of times."""

    def __init__(self, origin: Origin, format_name: str, framework: str | None = None) -> None:
        self.origin = origin
        self.format_name = format_name
        self.framework = framework
        self.name = run_name(origin)
        self.segment = 0
        self.last_step: int | None = None
        self.ended: Literal["finished", "crashed", "interrupted"] | None = None
        self.zone_known = True
        self.train_runtime_s: float | None = None
        self.started_at: datetime | None = None
        self.settings: dict[str, Setting] = {}
        self._steps = Table(schema.STEPS, keep_open=OPEN_ROWS)
        self._phases = Table(schema.PHASES)
        self._engine = Table(schema.ENGINE)
        self._events = Table(schema.EVENTS, keep_open=64)
        self._progress = Table(schema.PROGRESS, keep_open=1)
        self._extra = ExtraTable(keep_open=OPEN_ROWS)
        self._by_step: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._notes: dict[tuple[NoteKind, str], Note] = {}

    def fork(self) -> RunBuilder:
        """A copy to write on without changing this one: for a state that later lines may still revise."""
        other = copy(self)
        for name in ("_steps", "_phases", "_engine", "_events", "_progress", "_extra"):
            setattr(other, name, getattr(self, name).copy())
        ours = {id(row): twin for mine, theirs in ((self._steps, other._steps), (self._extra, other._extra))
                for row, twin in zip(mine.rows, theirs.rows, strict=True)}  # fmt: skip
        other._by_step = {step: (ours[id(row)], ours[id(more)]) for step, (row, more) in self._by_step.items()}
        other.settings, other._notes = dict(self.settings), dict(self._notes)
        return other

    def fork_with_events(self) -> tuple[RunBuilder, dict[int, dict[str, Any]]]:
        """A fork, and its own row of each event that may still change, by the identity of this builder's row."""
        other = self.fork()
        return other, {id(row): twin for row, twin in zip(self._events.rows, other._events.rows, strict=True)}

    # --- rows ---------------------------------------------------------------------------------------------

    def row(
        self,
        step: int,
        values: Mapping[str, Any],
        *,
        line: int = 0,
        at: datetime | None = None,
        extra: Mapping[str, float | None] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Add values of one step. A step seen in this segment gains keys (values it has stay unless `overwrite`).

        A step below the segment's last one that is not among its recent rows opens a new segment (resume, restart).
        `values` are columns of `schema.STEPS`; None is dropped. Unknown columns are a programming error.
        """
        found = self._by_step.get(step)
        if found is None:
            if step >= MOST:
                self.note("skipped", say("a step number that no run can have"), line)
                return
            if self.last_step is not None and step < self.last_step:
                self.new_segment()
            found = self._open(step, line)
        row, more = found
        if at is not None and "at" not in row:
            row["at"] = at
        if not values.keys() <= _STEP_COLUMNS:
            raise ValueError(f"no such column: {', '.join(values.keys() - _STEP_COLUMNS)}")
        for name in _TIMES:
            if (value := values.get(name)) is not None and value >= EARLIEST:
                values = {column: each for column, each in values.items() if column != name}
                self.note("skipped", say("{name} is a moment and no time that something took", name=name), line)
        # rows never hold None
        row.update({key: value for key, value in values.items() if value is not None and (overwrite or key not in row)})
        if extra:
            more.update(
                {key: value for key, value in extra.items() if value is not None and (overwrite or key not in more)}
            )

    def _open(self, step: int, line: int) -> tuple[dict[str, Any], dict[str, Any]]:
        row: dict[str, Any] = {"segment": self.segment, "step": step, "line": line}
        more: dict[str, Any] = {"segment": self.segment, "step": step}
        self._steps.add(row)
        self._extra.add(more)
        self._by_step[step] = row, more
        if len(self._by_step) > OPEN_ROWS:
            del self._by_step[next(iter(self._by_step))]
        self.last_step = step if self.last_step is None else max(self.last_step, step)
        return row, more

    def has(self, step: int, column: str) -> bool:
        """True when this segment's row of the step already holds the column."""
        found = self._by_step.get(step)
        return found is not None and found[0].get(column) is not None

    def new_segment(self) -> None:
        """The next row belongs to a new session of the same run."""
        self.segment += 1
        self.last_step = None
        self._by_step = {}

    def phase(
        self,
        step: int,
        phase: str,
        seconds: float | None,
        *,
        name: str | None = None,
        parent: str | None = None,
        outside: bool | None = None,
        overlaps: bool = False,
    ) -> None:
        """Add one phase of one step (seconds of one step). A missing or non-finite time adds nothing, nor does a moment."""
        if seconds is None or not math.isfinite(seconds) or seconds < 0 or step >= MOST:
            return
        if seconds >= EARLIEST:
            self.note("skipped", say("{name} is a moment and no time that something took", name=name or phase))
            return
        if phase not in schema.ROLLUP:
            raise ValueError(f"no such phase: {phase}")
        self._phases.add(
            {
                "segment": self.segment,
                "step": step,
                "phase": phase,
                "name": name or phase,
                "parent": parent,
                "outside": outside,
                "overlaps": overlaps,
                "seconds": seconds,
            }
        )

    def engine(self, kind: str, *, line: int = 0, at: datetime | None = None, **values: Any) -> None:
        """Add one engine sample; `values` are columns of `schema.ENGINE`."""
        self._engine.add({"kind": kind, "line": line, "at": at, **values})

    def event(
        self,
        kind: str,
        *,
        line: int = 0,
        at: datetime | None = None,
        step: int | None = None,
        seconds: float | None = None,
        text: str = "",
    ) -> dict[str, Any]:
        """Add something that happened once; `step` defaults to the last one seen.

        The row is handed back: its `seconds` may be raised as more processes report the same event.
        """
        if kind not in schema.EVENT_KINDS:
            raise ValueError(f"no such event: {kind}")
        row: dict[str, Any] = {
            "segment": self.segment,
            "step": self.last_step if step is None or step >= MOST else step,
            "line": line,
            "at": at,
            "kind": kind,
            "seconds": seconds,
            "text": text[:300],
        }
        self._events.add(row)
        return row

    def progress(
        self, step: int, *, total: int | None, elapsed_s: float, remaining_s: float | None = None, line: int = 0
    ) -> None:
        """Add one state of the training progress bar; a repeat of the last one is dropped."""
        rows = self._progress.rows
        if step >= MOST or (
            rows
            and rows[-1]["step"] == step
            and rows[-1]["elapsed_s"] == elapsed_s
            and rows[-1]["segment"] == self.segment
        ):
            return
        self._progress.add(
            {
                "segment": self.segment,
                "step": step,
                "total": None if total is None or total >= MOST else total,
                "elapsed_s": elapsed_s,
                "remaining_s": remaining_s,
                "line": line,
            }
        )

    # --- facts --------------------------------------------------------------------------------------------

    def setting(
        self,
        name: str,
        value: SettingValue | None,
        source: str,
        kind: Literal["measured", "inferred", "assumed"] = "measured",
        *,
        replace: bool = False,
    ) -> None:
        """Record a setting once; the first source wins unless `replace`, but measured beats inferred. None, NaN and numbers that no run can have are ignored."""
        if value is None or (isinstance(value, int | float) and not abs(value) < MOST):
            return
        known = self.settings.get(name)
        if replace or known is None or (kind == "measured" and known.kind != "measured"):
            self.settings[name] = Setting(value=value, source=source, kind=kind)

    def note(self, kind: NoteKind, text: str, line: int = 0) -> None:
        """Note something skipped, repaired or guessed; equal texts are counted, the first line is kept."""
        seen = self._notes.get((kind, text))
        if seen is None:
            self._notes[(kind, text)] = Note(kind, line, text, 1, self.origin.name)
        else:
            self._notes[(kind, text)] = Note(kind, seen.line, text, seen.count + 1, seen.source)

    def noted(self, kind: NoteKind, text: str) -> bool:
        """True when this was noted before."""
        return (kind, text) in self._notes

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was noted so far."""
        return tuple(self._notes.values())

    @property
    def is_empty(self) -> bool:
        """True when nothing was found that a run could be made of."""
        return self._steps.is_empty and self._engine.is_empty and self._progress.is_empty

    def run(self) -> Run:
        """The run as known now. Later calls give later states; what was returned never changes."""
        info = RunInfo(
            name=self.name,
            format=self.format_name,
            framework=self.framework,
            sources=(self.origin.name,),
            settings=dict(self.settings),
            ended=self.ended,
            started_at=self.started_at,
            last_write=self.origin.modified,
            zone_known=self.zone_known,
            train_runtime_s=self.train_runtime_s,
        )
        return Run(
            info=info,
            steps=self._steps.frame(),
            phases=self._phases.frame(),
            engine=self._engine.frame(),
            events=self._events.frame(),
            progress=self._progress.frame(),
            extra=self._extra.frame(),
            notes=self.notes,
        )


def run_name(origin: Origin) -> str:
    """A name for a run from its file and folders: the file's stem, or the nearest telling folder for `console.log` and the like."""
    stem = origin.name.removesuffix(".gz")
    stem = stem.rsplit(".", 1)[0] if "." in stem[1:] else stem
    telling = not (stem.lower() in PLAIN_NAMES or stem.startswith("events.out.tfevents"))
    if telling and stem.strip():
        return stem
    for folder in reversed(origin.folders):
        if not is_plain(folder):
            return folder
    return stem.strip() or origin.name or "run"
