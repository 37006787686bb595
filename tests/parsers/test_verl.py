"""verl's console and file logger, in the shape of each generation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from parsers.verl_keys import COLUMNS, PHASES, is_validation, phase_of, timer
from parsers.verl_text import joined, metrics, step_line
from tests.parsers.verl_lines import STEP, line, phases, read
from timeledger import schema

# --- values ---------------------------------------------------------------------------------------------------


def test_one_step_fills_the_columns() -> None:
    (row,) = read(line(7)).steps.to_dicts()
    expected = {
        "step": 7, "step_s": 60.0, "len_mean": 400.0, "len_max": 1024.0, "len_min": 12.0, "truncated": 0.125,
        "prompt_len": 100.0, "tokens": 128000.0, "reward": 0.5, "adv_mean": -0.01, "clipfrac": 0.0, "kl": 0.002,
        "entropy": 0.5, "grad_norm": 0.25, "lr": 1e-06, "loss": 0.01, "mem_gib": 68.5, "epoch": 0.0, "sequences": 256.0,
        "gen_tok_s": None, "acc": None, "wall_s": None, "line": 1,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_gpus_and_sequences_follow_exactly() -> None:
    settings = read(line(1)).info.settings
    assert (settings["gpus"].value, settings["gpus"].kind) == (8, "inferred")
    assert (settings["sequences_per_step"].value, settings["sequences_per_step"].kind) == (256, "inferred")
    inexact = read(line(1, perf__total_num_tokens=128190)).info.settings
    assert "sequences_per_step" not in inexact
    assert "gpus" not in inexact


def test_numpy_scalars_prefixes_and_repetition_marks() -> None:
    text = "\x1b[36m(TaskRunner pid=46, ip=10.0.0.1)\x1b[0m " + line(
        3, actor__grad_norm="np.float64(0.125)", num_turns__min="np.int32(6)", actor__lr="np.float32(1e-06)"
    )
    run = read(text + "\x1b[32m [repeated 7x across cluster]\x1b[0m")
    (row,) = run.steps.to_dicts()
    assert (row["grad_norm"], row["lr"], row["step_s"]) == (0.125, 1e-06, 60.0)
    assert run.extra["num_turns/min"].to_list() == [6.0]
    assert run.extra["critic/score/mean"].to_list() == [0.75], "second to critic/rewards/mean, but kept"


def test_a_clip_ratio_below_the_limit_is_no_truncation() -> None:
    command = "+ python3 -m verl.trainer.main_ppo data.max_response_length={} data.x=1 data.y=2"
    assert read(command.format(1024), line(1)).steps["truncated"].to_list() == [0.125]
    run = read(command.format(2048), line(1))
    assert run.steps["truncated"].to_list() == [None]
    assert [note.kind for note in run.notes] == ["missing"]


def test_three_decimals_hide_small_values() -> None:
    run = read(line(1, actor__lr="0.000", actor__kl_loss="-0.000", actor__pg_clipfrac="0.000"))
    (row,) = run.steps.to_dicts()
    assert row["lr"] is None
    assert row["kl"] is None
    assert row["clipfrac"] == 0.0
    assert {note.kind for note in run.notes} == {"missing"}
    assert read(line(1, actor__lr=0.0)).steps["lr"].to_list() == [0.0], "a printed 0.0 of later versions is zero"


def test_not_finite_values_are_missing_and_noted() -> None:
    run = read(line(1, actor__grad_norm="nan", actor__pg_loss="inf"))
    (row,) = run.steps.to_dicts()
    assert row["grad_norm"] is None
    assert row["loss"] is None
    assert sorted(note.text for note in run.notes) == ["actor/grad_norm is nan", "actor/pg_loss is inf"]


def test_the_word_step_inside_keys_is_no_step_line() -> None:
    assert step_line("timing_s/step:1065.77 - perf/time_per_step:12.0 - x:1") is None
    assert step_line("step: 3 - the model said") is None
    assert step_line("bar]step:4 - a/b:1") == (4, "a/b:1")
    found, hidden = metrics("val-core/open ai/math-500/acc/mean@1:0.5 - time:12:0.25 - flag:True - a/b:-0.000")
    assert found == {"val-core/open ai/math-500/acc/mean@1": 0.5, "time:12": 0.25, "a/b": -0.0}
    assert hidden == []


# --- phases ---------------------------------------------------------------------------------------------------


def test_phases_have_canonical_names_parents_and_nothing_that_is_no_time() -> None:
    found = phases(read(line(1)), 1)
    assert {name: row["phase"] for name, row in found.items()} == {
        "generate_sequences": "rollout", "gen": "rollout", "reward": "reward", "old_log_prob": "old_logprob",
        "ref": "ref_logprob", "adv": "advantage", "update_actor": "update", "update_weights": "weight_sync",
    }  # fmt: skip
    assert found["generate_sequences"]["parent"] == "gen"
    assert found["gen"]["parent"] is None
    top = [row["seconds"] for row in found.values() if row["parent"] is None]
    assert sum(top) == pytest.approx(59.9)
    run = read(line(1))
    assert run.extra["timing_s/agent_loop/slowest/response_length"].to_list() == [1024.0]


@pytest.mark.parametrize(
    ("step_s", "testing", "save", "expected"),
    [
        (60.0, 20.0, None, {"testing": True}),
        (80.0, 20.0, None, {"testing": False}),
        (70.0, 20.0, 10.0, {"testing": True, "save_checkpoint": False}),
        (90.0, 20.0, 10.0, {"testing": False, "save_checkpoint": False}),
        (60.0, 20.0, 10.0, {"testing": True, "save_checkpoint": True}),
        (70.0, 20.0, None, {"testing": None}),
        (60.0, 0.05, None, {"testing": None}),
    ],
)
def test_where_validation_lies_is_told_by_the_numbers(
    step_s: float, testing: float, save: float | None, expected: dict[str, bool | None]
) -> None:
    more: dict[str, Any] = {"timing_s__testing": testing} | ({"timing_s__save_checkpoint": save} if save else {})
    run = read(line(1, timing_s__step=step_s, perf__time_per_step=step_s, **more))
    assert {name: row["outside"] for name, row in phases(run, 1).items() if name in expected} == expected
    kinds = run.events["kind"].to_list()
    assert kinds == ["evaluation"] + ["checkpoint"] * (save is not None)
    assert run.events["seconds"].to_list()[0] == testing


def test_forks_keep_their_own_phases() -> None:
    values = {key: value for key, value in STEP.items() if key != "timing_s/gen"}
    run = read(line(1, values, timing_s__get_batch_rollout_with_filtering=30.0, timing_s__teacher_forward=1.0))
    found = phases(run, 1)
    assert found["get_batch_rollout_with_filtering"]["phase"] == "rollout"
    assert found["generate_sequences"]["parent"] == "get_batch_rollout_with_filtering"
    assert (found["teacher_forward"]["phase"], found["teacher_forward"]["outside"]) == ("other", None)


def test_asynchronous_generation_overlaps_and_waiting_is_waiting() -> None:
    values = {"timing_s/wait_prev_gen": 5.0, "timing_s/generate_async": 50.0, "timing_s/sync_rollout_weights": 2.0}
    found = phases(read(line(1, {**values, "timing_s/step": 60.0})), 1)
    assert found["generate_async"]["overlaps"] is True
    assert (found["wait_prev_gen"]["phase"], found["sync_rollout_weights"]["phase"]) == ("wait", "weight_sync")


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("gen_layer2", "rollout"), ("wait_for_rollout", "wait"), ("sync_weights_to_rollout", "weight_sync"),
        ("compute_rm_score", "reward"), ("validate_on_rollout", "evaluation"), ("save_hf_model", "checkpoint"),
        ("offload_model", "sleep_wake"), ("something_new", "other"), ("regenerate", "other"),
        ("dump_rollout_generations", "other"), ("timing_s/param_sync", "weight_sync"),
    ],
)  # fmt: skip
def test_names_of_phases_go_by_their_words(name: str, phase: str) -> None:
    assert phase_of(name) == phase


def test_tables_name_only_what_the_schema_knows() -> None:
    assert set(COLUMNS.values()) <= set(schema.STEPS)
    assert set(PHASES.values()) <= set(schema.PHASE_NAMES)
    assert timer("timing_s/step") is None
    assert timer("timing_per_token_ms/gen") is None
    assert timer("timing/gen") == "gen"


def test_a_checkpoint_timed_after_the_last_step_belongs_to_it() -> None:
    run = read(line(1), "step:1 - timing/save_checkpoint:12.5")
    assert run.steps["step_s"].to_list() == [60.0]
    assert phases(run, 1)["save_checkpoint"]["seconds"] == 12.5
    assert run.events["kind"].to_list() == ["checkpoint"]
    assert run.notes == ()


def test_the_oldest_version_has_no_step_time_and_the_sum_stands_for_it() -> None:
    values = {
        "critic/kl": 0.25,
        "timing/gen": 20.0,
        "timing/ref": 3.0,
        "timing/update_actor": 7.0,
        "response_length/mean": 9.0,
    }
    run = read(line(0, values), line(1, values))
    assert run.steps["step"].to_list() == [0, 1], "steps of that version begin at 0"
    assert run.steps["step_s"].to_list() == [30.0, 30.0]
    assert [note.kind for note in run.notes] == ["guessed"]
    assert run.notes[0].count == 2


# --- lines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 61, 77, 100, 133, 200])
def test_a_step_line_broken_by_a_terminal_is_joined(width: int) -> None:
    whole = line(2, actor__lr="np.float64(1e-06)")
    broken = [whole[at : at + width] for at in range(0, len(whole), width)]
    run = read("(TaskRunner pid=0) " + broken[0], *broken[1:], "an ordinary line", line(3))
    first, second = run.steps.to_dicts()
    whole_row = read(whole, line(3)).steps.to_dicts()[0]
    assert {key: value for key, value in first.items() if key != "line"} == {
        key: value for key, value in whole_row.items() if key != "line"
    }
    assert second["step"] == 3
    assert [note.kind for note in run.notes] == ["repaired"]


@pytest.mark.parametrize(
    "follow",
    ["an ordinary line", "45", "12.5 tokens", "(TaskRunner pid=1) a/b:1 - c/d:2", "step:3 - a/b:1", "x 3%|#| 1/2 [00:01<00:01]",
     "INFO:2026-01-01 10:00:00,000:done", "key:5", ""],
)  # fmt: skip
def test_what_follows_a_step_line_is_not_its_rest(follow: str) -> None:
    assert joined("a/b:1 - timing_s/step:60.5", follow, wrapped=False) is None


def test_several_partial_lines_make_one_step() -> None:
    head = {key: value for key, value in STEP.items() if not key.startswith("timing_s/")}
    tail = {key: value for key, value in STEP.items() if key.startswith("timing_s/")}
    run = read("step:1 - timing_s/param_sync:2.0", line(1, head), line(1, tail), line(2))
    assert run.steps["step"].to_list() == [1, 2]
    assert run.steps["step_s"].to_list() == [60.0, 60.0]
    assert run.info.name
    assert phases(run, 1)["param_sync"]["seconds"] == 2.0
    assert set(run.steps["segment"]) == {0}


def test_a_repeated_line_counts_once() -> None:
    run = read(line(1), line(1), line(2))
    assert run.steps.height == 2
    assert run.phases.height == 2 * len(phases(run, 1))


def test_evaluations_alone_are_events_not_steps() -> None:
    run = read(
        "step:0 - val-core/gsm8k/acc/mean@1:0.25 - val-aux/num_turns/min:2",
        line(1),
        line(2, {**STEP, "timing_s/testing": 9.0, "val-core/gsm8k/acc/mean@1": 0.5}),
        "step:2 - val-core/gsm8k/acc/mean@1:0.5",
    )
    assert run.steps["step"].to_list() == [1, 2]
    found = [(row["step"], row["kind"], row["seconds"]) for row in run.events.to_dicts()]
    assert found == [(0, "evaluation", None), (2, "evaluation", 9.0)]
    assert "val-core/gsm8k/acc/mean@1 0.25" in run.events["text"][0]
    assert is_validation({"val/test_score/x": 0.0})
    assert not is_validation({})


def test_a_list_of_one_key_a_line_is_a_step_numbered_by_the_bar() -> None:
    run = read(
        "Training: 1%| | 4/150 [30:16<75:11:52, 1816.86s/it]",
        "timing_s/gen: 424.5", "timing_s/step:       1816.5   (100%)", "'perf/total_num_tokens': 3830959,", "done",
    )  # fmt: skip
    (row,) = run.steps.to_dicts()
    assert (row["step"], row["step_s"], row["tokens"]) == (4, 1816.5, 3830959.0)
    assert run.info.number("total_steps") == 150
    assert [note.kind for note in run.notes] == ["guessed"]


def test_stamps_before_the_line_are_kept() -> None:
    run = read("2026-05-12T08:01:39.5Z (TaskRunner pid=1) " + line(1))
    assert run.steps["at"].to_list() == [datetime(2026, 5, 12, 8, 1, 39, 500000, tzinfo=UTC)]


def test_means_over_other_answers_than_the_counted_tokens_give_no_count() -> None:
    """Tool turns add tokens: the quotient comes near a whole number by chance only."""
    found = [read(line(1, perf__total_num_tokens=500.0 * 1114 + off)).steps["sequences"][0] for off in (0, 15, 30)]
    assert found == [1114.0, None, None]
    three_decimals = line(1, response_length__mean=386.719, prompt_length__mean=198.125, perf__total_num_tokens=37430)
    assert read(three_decimals).steps["sequences"][0] == 64


def test_a_line_cut_by_wandb_loses_its_last_number_and_says_so() -> None:
    body = line(2, {**STEP, **{f"val-aux/task/reward/best@{n}/mean": 0.125 for n in range(1, 400)}})
    run = read(line(1), f"{body[:4090]}1234.5"[:4096], line(3))
    assert run.steps["step"].to_list() == [1, 2, 3]
    assert not any(1234 <= (value or 0) < 1235 for value in run.extra.row(1))
    assert [(note.kind, note.line) for note in run.notes if "4,096" in note.text] == [("missing", 2)]


def test_the_sft_trainer() -> None:
    bar = "Epoch 2/3:  50%|█████     | 31/62 [01:00<01:00,  1.9s/it]"
    lines = [f"step:{step} - train/loss:0.5 - train/lr(1e-3):0.002 - train/time(s):{4 + step}.5" for step in (1, 2, 3)]
    run = read(bar, *lines)
    assert run.steps.select("step", "loss", "lr", "step_s").rows() == [
        (1, 0.5, 2e-6, 5.5),
        (2, 0.5, 2e-6, 6.5),
        (3, 0.5, 2e-6, 7.5),
    ]
    assert run.info.setting("total_steps") == 186


def test_a_step_behind_a_logger_without_a_blank() -> None:
    run = read(*(f"INFO:2026-03-02 10:0{step}:00,123:{line(step)}" for step in (1, 2)))
    assert run.steps["step"].to_list() == [1, 2]
