"""What a person does, in a real browser: drop a log, read the finish, compare, follow a live run, give a wrong file."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep
from tests.conftest import ROOT

pytestmark = pytest.mark.browser

SAMPLE = ROOT / "sample_logs" / "growing-answers" / "console.log"
HAND = ROOT / "sample_logs" / "hand-written" / "train.log"


def lines(first: int, last: int, total: int = 400) -> str:
    """A loop of one's own: one line a step, 30 s each."""
    rows = (
        f"step {step}/{total} | len {90 + step * 0.5:.1f} | len_max {250 + step} | reward {0.3 + step * 0.001:.3f} "
        f"| adv_std 0.97 | ratio 1.001 | time {30 + step * 0.02:.2f}s"
        for step in range(first, last + 1)
    )
    return "\n".join(rows) + "\n"


def visit(page: Page, server: str, view: str = "", *paths: Path) -> None:
    """Open a view on paths and wait until it has been drawn."""
    query = urllib.parse.urlencode([("path", str(each)) for each in paths])
    page.goto(f"{server}/{view}?{query}")
    settled(page)


def settled(page: Page) -> None:
    """Wait until the script has run and nothing is stale."""
    page.wait_for_selector('[data-testid="stAppViewContainer"]')
    page.wait_for_function(
        "() => { const app = document.querySelector('[data-testid=\"stApp\"]');"
        " return app && app.getAttribute('data-test-script-state') === 'notRunning'; }"
    )


def test_upload_then_finish_then_compare(page: Page, server: str) -> None:
    visit(page, server)
    page.set_input_files('input[type="file"]', [str(SAMPLE)])
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.get_by_role("button", name="Open the run").click()
    expect(page.get_by_text("Where each step's time goes")).to_be_visible()
    card = page.locator(".tl-card").first
    expect(card).to_contain_text(re.compile("Finish|Ended early|Still needs"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_text("Open more").click()
    page.set_input_files('input[type="file"]', [str(HAND)])
    page.get_by_role("button", name="Compare them").click()
    expect(page.get_by_text("Why one is slower")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    keep(page, "compare-two-uploads")


def test_a_growing_log_shows_new_steps_without_a_reload(page: Page, server: str, tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    log.write_text(lines(1, 40))
    visit(page, server, "run", log)
    expect(page.locator(".tl-title")).to_contain_text("step 40 of 400")
    page.evaluate("window.reloaded = false; window.addEventListener('beforeunload', () => { window.reloaded = true; })")
    page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTo(0, 300)")
    with log.open("a") as stream:
        stream.write(lines(41, 47))
    expect(page.locator(".tl-title")).to_contain_text("step 47 of 400", timeout=20_000)
    assert page.evaluate("window.reloaded") is False
    assert page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTop") == 300
    expect(page.get_by_text("Following the log")).to_be_visible()


def test_a_wrong_file_gets_one_clear_message(page: Page, server: str, tmp_path: Path) -> None:
    wrong = tmp_path / "shopping.log"
    wrong.write_text("two eggs\none bread\n")
    visit(page, server)
    page.set_input_files('input[type="file"]', [str(wrong)])
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("shopping.log")
    expect(alert).to_contain_text("not a log that timeledger knows")
    expect(page.get_by_text("Traceback")).to_have_count(0)


def test_a_hostile_name_stays_text(page: Page, server: str, tmp_path: Path) -> None:
    name = "<img src=x onerror=window.hit=1> $\\frac{1}{2}$ :red[x] [go](javascript:window.hit=1).log"
    log = tmp_path / name.replace("/", "_")
    log.write_text(lines(1, 30))
    other = tmp_path / "<script>window.hit=1</script>".replace("/", "_")
    other.write_text(lines(1, 30))
    for view in ("", "run", "compare", "plan"):
        visit(page, server, view, log, other)
        page.wait_for_timeout(500)
        assert page.evaluate("window.hit") is None
        assert page.locator("img[src='x']").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        assert page.locator(".katex").count() == 0
    visit(page, server, "run", log)
    expect(page.locator(".tl-title")).to_contain_text("onerror")


@pytest.mark.parametrize(
    ("page", "name"),
    [({"dark": True}, "dark"), ({"width": 400}, "narrow"), ({"width": 2560}, "wide"), ({}, "light")],
    indirect=["page"],
)
@pytest.mark.parametrize("view", ["", "run", "compare", "plan", "help"])
def test_every_view_fits(page: Page, server: str, name: str, view: str) -> None:
    visit(page, server, view, SAMPLE.parent, HAND)
    page.wait_for_timeout(1500)
    target = keep(page, f"{view or 'runs'}-{name}")
    assert target.stat().st_size > 10_000
    wide = page.evaluate(
        "(() => { const main = document.querySelector('[data-testid=\"stMain\"]'); return main.scrollWidth - main.clientWidth; })()"
    )
    assert wide <= 1, "the page scrolls sideways"
    assert page.locator('[data-testid="stException"]').count() == 0
    if name == "dark":
        ground = page.evaluate("getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor")
        assert ground == "rgb(17, 21, 27)"
