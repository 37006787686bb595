"""Rows of several logs become one row a step: every column from the most exact log that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from timeledger import schema
from timeledger.run import Note, Run
from timeledger.said import say

_KEYS: Final = ["segment", "step"]
#: Values with at least so many digits are not rounded by the log.
_FULL_DIGITS: Final = 7
_CLOCKS: Final = {"at", "elapsed_s"}
#: Beyond this two logs do not round one value, they disagree.
_DISAGREE: Final = 0.02


@dataclass(frozen=True)
class Source:
    """One log with its rows already in the run's segments and steps."""

    run: Run
    rank: int
    clock_rank: int
    #: A console, whose numbers may be rounded (a file of records keeps them as they were).
    prints: bool = True
    #: Rows of a general shape, whose meaning was found out: they fill what the others lack.
    own: bool = False

    @property
    def label(self) -> str:
        """The log as provenance names it."""
        return self.run.info.sources[0] if self.run.info.sources else self.run.info.name

    def last_segment(self) -> int:
        """The last session that this log tells of."""
        last = [frame["segment"].max() for frame in (self.run.steps, self.run.progress, self.run.events)]
        return max((int(value) for value in last if value is not None), default=0)  # type: ignore[arg-type]

    @cached_property
    def digits(self) -> dict[str, int]:
        """For each column with values: how many digits they are written with (the most of a few)."""
        head = self.run.steps.head(64)
        return {
            name: max((_digits(value) for value in head[name].drop_nulls()), default=_FULL_DIGITS)
            for name in schema.MEASURES
            if name != "at" and self.run.steps[name].null_count() < self.run.steps.height
        }

    @cached_property
    def span(self) -> float:
        """Steps a row stands for, as a rule."""
        span = self.run.steps["span"].drop_nulls()
        return float(span.median() or 1) if len(span) else 1.0  # type: ignore[arg-type]

    def order(self, column: str) -> tuple[float, ...]:
        """The smaller, the better for this column."""
        if column == "line":
            return (self.own, not self.prints, self.rank)
        if column in _CLOCKS:
            return (self.span, self.own, not self.run.info.zone_known and column == "at", self.clock_rank)
        rounded = self.prints and self.digits.get(column, 0) < _FULL_DIGITS
        return (self.span, self.own, rounded, self.rank)


def _digits(value: float) -> int:
    if value != value or value in (float("inf"), float("-inf")) or float(value).is_integer():
        return 0
    return len(repr(float(value)).split("e")[0].replace(".", "").replace("-", "").lstrip("0"))


def blend(sources: Sequence[Source]) -> tuple[pl.DataFrame, dict[str, str], list[Note]]:
    """The rows, the source of each column, and notes on what the logs disagree about."""
    if not sources:
        return schema.empty(schema.STEPS), {}, []
    keys = pl.concat([each.run.steps.select(_KEYS) for each in sources]).unique().sort(_KEYS)
    blended, columns_from = keys, dict[str, str]()
    for order, columns in _by_order(sources).items():
        best = [sources[i] for i in order]
        blended = blended.join(_coalesce([each.run.steps for each in best], columns), on=_KEYS, how="left")
        for column in columns:
            if (told := _told_by(best, column, blended[column])) and column not in {"span", "line"}:
                columns_from[column] = told
    return schema.conform(blended, schema.STEPS), columns_from, _conflicts(sources)


def _by_order(sources: Sequence[Source]) -> dict[tuple[int, ...], list[str]]:
    """Columns by the order in which the sources are asked for them."""
    found: dict[tuple[int, ...], list[str]] = {}
    for column in (name for name in schema.STEPS if name not in _KEYS):
        have = [i for i, each in enumerate(sources) if each.run.steps[column].null_count() < each.run.steps.height]
        order = tuple(sorted(have or range(len(sources)), key=lambda i: (*sources[i].order(column), i)))
        found.setdefault(order, []).append(column)
    return found


def _coalesce(frames: Sequence[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    """One row a key: each column's first value in the order of the frames."""
    if len(frames) == 1:
        return frames[0].select(*_KEYS, *columns).unique(_KEYS, keep="last", maintain_order=True)
    stacked = pl.concat([
        frame.select(*_KEYS, *(name for name in columns if name in frame.columns)).unique(_KEYS, keep="last", maintain_order=True)
        for frame in frames
    ], how="diagonal")  # fmt: skip
    first = [pl.col(name).drop_nulls().first() for name in columns]
    return stacked.group_by(_KEYS, maintain_order=True).agg(first)


def _told_by(best: Sequence[Source], column: str, blended: pl.Series) -> str:
    """The first source, and the further ones that filled its gaps."""
    missing = blended.len() - blended.null_count()
    told: list[str] = []
    seen: pl.DataFrame | None = None
    for each in best:
        rows = each.run.steps.filter(pl.col(column).is_not_null()).select(_KEYS).unique()
        new = rows if seen is None else rows.join(seen, on=_KEYS, how="anti")
        if new.height and each.label not in told:
            told.append(each.label)
        seen = rows if seen is None else pl.concat([seen, new])
        missing -= new.height
        if missing <= 0:
            break
    return " + ".join(told)


def _conflicts(sources: Sequence[Source]) -> list[Note]:
    """Columns that two logs tell differently in more than a tenth of their shared rows."""
    notes: list[Note] = []
    for place, a in enumerate(sources):
        for b in sources[place + 1 :]:
            columns = [
                name
                for name in a.digits
                if name in b.digits and name not in {"elapsed_s", "wall_s", "mem_gib", "epoch"}
            ]
            if a.span != b.span or not columns:
                continue
            both = a.run.steps.select(*_KEYS, *columns).join(b.run.steps.select(*_KEYS, *columns), on=_KEYS)
            for name in columns:
                left, right = pl.col(name), pl.col(f"{name}_right")
                big = pl.max_horizontal(left.abs(), right.abs())
                told = both.filter(left.is_finite() & right.is_finite())
                differ = told.filter((left - right).abs() > _DISAGREE * big + 1e-3)
                if differ.height >= 3 and differ.height > 0.1 * told.height:
                    kept, other = sorted((a, b), key=lambda each: each.order(name))
                    notes.append(
                        Note(
                            "warning",
                            0,
                            say("{name} differs from {other} (kept)", name=name, other=kept.label),
                            differ.height,
                            other.label,
                        )
                    )
    return notes


def blend_extra(sources: Sequence[Source]) -> pl.DataFrame:
    """Metrics without a column, joined by name: the most exact log first."""
    have = sorted((each for each in sources if each.run.extra.height), key=lambda each: (each.span, each.rank))
    if not have:
        return sources[0].run.extra
    frames = _one_name([each.run.extra for each in have])
    ordered = sorted(frames, key=lambda frame: -_detail(frame))
    names = dict.fromkeys(name for frame in ordered for name in frame.columns if name not in _KEYS)
    return _coalesce(ordered, list(names)).sort(_KEYS)


def _one_name(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """HF Trainers write `x` and `eval_x` to the console, `train/x` and `eval/x` to trackers: the console's name where both are seen."""
    seen = {name for frame in frames for name in frame.columns}
    spelled = {
        name: plain
        for name in seen
        if (plain := name.removeprefix("train/") if name.startswith("train/") else name.replace("eval/", "eval_", 1))
        != name
        and plain in seen
    }
    return [
        frame.rename(
            {name: spelled[name] for name in frame.columns if name in spelled and spelled[name] not in frame.columns}
        )
        for frame in frames
    ]


def _detail(extra: pl.DataFrame) -> int:
    """1 when the metrics are written in full, 0 when they are rounded."""
    head = extra.head(16).drop(_KEYS)
    digits = [_digits(value) for name in head.columns for value in head[name].drop_nulls()]
    return int(bool(digits) and sum(each >= _FULL_DIGITS for each in digits) * 4 >= sum(each > 0 for each in digits))
