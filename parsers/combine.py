"""What several logs of one run tell beside rows: phases, events, bars, engine samples, settings, clocks, notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from parsers.agree import sessions
from parsers.blend import Source
from parsers.zones import moved_clock, quarter_hours_ahead, shift_of
from timeledger import schema
from timeledger.run import Note, Run, Setting
from timeledger.said import say

_STEP: Final = ["segment", "step"]
#: Told once a session, whatever step a log puts it at.
_ONCE: Final = {"start", "finish", "crash", "resume", "restart"}
#: How sure a setting is.
_KIND: Final = {"measured": 0, "inferred": 1, "assumed": 2}
#: Settings whose disagreement would change an answer.
_WEIGHTY: Final = {
    "total_steps",
    "group_size",
    "prompts_per_step",
    "sequences_per_step",
    "max_tokens",
    "logging_steps",
    "gpus",
}
#: Who holds the settings as the program had them, not as it printed them.
_CONFIG: Final = {"wandb": 0, "tensorboard": 1, "mlflow": 2, "trackio": 3, "verl": 4, "trainer_state": 5}


def phases(sources: Sequence[Source]) -> tuple[pl.DataFrame, dict[str, str]]:
    """The phases of the log that tells most of them; others add top-level phases that it does not have in a step."""
    have = [each for each in sources if each.run.phases.height]
    if not have:
        return schema.empty(schema.PHASES), {}
    have.sort(key=lambda each: (-each.run.phases.unique([*_STEP, "name"]).height, each.rank))
    rows, told = have[0].run.phases, [have[0].label]
    for each in have[1:]:
        new = each.run.phases.filter(pl.col("parent").is_null()).join(rows, on=[*_STEP, "phase"], how="anti")
        if new.height:
            rows = pl.concat([rows, new])
            told.append(each.label)
    return rows.sort(_STEP, maintain_order=True), {"phases": " + ".join(dict.fromkeys(told))}


def progress(sources: Sequence[Source]) -> tuple[pl.DataFrame, dict[str, str]]:
    """One log's bar a session: the one with the most updates."""
    best: dict[int, tuple[int, int, Source]] = {}
    for each in sources:
        for segment, rows in each.run.progress.group_by("segment").len().iter_rows():
            if segment not in best or (-rows, each.rank) < best[segment][:2]:
                best[segment] = (-rows, each.rank, each)
    if not best:
        return schema.empty(schema.PROGRESS), {}
    chosen = {segment: best[segment][2] for segment in sorted(best)}
    frames = [each.run.progress.filter(pl.col("segment") == segment) for segment, each in chosen.items()]
    return pl.concat(frames), {"progress": " + ".join(dict.fromkeys(each.label for each in chosen.values()))}


# --- events ----------------------------------------------------------------------------------------------------


def events(sources: Sequence[Source]) -> pl.DataFrame:
    """Every event once: what a further log tells of a known one fills its gaps."""
    kept: list[dict[str, Any]] = []
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for each in sorted(sources, key=lambda each: (-each.run.events.height, each.rank)):
        used: dict[tuple[Any, ...], int] = {}
        new: list[dict[str, Any]] = []
        for row in each.run.events.iter_rows(named=True):
            key = _event_key(row)
            place = used.get(key, 0)
            used[key] = place + 1
            known = by_key.get(key, [])
            if place < len(known):
                _fill(known[place], row)
            elif not _fill_near(kept, row):
                new.append(row)
        for row in new:
            by_key.setdefault(_event_key(row), []).append(row)
        kept += new
    if not kept:
        return schema.empty(schema.EVENTS)
    rows = pl.DataFrame(kept, schema=schema.EVENTS)
    end = pl.col("kind").is_in(["finish", "crash"])
    return rows.sort("segment", "step", end, "at", "kind", "text", nulls_last=True, maintain_order=True)


def _event_key(row: dict[str, Any]) -> tuple[Any, ...]:
    if row["kind"] == "warning":
        return (row["segment"], "warning", row["text"])
    if row["kind"] in _ONCE:
        return (row["segment"], row["kind"])
    return (row["segment"], row["kind"], row["step"])


def _fill(known: dict[str, Any], row: dict[str, Any]) -> None:
    for name in ("at", "seconds", "step"):
        if known[name] is None:
            known[name] = row[name]
    known["text"] = known["text"] or row["text"]


def _fill_near(kept: Iterable[dict[str, Any]], row: dict[str, Any]) -> bool:
    """An evaluation or checkpoint that took the very same seconds is the same one, a late console line or not."""
    if row["kind"] not in {"evaluation", "checkpoint"} or not row["seconds"]:
        return False
    for known in kept:
        same = known["kind"] == row["kind"] and known["segment"] == row["segment"] and known["seconds"]
        if same and math.isclose(known["seconds"], row["seconds"], rel_tol=1e-3):
            _fill(known, row)
            return True
    return False


# --- engine ----------------------------------------------------------------------------------------------------


def engine(sources: Sequence[Source], run: Run) -> tuple[pl.DataFrame, list[Note]]:
    """All engine samples, in the trainer's time, each once; engines of several logs keep apart by the log's name."""
    have = [each for each in sources if each.run.engine.height]
    notes: list[Note] = []
    frames: list[pl.DataFrame] = []
    for each in have:
        samples = each.run.engine
        if not each.run.has_steps and (found := shift_of(run, each.run)) is not None and found.seconds:
            samples = moved_clock(samples, found.seconds)
            text = say(
                "time stamps carry no zone: they were moved by {hours} h, where they fit the training",
                hours=f"{found.seconds / 3600:+g}",
            )
            notes.append(Note("guessed", 0, text, 1, each.label))
        frames.append(samples)
    if not frames:
        return schema.empty(schema.ENGINE), notes
    if len(frames) > 1:
        frames = _keep_apart(have, frames)
    told = pl.concat(frames)
    stamped, rest = told.filter(pl.col("at").is_not_null()), told.filter(pl.col("at").is_null())
    same = [name for name in schema.ENGINE if name not in {"line", "engine", "interval_s"}]
    stamped = stamped.unique([*same, "engine"], keep="first", maintain_order=True).sort("at", maintain_order=True)
    return pl.concat([stamped, rest]), notes


def _keep_apart(have: Sequence[Source], frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Copies of the same lines are dropped; other logs' engines get the log's name where they have none."""
    same = [name for name in schema.ENGINE if name not in {"line", "interval_s"}]
    kept: list[pl.DataFrame] = []
    for frame in frames:
        new = frame
        for other in kept:
            new = new.join(other, on=same, how="anti", nulls_equal=True)
        kept.append(new)
    labels = [each.label for each, frame in zip(have, kept, strict=True) if frame.height]
    if len(labels) < 2:
        return kept
    return [frame.with_columns(pl.col("engine").fill_null(each.label)) for each, frame in zip(have, kept, strict=True)]


# --- settings, clocks, notes -----------------------------------------------------------------------------------


def settings(latest: Sequence[Source], sources: Sequence[Source]) -> tuple[dict[str, Setting], list[Note]]:
    """Every setting: of the last session first, measured before inferred, as the program held it before as it printed it.

    Logs of the last session that measured different values for what the answers rest on are noted.
    """
    late = {each.label for each in latest}
    ordered = sorted(
        sources,
        key=lambda each: (
            not each.run.has_steps,
            each.label not in late,
            _CONFIG.get(each.run.info.format, 9),
            each.rank,
        ),
    )
    found: dict[str, Setting] = {}
    keeps: dict[str, Source] = {}
    notes: list[Note] = []
    for each in ordered:
        for name, setting in each.run.info.settings.items():
            known = found.get(name)
            if known is None or _KIND[setting.kind] < _KIND[known.kind]:
                found[name], keeps[name] = setting, each
            elif name in _WEIGHTY and each.label in late and keeps[name].label in late and _differ(known, setting):
                text = say(
                    "{name} is {here} here, {known} in {log} (kept)",
                    name=name,
                    here=setting.value,
                    known=known.value,
                    log=keeps[name].label,
                )
                notes.append(Note("warning", 0, text, 1, each.label))
    return found, notes


def _differ(a: Setting, b: Setting) -> bool:
    if {a.kind, b.kind} != {"measured"} or a.value == b.value:
        return False
    numbers = all(isinstance(each.value, int | float) for each in (a, b))
    return not numbers or not math.isclose(float(a.value), float(b.value), rel_tol=1e-3)


def clock_zone(runs: Sequence[Run]) -> tuple[list[Run], list[Note]]:
    """Stamps without a zone are moved to those with one, by the whole quarter hours that part the same steps."""
    known = [
        run for run in runs if run.info.zone_known and run.has_steps and run.steps["at"].null_count() < run.steps.height
    ]
    if not known:
        return list(runs), []
    reference = [one for run in known for one in sessions(run)]
    moved: list[Run] = []
    notes: list[Note] = []
    for run in runs:
        ahead = None if run.info.zone_known or not run.has_steps else quarter_hours_ahead(sessions(run), reference)
        if ahead:
            run = replace(
                run,
                steps=moved_clock(run.steps, -ahead),
                events=moved_clock(run.events, -ahead),
                engine=moved_clock(run.engine, -ahead),
            )
            text = say(
                "time stamps carry no zone: they are {hours} h from the other logs and were moved",
                hours=f"{ahead / 3600:+g}",
            )
            notes.append(Note("guessed", 0, text, 1, run.info.sources[0] if run.info.sources else ""))
        if ahead is not None:
            run = replace(run, info=run.info.model_copy(update={"zone_known": True}))
        moved.append(run)
    return moved, notes


def fold_notes(runs: Iterable[Run], more: Iterable[Note], *, timed: bool) -> tuple[Note, ...]:
    """All notes, a text that several copies of a log give only once (with its highest count).

    With `timed` what a log says it lacks is left out: another one has it.
    """
    found: dict[tuple[str, str], Note] = {}
    for note in [*(note for run in runs for note in run.notes), *more]:
        if timed and note.kind == "missing" and "timing" in note.text:
            continue
        known = found.get((note.kind, note.text))
        if known is None or note.count > known.count:
            found[(note.kind, note.text)] = note
    return tuple(found.values())
