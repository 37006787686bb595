"""Where one hand-written run ends and another begins: each has its own plan, start-up, time and end."""

from __future__ import annotations

import pytest

from parsers.base import Origin
from parsers.endings import says_over
from parsers.keyvalue import KEYVALUE
from tests.parsers.alike import same_in_pieces
from tests.parsers.loops import column, read, total_s
from timeledger.run import Run


def several(text: str) -> tuple[Run, ...]:
    reader = KEYVALUE.open(Origin("train.log"))
    reader.feed(text.encode())
    return reader.runs()


def steps(first: int, last: int, of: int | None = None, loss: float = 3.0) -> str:
    total = f"/{of:04d}" if of else ""
    return "".join(f"step {n:04d}{total} | loss: {loss - n / 1000:.4f} | dt: 500.0ms\n" for n in range(first, last + 1))


def dated(begin: int, rows: int, each_s: int = 5) -> str:
    """Rows of a logger from this second of a day on."""
    told = ((begin + each_s * (n + 1), 100 * (n + 1)) for n in range(rows))
    return "".join(
        f"2026-03-04 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}.250 | INFO | loop:train:88 - Step {step}, Loss: 2.5\n"
        for at, step in told
    )


START_UP = "".join(f"loading shard {n} of the corpus\n" for n in range(30))


# --- another run -------------------------------------------------------------------------------------------------


def test_a_script_started_again_after_its_end_is_another_run() -> None:
    text = (
        dated(36_000, 40)
        + "2026-03-04 10:03:21.000 | INFO | loop:train:99 - Epoch 5 completed. Average loss: 0.4\n"
        + "2026-03-04 10:03:21.100 | INFO | loop:train:99 - Training completed!\n"
        + "2026-03-04 12:00:00.000 | INFO | loop:train:11 - Using device: cpu\n"
        + dated(43_210, 30)
    )
    first, second = several(text)
    assert (first.steps.height, second.steps.height) == (40, 30)
    assert (first.name, second.name) == ("train", "train #2")
    assert (first.info.ended, second.info.ended) == ("finished", None)
    assert total_s(first) == pytest.approx(200, abs=6)
    assert total_s(second) == pytest.approx(150, abs=6)
    assert same_in_pieces(KEYVALUE, text.encode().splitlines(keepends=True))


def test_a_plan_is_of_its_own_run() -> None:
    """A pipeline: pretraining with a plan, then fine-tuning that names none, then a third with another plan."""
    text = (
        steps(0, 19, of=20)
        + "Step 0020 | Validation bpb: 3.1\nTotal training time: 0.17m\nMinimum validation bpb: 3.1\n"
        + START_UP
        + "Step 0000 | Validation bpb: 2.2\n"
        + steps(1, 49)
        + "Total training time: 0.41m\n"
        + START_UP
        + steps(0, 6, of=90)
    )
    runs = several(text)
    assert [run.steps.height for run in runs] == [20, 49, 7]
    assert [run.info.number("total_steps") for run in runs] == [20, None, 90]
    assert [run.info.ended for run in runs] == ["finished", "finished", None]
    assert [run.info.train_runtime_s for run in runs] == pytest.approx([10.2, 24.6, None])
    assert [run.events.filter(run.events["kind"] == "restart").height for run in runs] == [0, 0, 0]
    assert runs[0].events["step"].to_list() == [20], "the next run's evaluation is none of this one"


def test_each_run_has_the_settings_of_its_own_start_up() -> None:
    text = (
        "group_size: 8\n"
        + steps(1, 12)
        + "Training complete\ngroup_size: 4\nlearning_rate: 1e-6\n"
        + steps(1, 9, loss=2.5)
    )
    first, second = several(text)
    assert (first.info.number("group_size"), second.info.number("group_size")) == (8, 4)
    assert (first.info.number("learning_rate"), second.info.number("learning_rate")) == (None, 1e-6)


def test_a_full_plan_and_another_one_behind_a_start_up_need_no_word() -> None:
    first, second = several(steps(1, 20, of=20) + START_UP + steps(1, 9, of=50, loss=2.5))
    assert (first.info.number("total_steps"), second.info.number("total_steps")) == (20, 50)
    assert (first.steps.height, second.steps.height) == (20, 9)


def test_other_metrics_behind_the_end_are_another_run_too() -> None:
    text = steps(1, 20, of=20) + "Finished training.\n"
    text += "".join(f"step {n}/8 | reward 0.5 | kl 0.01 | response_length 88.0 | 12.5s\n" for n in range(1, 9))
    first, second = several(text)
    assert column(second, "reward") == [0.5] * 8
    assert first.steps.height == 20


# --- the same run ------------------------------------------------------------------------------------------------


def test_a_run_that_begins_again_before_its_end_is_the_same_run() -> None:
    run = read(steps(1, 14, of=20) + START_UP + steps(1, 20, of=20, loss=2.5))
    assert run.steps["segment"].unique().to_list() == [0, 1]


def test_a_resumed_run_goes_on_and_is_not_finished() -> None:
    run = read(steps(1, 20) + "Training complete\n" + START_UP + steps(15, 30))
    assert run.info.ended is None
    assert run.steps["step"].max() == 30


def test_the_plan_is_that_of_the_session_that_names_it() -> None:
    assert read(steps(1, 14, of=20) + steps(5, 9, loss=2.5)).info.number("total_steps") is None
    assert read(steps(1, 14, of=90) + steps(5, 9, of=40, loss=2.5)).info.number("total_steps") == 40


def test_epochs_that_each_say_they_are_done_are_one_run() -> None:
    text = "".join(f"Epoch {epoch}/3\n" + steps(1, 10) + "Training finished\nvalidating\n" for epoch in (1, 2, 3))
    run = read(text)
    assert run.steps["step"].to_list() == list(range(1, 31))
    assert run.info.ended == "finished"


def test_counters_that_begin_anew_without_a_word_are_one_run() -> None:
    assert len(several("".join(steps(1, 10, of=10, loss=loss) for loss in (3.0, 2.5, 2.0)))) == 1


def test_a_second_head_of_the_first_step_opens_its_block_again() -> None:
    """`🔄 Iteration 1/9` where it begins, `📊 Iteration 1 metrics:` where it ends, other programs' lines between."""
    block = (
        "2026-03-04 10:00:{at:02d},100 - app.loop - INFO - 🔄 Iteration {n}/9\n"
        "2026-03-04 10:00:{at:02d},400 - app.images - ERROR - ❌ generation failed: no device\n"
        "2026-03-04 10:00:{at:02d},600 - app.loop - INFO - 📊 Iteration {n} metrics:\n"
        "2026-03-04 10:00:{at:02d},600 - app.loop - INFO -   - Policy Loss: 0.25\n"
        "2026-03-04 10:00:{at:02d},600 - app.loop - INFO -   - Average Reward: 0.5\n"
        "2026-03-04 10:00:{at:02d},600 - app.loop - INFO -   - Iteration Time: 3.94s\n"
    )
    run = read("".join(block.format(n=n, at=5 * n) for n in range(1, 6)))
    assert column(run, "loss") == [0.25] * 5
    assert column(run, "step_s") == [3.94] * 5
    assert run.info.number("total_steps") == 9


# --- what is said of the whole -----------------------------------------------------------------------------------

SUMMARY = "---\nval_bpb:          1.21\ntraining_seconds: 30.1\ntotal_seconds:    41.8\npeak_vram_mb:     602.2\nnum_steps:        60\n"


def test_a_summary_behind_the_last_row_is_no_step() -> None:
    run = read(steps(0, 59) + SUMMARY)
    assert total_s(run) == pytest.approx(30.0, rel=0.01)
    assert run.phases.is_empty()
    assert column(run, "step_s") == pytest.approx([0.5] * 60)
    assert (run.info.ended, run.info.train_runtime_s) == ("finished", 30.1)


def test_a_summary_ends_one_of_several_runs() -> None:
    text = steps(0, 59) + SUMMARY + "Vocab size: 8192\n" + steps(0, 39) + SUMMARY
    assert [run.steps.height for run in several(text)] == [60, 40]
    assert [total_s(run) for run in several(text)] == pytest.approx([30.0, 20.0], rel=0.6)


def test_a_time_of_training_below_every_step_is_a_part_of_it() -> None:
    told = [4.0, 3.0, 5.0, 4.5, 3.5, 6.0, 4.0]
    lines = (f"step {n}/9 | loss: 0.5 | time: 9.0s\ntraining_seconds: {took}\n" for n, took in enumerate(told, 1))
    run = read("".join(lines))
    assert run.phases["seconds"].to_list() == told
    assert run.info.ended is None


def test_the_time_of_another_training_long_before_the_first_row_is_not_its() -> None:
    """A tokenizer was trained first."""
    run = read("Training time: 38.28s\n" + START_UP + steps(0, 19))
    assert run.phases.is_empty()
    assert total_s(run) == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "Training completed!", "✅ Training complete.", "2026-01-02 03:04:05 - INFO - Training finished", "Finished Training",
        "=== GRPO training done ===", "Total training time: 12.34m", "训练完成！模型已保存", "Training has finished in 5 min",
    ],
)  # fmt: skip
def test_words_of_an_end(text: str) -> None:
    assert says_over(text)


@pytest.mark.parametrize(
    "text",
    [
        "Training on 8 GPUs", "Training loss: 0.5", "Epoch 3 training completed", "Training complete for epoch 3",
        "Training finished: 32503 merges", "rustbpe: Finished training: 32503 merges completed", "第 3 轮训练完成",
        "Starting training...", "The training is done by the actor while rollouts go on", "step 3 | training done 40%",
    ],
)  # fmt: skip
def test_words_of_no_end(text: str) -> None:
    assert not says_over(text)
