"""The JSON documents, as models: a contract (`"schema": 1`) whose keys are never renamed, only added.

`report.schema.json` beside this file is generated from these models (`python -m timeledger.document`), and a test
holds the two together.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import AliasChoices, Field

from timeledger.document_base import Part as Part
from timeledger.document_base import PhasePart as PhasePart
from timeledger.document_base import Range as Range
from timeledger.document_plan import PLANNING
from timeledger.plan import Cost
from timeledger.results import State
from timeledger.run import NoteKind, SettingValue

SCHEMA_FILE: Final = Path(__file__).with_name("report.schema.json")


class Moments(Part):
    """A moment with its interval."""

    low: datetime
    mid: datetime
    high: datetime


class RunPart(Part):
    """What the run is and how far it has come."""

    name: str
    format: str
    sources: tuple[str, ...]
    framework: str | None
    state: State
    step: int | None
    first_step: int | None
    steps_done: int | None
    total_steps: int | None
    total_steps_from: str | None
    started_at: datetime | None
    last_at: datetime | None
    config: dict[str, SettingValue]
    config_from: dict[str, str]


class SegmentPart(Part):
    """One session of the run."""

    first_step: int
    last_step: int
    elapsed_s: float | None
    lost_before_s: float | None
    redone_steps: int = Field(validation_alias=AliasChoices("redone", "redone_steps"))


class PeriodicPart(Part):
    """Work that comes every so many steps."""

    kind: str
    every: int | None
    seconds: float | None
    count: int
    known_from: str


class ClockPart(Part):
    """The run's time; `from` names the source of wall time."""

    elapsed_s: float | None
    active_s: float | None
    lost_s: float | None
    segments: tuple[SegmentPart, ...]
    origin: str = Field(validation_alias=AliasChoices("source", "from"), serialization_alias="from")
    resolution_s: float
    step_s: float | None
    warmup_steps: int
    warmup_s: float | None
    cycle: int
    generates: bool
    periodic: tuple[PeriodicPart, ...]
    covered: float | None
    why: str | None


class BreakdownPart(Part):
    """Where a step's time went; phases and the unexplained rest add up to `step_s` unless `overlapped`."""

    step_s: float | None
    phases: tuple[PhasePart, ...]
    unexplained_s: float | None
    parts: dict[str, float]
    sampling_share: float | None
    training_share: float | None
    fixed_share: float | None
    overlapped: bool
    why: str | None


class TimingPart(Part):
    """What a step costs: fixed seconds, and seconds a token of the driver."""

    driver: str
    fixed_s: float | None
    fixed_s_range: Range | None
    s_per_token: float | None
    s_per_token_range: Range | None
    gen_tok_s: float | None
    gen_tok_s_from: str | None
    train_tok_s: float | None
    train_tok_s_from: str | None
    quality: float | None
    sentence: str
    why: str | None


class LengthPart(Part):
    """Response length in tokens."""

    first: float | None
    last: float | None
    growth: float | None
    limit: float | None
    limit_from: str | None
    truncated_last: float | None
    curve: str
    sentence: str
    why: str | None


class BacktestPart(Part):
    """What the product would have said at `share` of this run."""

    share: float
    step: int
    total_s: Range
    truth_s: float | None
    tqdm_s: float | None


class ProjectionPart(Part):
    """When the run ends. `total_s` counts from its first step to its last, pauses included."""

    remaining_s: Range | None
    total_s: Range | None
    finish_at: Moments | None
    worst_case_s: float | None
    level: float
    method: str
    because: tuple[str, ...]
    warnings: tuple[str, ...]
    too_early: bool
    backtest: dict[str, BacktestPart]
    why: str | None


class AdvicePart(Part):
    """One thing to change, with what it saves on this run."""

    rule: str
    tier: int
    title: str
    saves_s: Range | None
    share: float | None
    cost: str
    settings: dict[str, str]
    evidence: dict[str, SettingValue]
    source: str
    symptom: str
    of: str
    ceiling: float | None
    confidence: Literal["high", "medium", "low"]
    published: str


class NotJudgedPart(Part):
    """A rule of advice that this log cannot decide: what it lacks, and the ways to log that."""

    rule: str
    title: str
    lacks: tuple[str, ...]
    how: tuple[str, ...]


class CheckPart(Part):
    """One gate of the smoke test; `gate` says from which step on it can be judged, `do` what to do about it."""

    name: str
    status: Literal["pass", "warn", "fail", "unknown"]
    value: float | str | None
    want: str
    why: str
    title: str
    gate: str
    do: str


class EnginePart(Part):
    """What the inference engine's samples say; `states` are seconds, or windows where `timed` is false."""

    samples: int
    engines: int
    timed: bool
    states: dict[str, float]
    gen_tok_s: float | None
    peak_tok_s: float | None
    request_tok_s: float | None
    running: float | None
    running_peak: float | None
    waiting: float | None
    waiting_peak: float | None
    kv_cache: float | None
    kv_peak: float | None
    prefix_hit: float | None
    preemptions: float | None
    sleeps: int
    sleep_s: float | None
    sentence: str


class NotePart(Part):
    """Something skipped, repaired or guessed while reading."""

    kind: NoteKind
    line: int
    text: str
    count: int
    source: str


class RunReport(Part):
    """Everything that is shown of one run."""

    run: RunPart
    headline: str
    clock: ClockPart
    breakdown: BreakdownPart
    timing: TimingPart
    length: LengthPart
    projection: ProjectionPart
    advice: tuple[AdvicePart, ...]
    not_judged: tuple[NotJudgedPart, ...] = ()
    checks: tuple[CheckPart, ...]
    engine: EnginePart | None = None
    cost: Cost | None
    steps: tuple[dict[str, Any], ...] | None = None
    notes: tuple[NotePart, ...]


class ShowDocument(Part):
    """What `timeledger show --json` prints."""

    version: Literal[1] = Field(default=1, alias="schema")
    runs: tuple[RunReport, ...]


class LedgerPart(Part):
    """One part of a difference in step time."""

    part: str
    seconds: float
    share: float | None


class DifferencePart(Part):
    """Why a step of `b` takes longer (or shorter) than one of `a`; the parts add up to `step_s`."""

    a: str
    b: str
    step_s: float | None
    parts: tuple[LedgerPart, ...]
    sentence: str


class CompareDocument(Part):
    """What `timeledger compare --json` prints."""

    version: Literal[1] = Field(default=1, alias="schema")
    runs: tuple[RunReport, ...]
    differences: tuple[DifferencePart, ...]


class CheckDocument(Part):
    """What `timeledger check --json` prints; `run` names the run that was checked."""

    version: Literal[1] = Field(default=1, alias="schema")
    verdict: Literal["pass", "fail", "unknown"]
    checks: tuple[CheckPart, ...]
    run: str
    sentence: str


def to_json(document: Part) -> str:
    """The document as JSON text; infinities and NaN become null (they have no JSON form)."""
    plain = _finite(document.model_dump(mode="json", by_alias=True))
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value


DOCUMENTS: Final[dict[str, type[Part]]] = {
    "show": ShowDocument, "compare": CompareDocument, "check": CheckDocument, **PLANNING,
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """The JSON schemas of all documents, by command."""
    return {name: model.model_json_schema(by_alias=True, mode="serialization") for name, model in DOCUMENTS.items()}


def schema_text() -> str:
    """The content of `report.schema.json`."""
    return json.dumps(json_schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text())
