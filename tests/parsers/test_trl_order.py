"""TRL consoles: every dict gets its step, whatever the buffering, and its session and run."""

from __future__ import annotations

import pytest

import parsers
from tests.parsers.made_console import Console, Values, bar, grpo, quoted, read, steps, texts

# --- steps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [0, 2000, 8192, 10**7])
@pytest.mark.parametrize("every", [1, 2, 5, 10])
@pytest.mark.parametrize("show", [quoted, str])
def test_dicts_are_numbered_by_order_whatever_the_buffer(buffer: int, every: int, show: object) -> None:
    console = Console(100, every=every, buffer=buffer, show=show).start().train(range(1, 101)).end(100)  # type: ignore[arg-type]
    run = read(console.text)
    assert steps(run) == list(range(every, 101, every))
    assert run.steps["span"].to_list() == [every] * (100 // every)
    assert run.steps["len_mean"].to_list() == pytest.approx(
        [40.5 + step for step in range(every, 101, every)], rel=1e-3
    )
    assert run.info.setting("logging_steps") == every
    assert run.info.setting("total_steps") == 100
    assert run.info.ended == "finished"
    assert run.info.train_runtime_s == 200


@pytest.mark.parametrize("buffer", [0, 8192])
def test_a_killed_run_is_numbered_the_same(buffer: int) -> None:
    run = read(Console(100, buffer=buffer).start().train(range(1, 54)).text)
    assert steps(run) == list(range(1, run.steps.height + 1))
    assert run.steps.height >= 40
    assert run.progress["step"].max() == 53
    assert run.info.ended is None


def test_the_first_step_may_be_logged_too() -> None:
    run = read(Console(80, every=10, first_step=True).start().train(range(1, 81)).end(80).text)
    assert steps(run) == [1, 10, 20, 30, 40, 50, 60, 70, 80]
    assert run.steps["span"].to_list() == [1, 9, 10, 10, 10, 10, 10, 10, 10]


def test_a_single_dict_behind_the_bar_is_placed_at_once() -> None:
    console = Console(500, every=25).start().train(range(1, 26))
    run = read(console.text)
    assert steps(run) == [25]
    assert run.steps["span"].to_list() == [25]


def test_fast_steps_leave_gaps_in_the_bar() -> None:
    console = Console(400, every=4, seconds=0.02).start()
    for step in range(1, 401):
        if step % 5 == 0:
            console._err(bar(step, 400, step * 0.02))
        if step % 4 == 0:
            console.log(grpo(step), step, step * 0.02)
    assert steps(read(console.end(400).text)) == list(range(4, 401, 4))


def test_evaluations_between_logged_steps_do_not_change_the_interval() -> None:
    console = Console(120, every=20).start()
    for step in range(1, 121):
        console.train([step])
        if step % 30 == 0:
            console.evaluate(step, 4, 3.5)
    run = read(console.end(120).text)
    assert steps(run) == [20, 40, 60, 80, 100, 120]
    found = run.events.filter(run.events["kind"] == "evaluation")
    assert found["seconds"].to_list() == [3.5] * 4
    assert found["step"].to_list() == [30, 60, 90, 120]
    assert run.info.setting("total_steps") == 120


def test_redrawn_bars_do_not_make_the_interval_shorter() -> None:
    """A callback that writes through tqdm at every step redraws the bar at every step."""
    console = Console(40, every=4).start()
    for step in range(1, 41):
        console.train([step])
        console.say(f"\nreward function called\n{bar(step, 40, step * 2.0)}")
    assert steps(read(console.text)) == list(range(4, 41, 4))


def test_a_run_resumed_from_a_checkpoint_goes_on_counting() -> None:
    console = Console(100, every=2).start().train(range(41, 101), origin=40).end(60)
    run = read(console.text)
    assert steps(run) == list(range(42, 101, 2))
    assert run.events.filter(run.events["kind"] == "resume")["step"].to_list() == [40]
    assert run.steps["tokens"][0] is None  # the counter's value at the checkpoint is not in this log
    assert run.steps["tokens"][1] == 500


def test_a_resume_appended_to_the_killed_log_is_a_second_segment() -> None:
    killed = Console(100, buffer=8192).start().train(range(1, 54))
    resumed = Console(100, buffer=8192).start().train(range(41, 101), origin=40).end(60)
    run = read(killed.text + "\nLoading weights: 100%|██████████| 27/27 [00:00<00:00, 900.00it/s]\n" + resumed.text)
    assert run.steps["segment"].n_unique() == 2
    second = run.steps.filter(run.steps["segment"] == 1)
    assert second["step"].to_list() == list(range(41, 101))
    assert run.events.filter(run.events["kind"] == "resume")["step"].to_list() == [40]
    assert run.info.ended == "finished"


def test_two_finished_runs_in_one_file_are_two_runs() -> None:
    one = Console(20).start().train(range(1, 21)).end(20).text
    other = Console(30, every=3).start().train(range(1, 31)).end(30).text
    runs = parsers.read_all(
        (one + "\nMap: 100%|███| 5/5 [00:00<00:00, 9.00 examples/s]\n" + other).encode(), name="two.log"
    )
    assert [steps(run) for run in runs] == [list(range(1, 21)), list(range(3, 31, 3))]
    assert [run.info.setting("total_steps") for run in runs] == [20, 30]
    assert [run.name for run in runs] == ["two", "two #2"]
    same = parsers.read_all((one + one).encode())
    assert [steps(run) for run in same] == [list(range(1, 21))] * 2


def test_an_evaluation_before_training_is_not_the_training_bar() -> None:
    before = "".join(bar(batch, 16, batch * 0.5) for batch in range(17)) + "\n{'eval_loss': 0.9, 'eval_runtime': 8.0}\n"
    run = read(before + Console(50).start().train(range(1, 51)).end(50).text)
    assert run.info.setting("total_steps") == 50
    assert run.progress["total"].unique().to_list() == [50]
    assert steps(run) == list(range(1, 51))


@pytest.mark.parametrize("up", ["\x1b[A", "[A"])
@pytest.mark.parametrize("batches", [1, 7, 16])
def test_an_evaluation_before_the_first_step_is_no_progress(up: str, batches: int) -> None:
    """`eval_on_start`: its bar stands below that of the training, whose first step comes behind it."""
    states = "".join("\n" + bar(batch, 16, batch * 2.0) + up for batch in range(batches + 1))
    text = Console(60).start().say(states).text
    early = read(text)
    assert early.info.setting("total_steps") == 60
    assert early.steps.is_empty()
    assert early.progress["step"].to_list() == [0]
    closed = bar(16, 16, 32.0) + "\n{'eval_loss': 0.9, 'eval_runtime': 32.0}\n"
    run = read(text + closed + Console(60).train(range(1, 5)).text)
    assert steps(run) == [1, 2, 3, 4]
    assert run.info.setting("total_steps") == 60
    assert run.progress["total"].unique().to_list() == [60]


def test_an_evaluation_of_as_many_batches_as_steps_neither_ends_nor_restarts_the_run() -> None:
    console = Console(20).start().train(range(1, 6))
    for batch in range(21):
        console.say("\n" + bar(batch, 20, batch * 0.5) + "\x1b[A")
    run = read(console.say(bar(20, 20, 10.0)).train(range(6, 9)).text)
    assert steps(run) == list(range(1, 9))
    assert run.progress["step"].max() == 8
    assert run.events.is_empty()


def test_a_training_inside_a_loop_of_ones_own_is_read_once_its_metrics_come() -> None:
    """A bar over seeds that has not moved stands around the training's."""
    inner = Console(40).start().train(range(1, 9)).text.replace("it]", "it]\x1b[A").replace("it/s]", "it/s]\x1b[A")
    run = read(bar(0, 12, 0.0) + "\n" + inner)
    assert steps(run) == list(range(1, 9))
    assert run.info.setting("total_steps") == 40


def test_an_evaluation_after_training_changes_nothing() -> None:
    done = Console(50).start().train(range(1, 51)).end(50).text
    after = "\nLoading checkpoint shards: 100%|███| 2/2 [00:01<00:00, 1.00it/s]\n"
    after += "".join(bar(batch, 1319, batch * 0.5) for batch in range(0, 1320, 3))
    runs = parsers.read_all((done + after).encode())
    assert len(runs) == 1
    assert runs[0].info.ended == "finished"
    assert runs[0].progress["step"].max() == 50


# --- consoles without a bar --------------------------------------------------------------------------------------


def test_without_a_bar_whole_lengths_tell_a_row_a_step() -> None:
    run = read(Console(60, bars=False).start().train(range(1, 41)).text)
    assert steps(run) == list(range(1, 41))
    assert run.steps["span"].to_list() == [1] * 40


def test_without_a_bar_an_unknown_interval_is_null_and_noted() -> None:
    def mean_row(step: int) -> Values:
        return {**grpo(step), "completions/min_length": 10.4, "completions/max_length": 63.2}

    open_end = Console(60, every=5, bars=False, row=mean_row).start().train(range(1, 41))
    run = read(open_end.text)
    assert run.steps["span"].to_list() == [None] * 8
    assert run.steps["tokens"].null_count() == 8
    assert any("logging interval is not known" in text for text in texts(run))
    run = read(open_end.train(range(41, 61)).end(60).text)
    assert steps(run) == list(range(5, 61, 5))
    assert run.info.setting("total_steps") == 60
    assert run.info.settings["total_steps"].kind == "inferred"


def test_without_a_bar_a_falling_epoch_is_a_new_session() -> None:
    text = Console(60, bars=False).start().train(range(1, 21)).text
    run = read(text + Console(60, bars=False).start().train(range(11, 31)).text)
    assert run.steps["segment"].n_unique() == 2
    assert run.steps.filter(run.steps["segment"] == 1)["step"].to_list() == list(range(11, 31))


def test_dicts_cut_out_of_the_middle_leave_a_gap_not_a_shift() -> None:
    console = Console(400, every=5, seconds=4.0).start().train(range(1, 401)).end(400)
    first, last = console.text.index("'epoch': '0.25'"), console.text.index("'epoch': '0.75'")
    cut = (
        console.text[: console.text.index("\n", first)]
        + "\n[log truncated]\n"
        + console.text[console.text.index("\n", last) :]
    )
    run = read(cut)
    assert steps(run) == [*range(5, 101, 5), *range(305, 401, 5)]
    assert any("missing" in text for text in texts(run))


@pytest.mark.parametrize("head", ["Step {}: ", "2026-01-05 10:00:00 INFO [step={}/60] metrics: ", "[Step {}] "])
def test_a_step_named_before_the_dict_is_the_rows_step(head: str) -> None:
    text = "".join(f"{head.format(step)}{grpo(step)}\n" for step in range(4, 61, 4))
    run = read(text)
    assert steps(run) == list(range(4, 61, 4))
    assert run.steps["span"].to_list() == [4] * 15


def test_a_console_of_bars_alone_still_tells_where_the_run_is() -> None:
    text = (
        bar(0, 200, 0)
        + "\n[transformers] a warning\n"
        + "".join(bar(step, 200, step * 3.0) for step in range(1, 81))
        + "\n"
    )
    run = read(text, "slurm-17.err")
    assert run.info.format == "trl"
    assert not run.has_steps
    assert run.progress["step"].max() == 80
    assert run.info.setting("total_steps") == 200


def sft(step: int) -> Values:
    return {
        "loss": 1.0 + step / 100,
        "grad_norm": 0.5 + step,
        "learning_rate": 1e-5,
        "mean_token_accuracy": 0.7,
        "epoch": step / 300,
    }


@pytest.mark.parametrize("buffer", [0, 3000, 8192, 10**7])
@pytest.mark.parametrize("between", ["\nMap: 100%|███| 5/5 [00:00<00:00, 9.00 examples/s]\n", "\n"])
def test_two_trainings_of_one_process_share_its_buffer(buffer: int, between: str) -> None:
    """Warm-up, then GRPO in one script: the last dicts of the first come while the second's bar moves."""
    first = Console(150, every=5, buffer=buffer, row=sft).start().train(range(1, 151))
    first.log({"train_runtime": 300.0, "train_samples_per_second": 4.0, "train_steps_per_second": 0.5, "train_loss": 1.2, "epoch": 0.5},
              150, 300.0)  # fmt: skip
    second = Console(80, every=2, buffer=buffer, text=first.text + between, _held=first._held)
    text = second.start().train(range(1, 81)).end(80).text
    runs = parsers.read_all(text.encode(), name="both.log")
    assert len(runs) == 2
    assert steps(runs[0]) == list(range(5, 151, 5))
    assert steps(runs[1]) == list(range(2, 81, 2))
    assert runs[0].steps["loss"].to_list() == pytest.approx([1.0 + step / 100 for step in range(5, 151, 5)], rel=1e-3)
    assert runs[1].steps["reward"].null_count() == 0
    assert [run.info.train_runtime_s for run in runs] == [300, 160]
    assert [run.info.ended for run in runs] == ["finished", "finished"]
    assert [run.info.setting("total_steps") for run in runs] == [150, 80]
