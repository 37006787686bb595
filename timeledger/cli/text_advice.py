"""Advice, the engine and checks as terminal text."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from timeledger import advice_words as words
from timeledger.cli.screen import console
from timeledger.document import AdvicePart, CheckDocument, CheckPart, RunReport
from timeledger.smoke import LIMITS

_FIRST: Final = 3
_MARKS: Final = {
    "pass": ("pass", "green"),
    "warn": ("warn", "yellow"),
    "fail": ("FAIL", "bold red"),
    "unknown": ("?", "dim"),
}


def advice(out: Console, run: RunReport, *, everything: bool) -> None:
    """What to change first: three lines, or with `everything` each card in full."""
    if run.advice or everything:
        out.print()
        out.print(Text("Change first", style="bold"))
    first = [each for each in run.advice if each.tier == 0][:1]
    best = [each for each in run.advice if each.tier > 0][:_FIRST]
    if everything:
        for card in run.advice:
            _card(out, card)
        _not_judged(out, run)
        return
    for each in (*first, *best):
        _line(out, each)
    more = len(run.advice) - len(first) - len(best)
    told = ([f"{more} more"] if more > 0 else []) + (
        [f"{len(run.not_judged)} rules this log cannot judge"] if run.not_judged else []
    )
    if told and (run.advice or run.not_judged):
        out.print(Text(f"  … {', '.join(told)}: --advice", style="dim"))


def _line(out: Console, each: AdvicePart) -> None:
    tier = words.tier(each.tier)
    gain = words.gain(each)
    room = out.width - len(tier) - 14
    title = each.title if len(each.title) <= room else each.title[: room - 1] + "…"
    out.print(Text.assemble(f"  {gain:>9}  ", title, (f"  {tier}", "dim")))


def _card(out: Console, each: AdvicePart) -> None:
    out.print(Text.assemble((f"  {each.title}", "bold"), (f"  {each.rule}, {words.tier(each.tier)}", "dim")))
    for line in words.card(each):
        out.print(Padding(Text(line), (0, 0, 0, 4)))


def _not_judged(out: Console, run: RunReport) -> None:
    if not run.not_judged:
        return
    out.print()
    out.print(Text(f"Not judged ({len(run.not_judged)})", style="dim"))
    for line in words.not_judged(run.not_judged):
        out.print(Padding(Text(f"- {line}"), (0, 0, 0, 2)))


def engine(out: Console, run: RunReport) -> None:
    """The engine in a sentence, and its time by state."""
    found = run.engine
    if found is None or not found.sentence:
        return
    out.print(Text.assemble((f"{'Engine':<14}", "dim"), found.sentence))
    for state, seconds, share in words.engine_states(found):
        out.print(Text(f"  {state:<12}{seconds:>12}{share:>7}", style="dim"))


def check(document: CheckDocument) -> None:
    """Every gate, what is wrong first in the sentence."""
    out = console()
    out.print(Text.assemble((f"{document.run}: {document.verdict}", "bold")))
    out.print(Text(document.sentence))
    out.print()
    gate = ""
    for each in document.checks:
        if each.gate != gate:
            gate = each.gate
            out.print(Text(gate, style="dim"))
        _check(out, each)


def _check(out: Console, each: CheckPart) -> None:
    word, style = _MARKS[each.status]
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(width=5, no_wrap=True)
    table.add_column(width=26)
    table.add_column(overflow="fold")
    value = words.check_value(each)
    lines = [each.why[0].upper() + each.why[1:]]
    if each.status in {"warn", "fail"}:
        lines += [f"Seen {value}, wanted {each.want}."] if value else []
        lines += [each.do] if each.do else []
    table.add_row(Text(word, style=style), Text(each.title), Text("\n".join(lines)))
    out.print(table)


def limits() -> None:
    """The table of thresholds."""
    out = console()
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for name, limit in LIMITS.items():
        table.add_row(name, f"{limit.value:g}", f"{limit.what} ({limit.source})")
    out.print(table)
