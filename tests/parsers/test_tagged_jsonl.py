"""JSON lines of frameworks' own names: prime-rl's metrics.jsonl of both processes, histories of other trackers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import parsers
from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, phases, read


def test_several_objects_are_one_step() -> None:
    run = read(made.prime_metrics(), "tagged_jsonl", "metrics.jsonl")
    assert run.info.framework == "prime-rl"
    assert column(run, "step") == [0, 1, 2, 3, 4]
    assert column(run, "step_s") == [made.took(step) for step in range(5)]  # not the clock under `time`
    assert set(column(run, "lr")) == {1e-6}
    assert set(column(run, "mem_gib")) == {61.5}
    assert column(run, "kl") == [None] * 5
    assert column(run, "at")[:2] == [
        datetime(2026, 3, 1, 10, 0, tzinfo=UTC),
        datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC),
    ]
    found = phases(run, 2)
    assert {row["phase"] for row in found.values()} == {"wait", "update", "weight_sync"}


def test_the_orchestrators_length_is_the_answers() -> None:
    run = read(made.prime_rollouts(), "tagged_jsonl", "metrics.jsonl")
    assert column(run, "len_mean") == [made.length(step) for step in range(5)]
    assert set(column(run, "prompt_len")) == {90.0}
    assert set(column(run, "tokens")) == {50_000.0}
    assert set(column(run, "sequences")) == {128.0}
    assert set(column(run, "truncated")) == {0.125}
    assert run.extra["seq_len/all/mean"][0] == made.length(0) + 90


@pytest.mark.parametrize(
    ("framework", "tags", "column_name"),
    [
        ("NeMo-RL", {"timing/train/total_step_time": 5.5, "train/mean_gen_tokens_per_sample": 210.5}, "len_mean"),
        ("SkyRL", {"timing/step": 5.5, "generate/avg_num_tokens": 210.5}, "len_mean"),
        (
            "AReaL",
            {"timeperf/rollout": 0.5, "ppo_actor/seq_len/avg": 300.5, "ppo_actor/prompt_len/avg": 90.0},
            "len_mean",
        ),
        ("slime", {"perf/step_time": 5.5, "perf/train_wait_time": 4.5, "rollout/raw_reward": 210.5}, "reward"),
    ],
)
def test_a_trackers_history_of_other_frameworks(framework: str, tags: dict[str, float], column_name: str) -> None:
    text = "".join(
        json.dumps({"_step": step, "_timestamp": 1_772_359_200.5 + step, **tags}) + "\n" for step in (1, 2, 3)
    )
    run = read(text, "tagged_jsonl", "history.jsonl")
    assert run.info.framework == framework
    assert column(run, column_name) == [210.5] * 3
    assert column(run, "at")[0] is not None


def test_a_file_that_begins_again_has_two_segments() -> None:
    run = read(made.prime_metrics(3) + made.prime_metrics(2), "tagged_jsonl", "metrics.jsonl")
    assert column(run, "segment") == [0, 0, 0, 1, 1]


def test_names_anyone_may_write_are_not_a_frameworks() -> None:
    rows = [{"step": step, "reward/mean": 0.5, "optim/lr": 1e-5, "time/total": 33.5} for step in (0, 1, 2)]
    assert (
        parsers.read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl").info.format
        == "jsonl"
    )


def test_broken_lines_are_skipped_and_counted() -> None:
    run = read(
        made.prime_metrics(2) + '{"step": 2, "time/st\nhello\n' + made.prime_metrics(3)[-200:].split("\n", 1)[1],
        "tagged_jsonl",
        "metrics.jsonl",
    )
    assert column(run, "step")[:2] == [0, 1]
    assert any(note.kind == "skipped" and note.count == 2 for note in run.notes)
