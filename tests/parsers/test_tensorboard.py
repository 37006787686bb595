"""Event files: framing, scalars of either style, rows by step, what ends a run, damage and torn ends."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import detect, read
from parsers.base import Origin
from parsers.crc32c import crc32c, masked
from parsers.tensorboard import EventReader
from tests.parsers import wire
from timeledger.run import Run

WALL = 1_800_000_000.0
ARGS = {
    "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "steps_per_generation": 2, "num_generations": 8,
    "generation_batch_size": 16, "max_steps": 30, "max_completion_length": 256, "logging_steps": 5, "beta": 0.04,
    "eval_strategy": "steps", "eval_steps": 10, "save_strategy": "no", "save_steps": 500, "use_vllm": False,
    "vllm_gpu_memory_utilization": 0.3,
}  # fmt: skip


def grpo(steps: range, first: float = 2.0) -> bytes:
    return wire.events(
        WALL,
        [
            (
                step,
                first + 2.0 * at,
                {
                    "train/loss": 0.5,
                    "train/num_tokens": 1000.0 * step,
                    "train/completions/mean_length": 100.0 + step,
                    "train/rewards/accuracy_reward/mean": 0.25,
                    "train/reward": 0.5 + step / 100,
                    "train/step_time": 1.75,
                    "train/epoch": step / 10,
                },
            )
            for at, step in enumerate(steps)
        ],
    )


def read_all(*chunks: bytes) -> Run:
    reader = EventReader(Origin("events.out.tfevents.1800000000.host", ("runs", "my-run")))
    for chunk in chunks:
        reader.feed(chunk)
    return reader.runs()[0]


def same(one: Run, other: Run) -> bool:
    frames = ("steps", "phases", "events", "extra")
    return all(getattr(one, name).equals(getattr(other, name)) for name in frames) and one.info == other.info


def test_checksum_is_castagnoli() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert masked(struct.pack("<Q", 0)) == struct.unpack_from("<I", wire.record(b""), 8)[0]


def test_rows_columns_and_times() -> None:
    run = read(grpo(range(1, 6)), name="events.out.tfevents.1800000000.host")
    assert run.info.format == "tensorboard"
    assert run.info.framework == "TRL"
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5]
    assert run.steps["span"].to_list() == [1] * 5
    assert run.steps["len_mean"].to_list() == [101.0, 102.0, 103.0, 104.0, 105.0]
    assert run.steps["step_s"].to_list() == [1.75] * 5
    assert run.steps["acc"].to_list() == [0.25] * 5
    assert run.steps["tokens"].to_list() == [1000.0] * 5
    assert run.steps["at"][0] == datetime.fromtimestamp(WALL + 2, UTC)
    assert [later - earlier for earlier, later in pairwise(run.steps["at"].dt.epoch("s").to_list())] == [2] * 4
    assert run.info.zone_known
    assert run.info.started_at == datetime.fromtimestamp(WALL, UTC)
    assert "train/rewards/accuracy_reward/mean" in run.extra.columns
    assert run.info.ended is None


def test_detected_by_content_not_by_name() -> None:
    found, confidence = detect(grpo(range(1, 3)), name="upload")
    assert found is not None
    assert found.name == "tensorboard"
    assert confidence.sure.name == "CERTAIN"


def test_arguments_become_settings() -> None:
    data = wire.start(WALL) + wire.event(WALL, 0, wire.text("args/text_summary", ARGS)) + grpo(range(5, 31, 5))
    run = read_all(data)
    told = {name: setting.value for name, setting in run.info.settings.items()}
    assert told["total_steps"] == 30
    assert told["group_size"] == 8
    assert told["max_tokens"] == 256
    assert told["eval_steps"] == 10
    assert "save_steps" not in told  # the strategy is "no"
    assert "gpu_memory_utilization" not in told  # no engine is used
    assert told["sequences_per_step"] == 16  # 2 processes x 4 x 2
    assert told["prompts_per_step"] == 2
    assert run.info.settings["sequences_per_step"].kind == "inferred"
    assert run.steps["span"].to_list() == [5] * 6
    assert run.steps["tokens"].to_list() == [1000.0] * 6


def test_evaluation_is_an_event_and_no_row() -> None:
    rows: list[tuple[int, float, dict[str, float]]] = [
        (10, 5.0, {"train/loss": 1.0, "train/epoch": 0.1}),
        (12, 9.5, {"eval/loss": 0.9, "eval/runtime": 3.25, "eval/reward": 0.75, "train/epoch": 0.12}),
        (20, 12.0, {"train/loss": 0.8, "train/epoch": 0.2}),
    ]
    run = read_all(wire.events(WALL, rows))
    assert run.steps["step"].to_list() == [10, 20]
    event = run.events.row(0, named=True)
    assert (event["kind"], event["step"], event["seconds"]) == ("evaluation", 12, 3.25)
    assert "eval/reward 0.75" in event["text"]


def test_end_of_run_and_a_clock_in_every_row() -> None:
    end = {
        "train/train_runtime": 21.5,
        "train/train_samples_per_second": 3.0,
        "train/train_loss": 0.5,
        "train/epoch": 0.4,
    }
    finished = read_all(grpo(range(1, 5)) + wire.events(WALL, [(4, 20.0, end)]))
    assert finished.info.ended == "finished"
    assert finished.info.train_runtime_s == 21.5
    assert finished.events["kind"].to_list() == ["finish"]
    assert finished.steps["elapsed_s"].null_count() == 4
    rows = [(step, 1.0 * step, {"train/loss": 1.0, "train/train_runtime": 1.5 * step}) for step in (1, 2, 3)]
    running = read_all(wire.events(WALL, rows))
    assert running.steps["elapsed_s"].to_list() == [1.5, 3.0, 4.5]
    assert running.info.ended is None
    assert running.info.train_runtime_s is None


def test_step_that_goes_back_is_a_segment() -> None:
    again = grpo(range(3, 6), first=60.0)[len(wire.start(WALL)) :]
    run = read_all(grpo(range(1, 5)) + again)
    assert run.steps.select("segment", "step").rows() == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (1, 5)]
    assert run.steps.filter(segment=1)["tokens"].to_list() == [None, 1000.0, 1000.0]


def test_metrics_that_lag_do_not_open_a_segment() -> None:
    rows: list[tuple[int, float, dict[str, float]]] = [
        (1, 1.0, {"train/loss": 1.0}),
        (2, 2.0, {"train/loss": 0.9}),
        (1, 2.5, {"train/my_score_of_step": 0.5}),
        (3, 3.0, {"train/loss": 0.8}),
    ]
    run = read_all(wire.events(WALL, rows))
    assert run.steps["segment"].to_list() == [0, 0, 0]
    assert run.extra.filter(step=1)["train/my_score_of_step"].to_list() == [0.5]


def test_later_value_of_a_step_wins() -> None:
    rows = [(1, 1.0, {"train/loss": 1.0}), (1, 1.5, {"train/loss": 2.0}), (2, 2.0, {"train/loss": 3.0})]
    run = read_all(wire.events(WALL, rows))
    assert run.steps["loss"].to_list() == [2.0, 3.0]
    assert run.steps["segment"].to_list() == [0, 0]


def test_verl_phases_and_validation_step() -> None:
    rows: list[tuple[int, float, dict[str, float]]] = [(0, 1.0, {"val-core/gsm8k/reward/mean@1": 0.2})]
    for step in (1, 2):
        times = {"generate_sequences": 3.0, "gen": 4.0, "update_actor": 5.0, "adv": 0.5, "step": 9.6}
        metrics = {f"timing_s/{name}": seconds for name, seconds in times.items()} | {"response_length/mean": 250.0}
        rows.append((step, 10.0 * step, metrics))
    run = read_all(wire.events(WALL, rows))
    assert run.info.framework == "verl"
    assert run.steps["step"].to_list() == [1, 2]
    assert run.steps["step_s"].to_list() == pytest.approx([9.6, 9.6], rel=1e-6)
    phases = run.phases.filter(step=1)
    assert dict(phases.select("name", "phase").iter_rows()) == {
        "generate_sequences": "rollout", "gen": "rollout", "update_actor": "update", "adv": "advantage",
    }  # fmt: skip
    assert phases.filter(name="generate_sequences")["parent"].to_list() == ["gen"]
    assert run.events.select("kind", "step").row(0) == ("evaluation", 0)


def test_other_axes_make_no_rows() -> None:
    rows: list[tuple[int, float, dict[str, float]]] = [
        (0, 0.1, {"timing/setup/total_setup_time": 120.0}),
        (730, 0.2, {"ray/node.0.gpu.0.util": 98.0}),
        (1, 5.0, {"train/reward": 0.5, "timing/train/total_step_time": 4.0, "timing/train/generation": 3.0}),
        (2, 9.0, {"train/reward": 0.6, "timing/train/total_step_time": 4.5, "timing/train/generation": 3.5}),
    ]
    run = read_all(wire.events(WALL, rows))
    assert run.info.framework == "NeMo-RL"
    assert run.steps.select("segment", "step", "step_s").rows() == [(0, 1, 4.0), (0, 2, 4.5)]
    assert run.phases["phase"].to_list() == ["rollout", "rollout"]


def test_names_nobody_knows_still_give_times() -> None:
    rows = [(step, 3.0 * step, {"my/strange_thing": float(step)}) for step in range(1, 301)]
    run = read_all(wire.events(WALL, rows))
    assert run.steps["step"].to_list() == list(range(1, 301))
    assert run.extra["my/strange_thing"].to_list() == [float(step) for step in range(1, 301)]


def test_not_a_number_is_missing_and_infinity_is_kept() -> None:
    rows = [(1, 1.0, {"train/loss": float("nan"), "train/reward": float("inf")})]
    run = read_all(wire.events(WALL, rows))
    assert run.steps["loss"].to_list() == [None]
    assert [note.text for note in run.notes] == ["loss is not a number (NaN)"]
    assert run.steps["reward"].to_list() == [float("inf")]


def test_tensor_scalars() -> None:
    def value(tag: str, tensor: bytes) -> bytes:
        return wire.blob(1, tag) + wire.blob(9, wire.blob(1, wire.blob(1, "scalars"))) + wire.blob(8, tensor)

    kinds = [
        wire.number(1, 1) + wire.blob(4, struct.pack("<f", 0.5)),  # content of a float
        wire.number(1, 1) + wire.blob(5, struct.pack("<f", 0.5)),  # packed float
        wire.number(1, 1) + wire.single(5, 0.5),  # plain float
        wire.number(1, 2) + wire.blob(4, struct.pack("<d", 0.5)),
        wire.number(1, 2) + wire.double(6, 0.5),
    ]
    data = wire.start(WALL)
    for step, tensor in enumerate(kinds, 1):
        data += wire.event(WALL + step, step, value("train/loss", tensor))
    whole = wire.number(1, 9) + wire.number(10, 7)
    data += wire.event(WALL + 9, 9, value("train/loss", whole))
    many = wire.number(1, 1) + wire.blob(5, struct.pack("<ff", 1.0, 2.0))
    data += wire.event(WALL + 10, 10, value("train/loss", many))
    assert read_all(data).steps["loss"].to_list() == [0.5] * 5 + [7.0]


def test_several_values_in_one_event() -> None:
    data = wire.start(WALL) + b"".join(
        wire.event(WALL + step, step, wire.scalar("train/loss", 1.0), wire.scalar("train/reward", 2.0))
        for step in (1, 2)
    )
    run = read_all(data)
    assert run.steps.select("loss", "reward").rows() == [(1.0, 2.0), (1.0, 2.0)]


def test_damage_stops_and_says_where() -> None:
    good = grpo(range(1, 4))
    bad = bytearray(grpo(range(4, 9))[len(wire.start(WALL)) :])
    bad[2] ^= 0xFF  # the length of the first record
    run = read_all(good + bytes(bad))
    assert [note.text for note in run.notes] == [
        f"the event file is damaged at byte {len(good)}: what follows was not read"
    ]
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert run.steps["len_mean"].to_list() == [101.0, 102.0, 103.0]


def test_zeros_behind_the_end() -> None:
    run = read_all(grpo(range(1, 4)) + b"\0" * 5000)
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert any("damaged" in note.text for note in run.notes)


def test_a_flood_of_names_is_bounded() -> None:
    data = wire.start(WALL) + b"".join(
        wire.event(WALL + at, at + 1, wire.scalar(f"train/made_up_{at}", 1.0)) for at in range(2100)
    )
    run = read_all(data)
    assert run.extra.width <= 2002
    assert any("metric names" in note.text for note in run.notes)


LIVE = grpo(range(1, 8)) + wire.events(WALL, [(7, 20.0, {"eval/loss": 1.0, "eval/runtime": 2.0})])
WHOLE = read_all(LIVE)


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, len(LIVE)), max_size=12), ask=st.booleans())
def test_any_chunking_and_any_asking_gives_the_same(cuts: list[int], ask: bool) -> None:
    reader = EventReader(Origin("events.out.tfevents.1800000000.host", ("runs", "my-run")))
    for start, end in pairwise([0, *sorted(cuts), len(LIVE)]):
        reader.feed(LIVE[start:end])
        if ask:
            reader.runs()
    run = reader.runs()[0]
    assert same(run, WHOLE)


def test_cut_at_any_byte() -> None:
    data = grpo(range(1, 4))
    heights = []
    for end in range(len(data)):
        run = read_all(data[:end])
        assert not run.notes
        heights.append(run.steps.height)
    assert heights == sorted(heights)
    assert heights[-1] == 3


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_flipped_bytes_never_raise(data: Any) -> None:
    bad = bytearray(LIVE)
    for _ in range(data.draw(st.integers(1, 6))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    run = read_all(bytes(bad))
    assert isinstance(run.steps, pl.DataFrame)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=600))
def test_noise_never_raises(noise: bytes) -> None:
    read_all(wire.start(WALL) + noise)
    read_all(wire.start(WALL) + wire.record(noise))
