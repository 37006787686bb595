"""DeepSpeed's own lines: a log of stamped steps by themselves, and no disturbance inside other logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import parsers
from tests.parsers.made_frameworks import deepspeed, deepspeed_line
from timeledger.clock import clock
from timeledger.run import Run

BEGIN = datetime(2024, 4, 10, 12, 0, tzinfo=UTC)


def read(text: str) -> Run:
    return parsers.read(text.encode(), name="train.log")


def test_stamped_steps_are_rows_with_learning_rate_and_memory() -> None:
    run = read(deepspeed(12))
    assert run.info.format == "deepspeed"
    assert run.steps["step"].to_list() == list(range(10, 121, 10))
    assert run.steps["lr"].to_list() == [9.65e-06] * 12
    assert run.steps["mem_gib"].to_list() == [11.5] * 12
    assert run.steps["at"][1] - run.steps["at"][0] == timedelta(seconds=25)
    assert not run.info.zone_known
    timed = clock(run)
    assert (timed.source, timed.position) == ("timestamps", 120)
    assert timed.step_s == pytest.approx(2.5)


def test_the_older_timer_line_and_a_rate_that_is_no_number() -> None:
    text = "".join(
        deepspeed_line(step, BEGIN + timedelta(seconds=step), 0.0).replace("epoch=0/micro_step=0/global_step=", "0/")
        for step in (10, 20, 30)
    ).replace("CurrSamplesPerSec=8.0", "CurrSamplesPerSec=nan")
    run = read(text)
    assert run.steps["step"].to_list() == [10, 20, 30]
    assert run.steps["at"].null_count() == 0


def test_deepspeed_chat_tells_the_plan() -> None:
    run = read("Beginning of Epoch 1/2, Total Micro Batches 400\n" + deepspeed(5, accumulated=4))
    assert run.info.setting("total_steps") == 200
    assert run.info.setting("epochs") == 2


def test_a_second_engine_of_the_process_is_no_restart_and_a_new_process_is_one() -> None:
    lines = deepspeed(3).splitlines(keepends=True)
    behind = deepspeed_line(20, BEGIN + timedelta(seconds=200), 4.0)
    run = read("".join(lines) + behind + deepspeed_line(40, BEGIN + timedelta(seconds=300), 4.0))
    assert run.steps["segment"].n_unique() == 1
    assert any("second DeepSpeed engine" in note.text for note in run.notes)
    again = read(deepspeed(3) + deepspeed(2, begin=BEGIN + timedelta(hours=1)))
    assert again.steps["segment"].to_list() == [0, 0, 0, 1, 1]


def _loop(every: int = 10, steps: int = 40) -> str:
    """A loop that prints a line a step, and DeepSpeed its own between them."""
    text = ""
    for step in range(1, steps + 1):
        text += f"Epoch: 0, Step: {step}, Rank: 0, loss = {2 - step / 100}\n"
        if step % every == 0:
            text += deepspeed_line(step // 2, BEGIN + timedelta(seconds=3 * step), 4.0)
    return text


def test_inside_a_hand_written_log_they_date_its_rows_and_add_none() -> None:
    run = read(_loop())
    assert run.info.format == "keyvalue"
    assert run.steps["step"].to_list() == list(range(1, 41))
    assert run.steps["at"].drop_nulls().len() == 4
    assert run.steps["mem_gib"].null_count() == 40
    timed = clock(run)
    assert timed.source == "timestamps"
    assert timed.step_s == pytest.approx(3.0, rel=0.05)


def test_a_loop_with_times_of_its_own_keeps_them() -> None:
    text = _loop().replace("loss =", "time = 1.5s, loss =")
    run = read(text)
    assert run.steps["at"].null_count() == 40
    assert clock(run).source == "step times"
