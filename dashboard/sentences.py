"""What each chart says, as a sentence under it (and for those who cannot see it). No Streamlit here."""

from __future__ import annotations

import polars as pl

from timeledger import units, words
from timeledger.plan import Estimate
from timeledger.results import Analysis


def breakdown(analysis: Analysis) -> str:
    """The profile as a sentence: the largest phases with share and kind."""
    breakdown = analysis.breakdown
    if breakdown.step_s is None or not breakdown.phases:
        return ""
    biggest = sorted(breakdown.phases, key=lambda part: part.share, reverse=True)[:4]
    told = ", ".join(
        f"{words.phase(part.phase).lower()} {units.show_seconds(part.seconds)} ({units.show_share(part.share)}, {part.kind})"
        for part in biggest
    )
    rest = breakdown.unexplained_s
    tail = (
        f"; {units.show_seconds(rest)} not explained by this log"
        if rest is not None and rest > 0.005 * breakdown.step_s
        else ""
    )
    beside = " Generation and training overlap, so the parts are not added." if breakdown.overlapped else ""
    return f"A mean step takes {units.show_seconds(breakdown.step_s)}: {told}{tail}.{beside}"


def projection(analysis: Analysis) -> str:
    """The projection as a sentence."""
    projection, clock = analysis.projection, analysis.clock
    if clock.elapsed_s is None:
        return ""
    done = f"{units.show_seconds(clock.elapsed_s)} for {clock.position or 0:,} steps"
    lost = (
        f", {units.show_seconds(clock.lost_s)} of it lost to pauses and restarts"
        if clock.lost_s and clock.lost_s > 1
        else ""
    )
    if projection.total_s is None or analysis.state == "finished":
        return f"{done}{lost}.{_as_told(analysis)}"
    total, level = projection.total_s, units.show_share(projection.level)
    between = f"between {units.show_seconds(total.low)} and {units.show_seconds(total.high)} ({level})"
    middle = "" if projection.too_early else f"{units.show_seconds(total.mid)}, "
    return f"So far {done}{lost}; in all {middle}{between}."


def _as_told(analysis: Analysis) -> str:
    """What would have been said a quarter into a finished run, beside what a plain progress bar would have said."""
    quarter = next((each for each in analysis.projection.backtest if abs(each.share - 0.25) < 0.01), None)
    if quarter is None:
        return ""
    total = quarter.total_s
    bar = (
        "" if quarter.tqdm_s is None else f"; a plain progress bar would have said {units.show_seconds(quarter.tqdm_s)}"
    )
    return (
        f" After a quarter of the steps it would have said {units.show_seconds(total.mid)}, between "
        f"{units.show_seconds(total.low)} and {units.show_seconds(total.high)}{bar}."
    )


def health(analysis: Analysis) -> str:
    """Where reward and accuracy came from and went to."""
    steps = analysis.run.steps
    told = []
    for column, label in (("reward", "reward"), ("acc", "accuracy")):
        values = steps[column].drop_nulls().drop_nans()
        if values.len() >= 4:
            quarter = max(1, values.len() // 4)
            first, last = values.head(quarter).mean(), values.tail(quarter).mean()
            if isinstance(first, float) and isinstance(last, float):
                told.append(f"{label} {units.show_number(first)} → {units.show_number(last)}")
    return f"First quarter to last: {', '.join(told)}." if told else ""


def sources(analysis: Analysis) -> tuple[str, ...]:
    """Where the clock and the total come from, as notes."""
    clock, projection = analysis.clock, analysis.projection
    told = []
    if clock.source != "none":
        told.append(f"Clock from the {clock.source} (resolution {units.show_seconds(clock.resolution_s)}).")
    if projection.total_steps_from:
        told.append(f"Total steps from {projection.total_steps_from}.")
    if clock.warmup_steps:
        told.append(f"Warm-up: {clock.warmup_steps} steps, {units.show_seconds(clock.warmup_s)}; left out of rates.")
    told += [
        f"{words.phase(each.kind)}: {words.periodic(each.every, each.seconds, each.count, each.known_from)}."
        for each in clock.periodic
    ]
    return tuple(told)


def how_to_log(analysis: Analysis) -> str:
    """What to give instead of a log without training steps."""
    if analysis.run.engine.height:
        return (
            "It is an inference engine's log: its throughput can feed the calculator (Plan). "
            "Add the trainer's console log, trainer_state.json or TensorBoard events to see where a step's time goes."
        )
    return "Give the trainer's console log, trainer_state.json, a metrics file (JSONL, CSV) or TensorBoard events."


def plan(answer: Estimate, before: Estimate | None) -> str:
    """The planned step as a sentence, against the one it started from."""
    told = f"A step takes {units.show_number(answer.step_s, 4)} s, {answer.inputs.steps:,} steps take {units.show_seconds(answer.total_s.mid)}."
    if before is None:
        return told
    return f"{told} It was {units.show_number(before.step_s, 4)} s and {units.show_seconds(before.total_s.mid)}."


def engine(analysis: Analysis) -> str:
    """The engine's samples as a sentence: throughput, and whether its KV cache was full or requests waited."""
    samples = analysis.run.engine.filter(pl.col("kind").is_in(["log", "metrics"]))
    busy = samples.filter(pl.col("running").fill_null(1) > 0)
    told = []
    rate, full, waiting = busy["gen_tok_s"].median(), busy["kv_cache"].max(), busy["waiting"].max()
    if isinstance(rate, float):
        told.append(f"{units.show_rate(rate)} while busy (median)")
    if isinstance(full, float):
        told.append(f"KV cache up to {units.show_share(full)}")
    if isinstance(waiting, float) and waiting > 0:
        told.append(f"up to {waiting:,.0f} requests waited")
    return f"{samples.height:,} samples: {', '.join(told)}." if told else ""
