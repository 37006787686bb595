"""AReaL's console: boxes of metrics, stamps of containers, roles before each line, restarts, and version 0.3's master."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, phases, read, setting
from timeledger.clock import clock as read_clock


def test_values_of_every_step() -> None:
    run = read(made.areal(), "areal")
    assert column(run, "step") == [1, 2, 3, 4, 5]
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in range(1, 6)], rel=1e-4)
    assert column(run, "reward") == pytest.approx([made.reward(step) for step in range(1, 6)], rel=1e-4)
    assert column(run, "grad_norm") == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
    assert column(run, "clipfrac") == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])
    assert set(column(run, "prompt_len")) == {90.0}
    assert set(column(run, "sequences")) == {8.0}
    assert (setting(run, "total_steps"), setting(run, "epochs")) == (20, 1)
    assert run.info.framework == "AReaL"
    assert run.info.zone_known
    assert run.info.ended is None


def test_the_prompt_is_no_part_of_the_length_and_the_longest_of_a_batch_is_not_truncated() -> None:
    run = read(made.areal(), "areal")
    assert run.extra["ppo_actor/seq_len/avg"].to_list() == pytest.approx(
        [made.length(s) + 90 for s in range(1, 6)], rel=1e-4
    )
    assert column(run, "len_max") == [None] * 5  # seq_len/max holds a prompt, nobody says which
    assert column(run, "truncated") == [None] * 5  # no_eos_ratios is the share of answers as long as the longest


def test_phases_and_the_time_by_the_stamps() -> None:
    run = read(made.areal(), "areal")
    found = phases(run, 3)
    assert found["timeperf/update_weights"]["phase"] == "weight_sync"
    assert found["timeperf/update_weights"]["seconds"] == 6.25
    assert found["timeperf/train_step"]["seconds"] == 6.5
    assert found["timeperf/train_step"]["phase"] == "update"
    assert column(run, "step_s") == [None] * 5
    walls = read_clock(run).steps["wall_s"].to_list()
    assert walls[1:] == pytest.approx([30.0] * 4, abs=0.9)


@pytest.mark.parametrize("old", [True, False])
def test_names_with_and_without_update(old: bool) -> None:
    tags = made.areal_tags(1, "grpo_actor", "" if old else "update/")
    run = read("\n".join(made.areal_step(1, 9, tags)) + "\n", "areal")
    row = run.steps.to_dicts()[0]
    assert (row["clipfrac"], row["lr"], row["ratio"], row["entropy"]) == (0.01, 1.7e-5, 1.001, 0.49)


def test_roles_in_front_of_lines_and_lines_of_others_inside_a_box() -> None:
    lines = made.areal_step(1, 9, made.areal_tags(1))
    mixed = [
        part
        for line in lines
        for part in (f"[trainer]    {line}", "[rollout]    20260301-10:00:30.260 RemoteInf INFO: hello 3/4")
    ]
    run = read("\n".join(mixed) + "\n", "areal")
    plain = read("\n".join(lines) + "\n", "areal")
    assert run.steps.drop("line").equals(plain.steps.drop("line"))
    assert run.phases.equals(plain.phases)
    assert plain.phases.height == 6


def test_another_start_is_another_segment() -> None:
    run = read(made.areal(3, total=3) + made.areal(2, total=3, minute=20), "areal")
    assert column(run, "segment") == [0, 0, 0, 1, 1]
    assert column(run, "step") == [1, 2, 3, 1, 2]
    assert len(events(run, "restart")) == 1
    assert len(events(run, "finish")) == 1
    assert run.info.ended is None  # the second session goes on
    finished = read(made.areal(3, total=3), "areal")
    assert finished.info.ended == "finished"


def test_a_crash_counts_until_training_goes_on() -> None:
    crash = 'Traceback (most recent call last):\n  File "x.py", line 1\nRuntimeError: out of luck\n'
    run = read(made.areal(3) + crash, "areal")
    assert run.info.ended == "crashed"
    assert events(run, "crash")[0]["text"] == "RuntimeError: out of luck"
    again = read(made.areal(3) + crash + made.areal(2, minute=20), "areal")
    assert again.info.ended is None
    assert [(row["segment"], row["text"]) for row in events(again, "crash")] == [(0, "RuntimeError: out of luck")]


def test_the_master_of_version_03() -> None:
    run = read(made.areal_master(), "areal")
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in range(1, 6)])
    assert column(run, "elapsed_s") == [30.0, 60.0, 90.0, 120.0, 150.0]
    assert set(column(run, "lr")) == {1.7e-5}  # of several updates the first one's box counts
    found = phases(run, 2)
    assert found["timeperf/actor_train_step/main"]["phase"] == "update"
    assert found["timeperf/actor_inference/main"]["seconds"] == 2.5
    assert setting(run, "total_steps") == 20
    assert run.progress.to_dicts()[-1] | {"segment": 0} == {
        "segment": 0,
        "step": 5,
        "total": 20,
        "elapsed_s": 150.0,
        "remaining_s": 450.0,
        "line": run.progress["line"][-1],
    }


def test_a_step_without_its_box_yet_has_no_row() -> None:
    text = made.areal(2)
    cut = text[: text.rindex("Train step 2/20 done.") + len("Train step 2/20 done.\n")]
    assert column(read(cut, "areal"), "step") == [1]
