"""Runs that grow while the page is open: the page follows by itself, and stays where the reader was."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import lines, visit

pytestmark = pytest.mark.browser


def test_a_growing_log_shows_new_steps_without_a_reload(page: Page, server: str, tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    log.write_text(lines(1, 40, 47))
    visit(page, server, "run", log)
    expect(page.locator(".tl-title")).to_contain_text("step 40 of 47")
    expect(page.get_by_text("Following the log")).to_be_visible()
    page.evaluate("window.reloaded = false; window.addEventListener('beforeunload', () => { window.reloaded = true; })")
    page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTo(0, 300)")
    with log.open("a") as stream:
        stream.write(lines(41, 45, 47))
    expect(page.locator(".tl-title")).to_contain_text("step 45 of 47", timeout=20_000)
    assert page.evaluate("window.reloaded") is False
    assert page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTop") == 300
    assert page.title().startswith("96 % · ")
    with log.open("a") as stream:
        stream.write(lines(46, 47, 47))
    expect(page.get_by_text("live has finished.")).to_be_visible(timeout=20_000)
    expect(page.locator(".tl-state")).to_contain_text("finished")
    assert page.title().startswith("✓ · ")


@pytest.mark.parametrize("page", [{"width": 600}], indirect=True)
def test_the_list_of_runs_follows_all_of_them(page: Page, server: str, tmp_path: Path) -> None:
    logs = [tmp_path / f"run-{each}.log" for each in "abc"]
    for log in logs:
        log.write_text(lines(1, 40, 50))
    visit(page, server, "", *logs)
    expect(page.get_by_text("Followed live: 3 of 3.")).to_be_visible()
    with logs[1].open("a") as stream:
        stream.write(lines(41, 50, 50))
    expect(page.get_by_text("✓ finished").first).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Followed live: 2 of 3.")).to_be_visible()
    page.get_by_role("button", name="run-b").click()
    expect(page.get_by_role("heading", name="run-b")).to_be_visible()
    expect(page.locator(".tl-title")).to_contain_text("step 50 of 50")
