"""Reports as their receiver sees them: one file, legible, dated, with every colour explained; lines that tell no lie."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, timedelta, timezone

import polars as pl
import pytest

from tests.dashboard.synthetic import NOW, analysis
from timeledger import html, render, svg, words
from timeledger.compare import compare
from timeledger.palette import LOOKS, look
from timeledger.report import report
from timeledger.results import Analysis, Facts


@pytest.fixture(scope="module")
def run() -> Analysis:
    return analysis(87, 200, facts=Facts(now=NOW))


def drawings(page: str) -> list[ET.Element]:
    """Every drawing of a page, parsed: a drawing that is no XML is no drawing."""
    return [ET.fromstring(each) for each in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_a_report_is_one_file_that_runs_and_fetches_nothing(run: Analysis) -> None:
    page = html.show([run], UTC)
    assert not re.search(r"<script|https?:|@import|url\((?!#)|<link|<img", page)
    assert len(drawings(page)) > 4


def test_a_report_says_when_it_was_made_since_today_is_read_tomorrow(run: Analysis) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    for made in (render.show_html([run], zone), render.show_markdown([run], zone)):
        assert "as of Mon 02 Mar 2026 23:30 (UTC+05:30)" in made.replace("\\", "")
    assert words.as_of(NOW, UTC).endswith("18:00 (UTC)")


def test_the_card_of_the_finish_is_dated(run: Analysis) -> None:
    title, value, under = words.finish(report(run), UTC)
    assert title == "Finishes"
    assert re.fullmatch(r"Mon 02 Mar \d\d:\d\d", value)
    assert re.fullmatch(r"between \d\d:\d\d and \d\d:\d\d \(80 %\)", under)


def test_every_phase_of_a_report_stands_in_its_table_with_a_key(run: Analysis) -> None:
    page = html.show([run], UTC)
    for phase in run.breakdown.by_step["phase"].unique():
        assert f"</svg>{look(phase).label}</td>" in page, phase


def test_every_line_of_a_chart_stands_in_its_legend() -> None:
    lines = [
        svg.Line("mean", [1, 2, 3], [1.0, 2.0, 3.0], svg.ACCENT),
        svg.Line("longest", [1, 2], [4.0, 5.0], svg.SOFT),
    ]
    band = svg.Band("80 % interval", [3, 4], [1.0, 1.0], [2.0, 3.0], svg.ACCENT)
    keys = svg.chart(lines, [band], x_title="step", label="", seconds=False).partition('<p class="keys">')[2]
    assert [word in keys for word in ("mean", "longest", "80 % interval")] == [True] * 3


def test_a_line_does_not_cross_from_one_session_to_the_next() -> None:
    line = svg.Line("mean", [1, 2, 3, 2, 3, 4], [1.0] * 6, svg.ACCENT)
    drawn = svg.chart([line], [], x_title="step", label="", seconds=False)
    pieces = re.findall(r'<polyline points="([^"]*)"', drawn)
    assert [len(each.split()) for each in pieces] == [3, 3]


def test_a_thinned_line_still_ends_where_the_run_ends() -> None:
    line = svg.Line("mean", list(range(2001)), [1.0] * 2001, svg.ACCENT)
    points = re.search(r'<polyline points="([^"]*)"', svg.chart([line], [], x_title="step", label="", seconds=False))
    assert points is not None
    assert points[1].split()[-1].startswith(f"{svg.WIDTH - svg.RIGHT:.1f},")


def test_stacked_steps_add_up_and_few_columns_stand_for_many_steps() -> None:
    steps = list(range(1, 4001))
    drawn = svg.stacked_steps(steps, [("rollout", [2.0] * 4000), ("update", [1.0] * 4000)], label="")
    heights = [float(each) for each in re.findall(r"v([\d.]+)h-", drawn)]
    assert len(heights) <= 2 * 160
    assert max(heights) / min(heights) == pytest.approx(2.0, rel=0.01)
    assert sum({max(heights), min(heights)}) == pytest.approx(svg.HEIGHT - svg.BOTTOM - svg.TOP, abs=0.2)


def test_phases_that_share_a_colour_differ_by_hatching_in_a_report_too() -> None:
    for one in LOOKS:
        for other in LOOKS:
            if (
                look(one).label != look(other).label
                and look(one).light == look(other).light
                and bool(look(one).hatch) != bool(look(other).hatch)
            ):
                assert svg.phase_swatch(one) != svg.phase_swatch(other)


def test_a_comparison_leads_with_the_reason_and_its_bars_add_up(run: Analysis) -> None:
    slow = analysis(87, 200, name="slow", seed=3)
    longer = slow.clock.steps.with_columns(pl.col("wall_s") * 1.4)
    slow = replace(slow, clock=replace(slow.clock, steps=longer), facts=Facts(now=NOW))
    page = html.compare(compare((run, slow)), UTC)
    assert page.index("A step of slow takes") < page.index("Side by side")
    drawn = next(each for each in drawings(page) if each.get("class") == "wide")
    bars = list(drawn.iter("rect"))
    left, right = float(bars[0].get("width", 0)), float(bars[-1].get("width", 0))
    assert right > left
    assert right / left == pytest.approx(1.4, rel=0.05)
