"""Going through the pages in a browser: open a view, wait until it stands still, logs that the tests write."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

from playwright.sync_api import Page

from tests.conftest import ROOT

SAMPLES = ROOT / "sample_logs"
SAMPLE = SAMPLES / "growing-answers" / "console.log"
HAND = SAMPLES / "hand-written" / "train.log"
PHASES = SAMPLES / "phases-from-wandb"
VIEWS = ("", "run", "optimise", "compare", "plan", "budget", "account", "help")
_STILL = (
    "() => { const app = document.querySelector('[data-testid=\"stApp\"]');"
    " return app && app.getAttribute('data-test-script-state') === 'notRunning'; }"
)
_DRAWN = (
    "() => [...document.querySelectorAll('[data-testid=\"stPlotlyChart\"]')]"
    ".every(each => each.querySelector('.main-svg')) && !document.querySelector('[data-stale=\"true\"]')"
)


def lines(first: int, last: int, total: int = 400, *, pace: float = 1.0) -> str:
    """A loop of one's own: one line a step, about 30 s each."""
    rows = (
        f"step {step}/{total} | len {90 + step * 0.5:.1f} | len_max {250 + step} | reward {0.3 + step * 0.001:.3f} "
        f"| adv_std 0.97 | ratio 1.001 | time {pace * (30 + step * 0.02):.2f}s"
        for step in range(first, last + 1)
    )
    return "\n".join(rows) + "\n"


def visit(page: Page, server: str, view: str = "", *paths: Path, **more: str) -> None:
    """Open a view on paths and wait until it has been drawn."""
    query = urllib.parse.urlencode([*(("path", str(each)) for each in paths), *more.items()])
    page.goto(f"{server}/{view}?{query}")
    settled(page)


def settled(page: Page) -> None:
    """Wait until the script has run and nothing is stale."""
    page.wait_for_selector('[data-testid="stAppViewContainer"]')
    page.wait_for_function(_STILL)


def drawn(page: Page) -> None:
    """Wait until every chart has been drawn."""
    settled(page)
    page.wait_for_function(_DRAWN)
    page.wait_for_timeout(250)  # Plotly lays out in a second pass
