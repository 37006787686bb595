"""The record in the middle: what a log says of one training run, and nothing else.

Parsers make it, the model reads it, nobody changes it. What the log does not say is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, WrapValidator

from timeledger import schema
from timeledger.said import Said

#: measured: stands in the log. inferred: computed from what stands there. assumed: typed in, or a default.
Kind = Literal["measured", "inferred", "assumed"]
SettingValue = bool | int | float | str
#: A text of a model; pydantic would make a plain one of what was said.
Text = Annotated[str, WrapValidator(lambda text, check: text if isinstance(text, Said) else check(text))]


class Setting(BaseModel):
    """One setting of the run and where it was found, such as `("trainer_state.json: max_steps", "measured")`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: SettingValue
    source: Text
    kind: Kind = "measured"


NoteKind = Literal["skipped", "repaired", "guessed", "missing", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something skipped, repaired or guessed while reading: how often, and on which line first (0: no line)."""

    kind: NoteKind
    line: int
    text: str
    count: int = 1
    source: str = ""


class RunInfo(BaseModel):
    """What is true of the run as a whole.

    `ended` is what the log itself says of the end: "finished" (end-of-run line, bar full), "crashed" (traceback),
    "interrupted" (Ctrl-C), None (it just stops: still running, or killed). `last_write` is when the file was last
    written (UTC). `zone_known` is False when time stamps carry no time zone and were read as UTC.
    `columns_from` says, after a merge, which source a column came from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    format: str
    framework: str | None = None
    sources: tuple[str, ...] = ()
    settings: dict[str, Setting] = {}
    columns_from: dict[str, str] = {}
    ended: Literal["finished", "crashed", "interrupted"] | None = None
    started_at: datetime | None = None
    last_write: datetime | None = None
    zone_known: bool = True
    train_runtime_s: float | None = None

    def setting(self, name: str) -> SettingValue | None:
        """The value of a setting, or None when the log does not say."""
        found = self.settings.get(name)
        return None if found is None else found.value

    def number(self, name: str) -> float | None:
        """The value of a numeric setting, or None when it is unknown or not a number."""
        value = self.setting(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Run:
    """One run: `info`, the frames of `timeledger.schema`, and `notes`.

    `extra` keeps every metric that has no column, under its own name, one row a (segment, step).
    """

    info: RunInfo
    steps: pl.DataFrame
    phases: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.PHASES))
    engine: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.ENGINE))
    events: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.EVENTS))
    progress: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.PROGRESS))
    extra: pl.DataFrame = field(
        default_factory=lambda: schema.empty(pl.Schema({"segment": pl.Int64, "step": pl.Int64}))
    )
    notes: tuple[Note, ...] = ()

    @property
    def name(self) -> str:
        """The run's name, as shown."""
        return self.info.name

    @property
    def has_steps(self) -> bool:
        """True when the log holds at least one training step (an engine log alone does not)."""
        return self.steps.height > 0

    @property
    def trains(self) -> bool:
        """True when the log shows steps of a training: as rows, or by its progress bar alone (metrics may come late)."""
        return self.has_steps or self.progress.height > 0

    def with_settings(self, **values: Setting) -> Run:
        """A copy with settings added or replaced (facts that a person typed in)."""
        merged = {**self.info.settings, **values}
        return replace(self, info=self.info.model_copy(update={"settings": merged}))

    def with_notes(self, *notes: Note) -> Run:
        """A copy with notes added."""
        return replace(self, notes=self.notes + notes)
