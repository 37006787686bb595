"""The few numbers at the top of a run, as text: value, what stands under it, and how it is known. No Streamlit here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from dashboard.language import retold, t
from dashboard.localised import moment, seconds, share, signed_share
from timeledger import report, units
from timeledger.forecast import known_done
from timeledger.results import Analysis, Span
from timeledger.run import Kind
from timeledger.said import clauses, sentences
from timeledger.state import own_end

if TYPE_CHECKING:
    from timeledger.plan import Cost, Estimate


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
    head = t("Finishes")
    if not analysis.run.trains:
        return Card(head, "—", (t("no training steps in this log"),))
    if analysis.state == "finished":
        return _finished(analysis, zone)
    if analysis.state == "ended early":
        return _ended_early(analysis)
    if projection.remaining_s is None:
        why = retold(projection.why or "") or t("the total number of steps is not known")
        return Card(head, t("cannot tell yet"), brief(why), help=why)
    span, level = projection.remaining_s, share(projection.level)
    if projection.too_early:
        between = t("so far between {low} and {high}", low=seconds(span.low), high=seconds(span.high))
        return Card(head, t("too early to say"), (between, *filter(None, [retold(projection.why or "")])), "inferred")
    worst = _worst(analysis, zone)
    if projection.finish_at is not None and analysis.state != "stalled":
        low, mid, high = projection.finish_at
        under = t(
            "between {low} and {high} ({level})", low=near(low, mid, now, zone), high=near(high, mid, now, zone), level=level
        )  # fmt: skip
        return Card(head, moment(mid, now, zone), (under, *worst), "inferred", _because(analysis))
    under = t("between {low} and {high} ({level})", low=seconds(span.low), high=seconds(span.high), level=level)
    title = t("Still needs, once it goes on") if analysis.state == "stalled" else t("Still needs")
    return Card(title, seconds(span.mid), (under, *_own_end(analysis), *worst), "inferred", _because(analysis))


def _own_end(analysis: Analysis) -> tuple[str, ...]:
    """The end on the clock of the machine that wrote the log: all that can be said where its stamps name no zone."""
    at = None if analysis.state == "stalled" else own_end(analysis.run, analysis.clock, analysis.projection)
    return () if at is None else (t("ends about {time} by the log's own clock", time=retold(units.show_day(at))),)


def _finished(analysis: Analysis, zone: tzinfo | None) -> Card:
    elapsed, stamped = analysis.clock.elapsed_s, analysis.run.steps["at"].count() > 0
    spent = () if elapsed is None else (t("took {time}", time=seconds(elapsed)),)
    unstamped = () if stamped else (t("when the file was last written; its steps carry no time"),)
    last = report.last_seen(analysis)
    if last is None:
        return Card(t("Finished"), "—" if elapsed is None else t("after {time}", time=seconds(elapsed)), (), "measured")
    at = moment(last, analysis.facts.now, zone)
    return Card(t("Finished"), at, spent + unstamped, "measured" if stamped else "inferred")


def _ended_early(analysis: Analysis) -> Card:
    projection, elapsed = analysis.projection, analysis.clock.elapsed_s
    done = known_done(analysis.run, analysis.clock)
    where = "—" if done is None else t("at step {done}", done=f"{done:,}")
    if done is not None and projection.total_steps is not None:
        where = t("at step {done} of {total}", done=f"{done:,}", total=f"{projection.total_steps:,}")
    spent = () if elapsed is None else (t("after {time}", time=seconds(elapsed)),)
    return Card(t("Ended early"), where, spent + _left(projection.remaining_s), "measured")


def near(at: datetime, mid: datetime, now: datetime | None, zone: tzinfo | None) -> str:
    """A bound of a finish time: the clock alone on the day of the middle, else with its day."""
    same_day = at.astimezone(zone).date() == mid.astimezone(zone).date()
    return f"{at.astimezone(zone):%H:%M}" if same_day else moment(at, now, zone)


def shifted(at: datetime, by_s: float, now: datetime | None) -> datetime:
    """A moment moved by seconds, never before now."""
    moved = units.shift(at, by_s) or at
    return moved if now is None else max(moved, now)


def step(analysis: Analysis) -> Card:
    """What a step takes now, against the run's ordinary step."""
    now_s, usual = analysis.clock.step_s, ordinary_step(analysis)
    if now_s is None:
        why = retold(analysis.clock.why or "") or t("no timing in this log")
        return Card(t("Step now"), "—", brief(why), help=why)
    under = []
    if usual and abs(now_s / usual - 1) >= 0.01:
        under.append(t("{change} against the run's median", change=signed_share(now_s / usual - 1)))
    if analysis.clock.cycle > 1:
        steps = analysis.clock.cycle
        serves = analysis.clock.generates
        under.append(
            t("one generation serves {steps} steps", steps=steps)
            if serves
            else t("one step in {steps} is slow", steps=steps)
        )
    source = t("from the {source}", source=t(analysis.clock.source))
    return Card(t("Step now"), seconds(now_s), tuple(under), "measured", source)


def ordinary_step(analysis: Analysis) -> float | None:
    """Seconds of an ordinary step of the whole run, as a median."""
    rows = analysis.clock.steps
    median = rows.filter(rows["kind"] == "ordinary")["wall_s"].median()
    return float(median) if isinstance(median, int | float) else None


def brief(why: str) -> tuple[str, ...]:
    """The first sentence of a reason; the page tells the rest beside the chart, and a hover tells it all."""
    return (re.split(r"[.;:] |[。；：]", why)[0].rstrip("."),)


def sampling(analysis: Analysis) -> Card:
    """The sampling share of a step."""
    breakdown, head = analysis.breakdown, t("Sampling")
    if breakdown.sampling_share is None:
        why = retold(breakdown.why or "") or t("this log does not split a step")
        return Card(head, t("not measured"), brief(why), help=retold(breakdown.why or ""))
    kinds = {part.kind for part in breakdown.phases if part.phase in {"rollout", "sampling"}}
    kind: Kind = "measured" if kinds == {"measured"} else "assumed" if "assumed" in kinds else "inferred"
    under = [t("overlapped with training")] if breakdown.overlapped else []
    if breakdown.training_share is not None:
        under.append(t("training {share}", share=share(breakdown.training_share)))
    if breakdown.fixed_share is not None:
        under.append(t("fixed {share}", share=share(breakdown.fixed_share)))
    part = share(breakdown.sampling_share)
    value = t("{share} of a step", share=f"±{part}" if kind == "inferred" else part)
    return Card(head, value, (" · ".join(under),), kind)


def answers(analysis: Analysis) -> Card:
    """The mean answer length now, its growth, the limit and what is cut."""
    growth = analysis.growth
    if growth.last is None:
        why = retold(growth.why or "") or t("this log holds no answer lengths")
        return Card(t("Answers"), t("not logged"), brief(why), help=why)
    under = []
    if growth.first is not None and growth.growth is not None and abs(growth.growth - 1) >= 0.05:
        first, times = units.show_number(growth.first), f"{growth.growth:.1f}"
        under.append(t("from {first} at the start ({times}×)", first=first, times=times))
    limit = t("limit {limit}", limit=f"{growth.limit:,.0f}") if growth.limit is not None else t("limit not known")
    cut = t(", ") + t("{share} cut", share=share(growth.truncated_last)) if growth.truncated_last is not None else ""
    under.append(limit + cut)
    value = t("{length} tokens", length=units.show_number(growth.last))
    return Card(t("Answers"), value, tuple(under), "measured", t("mean response length, late in the run"))


def cost(analysis: Analysis) -> Card:
    """GPU-hours and money of the whole run, and what is spent so far."""
    known = report.cost(analysis)
    if known is None:
        return Card(t("Cost"), "—", (t("give the number of GPUs under “Your facts”"),))
    total = analysis.projection.total_s.mid if analysis.projection.total_s is not None else analysis.clock.elapsed_s
    done = (analysis.clock.elapsed_s or 0.0) / total if total else 1.0
    kind: Kind = "assumed" if analysis.facts.gpus else "measured"
    hours = gpu_hours(known)
    if known.money is None:
        return Card(t("Cost"), hours, (t("the whole run, projected") if done < 0.999 else t("the whole run"),), kind)
    spent = f"{units.show_number(known.money * done)} → " if done < 0.999 else ""
    return Card(t("Cost"), f"{spent}{money(known)}", (hours,), "assumed")


def gpu_hours(known: Cost) -> str:
    """GPU-hours in words."""
    return t("{hours} GPU-hours", hours=units.show_number(known.gpu_hours))


def money(known: Cost) -> str:
    """Money with its currency; empty where no price was given."""
    return "" if known.money is None else f"{units.show_number(known.money)} {known.currency}".strip()


def _worst(analysis: Analysis, zone: tzinfo | None) -> tuple[str, ...]:
    projection, elapsed = analysis.projection, analysis.clock.elapsed_s
    if projection.worst_case_s is None or projection.total_s is None:
        return ()
    if projection.finish_at is not None and analysis.state != "stalled":
        at = units.shift(projection.finish_at[1], projection.worst_case_s - projection.total_s.mid)
        when = moment(at, analysis.facts.now, zone)
        return (t("worst case {when}, if every answer reaches the limit", when=when),)
    rest = projection.worst_case_s - (elapsed or 0.0)
    return (t("worst case {when}, if every answer reaches the limit", when=seconds(max(rest, 0.0))),)


def _left(span: Span | None) -> tuple[str, ...]:
    return () if span is None or span.mid <= 0 else (t("would have needed {time} more", time=seconds(span.mid)),)


def _because(analysis: Analysis) -> str:
    return retold(sentences(*analysis.projection.because))


def plan_cards(answer: Estimate) -> list[Card]:
    """The calculator's answer."""
    total, inputs = answer.total_s, answer.inputs
    per_step = t(
        "{sequences} sequences, {tokens} tokens",
        sequences=f"{answer.sequences_per_step:,}",
        tokens=f"{answer.tokens_per_step:,.0f}",
    )
    span = t("between {low} and {high}", low=seconds(total.low), high=seconds(total.high))
    rest = " · ".join(
        (
            t("training {share}", share=share(answer.share("forward-backward"))),
            t("fixed {share}", share=share(answer.share("fixed overhead"))),
        )
    )
    one_step = t("{number} s", number=units.show_number(answer.step_s, 4))
    found = [
        Card(t("The whole run"), seconds(total.mid), (span,), "assumed", retold(clauses(answer.because))),
        Card(t("One step"), one_step, (per_step,), "assumed"),
        Card(t("Sampling"), share(answer.share("sampling")), (rest,), "assumed"),
    ]
    if answer.cost is not None:
        hours, paid = gpu_hours(answer.cost), money(answer.cost)
        under = hours if paid else t("{gpus} GPUs", gpus=f"{inputs.gpus:,}")
        found.append(Card(t("Cost"), paid or hours, (under,), "assumed"))
    return found
