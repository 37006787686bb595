"""Five tasks of a newcomer, counted in clicks from the first screen; a drop of files counts as one. None takes more than three."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import HAND, PHASES, SAMPLE, visit

pytestmark = pytest.mark.browser
MOST = 3


class Hand:
    """What the newcomer does; every click is counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def drop(self, *files: Path) -> None:
        """Drop files on the page."""
        self.page.set_input_files('input[type="file"]', [str(each) for each in files])
        self.clicks += 1

    def click(self, what: Locator) -> None:
        """Click something."""
        what.click()
        self.clicks += 1


@pytest.fixture
def hand(page: Page, server: str) -> Iterator[Hand]:
    """A newcomer at the first screen."""
    visit(page, server)
    newcomer = Hand(page)
    yield newcomer
    assert newcomer.clicks <= MOST, f"{newcomer.clicks} clicks"


def test_upload_and_read_the_finish_time(hand: Hand) -> None:
    hand.drop(SAMPLE)
    expect(hand.page.locator(".tl-card").first).to_contain_text(re.compile(r"Finish(es|ed).*after 5\sm"))
    assert hand.clicks == 1


def test_find_the_largest_time_eater(hand: Hand) -> None:
    hand.drop(*(each for each in PHASES.iterdir() if each.is_file()))
    expect(hand.page.locator(".tl-say").first).to_contain_text("sampling takes 71 % of a step")  # the answer itself
    expect(hand.page.get_by_text(re.compile("A mean step takes .* sampling"))).to_be_visible()


def test_see_why_one_run_is_slower(hand: Hand) -> None:
    hand.drop(SAMPLE, HAND)
    hand.click(hand.page.get_by_role("button", name="Compare them"))
    expect(
        hand.page.get_by_text(re.compile("A step of .* takes .* s (longer|less) than one of .* by "))
    ).to_be_visible()


def test_find_what_fits_into_three_hours(hand: Hand) -> None:
    hand.click(hand.page.get_by_role("link", name="Budget"))
    expect(hand.page.locator(".tl-cards").first).to_contain_text(re.compile(r"Fits into 3\sh.*659\ssteps"))


def test_send_a_report_to_a_colleague(hand: Hand, tmp_path: Path) -> None:
    hand.drop(HAND)
    hand.click(hand.page.get_by_role("button", name="Save"))
    with hand.page.expect_download() as coming:
        hand.click(hand.page.get_by_role("button", name="HTML: one file, works offline"))
    report = tmp_path / "report.html"
    coming.value.save_as(report)
    text = report.read_text(encoding="utf-8")
    assert "160 of 160" in text
    assert "<svg" in text
    assert not re.search(r"(?:src|href)=[\"']?https?:|@import|<script", text), "the report would fetch something"
