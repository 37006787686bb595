"""Times of hand-written loops that only their behaviour tells apart: running totals, running means, samples of one step."""

from __future__ import annotations

import polars as pl
import pytest

from tests.parsers.loops import column, notes, read, total_s
from timeledger.run import Run

# --- running totals and running means ----------------------------------------------------------------------------


def _summed(steps: range, pace_ms: float, first_ms: float) -> str:
    """A loop that prints the time of the training so far, and that time over the steps."""
    lines = []
    for n in steps:
        so_far = first_ms + pace_ms * n
        lines.append(
            f"step:{n}/900 train_loss:{3 - n / 999:.4f} train_time:{so_far:.0f}ms step_avg:{so_far / n:.2f}ms\n"
        )
    return "".join(lines)


@pytest.mark.parametrize("apart", [1, 50])
def test_the_time_of_the_training_so_far_is_the_clock_and_its_mean_no_step_time(apart: int) -> None:
    run = read(_summed(range(apart, 20 * apart + 1, apart), 40.0, 3000.0))
    assert column(run, "step_s") == [None] * 20
    assert column(run, "elapsed_s")[-1] == pytest.approx(3.0 + 0.04 * 20 * apart)
    assert run.phases.is_empty()
    assert total_s(run) == pytest.approx(3.0 + 0.04 * 20 * apart, rel=0.02)
    assert "only rises" in notes(run)
    assert "mean over all steps" in notes(run)


def test_a_last_line_that_tells_the_whole_time_under_a_longer_name() -> None:
    text = _summed(range(50, 801, 50), 40.0, 3000.0)
    text += "step:810/900 val_loss:1.91 train_time:35400ms step_avg:43.70ms\n"
    run = read(text + "stopping: time_limit train_time:35400ms step:810/900\n")
    assert column(run, "elapsed_s")[-1] == 35.4
    assert run.phases.is_empty()
    assert total_s(run) == pytest.approx(35.4, rel=0.02)


def test_a_clock_under_one_letter_with_another_name_at_the_end() -> None:
    text = "".join(f"step:{n}/900 loss:2.5{n % 10} t:{39 * n}ms step_avg:39.0ms\n" for n in range(100, 801, 100))
    run = read(text + "step:900/900 loss:2.1 train_time:35200ms\n")
    assert set(column(run, "step_s")) <= {None, 0.039}
    assert total_s(run) == pytest.approx(35.2, rel=0.02)


def test_a_part_whose_time_adds_up_is_read_by_what_it_rose() -> None:
    text = "".join(
        f"step {n} | reward 0.5 | gen_time_total {6.0 * n + n % 3 * 0.1:.1f}s | time {9 + n % 2}.0s\n"
        for n in range(1, 15)
    )
    run = read(text)
    assert run.phases["phase"].unique().to_list() == ["rollout"]
    assert run.phases["seconds"].median() == pytest.approx(6.1, abs=0.11)
    assert column(run, "step_s")[:2] == [10, 9]


def test_a_part_under_the_name_of_a_metric_is_judged_by_its_own_time() -> None:
    """The rewards rise from step to step, the time that it takes to find them does not."""
    text = "".join(
        f"step {n} | loss 0.5 | mean_reward {0.05 * n:.2f} | reward 3.2s | rollout 9.5s | time 20.0s\n"
        for n in range(1, 13)
    )
    run = read(text)
    assert run.phases.filter(pl.col("name") == "reward")["seconds"].to_list() == [3.2] * 12
    assert column(run, "reward")[-1] == pytest.approx(0.6)
    assert "only rises" not in notes(run)


def test_a_part_that_grows_with_the_answers_does_not_add_up() -> None:
    text = "".join(f"step {n} | reward 0.5 | gen_time {20 + n:.1f}s | time {30 + n}.0s\n" for n in range(1, 15))
    assert read(text).phases["seconds"].to_list() == [20 + n for n in range(1, 15)]


def test_a_mean_step_time_of_each_row_is_no_running_mean() -> None:
    """At an even pace both are the same number; what the clock says of each row decides."""
    pace = [2.0, 2.6, 2.1, 2.9, 2.2, 2.4, 2.8, 2.0, 2.5, 2.3]
    lines = [
        f"step {10 * n} | loss 0.5 | elapsed {sum(pace[:n]) * 10:.1f}s | step_avg {pace[n - 1]:.2f}s\n"
        for n in range(1, 11)
    ]
    assert column(read("".join(lines)), "step_s") == pace


def test_step_times_beside_a_coarse_clock_are_no_running_mean() -> None:
    """The clock leaves out the first ten steps and counts in hundredths of a minute."""
    lines, passed = [], 0.0
    for n in range(400):
        dt = 0.46 + n % 5 * 0.01
        passed += dt if n > 10 else 0.0
        lines.append(f"step {n:05d}/900 | loss: 9.{n} | dt: {dt * 1000:.2f}ms | total time: {passed / 60:.2f}m\n")
    assert column(read("".join(lines)), "step_s") == pytest.approx([0.46 + n % 5 * 0.01 for n in range(400)])


# --- one step's time in rows several steps apart -----------------------------------------------------------------


def _sampled(key: str, evaluation: str = "") -> str:
    lines = []
    for n in range(0, 2001, 10):
        long = n % 250 == 0
        lines += [evaluation.format(n=n)] if long and evaluation else []
        lines.append(f"iter {n}: loss {3 - n / 999:.4f}, {key} {8000 if long else 50 + n % 7}.00ms, mfu 7.10%\n")
    return "".join(lines)


def _true_s() -> float:
    return sum((8.0 if n % 250 == 0 else (50 + n % 10) / 1000) for n in range(2001))


@pytest.mark.parametrize("evaluation", ["", "step {n}: train loss 2.85, val loss 2.99\n"])
def test_an_evaluation_inside_the_step_that_is_shown_is_counted_once(evaluation: str) -> None:
    run = read(_sampled("time", evaluation))
    assert total_s(run) == pytest.approx(_true_s(), rel=0.05)
    assert "10 steps apart" in notes(run)


def test_a_mean_over_the_steps_of_the_row_is_a_mean() -> None:
    run = read(_sampled("avg_iter_time"))
    assert column(run, "step_s")[25] == 8.0
    assert total_s(run) > 4 * _true_s()


def test_long_steps_here_and_there_are_samples_like_the_others() -> None:
    """Every seventh row twice as long: the steps between were no shorter."""
    lines = [f"iter {5 * n}: loss 0.5, time {90.0 if (n * n) % 7 == 1 else 40.0:.1f}s\n" for n in range(1, 60)]
    assert sorted(set(column(read("".join(lines)), "step_s"))) == [40.0, 90.0]  # type: ignore[type-var]


def test_the_clock_of_the_rows_tells_whether_the_long_step_was_alone() -> None:
    def rows(alone: bool) -> Run:
        lines, clock_s = [], 0.0
        for n in range(10, 810, 10):
            long = n % 200 == 0
            clock_s += 20.0 + ((30.0 if alone else 300.0) if long else 0.0)
            lines.append(f"step {n} | loss 0.5 | elapsed {clock_s:.0f}s | step_time {32.0 if long else 2.0:.1f}s\n")
        return read("".join(lines))

    assert column(rows(True), "step_s")[19] == pytest.approx(5.0)
    assert column(rows(False), "step_s")[19] == 32.0
