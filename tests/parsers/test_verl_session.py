"""verl logs as a whole: configuration, progress, restarts, ends, the file logger, recognition."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from parsers.base import Origin, Sure
from parsers.build import RunBuilder
from parsers.verl import VERL
from parsers.verl_jsonl import VERL_JSONL
from parsers.verl_keys import apply
from tests.parsers.alike import same_in_pieces
from tests.parsers.verl_lines import STEP, line, read, read_all, sure
from timeledger.run import Run

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
    assert (
        read(line(1), "Error executing job with overrides: ['a=b']", "Traceback (most recent call last):").info.ended
        == "crashed"
    )
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
    run = read(
        record(1, STEP), record(2, {**STEP, "actor/grad_norm": math.nan, "text": "x", "flag": True}), form=VERL_JSONL
    )
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
    assert sure(json.dumps({"text": line(1)})) is Sure.NO, "a quoted log"
    assert sure("step:3 - loss:0.5 - reward:0.1") is Sure.NO
    assert sure("{'loss': 0.5, 'reward': 0.1}", "Global step 1: {'policy_loss': 0.1}") is Sure.NO
    assert sure('{"step": 1, "data": {"loss": 0.5}}', form=VERL_JSONL) is Sure.NO
    assert sure('{"step": 1, "loss": 0.5}', form=VERL_JSONL) is Sure.NO


def test_any_split_gives_the_same_run() -> None:
    text = (
        "\n".join([*CONFIG, "Total training steps: 3", line(1), line(2, timing_s__testing=20.0), "tail", line(3)])
        + "\n"
    )
    assert same_in_pieces(VERL, text.encode().splitlines(keepends=True))


@pytest.mark.parametrize(
    "bad",
    ["step:1 - ", "step:1 - :5 - a/b:", "step:" + "9" * 5000 + " - x/y:1", "{'actor_rollout_ref': {{{{", "step:1 - a/b:np.float64(",
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
