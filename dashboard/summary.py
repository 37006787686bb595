"""The few numbers at the top of a run, as text: value, what stands under it, and how it is known. No Streamlit here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from timeledger import report, units
from timeledger.plan import Estimate
from timeledger.results import Analysis, Span
from timeledger.run import Kind


@dataclass(frozen=True, slots=True)
class Card:
    """One number of the top row. `under` are its lines of context; `help` is what a hover says."""

    title: str
    value: str
    under: tuple[str, ...] = ()
    kind: Kind | None = None
    help: str = ""


def cards(analysis: Analysis, zone: tzinfo | None) -> list[Card]:
    """The top row of the run view: finish, step, sampling, answers, cost."""
    return [finish(analysis, zone), step(analysis), sampling(analysis), answers(analysis), cost(analysis)]


def finish(analysis: Analysis, zone: tzinfo | None) -> Card:
    """When the run ends (or ended), with its interval and worst case."""
    projection, now = analysis.projection, analysis.facts.now
    if not analysis.run.has_steps:
        return Card("Finishes", "—", ("no training steps in this log",))
    elapsed = analysis.clock.elapsed_s
    if analysis.state == "finished":
        stamped = analysis.run.steps["at"].count() > 0
        spent = () if elapsed is None else (f"took {units.show_seconds(elapsed)}",)
        told = () if stamped else ("when the file was last written; its steps carry no time",)
        at = units.show_time(report.last_seen(analysis), now, zone)
        return Card("Finished", at, spent + told, "measured" if stamped else "inferred")
    if analysis.state == "ended early":
        done = analysis.clock.position
        where = "" if done is None else f"at step {done:,}" + _of(projection.total_steps)
        spent = () if elapsed is None else (f"after {units.show_seconds(elapsed)}",)
        return Card("Ended early", where or "—", spent + _left(projection.remaining_s, "would have needed"), "measured")
    if projection.remaining_s is None:
        why = projection.why or "the total number of steps is not known"
        return Card("Finishes", "cannot tell yet", brief(why), help=why)
    span = projection.remaining_s
    level = units.show_share(projection.level)
    if projection.too_early:
        between = (
            f"so far between {units.show_seconds(span.low, short=True)} and {units.show_seconds(span.high, short=True)}"
        )
        return Card("Finishes", "too early to say", (between, *filter(None, [projection.why])), "inferred")
    worst = _worst(analysis, zone)
    if projection.finish_at is not None and analysis.state != "stalled":
        low, mid, high = projection.finish_at
        under = f"between {near(low, mid, now, zone)} and {near(high, mid, now, zone)} ({level})"
        return Card("Finishes", units.show_time(mid, now, zone), (under, *worst), "inferred", _because(analysis))
    under = f"between {units.show_seconds(span.low)} and {units.show_seconds(span.high)} ({level})"
    title = "Still needs, once it goes on" if analysis.state == "stalled" else "Still needs"
    return Card(title, units.show_seconds(span.mid), (under, *worst), "inferred", _because(analysis))


def near(at: datetime, mid: datetime, now: datetime | None, zone: tzinfo | None) -> str:
    """A bound of a finish time: the clock alone on the day of the middle, else with its day."""
    same_day = at.astimezone(zone).date() == mid.astimezone(zone).date()
    return f"{at.astimezone(zone):%H:%M}" if same_day else units.show_time(at, now, zone)


def step(analysis: Analysis) -> Card:
    """What a step takes now, against the run's ordinary step."""
    now_s, usual = analysis.clock.step_s, ordinary_step(analysis)
    if now_s is None:
        why = analysis.clock.why or "no timing in this log"
        return Card("Step now", "—", brief(why), help=why)
    under = []
    if usual and abs(now_s / usual - 1) >= 0.01:
        under.append(f"{now_s / usual - 1:+.0%} against the run's median".replace("%", " %").replace("-", "−"))
    if analysis.clock.cycle > 1:
        under.append(f"one generation serves {analysis.clock.cycle} steps")
    return Card("Step now", units.show_seconds(now_s), tuple(under), "measured", f"from the {analysis.clock.source}")


def ordinary_step(analysis: Analysis) -> float | None:
    """Seconds of an ordinary step of the whole run, as a median."""
    rows = analysis.clock.steps
    median = rows.filter(rows["kind"] == "ordinary")["wall_s"].median()
    return float(median) if isinstance(median, int | float) else None


def brief(why: str) -> tuple[str, ...]:
    """The first sentence of a reason; the page tells the rest beside the chart, and a hover tells it all."""
    return (re.split(r"[.;:] ", why)[0].rstrip("."),)


def sampling(analysis: Analysis) -> Card:
    """The sampling share of a step."""
    breakdown = analysis.breakdown
    if breakdown.sampling_share is None:
        return Card(
            "Sampling",
            "not measured",
            brief(breakdown.why or "this log does not split a step"),
            help=breakdown.why or "",
        )
    kinds = {part.kind for part in breakdown.phases if part.phase in {"rollout", "sampling"}}
    kind: Kind = "measured" if kinds == {"measured"} else "assumed" if "assumed" in kinds else "inferred"
    under = ["overlapped with training"] if breakdown.overlapped else []
    if breakdown.training_share is not None:
        under.append(f"training {units.show_share(breakdown.training_share)}")
    if breakdown.fixed_share is not None:
        under.append(f"fixed {units.show_share(breakdown.fixed_share)}")
    sign = "±" if kind == "inferred" else ""
    return Card("Sampling", f"{sign}{units.show_share(breakdown.sampling_share)} of a step", (" · ".join(under),), kind)


def answers(analysis: Analysis) -> Card:
    """The mean answer length now, its growth, the limit and what is cut."""
    growth = analysis.growth
    if growth.last is None:
        why = growth.why or "this log holds no answer lengths"
        return Card("Answers", "not logged", brief(why), help=why)
    under = []
    if growth.first is not None and growth.growth is not None and abs(growth.growth - 1) >= 0.05:
        under.append(f"from {units.show_number(growth.first)} at the start ({growth.growth:.1f}×)")
    limit = f"limit {growth.limit:,.0f}" if growth.limit is not None else "limit not known"
    cut = f", {units.show_share(growth.truncated_last)} cut" if growth.truncated_last is not None else ""
    under.append(limit + cut)
    return Card(
        "Answers",
        f"{units.show_number(growth.last)} tokens",
        tuple(under),
        "measured",
        "mean response length, late in the run",
    )


def cost(analysis: Analysis) -> Card:
    """GPU-hours and money of the whole run, and what is spent so far."""
    known = report.cost(analysis)
    if known is None:
        return Card("Cost", "—", ("give the number of GPUs under “Your facts”",))
    total = analysis.projection.total_s.mid if analysis.projection.total_s is not None else analysis.clock.elapsed_s
    done = (analysis.clock.elapsed_s or 0.0) / total if total else 1.0
    kind: Kind = "assumed" if analysis.facts.gpus else "measured"
    hours = f"{units.show_number(known.gpu_hours)} GPU-hours"
    if known.money is None:
        return Card("Cost", hours, ("the whole run, projected" if done < 0.999 else "the whole run",), kind)
    spent = f"{units.show_number(known.money * done)} → " if done < 0.999 else ""
    return Card("Cost", f"{spent}{units.show_number(known.money)} {known.currency}".strip(), (hours,), "assumed")


def _worst(analysis: Analysis, zone: tzinfo | None) -> tuple[str, ...]:
    projection, elapsed = analysis.projection, analysis.clock.elapsed_s
    if projection.worst_case_s is None or projection.total_s is None:
        return ()
    if projection.finish_at is not None and analysis.state != "stalled":
        at = units.shift(projection.finish_at[1], projection.worst_case_s - projection.total_s.mid)
        return (f"worst case {units.show_time(at, analysis.facts.now, zone)}, if every answer reaches the limit",)
    rest = projection.worst_case_s - (elapsed or 0.0)
    return (f"worst case {units.show_seconds(max(rest, 0.0))}, if every answer reaches the limit",)


def _left(span: Span | None, words: str) -> tuple[str, ...]:
    return () if span is None or span.mid <= 0 else (f"{words} {units.show_seconds(span.mid)} more",)


def _of(total: int | None) -> str:
    return "" if total is None else f" of {total:,}"


def _because(analysis: Analysis) -> str:
    return "; ".join(analysis.projection.because)


def plan_cards(answer: Estimate) -> list[Card]:
    """The calculator's answer."""
    total = answer.total_s
    inputs = answer.inputs
    per_step = f"{answer.sequences_per_step:,} sequences, {answer.tokens_per_step:,.0f} tokens"
    found = [
        Card("The whole run", units.show_seconds(total.mid), (f"between {units.show_seconds(total.low)} and {units.show_seconds(total.high)} (±30 %)",), "assumed"),
        Card("One step", f"{units.show_number(answer.step_s, 4)} s", (per_step,), "assumed"),
        Card("Sampling", units.show_share(answer.share("sampling")), (f"training {units.show_share(answer.share('forward-backward'))} · fixed {units.show_share(answer.share('fixed overhead'))}",), "assumed"),
    ]  # fmt: skip
    if answer.cost is not None:
        money = (
            ""
            if answer.cost.money is None
            else f"{units.show_number(answer.cost.money)} {answer.cost.currency}".strip()
        )
        hours = f"{units.show_number(answer.cost.gpu_hours)} GPU-hours"
        found.append(Card("Cost", money or hours, (hours,) if money else (f"{inputs.gpus:,} GPUs",), "assumed"))
    return found
