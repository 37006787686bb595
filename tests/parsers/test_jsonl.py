"""JSON lines of any writer: names, merged rows, sessions, clocks, damaged lines."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsers
from parsers.base import Origin, Sure
from parsers.jsonl import JSONL
from parsers.windows import make_head
from timeledger.clock import clock
from timeledger.run import Run


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read(text: str, mapping: tuple[tuple[str, str], ...] = ()) -> Run:
    reader = JSONL.open(Origin("metrics.jsonl", mapping=mapping))
    reader.feed(text.encode())
    (run,) = reader.runs()
    return run


def sure(text: str) -> Sure:
    return JSONL.recognises(make_head(Origin("metrics.jsonl"), text.encode(), True)).sure


def column(run: Run, name: str) -> list[Any]:
    return run.steps[name].to_list()


def test_names_nesting_and_wrapping() -> None:
    run = read(
        lines({"iter": 3, "metrics": {"mean_reward": 0.5, "comp_len": 80.5}, "time": {"rollout": 7.5, "update": 2.5}})
        + lines(
            {"iter": 4, "metrics": {"mean_reward": 0.25, "comp_len": 81.5}, "time": {"rollout": 7.0, "update": 2.0}}
        )
    )
    assert column(run, "step") == [3, 4]
    assert column(run, "reward") == [0.5, 0.25]
    assert column(run, "len_mean") == [80.5, 81.5]
    assert run.phases.select("step", "phase", "seconds").rows() == [
        (3, "rollout", 7.5), (3, "update", 2.5), (4, "rollout", 7.0), (4, "update", 2.0),
    ]  # fmt: skip


def test_several_objects_of_a_step_are_one_row() -> None:
    run = read(
        lines(
            {"step": 7, "time": 1.75e9, "time/step": 72.5, "time/wait_for_batch": 50.0},
            {"step": 7, "time": 1.75e9 + 1, "reward/mean": 0.5, "seq_len/mean": 90.0},
            {"step": 8, "time": 1.75e9 + 73, "time/step": 73.5, "time/wait_for_batch": 51.0},
        )
    )
    assert column(run, "step") == [7, 8]
    assert column(run, "step_s") == [72.5, 73.5]
    assert column(run, "reward") == [0.5, None]
    assert (column(run, "at")[1] - column(run, "at")[0]).total_seconds() == 73
    assert run.phases["phase"].to_list() == ["wait", "wait"]
    assert column(run, "segment") == [0, 0]


def test_sessions() -> None:
    run = read(
        lines(
            *({"step": n, "loss": v, "elapsed_time": v} for n, v in ((0, 5.5), (0, 4.5), (1, 6.5), (2, 3.5), (1, 2.5)))
        )
    )
    assert column(run, "segment") == [0, 1, 1, 1, 2]
    assert column(run, "step_s") == [5.5, 4.5, 6.5, 3.5, 2.5]


def test_an_untimed_repeat_is_no_restart() -> None:
    run = read(lines({"step": 1, "loss": 0.5}, {"step": 1, "loss": 0.6}, {"step": 2, "loss": 0.7}))
    assert column(run, "loss") == [0.5, 0.7]
    assert column(run, "segment") == [0, 0]
    assert any("again" in note.text for note in run.notes)


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([1.75e9 + 30 * n for n in range(6)], "at"),
        ([30.5 * n + n % 2 for n in range(1, 7)], "elapsed_s"),
        ([30.5 + n % 2 for n in range(6)], "step_s"),
        ([30.5 + n / 10 for n in range(6)], "step_s"),
    ],
)
def test_a_key_called_time(values: list[float], role: str) -> None:
    run = read(lines(*({"step": n, "loss": 0.5, "time": value} for n, value in enumerate(values, 1))))
    assert column(run, role)[0] is not None
    assert all(column(run, other)[0] is None for other in {"at", "elapsed_s", "step_s"} - {role})


def test_counts_become_shares_only_over_the_rollouts() -> None:
    run = read(
        lines(
            {"step": 1, "reward": 0.5, "rollout_count": 20, "truncated_count": 5},
            {"step": 2, "reward": 0.5, "truncated_count": 5},
        )
    )
    assert column(run, "truncated") == [0.25, None]
    assert run.extra["truncated_count"].to_list() == [5.0, 5.0]


def test_percent_without_a_sign() -> None:
    run = read(lines({"step": 1, "acc": 0.8, "loss": 1}, {"step": 2, "acc": 41.0, "loss": 1}))
    assert column(run, "acc") == pytest.approx([0.008, 0.41])


def test_damaged_lines() -> None:
    text = 'starting up\n{"step": 1, "loss": NaN, "reward": 0.5, "kl": Infinity}\n{"step": 2, "reward": 0.6}\n[1, 2]\n{"step": 3, "rew'
    run = read(text + "\n")
    assert column(run, "reward") == [0.5, 0.6]
    assert column(run, "loss")[0] is None
    assert {(note.kind, note.count) for note in run.notes} == {("skipped", 1), ("skipped", 2)}
    assert [note.line for note in run.notes if "cut off" in note.text] == [5]


def test_text_stamps_and_totals() -> None:
    run = read(
        lines(
            {
                "global_step/max_steps": "5/40",
                "loss": 0.5,
                "timestamp": "2026-01-02T03:04:05Z",
                "elapsed_time": "1m 12s",
            }
        )
    )
    assert column(run, "step") == [5]
    assert run.info.setting("total_steps") == 40
    assert column(run, "elapsed_s") == [72.0]
    assert column(run, "at")[0].isoformat() == "2026-01-02T03:04:05+00:00"
    assert run.info.zone_known


@pytest.mark.parametrize(("took", "told"), [(13.0, 13.0), (832.0, 13.0)])
def test_a_counter_that_jumps_by_64_and_the_seconds_between_its_rows(took: float, told: float) -> None:
    """`step` counts answers: the rows' stamps say whether `step_time` is of one of them or of all 64."""
    rows = [
        {"step": 64 * n, "reward": 0.5, "step_time": took + n / 100, "timestamp": 1.77e9 + 832.0 * n}
        for n in range(1, 12)
    ]
    run = read(lines(*rows))
    assert run.steps["step_s"].to_list() == pytest.approx([told] * 11, rel=0.01)
    assert not [note for note in run.notes if note.kind == "guessed" and "read as" in note.text]
    for row in rows:
        del row["timestamp"]
    assert any("64 steps apart" in note.text and note.kind == "guessed" for note in read(lines(*rows)).notes)


def test_several_rows_a_step_are_no_restarts() -> None:
    rows = [{"step": n, "reward": 0.1 * k, "step_time": 3.0 + k} for n in range(1, 20) for k in range(4)]
    assert read(lines(*rows)).steps["segment"].n_unique() <= 2


def test_what_an_evaluation_took_is_told_by_its_row() -> None:
    step = {"loss": 0.5, "step_time": 9.0}
    run = read(
        lines(
            {"step": 1, **step},
            {"step": 1, "eval/acc": 0.7, "eval/time": 40.0},
            {"step": 2, **step},
            {"type": "eval", "step": 2, "acc": 0.9, "duration": 41.0},
            {"step": 3, **step},
            {"split": "val", "step": 3, "acc": 0.9, "elapsed": 900.0},
            {"step": 4, **step},
        )
    )
    assert column(run, "step_s") == [9.0] * 4
    assert run.phases.is_empty()
    assert run.events.select("kind", "step", "seconds").rows() == [
        ("evaluation", 1, 40.0),
        ("evaluation", 2, 41.0),
        ("evaluation", 3, None),
    ]


def test_evaluations_samples_and_unknown_keys() -> None:
    run = read(
        lines(
            {"step": 1, "loss": 0.5, "my_metric": 3.5},
            {"step": 1, "eval/acc": 0.7},
            {"type": "eval", "step": 1, "acc": 0.9},
            {"type": "sample", "step": 1, "reward": 1.0, "text": "2 + 2 = 4"},
        )
    )
    assert run.steps.height == 1
    assert (column(run, "acc"), column(run, "reward")) == ([None], [None])
    assert run.extra["my_metric"].to_list() == [3.5]
    assert run.events["kind"].to_list() == ["evaluation"]


def test_rows_without_a_step_are_counted() -> None:
    run = read(lines(*({"loss": v, "reward": v, "kl": v} for v in (0.5, 0.6, 0.7))))
    assert column(run, "step") == [1, 2, 3]
    assert any(note.kind == "guessed" for note in run.notes)


def test_own_names() -> None:
    run = read(lines({"t": 3, "q": 80, "loss": 0.5}), mapping=(("t", "step"), ("q", "len_mean")))
    assert (column(run, "step"), column(run, "len_mean")) == ([3], [80.0])


def test_recognises() -> None:
    assert sure(lines({"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.6})) == Sure.LIKELY
    assert sure(lines({"loss": 0.5, "reward": 1, "kl": 0.1})) == Sure.MAYBE
    for other in (
        lines({"prompt": "2 + 2", "answer": "4"}, {"prompt": "3", "answer": "5"}),
        lines({"id": 1, "score": 0.5}, {"id": 2, "score": 0.6}),
        lines({"step": 1, "note": "loss"}, {"step": 2, "note": "reward"}),
        '{\n "step": 1,\n "loss": 0.5\n}\n',
    ):
        assert sure(other) == Sure.NO


def test_read_by_detection() -> None:
    run = parsers.read(lines(*({"step": n, "reward": 0.5, "avg_gen_tokens": 80} for n in range(4))).encode())
    assert (run.info.format, column(run, "len_mean")) == ("jsonl", [80.0] * 4)


def test_a_full_time_stamp_is_taken_before_a_time_of_day_beside_it() -> None:
    rows = [
        {"step": n, "loss": 0.5, "timestamp": f"2026-01-02T10:00:{3 * n:02}Z", "time": f"12:00:{3 * n:02}"}
        for n in range(1, 6)
    ]
    run = read(lines(*rows))
    assert [at.strftime("%H:%M:%S") for at in column(run, "at")[:2]] == ["10:00:03", "10:00:06"]
    assert run.info.zone_known
    assert column(run, "elapsed_s") == [None] * 5


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.floats(-5, 5), st.floats(1, 1e4), st.floats(0.1, 1e3)), min_size=1, max_size=12),
    keys=st.sampled_from(
        [("step", "reward", "len_mean", "step_time"), ("global_step", "rew", "completion_length", "time/step")]
    ),
    cut=st.integers(0, 3000),
)
def test_any_run_reads_back_however_it_is_cut(
    rows: list[tuple[float, float, float]], keys: tuple[str, ...], cut: int
) -> None:
    text = lines(*(dict(zip(keys, (n, *row), strict=True)) for n, row in enumerate(rows)))
    data = text.encode()
    at = data.find(b"\n", cut) + 1
    reader = JSONL.open(Origin("metrics.jsonl"))
    reader.feed(data[:at])
    reader.runs()
    reader.feed(data[at:])
    (run,) = reader.runs()
    for name, place in (("reward", 0), ("len_mean", 1), ("step_s", 2)):
        assert column(run, name) == [row[place] for row in rows]
    assert not any(math.isnan(value) for value in column(run, "reward"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        ),
        max_size=8,
    )
)
def test_any_json_is_survived(records: list[Any]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    read(text)
    sure(text)


def _games(n: int, *, step: str = "global_step") -> dict[str, Any]:
    at = f"2026-03-01T10:{n // 60:02d}:{n % 60:02d}.250000"
    return {"timestamp": at, step: 100 * n, "games/ep_reward": 0.5, "games/ep_length": 90.0, "opponent": "self"}


def test_dated_rows_of_unknown_metrics_are_steps_on_the_axis_of_the_others() -> None:
    rows = [_games(n) | ({"train/pg_loss": 0.1, "train/entropy": 0.5} if n % 10 == 0 else {}) for n in range(40)]
    run = parsers.read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl")
    assert run.steps["step"].to_list() == [100 * n for n in range(40)]
    assert (run.steps["at"].count(), run.steps["loss"].count()) == (40, 4)
    assert clock(run).elapsed_s == pytest.approx(39.0, abs=1.1)


@pytest.mark.parametrize(
    "other",
    [_games(7, step="episode"), _games(7) | {"type": "games"}, _games(7) | {"completion": "x"}, {"global_step": 705, "a": 1, "b": 2},
     {"global_step": 705, "timestamp": "2026-03-01T10:00:07", "gpu": 4}],
)  # fmt: skip
def test_rows_of_another_axis_of_another_kind_or_without_a_moment_are_none(other: dict[str, Any]) -> None:
    rows = [_games(n) | {"train/pg_loss": 0.1, "train/entropy": 0.5} for n in range(20)]
    rows.insert(8, other)
    run = parsers.read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl")
    assert run.steps["step"].to_list() == [100 * n for n in range(20)]
