"""Evaluations of a hand-written loop: what its lines or rows tell of one is one event."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from parsers.build import RunBuilder
from parsers.fields import spell
from parsers.text import bars
from timeledger import schema
from timeledger.run import Run

#: Two times of one evaluation that differ by less than this share are one time told twice.
_SAME: Final = 0.01
#: A bar that says that it evaluates, and those of data being prepared or of answers being scored.
_EVALUATES: Final = re.compile(r"\b(?:eval\w*|valid\w*|test(?:ing)?)\b", re.IGNORECASE)
_PREPARES: Final = re.compile(
    r"generat|split|map\b|load|token|fetch|shard|parquet|json|reward|scor|rollout|train", re.IGNORECASE
)
_BAR_WORDS: Final = 40
#: What the text of an event begins with that a bar told.
_FULL: Final = "100%: "
#: Rows with the metrics of an evaluation are those of evaluations when there are at most so many of them.
_SPARSE: Final = 0.5


class Evaluations:
    """Adds evaluations to a run; several data sets evaluated after one step take their times together."""

    def __init__(self, build: RunBuilder) -> None:
        self._build = build
        self._event: dict[str, Any] | None = None
        self._parts: list[float] = []
        #: full bars after one step: their words and items
        self._full: tuple[int, set[tuple[str, int]]] = (-1, set())

    def tell(self, step: int | None, seconds: float | None, *, line: int, at: datetime | None, text: str) -> None:
        """Something that is said of an evaluation after `step` (None: the last one)."""
        step = self._build.last_step if step is None else step
        known = self._event
        if known is None or step is None or (known["segment"], known["step"]) != (self._build.segment, step):
            self._event = self._build.event("evaluation", line=line, at=at, step=step, text=text)
            self._parts = []
        if seconds is not None and self._event is not None:
            told = [*self._parts, math.fsum(self._parts)]  # the whole may follow on its parts
            if not any(abs(seconds - each) <= _SAME * each for each in told if each > 0):
                self._parts.append(seconds)
            self._event["seconds"] = math.fsum(self._parts)

    def full_bar(self, text: str, *, line: int) -> None:
        """The bar of an evaluation that ends in this text: how long it took is known."""
        for bar in bars(text):
            words = bar.desc[-_BAR_WORDS:]
            whole = bar.n == bar.total and bar.n > 0 and bar.elapsed_s > 0
            step, key = self._build.last_step, (words, bar.n)
            if not whole or step is None or not _EVALUATES.search(words) or _PREPARES.search(words):
                continue
            if self._full[0] != step:
                self._full = (step, set())
            if key not in self._full[1]:  # else: drawn again, or by another process
                self._full[1].add(key)
                self.tell(step, bar.elapsed_s, line=line, at=None, text=_FULL + words)


def rare(run: Run) -> Run:
    """The run without evaluations that bars told of, where they come with most of the steps: they are part of each."""
    shown = pl.col("text").str.starts_with(_FULL)
    if run.events.filter(shown)["step"].n_unique() <= _SPARSE * run.steps.height:
        return run
    return replace(run, events=run.events.filter(~shown))


def believed(run: Run) -> Run:
    """The run without times of evaluations that are the run's own clock: as long as all that went before, every time."""
    timed = pl.col("seconds").is_not_null()
    if not run.events.select(timed.any()).item() or run.steps["elapsed_s"].null_count() == run.steps.height:
        return run
    so_far = run.steps.select("segment", "step", "elapsed_s").drop_nulls()
    known = run.events.filter(timed).join(so_far, on=["segment", "step"])
    if known.height < 2 or not known.select((pl.col("seconds") >= 0.98 * pl.col("elapsed_s")).all()).item():
        return run
    return replace(run, events=run.events.with_columns(pl.lit(None, pl.Float64).alias("seconds")))


def told_at(run: Run) -> pl.DataFrame:
    """`segment` and `step` of the rows with metrics of an evaluation."""
    told = [pl.col(name).is_not_null() for name in run.extra.columns if spell(name).startswith("eval")]
    return (run.extra.filter(pl.any_horizontal(told)) if told else run.extra.clear()).select("segment", "step")


def with_sparse(run: Run) -> Run:
    """The run with an evaluation at each of the few rows that tell what one found (`val_loss` in every 250th)."""
    if run.extra.is_empty() or run.events.filter(pl.col("kind") == "evaluation").height:
        return run
    at = told_at(run)
    if not at.height or at.height > _SPARSE * run.steps.height:
        return run
    rows = run.steps.select("segment", "step", "line", "at").join(at, on=["segment", "step"], how="semi")
    found = rows.with_columns(pl.lit("evaluation").alias("kind"), pl.lit("").alias("text"))
    events = pl.concat([run.events, schema.conform(found, schema.EVENTS)]).sort("segment", "line", maintain_order=True)
    return replace(run, events=events)
