"""Consoles without a bar: the plan of the banner and the epochs of the dicts give the steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from parsers.trl_plan import Plan, interval_by_epochs
from tests.parsers.made_console import Console, Values, quoted, read, steps, texts
from timeledger.clock import clock

BEGIN = datetime(2025, 3, 2, 8, 0, tzinfo=UTC)


def banner(examples: int, epochs: int, batch: int, planned: int) -> str:
    """What transformers' trainer logs before training, as LLaMA-Factory shows it."""
    told = {
        "Num examples": examples, "Num Epochs": epochs, "Instantaneous batch size per device": 1,
        "Total train batch size (w. parallel, distributed & accumulation)": batch, "Total optimization steps": planned,
    }  # fmt: skip
    return "".join(f"[INFO|{BEGIN:%Y-%m-%d %H:%M:%S}] trainer.py:2314 >>   {key} = {told[key]:,}\n\n" for key in told)


def logged(rows: int, every: int, an_epoch: float, seconds: float = 20.0, *, first_step: bool = False) -> str:
    """One dict a logged step through a logger, nothing else."""
    done = ([1] if first_step else []) + [every * row for row in range(1, rows + 1)]
    return "".join(
        f"[INFO|{BEGIN + timedelta(seconds=seconds * step):%Y-%m-%d %H:%M:%S}] logging.py:157 >> "
        f"{{'loss': {2 - step / 1000:.4f}, 'learning_rate': 5.0000e-06, 'epoch': {step / an_epoch:.2f}}}\n\n"
        for step in done
    )


@pytest.mark.parametrize("every", [1, 5, 10])
@pytest.mark.parametrize("rows", [1, 2, 9, 240])
def test_dicts_without_a_bar_stand_for_as_many_steps_as_their_epochs_say(every: int, rows: int) -> None:
    run = read(banner(3000, 100, 128, 2300) + logged(rows, every, 3000 / 128))
    assert steps(run) == [every * row for row in range(1, rows + 1)]
    assert run.info.setting("total_steps") == 2300
    assert run.info.setting("logging_steps") == every
    if rows >= 9:
        assert clock(run).step_s == pytest.approx(20.0, rel=0.02)


def test_the_first_step_may_be_logged_too() -> None:
    run = read(banner(6400, 20, 64, 2000) + logged(12, 10, 100, first_step=True))
    assert steps(run) == [1, *range(10, 121, 10)]


def test_a_run_that_goes_on_from_a_checkpoint_counts_on() -> None:
    late = logged(40, 5, 100).split("\n\n")[20:]
    run = read(banner(6400, 20, 64, 2000) + "\n\n".join(late))
    assert steps(run) == list(range(105, 201, 5))


def test_an_evaluations_examples_are_not_the_trainings() -> None:
    evaluation = "[INFO|2025-03-02 08:30:00] trainer.py:4119 >>   Num examples = 77\n\n"
    run = read(evaluation + banner(6400, 20, 64, 2000) + logged(6, 5, 100) + evaluation)
    assert steps(run) == list(range(5, 31, 5))


def test_the_plan_of_a_second_training_does_not_renumber_the_first() -> None:
    first, second = banner(3000, 100, 128, 2300) + logged(6, 5, 3000 / 128), banner(6400, 10, 64, 1000)
    run = read(first + second + logged(8, 10, 100))
    assert steps(run) == [*range(5, 31, 5), *range(10, 81, 10)]
    assert run.steps["segment"].to_list() == [0] * 6 + [1] * 8


def test_evaluations_alone_are_placed_by_the_bar() -> None:
    console = _evaluated(Console(600, every=1000, row=_rare).start(), 220)
    run = read(console.text)
    assert run.steps.height == 0
    assert run.progress["step"].max() == 220
    assert run.events.filter(run.events["kind"] == "evaluation")["step"].to_list() == [50, 100, 150, 200]


def test_checkpoints_tell_the_interval_where_no_plan_is_printed() -> None:
    lines = [
        f"[INFO] {{'loss': 0.5{row}, 'grad_norm': 1.0, 'learning_rate': 1e-06, 'epoch': {0.1 * row + 0.1:.2f}}}\n"
        for row in range(40)
    ]
    for saved in (3, 2, 1):
        lines.insert(10 * saved, f"[INFO] Saving model checkpoint to out/checkpoint-{200 * saved}\n")
    run = read("".join(lines))
    assert steps(run) == list(range(20, 801, 20))


def test_rows_that_cannot_be_told_in_steps_are_not_held_against_planned_ones() -> None:
    rows = "".join(
        f"{{'loss': 0.5{row}, 'grad_norm': 1.0, 'learning_rate': 1e-06, 'num_tokens': {row}}}\n" for row in range(20)
    )
    run = read(banner(6400, 20, 64, 2000) + rows)
    assert steps(run) == list(range(1, 21))
    assert run.info.setting("total_steps") is None
    assert any("planned steps are left out" in text for text in texts(run))


@pytest.mark.parametrize(
    ("plan", "low", "high"),
    [
        (Plan(2182, 1000, 128, 17_000), 16.0, 18.1),  # the batches of an epoch, as examples and batch say
        (Plan(512, 2, 64, 250), 118.0, 132.0),  # eight answers a prompt: more steps than examples over batch
        (Plan(None, 3, None, 300), 99.0, 101.0),
        (Plan(10_000, 1, 8, 60), 1249.0, 1251.0),  # max_steps ends the run in its first epoch
    ],
)
def test_steps_of_an_epoch(plan: Plan, low: float, high: float) -> None:
    told = plan.steps_an_epoch(None)
    assert told is not None
    assert low <= told[0] <= told[1] <= high


def test_no_epochs_and_falling_epochs_tell_nothing() -> None:
    assert Plan(100, None, 10, 10).steps_an_epoch(None) is None
    assert interval_by_epochs([], (100, 101)) is None
    assert interval_by_epochs([0.5, 0.4], (100, 101)) is None
    assert interval_by_epochs([0.0, 0.0, 0.0], (100, 101)) is None


# --- evaluations more often than dicts ---------------------------------------------------------------------------


def _rare(step: int) -> Values:
    return {"loss": 2.0 - step / 1000, "grad_norm": 1.5, "learning_rate": 1e-5, "epoch": step / 50}


def _evaluated(console: Console, until: int) -> Console:
    """Steps up to `until`, an evaluation of 40 s every 50 of them, whose dict leaves the buffer with the next."""
    for step in range(1, until + 1):
        console.train([step])
        if step % 50 == 0:
            values: Values = {"eval_loss": 0.5, "eval_runtime": 40.0, "epoch": step / 50}
            console.log(values, step, 2.0 * step)
    return console


@pytest.mark.parametrize("until", [130, 220, 330, 500])
@pytest.mark.parametrize("buffer", [0, 120])
def test_marks_of_evaluations_are_not_taken_for_those_of_dicts(until: int, buffer: int) -> None:
    console = Console(600, every=100, buffer=buffer, row=_rare, show=quoted).start()
    run = read(_evaluated(console, until).text)
    assert steps(run) == list(range(100, 100 * run.steps.height + 1, 100))
    assert run.steps.height >= until // 100 - 1
    events = run.events.filter(run.events["kind"] == "evaluation")
    assert events["step"].to_list() == list(range(50, 50 * events.height + 1, 50))


# --- what is left ---------------------------------------------------------------------------------------------------


def test_a_countdown_in_the_dicts_is_the_clock_where_there_is_no_other() -> None:
    rows = "".join(
        f"{{'loss': 0.5, 'grad_norm': 1.0, 'remaining_hr': {(200 - step) * 30 / 3600:.3f}, 'epoch': {step / 20:.2f}}}\n"
        for step in range(1, 201)
    )
    end = "{'train_runtime': 6000.0, 'train_samples_per_second': 4.0, 'train_steps_per_second': 0.033, 'train_loss': 0.5}\n"
    timed = clock(read(rows + end))
    assert timed.source == "elapsed column"
    assert timed.elapsed_s == pytest.approx(6000, rel=0.02)
    assert timed.step_s == pytest.approx(30, rel=0.03)
