"""JSON lines of any writer: one object a line, with whatever keys its author chose."""

from __future__ import annotations

import json
from typing import Any, Final

from parsers import clocks
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.dicts import flatten
from parsers.evaluations import Evaluations, with_sparse
from parsers.fields import spell
from parsers.lines import LineReader
from parsers.renames import resolver
from parsers.rows import RowWriter
from parsers.sorting import Sorted, sort_out
from parsers.text import Piece, stamp, stamp_has_zone
from parsers.trackers import MetricRows, number
from timeledger.run import Run
from timeledger.said import say

#: Objects looked at to recognise a file, and the share of its lines that must be metric objects.
_LOOK: Final = 40
_SHARE: Final = 0.6
#: Seconds since 1970 of a year that has W&B.
_LATER: Final = 1.4e9
_COUNTED: Final = say("no step number in the log: rows are counted")
_STAMPS: Final = frozenset(
    {"timestamp", "time", "ts", "datetime", "created_at", "asctime", "date", "logged_at", "@timestamp"}
)
#: Where saved answers hold their text, and what only a trainer's row tells.
_TEXTS: Final = ("prompt", "completion", "response", "output", "input", "question", "answer", "messages", "conversation",
                 "generated_text", "trajectory", "prompts", "completions", "responses")  # fmt: skip
_TRAINER: Final = frozenset({"loss", "lr", "grad_norm", "step_s", "kl", "entropy", "clipfrac"})
_RANKS: Final = ("rank", "global_rank", "local_rank", "process_index", "dp_rank")
#: Rows of something else than training steps, by the words of their kind.
_KINDS: Final = ("type", "event", "kind", "split", "phase", "mode", "stage", "prefix")
_NOT_TRAINING: Final = (
    "eval", "evaluation", "val", "validation", "test", "config", "sample", "completion", "progress", "summary",
)  # fmt: skip


class _JsonlReader(LineReader):
    """Reads objects line by line; several objects of one step are one row."""

    format_name = "jsonl"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._look = resolver(origin.mapping)
        self._rows = RowWriter(self.build, repeats_restart=True)
        self._evaluations = Evaluations(self.build)
        self._stepped: bool | None = None
        self._rank: int | None = None
        self._history: MetricRows | None = None
        self._count = 0

    def take(self, piece: Piece) -> None:
        """Read one line."""
        record = parse(piece.text)
        if record is None:
            cut = piece.text.lstrip().startswith("{")
            text = (
                say("a line is not a whole JSON object (cut off while being written?)")
                if cut
                else say("lines that are no JSON objects")
            )
            self.build.note("skipped", text, piece.no)
            return
        if self._history is not None or self._of_tracker(record):
            self._history = self._history or MetricRows(self.build)
            counter = number(record.get("_step"))
            self._history.add(record, number(record.get("_timestamp")), None if counter is None else int(counter))
            return
        if (
            took := number(record.get("train_runtime"))
        ) is not None:  # a trainer's last words: of all steps, not of one
            self.build.train_runtime_s, self.build.ended = took, "finished"
            return
        if self._of_other_rank(record):
            self.build.note("repaired", say("rows of another rank for the same steps: left out"), piece.no)
            return
        values = sort_out(flatten(_inner(record)), self._look)
        self._stamp(record, values)
        if _other(record, values):
            self._evaluation(_kind_of(record), values, piece.no)
            return
        if values.known or (values.step is not None and values.step == self._rows.last):
            self._row(values, piece.no)

    def _evaluation(self, kind: str, values: Sorted, no: int) -> None:
        """A row of an evaluation alone is one that took place, and what it took where the row says so."""
        if kind.startswith(("eval", "val", "test")) or (not kind and values.extra and _only_eval(values)):
            own = [seconds for phase, seconds in values.phases.values() if phase == "evaluation"]
            own += [seconds for key, seconds in values.clocks.items() if key.startswith(clocks.STEP)]
            took = own[0] if len(own) == 1 else values.columns.get("step_s")
            self._evaluations.tell(values.step, took, line=no, at=values.at, text=kind)

    def _of_tracker(self, record: dict[str, Any]) -> bool:
        """True when the file begins like a history that W&B gave out: its `_step` counts rows, not steps."""
        return not self._rows.rows and "_step" in record and (number(record.get("_timestamp")) or 0.0) > _LATER

    def _of_other_rank(self, record: dict[str, Any]) -> bool:
        """True for a row of another process than the first one's, where every rank writes its own."""
        rank = next((record[key] for key in _RANKS if type(record.get(key)) is int), None)
        if self._rank is None:
            self._rank = rank
        return rank is not None and rank != self._rank

    def _row(self, values: Sorted, no: int) -> None:
        step = values.step
        if step is not None:
            self._stepped = True
        elif self._stepped:
            self.build.note("skipped", say("objects without a step number"), no)
            return
        else:
            self._count += 1
            step = self._count
            self.build.note("guessed", _COUNTED, no)
        self._rows.write(step, values, no)

    def _stamp(self, record: dict[str, Any], values: Sorted) -> None:
        """A time stamp written as text."""
        for key, raw in record.items():
            if isinstance(raw, str) and key.lower().lstrip("_") in _STAMPS and (at := stamp(raw)) is not None:
                values.at = at
                self.build.zone_known = self.build.zone_known and stamp_has_zone(raw)
                return

    def runs(self) -> tuple[Run, ...]:
        """The run so far: times whose role was open are settled from all rows."""
        if self._history is not None:
            return (self._history.run(),)
        if self._rows.total is not None:
            self.build.setting("total_steps", self._rows.total, say("the rows' own total"), replace=True)
        return (with_sparse(clocks.settle(self.build.run())),)


def parse(text: str) -> dict[str, Any] | None:
    """The object of a line (NaN and Infinity allowed), None when the line is none."""
    start = text.find("{")
    if start < 0 or text[:start].strip(" ,[\ufeff\x1e"):
        return None
    try:
        found = json.loads(text[start:].strip().rstrip(","))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _inner(record: dict[str, Any]) -> dict[str, Any]:
    """The record without one wrapping level (`{"step": 3, "metrics": {..}}`)."""
    flat = dict(record)
    for key in ("metrics", "data", "logs", "log", "scalars", "stats", "values", "train"):
        if isinstance(inner := flat.get(key), dict):
            del flat[key]
            flat.update({name: value for name, value in inner.items() if name not in flat})
    return flat


def _kind_of(record: dict[str, Any]) -> str:
    for key in _KINDS:
        if isinstance(raw := record.get(key), str):
            return raw.lower()
    return ""


def _other(record: dict[str, Any], values: Sorted) -> bool:
    """True for rows of an evaluation, a sample, a configuration."""
    if _kind_of(record).startswith(_NOT_TRAINING) or _is_sample(record, values):
        return True
    if any(phase != "evaluation" for phase, _ in values.phases.values()) or not values.columns.keys() <= {"epoch"}:
        return False
    return bool(values.extra) and _only_eval(values)


def _only_eval(values: Sorted) -> bool:
    return all(spell(key).startswith("eval") for key in values.extra)


def _tells(record: dict[str, Any], values: Sorted) -> bool:
    """True for metrics of a step, or enough of them without its number."""
    if _is_sample(record, values):
        return False
    strong = sum(column not in {"epoch", "acc"} for column in values.columns) + len(values.phases) + len(values.clocks)
    return strong > 0 and (values.step is not None or strong >= 3)


def is_metric(record: dict[str, Any]) -> bool:
    """True when the object is a row of a training's metrics."""
    return _tells(record, sort_out(flatten(_inner(record)), resolver(())))


def _is_sample(record: dict[str, Any], values: Sorted) -> bool:
    """True for one answer with its reward: rollouts that a trainer saves are no rows of its log."""
    if values.clocks or values.phases or not values.columns.keys().isdisjoint(_TRAINER):
        return False
    return any(isinstance(record.get(name), str | list | dict) for name in _TEXTS)


def recognises(head: Head) -> Confidence:
    """LIKELY: objects with a step and metrics on nearly every line. MAYBE: metrics without a step."""
    seen = metric = stepped = 0
    first = ""
    look = resolver(())
    for text in head.lines[: 4 * _LOOK]:
        seen += 1
        record = parse(text)
        if record is None:
            continue
        values = sort_out(flatten(_inner(record)), look)
        if _tells(record, values):
            metric += 1
            stepped += values.step is not None
            first = first or text
        if metric >= _LOOK:
            break
    if not metric or metric < _SHARE * seen:
        return NO
    if stepped:
        return Confidence(Sure.LIKELY if stepped >= 2 or len(head.lines) <= 3 else Sure.MAYBE, first[:100])
    return Confidence(Sure.MAYBE, first[:100])


JSONL: Final = Format(
    name="jsonl",
    title="JSON lines",
    kind="lines",
    recognises=recognises,
    open=_JsonlReader,
    reads="one object a line with any keys (nested ones too): step, times, lengths, rewards, phases by their names; several objects of a step are one row",
    lacks="whatever the writer leaves out; times without a unit in their name are told apart by how they behave",
    more='json.dumps({"step": step, "time": seconds, "len_mean": length, "reward": reward, "time/rollout": gen_s, "time/update": train_s})',
    role="own",
    most=Sure.LIKELY,
)
