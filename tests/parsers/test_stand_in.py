"""Loops that print nothing but `Ep 1 (Step 000005): Train loss 9.1, Val loss 9.2`, or how long each epoch took."""

from __future__ import annotations

import pytest

from parsers.base import Sure
from tests.parsers.loops import column, notes, read, sure, total_s
from timeledger.clock import clock


def _stamp(n: int) -> str:
    return f"2025-03-04 2{n // 3600}:{n % 3600 // 60:02d}:{n % 60:02d}.250 | INFO     | __main__:fit:88 - "


def _book(stamped: bool) -> str:
    head = "nohup: ignoring input\n"
    rows = [
        f"{_stamp(n * 4) if stamped else ''}Ep {1 + n // 20} (Step {n * 5:06d}): Train loss {9 - n / 50:.3f}, Val loss {9.5 - n / 60:.3f}\n"
        + (f"{_stamp(n * 4) if stamped else ''}Every road leads, as you see, to the sea,\n" if n % 20 == 19 else "")
        for n in range(60)
    ]
    return head + "".join(rows) + "Training completed in 5.00 minutes.\n"


def test_rows_of_train_and_validation_loss_tell_epoch_loss_and_time() -> None:
    text = _book(stamped=True)
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == [n * 5 for n in range(60)]
    assert column(run, "epoch")[18:22] == [1, 1, 2, 2]
    assert column(run, "loss")[:2] == [9, 8.98]
    assert run.extra["val loss"][0] == 9.5
    assert total_s(run) == pytest.approx(59 * 4, rel=0.01)


def test_without_a_stamp_only_the_end_tells_the_time() -> None:
    run = read(_book(stamped=False))
    found = clock(run)
    assert run.info.train_runtime_s == found.elapsed_s == 300
    assert found.step_s == pytest.approx(300 / 296)
    assert column(run, "elapsed_s") == [None] * 60


_ONLY = "{at}step {n}: train loss {a:.4f}, val loss {b:.4f}\n"


def test_such_lines_alone_are_the_rows() -> None:
    lines = [_ONLY.format(at=f"2025-03-04 10:{n:02d}:00,000 ", n=n * 250, a=4 - n / 9, b=4.1 - n / 9) for n in range(9)]
    text = "batch_size: 12\n" + "".join(lines)
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == [n * 250 for n in range(9)]
    assert column(run, "loss")[0] == 4
    assert run.events.is_empty()
    assert clock(run).source == "timestamps"


def test_between_rows_they_are_evaluations() -> None:
    text = "".join(
        (_ONLY.format(at="", n=n, a=4.0, b=4.2) if n % 10 == 0 else "")
        + f"iter {n}: loss {4 - n / 99:.4f}, time {20 + n % 3}.50ms, mfu 3.10%\n"
        for n in range(41)
    )
    run = read(text)
    assert column(run, "step") == list(range(41))
    assert column(run, "loss")[1] == pytest.approx(4 - 1 / 99, abs=1e-4)
    assert run.events["kind"].to_list() == ["evaluation"] * 5


def test_one_such_line_is_no_loop() -> None:
    text = "".join(f"a line of {n} words\n" for n in range(60)) + "step 3: train loss 1.5, val loss 1.6\n"
    assert sure(text) is Sure.NO


def test_the_settings_and_the_year_stay_known() -> None:
    lines = [
        f"03-04 10:{n:02d}:00 step {n * 50}: train loss {4 - n / 9:.3f}, val loss {4.1 - n / 9:.3f}\n" for n in range(9)
    ]
    run = read("learning_rate: 0.0003\n" + "".join(lines))
    assert run.info.number("learning_rate") == 0.0003
    assert "no year" in notes(run)
    assert not run.info.zone_known


@pytest.mark.parametrize(
    ("said", "took"),
    [
        ("Training complete in 3m 20s", 200),
        ("2025-03-04 10:00:00 INFO Training finished in 0.5 hours.", 1800),
        ("=== Total training time: 0:10:30 ===", 630),
        ("Training took 33.5s", 33.5),
        ("Training completed in 44", None),
        ("Training started in 3 s", None),
        ("Training time: 3.0s\nTraining time: 3.1s", None),
    ],
)
def test_how_long_the_training_took(said: str, took: float | None) -> None:
    rows = "".join(f"step {n} | loss {2 - n / 99:.3f} | reward 0.5\n" for n in range(30))
    assert read(f"{rows}{said}\n").info.train_runtime_s == took


_SCRIPT = """===== script =====
nohup python -u train.py \\
--epochs 12 \\
--games 6 \\
>> logs/run.log 2>&1 &
===== end =====
device: cpu
"""


def _games(epoch: int, closed_by: str) -> str:
    bars = "".join(
        f"\r{n * 100 // 6:3d}%|{'█' * n:<6}| {n}/6 [00:{n * 7:02d}<00:{42 - n * 7:02d}, 7.{n}0s/it]playing against {n}.pt\nthe game is over\n"
        for n in range(1, 7)
    )
    return bars + closed_by


@pytest.mark.parametrize(
    ("head", "closed_by"),
    [
        ("epoch:{epoch}\n", "本轮训练时间:{took:.2f}秒\nlr: 0.0{epoch}5\n"),
        ("--- Epoch {epoch}/40 ---\n", "Train loss: 0.5{epoch}\nEpoch time: {took:.2f}s\n"),
        ("Epoch {epoch}/40\n", "Time taken: {took:.2f} sec\nValidation accuracy is 0.71\n"),
    ],
)
def test_epochs_that_tell_nothing_but_their_time_are_the_rows(head: str, closed_by: str) -> None:
    times = [40 + epoch % 5 * 7 + epoch / 9 for epoch in range(1, 13)]
    text = _SCRIPT + "".join(
        head.format(epoch=epoch) + _games(epoch, closed_by.format(epoch=epoch, took=took))
        for epoch, took in enumerate(times, 1)
    )
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == column(run, "epoch") == list(range(1, 13))
    assert column(run, "step_s") == pytest.approx(times, abs=0.01)
    assert total_s(run) == pytest.approx(sum(times), rel=0.001)
    assert run.info.number("epochs") == run.info.number("total_steps") == (40 if "40" in head else None)


def test_below_an_epochs_head_rows_with_steps_come_first() -> None:
    text = "".join(
        f"Epoch {epoch}/3\n"
        + "".join(f"step {epoch * 9 + n} | loss 0.{n}5 | reward 0.4 | time 2.{n}0s\n" for n in range(9))
        + "Epoch time: 21.0s\n"
        for epoch in range(3)
    )
    assert column(read(text), "step") == list(range(27))


def test_an_epochs_metrics_without_a_time_are_no_rows() -> None:
    text = "".join(f"Epoch {epoch}\nsome words\naccuracy: 0.{epoch}1\n" for epoch in range(1, 60))
    assert sure(text) is Sure.NO
