"""The logging interval from bars and dicts: each kind of evidence on its own."""

from __future__ import annotations

import pytest

from parsers.trl_spacing import Spacing, nicest
from parsers.trl_steps import Order


@pytest.mark.parametrize(
    ("low", "high", "best"), [(48, 52, 50), (7, 7, 7), (9, 13, 10), (51, 100, 100), (33, 34, 34), (1, 1, 1)]
)
def test_people_log_at_round_intervals(low: int, high: int, best: int) -> None:
    assert nicest(low, high) == best


def test_steps_and_spans_of_a_spacing() -> None:
    plain = Spacing(5)
    assert [plain.step(index, 0) for index in range(3)] == [5, 10, 15]
    assert [plain.step(index, 42) for index in range(3)] == [45, 50, 55]
    first = Spacing(10, True)
    assert [first.step(index, 0) for index in range(3)] == [1, 10, 20]
    assert [first.span(index, 0) for index in range(3)] == [1, 9, 10]
    assert Spacing(None).span(0, 0) is None


@pytest.mark.parametrize("every", [1, 3, 10, 50])
def test_bars_drawn_twice_tell_the_interval_before_any_burst_is_over(every: int) -> None:
    order = Order(total=200)
    order.bar(0)
    for step in range(1, 201):
        order.bar(step, step * 3.0)
        if step % every == 0:
            order.bar(step, step * 3.0)
    order.dict(None, (None, None))
    assert order.spacing().interval == every


def test_all_dicts_at_the_end_are_counted_against_the_steps_done() -> None:
    order = Order(total=1524)
    for step in range(0, 1525, 4):  # a bar without marks: the dicts were printed past it
        order.bar(step, step * 14.0)
    for _ in range(30):
        order.dict(None, (None, None))
    order.ended = True
    assert order.spacing().interval == 50


def test_the_end_of_run_dict_counts_steps_within_its_rounding() -> None:
    order = Order()
    for _ in range(12):
        order.dict(None, (16.5, 60.5))
    assert order.spacing().interval is None
    order.ended = True
    order.finished_by(49.78, 1.205, rounded=False)
    assert order.spacing().interval == 5
    assert order.steps_by_end() == 60


def test_whole_lengths_are_no_evidence_when_they_never_change() -> None:
    order = Order()
    for _ in range(10):
        order.dict(None, (384.0, 384.0))  # every answer is cut: a mean over ten steps is whole too
    assert order.spacing().interval is None


def test_a_first_state_far_ahead_is_a_resume_only_when_later_steps_are_slow() -> None:
    resumed, fast = Order(total=100), Order(total=1000)
    assert [resumed.skipped(*state) for state in _states(resumed, [(41, 0.0), (42, 1.0), (44, 3.0)])] == [
        None,
        None,
        40,
    ]
    assert [fast.skipped(*state) for state in _states(fast, [(5, 0.0), (10, 0.0), (15, 0.0), (400, 8.0)])] == [None] * 4


def _states(order: Order, states: list[tuple[int, float]]) -> list[tuple[int, float]]:
    order.bar(0)
    order.bar(states[0][0])
    return states
