"""Sentences that more than one front end shows; numbers come from the report, never from here."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

from timeledger import palette, units
from timeledger.document import BreakdownPart, ProjectionPart, RunReport
from timeledger.schema import ROLLUP


def phase(name: str) -> str:
    """A phase as people call it."""
    return palette.look(name).label


def is_over(projection: ProjectionPart) -> bool:
    """True when nothing remains."""
    return projection.remaining_s is not None and projection.remaining_s.high <= 0


def remaining(run: RunReport) -> str:
    """What is still to come and the whole run's time with its interval; "" where the headline has said all there is."""
    projection = run.projection
    total, left = projection.total_s, projection.remaining_s
    if is_over(projection) or total is None or left is None or projection.too_early:
        return ""
    mid, low, high = (units.show_seconds(each) for each in (total.mid, total.low, total.high))
    said = f"{units.show_seconds(left.mid)} to go; {mid} in all"
    return said if low == mid == high else f"{said}, between {low} and {high} ({units.show_share(projection.level)})"


def worst_case(run: RunReport) -> str:
    """The total if every answer reached the limit from now on; "" when nothing remains or no limit drives the time."""
    worst = run.projection.worst_case_s
    if worst is None or is_over(run.projection):
        return ""
    return f"worst case {units.show_seconds(worst)} in all (every answer at the limit)"


def periodic(every: int | None, seconds: float | None, count: int, known_from: str) -> str:
    """Work that comes back: how often, what it costs, how that is known."""
    often = f"every {every:,} steps" if every else f"{count} seen"
    cost = f", {units.show_seconds(seconds)} each" if seconds is not None else ", cost not known"
    cost = ", too short to be seen" if seconds == 0 else cost
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
        apart = (
            ", the time between them not in this log"
            if any(each.lost_before_s is None for each in clock.segments[1:])
            else ""
        )
        lines.append(("Elapsed", f"{units.show_seconds(clock.elapsed_s)}{lost}{sessions}{apart}"))
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


def dated(at: datetime, zone: tzinfo | None = None) -> str:
    """A moment with its date, since a report is read on another day: `Mon 30 Nov 14:58`."""
    return f"{at.astimezone(zone):%a %d %b %H:%M}"


def as_of(now: datetime, zone: tzinfo | None = None) -> str:
    """When a report was made; what it calls today is this day."""
    offset = f"{now.astimezone(zone):%z}"
    return f"as of {now.astimezone(zone):%a %d %b %Y %H:%M} (UTC{offset[:3]}:{offset[3:]})".replace("UTC+00:00", "UTC")


def finish(run: RunReport, zone: tzinfo | None = None) -> tuple[str, str, str]:
    """The end as a card: what it is called, the moment or time, and what stands under it."""
    part, projection, elapsed = run.run, run.projection, run.clock.elapsed_s
    left, moments = projection.remaining_s, projection.finish_at
    took = "" if elapsed is None else f"after {units.show_seconds(elapsed)}"
    if part.state == "finished":
        return ("Finished", "—" if part.last_at is None else dated(part.last_at, zone), took)
    if part.state == "ended early":
        return ("Ended early", f"at step {part.step:,}" if part.step is not None else "—", took)
    if left is None:
        return ("Finishes", "cannot be told", projection.why or "")
    between = f"between {units.show_seconds(left.low)} and {units.show_seconds(left.high)}"
    if projection.too_early:
        return ("Still needs", "too early to say", between)
    level = units.show_share(projection.level)
    if moments is None or part.state == "stalled":
        return ("Still needs", units.show_seconds(left.mid), f"{between} ({level})")
    days = {each.astimezone(zone).date() for each in (moments.low, moments.mid, moments.high)}
    low, high = (
        f"{each.astimezone(zone):%H:%M}" if len(days) == 1 else dated(each, zone)
        for each in (moments.low, moments.high)
    )
    return ("Finishes", dated(moments.mid, zone), f"between {low} and {high} ({level})")
