"""Which phases of a log may be added: no child beside its parent, no overlap, and what lies outside the step's own time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from timeledger.keys import joined, one_a_name, one_a_step
from timeledger.run import Run

_ROW: Final = ["segment", "step"]
#: Deepest nesting of phases that is followed (no known framework logs more than three levels).
_DEPTH: Final = 4
#: Training is never a part of generation.
_UPDATES: Final = ("update", "update_critic")
#: Work that frameworks are known to do between two steps.
_CAN_BE_OUTSIDE: Final = ("evaluation", "checkpoint", "weight_sync", "data")

#: Rows that show whether the phases fit into their clock, the share of a sum that the clock must move by, and in how many rows.
_WITNESSES: Final = 3
_MOVES: Final = 0.1
_MOST: Final = 0.8
#: Sums that are so much longer than the clock hold something twice.
_LONGER: Final = 1.1


@dataclass(frozen=True, slots=True)
class TopPhases:
    """Top-level phases: (segment, step, phase, name, seconds, outside), seconds of one step.

    `overlapping` has the same columns for phases that run beside others (async generation) and are never added.
    `within` are own names of phases that do not fit into the step beside the others: taken as parts of those.
    """

    frame: pl.DataFrame
    overlapping: pl.DataFrame
    within: tuple[str, ...] = ()

    @property
    def overlapped(self) -> bool:
        """True when some phase runs at the same time as others."""
        return self.overlapping.height > 0

    def outside_s(self) -> pl.DataFrame:
        """(segment, step, outside_s): seconds of one step that the framework's own step time leaves out."""
        return self.frame.filter("outside").group_by(_ROW).agg(pl.col("seconds").sum().alias("outside_s"))


def top_level(run: Run) -> TopPhases:
    """The phases of a run that may be added, with `outside` decided where the log does not say.

    A child counts only in rows that lack every phase above it (a log may hold the child alone).
    """
    usable = pl.col("seconds").is_finite() & (pl.col("seconds") >= 0)
    phases = one_a_name(run.phases.filter(usable))
    if phases.is_empty():
        empty = phases.select("segment", "step", "phase", "name", "seconds", pl.col("outside").fill_null(False))
        return TopPhases(empty, empty)
    top = _named_waits(phases, _without_children(phases))
    wanted = ["segment", "step", "phase", "name", "seconds", "outside"]
    beside = pl.col("overlaps").fill_null(False)
    added, within, at_once = _decide_outside(run, top.filter(~beside).select(wanted))
    overlapping = pl.concat([top.filter(beside).select(wanted), at_once])
    return TopPhases(added, overlapping.with_columns(pl.col("outside").fill_null(False)), within)


def _without_children(phases: pl.DataFrame) -> pl.DataFrame:
    """Rows whose parents, at any height, are absent from the same step."""
    if phases["parent"].null_count() == phases.height:
        return phases
    above = dict(phases.filter(pl.col("parent").is_not_null()).select("name", "parent").unique("name").iter_rows())
    present = phases.select(*_ROW, pl.col("name").alias("parent")).with_columns(pl.lit(True).alias("there"))
    top, climbing = phases, phases.select(*_ROW, "name", pl.col("parent"))
    for _ in range(_DEPTH):
        climbing = climbing.filter(pl.col("parent").is_not_null() & (pl.col("parent") != pl.col("name")))
        if climbing.is_empty():
            break
        covered = climbing.join(present, on=[*_ROW, "parent"], how="semi")
        top = top.join(covered, on=[*_ROW, "name"], how="anti")
        climbing = climbing.with_columns(pl.col("parent").replace_strict(above, default=None, return_dtype=pl.String))
    return top


def _named_waits(phases: pl.DataFrame, top: pl.DataFrame) -> pl.DataFrame:
    """A wait that says what it waited for (slime's `train_wait`): its children count, and the wait is what remains."""
    plain = ~pl.col("overlaps").fill_null(False)
    waits = top.filter((pl.col("phase") == "wait") & plain).select(*_ROW, pl.col("name").alias("parent"), pl.col("seconds").alias("whole"))  # fmt: skip
    inner = phases.filter(plain & (pl.col("parent") != pl.col("name")))
    children = inner.join(waits, on=[*_ROW, "parent"])
    sums = children.group_by(*_ROW, "parent").agg(pl.col("seconds").sum().alias("named"), pl.col("whole").first())
    sums = sums.filter(pl.col("named") <= 1.01 * pl.col("whole"))
    if sums.is_empty():
        return top
    names = sums.select(*_ROW, pl.col("parent").alias("name"), "named")
    left = (pl.col("seconds") - pl.col("named").fill_null(0.0)).clip(0.0).alias("seconds")
    rest = top.join(names, on=[*_ROW, "name"], how="left").with_columns(left).drop("named")
    return pl.concat(
        [rest, children.join(sums.select(*_ROW, "parent"), on=[*_ROW, "parent"], how="semi").drop("whole")]
    )


def _decide_outside(run: Run, top: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...], pl.DataFrame]:
    """Fill `outside` where it is null, by the file itself (verl moved `testing` and `save_checkpoint` between versions).

    Phases of every step are settled first, longest first: each one is inside as long as the sum fits into the step.
    What does not fit is outside when its kind of work can be; an update beside generation runs at the same time; else it
    is part of a phase already counted and dropped. Also given: the names that were dropped, and what runs at the same time.
    The rare ones are then judged one by one: outside when the sum exceeds the step by about that phase.
    """
    unknown = top.filter(pl.col("outside").is_null()).group_by("name", "phase").agg(pl.len(), pl.col("seconds").sum())
    steps = one_a_step(run.steps.select(*_ROW, "step_s").filter(pl.col("step_s").is_finite()))
    if unknown.is_empty() or steps.is_empty():
        return top.with_columns(pl.col("outside").fill_null(False)), (), top.clear()
    waits = "wait" in unknown["phase"]
    beside = (pl.col("phase") == "rollout") & waits  # who waits for answers does not make them meanwhile
    unknown = unknown.sort(beside, "seconds", "name", descending=[False, True, True])
    usual = unknown.filter(pl.col("len") >= 0.5 * steps.height)
    seldom = unknown.filter(pl.col("len") < 0.5 * steps.height).sort(pl.col("phase") == "other", maintain_order=True)
    rare = seldom["name"].to_list()
    inside = top.filter((pl.col("outside") == False) & ~pl.col("name").is_in(rare))  # noqa: E712
    sums = inside.group_by(_ROW).agg(pl.col("seconds").sum().alias("inside_s"))
    steps = steps.join(sums, on=_ROW, how="left").with_columns(pl.col("inside_s").fill_null(0.0))
    decided: dict[str, bool] = {}
    nested: list[str] = []
    at_once: list[str] = []
    counted: set[str] = set()
    for name, phase in usual.select("name", "phase").iter_rows():
        both = joined(steps, _own(top, name))
        if _fits(both):
            decided[name], steps = False, _added(both)
            counted.add(phase)
        elif phase in _CAN_BE_OUTSIDE:
            decided[name] = True
        elif (phase in _UPDATES and "rollout" in counted and not counted & {*_UPDATES}) or (
            phase == "rollout" and {"wait", "update"} <= counted
        ):
            at_once.append(name)
        else:
            nested.append(name)
    for name, phase in seldom.select("name", "phase").iter_rows():
        if phase == "other" and any(
            _holds(top, name, other, 0.9 if decided[other] else 0.99) for other in rare if other in decided
        ):
            nested.append(name)
            continue
        both = joined(steps, _own(top, name))
        decided[name] = _exceeds(both)
        steps = steps if decided[name] else _added(both)
    guess = pl.col("name").replace_strict(decided, default=False, return_dtype=pl.Boolean)
    kept = top.filter(~pl.col("name").is_in(nested + at_once)).with_columns(pl.col("outside").fill_null(guess))
    return kept, tuple(nested), top.filter(pl.col("name").is_in(at_once))


def _own(top: pl.DataFrame, name: str) -> pl.DataFrame:
    return top.filter(pl.col("name") == name).select(*_ROW, "seconds")


def _holds(top: pl.DataFrame, name: str, other: str, least: float) -> bool:
    """True for what hardly takes anything but the other phase: `submit_batch` where it runs the evaluation."""
    own = _own(top, name)
    inside = own.join(_own(top, other), on=_ROW, suffix="_other")["seconds_other"].sum()
    return bool(
        own.select(pl.lit(inside).is_between(least * pl.col("seconds").sum(), 1.01 * pl.col("seconds").sum())).item()
    )


def _added(both: pl.DataFrame) -> pl.DataFrame:
    """The steps with the phase beside them added to what lies inside them."""
    added = pl.col("inside_s") + pl.col("seconds").fill_null(0.0)
    return both.with_columns(added.alias("inside_s")).drop("seconds")


def _fits(rows: pl.DataFrame) -> bool:
    """True when the phase fits into what its steps leave free, in most that have it (a hundredth of the step is rounding)."""
    room = rows.select(pl.col("inside_s") + pl.col("seconds") <= 1.01 * pl.col("step_s")).to_series().mean()
    return not isinstance(room, float) or room >= 0.5


def _exceeds(rows: pl.DataFrame) -> bool:
    """True when adding the phase makes the sum exceed the step by more than half the phase, in most rows where it matters."""
    telling = rows.filter(pl.col("seconds") > 0.02 * pl.col("step_s"))
    if telling.is_empty():
        return False
    beyond = telling.select((pl.col("inside_s") + pl.col("seconds") - pl.col("step_s")) > 0.5 * pl.col("seconds"))
    share = beyond.to_series().mean()
    return isinstance(share, float) and share > 0.5


def summed_step_s(top: TopPhases) -> pl.DataFrame:
    """(segment, step, summed_s): the step as the sum of its phases, for frameworks that log phases and no step time."""
    inside = top.frame.filter(~pl.col("outside"))
    return inside.group_by(_ROW).agg(pl.col("seconds").sum().alias("summed_s"))


def believed_sums(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of (segment, step, at, elapsed_s, summed_s) without sums that are longer than their own clock: parts that overlap.

    A clock that stands still in many rows is no witness: it tells when the rows were written, all at once.
    """
    stamped = pl.col("at").diff().over("segment").dt.total_microseconds() / 1e6
    moved = pl.coalesce(stamped, pl.col("elapsed_s").diff().over("segment"))
    needed = pl.col("summed_s") * pl.col("step").diff().over("segment").clip(1)
    both = rows.select(moved=moved, needed=needed).drop_nulls().filter(pl.col("needed") > 0)
    if both.height < _WITNESSES or (both["moved"] >= _MOVES * both["needed"]).mean() < _MOST:  # type: ignore[operator]
        return rows
    if both.select(pl.col("needed").sum() <= _LONGER * pl.col("moved").sum()).item():
        return rows
    return rows.with_columns(pl.lit(None, pl.Float64).alias("summed_s"))
