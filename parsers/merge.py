"""Several logs of one run become one `Run`: column by column from the best source, each with its provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from parsers import combine
from parsers.blend import Source, blend, blend_extra
from parsers.combine import clock_zone, fold_notes
from parsers.stitch import Stitched, stitch
from timeledger.run import Note, Run, RunInfo, Setting
from timeledger.said import say

#: How exact a format writes its numbers and how much it knows: the first of two full-precision sources wins.
_RANK: Final = {
    name: place
    for place, name in enumerate((
        "trainer_state", "wandb", "mlflow", "verl_jsonl", "tagged_jsonl", "swift", "llama_factory", "trackio", "tensorboard",
        "trl", "verl", "openrlhf", "nemo_rl", "skyrl", "areal", "slime", "prime_rl", "roll", "open_instruct",
        "torchtune", "torchforge",
        "notebook", "jsonl", "csv", "keyvalue",
        "vllm", "sglang",
    ))
}  # fmt: skip
#: Who stamps a row when it happens, to the fraction of a second (trackio stamps a batch of rows at once).
_CLOCK_RANK: Final = {"tensorboard": 0, "wandb": 1, "mlflow": 2, "trackio": 90}


def merge(runs: Iterable[Run], *, name: str | None = None) -> Run:
    """One run of several logs of it; a single one comes back as it is. The order of the logs does not matter.

    Rows are joined by session and step, values come from the most exact source that has the column, time stamps from
    one clock, bars from one console a session; events, notes and engine samples that several logs tell of are kept
    once. `info.columns_from` says which log a column came from; what the logs disagree on becomes a note.
    """
    logs = _in_order(runs)
    if not logs:
        raise ValueError("nothing to merge")
    if len(logs) == 1:
        return logs[0] if name is None else replace(logs[0], info=logs[0].info.model_copy(update={"name": name}))
    logs, zone_notes = clock_zone(logs)
    stitched = stitch(logs)
    sources = [_source(log, run, stitched) for log, run in enumerate(logs)]
    steps, columns_from, conflicts = blend([each for each in sources if each.run.has_steps])
    with_steps = replace(logs[0], steps=steps, info=logs[0].info.model_copy(update={"zone_known": True}))
    engine, engine_notes = combine.engine(sources, with_steps)
    phases, phases_from = combine.phases(sources)
    progress, progress_from = combine.progress(sources)
    shifted = [
        Note("info", 0, say("steps count from 0 here; {by} was added to match the other logs", by=by), 1, each.label)
        for each, by in zip(sources, stitched.shifts, strict=True)
        if by
    ]
    latest = [each for each in sources if each.last_segment() >= stitched.count - 1] or sources
    settings, disagreements = combine.settings(latest, sources)
    timed = progress.height > 0 or any(
        steps[name].null_count() < steps.height for name in ("at", "step_s", "elapsed_s")
    )
    return Run(
        info=_info(sources, latest, settings, {**columns_from, **phases_from, **progress_from}, name),
        steps=steps,
        phases=phases,
        engine=engine,
        events=combine.events(sources),
        progress=progress,
        extra=blend_extra(sources),
        notes=fold_notes(logs, [*zone_notes, *shifted, *engine_notes, *conflicts, *disagreements], timed=timed),
    )


def _in_order(runs: Iterable[Run]) -> list[Run]:
    """Logs by rank, then by name and content: the same whatever the order they were found in."""
    return sorted(runs, key=lambda run: (_RANK.get(run.info.format, 50), run.info.sources, _fingerprint(run)))


def _fingerprint(run: Run) -> tuple[float, int, int]:
    began = run.steps["at"].min() if run.has_steps else None
    return (began.timestamp() if began is not None else 0.0, run.steps.height, run.progress.height)  # type: ignore[union-attr]


def _source(log: int, run: Run, stitched: Stitched) -> Source:
    placed = replace(
        run,
        steps=stitched.place(log, run.steps),
        phases=stitched.place(log, run.phases),
        events=stitched.place(log, run.events),
        progress=stitched.place(log, run.progress),
        extra=stitched.place(log, run.extra),
    )
    rank = _RANK.get(run.info.format, 50)
    clock_rank = _CLOCK_RANK.get(run.info.format, 10 + rank)
    own = run.info.format in {"jsonl", "csv", "keyvalue"}
    return Source(run=placed, rank=rank, clock_rank=clock_rank, prints=rank >= _RANK["trl"], own=own)


def _info(
    sources: Sequence[Source],
    latest: Sequence[Source],
    settings: dict[str, Setting],
    columns_from: dict[str, str],
    name: str | None,
) -> RunInfo:
    infos = [each.run.info for each in sources]
    ends = {each.run.info.ended for each in latest}
    starts = [info.started_at for info in infos if info.started_at is not None]
    known = [info.started_at for info in infos if info.started_at is not None and info.zone_known]
    main = next((each.run.info for each in sources if each.run.has_steps), infos[0])
    formats = dict.fromkeys(info.format for info in infos if info.format)
    return RunInfo(
        name=name or main.name,
        format=" + ".join(formats),
        framework=next((info.framework for info in infos if info.framework), None),
        sources=tuple(dict.fromkeys(source for info in infos for source in info.sources)),
        settings=settings,
        columns_from=columns_from,
        # A crash in the log outweighs an end that another sink noted; Ctrl-C names the cause of a crash.
        ended="interrupted"
        if "interrupted" in ends
        else "crashed"
        if "crashed" in ends
        else "finished"
        if "finished" in ends
        else None,
        started_at=min(known or starts, default=None),
        last_write=max((info.last_write for info in infos if info.last_write is not None), default=None),
        zone_known=_zone_known(sources, columns_from),
        train_runtime_s=next(
            (info.train_runtime_s for info in (e.run.info for e in latest) if info.train_runtime_s), None
        ),
    )


def _zone_known(sources: Sequence[Source], columns_from: dict[str, str]) -> bool:
    stamped = [each for each in sources if each.label in columns_from.get("at", "").split(" + ")]
    return all(each.run.info.zone_known for each in stamped or sources)
