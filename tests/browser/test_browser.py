"""What a person does, in a real browser: drop a log, compare, give a wrong file; a hostile name; dark mode, language, keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import keep
from tests.browser.pages import HAND, PHASES, SAMPLE, VIEWS, drawn, lines, settled, visit

pytestmark = pytest.mark.browser


def test_upload_then_finish_then_compare(page: Page, server: str) -> None:
    visit(page, server)
    page.set_input_files('input[type="file"]', [str(SAMPLE)])
    expect(page.get_by_text("How long each step takes")).to_be_visible()
    card = page.locator(".tl-card").first
    expect(card).to_contain_text(re.compile("Finish|Ended early|Still needs"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_text("Open more").click()
    page.set_input_files('input[type="file"]', [str(HAND)])
    page.get_by_role("button", name="Compare them").click()
    expect(page.get_by_text("Why one is slower")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()


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
    for view in VIEWS[:-1]:
        visit(page, server, view, log, other)
        drawn(page)
        assert page.evaluate("window.hit") is None
        assert page.locator("img[src='x']").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        assert page.locator(".katex").count() == 0
    visit(page, server, "run", log)
    expect(page.locator(".tl-title")).to_contain_text("onerror")


def test_a_click_on_a_step_shows_its_line_of_the_log(page: Page, server: str) -> None:
    visit(page, server, "run", HAND)
    drawn(page)
    box = page.locator(".js-plotly-plot").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    expect(page.locator(".tl-facts")).to_be_visible()
    step = page.get_by_label("Look at a step").input_value()
    assert 70 <= int(step) <= 90
    expect(page.get_by_text(f"Line {step} of the log.")).to_be_visible()
    expect(page.locator('[data-testid="stCode"]').first).to_contain_text(f"step {step}")


def test_ticked_advice_moves_the_finish_and_stays_in_the_address(page: Page, server: str) -> None:
    visit(page, server, "optimise", PHASES)
    page.get_by_text("Let an inference engine generate").click()
    cards = page.locator(".tl-cards").first
    expect(cards).to_contain_text("With what is ticked")
    told = cards.inner_text()
    expect(page.get_by_text("Settings to copy")).to_be_visible()
    page.reload()
    settled(page)
    expect(cards).to_contain_text("With what is ticked")
    assert cards.inner_text() == told


def test_the_language_of_the_browser_and_the_switch(page: Page, server: str) -> None:
    visit(page, server, "plan")
    assert page.evaluate("document.documentElement.lang") == "en"
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("heading", name="规划一次训练")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert "lang=zh" in page.url
    page.get_by_role("link", name="预算").click()
    expect(page.get_by_role("heading", name="这点时间能做什么？")).to_be_visible()


@pytest.mark.parametrize("page", [{"locale": "zh-CN"}], indirect=True)
def test_a_chinese_browser_gets_chinese(page: Page, server: str) -> None:
    visit(page, server)
    expect(page.get_by_role("heading", name="这次训练的时间花在哪里，什么时候结束？")).to_be_visible()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Where did the time of this run go, and when will it end?")).to_be_visible()


def test_plan_inputs_answer_without_a_submit_button(page: Page, server: str) -> None:
    visit(page, server, "plan")
    answer = page.locator(".tl-cards").first
    expect(answer).to_contain_text("16.38 s")
    box = page.get_by_role("spinbutton", name="Answers per prompt, G")
    box.fill("16")
    box.press("Enter")
    expect(answer).to_contain_text("27.76 s")


def test_by_keyboard_alone(page: Page, server: str) -> None:
    """Tab reaches the navigation and a sample; Enter opens it; what has the focus can be seen."""
    visit(page, server)
    sample = page.get_by_role("button", name="hand-written")
    for _ in range(60):
        page.keyboard.press("Tab")
        if sample.evaluate("each => each === document.activeElement"):
            break
    else:
        pytest.fail("Tab never reached the sample")
    seen = "each => { const style = getComputedStyle(each); return style.outlineStyle !== 'none' || style.boxShadow !== 'none'; }"
    assert sample.evaluate(seen), "the focus cannot be seen"
    page.keyboard.press("Enter")
    expect(page.locator(".tl-title")).to_contain_text("step 160 of 160")


VARIANTS = [
    pytest.param({}, "light-en", id="light-en"),
    pytest.param({"dark": True, "locale": "zh-CN"}, "dark-zh", id="dark-zh"),
    pytest.param({"width": 400, "locale": "zh-CN"}, "narrow-zh", id="narrow-zh"),
    pytest.param({"width": 2560, "dark": True}, "wide-dark-en", id="wide-dark-en"),
]


@pytest.mark.parametrize(("page", "name"), VARIANTS, indirect=["page"])
def test_every_view_fits(page: Page, server: str, name: str) -> None:
    for view in VIEWS:
        visit(page, server, view, PHASES, HAND)
        drawn(page)
        target = keep(page, f"{view or 'runs'}-{name}")
        assert target.stat().st_size > 10_000
        wide = "(() => { const main = document.querySelector('[data-testid=\"stMain\"]'); return main.scrollWidth - main.clientWidth; })()"
        assert page.evaluate(wide) <= 1, f"{view} scrolls sideways"
        assert page.locator('[data-testid="stException"]').count() == 0, view
    if "dark" in name:
        ground = page.evaluate("getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor")
        assert ground == "rgb(17, 21, 27)"


@pytest.mark.parametrize("page", [{}, {"dark": True, "locale": "zh-CN"}], indirect=True, ids=["light", "dark-zh"])
def test_no_serious_barrier(page: Page, server: str, axe: str) -> None:
    """Nothing serious that axe-core finds on any view, with panels open; what is inside Streamlit's own canvas grid is not ours."""
    for view in VIEWS:
        visit(page, server, view, PHASES, HAND)
        drawn(page)
        page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(each => each.click())")
        settled(page)
        page.evaluate(axe)
        found = page.evaluate("axe.run({exclude: [['.stDataFrameGlideDataEditor']]}, {resultTypes: ['violations']})")[
            "violations"
        ]
        bad = [
            (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in {"serious", "critical"}
        ]
        assert not bad, (view, bad)
