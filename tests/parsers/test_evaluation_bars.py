"""The bar of an evaluation that ran to its end says how long it took."""

from __future__ import annotations

import pytest

from tests.parsers.loops import read
from tests.parsers.made_console import bar
from timeledger.clock import clock
from timeledger.run import Run


def _bars(desc: str, batches: int, seconds: float) -> str:
    return "".join(bar(batch, batches, seconds * batch / batches, desc) for batch in range(batches + 1)) + "\n"


def _loop(between: str, every: int = 10, steps: int = 60) -> Run:
    """Steps of 2 s by their stamps; what comes after every so many of them is drawn between."""
    text, now = "", 0
    for step in range(1, steps + 1):
        now += 2
        text += f"2026-01-05 08:{now // 60:02d}:{now % 60:02d} step {step}/100 loss 0.5 reward 0.2\n"
        if step % every == 0:
            text, now = text + between, now + 30
    return read(text)


def _told(run: Run) -> list[tuple[int, float]]:
    found = run.events.filter(run.events["kind"] == "evaluation")
    return list(zip(found["step"].to_list(), found["seconds"].to_list(), strict=True))


@pytest.mark.parametrize("desc", ["Evaluating: ", "GSM8K eval: ", "Validation: ", "[rank0] Testing: "])
def test_a_full_bar_times_the_evaluation(desc: str) -> None:
    run = _loop(_bars(desc, 15, 29.0))
    assert _told(run) == [(step, 29.0) for step in range(10, 61, 10)]
    (work,) = clock(run).periodic
    assert (work.kind, work.every) == ("evaluation", 10)
    assert work.seconds == pytest.approx(29.0, abs=1.0)


def test_two_data_sets_add_up_and_a_bar_drawn_again_does_not() -> None:
    both = _bars("Evaluating math: ", 20, 18.0) + bar(20, 20, 18.0, "Evaluating math: ") + "\n"
    run = _loop(both + _bars("Evaluating code: ", 12, 11.0))
    assert _told(run) == [(step, 29.0) for step in range(10, 61, 10)]


@pytest.mark.parametrize(
    "between",
    [
        _bars("Generating test split: ", 1319, 20.0),
        _bars("Scoring the test answers: ", 8, 20.0),
        _bars("Evaluating rewards: ", 8, 20.0),
        "".join(bar(batch, 15, 2.0 * batch, "Evaluating: ") for batch in range(9)) + "\n",
    ],
)
def test_other_bars_and_those_that_stop_half_way_are_no_evaluation(between: str) -> None:
    assert _told(_loop(between)) == []


def test_what_comes_with_every_step_is_a_part_of_it() -> None:
    assert _told(_loop(_bars("Evaluating answers: ", 8, 25.0), every=1, steps=20)) == []


def test_the_batches_of_an_evaluation_are_no_steps() -> None:
    text = "".join(
        f"step:{n}/400 train_loss:{3 - n / 300:.4f} train_time:{n * 500}ms\n"
        + (
            "".join(f"eval: batch {k}/40 running_loss:2.{k}\n" for k in (10, 20, 30, 40))
            + f"step:{n}/400 val_loss:2.{n}1 train_time:{n * 500 + 9}ms\n"
            if n % 100 == 0
            else ""
        )
        for n in range(10, 401, 10)
    )
    assert read(text).events["step"].to_list() == [100, 200, 300, 400]
