"""OpenRLHF's console: step lines of the newer versions, bars of the older ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from parsers.base import Head, Origin, Reader, Sure
from parsers.openrlhf import OPENRLHF_CONSOLE
from parsers.openrlhf_config import flags, namespace
from parsers.text import Pieces
from tests.parsers.alike import same_in_pieces
from timeledger.run import Run

MODIFIED = datetime(2026, 3, 1, tzinfo=UTC)
TIMES = {"timing/generation": 30.0, "timing/make_experience": 20.0, "timing/ppo_train": 48.0, "timing/broadcast": 2.0}
STEP: dict[str, object] = {
    "policy_loss": 0.125, "response_length": 400.0, "total_length": 500.5, "rollout/num_samples": 512.0,
    "rollout/truncated_rate": 0.25, "reward": 0.4, "rollout/reward_mean": 0.5, "rollout/reward_std": 0.1, "kl": 0.01,
    "ppo_clip_ratio": 0.02, "actor_lr": 3.25e-06, "group_reward_std": 0.3, **TIMES, "timing/step_total": 100.0,
}  # fmt: skip


def open_it() -> Reader:
    return OPENRLHF_CONSOLE.open(Origin("train.log", modified=MODIFIED))


def read(*lines: str) -> Run:
    reader = open_it()
    reader.feed(("\n".join(lines) + "\n").encode())
    return reader.runs()[-1]


def log(clock: str, text: str) -> str:
    return f"\x1b[36m(PPOTrainer pid=77)\x1b[0m INFO {clock} ppo_trainer.py:547] {text}"


def step(number: int, clock: str = "02-12 10:13:12", star: str = "✨ ", **more: object) -> str:
    return log(
        clock, f"{star}Global step {number}: {STEP | {name.replace('__', '/'): value for name, value in more.items()}}"
    )


def sure(*lines: str) -> Sure:
    data = "\n".join(lines).encode()
    return OPENRLHF_CONSOLE.recognises(
        Head(Origin("x"), data, tuple(piece.text for piece in Pieces().split(data)), True)
    ).sure


def test_a_step_line_fills_columns_and_phases() -> None:
    run = read(step(3))
    (row,) = run.steps.to_dicts()
    expected = {
        "step": 3, "at": datetime(2026, 2, 12, 10, 13, 12, tzinfo=UTC), "step_s": 100.0, "len_mean": 400.0,
        "prompt_len": 100.5, "sequences": 512.0, "truncated": 0.25, "reward": 0.5, "reward_std": 0.1, "kl": 0.01,
        "clipfrac": 0.02, "lr": 3.25e-06, "loss": 0.125, "len_max": None, "wall_s": None,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert run.extra["group_reward_std"].to_list() == [0.3]
    assert {row["name"]: (row["phase"], row["seconds"], row["outside"]) for row in run.phases.to_dicts()} == {
        "timing/generation": ("rollout", 30.0, False),
        "timing/make_experience": ("old_logprob", 20.0, False),
        "timing/ppo_train": ("update", 48.0, False),
        "timing/broadcast": ("weight_sync", 2.0, False),
    }
    assert any("sum of its phases" in note.text for note in run.notes), "the true time of a step is between two stamps"
    assert any("no year" in note.text for note in run.notes)


def test_keys_come_in_any_order() -> None:
    backward = log("02-12 10:13:12", f"✨ Global step 3: {dict(reversed(STEP.items()))}")
    first, second = read(step(3)), read(backward)
    assert first.steps.equals(second.steps)


def test_tensors_and_nan_in_the_dict() -> None:
    text = "✨ Global step 1: {'kl': tensor(0.5, device='cuda:0'), 'reward': nan, 'response_length': np.float64(7.0), 'x': [1, 2]}"
    (row,) = read(log("02-12 10:13:12", text)).steps.to_dicts()
    assert (row["kl"], row["reward"], row["len_mean"]) == (0.5, None, 7.0)


def test_the_asynchronous_trainer_generates_beside_training() -> None:
    run = read(step(1, star="", timing__generation=170.0, timing__step_total=90.0))
    overlaps = {row["phase"]: row["overlaps"] for row in run.phases.to_dicts()}
    assert overlaps == {"rollout": True, "old_logprob": False, "update": False, "weight_sync": False}
    assert run.info.setting("async_mode") is True
    assert not any("sum of its phases" in note.text for note in run.notes)


def test_before_timers_the_experience_line_is_the_rollout() -> None:
    plain = "✨ Global step {}: {{'policy_loss': 0.1, 'response_length': 40.0, 'reward': 0.5}}"
    run = read(
        log("02-12 10:10:00", "🚀 Starting experience making with 512 samples"),
        log("02-12 10:11:23", "✨ Experience making completed in 0:01:23"),
        log("02-12 10:12:00", plain.format(1)),
        log("02-12 10:14:00", plain.format(2)),
    )
    assert [(row["step"], row["phase"], row["seconds"]) for row in run.phases.to_dicts()] == [(1, "rollout", 83.0)]
    assert run.steps["step_s"].to_list() == [None, None]
    assert (run.steps["at"][1] - run.steps["at"][0]).total_seconds() == 120.0


def test_evaluation_has_seconds_and_lies_outside() -> None:
    run = read(
        step(20),
        log("02-12 10:15:12", "⏰ Evaluation start time: 2025-02-12 10:15:12"),
        log(
            "02-12 10:17:22",
            "✨ Evaluation completed in 0:02:10, global_step 20, eval_metrics: {'eval_math_pass1': 0.5}",
        ),
        log("02-12 10:18:00", "Saved best checkpoint: /x"),
    )
    assert [(row["kind"], row["step"], row["seconds"]) for row in run.events.to_dicts()] == [
        ("evaluation", 20, 130.0),
        ("checkpoint", 20, None),
    ]
    assert run.events["at"][0] == datetime(2025, 2, 12, 10, 17, 22, tzinfo=UTC), "the start line has the year"
    evaluation = run.phases.to_dicts()[-1]
    assert (evaluation["phase"], evaluation["outside"], evaluation["seconds"]) == ("evaluation", True, 130.0)


def test_ray_tells_the_year_and_the_start() -> None:
    run = read("2024-02-12 10:00:00,123\tINFO worker.py:1752 -- Started a local Ray instance.", step(1))
    assert run.info.started_at == datetime(2024, 2, 12, 10, 0, 0, 123000, tzinfo=UTC)
    assert run.steps["at"][0] == datetime(2024, 2, 12, 10, 13, 12, tzinfo=UTC)
    assert not any("no year" in note.text for note in run.notes)


def episode(done: int, elapsed: str, post: str = "", at: str = "1/2") -> str:
    return f"\rEpisode [{at}]:  50%|█████| {done}/4 [{elapsed}<00:19, 19.50s/it{post}]"


def test_older_versions_have_only_bars() -> None:
    post = ", policy_loss=0.0123, reward=0.5, response_length=251, total_length=351, kl=0.01, actor_lr=5e-7"
    run = read(
        "(ActorModelRayActor pid=675)" + episode(0, "00:00"),
        "\rTrain epoch [1/1]: 100%|██| 8/8 [00:07<00:00, 1.0it/s, pg=0.01, rm=0.4, ret=0.4, glen=250, tlen=350]",
        episode(0, "00:20", post) + episode(1, "00:20", post),
        "\rTrain epoch [1/1]: 100%|██| 8/8 [00:09<00:00, 1.0it/s, glen=260]",
        episode(2, "00:41", post) + episode(2, "00:42", post),
        episode(1, "00:22", post, at="2/2"),
    )
    assert run.steps["step"].to_list() == [1, 2, 5]
    assert run.steps["elapsed_s"].to_list() == [20.0, 41.0, 64.0]
    first = run.steps.to_dicts()[0]
    assert (first["len_mean"], first["prompt_len"], first["reward"], first["loss"]) == (251.0, 100.0, 0.5, 0.0123)
    assert run.info.number("total_steps") == 8
    updates = [(row["step"], row["seconds"]) for row in run.phases.to_dicts() if row["phase"] == "update"]
    assert updates == [(1, 7.0), (2, 9.0)]
    assert any("rounded" in note.text for note in run.notes)


def test_bars_beside_step_lines_are_progress_only_when_they_count_steps() -> None:
    run = read(step(1), episode(1, "00:20"), step(2), episode(2, "00:40"), step(3), episode(3, "01:00"))
    assert run.progress["step"].to_list() == [2, 3]
    other = read(step(1), episode(3, "00:20"), step(2), episode(4, "00:40"))
    assert other.progress.is_empty()
    assert other.info.setting("total_steps") is None


def test_restart_and_repeat() -> None:
    run = read(step(1), step(1), step(2), step(2, reward=0.1), step(3))
    assert run.steps.select("segment", "step").rows() == [(0, 1), (0, 2), (1, 2), (1, 3)]
    assert run.events["kind"].to_list() == ["restart"]


def test_printed_arguments() -> None:
    flat = (
        "Namespace(rollout_batch_size=128, n_samples_per_prompt=8, generate_max_len=1024, vllm_num_engines=4, "
        "colocate_all_models=True, actor_num_nodes=1, actor_num_gpus_per_node=8, pretrain='org/m,x', eval_steps=-1, "
        "vllm_enable_sleep=True, stop=['a, b'], remote_rm_url=None, async_train=False)"
    )
    run = read(flat, step(1))
    values = {name: setting.value for name, setting in run.info.settings.items()}
    expected = {
        "prompts_per_step": 128, "group_size": 8, "sequences_per_step": 1024, "max_tokens": 1024, "use_vllm": True,
        "gpus": 8, "model": "org/m,x", "enable_sleep_mode": True, "async_mode": False,
    }  # fmt: skip
    assert {name: values.get(name) for name in expected} == expected
    assert "eval_steps" not in values
    nested = namespace(
        "Namespace(rollout=Namespace(batch_size=64, n_samples_per_prompt=4), vllm=Namespace(enforce_eager=True))"
    )
    assert nested == {"rollout.batch_size": 64, "rollout.n_samples_per_prompt": 4, "vllm.enforce_eager": True}


def test_command_line() -> None:
    found = flags(
        "python3 -m openrlhf.cli.train_ppo_ray --rollout_batch_size 64 --enforce_eager --init_kl_coef -1e-3 --vllm.num_engines=2"
    )
    assert found == {"rollout_batch_size": 64, "enforce_eager": True, "init_kl_coef": -0.001, "vllm.num_engines": 2}
    run = read(
        "ray job submit -- python3 -m openrlhf.cli.train_ppo_ray \\",
        "   --rollout_batch_size 64 \\",
        "   --save_steps 20",
        step(1),
    )
    assert run.info.number("prompts_per_step") == 64
    assert run.info.number("save_steps") == 20


def test_engine_lines_inside() -> None:
    bar = "\rProcessed prompts: 100%|██| 16/16 [00:12<00:00,  1.25it/s, est. speed input: 1.00 toks/s, output: 456.78 toks/s]"
    run = read(
        "(LLMRayActor pid=676)", bar, step(1),
        "(LLMRayActor pid=676) INFO 02-12 10:13:20 [e.py:1] It took 0.512345 seconds to wake up tags {'weights'}.",
    )  # fmt: skip
    assert run.engine["gen_tok_s"].to_list() == [456.78]
    assert run.events["seconds"].to_list() == [0.512345]


def test_recognition() -> None:
    assert sure(step(1)) is Sure.CERTAIN
    assert sure(log("02-12 10:11:23", "✨ Experience making completed in 0:01:23")) is Sure.CERTAIN
    assert sure("ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --x 1") is Sure.CERTAIN
    assert sure(episode(1, "00:20")) is Sure.LIKELY
    assert sure("Global step 3: done", "Episode 4 reward 0.5") is Sure.NO
    assert sure("step:1 - actor/lr:0.1", "{'loss': 0.5}") is Sure.NO


@pytest.mark.parametrize(
    "bad",
    [
        "Global step 5: {",
        "Global step 5: {'a': }",
        "Global step " + "9" * 5000 + ": {'reward': 1.0}",
        "Namespace(((((a=",
        "Experience making completed in soon",
        "Evaluation completed in x",
    ],
)
def test_bad_lines_never_raise(bad: str) -> None:
    assert read(bad, step(7)).steps["step"].to_list() == [7]


def test_any_split_gives_the_same_run() -> None:
    text = "\n".join([step(1), episode(2, "00:10"), step(2), episode(2, "00:40"), step(3)]) + "\n"
    assert same_in_pieces(
        OPENRLHF_CONSOLE, text.encode().splitlines(keepends=True), Origin("train.log", modified=MODIFIED)
    )
