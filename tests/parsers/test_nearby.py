"""Rows without any time: the stamps of the lines between them, whoever wrote those."""

from __future__ import annotations

import pytest

from parsers.nearby import Nearby
from tests.parsers.loops import column, notes, read, total_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("INFO 03-04 12:04:56 [executor.py:226] woke up.", 43_496.0),
        ("WARNING 03-04 12:04:56 executor.py:215] not sleeping", 43_496.0),
        ("I0304 12:04:56.123456 2135 torch/_inductor/utils.py:16] [0/0] autotune", 43_496.0),
        ("[12:04:56] optimizer done", 43_496.0),
        ("2026-03-04 12:04:56,123 - loop - INFO - sampled", 1772625896.0),
        ("INFORMATION is 12:04:56 old", None),
        ("Iteration 12:04:56", None),
        ("DATE 2026", None),
    ],
)
def test_moments_of_lines(text: str, seconds: float | None) -> None:
    near = Nearby()
    near.see(text)
    assert near.take() == (None if seconds is None else pytest.approx(seconds, abs=1))
    assert near.take() is None


def _engine(row: int, at: int) -> str:
    hour, minute, second = at // 3600 % 24, at // 60 % 60, at % 60
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return (
        f"[{row}/1000]  loss: -6.9, policy_loss: -6.8, kl-penalty: 0.015, entropy:87.1\n"
        f"INFO 09-{17 + at // 86_400} {clock} [executor_base.py:226] It took 0.28 seconds to wake up tags {{'weights'}}.\n"
        f"WARNING 09-{17 + at // 86_400} {clock} [executor_base.py:215] Executor is not sleeping.\n"
    )


def test_the_lines_of_an_engine_beside_the_rows_date_them_over_midnight() -> None:
    """A dated line of another program before the first row does not stand in the way."""
    text = "[2026-09-17 23:07:00,698] [INFO] [utils.py:781:see_memory_usage] before\n"
    run = read(text + "".join(_engine(row, 83_280 + 102 * row) for row in range(40)))
    clock = column(run, "elapsed_s")
    assert clock[0] is None
    assert [clock[row] for row in (1, 2, 39)] == pytest.approx([0.0, 102.0, 38 * 102.0])
    assert total_s(run) == pytest.approx(40 * 102, rel=0.06)
    assert "the one on the line before each" in notes(run)
