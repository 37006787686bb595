"""Training bars that begin anew in every epoch are one run, and their times add up."""

from __future__ import annotations

import pytest

from parsers.epochs import Epochs
from parsers.marks import Mark
from tests.parsers.loops import read
from tests.parsers.made_console import bar
from tests.parsers.made_console import clock as clock_of
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


def _collected(epoch: int, seconds: float) -> str:
    """One epoch of a loop that steps once in each, and shows the environment's steps in a bar (Tianshou)."""
    full = f"Epoch #{epoch}: 100%|##########| 512/512 [{clock_of(seconds)}<00:00, {512 / seconds:.2f}it/s"
    post = f", env_step={512 * epoch}, len=4{epoch % 7}, n_ep=12, n_st=512, rew=-{90 - epoch / 9:.2f}, update_step={epoch}]"
    return f"\rEpoch #{epoch}:   0%|          | 0/512 [00:00<?, ?it/s]\r{full}]\r{full}{post}\n"


@pytest.mark.parametrize("shown", ["all", "full", "told"])
def test_bars_of_the_environments_steps_add_up_to_the_run(shown: str) -> None:
    text = "".join(_collected(epoch, 3.3 + epoch % 3 / 2) for epoch in range(1, 61))
    if shown != "all":
        text = "".join(piece + "\n" for piece in text.replace("\n", "\r").split("\r") if "100%" in piece)
    if shown == "told":
        text = "".join(line + "\n" for line in text.split("\n") if "update_step" in line)
    run = read(text)
    timed = clock(run)
    assert run.steps["step"].to_list() == list(range(1, 61))
    assert timed.position == 60
    # where no bar is seen to begin, the first one that falls short of the one before shows that each has its own clock
    unseen = 0 if shown == "all" else 3.8
    assert timed.elapsed_s == pytest.approx(sum(3.3 + epoch % 3 / 2 for epoch in range(1, 61)) - unseen, abs=1)
    assert timed.step_s == pytest.approx(3.8, rel=0.05)
    assert run.info.number("total_steps") is None
    assert set(run.progress["step"].to_list()) <= set(range(61))


def test_a_bar_of_another_count_does_not_plan_the_steps() -> None:
    """The bar counts micro-batches; the step beside it goes on over all epochs."""
    text = "".join(
        bar(n, 40, n * 2.0, f"Epoch {epoch}: ").replace("]", f", step={(epoch - 1) * 10 + n // 4}, loss=0.4{n}5]")
        + "\n"
        for epoch in (1, 2, 3)
        for n in range(4, 41, 4)
    )
    run = read(text)
    assert run.steps["step"].to_list() == list(range(1, 31))
    assert clock(run).elapsed_s == pytest.approx(240, rel=0.02)
    assert run.info.number("total_steps") is None


def test_one_clock_that_goes_on_through_the_bars_of_all_epochs_is_no_sum() -> None:
    """Some loops draw one bar for all epochs, and begin only its count anew."""
    text = "".join(
        bar(n or 40, 40, epoch * 80 + n * 2.0, f"Epoch {epoch}: ").replace("]", f", loss=0.4{n}5, v_num=0]") + "\n"
        for epoch in range(5)
        for n in range(0 if epoch else 5, 41, 5)  # a new count begins with the old one's last state
    )
    run = read(text)
    assert clock(run).elapsed_s == pytest.approx(5 * 80, rel=0.1)
    assert not any("added up" in note.text for note in run.notes)


def test_whole_seconds_of_many_steps_stay_whole() -> None:
    """A full bar's pace sharpens the sum, and never makes the steps within a second look as if they took no time."""
    steps = 450
    text = "".join(
        f"\rTraining: {n * 100 // steps:3d}%|###| {n}/{steps} [00:{n // 9:02d}<00:00, {9.02 - epoch / 99:.2f}it/s, loss=0.{n:03d}]\n"
        for epoch in range(4)
        for n in range(steps + 1)
    )
    timed = clock(read(text))
    assert timed.elapsed_s == pytest.approx(4 * 50, rel=0.02)
    assert timed.step_s == pytest.approx(1 / 9, rel=0.05)
