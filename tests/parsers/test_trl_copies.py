"""Copies of a trainer's standard output that hold few states of its bar (W&B's output.log), and generation cycles."""

from __future__ import annotations

import pytest

from parsers.base import Origin
from parsers.build import RunBuilder
from parsers.settings import from_config
from parsers.tagrows import TagRows
from tests.parsers.made_console import Console, Values, bar, grpo, quoted, read, steps, texts
from timeledger.run import SettingValue


def mean_row(step: int) -> Values:
    """A row that is a mean over several steps: its shortest and longest answer are no whole numbers."""
    return {**grpo(step), "completions/min_length": 10.4, "completions/max_length": 60.2 + step}


def copy_of(states: str, rows: list[Values], end: str = "") -> str:
    """What is left of a console: a few states of the bar, then the dicts in one burst."""
    return bar(0, 60, 0) + "\n" + states + "\n" + "".join(quoted(row) + "\n" for row in rows) + end


def end(total: int) -> str:
    done = Console(total, bars=False).end(total).text
    return done[done.index("{") :]


def test_a_finished_run_whose_bar_was_seen_only_full() -> None:
    run = read(copy_of(bar(60, 60, 114), [mean_row(step) for step in range(5, 61, 5)], end(60)))
    assert steps(run) == list(range(5, 61, 5))
    assert run.steps["span"].to_list() == [5] * 12
    assert run.info.setting("logging_steps") == 5
    assert any("too few of its states" in text for text in texts(run))


def test_a_killed_run_whose_bar_was_seen_once() -> None:
    run = read(copy_of(bar(20, 60, 29), [grpo(step) for step in range(1, 50)]))
    assert steps(run) == list(range(1, 50))
    assert run.info.setting("total_steps") == 60
    assert run.info.ended is None


def test_a_resumed_run_whose_bar_was_seen_once_begins_where_its_epochs_say() -> None:
    run = read(copy_of(bar(50, 60, 2), [grpo(step) for step in range(31, 61)], end(30)))
    assert steps(run) == list(range(31, 61))


def test_rows_of_an_unknown_interval_are_counted_and_never_pass_the_total() -> None:
    run = read(copy_of(bar(57, 60, 90), [mean_row(step) for step in range(5, 56, 5)]))
    assert steps(run) == list(range(1, 12))
    assert run.steps["span"].null_count() == 11
    assert any("logging interval is not known" in text for text in texts(run))


@pytest.mark.parametrize("first", [1, 31])
def test_a_bar_that_is_drawn_at_every_step_still_says_where_a_session_begins(first: int) -> None:
    run = read(Console(60, buffer=4000).start().train(range(first, 61)).end(60).text)
    assert steps(run) == list(range(first, 61))
    assert not any("too few of its states" in text for text in texts(run))


# --- generation cycles -------------------------------------------------------------------------------------------


def cycle(step: int) -> Values:
    """One generation serves four steps: only its row knows the rollout, and the running total of tokens."""
    row = {**grpo(step), "num_tokens": float(1200 * (step // 4 + 1))}
    rollout = ("num_tokens", "completions/", "reward", "frac_")
    return row if step % 4 == 1 else {key: value for key, value in row.items() if not key.startswith(rollout)}


def test_tokens_of_a_cycle_stand_in_its_generating_row_in_every_reader() -> None:
    console = read(Console(16, row=cycle).start().train(range(1, 17)).end(16).text)
    rows = TagRows(RunBuilder(Origin("events"), "tensorboard"))
    for step in range(1, 17):
        for key, value in cycle(step).items():
            if isinstance(value, float):
                rows.add(step, f"train/{key}", value, None)
    expected = [1200.0 if step % 4 == 1 else None for step in range(1, 17)]
    assert console.steps["tokens"].to_list() == expected
    assert rows.run().steps["tokens"].to_list() == expected


def test_a_lost_row_is_no_cycle() -> None:
    """The total of the row behind a gap grew over two steps."""
    rows = TagRows(RunBuilder(Origin("events"), "tensorboard"))
    for step in (1, 2, 3, 5, 6):
        for key, value in grpo(step).items():
            if isinstance(value, float):
                rows.add(step, f"train/{key}", value, None)
    assert rows.run().steps["tokens"].to_list() == [500.0] * 5


# --- what is no metric row, and defaults that are none -----------------------------------------------------------


def test_deepspeeds_timer_lines_are_no_rows() -> None:
    timers = (
        "[2026-03-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 101.52 | "
        "bwd_microstep: 240.11 | bwd_inner_microstep: 238.90 | bwd_allreduce_microstep: 1.04 | step_microstep: 55.31\n"
    )
    console = Console(6).start()
    for step in range(1, 7):
        console.say(timers).train([step])
    plain = Console(6).start().train(range(1, 7)).text
    run = read(console.text)
    assert run.steps.drop("line").equals(read(plain).steps.drop("line"))
    assert run.phases.is_empty()


@pytest.mark.parametrize(
    ("config", "epochs"),
    [
        ({"max_steps": 60, "num_train_epochs": 3}, None),
        ({"max_steps": "60", "num_train_epochs": "3.0"}, None),
        ({"max_steps": -1, "num_train_epochs": 2}, 2),
        ({"total_episodes": 480, "num_train_epochs": 3.0}, None),
        ({"total_episodes": None, "num_train_epochs": 3.0}, 3.0),
    ],
)
def test_epochs_that_the_steps_override_are_not_told(config: dict[str, SettingValue], epochs: float | None) -> None:
    build = RunBuilder(Origin("run"), "tensorboard")
    from_config(build, {"per_device_train_batch_size": 8, **config}, "test")
    told = build.settings.get("epochs")
    assert (None if told is None else told.value) == epochs


def test_the_endless_epochs_of_a_streamed_data_set_are_not_told() -> None:
    banner = "  Num Epochs = 9,223,372,036,854,775,807\n  Total optimization steps = 60\n"
    run = read(banner + Console(60).start().train(range(1, 9)).text)
    assert "epochs" not in run.info.settings
    assert run.info.setting("total_steps") == 60


def test_an_end_that_is_printed_twice_is_one_end() -> None:
    console = Console(20).start().train(range(1, 21)).end(20)
    again = "{'train_runtime': 40.0021, 'train_samples_per_second': 8.01, 'train_steps_per_second': 0.5, 'train_loss': 0.1}\n"
    run = read(console.text + again)
    assert run.events.filter(run.events["kind"] == "finish").height == 1
