"""Several runs side by side, on scales that make them comparable; why one is slower is `timeledger.ledger`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from timeledger import schema
from timeledger.clock_sources import finite, usual
from timeledger.ledger import Ledger, LedgerPart, Stretch, between, difference, stretch, within
from timeledger.results import Analysis
from timeledger.throughput import sequences_per_step

__all__ = [
    "Comparison",
    "Ledger",
    "LedgerPart",
    "Stretch",
    "between",
    "compare",
    "difference",
    "stretch",
    "tokens_per_step",
    "within",
]

#: One row a run: `step_s` is the whole mean step (evaluation, checkpoints amortised), `now_s` an ordinary step now.
TABLE: Final = schema.columns(
    {
        "run": pl.String,
        "framework": pl.String,
        "steps": pl.Int64,
        "step_s": pl.Float64,
        "now_s": pl.Float64,
        "s_per_1k_tokens": pl.Float64,
        "s_per_sample": pl.Float64,
        "steps_per_hour": pl.Float64,
        "tokens_per_hour": pl.Float64,
        "sampling_share": pl.Float64,
        "training_share": pl.Float64,
        "len_last": pl.Float64,
        "elapsed_s": pl.Float64,
        "lost_s": pl.Float64,
        "total_s": pl.Float64,
    }
)
#: Long: a run's phases on one scale. `seconds` a step, `per_1k_tokens` seconds a 1,000 response tokens, `per_sample` seconds a sequence, `share` of the step.
PROFILES: Final = schema.columns(
    {
        "run": pl.String,
        "phase": pl.String,
        "seconds": pl.Float64,
        "share": pl.Float64,
        "per_1k_tokens": pl.Float64,
        "per_sample": pl.Float64,
    }
)
#: Long: a run's course over steps, response tokens so far, and active hours.
CURVES: Final = schema.columns(
    {
        "run": pl.String,
        "step": pl.Int64,
        "active_h": pl.Float64,
        "tokens": pl.Float64,
        "wall_s": pl.Float64,
        "len_mean": pl.Float64,
        "reward": pl.Float64,
    }
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs side by side; `differences` are from the first run to each other one."""

    analyses: tuple[Analysis, ...]
    table: pl.DataFrame
    profiles: pl.DataFrame
    curves: pl.DataFrame
    differences: tuple[Ledger, ...]


def compare(analyses: list[Analysis] | tuple[Analysis, ...]) -> Comparison:
    """Runs side by side: one table, profiles and curves on common scales, and the ledger from the first run to each other."""
    runs = tuple(analyses)
    return Comparison(
        analyses=runs,
        table=pl.DataFrame([_row(each) for each in runs], schema=TABLE, orient="row") if runs else schema.empty(TABLE),
        profiles=pl.concat([schema.empty(PROFILES), *(_profile(each) for each in runs)]),
        curves=pl.concat([schema.empty(CURVES), *(_curve(each) for each in runs)]),
        differences=tuple(between(runs[0], each) for each in runs[1:]),
    )


def tokens_per_step(analysis: Analysis) -> float | None:
    """Response tokens of a mean step over all its sequences; None where the log lacks the length or the batch."""
    per_step = sequences_per_step(analysis.run)
    made = analysis.run.steps.select(
        pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, pl.Float64))
    ).to_series()
    values = finite(made)
    values = values[np.isfinite(values)]
    return float(np.mean(values)) if len(values) else None


def _row(analysis: Analysis) -> dict[str, object]:
    clock, breakdown = analysis.clock, analysis.breakdown
    step_s = breakdown.step_s if breakdown.step_s is not None else clock.step_s
    tokens = tokens_per_step(analysis)
    samples = usual(finite(analysis.run.steps["sequences"])) or sequences_per_step(analysis.run)
    total = analysis.projection.total_s
    return {
        "run": analysis.run.name,
        "framework": analysis.run.info.framework,
        "steps": clock.position - clock.first_step + 1
        if clock.position is not None and clock.first_step is not None
        else None,
        "step_s": step_s,
        "now_s": clock.step_s,
        "s_per_1k_tokens": 1000 * step_s / tokens if step_s is not None and tokens else None,
        "s_per_sample": step_s / samples if step_s is not None and samples else None,
        "steps_per_hour": 3600 / step_s if step_s else None,
        "tokens_per_hour": 3600 * tokens / step_s if step_s and tokens else None,
        "sampling_share": breakdown.sampling_share,
        "training_share": breakdown.training_share,
        "len_last": analysis.growth.last,
        "elapsed_s": clock.elapsed_s,
        "lost_s": clock.lost_s,
        "total_s": total.mid if total else None,
    }


def _profile(analysis: Analysis) -> pl.DataFrame:
    breakdown, tokens = analysis.breakdown, tokens_per_step(analysis)
    samples = usual(finite(analysis.run.steps["sequences"])) or sequences_per_step(analysis.run)
    told = [(each.phase, each.seconds) for each in breakdown.phases]
    if breakdown.unexplained_s:
        told.append(("unexplained", breakdown.unexplained_s))
    rows = [
        {
            "run": analysis.run.name,
            "phase": phase,
            "seconds": seconds,
            "share": seconds / breakdown.step_s if breakdown.step_s else None,
            "per_1k_tokens": 1000 * seconds / tokens if tokens else None,
            "per_sample": seconds / samples if samples else None,
        }
        for phase, seconds in told
    ]
    return pl.DataFrame(rows, schema=PROFILES, orient="row") if rows else schema.empty(PROFILES)


def _curve(analysis: Analysis) -> pl.DataFrame:
    """The run's rows on the axes of a comparison; tokens add up over the rows that have a length."""
    per_step = sequences_per_step(analysis.run)
    measured = analysis.run.steps.select(
        "segment",
        "step",
        "len_mean",
        "reward",
        (pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, pl.Float64))).alias("made"),
    ).unique(["segment", "step"], keep="last")
    lost = pl.when(pl.col("kind") == "pause").then(pl.col("extra_s")).otherwise(0.0).fill_null(0.0).cum_sum()
    rows = analysis.clock.steps.join(measured, on=["segment", "step"], how="left", maintain_order="left")
    made = pl.col("made") * pl.col("span")
    return schema.conform(
        rows.select(
            pl.lit(analysis.run.name).alias("run"),
            "step",
            ((pl.col("end_s") - lost) / 3600).alias("active_h"),
            pl.when(pl.col("made").is_not_null().any()).then(made.fill_null(0.0).cum_sum()).alias("tokens"),
            "wall_s",
            "len_mean",
            "reward",
        ),
        CURVES,
    )
