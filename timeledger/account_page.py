"""The account as a page to print: Markdown, or HTML without scripts."""

from __future__ import annotations

from html import escape
from typing import Final

from timeledger import html_page, markdown, units
from timeledger.account import Account
from timeledger.results import Span

_HEAD: Final = ("what", "time", "between")
_TITLES: Final = {"once": "Once", "each run": "Each run", "by hand": "At the desk"}


def rows(account: Account) -> list[tuple[str, ...]]:
    """The lines in order: what, time, interval."""
    found: list[tuple[str, ...]] = []
    for when, title in _TITLES.items():
        here = [item for item in account.items if item.when == when]
        found += [
            (f"{title}: {item.name} ({item.kind}: {item.text})", _time(item.seconds), _between(item.seconds))
            for item in here
        ]
    return found


def sums(account: Account) -> list[tuple[str, str]]:
    """The sums under the table: label and value."""
    found = [
        (
            "One experiment (smoke tests, run, evaluation)",
            f"{_time(account.experiment_s)} ({_between(account.experiment_s)})",
        ),
        ("Everything but the desk", f"{_time(account.total_s)} ({_between(account.total_s)})"),
    ]
    if account.gpu_hours is not None:
        hours = account.gpu_hours
        found.append(
            (
                "GPU-hours",
                f"{units.show_number(hours.mid)} ({units.show_number(hours.low)} to {units.show_number(hours.high)})",
            )
        )
    if account.money is not None and account.cost is not None:
        money = account.money
        found.append(
            (
                "Money",
                f"{money.mid:,.2f} {account.cost.currency}".rstrip() + f" ({money.low:,.2f} to {money.high:,.2f})",
            )
        )
    if account.energy_kwh is not None:
        found.append(("Energy", f"{units.show_number(account.energy_kwh)} kWh"))
    return found


def to_markdown(account: Account) -> str:
    """The account as Markdown."""
    lines = [f"- {markdown.escape(label)}: **{markdown.escape(value)}**" for label, value in sums(account)]
    hints = [markdown.escape(hint) for hint in account.hints]
    blocks = [
        "## The account of the experiment",
        markdown.table(_HEAD, rows(account), right_from=1),
        "\n".join(lines),
        *hints,
    ]
    return "\n\n".join(blocks) + "\n"


def to_html(account: Account) -> str:
    """The account as one self-contained page."""
    lines = "".join(
        f"<tr><td>{escape(label)}</td><td class=n><b>{escape(value)}</b></td></tr>" for label, value in sums(account)
    )
    hints = "".join(f'<p class="soft">{escape(hint)}</p>' for hint in account.hints)
    table = html_page.html_table(_HEAD, rows(account))
    body = f"<section><h1>The account of the experiment</h1>{table}<h2>Together</h2><table>{lines}</table>{hints}</section>"
    return html_page.page("Account", body)


def _time(span: Span) -> str:
    return units.show_seconds(span.mid)


def _between(span: Span) -> str:
    if span.low == span.high:
        return "as typed"
    return f"{units.show_seconds(span.low)} to {units.show_seconds(span.high)}"
