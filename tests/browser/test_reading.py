"""What a reader needs: a chart that a phone's legend does not eat, whole charts on paper, an answer that stays in sight, links."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import HAND, PHASES, drawn, lines, settled, visit

pytestmark = pytest.mark.browser


def verl(steps: int = 30) -> str:
    """A console with nine phases a step."""
    phases = (
        "gen",
        "reward",
        "old_log_prob",
        "ref",
        "adv",
        "update_actor",
        "update_weights",
        "testing",
        "save_checkpoint",
    )
    told = " - ".join(f"timing_s/{name}:{2.0 + at:.1f}" for at, name in enumerate(phases))
    return "".join(
        f"step:{step} - training/global_step:{step} - response_length/mean:{100 + step}.0 - critic/score/mean:0.5 - {told}"
        f" - timing_s/step:{60 + step * 0.1:.1f}\n"
        for step in range(1, steps + 1)
    )


@pytest.mark.parametrize("page", [{"width": 400}], indirect=True)
def test_a_legend_of_many_phases_leaves_a_phone_its_chart(page: Page, server: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(verl())
    visit(page, server, "run", log)
    drawn(page)
    box = page.locator(".st-key-profile .nsewdrag").first.bounding_box()
    outer = page.locator(".st-key-profile").bounding_box()
    legend = page.locator(".st-key-profile .legend").first.bounding_box()
    assert box is not None
    assert outer is not None
    assert legend is not None
    assert box["height"] >= 200, "the legend eats the chart"
    assert box["y"] + box["height"] <= outer["y"] + outer["height"], "the chart is cut off"
    assert legend["y"] + legend["height"] <= box["y"] + 1, "the legend lies over the chart"


@pytest.mark.parametrize("view", ["run", "compare"])
def test_paper_shows_whole_charts_and_no_buttons(page: Page, server: str, view: str) -> None:
    visit(page, server, view, PHASES, HAND)
    drawn(page)
    page.set_viewport_size({"width": 1000, "height": 700})
    page.emulate_media(media="print")
    # A busy machine may still be laying the charts out for the new width: the reader would press print once they stand.
    page.wait_for_function(
        "() => { window.dispatchEvent(new Event('beforeprint'));"
        " const drawn = [...document.querySelectorAll('.stPlotlyChart .main-svg')];"
        " return drawn.length && drawn.every(each => each.getAttribute('viewBox')"
        " && each.getBoundingClientRect().right <= document.documentElement.clientWidth + 1); }",
        polling=500,
    )
    expect(page.get_by_role("button", name="Save")).to_be_hidden()


def test_the_answer_stays_in_sight_while_its_inputs_change(page: Page, server: str) -> None:
    visit(page, server, "plan", PHASES)
    drawn(page)
    page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollTo(0, 700)")
    expect(page.locator(".tl-cards").first).to_be_in_viewport()


def test_the_missing_number_is_asked_for_where_it_is_missed_and_goes_into_the_link(
    page: Page, server: str, tmp_path: Path
) -> None:
    log = tmp_path / "open-ended.log"
    log.write_text(lines(1, 40).replace("/400", ""))
    visit(page, server, "run", log)
    card = page.locator(".tl-card").first
    expect(card).to_contain_text("cannot tell yet")
    box = page.get_by_label("How many steps are planned?")
    box.fill("47")
    box.press("Enter")
    expect(card).not_to_contain_text("cannot tell yet")
    told = card.inner_text()
    page.reload()
    settled(page)
    expect(page.locator(".tl-title")).to_contain_text("step 40 of 47")
    assert card.inner_text().split("\n")[0] == told.split("\n")[0]


def test_a_page_that_is_held_still_keeps_what_the_reader_looks_at(page: Page, server: str, tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    log.write_text(lines(1, 40))
    visit(page, server, "run", log)
    page.get_by_role("button", name="Hold still").click()
    with log.open("a") as stream:
        stream.write(lines(41, 45))
    expect(page.get_by_text("Held still; the log has grown.")).to_be_visible()
    expect(page.locator(".tl-title")).to_contain_text("step 40 of 400")
    page.get_by_role("button", name="Follow again").click()
    expect(page.locator(".tl-title")).to_contain_text("step 45 of 400")


@pytest.mark.parametrize(
    "page", [{"width": 400}, {"width": 400, "locale": "zh-CN"}], indirect=True, ids=["english", "chinese"]
)
def test_no_table_of_the_help_view_is_cut_on_a_phone(page: Page, server: str) -> None:
    visit(page, server, "help")
    wider = "[...document.querySelectorAll('.tl-scroll')].map(each => each.scrollWidth - each.clientWidth)"
    page.wait_for_selector(".tl-scroll .tl-table")
    drawn(page)
    beyond = page.evaluate(wider)
    assert max(beyond) <= 1
