"""The run's time: how long it has taken, what of that was lost, and what one ordinary step costs now.

Every other part of the model stands on this one. See `clock_sources` for where time comes from and `periodic` for
what is not an ordinary step.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from timeledger import clock_sources as sources
from timeledger import schema
from timeledger.clock_between import with_bar_rows
from timeledger.clock_rows import make_rows
from timeledger.clock_sources import Course, Floats, Ints, Session
from timeledger.clock_starts import from_own_start, lone_spans
from timeledger.cycles import generates
from timeledger.keys import joined, one_a_step
from timeledger.kinds import Kinds, classify
from timeledger.phases import TopPhases, believed_sums, summed_step_s, top_level
from timeledger.results import CLOCK_STEPS, Clock, Facts, Segment
from timeledger.run import Run
from timeledger.said import say
from timeledger.units import shift

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
WHY_NONE: Final = say(
    "This log tells no time: it has no time stamps, no progress bar and no step times. Add the console log with its "
    "progress bar, or TensorBoard events (report_to=tensorboard, logging_steps=1), or print the seconds of each step."
)
WHY_ONE: Final = say("One time stamp alone does not tell what a step takes: wait for the next step.")
WHY_SENT: Final = say(
    "All rows of this log were stamped within seconds: that is when they were sent or collected, not when the steps were done. "
    "Add the console log with its progress bar, or the time of each step."
)
WHY_FIRST: Final = say("No step is done yet: the first one will tell what a step takes.")
WHY_TOTAL: Final = say(
    "Only the run's total time is in this log. For the time of each step log every step (logging_steps=1) "
    "to TensorBoard, or keep the console log with its progress bar."
)


#: Step times that add up to more than this many times the wall clock are no step times.
_MOST_COVERED: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Table:
    """All rows that count, oldest first: one a step span, with bar-only rows at the end."""

    segment: Ints
    step: Ints
    span: Ints
    at: pl.Series
    end_s: Floats
    wall_s: Floats
    work_s: Floats


def clock(run: Run, facts: Facts | None = None, top: TopPhases | None = None) -> Clock:
    """The clock of a run. Never raises on odd logs: where nothing tells time, `source` is "none" and `why` says what to log."""
    facts = facts or Facts()
    top = top_level(run) if top is None else top
    rows = _rows(run, top)
    bars = run.progress.filter(pl.col("elapsed_s").is_finite()).sort("segment", "step", "elapsed_s")
    sessions = _sessions(run, rows, bars)
    if not sessions:
        begun = run.progress.height > 0 and not run.has_steps
        return _nothing(None, None, WHY_FIRST if begun else WHY_NONE)
    courses = [sources.course(session) for session in sessions]
    if len(courses) == 1:
        courses = [sources.stretched(courses[0], sessions[0], run.info.train_runtime_s)]
    last = int(sessions[-1].step[-1])
    first = min(session.first for session in sessions) + 1
    if all(each.source == sources.NONE for each in courses):
        return _only_total(run, sessions, last, first)
    table, segments, lost, elapsed = _joined(rows, sessions, courses)
    source = _main_source(sessions, courses)
    arrays = (table.segment, table.step, table.span, table.wall_s, table.work_s)
    coarse = max(each.resolution_s for each in courses)
    whole = source not in {sources.STEP_TIMES, sources.NONE}
    seen = make_rows(run, *arrays, tail_s=courses[-1].tail_s, coarse_s=coarse, whole=whole)
    kinds = classify(run, facts, top, seen)
    steps = _frame(table, kinds)
    gaps = sum(lost)
    lost_s = gaps + kinds.paused_s
    return Clock(
        source=source,
        resolution_s=max(each.resolution_s for each in courses if each.source == source),
        elapsed_s=elapsed,
        active_s=elapsed - lost_s,
        lost_s=lost_s,
        segments=segments,
        steps=steps,
        position=last,
        first_step=first,
        cycle=kinds.cycle,
        generates=generates(run),
        warmup_steps=kinds.warmup_steps,
        warmup_s=kinds.warmup_s,
        step_s=kinds.step_s,
        periodic=kinds.periodic,
        covered=_covered(rows, table, source),
        why=_why(courses),
    )


# --- rows and sessions -----------------------------------------------------------------------------------------


def _rows(run: Run, top: TopPhases) -> pl.DataFrame:
    """One row a (segment, step), sorted, with `gap` (steps since the row before) and `work_s` (seconds the framework names for all of them)."""
    steps = one_a_step(run.steps.select("segment", "step", "span", "at", "elapsed_s", "step_s"))
    steps = joined(steps, top.outside_s())
    measured = pl.col("step_s").is_finite() & (pl.col("step_s") > 0)  # 0 s is no measured step
    inside: pl.Expr = pl.when(measured).then(pl.col("step_s"))
    if not steps.select(inside.count()).item():
        inside, steps = pl.col("summed_s"), believed_sums(joined(steps, summed_step_s(top)))
    steps = steps.join(lone_spans(run, steps), on="segment", how="left", maintain_order="left")
    before = pl.col("step").diff().over("segment")
    lone = pl.coalesce("lone", before.median(), pl.lit(1))
    usual = before.median().over("segment").fill_null(lone)
    logged = _number(run, "logging_steps")
    guess = pl.col("span").fill_null(int(logged) if logged else usual.round().cast(pl.Int64))
    first = pl.min_horizontal(guess, pl.max_horizontal(pl.col("step"), pl.lit(1))).clip(1)
    return steps.with_columns(
        pl.coalesce(before, first).clip(1).alias("gap"),
        (inside + pl.col("outside_s").fill_null(0.0)).alias("one_s"),
        _event_seconds(run, steps, top).alias("events_s"),
    ).with_columns((pl.col("one_s") * pl.col("gap") + pl.col("events_s")).alias("work_s"))


def _event_seconds(run: Run, steps: pl.DataFrame, top: TopPhases) -> pl.Series:
    """Seconds of evaluations and checkpoints logged as events, in the row that they follow: no step time holds them.

    Left out where phases tell of such work, or where the step times themselves rise by about as much: in that row, or in
    the next one where the loop's watch runs on until then.
    """
    none = pl.Series("seconds", np.zeros(steps.height))
    logged = set(top.frame["phase"].unique().to_list())
    kinds = [kind for kind in ("evaluation", "checkpoint") if kind not in logged]
    events = run.events.filter(pl.col("kind").is_in(kinds) & (pl.col("seconds") > 0) & pl.col("step").is_not_null())
    if events.is_empty() or steps.is_empty():
        return none
    took = pl.col("step_s") * pl.col("step").diff().over("segment").fill_null(1).clip(1)
    keys = steps.select("segment", "step", took.alias("took")).with_row_index("row")
    rise = pl.col("took") - pl.col("took").median()
    keys = keys.with_columns(pl.max_horizontal(rise, rise.shift(-1).over("segment")).alias("rise"))
    placed = (
        events.select("segment", "step", "seconds")
        .sort("step")
        .join_asof(keys.sort("step"), on="step", by="segment", strategy="forward", check_sortedness=False)
    )
    placed = placed.filter(pl.col("row").is_not_null())
    always = placed["row"].n_unique() > 0.9 * steps.height > 3
    # What is done in every row makes none of them rise; it lies inside as far as it fits.
    within = placed.filter((pl.col("took") if always else 2 * pl.col("rise")) > pl.col("seconds")).height
    if within > (0.95 if always else 0.5) * placed.height:
        return none
    sums = placed.group_by("row").agg(pl.col("seconds").sum())
    return keys.join(sums, on="row", how="left", maintain_order="left")["seconds"].fill_null(0.0)


def _number(run: Run, name: str) -> float | None:
    value = run.info.number(name)
    return value if value is not None and value >= 1 else None


def _sessions(run: Run, rows: pl.DataFrame, bars: pl.DataFrame) -> list[Session]:
    """The run's sessions, oldest first, each with its rows; the newest gets the bar's steps past its last row as rows."""
    numbers = sorted(set(rows["segment"].to_list()) | set(bars["segment"].to_list()))
    made: list[Session] = []
    for number in numbers:
        own = rows.filter(pl.col("segment") == number)
        bar = bars.filter(pl.col("segment") == number)
        session = _session(run, number, own, bar, is_last=number == numbers[-1])
        if session is not None:
            made.append(session)
    made = [*made[:1], *(from_own_start(before, here) for before, here in pairwise(made))]
    return [with_bar_rows(each) for each in made]


def _session(run: Run, number: int, own: pl.DataFrame, bar: pl.DataFrame, *, is_last: bool) -> Session | None:
    step, gap = own["step"].to_numpy(), own["gap"].to_numpy()
    bar_step, bar_s = bar["step"].to_numpy(), bar["elapsed_s"].to_numpy().astype(float)
    moving = bar_step[bar_step > 0]
    if len(step) == 0 and len(moving) < 2:
        return None
    at = own["at"].dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6
    elapsed, work, events = (sources.finite(own[name]) for name in ("elapsed_s", "work_s", "events_s"))
    if len(moving) and (is_last or len(step) == 0):
        if len(step):
            last, span = int(step[-1]), int(np.median(gap))
        else:
            jumped = bar_step[0] == 0 and len(moving) > 1 and moving[0] > 2 * max(moving[1] - moving[0], 1)
            last, span = (int(moving[0]) - 1 if jumped else 0), 1
        ahead = sources.bars_beyond(bar_step, last, span)
        gap = np.concatenate([gap, np.diff(ahead, prepend=last)])
        step = np.concatenate([step, ahead])
        empty = np.full(len(ahead), np.nan)
        at, elapsed, work, events = (np.concatenate([each, empty]) for each in (at, elapsed, work, events))
    totals = bar["total"].drop_nulls()
    total = int(totals[-1]) if totals.len() else None
    begun, worked = _begun(run, number, own), _worked(run, number)
    return Session(number, step, gap, at, elapsed, work, bar_step, bar_s, total, begun, worked, events)


def _worked(run: Run, number: int) -> float | None:
    """The moment of a session's last evaluation or checkpoint: it may have come after the last step."""
    moment = run.events.filter(
        (pl.col("segment") == number) & pl.col("kind").is_in(["evaluation", "checkpoint"]) & pl.col("at").is_not_null()
    )["at"].max()
    return moment.timestamp() if isinstance(moment, datetime) else None


def _begun(run: Run, number: int, own: pl.DataFrame) -> float | None:
    """The moment a session began: its last start event before the first row, else the run's own start for the first session."""
    begins = run.events.filter(
        (pl.col("segment") == number)
        & pl.col("kind").is_in(["start", "resume", "restart"])
        & pl.col("at").is_not_null()
    )
    first = own["at"].drop_nulls()
    if first.len():
        begins = begins.filter(pl.col("at") <= first[0])
    if begins.height:
        moment = begins["at"].max()
        return moment.timestamp() if isinstance(moment, datetime) else None
    return run.info.started_at.timestamp() if run.info.started_at and number == 0 else None


# --- joining ---------------------------------------------------------------------------------------------------


def _joined(
    rows: pl.DataFrame, sessions: list[Session], courses: list[Course]
) -> tuple[_Table, tuple[Segment, ...], list[float], float]:
    """Sessions on one axis: times add up, measurable gaps are lost time, steps done again keep the later value."""
    offset, lost, segments, parts = 0.0, [], [], []
    reached: int | None = None
    before: float | None = None
    for i, (session, each) in enumerate(zip(sessions, courses, strict=True)):
        gap = each.began - before if each.began is not None and before is not None else None
        gap = gap if gap is not None and gap >= 0 else None
        if i:
            lost.append(gap or 0.0)
        offset += (gap or 0.0) + each.hidden_s
        own_end = each.end_s.copy()
        own_end[-1] += each.tail_s
        end = own_end + offset
        wall = np.diff(own_end, prepend=0.0) / session.gap
        if not each.start_known and len(wall):
            wall[0] = np.nan
        later = min((other.first for other in sessions[i + 1 :]), default=None)
        keep = session.step <= later if later is not None else np.ones(len(session.step), dtype=bool)
        parts.append((session, end, wall, keep))
        redone = 0 if reached is None else max(min(reached, int(session.step[-1])) - session.first, 0)
        took = float(own_end[-1])
        segments.append(
            Segment(
                index=session.index,
                first_step=session.first + 1,
                last_step=int(session.step[-1]),
                elapsed_s=None if np.isnan(took) else took,
                lost_before_s=gap if i else None,
                redone=redone,
                started_at=shift(EPOCH, each.began),
            )
        )
        reached = int(session.step[-1]) if reached is None else max(reached, int(session.step[-1]))
        before = each.began + took if each.began is not None else None
        offset += 0.0 if np.isnan(took) else took
    return _table(rows, parts), tuple(segments), lost, offset


def _table(rows: pl.DataFrame, parts: list[tuple[Session, Floats, Floats, np.ndarray]]) -> _Table:
    segment = np.concatenate([np.full(int(keep.sum()), s.index) for s, _, _, keep in parts])
    step = np.concatenate([s.step[keep] for s, _, _, keep in parts])
    keys = pl.DataFrame({"segment": segment, "step": step}, schema={"segment": pl.Int64, "step": pl.Int64})
    at = joined(keys, rows.select("segment", "step", "at"))["at"]
    return _Table(
        segment=segment,
        step=step,
        span=np.concatenate([s.gap[keep] for s, _, _, keep in parts]),
        at=at,
        end_s=np.concatenate([end[keep] for _, end, _, keep in parts]),
        wall_s=np.concatenate([wall[keep] for _, _, wall, keep in parts]),
        work_s=np.concatenate([s.work_s[keep] for s, _, _, keep in parts]),
    )


def _frame(table: _Table, kinds: Kinds) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "segment": table.segment,
            "step": table.step,
            "span": table.span,
            "at": table.at,
            "end_s": table.end_s,
            "wall_s": table.wall_s,
            "extra_s": kinds.extra_s,
            "kind": kinds.kind,
        }
    )
    return schema.conform(frame.with_columns(pl.col("end_s", "wall_s", "extra_s").fill_nan(None)), CLOCK_STEPS)


# --- what is said of the whole ---------------------------------------------------------------------------------


def _main_source(sessions: list[Session], courses: list[Course]) -> str:
    """The source that dates most steps."""
    steps: dict[str, int] = {}
    for session, each in zip(sessions, courses, strict=True):
        if each.source != sources.NONE:
            steps[each.source] = steps.get(each.source, 0) + int(session.step[-1] - session.first)
    return max(steps, key=lambda name: steps[name])


def _covered(rows: pl.DataFrame, table: _Table, source: str) -> float | None:
    """Share of the wall clock that the framework's own step times cover; None when nothing else tells the time."""
    took = {"segment": table.segment, "step": table.step, "gap": table.span, "wall_s": table.wall_s * table.span}
    both = joined(pl.DataFrame(took), rows.select("segment", "step", "step_s"))
    named = sources.finite(both["step_s"] * both["gap"])
    wall = sources.finite(both["wall_s"])
    good = np.isfinite(named) & np.isfinite(wall)
    if good.sum() < 2 or wall[good].sum() <= 0:
        return None
    share = float(named[good].sum()) / float(wall[good].sum())
    if share > _MOST_COVERED or (source == sources.STEP_TIMES and share > 0.9999):
        return None
    return share


def _why(courses: list[Course]) -> str | None:
    if any(each.source == sources.NONE for each in courses):
        return say("Some sessions of this run tell no time; the elapsed time leaves them out.")
    return None


def _nothing(position: int | None, first: int | None, why: str) -> Clock:
    empty = schema.empty(CLOCK_STEPS)
    return Clock(sources.NONE, 0.0, None, None, None, (), empty, position, first, why=why)


def _only_total(run: Run, sessions: list[Session], last: int, first: int) -> Clock:
    """Rows without time: the run's total, or the one state of its bar that is left, gives at least a mean."""
    total, done = run.info.train_runtime_s, int(sessions[-1].step[-1] - sessions[-1].first)
    bar_step, bar_s = sessions[-1].bar_step, sessions[-1].bar_s
    if total is None and len(sessions) == 1 and len(bar_s) and bar_step[-1] >= sessions[-1].step[-1]:
        total, done = float(bar_s[-1]), int(bar_step[-1] - sessions[-1].first)
    if total is None or total <= 0:
        if any(sources.sent_at_once(each) for each in sessions):
            return _nothing(last, first, WHY_SENT)
        return _nothing(last, first, WHY_ONE if run.steps["at"].drop_nulls().n_unique() == 1 else WHY_NONE)
    return Clock(
        source=sources.RUN_TIME, resolution_s=0.0, elapsed_s=total, active_s=total, lost_s=None, segments=(),
        steps=schema.empty(CLOCK_STEPS), position=last, first_step=first, step_s=total / max(done, 1), why=WHY_TOTAL,
    )  # fmt: skip
