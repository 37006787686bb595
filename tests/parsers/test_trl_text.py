"""TRL consoles: what terminals, launchers, loggers and damage do to the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsers
from parsers.base import Origin
from parsers.source import Feeder
from parsers.trl import TRL
from tests.parsers.made_console import Console, Values, bar, grpo, quoted, read, steps
from timeledger.run import Run


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


def test_the_same_numbers_at_every_step_are_still_steps() -> None:
    def row(step: int) -> Values:
        return {"loss": 0.1, "grad_norm": 0.5, "learning_rate": 1e-6, "reward": 0.5, "step_time": 2.0, "epoch": 0.01}

    for bars in (True, False):
        run = read(Console(30, row=row, bars=bars).start().train(range(1, 31)).text)
        assert run.steps.height == 30


@pytest.mark.parametrize(
    ("line", "algorithm"),
    [
        ("train.py:381: UserWarning: You are using 'environment_factory'\n  trainer = GRPOTrainer(\n", "grpo"),
        ("[rank0] Using the RLOOTrainer with 4 processes\n", "rloo"),
        ("trl/trainer/sft_trainer.py:12 SFTTrainer: no packing\n", "sft"),
        ("Starting the trainer\n", None),
        ("MyGRPOTrainerish is no class of TRL\n", None),
    ],
)
def test_the_trainer_s_class_tells_the_algorithm(line: str, algorithm: str | None) -> None:
    setting = read(line + Console(20).start().train(range(1, 11)).text).info.settings.get("algorithm")
    assert (setting.value if setting else None) == algorithm
    assert setting is None or setting.kind == "inferred"
