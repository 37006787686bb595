"""From an analysis to the finished report that the dashboard, the command line, HTML and JSON all show."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from timeledger import schema, units
from timeledger.advice import Advice, advise
from timeledger.compare import Comparison
from timeledger.document import (
    AdvicePart,
    BacktestPart,
    BreakdownPart,
    CheckDocument,
    CheckPart,
    ClockPart,
    CompareDocument,
    DifferencePart,
    EnginePart,
    LengthPart,
    Moments,
    NotePart,
    NotJudgedPart,
    ProjectionPart,
    Range,
    RunPart,
    RunReport,
    ShowDocument,
    TimingPart,
)
from timeledger.engine import read_engine
from timeledger.forecast import known_done
from timeledger.plan import Cost
from timeledger.results import Analysis, Projection, Span, Timing
from timeledger.smoke import Checked, check


def report(analysis: Analysis, *, with_steps: bool = False) -> RunReport:
    """The report of one analysed run; `with_steps` adds its rows."""
    advised = advise(analysis)
    return RunReport(
        run=_run(analysis),
        headline=analysis.headline,
        clock=ClockPart.model_validate(analysis.clock),
        breakdown=BreakdownPart.model_validate(analysis.breakdown),
        timing=_timing(analysis.timing),
        length=LengthPart.model_validate(analysis.growth),
        projection=_projection(analysis.projection),
        advice=tuple(_advice(each) for each in advised.advice),
        not_judged=tuple(NotJudgedPart.model_validate(each) for each in advised.not_judged),
        checks=tuple(CheckPart.model_validate(each) for each in check(analysis).checks),
        engine=_engine(analysis),
        cost=cost(analysis),
        steps=_steps(analysis) if with_steps else None,
        notes=tuple(NotePart.model_validate(note) for note in analysis.run.notes),
    )


def _advice(found: Advice) -> AdvicePart:
    return AdvicePart(
        rule=found.rule,
        tier=found.tier,
        title=found.title,
        saves_s=_range(found.saves_s),
        share=found.share,
        cost=found.cost,
        settings=found.settings,
        evidence=found.evidence,
        source=found.source,
        symptom=found.symptom,
        of=found.of,
        ceiling=found.ceiling,
        confidence=found.confidence,
        published=found.published,
    )


def _engine(analysis: Analysis) -> EnginePart | None:
    found = read_engine(analysis.run)
    return EnginePart.model_validate(found) if found.samples or found.sleeps else None


def check_document(checked: Checked) -> CheckDocument:
    """The document of `check`."""
    checks = tuple(CheckPart.model_validate(each) for each in checked.checks)
    return CheckDocument(verdict=checked.verdict, checks=checks, run=checked.run, sentence=checked.sentence)


def show_document(analyses: list[Analysis], *, with_steps: bool = False) -> ShowDocument:
    """The document of `show`."""
    return ShowDocument(runs=tuple(report(each, with_steps=with_steps) for each in analyses))


def compare_document(comparison: Comparison) -> CompareDocument:
    """The document of `compare`."""
    return CompareDocument(
        runs=tuple(report(each) for each in comparison.analyses),
        differences=tuple(DifferencePart.model_validate(ledger) for ledger in comparison.differences),
    )


def _range(span: Span | None) -> Range | None:
    return None if span is None else Range.model_validate(span)


def _run(analysis: Analysis) -> RunPart:
    info, clock, projection = analysis.run.info, analysis.clock, analysis.projection
    return RunPart(
        name=info.name,
        format=info.format,
        sources=info.sources,
        framework=info.framework,
        state=analysis.state,
        step=clock.position,
        first_step=clock.first_step,
        steps_done=known_done(analysis.run, clock),
        total_steps=projection.total_steps,
        total_steps_from=projection.total_steps_from,
        started_at=info.started_at,
        last_at=last_seen(analysis),
        config={name: setting.value for name, setting in info.settings.items()},
        config_from={name: f"{setting.kind}: {setting.source}" for name, setting in info.settings.items()},
    )


def last_seen(analysis: Analysis) -> datetime | None:
    """The last time stamp of a step, else when the file was last written."""
    stamps = analysis.run.steps["at"].drop_nulls()
    last = stamps.max() if stamps.len() else analysis.run.info.last_write
    return last if isinstance(last, datetime) else None


def _timing(timing: Timing) -> TimingPart:
    return TimingPart(
        driver=timing.driver,
        fixed_s=None if timing.fixed_s is None else timing.fixed_s.mid,
        fixed_s_range=_range(timing.fixed_s),
        s_per_token=None if timing.s_per_token is None else timing.s_per_token.mid,
        s_per_token_range=_range(timing.s_per_token),
        gen_tok_s=timing.gen_tok_s,
        gen_tok_s_from=timing.gen_tok_s_from,
        train_tok_s=timing.train_tok_s,
        train_tok_s_from=timing.train_tok_s_from,
        quality=timing.quality,
        sentence=timing.sentence,
        why=timing.why,
    )


def _projection(projection: Projection) -> ProjectionPart:
    moments = None
    if projection.finish_at is not None:
        low, mid, high = projection.finish_at
        moments = Moments(low=low, mid=mid, high=high)
    return ProjectionPart(
        remaining_s=_range(projection.remaining_s),
        total_s=_range(projection.total_s),
        finish_at=moments,
        worst_case_s=projection.worst_case_s,
        level=projection.level,
        method=projection.method,
        because=projection.because,
        warnings=projection.warnings,
        too_early=projection.too_early,
        backtest={f"{each.share:.0%}": BacktestPart.model_validate(each) for each in projection.backtest},
        why=projection.why,
    )


def cost(analysis: Analysis) -> Cost | None:
    """GPU-hours of the whole run (projected while it runs), and money where a price was given; None without GPUs."""
    facts = analysis.facts
    gpus = facts.gpus or analysis.run.info.number("gpus")
    total = analysis.projection.total_s
    seconds = total.mid if total is not None else analysis.clock.elapsed_s
    if not gpus or seconds is None:
        return None
    hours = gpus * seconds / units.HOUR
    money = None if facts.price_per_gpu_hour is None else hours * facts.price_per_gpu_hour
    return Cost(gpu_hours=hours, money=money, currency=facts.currency)


def timed_steps(analysis: Analysis) -> pl.DataFrame:
    """The run's rows with the clock's `wall_s` (seconds of one step); columns without any value are left out."""
    steps = analysis.run.steps
    timed = analysis.clock.steps.select("segment", "step", "wall_s").unique(["segment", "step"], keep="last")
    joined = steps.drop("wall_s").join(timed, on=["segment", "step"], how="left", maintain_order="left")
    used = [name for name in schema.STEPS if name in joined.columns and joined[name].null_count() < joined.height]
    return joined.select(used)


def _steps(analysis: Analysis) -> tuple[dict[str, Any], ...]:
    return tuple(timed_steps(analysis).to_dicts())
