"""TRL consoles: every dict gets its step, whatever the buffering; what is not known stays null."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsers
from parsers.base import Origin
from parsers.source import Feeder
from parsers.trl import TRL
from tests.parsers.made_console import Console, Values, bar, grpo, quoted
from timeledger.run import Run


def read(text: str, name: str = "console.log") -> Run:
    return parsers.read(text.encode(), name=name)


def steps(run: Run) -> list[int]:
    return run.steps["step"].to_list()


def texts(run: Run) -> list[str]:
    return [note.text for note in run.notes]


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


# --- how it ended ----------------------------------------------------------------------------------------------


TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    trainer.train()\n'


@pytest.mark.parametrize(
    ("tail", "ended"),
    [
        (TRACE + "RuntimeError: reward server returned 503\n", "crashed"),
        (TRACE + "torch.OutOfMemoryError: CUDA out of memory.\n", "crashed"),
        (TRACE + "KeyboardInterrupt\n", "interrupted"),
        (
            "\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
            "interrupted",
        ),
        ("\nrun.sh: line 3: 4711 Killed                  python train.py\n", "crashed"),
        ("\n", None),
    ],
)
def test_ends(tail: str, ended: str | None) -> None:
    run = read(Console(60, buffer=8192).start().train(range(1, 18)).say(tail).exit().text)
    assert run.info.ended == ended
    assert steps(run) == list(range(1, 18))
    crashes = run.events.filter(run.events["kind"] == "crash")
    assert crashes["step"].to_list() == ([17] if ended else [])


def test_a_traceback_that_training_survives_ends_nothing() -> None:
    console = (
        Console(60).start().train(range(1, 18)).say("\n" + TRACE + "ValueError: a bad sample\n").train(range(18, 41))
    )
    assert read(console.text).info.ended is None


# --- what belongs to no row --------------------------------------------------------------------------------------


def test_copies_samples_and_other_bars_are_no_rows() -> None:
    noise = (
        "wandb: WARNING (User provided step: 3 is less than current step: 9. Dropping entry: {'loss': 9.0, 'reward': 9.0, "
        "'epoch': 9.0, 'grad_norm': 9.0}).\n"
        "Updated tokens: {'bos_token_id': None, 'pad_token_id': 151645}.\n"
        "{'role': 'user', 'content': 'the loss is 3, the reward 4', 'step': 5}\n"
        "│ Problem: 15 - 24 = ? │ reward: 3 │ 0.25 │\n"
        "Processed prompts: 100%|███| 64/64 [00:02<00:00, 30.78it/s, est. speed input: 336.64 toks/s, output: 6124.87 toks/s]\n"
        "Map:  40%|███     | 40/100 [00:00<00:00, 99.00 examples/s]\n"
        "GRPOConfig(\nlearning_rate=1e-06,\nnum_generations=8,\n)\n"
    )
    console = Console(100).say(noise).start()
    for step in range(1, 31):
        console.train([step]).say("\n" + noise)
    run = read(console.text)
    assert steps(run) == list(range(1, 31))
    assert run.steps["reward"].to_list() == [0.3] * 30
    assert run.progress["total"].unique().to_list() == [100]
    assert run.engine.height > 0


def test_a_logger_that_repeats_a_dict_adds_no_row() -> None:
    console = Console(20).start()
    for step in range(1, 21):
        console.train([step]).say(f"\n2026-01-05 10:00:{step:02d},000 - INFO - step metrics: {quoted(grpo(step))}\n")
    assert steps(read(console.text)) == list(range(1, 21))


def test_settings_come_from_banners_and_printed_configurations() -> None:
    banner = (
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
        "   \\\\   /|    Num examples = 7,473 | Num Epochs = 1 | Total steps = 1,000\n"
        "O^O/ \\_/ \\    Batch size per device = 8 | Gradient accumulation steps = 4\n"
        "\\        /    Data Parallel GPUs = 1 | Total batch size (8 x 4 x 1) = 32\n"
        "Unsloth: vLLM loading model with actual GPU utilization = 79.08%\n"
    )
    found = read(banner + Console(1000).start().train(range(1, 4)).text).info
    assert found.setting("total_steps") == 1000
    assert found.setting("per_device_batch") == 8
    assert found.setting("grad_accumulation") == 4
    assert found.setting("sequences_per_step") == 32
    assert found.setting("gpu_memory_utilization") == pytest.approx(0.7908)
    printed = "GRPOConfig(\n_n_gpu=1,\neval_strategy=IntervalStrategy.NO,\neval_steps=None,\nlogging_steps=1,\n"
    printed += "max_completion_length=256,\nnum_generations=8,\nper_device_train_batch_size=8,\nuse_vllm=True,\n)\n"
    found = read(printed + Console(50).start().train(range(1, 4)).text).info
    assert found.setting("max_tokens") == 256
    assert found.setting("group_size") == 8
    assert found.setting("use_vllm") is True
    assert found.setting("eval_steps") is None


# --- values ------------------------------------------------------------------------------------------------------


def test_token_counts_are_used_only_where_their_digits_suffice() -> None:
    def row(step: int) -> Values:
        return {**grpo(step), "num_tokens": float(step * 777)}

    run = read(Console(2000, row=row).start().train(range(1, 2001)).text)
    known = run.steps.filter(run.steps["tokens"].is_not_null())
    assert known.height > 50
    assert known["tokens"].to_list() == pytest.approx([777.0] * known.height, rel=0.06)
    assert run.steps["tokens"].tail(500).null_count() == 500  # 1.554e+06 stands for anything within 500


def test_missing_and_infinite_values() -> None:
    def row(step: int) -> Values:
        return {**grpo(step), "reward": None, "reward_std": float("inf"), "kl": float("nan")}

    for show in (quoted, str):
        run = read(Console(9, row=row, show=show).start().train(range(1, 9)).text)
        assert run.steps["reward"].null_count() == 8
        assert run.steps["kl"].null_count() == 8
        assert run.steps["reward_std"].to_list() == [float("inf")] * 8
        assert any("kl is not a number" in text for text in texts(run))


def test_rows_that_reuse_a_generation_have_no_length() -> None:
    def row(step: int) -> Values:
        values = grpo(step, seconds=17.0 if step % 8 == 1 else 1.5)
        return values if step % 8 == 1 else {key: values[key] for key in ("loss", "grad_norm", "step_time", "epoch")}

    run = read(Console(40, row=row).start().train(range(1, 41)).end(40).text)
    assert steps(run) == list(range(1, 41))
    assert run.steps["len_mean"].is_not_null().to_list() == [step % 8 == 1 for step in range(1, 41)]
    assert run.steps["step_s"].to_list()[:3] == [17.0, 1.5, 1.5]
    assert run.steps["tokens"].drop_nulls().to_list()[1:] == [4000.0] * 4


def test_preference_training_has_no_reward() -> None:
    def row(step: int) -> Values:
        return {
            "loss": 0.6,
            "rewards/chosen": 0.2,
            "rewards/rejected": 0.1,
            "rewards/accuracies": 0.75,
            "rewards/margins": 0.1,
            "logps/chosen": -20.0,
            "epoch": step / 100,
        }

    run = read(Console(30, every=3, row=row).start().train(range(1, 31)).text)
    assert run.steps["reward"].null_count() == 10
    assert run.steps["acc"].to_list() == [0.75] * 10
    assert "rewards/chosen" in run.extra.columns


def test_the_older_ppo_counts_episodes_and_logs_before_the_bar_moves() -> None:
    text = bar(0, 30, 0)
    for step in range(1, 61):
        values: Values = {"eps": 12, "objective/kl": 0.5, "objective/rlhf_reward": -0.1, "objective/scores": -0.2}
        values |= {"policy/clipfrac_avg": 0.25, "val/ratio": 1.01, "lr": 1e-6, "episode": step * 8, "epoch": step / 50}
        text += f"\r{' ' * 40}\r{values}\n"
        text += bar(step, 30, step) if step <= 30 else f"\r{step}it [{step // 60:02d}:{step % 60:02d},  1.00s/it]"
    run = read(text + "\n")
    assert steps(run) == list(range(1, 61))
    assert run.steps["reward"].to_list() == [-0.1] * 60
    assert run.steps["ratio"].to_list() == [1.01] * 60
    assert run.info.setting("total_steps") is None  # the bar's 30 was wrong
    assert run.progress["step"].max() == 60


def test_async_grpo_prints_its_phases() -> None:
    def row(step: int) -> Values:
        values = {"loss": 0.1, "perf/step_s": 10.0, "perf/fwd_bwd_s": 4.0, "perf/fwd_s": 1.5, "perf/optimizer_s": 0.5}
        values |= {"perf/rollout_wait_s": 3.0, "perf/weight_sync_s": 2.0, "perf/weight_sync_transfer_s": 1.2}
        return {**values, "rollout/duration_s": 30.0, "rollout/generated_tok_s": 2500.0, "epoch": step / 100}

    run = read(Console(20, row=row).start().train(range(1, 21)).text)
    assert run.steps["step_s"].to_list() == [10.0] * 20
    assert run.steps["gen_tok_s"].to_list() == [2500.0] * 20
    one = {row["name"]: row for row in run.phases.filter(run.phases["step"] == 5).to_dicts()}
    top = [row["seconds"] for row in one.values() if row["parent"] is None and not row["overlaps"]]
    assert sum(top) == pytest.approx(9.5)
    assert one["perf/fwd_s"]["parent"] == "perf/fwd_bwd_s"
    assert one["perf/weight_sync_transfer_s"]["parent"] == "perf/weight_sync_s"
    assert one["rollout/duration_s"]["overlaps"]
    assert one["perf/rollout_wait_s"]["phase"] == "wait"


def test_a_running_clock_on_every_row_is_not_the_end() -> None:
    def row(step: int) -> Values:
        values: Values = {
            "num_input_tokens_seen": step * 100,
            "train_runtime": step * 2.5,
            "train_tokens_per_second": 40.0,
        }
        return {**grpo(step), **values}

    run = read(Console(40, row=row).start().train(range(1, 21)).text)
    assert run.info.ended is None
    assert run.info.train_runtime_s is None
    assert run.steps["elapsed_s"].to_list() == [2.5 * step for step in range(1, 21)]


def test_ms_swift_dicts_name_their_step() -> None:
    text = ""
    for step in range(5, 31, 5):
        values = {
            "loss": -0.0,
            "grad_norm": 0.1,
            "reward": 0.34,
            "completions/mean_length": 357.5,
            "epoch": 0.01 * step,
        }
        words = {"global_step/max_steps": f"{step}/3766", "elapsed_time": f"{step // 4}m {step}s", "memory(GiB)": 56.7}
        text += f"\rTrain:  0%|          | {step}/3766 [01:29<18:37:22, 17.80s/it]\r{ {**values, **words} }\n"
    run = read(text)
    assert steps(run) == list(range(5, 31, 5))
    assert run.steps["span"].to_list() == [5] * 6
    assert run.steps["elapsed_s"].to_list()[1] == 130.0
    assert run.steps["mem_gib"].to_list() == [56.7] * 6
    assert run.info.framework == "ms-swift"
    assert run.info.setting("total_steps") == 3766


def test_the_limit_on_answers_is_read_off_cut_answers() -> None:
    def row(step: int) -> Values:
        cut = step % 3 == 0
        return {
            **grpo(step),
            "completions/max_length": 256.0 if cut else 200.0 + step,
            "completions/clipped_ratio": 0.25 if cut else 0.0,
        }

    found = read(Console(30, row=row).start().train(range(1, 31)).text).info.settings["max_tokens"]
    assert found.value == 256
    assert found.kind == "inferred"


# --- what terminals and container runtimes do to the text -----------------------------------------------------------


def test_dicts_wrapped_by_a_terminal_are_joined() -> None:
    console = Console(30, bars=False, show=str).start().train(range(1, 31)).end(30)
    wrapped = "\n".join(line[at : at + 80] for line in console.text.split("\n") for at in range(0, len(line) or 1, 80))
    run = read(wrapped)
    assert steps(run) == list(range(1, 31))
    assert run.steps["len_mean"].to_list() == [40.5 + step for step in range(1, 31)]
    assert run.info.ended == "finished"


def test_a_bar_written_into_a_dict_does_not_lose_it() -> None:
    text = Console(40).start().train(range(1, 41)).text
    middle = text.index("'reward_std'", len(text) // 2)
    run = read(text[:middle] + bar(21, 40, 42.0) + "\r" + text[middle:])
    assert steps(run) == list(range(1, 41))


def test_a_damaged_dict_keeps_its_place() -> None:
    text = Console(40).start().train(range(1, 41)).text
    damaged = text.index("'epoch'", len(text) // 2)
    run = read(text[:damaged] + "'epo\n" + text[text.index("\n", damaged) + 1 :])
    assert run.steps.height == 39
    assert steps(run)[-1] == 40
    assert sum(note.count for note in run.notes if note.kind == "skipped") == 1


def test_crlf_stamps_and_rank_marks() -> None:
    plain = Console(30).start().train(range(1, 31)).end(30).text
    crlf = read(plain.replace("\n", "\r\n"))
    assert steps(crlf) == list(range(1, 31))
    stamped = "\n".join(
        f"2026-03-04T10:00:{number % 60:02d}.123456Z {line}"
        for number, line in enumerate(plain.replace("\r", "\n").split("\n"))
    )
    run = read(stamped)
    assert steps(run) == list(range(1, 31))
    assert run.steps["at"].null_count() == 0
    assert run.info.setting("total_steps") == 30
    ranks = "\n".join(f"[rank0]: {line}" for line in plain.replace("\r", "\n").split("\n") if line.strip())
    assert steps(read(ranks)) == list(range(1, 31))


def test_saved_checkpoints_are_events() -> None:
    console = Console(60).start()
    for step in range(1, 61):
        console.train([step])
        if step % 20 == 0:
            console.say("\n\rWriting model shards:   0%|          | 0/1 [00:00<?, ?it/s]\x1b[A")
            console.say("\rWriting model shards: 100%|██████████| 1/1 [00:00<00:00, 950.87it/s]")
            console.say(f"\nModel weights saved in out/checkpoint-{step}/model.safetensors\n")
    found = read(console.text).events
    assert found.filter(found["kind"] == "checkpoint")["step"].to_list() == [20, 40, 60]


# --- the reader as such ---------------------------------------------------------------------------------------------

SAMPLE = (
    Console(60, every=2, buffer=3000).start().train(range(1, 41)).text
    + "\n"
    + Console(60, every=2, buffer=3000).start().train(range(21, 61), origin=20).end(40).text
).encode()


def feed(data: bytes, cuts: list[int]) -> tuple[Run, ...]:
    feeder = Feeder(Origin("console.log"), TRL)
    for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
        feeder.feed(data[start:stop])
        feeder.runs()
    feeder.finish()
    return feeder.runs()


def frames(runs: tuple[Run, ...]) -> list[object]:
    return [
        (run.info, run.notes, *(frame.to_dicts() for frame in (run.steps, run.events, run.progress))) for run in runs
    ]


@given(st.lists(st.integers(0, len(SAMPLE)), max_size=8))
@settings(max_examples=25, deadline=None)
def test_any_split_reads_the_same(cuts: list[int]) -> None:
    assert frames(feed(SAMPLE, sorted(cuts))) == frames(feed(SAMPLE, []))


@given(st.integers(0, len(SAMPLE)))
@settings(max_examples=60, deadline=None)
def test_a_cut_log_is_a_prefix(cut: int) -> None:
    whole, part = feed(SAMPLE, [])[0], feed(SAMPLE[:cut], [])
    columns = ["segment", "step", "span", "reward", "len_mean", "tokens"]
    for run in part:
        assert run.steps.select(columns).to_dicts() == whole.steps.head(run.steps.height).select(columns).to_dicts()


@given(st.lists(st.sampled_from([b"{'loss': 0.1, 'epoch': 1, 'grad_norm': ", b"'", b"}", b"\n", b"\r", b"  5%|x| 5/100 [00:05<01:00, 1.00it/s]",
                                 b"{'eval_loss': 1", b"Traceback (most recent call last):\n", b"59it [00:37, 1.60it/s]", b"nan", b"\xff\x00",
                                 b"{'train_runtime': 1, 'train_loss': 2}", b" 0%|| 0/7 [00:00<?, ?it/s]"]), max_size=40))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_nothing_raises(parts: list[bytes]) -> None:
    feed(b"".join(parts), [])


def test_other_logs_are_not_recognised_as_certain() -> None:
    lines = [
        b"step:1 - actor/loss:0.1 - timing_s/step:3.0\n",
        b'{"step": 1, "loss": 0.5, "epoch": 0.1, "learning_rate": 1e-6}\n',
        b"step 10 | len 152 | reward 0.53 | time 33.1s\n",
        b"Processed prompts: 100%|###| 64/64 [00:02<00:00, 30.78it/s]\n",
    ]
    for line in lines:
        found, _ = parsers.detect(line * 5)
        assert found is None or found.name != "trl"


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


@pytest.mark.parametrize("second", [str, quoted])
def test_a_callback_that_prints_the_dict_too_adds_no_row(second: object) -> None:
    def both(values: Values) -> str:
        return f"{values}\n{second(values)}"  # type: ignore[operator]

    run = read(Console(60, every=3, show=both).start().train(range(1, 61)).end(60).text)
    assert steps(run) == list(range(3, 61, 3))


def test_steps_that_agree_in_every_number_are_not_repeats() -> None:
    def row(step: int) -> Values:
        return {
            "loss": 0.0,
            "grad_norm": 0.0,
            "learning_rate": 1e-6,
            "completion_length": 256.0,
            "reward": 0.0,
            "epoch": 0.01,
        }

    assert steps(read(Console(30, row=row, show=str).start().train(range(1, 31)).text)) == list(range(1, 31))


@pytest.mark.parametrize(
    "prefix",
    ["[node-0] ", "(RayTrainWorker pid=812, ip=10.0.0.1) ", "[pod/train-0/main] [rank0]: ", "2026-01-05T10:00:00Z "],
)
def test_launchers_marks_before_every_line(prefix: str) -> None:
    plain = Console(30, every=2).start().train(range(1, 31)).end(30).text.replace("\r", "\n")
    run = read("\n".join(prefix + line for line in plain.split("\n") if line.strip()))
    assert steps(run) == list(range(2, 31, 2))
    assert run.progress["step"].max() == 30


def test_stamps_of_an_emptied_buffer_are_not_the_steps_times() -> None:
    console = Console(40, bars=False).start().train(range(1, 41)).end(40)
    lines = console.text.strip().split("\n")
    late = "\n".join(f"2026-01-05T10:{number // 10:02d}:00Z {line}" for number, line in enumerate(lines)) + "\n"
    assert read(late).steps["at"].null_count() == 40
    timely = "\n".join(f"2026-01-05T10:{number:02d}:00Z {line}" for number, line in enumerate(lines)) + "\n"
    assert read(timely).steps["at"].null_count() == 0


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
