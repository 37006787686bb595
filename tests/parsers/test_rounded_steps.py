"""Steps that are shown rounded (`step:25K`), as the console of LeRobot prints them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from parsers.base import Sure
from tests.parsers.loops import column, notes, read, sure, total_s
from timeledger.clock import clock


def _big(number: float) -> str:
    for unit in ("", "K", "M"):
        if abs(number) < 1000:
            return f"{number:.0f}{unit}"
        number /= 1000
    return f"{number:.0f}B"


def _log(steps: Iterable[int], each_s: float = 0.5) -> str:
    rows = []
    for row, n in enumerate(steps):
        t = round(n * each_s)
        at = f"2025-03-04 {t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d}"
        rows.append(
            f"INFO {at} fit_it.py:99 step:{_big(n)} smpl:{_big(n * 8)} ep:{_big(n / 30)} epch:{n / 700:.2f} "
            f"loss:{3 - row / 999:.3f} grdn:1{row % 9}.25 lr:1.0e-05 updt_s:0.4{row % 8}0 data_s:0.010\n"
        )
    return "".join(rows)


@pytest.mark.parametrize("every", [50, 100, 200, 250, 300, 500, 1000, 2000])
def test_steps_are_counted_on(every: int) -> None:
    steps = list(range(every, 40_001, every))
    text = _log(steps)
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == steps
    assert run.steps["segment"].n_unique() == 1
    assert total_s(run) == pytest.approx(20_000, abs=0.51 * every)
    assert clock(run).step_s == pytest.approx(0.5, rel=0.01)
    assert ("rounded" in notes(run)) is (steps[-1] >= 1000)


def test_what_else_is_rounded_is_told_in_whole() -> None:
    run = read(_log(range(200, 4001, 200)))
    assert run.extra["smpl"].to_list()[:2] == [2000, 3000]
    assert column(run, "epoch")[1] == 0.57
    assert column(run, "grad_norm")[0] == 10.25
    assert run.phases.filter(run.phases["step"] == 200)["phase"].to_list() == ["update", "data"]


def test_above_a_million() -> None:
    steps = list(range(5000, 2_000_001, 5000))
    assert column(read(_log(steps, 0.02)), "step") == steps


def test_the_first_step_shown_may_be_0_or_1() -> None:
    for first in (0, 1):
        steps = [first, *range(500, 8001, 500)]
        assert column(read(_log(steps)), "step") == steps


def test_rows_that_are_missing_leave_a_hole() -> None:
    steps = [n for n in range(200, 20_001, 200) if not 6400 < n < 9600]
    found = column(read(_log(steps)), "step")
    assert found == steps


def test_a_log_that_begins_in_mid_run_is_right_from_the_third_number_on() -> None:
    steps = list(range(20_200, 40_001, 200))
    run = read(_log(steps))
    found = [step for step in column(run, "step") if step is not None]
    assert found[:3] == [20_000, 21_000, 22_000]
    assert found[4:] == [step for step in steps if step > found[3]]
    assert set(found[3:]) <= set(steps)
    assert clock(run).step_s == pytest.approx(0.5, rel=0.01)


def test_a_resumed_run_is_another_session() -> None:
    text = _log(range(200, 12_001, 200)) + _log(range(10_200, 16_001, 200))
    run = read(text)
    assert run.steps["segment"].n_unique() == 2
    assert column(run, "step")[:60] == list(range(200, 12_001, 200))
    assert column(run, "step")[-20:] == list(range(12_200, 16_001, 200))


def test_a_line_about_the_same_step_is_not_counted() -> None:
    lines = _log(range(200, 10_001, 200)).splitlines(keepends=True)
    told = "INFO 2025-03-04 00:50:00 fit_it.py:99 step:6K smpl:48K ep:200 epch:8.57 ∑rwrd:0.543 success:52.0 eval_s:35.123\n"
    run = read("".join([*lines[:30], told, *lines[30:]]))
    assert column(run, "step") == list(range(200, 10_001, 200))
    assert run.steps["segment"].n_unique() == 1


def test_other_counts_in_thousands() -> None:
    text = "".join(
        f"timestep: {n}k | reward: {n / 7:.3f} | entropy: 0.{n % 10}5 | time: 3.{n % 7}0s\n" for n in range(5, 95, 5)
    )
    assert column(read(text), "step") == [n * 1000 for n in range(5, 95, 5)]
