"""Durations as people read them."""

from __future__ import annotations

import pytest

from timeledger.units import DAY, show_number, show_seconds, show_share


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, "0 s"),
        (0.014, "14 ms"),
        (0.0996, "0.10 s"),
        (59.97, "1 m"),
        (252.0, "4 m 12 s"),
        (6720.0, "1 h 52 m"),
        (1.5 * DAY, "1 d 12 h"),
        (99.5 * DAY, "99 d 12 h"),
        (180.4 * DAY, "180 d"),
        (1000.0 * DAY, "2.7 years"),
        (28_828.0 * DAY, "79 years"),
        (-3.0 * DAY, "−3 d"),
        (-28_828.0 * DAY, "−79 years"),
        (None, "—"),
        (float("nan"), "—"),
        (float("inf"), "∞"),
    ],
)
def test_durations_are_told_in_the_units_people_use(seconds: float | None, told: str) -> None:
    assert show_seconds(seconds) == told


def test_a_typed_whole_number_is_a_number() -> None:
    """Facts hold ints (8 GPUs), which Python 3.11 does not let ask whether they are whole."""
    assert show_number(8) == "8"
    assert show_number(1_000_000) == "1,000,000"


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0, "0 %"), (0.004, "0.4 %"), (0.3, "30 %"), (0.994, "99 %"), (0.9951, "99.5 %"), (0.9999, "99.9 %"), (1 - 1e-12, "100 %"), (1.0, "100 %"), (1.73, "173 %"), (None, "—")],
)  # fmt: skip
def test_almost_all_is_not_all(share: float | None, told: str) -> None:
    assert show_share(share) == told
