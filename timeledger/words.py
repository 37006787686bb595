"""Sentences that more than one front end shows; numbers come from the report, never from here."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

from timeledger import palette, units
from timeledger.document import BreakdownPart, Moments, ProjectionPart, RunReport
from timeledger.schema import ROLLUP


def phase(name: str) -> str:
    """A phase as people call it."""
    return palette.look(name).label


def is_over(projection: ProjectionPart) -> bool:
    """True when nothing remains."""
    return projection.remaining_s is not None and projection.remaining_s.high <= 0


def finish(run: RunReport, now: datetime | None = None, zone: tzinfo | None = None) -> str:
    """When the run ends, or why that cannot be said: one or two lines."""
    projection = run.projection
    total, left, level = projection.total_s, projection.remaining_s, units.show_share(projection.level)
    if is_over(projection):
        return "" if total is None else f"Ended after {units.show_seconds(total.mid)}."
    if left is None or total is None:
        return f"Finish unknown: {projection.why}" if projection.why else "Finish unknown."
    if projection.too_early:
        return (
            f"Too early for one number: between {units.show_seconds(left.low)} and {units.show_seconds(left.high)} "
            f"to go ({level})."
        )
    text = (
        f"{units.show_seconds(left.mid)} to go, {units.show_seconds(total.mid)} in all "
        f"(between {units.show_seconds(total.low)} and {units.show_seconds(total.high)}, {level})"
    )
    if run.run.state == "stalled":
        return f"Stalled: no new step for much longer than a step takes. If it goes on:\n{text}"
    moments = projection.finish_at
    if moments is None or run.run.state != "running":
        return text
    return f"Finishes {interval(moments, now, zone)} ({level})\n{text}"


def interval(moments: Moments, now: datetime | None = None, zone: tzinfo | None = None) -> str:
    """`Tue 02:40, between 01:55 and 03:30`: the day once when it is the same, seconds when minutes would say nothing."""
    exact = (moments.high - moments.low).total_seconds() < 15 * units.MINUTE
    low, mid, high = (
        units.show_time(each, now, zone, exact=exact) for each in (moments.low, moments.mid, moments.high)
    )
    day, _, _ = mid.rpartition(" ")
    if low.startswith(f"{day} ") and high.startswith(f"{day} "):
        low, high = low.rpartition(" ")[2], high.rpartition(" ")[2]
    return f"{mid}, between {low} and {high}"


def periodic(every: int | None, seconds: float | None, count: int, known_from: str) -> str:
    """Work that comes back: how often, what it costs, how that is known."""
    often = f"every {every:,} steps" if every else f"{count} seen"
    cost = f", {units.show_seconds(seconds)} each" if seconds is not None else ", cost not known"
    return f"{often}{cost} (from {known_from})"


def signed_seconds(value: float | None) -> str:
    """A difference in seconds with its sign: `+4.1 s`."""
    if value is None:
        return "—"
    return ("+" if value > 0 else "") + units.show_seconds(value)


def per_thousand_tokens(run: RunReport) -> float | None:
    """Seconds of a step per 1,000 response tokens, from the late length and the settings; None when the batch is not known."""
    sequences, length, step_s = _sequences(run), run.length.last, run.clock.step_s
    if not sequences or not length or step_s is None:
        return None
    return step_s / (sequences * length) * 1000


def _sequences(run: RunReport) -> float | None:
    config = run.run.config
    direct = config.get("sequences_per_step")
    if isinstance(direct, int | float):
        return float(direct)
    prompts, group = config.get("prompts_per_step"), config.get("group_size")
    if isinstance(prompts, int | float) and isinstance(group, int | float):
        return float(prompts * group)
    return None


def facts(run: RunReport) -> list[tuple[str, str]]:
    """The lines under the table: label and value, only what is known."""
    clock, length, timing = run.clock, run.length, run.timing
    lines = []
    if clock.step_s is not None:
        lines.append(("Step now", f"{units.show_seconds(clock.step_s)}  (clock: {clock.origin})"))
    if timing.sentence:
        lines.append(("What it costs", timing.sentence))
    if length.sentence:
        lines.append(("Answers", length.sentence))
    if clock.elapsed_s is not None:
        lost = f", {units.show_seconds(clock.lost_s)} of it lost" if clock.lost_s and clock.lost_s >= 1 else ""
        sessions = f", {len(clock.segments)} sessions" if len(clock.segments) > 1 else ""
        lines.append(("Elapsed", f"{units.show_seconds(clock.elapsed_s)}{lost}{sessions}"))
    lines.extend(
        (each.kind.capitalize(), periodic(each.every, each.seconds, each.count, each.known_from))
        for each in clock.periodic
        if each.kind != "unknown"
    )
    if run.cost is not None:
        money = "" if run.cost.money is None else f", {run.cost.money:,.2f} {run.cost.currency}".rstrip()
        lines.append(("Cost", f"{units.show_number(run.cost.gpu_hours)} GPU-hours{money} for the whole run"))
    return lines


def step_rows(found: BreakdownPart) -> list[tuple[str, float, float, str]]:
    """The parts of a step: name, seconds, share, how known; the rest last.

    Where a log has no phases the fit's split stands in for the rest: what is fixed, and what follows the answers.
    """
    whole = found.step_s or 0.0
    rows: list[tuple[str, float, float, str]] = [
        (each.phase, each.seconds, each.share, each.origin) for each in found.phases
    ]
    if found.unexplained_s is None or not whole:
        return rows
    named = {each.phase for each in found.phases} | {
        ROLLUP[each.phase] for each in found.phases if each.phase in ROLLUP
    }
    split = {name: found.parts[name] for name in _FITTED if name in found.parts and name not in named}
    if "fixed" in split and len(split) > 1:
        return rows + [(name, seconds, seconds / whole, "inferred") for name, seconds in split.items()]
    return [*rows, ("unexplained", found.unexplained_s, found.unexplained_s / whole, "")]


#: What the fit of step time against length tells apart, in a step's order.
_FITTED: Final = ("sampling", "forward-backward", "per token", "fixed")


def compare_row(run: RunReport) -> tuple[str, ...]:
    """A run's line in the table of `compare`: run, steps, step time, per 1,000 tokens, sampling share, answers, total."""
    length, total = run.length, run.projection.total_s
    answers = "—" if length.first is None or length.last is None else f"{length.first:,.0f}→{length.last:,.0f}"
    return (
        run.run.name,
        "—" if run.run.step is None else f"{run.run.step:,}",
        units.show_seconds(run.clock.step_s),
        units.show_seconds(per_thousand_tokens(run)),
        units.show_share(run.breakdown.sampling_share),
        answers,
        units.show_seconds(total.mid if total else run.clock.elapsed_s),
    )
