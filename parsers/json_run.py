"""One run of JSON lines: what its objects tell, row by row."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from parsers import clocks, day_times, fields, settings
from parsers.build import RunBuilder
from parsers.dicts import flatten
from parsers.epochs import InEpochs
from parsers.evaluations import Evaluations, with_sparse
from parsers.fields import spell
from parsers.nesting import runs_beside
from parsers.pipelined import unpipelined
from parsers.renames import Resolver
from parsers.row_axis import TOTAL, on_counter
from parsers.rows import RowWriter
from parsers.sorting import Sorted, sort_out
from parsers.spans import spread
from parsers.text import stamp, stamp_has_zone
from parsers.trackers import MetricRows, number
from timeledger.run import Run
from timeledger.said import say

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
#: Times of one evaluation that lie so close together are one time.
_SAME: Final = 0.01
_RANKS: Final = ("rank", "global_rank", "local_rank", "process_index", "dp_rank")
#: Rows of something else than training steps, by the words of their kind.
_KINDS: Final = ("type", "event", "kind", "split", "phase", "mode", "stage", "prefix")
_NOT_TRAINING: Final = (
    "eval", "evaluation", "val", "validation", "test", "config", "sample", "completion", "progress", "summary",
)  # fmt: skip

#: The worst name of a step that numbers training steps and no parts of them; so many unknown numbers make a row.
AXIS: Final = 2
_SEVERAL: Final = 2
#: Kinds of the objects with which a run begins, and ends.
_BEGINS: Final = frozenset({"config", "configuration", "args", "arguments", "hparams", "hyperparameters", "settings", "setup",
                            "start", "run_start", "train_start", "training_start", "begin"})  # fmt: skip
_ENDS: Final = frozenset({"done", "end", "finish", "finished", "complete", "completed", "run_end", "train_end", "training_end",
                          "training_complete"})  # fmt: skip


class JsonRun:
    """Takes the objects of one run; several objects of one step are one row."""

    def __init__(self, build: RunBuilder, look: Resolver) -> None:
        self.build = build
        self._look = look
        self._rows = RowWriter(build, repeats_restart=True)
        self._epochs = InEpochs()
        self._evaluations = Evaluations(build)
        self._stepped: bool | None = None
        self._rank: int | None = None
        self._history: MetricRows | None = None
        self._count = 0
        #: how well the best of the names names the step that rows with known metrics go by
        self._axis = AXIS

    def take(self, record: dict[str, Any], no: int) -> None:
        """Read one object, from line `no`."""
        if self._history is not None or self._of_tracker(record):
            self._history = self._history or MetricRows(self.build, counts_rows=True)
            counter = number(record.get("_step"))
            self._history.add(record, number(record.get("_timestamp")), None if counter is None else int(counter))
            return
        took = number(record.get("train_runtime"))
        if took is not None:  # a trainer's last words: of all steps, not of one
            self.build.train_runtime_s, self.build.ended = took, "finished"
            return
        if self._of_other_rank(record):
            self.build.note("repaired", say("rows of another rank for the same steps: left out"), no)
            return
        values = self._sorted(record)
        if self._frame(record, kind_of(record), values, no):
            return
        if other(record, values):
            self._evaluation(kind_of(record), values, no)
            return
        if values.known or (values.step is not None and values.step == self._rows.last) or self._dated(record, values):
            self._row(values, no)

    def _dated(self, record: dict[str, Any], values: Sorted) -> bool:
        """True for a row of unknown metrics on the axis of the others: it tells when its step was done."""
        if values.known and values.step is not None:
            self._axis = min(self._axis, values.step_rank)
        return values.step_rank <= self._axis and is_dated(record, values)

    def _sorted(self, record: dict[str, Any]) -> Sorted:
        clock = day_times.key_of(record)
        others = record if clock is None else {key: raw for key, raw in record.items() if key != clock}
        values = sort_out(flatten(inner(others)), self._look)
        self._stamp(others, values)
        if clock is not None:
            day_times.tell(self.build, record, clock, values)
        return values

    def _frame(self, record: dict[str, Any], kind: str, values: Sorted, no: int) -> bool:
        """True for the object with which a run begins or ends: its configuration becomes settings."""
        if values.step is not None:
            return False
        if kind in _BEGINS:
            config_settings(self.build, inner(record), say("the {kind} row", kind=kind))
            return True
        if kind in _ENDS:
            self.build.ended = "finished"
            self.build.event("finish", line=no, at=values.at)
            return True
        return False

    def _evaluation(self, kind: str, values: Sorted, no: int) -> None:
        """A row of an evaluation alone is one that took place, and what it took where the row says so."""
        if kind.startswith(("eval", "val", "test")) or (not kind and values.extra and _only_eval(values)):
            own = [seconds for phase, seconds in values.phases.values() if phase == "evaluation"]
            own += [seconds for key, seconds in values.clocks.items() if key.startswith(clocks.STEP)]
            one = own and max(own) - min(own) <= _SAME * max(own)  # a function and the one it calls are both timed
            took = max(own) if one else values.columns.get("step_s")
            took = None if runs_beside(values) else took
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
            if values.total is not None:
                values.extra[TOTAL] = float(values.total)
            self.build.note("guessed", _COUNTED, no)
        self.build.ended = None
        self._rows.write(self._epochs.step(step, values.epoch), values, no)

    def _stamp(self, record: dict[str, Any], values: Sorted) -> None:
        """A time stamp written as text."""
        for key, raw in record.items():
            if isinstance(raw, str) and key.lower().lstrip("_") in _STAMPS and (at := stamp(raw)) is not None:
                values.at = at
                self.build.zone_known = self.build.zone_known and stamp_has_zone(raw)
                return

    def run(self) -> Run:
        """The run so far: times whose role was open are settled from all rows."""
        if self._history is not None:
            return with_sparse(self._history.run())
        if self._rows.total is not None:
            self.build.setting("total_steps", self._rows.total, say("the rows' own total"), replace=True)
        run = self.build.run()
        if not self._stepped:
            run = on_counter(run, _COUNTED)
        return with_sparse(unpipelined(clocks.settle(day_times.placed(run), self._rows.step_key)))


def config_settings(build: RunBuilder, config: Any, source: str) -> None:
    """Settings of a run's configuration: a framework's own, or names of a hand-written loop."""
    settings.from_config(build, config, source)
    for key, value in config.items() if isinstance(config, dict) else ():
        name = fields.setting(str(key))
        found = None if name is None or isinstance(value, dict | list) else fields.setting_value(name, str(value))
        if name is not None and found is not None:
            build.setting(name, found, source)


def inner(record: dict[str, Any]) -> dict[str, Any]:
    """The record without one wrapping level (`{"step": 3, "metrics": {..}}`)."""
    flat = spread(dict(record))
    for key in ("metrics", "data", "logs", "log", "scalars", "stats", "values", "train"):
        if isinstance(inner := flat.get(key), dict):
            del flat[key]
            flat.update({name: value for name, value in inner.items() if name not in flat})
    return flat


def kind_of(record: dict[str, Any]) -> str:
    for key in _KINDS:
        if isinstance(raw := record.get(key), str):
            return raw.lower()
    return ""


def other(record: dict[str, Any], values: Sorted) -> bool:
    """True for rows of an evaluation, a sample, a configuration."""
    if kind_of(record).startswith(_NOT_TRAINING) or is_sample(record, values):
        return True
    if any(phase != "evaluation" for phase, _ in values.phases.values()) or not values.columns.keys() <= {"epoch"}:
        return False
    return bool(values.extra) and _only_eval(values)


def _only_eval(values: Sorted) -> bool:
    return all(spell(key).startswith("eval") for key in values.extra)


def is_dated(record: dict[str, Any], values: Sorted) -> bool:
    """True for several numbers, whatever they are, beside the training's own step and a moment, in a row of no other kind."""
    if values.step is None or values.step_rank > AXIS or len(values.extra) < _SEVERAL or kind_of(record):
        return False
    return not is_sample(record, values) and (values.at is not None or _moment(record) is not None)


def _moment(record: dict[str, Any]) -> datetime | None:
    """A time stamp written as text."""
    found = (stamp(raw) for key, raw in record.items() if isinstance(raw, str) and key.lower().lstrip("_") in _STAMPS)
    return next((at for at in found if at is not None), None)


def is_sample(record: dict[str, Any], values: Sorted) -> bool:
    """True for one answer with its reward: rollouts that a trainer saves are no rows of its log."""
    if values.clocks or values.phases or not values.columns.keys().isdisjoint(_TRAINER):
        return False
    return any(isinstance(record.get(name), str | list | dict) for name in _TEXTS)
