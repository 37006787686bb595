"""Training bars that begin anew in every epoch are one run, and their times add up."""

from __future__ import annotations

import pytest

from parsers.epochs import Epochs
from parsers.marks import Mark
from tests.parsers.loops import read
from tests.parsers.made_console import bar
from timeledger.clock import clock

STEPS = 12


def _epoch(desc: str, post: str = "", seconds: float = 3.0, steps: int = STEPS) -> str:
    return "".join(
        bar(step, STEPS, seconds * step, desc).replace("]", f"{post.format(step=step)}]") + "\n"
        for step in range(steps + 1)
    )


def _log(epochs: int, head: str = "", desc: str = "training: ", post: str = "", between: str = "") -> str:
    return "".join(
        head.format(epoch=epoch) + _epoch(desc.format(epoch=epoch), post) + between.format(epoch=epoch)
        for epoch in range(1, epochs + 1)
    )


@pytest.mark.parametrize("desc", ["training: ", "Training epoch: "])
def test_bars_alone_without_any_number_of_epochs(desc: str) -> None:
    run = read(_log(6, desc=desc, between="0.53\n\n"))
    timed = clock(run)
    assert timed.position == 6 * STEPS
    assert timed.elapsed_s == pytest.approx(6 * 3 * STEPS, rel=0.02)
    assert run.info.number("total_steps") is None


def test_the_bars_of_evaluations_between_count_as_time_that_went_by() -> None:
    validation = "".join(bar(batch, 5, 2.0 * batch, "validating: ") + "\n" for batch in range(6))
    timed = clock(read(_log(6, between=validation)))
    assert timed.elapsed_s == pytest.approx(6 * 36 + 5 * 10, rel=0.02)


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_the_first_epochs_are_counted_as_all_are(epochs: int) -> None:
    timed = clock(read(_log(epochs)))
    assert timed.position == epochs * STEPS
    assert timed.elapsed_s == pytest.approx(epochs * 36, rel=0.03)


def test_an_epoch_named_in_front_of_its_bar_tells_the_plan_from_the_first_one_on() -> None:
    post, head = ", loss=0.5{step}", "--- Epoch {epoch}/10 ---\n"
    for epochs in (1, 2, 5):
        run = read(_log(epochs, head, "Training: ", post))
        assert run.info.number("total_steps") == 10 * STEPS
        assert clock(run).elapsed_s == pytest.approx(epochs * 36, rel=0.03)
        assert clock(run).position == epochs * STEPS


def test_a_summary_of_the_epoch_makes_the_bars_behind_it_no_strangers() -> None:
    between = "Epoch {epoch}/8 - Train Loss: 0.5{epoch} - Train Accuracy: 0.31 - Val Loss: 0.27 - Val Accuracy: 0.61\n"
    run = read(_log(4, desc="Epoch {epoch}/8: ", between=between))
    timed = clock(run)
    assert timed.position == 4 * STEPS
    assert run.steps.height >= 4 * STEPS
    assert timed.elapsed_s == pytest.approx(4 * 36, rel=0.03)
    assert timed.step_s == pytest.approx(3.0, rel=0.05)
    assert run.info.number("total_steps") == 8 * STEPS


def test_a_bar_that_begins_anew_before_it_was_full_is_a_restart() -> None:
    post = ", loss=0.5{step}"
    run = read(_epoch("Training: ", post, steps=7) + "Traceback\n" + _epoch("Training: ", post, seconds=4.0))
    assert run.steps["segment"].n_unique() == 2
    assert run.steps["step"].max() == STEPS


def test_rows_with_marks_of_their_own_are_not_moved_by_bars() -> None:
    epochs = Epochs()
    for epoch in (1, 2):
        for step in range(1, STEPS + 1):
            epochs.bar(step, STEPS)
            assert epochs.step(Mark(step, STEPS, 0, "step", (epoch, 3), True)) == (epoch - 1) * STEPS + step
    assert epochs.whole(2 * STEPS, 2 * STEPS) == 3 * STEPS


def test_two_bars_of_different_totals_do_not_disturb_each_other() -> None:
    epochs = Epochs()
    seen = []
    for outer in range(1, 4):
        seen += [epochs.bar(step, STEPS) for step in range(STEPS + 1)]
        epochs.bar(outer, 3)
    assert seen == [offset * STEPS + step for offset in range(3) for step in range(STEPS + 1)]
