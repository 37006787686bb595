"""What each chart says, as a sentence under it (and for those who cannot see it). No Streamlit here.

Sentences that the model makes itself (headline, growth, cost of a step, a difference) are shown by `dashboard.language.retold`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dashboard.language import mark, t
from dashboard.localised import lower, phase, seconds, share
from timeledger import units
from timeledger.forecast import known_done
from timeledger.plan import Estimate
from timeledger.results import Analysis, Periodic

#: Where a clock, a total or a period may come from, for the catalogue.
SOURCES = (
    mark("timestamps"), mark("progress bar"), mark("elapsed column"), mark("step times"), mark("run time"),
    mark("given"), mark("phase"), mark("event"), mark("setting"), mark("residuals"), mark("evaluation"),
    mark("checkpoint"), mark("unknown"),
)  # fmt: skip


def breakdown(analysis: Analysis) -> str:
    """The profile as a sentence: the largest phases with share and kind."""
    breakdown = analysis.breakdown
    if breakdown.step_s is None or not breakdown.phases:
        return ""
    biggest = sorted(breakdown.phases, key=lambda part: part.share, reverse=True)[:4]
    told = t(", ").join(
        t(
            "{phase} {time} ({share}, {kind})",
            phase=lower(phase(part.phase)),
            time=seconds(part.seconds),
            share=share(part.share),
            kind=t(part.kind),
        )
        for part in biggest
    )
    rest = breakdown.unexplained_s
    if rest is not None and rest > 0.005 * breakdown.step_s:
        told += t("; {time} not explained by this log", time=seconds(rest))
    beside = " " + t("Generation and training overlap, so the parts are not added.") if breakdown.overlapped else ""
    return t("A mean step takes {time}: {parts}.", time=seconds(breakdown.step_s), parts=told) + beside


def projection(analysis: Analysis) -> str:
    """The projection as a sentence."""
    projection, clock = analysis.projection, analysis.clock
    if clock.elapsed_s is None:
        return ""
    done = t(
        "{time} for {steps} steps", time=seconds(clock.elapsed_s), steps=f"{known_done(analysis.run, clock) or 0:,}"
    )
    if clock.lost_s and clock.lost_s > 1:
        done += t(", {time} of it lost to pauses and restarts", time=seconds(clock.lost_s))
    if projection.total_s is None or analysis.state == "finished":
        return t("{done}.", done=done)
    total, level = projection.total_s, share(projection.level)
    between = t("between {low} and {high} ({level})", low=seconds(total.low), high=seconds(total.high), level=level)
    if projection.too_early:
        return t("So far {done}; in all {between}.", done=done, between=between)
    return t("So far {done}; in all {middle}, {between}.", done=done, middle=seconds(total.mid), between=between)


def as_told(analysis: Analysis) -> list[tuple[str, ...]]:
    """What would have been said of the whole run at 10, 25 and 50 % of it: share, most likely, interval, a plain progress bar."""
    return [
        (
            share(each.share),
            seconds(each.total_s.mid),
            f"{seconds(each.total_s.low)} – {seconds(each.total_s.high)}",
            seconds(each.tqdm_s),
        )
        for each in analysis.projection.backtest
    ]


def truth(analysis: Analysis) -> str:
    """What the run took in the end, where it is over."""
    found = next((each.truth_s for each in analysis.projection.backtest if each.truth_s is not None), None)
    return "" if found is None else t("In the end it took {time}.", time=seconds(found))


def health(analysis: Analysis) -> str:
    """Where reward and accuracy came from and went to."""
    steps = analysis.run.steps
    told = []
    for column, label in (("reward", t("reward")), ("acc", t("accuracy"))):
        values = steps[column].drop_nulls().drop_nans()
        if values.len() >= 4:
            quarter = max(1, values.len() // 4)
            first, last = values.head(quarter).mean(), values.tail(quarter).mean()
            if isinstance(first, float) and isinstance(last, float):
                told.append(f"{label} {units.show_number(first)} → {units.show_number(last)}")
    return t("First quarter to last: {values}.", values=t(", ").join(told)) if told else ""


def sources(analysis: Analysis) -> tuple[str, ...]:
    """Where the clock and the total come from, as notes."""
    clock, projection = analysis.clock, analysis.projection
    told = []
    if clock.source != "none":
        resolution = seconds(clock.resolution_s)
        told.append(t("Clock from the {source} (resolution {time}).", source=t(clock.source), time=resolution))
    if projection.total_steps_from:
        told.append(t("Total steps from {source}.", source=projection.total_steps_from))
    if clock.warmup_steps:
        warm = seconds(clock.warmup_s)
        told.append(t("Warm-up: {steps} steps, {time}; left out of rates.", steps=clock.warmup_steps, time=warm))
    return (*told, *(t("{phase}: {work}.", phase=phase(each.kind), work=periodic(each)) for each in clock.periodic))


def periodic(work: Periodic) -> str:
    """Work that comes back: how often, what it costs, how that is known."""
    often = t("every {steps} steps", steps=f"{work.every:,}") if work.every else t("{count} seen", count=work.count)
    cost = t("{time} each", time=seconds(work.seconds)) if work.seconds is not None else t("cost not known")
    cost = t("too short to be seen") if work.seconds == 0 else cost
    return t("{often}, {cost} (from {source})", often=often, cost=cost, source=t(work.known_from))


def how_to_log(analysis: Analysis) -> str:
    """What to give instead of a log without training steps."""
    if analysis.run.engine.height:
        return t(
            "It is an inference engine's log: its throughput can feed the calculator (Plan). "
            "Add the trainer's console log, trainer_state.json or TensorBoard events to see where a step's time goes."
        )
    return t("Give the trainer's console log, trainer_state.json, a metrics file (JSONL, CSV) or TensorBoard events.")


def plan(answer: Estimate, before: Estimate | None) -> str:
    """The planned step as a sentence, against the one it started from."""
    step_s, total = t("{number} s", number=units.show_number(answer.step_s, 4)), seconds(answer.total_s.mid)
    told = t(
        "A step takes {step}, {steps} steps take {total}.", step=step_s, steps=f"{answer.inputs.steps:,}", total=total
    )
    if before is None:
        return told
    was = t("{number} s", number=units.show_number(before.step_s, 4))
    return told + " " + t("It was {step} and {total}.", step=was, total=seconds(before.total_s.mid))


def engine(analysis: Analysis) -> str:
    """The engine's samples as a sentence: throughput, and whether its KV cache was full or requests waited."""
    samples = analysis.run.engine.filter(pl.col("kind").is_in(["log", "metrics"]))
    busy = samples.filter(pl.col("running").fill_null(1) > 0)
    told = []
    rate, full, waiting = busy["gen_tok_s"].median(), busy["kv_cache"].max(), busy["waiting"].max()
    if isinstance(rate, float):
        told.append(t("{rate} while busy (median)", rate=units.show_rate(rate)))
    if isinstance(full, float):
        told.append(t("KV cache up to {share}", share=share(full)))
    if isinstance(waiting, float) and waiting > 0:
        told.append(t("up to {count} requests waited", count=f"{waiting:,.0f}"))
    return t("{count} samples: {values}.", count=f"{samples.height:,}", values=t(", ").join(told)) if told else ""


def swept(label: str, rows: Sequence[tuple[str, Estimate]]) -> str:
    """What a sweep shows: the step at both ends."""
    (first, least), (last, most) = rows[0], rows[-1]
    return t(
        "From {first} to {last} ({input}) a step goes from {least} to {most}.",
        first=first, last=last, input=label, least=seconds(least.step_s), most=seconds(most.step_s),
    )  # fmt: skip
