"""verl's console and file logger, in the shape of each generation."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from parsers.base import Format, Head, Origin, Reader, Sure
from parsers.build import RunBuilder
from parsers.text import Pieces
from parsers.verl import VERL, VERL_JSONL
from parsers.verl_keys import COLUMNS, PHASES, apply, is_validation, phase_of, timer
from parsers.verl_text import joined, metrics, step_line
from timeledger import schema
from timeledger.run import Run

#: One step of 256 sequences on 8 GPUs: phases sum to 59.9 of 60 seconds; validation is outside.
STEP: dict[str, float] = {
    "actor/entropy": 0.5, "actor/pg_loss": 0.01, "actor/pg_clipfrac": 0.0, "actor/kl_loss": 0.002,
    "actor/grad_norm": 0.25, "actor/lr": 1e-06, "perf/max_memory_allocated_gb": 68.5, "training/epoch": 0,
    "critic/score/mean": 0.75, "critic/rewards/mean": 0.5, "critic/advantages/mean": -0.01,
    "response_length/mean": 400.0, "response_length/max": 1024.0, "response_length/min": 12.0,
    "response_length/clip_ratio": 0.125, "prompt_length/mean": 100.0,
    "timing_s/agent_loop/slowest/response_length": 1024, "timing_s/agent_loop/num_preempted/mean": -1.0,
    "timing_s/agent_loop/generate_sequences/max": 29.0, "timing_s/generation_timing/topk_ratio": 0.5,
    "timing_s/generate_sequences": 20.0, "timing_s/gen": 30.0, "timing_s/reward": 0.5, "timing_s/old_log_prob": 4.4,
    "timing_s/ref": 5.0, "timing_s/adv": 0.0, "timing_s/update_actor": 15.0, "timing_s/update_weights": 5.0,
    "timing_s/step": 60.0, "timing_per_token_ms/gen": 0.3, "perf/total_num_tokens": 128000,
    "perf/time_per_step": 60.0, "perf/throughput": 128000 / 60 / 8,
}  # fmt: skip


def line(step: int, values: dict[str, Any] | None = None, **more: Any) -> str:
    found = dict(STEP if values is None else values) | {name.replace("__", "/"): value for name, value in more.items()}
    return f"step:{step} - " + " - ".join(f"{key}:{value}" for key, value in found.items())


def open_verl(name: str = "train.log", form: Format = VERL) -> Reader:
    return form.open(Origin(name))


def read_all(*lines: str, form: Format = VERL) -> tuple[Run, ...]:
    reader = open_verl(form=form)
    reader.feed(("\n".join(lines) + "\n").encode())
    return reader.runs()


def read(*lines: str, form: Format = VERL) -> Run:
    return read_all(*lines, form=form)[-1]


def sure(*lines: str, form: Format = VERL) -> Sure:
    data = "\n".join(lines).encode()
    return form.recognises(Head(Origin("x"), data, tuple(piece.text for piece in Pieces().split(data)), True)).sure


def phases(run: Run, step: int) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in run.phases.to_dicts() if row["step"] == step}


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
    assert run.extra["critic/score/mean"].to_list() == [0.75] if "critic/score/mean" in run.extra.columns else True


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
    more = {"timing_s__testing": testing} | ({"timing_s__save_checkpoint": save} if save else {})
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


def test_the_oldest_version_has_no_step_time_and_the_sum_stands_for_it() -> None:
    values = {"critic/kl": 0.25, "timing/gen": 20.0, "timing/ref": 3.0, "timing/update_actor": 7.0, "response_length/mean": 9.0}
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
        line(2, **{"timing_s__testing": 9.0, "val-core__gsm8k__acc__mean@1": 0.5}),
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


# --- the session ----------------------------------------------------------------------------------------------


def test_progress_total_and_end() -> None:
    run = read(
        "(TaskRunner pid=1) Size of train dataloader: 3, Size of val dataloader: 1",
        "(TaskRunner pid=1) Total training steps: 2",
        "(TaskRunner pid=1) \rTraining Progress:   0%|          | 0/2 [00:00<?, ?it/s]",
        line(1),
        "(TaskRunner pid=1) \rTraining Progress:  50%|█████     | 1/2 [01:01<01:01, 61.00s/it]" + "",
        "Training Progress: 100%|██████████| 2/2 [02:02<00:00, 61.00s/it]" + line(2),
    )
    assert run.info.number("total_steps") == 2
    assert run.info.number("verl.steps_per_epoch") == 3
    assert run.progress["elapsed_s"].to_list() == [0.0, 61.0, 122.0]
    assert run.progress["step"].to_list() == [0, 1, 2]
    assert run.steps["step"].to_list() == [1, 2]
    assert run.info.ended == "finished"


CONFIG = """\
{'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,
                                 'fsdp_config': {'optimizer_offload': False,
                                                 'param_offload': True},
                                 'optim': {'betas': [0.9, 0.999],
                                           'lr': 5e-07},
                                 'ppo_epochs': 1},
                       'model': {'path': 'org/mo{del',
                                 'override_config': {}},
                       'rollout': {'gpu_memory_utilization': 0.6,
                                   'enforce_eager': False,
                                   'n': 8,
                                   'val_kwargs': {'n': 1, 'do_sample': False}}},
 'algorithm': {'adv_estimator': 'grpo', 'kl_ctrl': {'kl_coef': 0.001, 'type': 'fixed'}, 'gamma': 1.0},
 'data': {'max_prompt_length': 512,
          'max_response_length': 1024,
          'train_batch_size': 32},
 'reward_model': {'n_gpus_per_node': 0, 'nnodes': 0},
 'trainer': {'n_gpus_per_node': 8,
             'nnodes': 2,
             'save_freq': -1,
             'test_freq': 5,
             'total_training_steps': None,
             'val_before_train': True}}""".splitlines()


def check_config(run: Run) -> None:
    values = {name: setting.value for name, setting in run.info.settings.items()}
    expected = {
        "prompts_per_step": 32, "group_size": 8, "sequences_per_step": 256, "max_tokens": 1024, "max_prompt_tokens": 512,
        "gpus": 16, "eval_steps": 5, "eval_at_start": True, "eval_at_end": True, "learning_rate": 5e-07,
        "gpu_memory_utilization": 0.6, "enforce_eager": False, "model": "org/mo{del", "algorithm": "grpo",
        "actor_rollout_ref.actor.fsdp_config.param_offload": True, "algorithm.kl_ctrl.kl_coef": 0.001,
        "actor_rollout_ref.rollout.val_kwargs.n": 1,
    }  # fmt: skip
    assert {name: values.get(name) for name in expected} == expected
    assert "save_steps" not in values
    assert "total_steps" not in values


def test_printed_configuration() -> None:
    check_config(read(*CONFIG, "next"))
    assert "data.train_batch_size" in read(*CONFIG).info.settings["prompts_per_step"].source


def test_printed_configuration_between_other_lines() -> None:
    prefix = "\x1b[36m(TaskRunner pid=5)\x1b[0m "
    mixed: list[str] = []
    for text in CONFIG:
        mixed += [prefix + text, "\x1b[36m(WorkerDict pid=6)\x1b[0m   warnings.warn(", prefix + "UserWarning: between"]
    check_config(read(*mixed))


def test_command_line_overrides() -> None:
    run = read(
        "+ python3 -m verl.trainer.main_ppo data.train_batch_size=8 +actor_rollout_ref.rollout.n=4 \\",
        "  'trainer.logger=[console,wandb]' trainer.n_gpus_per_node=2 trainer.test_freq=-1 algorithm.adv_estimator=rloo",
        "UserWarning: please set actor_rollout_ref.rollout.enforce_eager=True",
    )
    values = {name: setting.value for name, setting in run.info.settings.items()}
    assert (values["prompts_per_step"], values["group_size"], values["gpus"]) == (8, 4, 2)
    assert (values["sequences_per_step"], values["algorithm"], values["eval_at_end"]) == (32, "rloo", False)
    assert "enforce_eager" not in values
    assert "eval_steps" not in values


def test_a_step_that_comes_again_is_a_new_session() -> None:
    run = read(line(1), line(2), line(3), line(2, timing_s__step=61.0), line(3))
    assert run.steps.select("segment", "step").rows() == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert run.events["kind"].to_list() == ["restart"]


def test_a_resumed_session_goes_on_in_a_new_segment() -> None:
    run = read(line(1), line(2), "(TaskRunner pid=1) Setting global step to 2", line(3))
    assert run.steps.select("segment", "step").rows() == [(0, 1), (0, 2), (1, 3)]
    assert "resume" in run.events["kind"].to_list()
    alone = read("Setting global step to 40", line(41))
    assert set(alone.steps["segment"]) == {0}
    assert alone.events["step"].to_list() == [40]


def test_a_finished_run_and_a_fresh_start_are_two_runs() -> None:
    full = "Training Progress: 100%|██████████| 2/2 [02:02<00:00, 61.00s/it]"
    first, second = read_all(line(1), line(2), full, *CONFIG, "Total training steps: 9", line(1))
    assert (first.steps.height, first.info.ended) == (2, "finished")
    assert (second.steps.height, second.info.number("total_steps"), second.info.ended) == (1, 9, None)
    check = {name: setting.value for name, setting in second.info.settings.items()}
    assert check["group_size"] == 8


def test_ends() -> None:
    assert read(line(1), "Error executing job with overrides: ['a=b']", "Traceback (most recent call last):").info.ended == "crashed"
    assert read(line(1), "KeyboardInterrupt").info.ended == "interrupted"
    assert read(line(1), "^C").info.ended == "interrupted"
    assert read(line(1), "Traceback (most recent call last):", line(2)).info.ended is None
    assert read(line(1), "(Worker pid=3) Traceback (most recent call last):").info.ended is None


def test_engine_lines_inside_are_read() -> None:
    run = read(
        line(1),
        "(vLLMHttpServer pid=9) INFO 05-19 10:13:11 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 1055.3 tokens/s, Running: 18 reqs, Waiting: 43 reqs, GPU KV cache usage: 95.9%",
        "(SGLangHttpServer pid=9) [2026-02-27 04:46:39 TP0] Decode batch. #running-req: 8, #token: 1, token usage: 0.1, "
        "gen throughput (token/s): 186.6, #queue-req: 0",
    )
    assert run.engine["gen_tok_s"].to_list() == [1055.3, 186.6]


# --- the file logger ------------------------------------------------------------------------------------------


def record(step: int, values: dict[str, Any]) -> str:
    return json.dumps({"step": step, "data": values})


def test_file_logger() -> None:
    run = read(record(1, STEP), record(2, {**STEP, "actor/grad_norm": math.nan, "text": "x", "flag": True}), form=VERL_JSONL)
    assert run.steps["step"].to_list() == [1, 2]
    assert run.steps["grad_norm"].to_list() == [0.25, None]
    assert run.steps["sequences"].to_list() == [256.0, 256.0]
    assert "flag" not in run.extra.columns
    assert sure(record(1, STEP), form=VERL_JSONL) is Sure.CERTAIN


def test_file_logger_skips_what_is_no_record() -> None:
    bad = ["{", "[1]", '{"step": "1", "data": {}}', '{"step": true, "data": {}}', '{"step": 1}', "text"]
    run = read(record(1, STEP), *bad, record(2, STEP), form=VERL_JSONL)
    assert run.steps.height == 2
    (note,) = run.notes
    assert (note.kind, note.count, note.line) == ("skipped", len(bad), 2)


def test_null_is_missing() -> None:
    run = read(record(1, {**STEP, "actor/lr": None}), form=VERL_JSONL)
    assert run.steps["lr"].to_list() == [None]


# --- recognition and robustness -------------------------------------------------------------------------------


def test_recognition() -> None:
    assert sure("noise", "(TaskRunner pid=1) " + line(1)) is Sure.CERTAIN
    assert sure("step:0 - val/test_score/x:0.5") is Sure.CERTAIN
    assert sure(CONFIG[0]) is Sure.CERTAIN
    assert sure("+ python3 -m verl.trainer.main_ppo data.train_batch_size=8") is Sure.CERTAIN
    assert sure("timing_s/gen: 5.0") is Sure.LIKELY
    assert sure("step:3 - loss:0.5 - reward:0.1") is Sure.NO
    assert sure("{'loss': 0.5, 'reward': 0.1}", "Global step 1: {'policy_loss': 0.1}") is Sure.NO
    assert sure('{"step": 1, "data": {"loss": 0.5}}', form=VERL_JSONL) is Sure.NO
    assert sure('{"step": 1, "loss": 0.5}', form=VERL_JSONL) is Sure.NO


def test_any_split_gives_the_same_run() -> None:
    text = "\n".join([*CONFIG, "Total training steps: 3", line(1), line(2, timing_s__testing=20.0), "tail", line(3)]) + "\n"
    whole, parts = open_verl(), open_verl()
    whole.feed(text.encode())
    for each in text.splitlines(keepends=True):
        parts.feed(each.encode())
        parts.runs()
    first, second = whole.runs()[0], parts.runs()[0]
    assert first.info == second.info
    for name in ("steps", "phases", "events", "extra"):
        assert getattr(first, name).equals(getattr(second, name), null_equal=True), name


@pytest.mark.parametrize(
    "bad",
    ["step:1 - ", "step:1 - :5 - a/b:", "step:99999999999 - x/y:zz", "{'actor_rollout_ref': {{{{", "step:1 - a/b:np.float64(",
     "Setting global step to", "Training Progress: 0%|", "+ python3 -m verl.trainer.main_ppo 'unclosed a.b=1", "timing_s/:5"],
)  # fmt: skip
def test_bad_lines_never_raise(bad: str) -> None:
    run = read(bad, "between", line(5))
    assert run.steps["step"].to_list()[-1] == 5


def test_apply_takes_one_steps_metrics_from_anywhere() -> None:
    build = RunBuilder(Origin("events"), "tensorboard")
    apply(build, 4, STEP, at=datetime(2026, 1, 1, tzinfo=UTC))
    run = build.run()
    assert run.steps["at"].to_list() == [datetime(2026, 1, 1, tzinfo=UTC)]
    assert run.steps["sequences"].to_list() == [256.0]
    assert run.phases.height == 8
