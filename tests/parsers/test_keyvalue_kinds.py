"""Hand-written loops of unusual make: clocks beside the rows, rows without a number, two counters, countdowns, wholes."""

from __future__ import annotations

import pytest

import parsers
from parsers.base import Sure
from tests.parsers.loops import column, notes, read, sure, total_s
from timeledger.clock import clock

# --- clocks beside the rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stamp", ["[23:{m}:{s:02d}]", "2026-03-04 21:{m}:{s:02d} | INFO |"])
def test_lines_before_rows_without_a_time_tell_it(stamp: str) -> None:
    lines = []
    for n in range(1, 31):
        at = stamp.format(m=50 + n * 7 // 60, s=n * 7 % 60)
        lines.append(f"{at} batch of 8 sent\n{at} optimizer is through\n[train] step={n}/90 loss={3 - n / 99:.4f}\n")
    run = read("".join(lines))
    assert column(run, "elapsed_s")[:3] == [0, 7, 14]
    assert "line before" in notes(run)


def test_lines_beside_rows_that_tell_their_time_do_not() -> None:
    lines = [f"[03:04:{n * 2:02d}] saved\nstep {n} | loss 0.5{n} | time {5 + n % 2}.0s\n" for n in range(1, 20)]
    run = read("".join(lines))
    assert column(run, "elapsed_s") == [None] * 19
    assert column(run, "step_s")[:2] == [6, 5]


def test_a_clock_now_and_then_is_no_clock_of_the_rows() -> None:
    lines = [("[03:04:05] saved\n" if n % 5 == 0 else "") + f"step {n} | loss 0.5{n}\n" for n in range(1, 30)]
    assert column(read("".join(lines)), "elapsed_s") == [None] * 29


# --- rows without a number ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metrics",
    [
        "loss: {a:.4f}",
        "loss: {a:.4f}, aux_loss: 0.0018, total_loss: {a:.4f}, grad_norm: 2{b}.125",
        "rl_loss: {a:.6f}, time: 2.{b}5, l2_norm: 0.14, token_entropy: 0.{b}1",
    ],
)
def test_alike_lines_that_tell_their_time_are_counted(metrics: str) -> None:
    text = "2026-01-02 03:00:00,100 INFO: loading the data\n" + "".join(
        f"2026-01-02 03:{n * 3 // 60:02d}:{n * 3 % 60:02d},250 INFO: {metrics.format(a=3 - n / 99, b=n % 10)}\n"
        for n in range(1, 91)
    )
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == list(range(1, 91))
    assert total_s(run) == pytest.approx(270, rel=0.02)
    assert "counted" in notes(run)


def test_a_result_at_the_end_of_counted_rows_is_no_trainers_log() -> None:
    text = "".join(f"[2026-01-02 03:04:{n % 60:02d},250] INFO: loss: 2.{n}, grad_norm: 1.25\n" for n in range(60))
    text += "[2026-01-02 03:09:00,250] INFO: Eval metrics: {'eval_loss': 1.3, 'eval_runtime': 24.4, 'epoch': 3.0}\n"
    (run,) = parsers.read_all(text.encode(), name="train.log")
    assert (run.info.format, run.steps.height) == ("keyvalue", 60)


def test_lines_of_a_program_that_does_not_train_are_not_counted() -> None:
    text = "".join(f"2026-01-02 03:04:{n:02d} INFO: latency: 1{n}.5, queue: {n}\n" for n in range(1, 50))
    assert sure(text) is Sure.NO


def test_numbered_steps_after_counted_ones_win() -> None:
    text = "".join(f"2026-01-02 03:04:{n:02d} INFO: loss: 2.3{n}\n" for n in range(20))
    text += "".join(f"2026-01-02 03:05:{n:02d} INFO: step {n}/99 | reward 0.5{n} | kl 0.01\n" for n in range(1, 20))
    assert column(read(text), "step") == list(range(1, 20))


def test_epochs_with_a_train_and_a_validation_value_are_rows() -> None:
    text = "".join(
        f"2026-01-02 03:{n:02d}:05,100 - INFO - Epoch {n:03d}: train={3 - n / 99:.4f}, val=2.{n}, ppl=9.{n} "
        f"{'[BEST]' if n % 3 else '(no improve 1/10)'}\n"
        for n in range(1, 40)
    )
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == list(range(1, 40))
    assert clock(run).step_s == pytest.approx(60)


# --- bars and counters -------------------------------------------------------------------------------------------


def test_a_training_bar_with_names_that_mean_nothing() -> None:
    text = "".join(
        f"\rCE Training:  {n}%|###   | {n * 10}/1000 [00:{n // 2:02d}<01:00, 20.0it/s, L=0.{n}, U=9.5%]"
        for n in range(1, 60)
    )
    assert sure(text + "\n") is Sure.MAYBE
    run = read(text + "\n")
    assert (run.progress.height, run.info.number("total_steps")) == (59, 1000)
    assert clock(run).position == 590


def _updates(rate: str = "") -> str:
    lines = []
    for n in range(1, 101):
        passed = 13.0 * n
        left = int(passed * (1_000_000 / 8192 / n - 1))
        left %= 86_400
        lines.append(
            f"[Update {n}/122] Step: {n * 8192}/1000000 | FPS: {8192 * n / passed:.0f} | "
            f"ETA: {left // 3600:02d}:{left // 60 % 60:02d}:{left % 60:02d}\n"
            f" └─ WinRate: 0.{n % 90 + 10} | Loss(P/V/E): -0.00{n % 9}/0.01/0.4\n\n"
        )
    return "".join(lines)


def test_of_two_counters_the_one_that_counts_updates() -> None:
    text = _updates()
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == list(range(1, 101))
    assert run.info.number("total_steps") == 122
    assert column(run, "acc")[0] == 0.11
    assert "\0" not in "".join(run.extra.columns)


def test_the_time_that_is_left_tells_the_time_that_passed() -> None:
    run = read(_updates())
    assert total_s(run) == pytest.approx(1300, rel=0.03)
    assert "ETA" in notes(run)


def test_steps_inside_of_updates_stay_the_steps() -> None:
    run = read("".join(f"Update {n // 4 + 1}/9 Step: {n + 1}/36 | loss 0.5{n} | reward 0.1\n" for n in range(20)))
    assert column(run, "step") == list(range(1, 21))


# --- countdowns --------------------------------------------------------------------------------------------------


def _countdown(pace_s: float, total: int, apart: int, epochs: int = 1) -> str:
    lines = []
    for epoch in range(1, epochs + 1):
        for n in [*range(apart, total + 1, apart)]:
            passed = pace_s * n
            left = int(passed / n * total // 60 - passed // 60)
            lines.append(f"Epoch:[{epoch}/{epochs}]({n}/{total}), loss: 2.{n}, lr: 0.0005, epoch_time: {left}.0min\n")
    return "".join(lines)


def test_a_time_of_the_epoch_that_falls_is_what_is_left_of_it() -> None:
    run = read(_countdown(0.15, 40_000, 20))
    assert column(run, "step_s") == [None] * 2000
    assert total_s(run) == pytest.approx(6000, rel=0.02)
    assert "time that is left" in notes(run)


def test_epochs_that_count_down_are_added_up() -> None:
    assert total_s(read(_countdown(0.15, 40_000, 20, epochs=2))) == pytest.approx(12_000, rel=0.03)


def test_a_coarse_countdown_tells_nothing() -> None:
    run = read(_countdown(0.1, 4000, 20))
    assert column(run, "elapsed_s") == [None] * 200
    assert clock(run).elapsed_s is None
    assert "too coarse" in notes(run)


# --- wholes ------------------------------------------------------------------------------------------------------


def test_a_time_that_holds_the_others_is_the_steps() -> None:
    lines = []
    for n in range(1, 20):
        parts = (120.0 + 13 * n % 50, 37.0 + n % 7, 90.0 + 7 * n % 30)
        lines.append(
            f"Step: {n} | Loss: 0.0{n} | KL: 0.001\n[timing] sample processed in {sum(parts) * 1.03:.2f}s\n\n"
            f"=== PROFILER ===\nSampling:          {parts[0]:.2f}s\nLogprob forward:   {parts[1]:.2f}s\n"
            f"Backward:          {parts[2]:.2f}s\n* Total = 6 rows * 10 minutes/row = 60 minutes\n"
        )
    run = read("".join(lines))
    assert sorted(run.phases["name"].unique()) == ["Backward", "Logprob forward", "Sampling"]
    assert column(run, "step_s")[0] == pytest.approx((133 + 38 + 97) * 1.03)
    assert not any("row" in name for name in run.extra.columns)


def test_two_parts_that_are_as_long_as_a_third_by_chance_stay_parts() -> None:
    rows = [(10.0 + n % 3 * 0.1, 6.1 + n % 2 * 0.2, 3.5 + n % 5 * 0.1) for n in range(20)]
    text = "".join(
        f"step {n} | reward 0.5 | rollout={a:.1f}s update={b:.1f}s reward_time={c:.1f}s\n"
        for n, (a, b, c) in enumerate(rows)
    )
    assert sorted(read(text).phases["name"].unique()) == ["reward_time", "rollout", "update"]


# --- stamps with a comma between date and time, and names of one long word ----------------------------------------


@pytest.mark.parametrize(
    "stamp",
    ["time:2025-03-04, 0{h}:{m:02d}:26, ", "[2025-03-04, 0{h}:{m:02d}:26] ", "2025-03-04, 0{h}:{m:02d}:26 INFO "],
)
@pytest.mark.parametrize("name", ["iters_average_Loss", "iter loss"])
def test_a_stamp_with_a_comma_is_a_moment(stamp: str, name: str) -> None:
    long = "iters_average_logprobability_for_the_Rejected"
    text = stamp.format(h=1, m=50) + "batch_size:2, warmup_steps:2000, max_lr:1e-05\n" + "".join(
        f"{stamp.format(h=2 + n * 6 // 60, m=n * 6 % 60)}iters:{n * 500}, {name}:{2 - n / 99:.4f}, {long}:-1.{n % 9}539\n"
        for n in range(1, 25)
    )  # fmt: skip
    assert sure(text) is Sure.LIKELY
    run = read(text)
    assert column(run, "step") == [n * 500 for n in range(1, 25)]
    assert column(run, "loss")[0] == pytest.approx(2 - 1 / 99, abs=1e-4)
    assert run.extra[long][1] == -1.2539
    assert clock(run).step_s == pytest.approx(360 / 500, rel=0.01)
