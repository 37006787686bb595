"""Jupyter and Colab notebooks: the trainer's progress display, and text output that another format knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from parsers import notebook_html
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.documents import DocumentReader
from parsers.notebook_code import Names
from parsers.notebook_html import Shown
from parsers.settings import from_config
from parsers.tagrows import TagRows
from parsers.text import strip_ansi
from parsers.trl_facts import Facts
from parsers.values import whole
from timeledger import units
from timeledger.run import Run
from timeledger.said import say

#: A cell's text is another format's run only with this many steps: prose may look like a line of a log.
_FEWEST_STEPS: Final = 2
_RUNTIME: Final = re.compile(r"TrainOutput\(.*'train_runtime':\s*([\d.]+)", re.DOTALL)
_FACT_LINES: Final = 2000


def recognises(head: Head) -> Confidence:
    """A JSON object with cells, by its first keys or its name."""
    start = head.data[:2048].lstrip()
    if not start.startswith(b"{"):
        return NO
    if (b'"cells"' in start and b'"cell_type"' in head.data) or b'"nbformat"' in start:
        return Confidence(Sure.CERTAIN, "a JSON object with cells of a notebook")
    return Confidence(Sure.LIKELY, f"the name {head.name}") if head.name.endswith(".ipynb") else NO


class NotebookReader(DocumentReader):
    """Reads the cells: one run for each training display, and those that other formats find in the other cells' text."""

    format_name = "notebook"

    def read(self) -> tuple[Run, ...]:
        """The runs of all cells."""
        try:
            document = json.loads(self.data)
            cells = [cell for cell in _cells(document) if isinstance(cell, dict)]
        except (ValueError, RecursionError) as error:
            return self.nothing(say("the notebook is not whole JSON ({error})", error=str(error)[:80]))
        runs: list[Run] = []
        names, text = Names(), ""
        settings: dict[str, Any] = {}
        for cell in cells:
            settings = names.take(_text(cell.get("source"))) or settings
            outputs = [each for each in cell.get("outputs") or [] if isinstance(each, dict)]
            displays = [shown for html in _parts(outputs, "text/html") if (shown := notebook_html.read(html)).trains]
            printed = "".join(_streams(outputs))
            text += printed if len(text) < (1 << 22) else ""
            if displays:
                runs += [self._training(shown, outputs, text, settings) for shown in displays]
                text = ""
            elif printed.strip():
                runs += self._other(printed, settings)
        numbered = [_named(run, at, len(runs)) for at, run in enumerate(runs, 1)]
        return tuple(numbered) or self.nothing(say("no training output in this notebook's cells"))

    # --- the trainer's own display ------------------------------------------------------------------------

    def _training(self, shown: Shown, outputs: list[dict[str, Any]], text: str, settings: dict[str, Any]) -> Run:
        build = RunBuilder(self.origin, "notebook", "TRL")
        facts = Facts()
        for line in strip_ansi(text).splitlines()[-_FACT_LINES:]:
            facts.take(line, build)
        facts.finish(build)
        from_config(build, settings, "notebook source")
        _old_batch(build)
        rows = TagRows(build)
        for cells in shown.rows:
            _add_row(rows, shown.header, cells)
        if shown.total is not None and shown.elapsed_s is not None and shown.step is not None:
            build.setting("total_steps", shown.total, say("progress display"))
            build.progress(shown.step, total=shown.total, elapsed_s=shown.elapsed_s, remaining_s=shown.remaining_s)
        rows.flush()
        _ending(build, shown, outputs)
        return rows.run()

    # --- text that another format knows -------------------------------------------------------------------

    def _other(self, printed: str, settings: dict[str, Any]) -> Iterator[Run]:
        from parsers.source import read_whole  # noqa: PLC0415  the table of formats holds this module

        feeder = read_whole(Origin(self.origin.name, self.origin.folders), None, printed.encode())
        for run in feeder.runs():
            if run.steps.height >= _FEWEST_STEPS:
                build = self.builder()
                from_config(build, settings, "notebook source")
                known = {**build.settings, **run.info.settings}
                update = {"settings": known, "last_write": self.origin.modified, "name": build.name}
                yield _with_info(run, update)


def _old_batch(build: RunBuilder) -> None:
    """A batch that the group size does not divide counts prompts, as TRL did before 0.16: later versions refuse it."""
    batch, group = build.settings.get("sequences_per_step"), build.settings.get("group_size")
    if batch is None or group is None or not isinstance(batch.value, int) or not isinstance(group.value, int):
        return
    if group.value > 0 and batch.value % group.value:
        source = f"{batch.source}, in prompts"
        build.setting("prompts_per_step", batch.value, source, "inferred", replace=True)
        build.setting("sequences_per_step", batch.value * group.value, source, "inferred", replace=True)


def _with_info(run: Run, update: dict[str, Any]) -> Run:
    return replace(run, info=run.info.model_copy(update=update))


def _named(run: Run, number: int, count: int) -> Run:
    return run if count == 1 else _with_info(run, {"name": f"{run.info.name} #{number}"})


def _cells(document: Any) -> list[Any]:
    """The cells of a notebook, of the old kind with worksheets too."""
    if not isinstance(document, dict):
        return []
    sheets = document.get("worksheets") or [document]
    return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []]


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    return "".join(line for line in part if isinstance(line, str)) if isinstance(part, list) else ""


def _parts(outputs: list[dict[str, Any]], kind: str) -> Iterator[str]:
    for output in outputs:
        data = output.get("data")
        if isinstance(data, dict) and kind in data:
            yield _text(data[kind])


def _streams(outputs: list[dict[str, Any]]) -> Iterator[str]:
    """Printed text in order. Colab keeps long output as the text of a display; widgets leave only their name."""
    for output in outputs:
        if output.get("output_type") in {"stream", "pyout"}:
            yield _text(output.get("text"))
        elif output.get("output_type") == "error":
            yield "\n".join(_text(line) for line in output.get("traceback") or []) + "\n"
        elif isinstance(data := output.get("data"), dict):
            plain = _text(data.get("text/plain"))
            if "\n" in plain and "<IPython" not in plain:
                yield plain + "\n"


def _add_row(rows: TagRows, header: list[str], cells: list[str]) -> None:
    if header[0] != "Step":
        rows.build.note("skipped", say("a table of epochs without steps"))
        return
    step = whole(units.number(cells[0])) if cells else None
    if step is None:
        rows.build.note("skipped", say("a row of the table without a step"))
        return
    for name, cell in zip(header[1:], cells[1:], strict=False):
        value = units.number(cell)
        if value is not None:
            tag = {"Training Loss": "loss", "Validation Loss": "eval_loss"}.get(name, name.replace(" / ", "/"))
            rows.add(step, tag, value, None)


def _ending(build: RunBuilder, shown: Shown, outputs: list[dict[str, Any]]) -> None:
    for plain in _parts(outputs, "text/plain"):
        if match := _RUNTIME.match(plain):
            build.train_runtime_s = float(match[1])
    errors = [str(output.get("ename")) for output in outputs if output.get("output_type") == "error"]
    if shown.done or build.train_runtime_s is not None:
        build.ended = "finished"
        build.event("finish", step=shown.step)
    elif errors:
        build.ended = "interrupted" if errors[-1] == "KeyboardInterrupt" else "crashed"
        build.event("crash", step=shown.step, text=errors[-1])


NOTEBOOK: Final = Format(
    name="notebook",
    title="Jupyter or Colab notebook",
    kind="document",
    recognises=recognises,
    open=NotebookReader,
    reads="the trainer's table and progress (TRL, Unsloth), printed logs of any known format, settings in the source",
    lacks="the time of each step: the display keeps only the total so far",
    more="`logging_steps=1` and `report_to=['tensorboard']`, which keeps the time of every step",
)
