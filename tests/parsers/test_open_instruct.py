"""open-instruct's console: panels at any width, two decimals, arguments."""

from __future__ import annotations

import pytest

from tests.parsers import made_frameworks as made
from tests.parsers.frameworks import column, events, noted, phases, read, setting


@pytest.mark.parametrize("width", [60, 80, 120, 400])
def test_panels_of_every_width_say_the_same(width: int) -> None:
    run = read(made.open_instruct(width=width), "open_instruct")
    steps = range(1, 6)
    assert column(run, "step") == [*steps]  # training_step, not the episodes in global_step
    assert column(run, "step_s") == pytest.approx([made.took(step) for step in steps])
    assert column(run, "len_mean") == pytest.approx([made.length(step) for step in steps])
    assert column(run, "reward") == pytest.approx([10 * made.reward(step) for step in steps])
    assert column(run, "truncated") == pytest.approx([0.09] * 5)
    assert set(column(run, "tokens")) == {100000.0}
    assert column(run, "lr") == [5e-7] * 5
    assert column(run, "loss") == [0.03] * 5


def test_what_two_decimals_lose_is_unknown() -> None:
    run = read(made.open_instruct(), "open_instruct")
    assert column(run, "kl") == [None] * 5
    assert noted(run, "two decimals")
    assert phases(run, 1)["time/saving"]["seconds"] == 0.0  # 0.00e+00 is a true zero


def test_generation_runs_beside_training() -> None:
    found = phases(read(made.open_instruct(), "open_instruct"), 2)
    assert found["time/group_generation_max"]["overlaps"]
    assert found["time/group_generation_max"]["phase"] == "rollout"
    assert found["time/group_generation_mean"]["parent"] == "time/group_generation_max"
    assert (found["time/trainer_waiting_for_data"]["phase"], found["time/weight_sync"]["phase"]) == (
        "wait",
        "weight_sync",
    )
    assert found["time/training"]["seconds"] == pytest.approx(0.4 * made.took(2), abs=0.006)


def test_arguments_tell_the_total() -> None:
    run = read(made.open_instruct(), "open_instruct")
    want = {"prompts_per_step": 32, "group_size": 16, "sequences_per_step": 512, "total_steps": 20, "max_tokens": 2048, "beta": 0.05,
            "async_mode": True, "save_steps": 200}  # fmt: skip
    assert {name: setting(run, name) for name in want} == want
    assert run.info.settings["total_steps"].kind == "inferred"


def test_stamps_of_the_logger_and_of_a_container() -> None:
    first, second = column(read(made.open_instruct(2), "open_instruct"), "at")
    assert (second - first).total_seconds() == 30
    text = "".join(
        f"2026-03-01T10:{place:02d}:00.5Z {line}\n"
        for place, line in enumerate(made.panel(made.panel_rows(3)).splitlines())
    )
    assert column(read(text, "open_instruct"), "at")[0].minute == len(text.splitlines()) - 1


def test_a_panel_without_its_edge_or_its_step_is_no_row() -> None:
    whole = made.open_instruct(2)
    cut = whole[: whole.rindex("╰")]
    assert column(read(cut, "open_instruct"), "step") == [1]
    rows = {name: text for name, text in made.panel_rows(3).items() if name != "other"}
    run = read(whole + made.panel(rows), "open_instruct")
    assert column(run, "step") == [1, 2]
    assert noted(run, "without training_step")


def test_a_panel_of_an_evaluation_is_an_event() -> None:
    run = read(made.open_instruct(2) + made.panel({"eval": "scores: 4.25 | sequence_lengths: 900.50"}), "open_instruct")
    (event,) = events(run, "evaluation")
    assert event["step"] == 2
    assert "eval/scores 4.25" in event["text"]
    assert not any(note.kind == "skipped" for note in run.notes)


def test_lines_of_others_inside_a_panel_and_colours() -> None:
    lines = made.panel(made.panel_rows(1)).splitlines()
    mixed = (
        "\n".join(f"\x1b[1;32m{line[:1]}\x1b[0m{line[1:]}\n(LLMRayActor pid=7) hello | a: 3" for line in lines) + "\n"
    )
    plain = read("\n".join(lines) + "\n", "open_instruct")
    assert read(mixed, "open_instruct").steps.drop("line").equals(plain.steps.drop("line"))
