"""W&B run files: log framing, rows by their own step, the profiler's tree, configuration, the end."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import detect, read
from parsers.base import Origin
from parsers.wandb_offline import WandbReader
from tests.parsers import wire
from timeledger.run import Run

WALL = 1_800_000_000.0
CALLS = ("transformers.generate", "my_reward", "_calculate_rewards", "_prepare_inputs",
         "_get_per_token_logps_and_entropies", "compute_loss")  # fmt: skip
SECONDS = {"transformers.generate": 1.0, "my_reward": 0.1, "_calculate_rewards": 0.2, "_prepare_inputs": 1.5,
           "_get_per_token_logps_and_entropies": 0.3, "compute_loss": 0.4}  # fmt: skip


def call(name: str, seconds: float, before: int, wall: float) -> bytes:
    key = f"profiling/Time taken: GRPOTrainer.{name}"
    return wire.history({key: seconds, "_timestamp": wall, "_step": 999, "train/global_step": before})


def row(step: int, wall: float, **more: Any) -> bytes:
    values = {"train/loss": 0.5, "train/step_time": 2.5, "train/completions/mean_length": 100.0 + step}
    named = {key.replace("__", "/"): value for key, value in more.items()}
    place = {"_timestamp": wall, "_runtime": wall - WALL, "_step": 7 * step, "train/global_step": step}
    return wire.history(values | named | place)


def step_records(step: int, *, calls: tuple[str, ...] = CALLS, before: int | None = None) -> list[bytes]:
    wall = WALL + 3.0 * step
    here = step - 1 if before is None else before
    return [*(call(name, SECONDS[name], here, wall) for name in calls), row(step, wall)]


def run_file(steps: int = 3, code: int | None = 0) -> bytes:
    records = [
        wire.run_record("my run", int(WALL)),
        wire.config({"per_device_train_batch_size": 8, "num_generations": 4, "max_steps": 9, "_wandb": {"t": 1}}),
    ]
    for step in range(1, steps + 1):
        records += step_records(step)
    if code is not None:
        records += [wire.blob(3, wire.blob(1, wire.item("train_runtime", 12.5))), wire.exit_record(code)]
    return wire.wandb_file(records)


def read_chunks(*chunks: bytes) -> Run:
    reader = WandbReader(Origin("run-abc123.wandb"))
    for chunk in chunks:
        reader.feed(chunk)
    return reader.runs()[0]


def test_rows_by_their_own_step() -> None:
    run = read(run_file(), name="run-abc123.wandb")
    assert (run.info.format, run.info.framework, run.info.name) == ("wandb", "TRL", "my run")
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert run.steps["len_mean"].to_list() == [101.0, 102.0, 103.0]
    assert run.steps["at"].to_list() == [datetime.fromtimestamp(WALL + 3 * step, UTC) for step in (1, 2, 3)]
    assert run.info.started_at == datetime.fromtimestamp(WALL + 0.5, UTC)
    assert run.info.setting("group_size") == 4
    assert run.info.setting("total_steps") == 9
    assert run.info.train_runtime_s == 12.5
    assert run.info.ended == "finished"


@pytest.mark.parametrize(("code", "ended"), [(0, "finished"), (255, "interrupted"), (1, "crashed"), (None, None)])
def test_exit_record(code: int | None, ended: str | None) -> None:
    run = read_chunks(run_file(3, code))
    assert run.info.ended == ended
    if ended in {"interrupted", "crashed"}:
        assert run.events.filter(kind="crash")["step"].to_list() == [3]


def test_calls_of_the_profiler_make_the_step() -> None:
    run = read_chunks(run_file())
    mine = run.phases.filter(step=2)
    top = mine.filter(mine["parent"].is_null())
    assert dict(top.select("name", "seconds").iter_rows()) == pytest.approx(
        {
            "transformers.generate": 1.0,
            "_calculate_rewards": 0.2,
            "_prepare_inputs (rest)": 0.3,
            "compute_loss": 0.4,
            "backward (step_time - the rest)": 0.6,
        }
    )
    assert top["seconds"].sum() == pytest.approx(2.5)
    assert mine.filter(name="my_reward")["parent"].to_list() == ["_calculate_rewards"]
    logps = "_get_per_token_logps_and_entropies (compute_loss)"
    assert mine.filter(name=logps)["parent"].to_list() == ["compute_loss"]


def test_log_probs_inside_prepare_inputs_are_their_own_part() -> None:
    calls = ("transformers.generate", "_get_per_token_logps_and_entropies", "_calculate_rewards", "_prepare_inputs",
             "compute_loss")  # fmt: skip
    run = read_chunks(wire.wandb_file([*step_records(1, calls=calls), *step_records(2, calls=calls)]))
    top = run.phases.filter(run.phases["parent"].is_null()).filter(step=2)
    named = dict(top.select("name", "seconds").iter_rows())
    assert named["_get_per_token_logps_and_entropies"] == pytest.approx(0.3)
    assert named["_prepare_inputs (rest)"] == pytest.approx(0.0)


def test_logging_interval_averages_the_calls() -> None:
    records = [wire.config({"per_device_train_batch_size": 8, "logging_steps": 2})]
    for step in (2, 4):  # W&B writes the step of the last logged row beside the profiler's calls
        records += [call(name, SECONDS[name], step - 2, WALL) for _ in range(2) for name in CALLS]
        records.append(row(step, WALL + 5.0 * step))
    run = read_chunks(wire.wandb_file(records))
    assert run.steps["span"].to_list() == [2, 2]
    generate = run.phases.filter(name="transformers.generate")
    assert generate.select("step", "seconds").rows() == [(2, 1.0), (4, 1.0)]


def test_calls_of_an_evaluation_are_left_out() -> None:
    records = [*step_records(1), *step_records(2)]
    records += [call(name, 10 * SECONDS[name], 2, WALL + 8) for name in CALLS]
    records.append(
        wire.history({"eval/loss": 0.4, "eval/runtime": 15.0, "_timestamp": WALL + 9, "train/global_step": 2})
    )
    records += step_records(3)
    run = read_chunks(wire.wandb_file(records))
    assert run.phases.filter(name="transformers.generate")["seconds"].to_list() == [1.0, 1.0, 1.0]
    assert run.events.select("kind", "step", "seconds").rows() == [("evaluation", 2, 15.0)]
    assert run.steps["step"].to_list() == [1, 2, 3]


def test_other_frameworks_use_the_row_counter() -> None:
    rows = [
        wire.history({"timing_s/gen": 4.0, "timing_s/step": 9.0, "response_length/mean": 80.0, "_step": step,
                      "_timestamp": WALL + 10 * step})
        for step in (1, 2)
    ]  # fmt: skip
    config = wire.config({
        "actor_rollout_ref": {"rollout": {"n": 5, "gpu_memory_utilization": 0.6}},
        "data": {"train_batch_size": 16, "max_response_length": 512}, "trainer": {"n_gpus_per_node": 8, "nnodes": 2},
    })  # fmt: skip
    run = read_chunks(wire.wandb_file([config, *rows]))
    assert run.info.framework == "verl"
    assert run.steps.select("step", "step_s").rows() == [(1, 9.0), (2, 9.0)]
    assert run.info.setting("group_size") == 5
    assert run.info.setting("sequences_per_step") == 80
    assert run.info.setting("gpus") == 16
    assert run.info.setting("gpu_memory_utilization") == 0.6


def test_rows_that_name_their_step_themselves() -> None:
    rows = [wire.history({"loss": 0.5, "step": step, "_step": 2 * step}) for step in (10, 20)]
    rows.append(wire.history({"eval/reward": 0.5, "eval/global_step": 20, "_step": 41}))
    run = read_chunks(wire.wandb_file(rows))
    assert run.steps.select("step", "span").rows() == [(10, 10), (20, 10)]
    assert run.events.select("kind", "step").rows() == [("evaluation", 20)]


def test_words_for_numbers_and_other_values() -> None:
    more = {
        "train__reward": "Infinity",
        "train__kl": "NaN",
        "train__note": "text",
        "train__flag": True,
        "train__hist": {"a": 1},
    }
    run = read_chunks(wire.wandb_file([row(1, WALL + 1, **more), row(2, WALL + 2)]))
    assert run.steps["reward"].to_list() == [float("inf"), None]
    assert run.steps["kl"].to_list() == [None, None]
    assert "train/note" not in run.extra.columns
    assert "train/flag" not in run.extra.columns


def test_records_larger_than_a_block() -> None:
    big = wire.blob(13, b"x" * 100_000)
    data = wire.wandb_file([*step_records(1), big, *step_records(2), big, *step_records(3)])
    assert read_chunks(data).steps["step"].to_list() == [1, 2, 3]


def test_damage_costs_a_block() -> None:
    pad = wire.blob(13, b"x" * 10_000)
    records = [record for step in range(1, 41) for record in (*step_records(step), pad)]
    data = bytearray(wire.wandb_file(records))
    data[3 * wire.BLOCK + 500] ^= 0xFF
    run = read_chunks(bytes(data))
    seen = run.steps["step"].to_list()
    assert len(seen) >= 34
    assert seen[-1] == 40
    assert run.steps["segment"].unique().to_list() == [0]
    assert [note.text for note in run.notes if note.kind == "skipped"] == [
        "a damaged block of the run file: reading went on behind it"
    ]


DATA = run_file(4)
WHOLE = read_chunks(DATA)


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, len(DATA)), max_size=10), ask=st.booleans())
def test_any_chunking_gives_the_same(cuts: list[int], ask: bool) -> None:
    reader = WandbReader(Origin("run-abc123.wandb"))
    for start, end in pairwise([0, *sorted(cuts), len(DATA)]):
        reader.feed(DATA[start:end])
        if ask:
            reader.runs()
    run = reader.runs()[0]
    assert all(getattr(run, name).equals(getattr(WHOLE, name)) for name in ("steps", "phases", "events", "extra"))
    assert run.info == WHOLE.info


def test_cut_at_any_byte() -> None:
    heights = [read_chunks(DATA[:end]).steps.height for end in range(0, len(DATA), 41)]
    assert heights == sorted(heights)
    assert set(heights) >= {0, 1, 2, 3, 4}


def test_detected_by_its_first_bytes() -> None:
    found, confidence = detect(DATA[:100], name="x")
    assert found is not None
    assert (found.name, confidence.sure.name) == ("wandb", "CERTAIN")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_flipped_bytes_never_raise(data: Any) -> None:
    bad = bytearray(DATA)
    for _ in range(data.draw(st.integers(1, 6))):
        bad[data.draw(st.integers(7, len(bad) - 1))] = data.draw(st.integers(0, 255))
    read_chunks(bytes(bad))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_noise_in_a_record_never_raises(noise: bytes) -> None:
    for field in (2, 3, 5, 17, 18):
        read_chunks(wire.wandb_file([wire.blob(field, noise), noise]))
