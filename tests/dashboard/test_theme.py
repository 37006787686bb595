"""Colours that can be seen: against the ground, and apart from each other with a colour-blind eye."""

from __future__ import annotations

import itertools
import re
import tomllib

import numpy as np
import pytest
from numpy.typing import NDArray

from dashboard.charts import reads_on
from dashboard.theme import DARK, LIGHT, Theme
from tests.conftest import ROOT
from timeledger.palette import LOOKS, ORDER, look, place

#: Machado et al. 2009, severity 1.0, for linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def linear(colour: str) -> NDArray[np.float64]:
    """Linear RGB of #rrggbb."""
    raw = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(raw <= 0.04045, raw / 12.92, ((raw + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The WCAG contrast of two colours."""
    light = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b* of linear RGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_stands_out_from_the_ground(theme: Theme) -> None:
    dark = theme is DARK
    for phase in LOOKS:
        assert contrast(look(phase).colour(dark), theme.ground) >= 3.0, phase
    for colour in (*theme.runs, theme.accent, theme.alarm):
        assert contrast(colour, theme.ground) >= 3.0, colour
    for ink in (theme.ink, theme.soft):
        assert contrast(ink, theme.ground) >= 4.5


def test_text_inside_a_bar_can_be_read() -> None:
    for each in LOOKS.values():
        for colour in (each.light, each.dark):
            assert contrast(reads_on(colour), colour) >= 4.5


@pytest.mark.parametrize("eye", list(BLIND))
@pytest.mark.parametrize("dark", [False, True])
def test_neighbours_differ_for_a_colour_blind_eye_or_by_hatching(eye: str, dark: bool) -> None:
    stacked = (
        "rollout",
        "reward",
        "old_logprob",
        "ref_logprob",
        "update",
        "update_critic",
        "weight_sync",
        "sleep_wake",
        "evaluation",
    )
    for one, other in itertools.pairwise(stacked):
        if look(one).hatch != look(other).hatch:
            continue
        seen = [lab(np.array(BLIND[eye]) @ linear(look(each).colour(dark))) for each in (one, other)]
        assert float(np.linalg.norm(seen[0] - seen[1])) > 12, (one, other)


def test_the_page_has_the_grounds_that_the_charts_expect() -> None:
    config = tomllib.loads((ROOT / "dashboard" / ".streamlit" / "config.toml").read_text())
    assert config["theme"]["light"]["backgroundColor"] == LIGHT.ground
    assert config["theme"]["dark"]["backgroundColor"] == DARK.ground
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False


def test_nothing_of_the_page_is_fetched_from_elsewhere() -> None:
    for path in (ROOT / "dashboard").rglob("*"):
        if path.suffix in {".css", ".py", ".toml"}:
            found = re.findall(r"https?://[^\s\"')]+|@import", path.read_text())
            assert not found, (path, found)
        if path.name == "app.py":
            assert 'page_icon=":' not in path.read_text(), "the browser would fetch such an icon from another machine"


def test_phases_stack_in_the_order_of_a_step_with_the_rest_last() -> None:
    names = ["unexplained", "my_phase", "update", "sampling", "fixed overhead", "forward-backward"]
    assert sorted(names, key=place) == [
        "sampling",
        "forward-backward",
        "update",
        "fixed overhead",
        "my_phase",
        "unexplained",
    ]
    assert [place(each)[0] for each in ORDER] == sorted(place(each)[0] for each in ORDER)
    assert look("my_phase").label == "my phase"
