"""What comes before a run as terminal text: 80 columns, readable without colour."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from timeledger import account_page, units
from timeledger.account import Account
from timeledger.against import Against
from timeledger.cli.screen import bar, console
from timeledger.document_plan import BudgetPart, SweepPart
from timeledger.ladder import Ladder
from timeledger.plan import LABELS, Estimate
from timeledger.results import Span
from timeledger.steps import StepCount

_LEVERS: Final = {
    "steps": "steps",
    "data": "data (questions seen)",
    "max_tokens": "limit on answer tokens",
    "group_size": "group size G",
    "eval_questions": "evaluation questions",
}


def _table(*justify: str) -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False)
    for each in justify:
        right = each.startswith("right")
        table.add_column(justify="right" if right else "left", no_wrap=not each.endswith("fold"), overflow="fold")
    return table


def between(span: Span) -> str:
    """An interval in words."""
    return f"between {units.show_seconds(span.low)} and {units.show_seconds(span.high)}"


def plan(answer: Estimate) -> None:
    """The calculator's answer with its inputs and where each comes from."""
    out, inputs = console(), answer.inputs
    for warning in answer.warnings:
        out.print(Text(f"! {warning}", style="bold"))
        out.print()
    out.print(
        Text(
            f"{units.show_seconds(answer.step_s)} a step, {units.show_seconds(answer.total_s.mid)} for {inputs.steps:,} steps "
            f"({between(answer.total_s)})",
            style="bold",
        )
    )
    out.print(Text(f"{answer.sequences_per_step:,} sequences and {answer.tokens_per_step:,.0f} tokens a step"))
    out.print()
    _parts(out, answer)
    out.print()
    _inputs(out, answer)
    if answer.cost is not None:
        money = "" if answer.cost.money is None else f", {answer.cost.money:,.2f} {answer.cost.currency}".rstrip()
        out.print(Text(f"{units.show_number(answer.cost.gpu_hours)} GPU-hours{money}"))
    out.print(Text(f"Interval: {'; '.join(answer.because)}.", style="dim"))
    for hint in answer.hints[len(answer.warnings) :]:
        out.print()
        out.print(Text(hint))


def _parts(out: Console, answer: Estimate) -> None:
    table = _table("left", "right", "right", "left", "left")
    for part in answer.parts:
        table.add_row(
            part.phase, units.show_seconds(part.seconds), units.show_share(part.share), bar(part.share), part.kind
        )
    for part in answer.hidden:
        table.add_row(part.phase, units.show_seconds(part.seconds), "beside", bar(part.share, "░"), part.kind)
    if answer.once_s > 0:
        table.add_row("once a run", units.show_seconds(answer.once_s), "", "", "")
    out.print(table)


def _inputs(out: Console, answer: Estimate) -> None:
    inputs = answer.inputs
    table = _table("left", "right", "left fold")
    for field, label in LABELS.items():
        value = getattr(inputs, field)
        if value is None or (field == "mode" and "mode" not in inputs.sources):
            continue
        source = inputs.source(field)
        ends = inputs.ranges.get(field)
        shown = value if isinstance(value, str) else f"{value:,.6g}"
        span = "" if ends is None else f"{ends[0]:,.6g}..{ends[1]:,.6g} "
        table.add_row(label, shown, f"{span}{source.kind}: {source.text}")
    out.print(table)


def sweep(part: SweepPart) -> None:
    """One input swept."""
    out = console()
    out.print()
    out.print(Text(f"{LABELS[part.field]} swept", style="bold"))
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in (part.field, "step", "total", "interval", "sampling", "training", "fixed"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in part.rows:
        value = row.value if isinstance(row.value, str) else f"{row.value:,.6g}"
        low, high = units.show_seconds(row.total_s.low), units.show_seconds(row.total_s.high)
        shares = (units.show_share(each) for each in (row.sampling_share, row.training_share, row.fixed_share))
        table.add_row(
            value, units.show_seconds(row.step_s), units.show_seconds(row.total_s.mid), f"{low}–{high}", *shares
        )
    out.print(table)


def ladder(found: Ladder) -> None:
    """The smoke tests and the run."""
    out = console()
    out.print()
    out.print(Text(f"Before the long run (each with {units.show_seconds(found.load_s)} of loading)", style="bold"))
    for rung in found.rungs:
        out.print(
            Text.assemble((f"{rung.steps:>6,} steps  {units.show_seconds(rung.seconds):>10}  ", "bold"), rung.must_show)
        )
        if rung.command is not None:
            out.print(Text(f"        {rung.command}", style="dim"))
    out.print(
        Text(f"The tests together: {units.show_seconds(found.smoke_s)}. Judge each log with `timeledger check LOG`.")
    )


def against(found: Against) -> None:
    """The plan against the run."""
    out = console()
    out.print()
    out.print(Text(found.sentence, style="bold"))
    table = _table("left", "right", "left")
    table.add_row("planned", units.show_seconds(found.planned_s), "")
    for each in found.differences:
        sign = "+" if each.seconds > 0 else ""
        table.add_row(f"  {each.part}", f"{sign}{units.show_seconds(each.seconds)}", each.words)
    table.add_row("measured", units.show_seconds(found.measured_s), found.run)
    out.print(table)
    if found.measured_total_s is not None:
        span = found.measured_total_s
        measured = (
            f"measured {units.show_seconds(span.mid)}"
            if span.low == span.high
            else f"now {units.show_seconds(span.mid)} ({between(span)})"
        )
        out.print(Text(f"{found.steps:,} steps: planned {units.show_seconds(found.planned_total_s)}, {measured}."))


def budget(found: BudgetPart, plan: Estimate) -> None:
    """The cuts, what each saves and costs, and the configuration that results."""
    out = console()
    hours = units.show_seconds(found.hours * units.HOUR)
    if not found.cuts and found.fits:
        lead = f"Fits: {units.show_seconds(found.before_s)} of {hours}; nothing has to give."
    elif found.fits:
        lead = f"Fits into {hours} after {len(found.cuts)} cut{'s' if len(found.cuts) > 1 else ''}: {units.show_seconds(found.before_s)} -> {units.show_seconds(found.after_s)}."
    else:
        lead = found.nearest.sentence if found.nearest is not None else "Does not fit."
    out.print(Text(lead, style="bold"))
    out.print(Text(f"The interval of this plan: {between(plan.total_s)}.", style="dim"))
    for number, cut in enumerate(found.cuts, start=1):
        out.print()
        head = f"{number}. {_LEVERS[cut.what]} {cut.before:,} -> {cut.after:,}"
        out.print(Text.assemble((head, "bold"), f"   saves {units.show_seconds(cut.saves_s)}"))
        out.print(Text(f"   {cut.effect}"))
    if found.kept:
        out.print()
        for what, why in found.kept.items():
            out.print(Text(f"Not used: {_LEVERS[what]} ({why})", style="dim"))
    out.print()
    out.print(Text("Settings", style="bold"))
    table = _table("left fold", "left")
    for name, value in found.settings.items():
        table.add_row(name, value)
    out.print(table)
    _other_way_round(out, found)


def _other_way_round(out: Console, found: BudgetPart) -> None:
    if found.most:
        out.print()
        out.print(
            Text(f"The most that fits into {units.show_seconds(found.hours * units.HOUR)}, one at a time", style="bold")
        )
        table = _table("left", "right", "left")
        for each in found.most:
            shown = "not even the least" if each.most is None else f"{each.most:,}"
            table.add_row(each.what, shown, f"planned {each.planned:,.6g}")
        out.print(table)
    if found.weekend is not None:
        week = found.weekend
        out.print()
        text = f"{week.days} days of {units.show_seconds(week.hours_a_day * units.HOUR)}: {week.runs} runs ({week.a_day} a day, {units.show_seconds(week.run_s)} each)"
        more = f"; {week.through} when a run may go on the next day" if week.through > week.runs else ""
        out.print(Text(f"{text}{more}."))


def steps(counted: StepCount) -> None:
    """Each quantity with its formula."""
    out = console()
    total = "" if counted.total_steps is None else f", {counted.total_steps:,} steps in all"
    out.print(
        Text(
            f"One step: {counted.sequences_per_step:,} answers to {counted.prompts_per_step:,.6g} prompts{total}",
            style="bold",
        )
    )
    out.print()
    table = _table("left", "right", "left fold")
    for line in counted.lines:
        table.add_row(line.name, f"{line.value:,.6g}", f"= {line.formula}")
    out.print(table)
    for note in counted.notes:
        out.print()
        out.print(Text(note))


def account(found: Account) -> None:
    """Every line, then the sums."""
    out = console()
    table = _table("left fold", "right", "right")
    for row in account_page.rows(found):
        table.add_row(*row)
    out.print(table)
    out.print()
    for label, value in account_page.sums(found):
        out.print(Text.assemble(f"{label}: ", (value, "bold")))
    for hint in found.hints:
        out.print()
        out.print(Text(hint))
