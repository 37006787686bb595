"""Hand-written loops as whole runs: lines that belong together, clocks, sessions, epochs, tables, settings."""

from __future__ import annotations

import pytest

import parsers
from parsers.base import Sure
from tests.parsers.loops import column, read, sure
from timeledger.errors import BadOption
from timeledger.run import Run


def phases(run: Run) -> dict[tuple[int, str], float]:
    return {(row["step"], row["name"]): row["seconds"] for row in run.phases.to_dicts()}


# --- lines that belong together ----------------------------------------------------------------------------------


def test_reward_before_its_step() -> None:
    run = read("".join(f"Average Reward: {n / 10}\nIteration 1/1, Step {n}/9, loss: 0.5\n" for n in range(1, 5)))
    assert column(run, "reward") == [0.1, 0.2, 0.3, 0.4]


def test_sub_steps_give_way() -> None:
    run = read(
        "Step 3/9 | Example step 0 | Pass 0 | loss: 0.5 | Average reward: 0.9\n"
        "Step 3/9 | Example step 1 | Pass 0 | loss: 0.7 | Average reward: 0.8\n"
        "Step 3/9 | Average reward: 0.25 | Average sequence length: 100.0\n"
    )
    assert column(run, "reward") == [0.25]
    assert column(run, "len_mean") == [100.0]


def test_phase_table_below_the_step() -> None:
    block = (
        "Step {0} | Loss: 0.5 | Reward: +0.5 | Samples: 16\n"
        "  rollout:            6.50s,  14.00 GiB  (14.7%)\n"
        "  train:             20.00s,  51.70 GiB  (54.4%)\n"
        "  total:             27.00s\n"
        "a line of prose about step {0}\n"
        "  train:             99.00s\n"
    )
    run = read(block.format(1) + block.format(2))
    assert column(run, "step_s") == [27.0, 27.0]
    assert phases(run) == {(1, "rollout"): 6.5, (1, "train"): 20.0, (2, "rollout"): 6.5, (2, "train"): 20.0}
    assert column(run, "mem_gib") == [None, None], "the table's memory is of a phase"


def test_sentences_with_phase_times() -> None:
    run = read(
        "Iteration 4/9\n[INFO|loop.py:9] Time taken to generate 64 responses: 21.5 seconds\n"
        "[INFO|loop.py:12] Time taken to train: 33.25 seconds\n"
        "[INFO|loop.py:20] KEY METRICS: {'train/rewards': 0.5, 'train/response_lengths': 150.5, 'train/kl_penalty': 0.25}\n"
    )
    assert column(run, "step") == [4]
    assert (column(run, "reward"), column(run, "len_mean"), column(run, "sequences")) == ([0.5], [150.5], [64.0])
    assert sorted(row["seconds"] for row in run.phases.to_dicts()) == [21.5, 33.25]


def test_rows_without_any_step_are_counted_and_said_so() -> None:
    run = read("".join(f"{{'loss': 0.{n}, 'reward': 0.{n}, 'kl': 0.{n}, 'mean_len': {n}}}\n" for n in range(1, 5)))
    assert column(run, "step") == [1, 2, 3, 4]
    assert column(run, "len_mean") == [1, 2, 3, 4]
    assert any(note.kind == "guessed" and "counted" in note.text for note in run.notes)


def test_lines_printed_twice_are_one_row() -> None:
    run = read("".join(f"step {n} | time {n % 2 + 1}.5s | rollout=1.0s update=0.5s\n" * 2 for n in range(1, 4)))
    assert run.steps.height == 3
    assert run.phases.height == 6
    assert column(run, "segment") == [0, 0, 0]


# --- time --------------------------------------------------------------------------------------------------------


def test_a_last_time_that_only_rises_is_the_clock() -> None:
    run = read("".join(f"step {n} | reward 0.5 | len 9 | {3 + n}s\n" for n in (0, 25, 50, 75)))
    assert column(run, "elapsed_s") == [3, 28, 53, 78]
    assert column(run, "step_s") == [None] * 4


def test_a_time_that_adds_up_is_the_clock_and_one_that_grows_slowly_is_not() -> None:
    adds = read("".join(f"step {n} | reward 0.5 | time {n * 12.5 + n % 2:.1f}s\n" for n in range(1, 8)))
    grows = read("".join(f"step {n} | reward 0.5 | time {30 + n / 10:.1f}s\n" for n in range(1, 8)))
    assert column(adds, "step_s") == [None] * 7
    assert column(adds, "elapsed_s")[0] == 13.5
    assert column(grows, "elapsed_s") == [None] * 7
    assert column(grows, "step_s")[0] == 30.1


def test_time_stamps_tell_a_slow_start_from_a_clock() -> None:
    lines = [f"2026-01-02 03:04:{n * 2:02d} INFO step {n} | reward 0.5 | time {300 + n * 2}s\n" for n in range(1, 8)]
    assert column(read("".join(lines)), "elapsed_s")[0] == 302


def test_a_time_in_every_tenth_row_is_of_one_step_or_of_all_ten() -> None:
    def rows(seconds: float, clock: str) -> Run:
        return read(
            "".join(
                f"step {n} | reward 0.5{n} | {clock.format(13.0 * n)}time {seconds + n / 100:.2f}s\n"
                for n in range(10, 90, 10)
            )
        )

    guessed = rows(130.0, "")
    assert column(guessed, "step_s")[:2] == [130.1, 130.2]
    assert any("10 steps apart" in note.text and note.kind == "guessed" for note in guessed.notes)
    assert column(rows(130.0, "elapsed {:.0f}s | "), "step_s") == pytest.approx(
        [13.0 + n / 1000 for n in range(10, 90, 10)]
    )
    assert column(rows(13.0, "elapsed {:.0f}s | "), "step_s") == pytest.approx(
        [13.0 + n / 100 for n in range(10, 90, 10)]
    )


def test_stamps_without_a_year() -> None:
    run = read(
        "".join(
            f"INFO {stamp} [loop.py:12] step {n} reward 0.5{n} len 200\n"
            for n, stamp in enumerate(("12-31 23:59:30", "12-31 23:59:50", "01-01 00:00:10"), 1)
        )
    )
    moved = run.steps["at"].diff().drop_nulls().dt.total_seconds().to_list()
    assert moved == [20, 20]
    assert not run.info.zone_known
    assert any("no year" in note.text for note in run.notes)


def test_elapsed_that_falls_is_the_step_time() -> None:
    run = read("".join(f"step {n} reward=0.5 elapsed={9 + n % 2}.5s\n" for n in range(1, 6)))
    assert column(run, "step_s") == [10.5, 9.5, 10.5, 9.5, 10.5]


def test_a_clock_that_a_resume_sets_back_runs_on() -> None:
    clock = [10, 20, 30, 40, 50, 60, 5, 15, 25, 35]
    run = read("".join(f"step {n} reward=0.5 elapsed={seconds}.0s\n" for n, seconds in enumerate(clock, 1)))
    assert column(run, "elapsed_s") == [10, 20, 30, 40, 50, 60, 65, 75, 85, 95]
    assert column(run, "step_s") == [None] * 10


def test_a_running_mean_is_the_step_time_of_the_first_row_only() -> None:
    run = read(
        "".join(
            f"step {n} | reward 0.5 | len 9 | {m}s/step | eta 5m\n" for n, m in ((10, 30.0), (20, 31.0), (30, 32.0))
        )
    )
    assert column(run, "step_s") == [30.0, None, None]
    assert column(run, "elapsed_s") == [300.0, 620.0, 960.0]
    assert run.extra["remaining_s"].to_list() == [300.0] * 3


def test_stamps_and_times_of_day() -> None:
    full = read(
        "[2026-01-02 03:04:05][INFO] step=1 reward=0.5 kl=0.1\n[2026-01-02 03:05:05][INFO] step=2 reward=0.5 kl=0.1\n"
    )
    at = column(full, "at")
    assert (at[1] - at[0]).total_seconds() == 60  # type: ignore[operator, union-attr]
    assert not full.info.zone_known
    day = read("23:59:50 INFO step 1 | reward 0.5 | kl 0.1\n00:00:10 INFO step 2 | reward 0.5 | kl 0.1\n")
    assert column(day, "elapsed_s") == [0.0, 20.0]


@pytest.mark.parametrize(
    "line",
    [
        "[5] [TrainerActor-5/8] {at} INFO Step {n}/99 | Loss: 1.3{n}",
        "\x1b[34m[worker 3] [loop]\x1b[0m {at} INFO Step {n}/99 | Loss: 1.3{n}",
        "Step {n}/99 | loss: 1.3{n} | time: {at}",
        "step {n} reward 0.5 len 120 at {at}",
        "{{'step': {n}, 'loss': 1.3{n}, 'timestamp': '{at}'}}",
        "Step {n}/99 | loss: 1.3{n} | timestamp: {at} | eta: 2026-01-02 23:00:00",
    ],
)
def test_a_stamp_anywhere_in_a_line_is_a_moment_and_never_a_duration(line: str) -> None:
    run = read("".join(line.format(n=n, at=f"2026-01-02 11:29:{30 + n}") + "\n" for n in range(1, 25)))
    assert column(run, "step") == list(range(1, 25))
    assert column(run, "step_s") == column(run, "elapsed_s") == [None] * 24
    assert run.steps["at"].diff().drop_nulls().dt.total_seconds().to_list() == [1] * 23
    assert not run.info.zone_known


def test_the_moment_of_something_else_is_not_the_lines_own() -> None:
    run = read("".join(f"step {n} reward 0.5 len 120 | started 2026-01-02 11:29:{30 + n}\n" for n in range(1, 12)))
    assert column(run, "at") == column(run, "step_s") == [None] * 11


# --- sessions and epochs -----------------------------------------------------------------------------------------


def test_a_step_that_goes_back_is_a_restart() -> None:
    run = read(
        "".join(f"step {n} | reward {v} | time {v}s\n" for n, v in ((1, 1.5), (2, 2.5), (3, 1.25), (2, 2.25), (3, 3.5)))
    )
    assert column(run, "segment") == [0, 0, 0, 1, 1]
    assert run.events["kind"].to_list() == ["restart"]


def test_epochs_that_count_anew() -> None:
    run = read("".join(f"Epoch:[{e}/2]({n}/30), Reward: 0.{e}{n}, KL: 0.1\n" for e in (1, 2) for n in (10, 20, 30)))
    assert column(run, "step") == [10, 20, 30, 40, 50, 60]
    assert column(run, "segment") == [0] * 6
    assert run.info.setting("total_steps") == 60
    assert column(run, "epoch") == [1, 1, 1, 2, 2, 2]


def test_epochs_that_count_on() -> None:
    run = read("".join(f"Epoch {1 + n // 4}/2 | step {n}/8 | reward 0.{n} | kl 0.1\n" for n in range(1, 9)))
    assert column(run, "step") == list(range(1, 9))
    assert run.info.setting("total_steps") == 8


def test_evaluations_are_events() -> None:
    run = read("step 5 | reward 0.5 | kl 0.1\n[eval] step 5 | acc 0.75 | time 12.0s\nstep 6 | reward 0.5 | kl 0.1\n")
    assert run.steps.height == 2
    assert column(run, "acc") == [None, None]
    assert run.events.select("kind", "step", "seconds").rows() == [("evaluation", 5, 12.0)]


@pytest.mark.parametrize(
    ("line", "took"),
    [
        ("eval step 5 | acc 0.75 | eval_time 40.0s", 40.0),
        ("Eval: acc=0.75 (40.2s)", 40.2),
        ("  >> validation: reward 0.412, took 1m 20s", 80.0),
        ("Evaluation took 40.2s", 40.2),
        ("Test accuracy: 45.2%", None),
        ("eval step 5: acc 0.75", None),
        ("Eval accuracy: 0.75 | elapsed 3600s", None),
        ("验证 准确率 0.45 用时 40秒", 40.0),
    ],
)
def test_an_evaluation_without_a_step_is_of_the_last_one(line: str, took: float | None) -> None:
    run = read(f"step 5 | reward 0.5 | kl 0.1\n{line}\nstep 6 | reward 0.5 | kl 0.1\n")
    assert run.steps["step"].to_list() == [5, 6]
    assert column(run, "acc") == [None, None]
    assert run.phases.is_empty()
    assert run.events.select("kind", "step", "seconds").rows() == [("evaluation", 5, took)]


def test_the_lines_of_one_evaluation_are_one_event() -> None:
    lines = "Eval on math: acc 0.41\nEval on code: acc 0.30\nEvaluation took 61.5s\n"
    run = read("".join(f"step {s} | reward 0.5 | kl 0.1\n{lines if s % 2 == 0 else ''}" for s in range(1, 6)))
    assert run.events.select("step", "seconds").rows() == [(2, 61.5), (4, 61.5)]


def test_several_data_sets_take_their_times_together() -> None:
    lines = "Eval on math: acc 0.41 (30.0s)\nEval on code: acc 0.30 (20.0s)\nEvaluation took 50.0s\nEvaluation done in 50.1s\n"
    run = read(f"step 1 | reward 0.5 | kl 0.1\n{lines}step 2 | reward 0.5 | kl 0.1\n")
    assert run.events.select("step", "seconds").rows() == [(1, 50.0)]


def test_batches_of_an_evaluation_and_lines_before_the_first_step_are_none() -> None:
    run = read(
        "Eval every 50: acc 0.5\nstep 1 | reward 0.5 | kl 0.1\neval step 7: acc 0.4\nstep 2 | reward 0.5 | kl 0.1\n"
    )
    assert run.events.is_empty()


def test_the_runs_clock_on_an_evaluations_line_is_not_what_it_took() -> None:
    lines = [f"step {s} | reward 0.5 | kl 0.1 | time {13.0 * s:.1f}s" for s in range(1, 13)]
    for at in (11, 7, 3):
        lines.insert(at + 1, f"[eval] step {at + 1} | acc 0.5 | time {13.0 * (at + 1) + 4:.1f}s")
    run = read("\n".join(lines) + "\n")
    assert column(run, "elapsed_s")[-1] == pytest.approx(156.0)
    assert run.events.select("step", "seconds").rows() == [(4, None), (8, None), (12, None)]


# --- around it ---------------------------------------------------------------------------------------------------


def test_own_names_come_first() -> None:
    run = read("step 1 | my_len 80 | speed 3.0 | reward 0.5\n", mapping=(("my_len", "len_mean"), ("speed", "rollout")))
    assert column(run, "len_mean") == [80]
    assert phases(run) == {(1, "speed"): 3.0}
    with pytest.raises(BadOption, match="no column or phase"):
        read("", mapping=(("my_len", "length"),))


def test_settings_before_the_first_row() -> None:
    run = read(
        "  k_samples: 8\n  max_new_tokens: 144\n  model_name: org/tiny\nstep 1 | reward 0.5 | kl 0.1\n  k_samples: 9\n"
    )
    assert run.info.setting("group_size") == 8
    assert run.info.setting("max_tokens") == 144
    assert run.info.setting("model") == "org/tiny"


def test_engine_lines_in_between() -> None:
    engine = (
        "INFO 11-30 08:21:53 [loggers.py:111] Engine 000: Avg prompt throughput: 5.5 tokens/s, Avg generation throughput: "
        "66.4 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit rate: 0.0%\n"
    )
    text = f"step 1 | reward 0.5 | len 9\n{engine}step 2 | reward 0.5 | len 9\n"
    run = parsers.read(text.encode())
    assert run.info.format == "keyvalue"
    assert run.engine["gen_tok_s"].to_list() == [66.4]
    assert run.steps.height == 2


TABLES = {
    "markdown": "| step | mean_env_reward | loss | step_time_s |\n|---|---|---|---|\n| 1 | 0.5 | 0.1 | 33.5 |\n| 2 | 0.75 | 0.2 | 34.5 |\n",
    "pretty": "+---+---+---+---+\n| step | reward | loss | step_time |\n+---+---+---+---+\n| 1 | 0.5 | 0.1 | 33.5 |\n| 2 | 0.75 | 0.2 | 34.5 |\n+---+---+---+---+\n",
    "box": "┏━━━━━━┳━━━━━━━━┳━━━━━━━━━━━┓\n┃ Step ┃ Reward ┃ Step time ┃\n┡━━━━━━╇━━━━━━━━╇━━━━━━━━━━━┩\n│ 1    │ 0.5    │ 33.5s     │\n│ 2    │ 0.75   │ 34.5s     │\n└──────┴────────┴───────────┘\n",
    "columns": "step   reward   loss  step_time\n   1      0.5    0.1       33.5\n   2     0.75    0.2       34.5\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    run = read(TABLES[name])
    assert column(run, "step") == [1, 2]
    assert column(run, "step_s") == [33.5, 34.5]
    assert column(run, "reward") == [0.5, 0.75]
    assert sure(TABLES[name]) == Sure.LIKELY


def test_one_line_is_a_run_with_or_without_its_end() -> None:
    for end in (b"", b"\n"):
        run = parsers.read(b"step 10 | len 152 | reward 0.53 | time 33.1s" + end)
        assert (run.info.format, column(run, "step_s")) == ("keyvalue", [33.1])


def test_unknown_names_inside_a_block_are_kept() -> None:
    run = read(
        "Step 4/9\n  Reward: 0.5\n  Fmt: 0.75\n  Response length: 80\n\nStep 5/9\n  Reward: 0.6\n  Fmt: 0.85\n  Response length: 90\n"
    )
    assert column(run, "len_mean") == [80, 90]
    assert run.extra["Fmt"].to_list() == [0.75, 0.85]


def test_a_printed_answer_with_a_step_and_a_reward_is_no_row() -> None:
    row = "step {0} | len 80 | reward 0.5 | kl 0.1 | loss 0.25\n"
    text = "".join(row.format(n) for n in (10, 11, 12, 13)) + "Step 2: reward = 15\n" + row.format(14)
    run = read(text)
    assert column(run, "step") == [10, 11, 12, 13, 14]
    assert column(run, "segment") == [0] * 5
