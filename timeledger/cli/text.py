"""Reports as terminal text: 80 columns, readable without colour, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from timeledger import units, words
from timeledger.cli import text_advice
from timeledger.cli.screen import bar, console
from timeledger.document import CompareDocument, DifferencePart, NotePart, ProjectionPart, RunReport, ShowDocument

_FIRST_NOTES: Final = 5


class FormatRow(Protocol):
    """What the table of formats needs of a format."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reads(self) -> str: ...
    @property
    def lacks(self) -> str: ...
    @property
    def more(self) -> str: ...


def show(document: ShowDocument, *, all_notes: bool = False, all_advice: bool = False) -> None:
    """Every run of the document."""
    out = console()
    for at, each in enumerate(document.runs):
        if at:
            out.print()
            out.rule(style="dim")
            out.print()
        _run(out, each, all_notes=all_notes, all_advice=all_advice)


def _run(out: Console, run: RunReport, *, all_notes: bool, all_advice: bool) -> None:
    _title(out, run)
    out.print()
    out.print(Text(run.headline, style="bold"))
    steps = run.run.step is not None or run.engine is None
    if steps:
        for line in finish_lines(run):
            out.print(Text(line))
    out.print()
    if steps:
        _phases(out, run)
        for label, value in words.facts(run):
            out.print(Text.assemble((f"{label:<14}", "dim"), value))
    text_advice.engine(out, run)
    _reasons(out, run.projection)
    text_advice.advice(out, run, everything=all_advice)
    _notes(out, run.notes, everything=all_notes)


def _title(out: Console, run: RunReport) -> None:
    part = run.run
    left = " · ".join(text for text in (part.name, part.framework or part.format, part.state) if text)
    right = ""
    if part.step is not None:
        right = f"step {part.steps_done or 0:,} / {part.total_steps:,}" if part.total_steps else f"step {part.step:,}"
        if part.total_steps:
            right += f"  {units.show_share(min((part.steps_done or 0) / part.total_steps, 1.0))}"
    gap = max(2, out.width - len(left) - len(right))
    out.print(Text.assemble((left, "bold"), " " * gap, right) if right else Text(left, style="bold"))


def finish_lines(run: RunReport) -> list[str]:
    """What remains with its interval, the worst case, warnings."""
    lines = [words.remaining(run), words.worst_case(run), *(f"! {warning}" for warning in run.projection.warnings)]
    return [line for line in lines if line]


def _phases(out: Console, run: RunReport) -> None:
    found = run.breakdown
    if found.step_s is None:
        if found.why:
            out.print(Text(f"Where a step's time goes: {found.why}"))
        return
    out.print(Text(f"Where a step's time goes ({units.show_seconds(found.step_s)} a step)", style="bold"))
    table = Table(box=None, padding=(0, 1), show_header=False)
    for justify in ("left", "right", "right", "left", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for phase, seconds, share, known in words.step_rows(found):
        fill = "░" if phase == "unexplained" else "█"
        table.add_row(words.phase(phase), units.show_seconds(seconds), units.show_share(share), bar(share, fill), known)
    out.print(table)
    if found.overlapped:
        out.print(Text("  Generation and training overlap: shares do not add up to the step."))
    if found.why:
        out.print(Text(f"  {found.why}", style="dim"))
    out.print()


def _reasons(out: Console, projection: ProjectionPart) -> None:
    if projection.because:
        out.print(Text("Because", style="dim"))
        for reason in projection.because:
            out.print(Text(f"  - {reason}"))


def _notes(out: Console, notes: Sequence[NotePart], *, everything: bool) -> None:
    if not notes:
        return
    out.print()
    out.print(Text(f"Notes ({len(notes)})", style="dim"))
    for each in notes if everything else notes[:_FIRST_NOTES]:
        where = f" (line {each.line:,})" if each.line else ""
        times = f" × {each.count:,}" if each.count > 1 else ""
        out.print(Text(f"  {each.kind}: {each.text}{times}{where}"))
    if not everything and len(notes) > _FIRST_NOTES:
        out.print(Text(f"  … {len(notes) - _FIRST_NOTES} more with --notes", style="dim"))


def compare(document: CompareDocument) -> None:
    """Runs side by side, then each difference as a ledger."""
    out = console()
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("run", overflow="fold")
    for name in ("steps", "step", "per 1k tok", "sampling", "answers", "total"):
        table.add_column(name, justify="right", no_wrap=True)
    for run in document.runs:
        table.add_row(*words.compare_row(run))
    out.print(table)
    for difference in document.differences:
        out.print()
        _difference(out, difference)


def _difference(out: Console, difference: DifferencePart) -> None:
    out.print(Text(f"From {difference.a} to {difference.b}", style="bold"))
    if difference.parts:
        table = Table(box=None, padding=(0, 1), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for part in difference.parts:
            table.add_row(part.part, words.signed_seconds(part.seconds), units.show_share(part.share))
        table.add_row("together", words.signed_seconds(difference.step_s), "", style="bold")
        out.print(table)
    out.print(Text(difference.sentence))


def formats(rows: Sequence[FormatRow]) -> None:
    """The table of formats."""
    out = console()
    for row in rows:
        out.print(Text.assemble((f"{row.name:<14}", "bold"), row.title))
        for label, value in (("reads", row.reads), ("not in it", row.lacks), ("log more", row.more)):
            if value:
                table = Table(box=None, padding=(0, 0), show_header=False)
                table.add_column(width=14)
                table.add_column(width=11, style="dim")
                table.add_column(overflow="fold")
                table.add_row("", label, Text(value))
                out.print(table)
