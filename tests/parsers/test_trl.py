"""TRL consoles: ends, settings and values; what is not known stays null."""

from __future__ import annotations

import pytest

import parsers
from tests.parsers.made_console import Console, Values, bar, grpo, quoted, read, steps, texts
from timeledger.errors import UnknownFormat

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


@pytest.mark.parametrize("rest", ["", "Results saved to out.json\npass@1 = 41.1 %\n"])
def test_a_lone_bar_may_be_a_training_until_something_speaks_against_it(rest: str) -> None:
    bars = "".join(f"\r{n:3d}%|###   | {n}/100 [00:{n // 2:02d}<01:00,  2.00it/s]" for n in range(101))
    text = f"loading\n{bars}\n{rest}".encode()
    if rest:
        with pytest.raises(UnknownFormat):
            parsers.read(text, name="eval.log")
        return
    run = parsers.read(text, name="job.err")
    assert run.info.framework is None
    assert run.progress["step"].max() == 100
    assert any(note.kind == "guessed" and "only a progress bar" in note.text for note in run.notes)


def test_many_short_bars_are_no_training() -> None:
    one = "".join(f"\r{20 * n:3d}%|###   | {n}/{5} [00:0{n}<00:05,  1.00it/s]" for n in range(6)) + "\n"
    with pytest.raises(UnknownFormat):
        parsers.read(("handling conversations\n" + one * 8).encode(), name="common.log")


def test_a_described_bar_cut_by_a_window_is_not_taken_for_a_bare_one() -> None:
    bars = "".join(f"Traces:  {n // 74:2d}%|###   | {n}/7437 [00:10<01:00,  2.00it/s]" for n in range(3000))
    with pytest.raises(UnknownFormat):
        parsers.read(f"reading\n{bars}\n".encode(), name="traces.log")
