"""trainer_state.json of the HF Trainer, and plain JSON dumps of its `log_history`.

The file names its steps and settings but has no time stamps: time comes from TRL's `step_time` (0.26 and later), from
`train_runtime` where the run counted tokens or ended, or not at all.
"""

from __future__ import annotations

import json
from typing import Any, Final

from parsers import settings, training_args
from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.build import RunBuilder
from parsers.documents import DocumentReader
from parsers.trl_dict import Metrics, metrics_of
from parsers.trl_rows import Record, RowWriter
from parsers.values import real, whole
from timeledger.run import Run
from timeledger.said import say

_SETTINGS: Final = {
    "max_steps": "total_steps",
    "num_train_epochs": "epochs",
    "logging_steps": "logging_steps",
    "train_batch_size": "per_device_batch",
}
_NO_TIME: Final = say(
    "no timing in this file: it holds no step_time and no train_runtime. TRL 0.26 or later logs step_time; "
    "the console log, report_to=tensorboard or wandb also keep the time of every row"
)


class TrainerStateReader(DocumentReader):
    """Reads the history, and the training arguments beside the file."""

    format_name = "trainer_state"
    framework = "TRL"

    def read(self) -> tuple[Run, ...]:
        """The one run."""
        build = self.builder()
        if self.origin.path is not None:
            _arguments(build, training_args.beside(self.origin.path))
        _Document(build).take(self.text())
        return (build.run(),)


def _arguments(build: RunBuilder, arguments: dict[str, Any]) -> None:
    settings.from_config(build, arguments, "training_args.bin")
    name = str(arguments.get("class", "")).removesuffix("Config")
    if name.isupper():
        build.setting("algorithm", name, "training_args.bin: class")


class _Document:
    """One document on its way into a builder."""

    def __init__(self, build: RunBuilder) -> None:
        self._build = build
        self._writer = RowWriter(build)
        self._seen: list[int] = []
        self._timed = False
        self._every = 0

    def take(self, text: str) -> None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            document = _salvaged(text)
            self._build.note(
                "repaired",
                say("the JSON is not complete ({error}): read as far as it goes", error=type(error).__name__),
            )
        rows = document.get("log_history") if isinstance(document, dict) else document
        self._every = whole(document.get("logging_steps")) or 0 if isinstance(document, dict) else 0
        history = rows if isinstance(rows, list) else []
        for index, row in enumerate(history):
            if isinstance(row, dict):
                self._row(row)
            else:
                self._build.note("skipped", say("an entry of log_history that is not an object"), index)
        if isinstance(document, dict):
            self._settings(document, history)
        if not self._timed and self._seen:
            self._build.note("missing", _NO_TIME)

    def _row(self, row: dict[str, Any]) -> None:
        metrics = metrics_of(row)
        step = whole(metrics.numbers.pop("step", metrics.numbers.pop("global_step", None)))
        if step is None:
            self._build.note("skipped", say("an entry of log_history without a step"))
            return
        kind = metrics.kind
        if kind == "end":
            self._end(metrics, step)
        elif kind == "eval":
            self._writer.evaluation(Record("eval", metrics, 0), step)
        else:
            self._train(metrics, step)

    def _train(self, metrics: Metrics, step: int) -> None:
        if self._seen and step < self._seen[-1]:
            self._build.new_segment()
            self._build.event("restart", step=step)
            self._writer.begin(step)
            self._seen.clear()
        elif not self._seen and step > 1 and "num_tokens" in metrics.numbers:
            self._writer.begin(0)
        usual = self._every if self._every and not step % self._every else None
        self._writer.train_at(Record("train", metrics, 0), step, self._seen, first=usual)
        self._timed |= not {"step_time", "train_runtime", "perf/step_s"}.isdisjoint(metrics.numbers)

    def _end(self, metrics: Metrics, step: int) -> None:
        self._build.train_runtime_s = metrics.numbers["train_runtime"]
        self._build.ended = "finished"
        self._build.event("finish", step=step, seconds=self._build.train_runtime_s)
        self._build.setting("total_steps", step, say("step of the end-of-run entry"), "inferred")
        self._timed = True

    def _settings(self, document: dict[str, Any], history: list[Any]) -> None:
        for key, name in _SETTINGS.items():
            self._setting(name, document.get(key), key)
        # eval_steps and save_steps hold a default of 500 when nothing is evaluated or saved
        step, every = whole(document.get("global_step")), whole(document.get("save_steps"))
        if step and every and (step % every == 0 or step == document.get("max_steps")):
            self._setting("save_steps", every, "save_steps")
        if any(isinstance(row, dict) and any(key.startswith("eval_") for key in row) for row in history):
            self._setting("eval_steps", document.get("eval_steps"), "eval_steps")
        if step and step == document.get("max_steps"):
            self._build.ended = "finished"

    def _setting(self, name: str, value: object, key: str) -> None:
        if isinstance(value, int | float) and (real(value) or 0.0) >= 1:
            self._build.setting(name, value, f"trainer_state.json: {key}", replace=True)


def _salvaged(text: str) -> list[Any]:
    """The whole objects of a history that is cut off."""
    at = text.find("[", text.find('"log_history"') if '"log_history"' in text else 0)
    decoder, rows = json.JSONDecoder(), []
    while at >= 0 and (at := text.find("{", at)) >= 0:
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        rows.append(row)
    return rows


def recognises(head: Head) -> Confidence:
    """`"log_history": [` of trainer_state.json, or a list whose objects have a step and a trainer's metrics."""
    start = head.data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{") and b'"log_history"' in head.data and b"\n{" not in head.data:
        return Confidence(Sure.CERTAIN, '"log_history": [')
    if not start.startswith(b"["):
        return NO
    first = head.data[: head.data.find(b"}") + 1]
    if b'"step"' not in first and b'"step"' not in head.data[:8192]:
        return NO
    told = [key for key in (b'"epoch"', b'"learning_rate"', b'"grad_norm"', b'"train_runtime"') if key in first]
    if b'"loss"' in first and told:
        sure = Sure.CERTAIN if b'"epoch"' in first and len(told) >= 2 else Sure.LIKELY
        return Confidence(sure, first[:100].decode("utf-8", errors="replace"))
    return NO


TRAINER_STATE = Format(
    name="trainer_state",
    title="HF Trainer trainer_state.json (and log_history dumps)",
    kind="document",
    recognises=recognises,
    open=TrainerStateReader,
    reads="every logged metric by step, step_time (TRL 0.26 and later), evaluations, max_steps, logging and save intervals",
    lacks="time stamps, group size, limit on answers, phases; without step_time any time at all",
    more="keep the console log, or report_to=tensorboard; point timeledger at the whole output folder",
)
