"""Tokens a second of generation and of training, as measured by this run's own log, and where each came from."""

from __future__ import annotations

from typing import Final

import polars as pl

from timeledger import schema
from timeledger.results import Facts
from timeledger.run import Run
from timeledger.said import say

_TRAINING: Final = tuple(name for name, part in schema.ROLLUP.items() if part == "forward-backward")
Rate = tuple[float | None, str | None]


def gen_tok_s(run: Run, facts: Facts) -> Rate:
    """Generation throughput of the whole job (generated tokens a second), best evidence first."""
    if facts.gen_tok_s is not None:
        return facts.gen_tok_s, say("given")
    return next(
        (
            found
            for found in (
                _column(run, "gen_tok_s"),
                _from_phases(run, ("rollout",), say("rollout phases x response tokens")),
                _engine(run),
            )
            if found[0]
        ),
        _setting(run, "gen_tok_s"),
    )


def train_tok_s(run: Run) -> Rate:
    """Training throughput: response tokens of a step over its forward and backward passes, over the whole job."""
    return next(
        (
            found
            for found in (
                _column(run, "train_tok_s"),
                _from_phases(run, _TRAINING, say("training phases x response tokens")),
            )
            if found[0]
        ),
        _setting(run, "train_tok_s"),
    )


def _column(run: Run, name: str) -> Rate:
    """The late median of the log's own rate."""
    values = run.steps.filter(pl.col(name).is_finite() & (pl.col(name) > 0))[name]
    if values.len() == 0:
        return None, None
    late = values.tail(max(3, values.len() // 2)).median()
    return (float(late), say("the log's own rate")) if isinstance(late, int | float) else (None, None)


def _from_phases(run: Run, phases: tuple[str, ...], words: str) -> Rate:
    """Response tokens of the steps over the seconds of their phases (top level, not overlapping)."""
    spent = (
        run.phases.filter(
            pl.col("phase").is_in(phases) & pl.col("parent").is_null() & ~pl.col("overlaps").fill_null(False)
        )
        .filter(pl.col("seconds").is_finite() & (pl.col("seconds") > 0))
        .group_by("segment", "step")
        .agg(pl.col("seconds").sum())
    )
    per_step = sequences_per_step(run)
    rows = run.steps.join(spent, on=["segment", "step"], maintain_order="left").with_columns(
        (pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, dtype=pl.Float64))).alias("made")
    )
    rows = rows.filter(pl.col("made").is_finite() & (pl.col("made") > 0))
    if rows.height < 2:
        return None, None
    # Totals, not a mean of rates: a short step must not count as much as a long one.
    late = rows.tail(max(3, rows.height // 2))
    return float(late["made"].sum()) / float(late["seconds"].sum()), words


def sequences_per_step(run: Run) -> float | None:
    """Sequences of one step from the settings, or None."""
    info = run.info
    direct = info.number("sequences_per_step")
    prompts, group = info.number("prompts_per_step"), info.number("group_size")
    return direct if direct else prompts * group if prompts and group else None


def _engine(run: Run) -> Rate:
    """Engine samples of windows with requests running; engines side by side add up."""
    busy = run.engine.filter(pl.col("gen_tok_s").is_finite() & (pl.col("gen_tok_s") > 0))
    lines = busy.filter((pl.col("kind") == "log") & (pl.col("running") > 0))
    if lines.height:
        each = lines.group_by("engine", maintain_order=True).agg(pl.col("gen_tok_s").median())
        return float(each["gen_tok_s"].sum()), say("engine lines with requests running")
    bars = busy.filter(pl.col("kind").is_in(["bar", "bench"]))
    middle = bars["gen_tok_s"].median() if bars.height else None
    if isinstance(middle, int | float):
        bench = (bars["kind"] == "bench").any()
        return float(middle), say("the engine's benchmark") if bench else say("the engine's generation bar")
    return None, None


def single_tok_s(run: Run) -> float | None:
    """Tokens a second of one answer that has the engine (almost) to itself: what the last long answer of a step runs at."""
    few = run.engine.filter(
        (pl.col("kind") == "log")
        & pl.col("running").is_between(1, 2)
        & pl.col("gen_tok_s").is_finite()
        & (pl.col("gen_tok_s") > 0)
    )
    middle = few.select((pl.col("gen_tok_s") / pl.col("running")).median()).item() if few.height >= 3 else None
    return float(middle) if isinstance(middle, int | float) else None


def _setting(run: Run, name: str) -> Rate:
    value = run.info.number(name)
    return (value, run.info.settings[name].source) if value else (None, None)
