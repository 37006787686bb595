"""A run as it looked earlier: what a live reader would have had after a given step. For backtests."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timeledger.run import Run


def cut_after(run: Run, segment: int, step: int) -> Run:
    """The run up to and including `step` of `segment`; how it ended is forgotten, settings stay.

    Settings are printed before the first step in the formats that have them, so they were known then.
    """
    before = (pl.col("segment") < segment) | ((pl.col("segment") == segment) & (pl.col("step") <= step))
    at = run.steps.filter(before)["at"].max()
    engine = run.engine.filter(pl.col("at").is_null() | (pl.col("at") <= at)) if at is not None else run.engine
    events = run.events.filter(before | pl.col("step").is_null())
    if at is not None:
        events = events.filter(pl.col("at").is_null() | (pl.col("at") <= at))  # other counters name small steps late
    info = run.info.model_copy(update={"ended": None, "last_write": None, "train_runtime_s": None})
    return replace(
        run, info=info, steps=run.steps.filter(before), phases=run.phases.filter(before), engine=engine,
        events=events.filter(~pl.col("kind").is_in(["finish", "crash"])), progress=run.progress.filter(before),
    )  # fmt: skip
