"""More ways in which people print a step: units in brackets, dictionaries over several lines, tables, tagged phases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import parsers
from timeledger.errors import UnknownFormat
from timeledger.run import Run

STEPS = range(1, 13)


def reward(step: int) -> float:
    return round(0.2 + 0.01 * step, 3)


def length(step: int) -> int:
    return 150 + 2 * step


def seconds(step: int) -> float:
    return round(20 + 0.3 * step, 1)


def loop(line: Callable[[int], str]) -> Run:
    return parsers.read("".join(f"{line(step)}\n" for step in STEPS).encode(), name="train.log")


def column(run: Run, name: str) -> list[float | None]:
    assert run.steps["step"].to_list() == list(STEPS)
    return run.steps[name].to_list()


def phase(run: Run, name: str) -> list[float]:
    return run.phases.filter(run.phases["phase"] == name).sort("step")["seconds"].to_list()


LINES: dict[str, Callable[[int], str]] = {
    "unit in brackets": lambda s: f"step {s} | reward: {reward(s)} | mean len (tokens): {length(s)} | step time (s): {seconds(s)}",
    "all in capitals": lambda s: f"STEP={s} REWARD={reward(s)} LEN={length(s)} TIME={seconds(s)}S",
    "a count in brackets": lambda s: f"Step [{s}/40], Avg Reward (64 samples): {reward(s)}, Avg Len (n=64): {length(s)}, Time: {seconds(s)}s",
    "columns lined up": lambda s: f"=== Step {s}/40 ===\n  Mean reward:          {reward(s)}\n  Mean length:          {length(s)}.0 tokens\n  Loss:                 0.0470\n  Step time:            {seconds(s)}s",
    "a dictionary over lines": lambda s: f"Step {s}:\n{{'loss': 0.04,\n 'mean_response_length': {length(s)},\n 'reward': {reward(s)},\n 'step_time': {seconds(s)}}}",
    "a table with two columns": lambda s: f"╭── Step {s}/40 ──╮\n│ reward      │ {reward(s)} │\n│ mean length │ {length(s)} │\n│ step time   │ {seconds(s)}s │\n╰──────────╯",
    "statistics with slashes": lambda s: f"step {s} | reward {reward(s)} | len mean/max/min {length(s)}/512/12 | time {seconds(s)}s",
    "Chinese, n of N": lambda s: f"【第{s}步/共40步】 奖励 {reward(s)} | 长度 {length(s)} | 耗时 {seconds(s)}s",
    "Chinese, a block": lambda s: f"======== 第 {s}/40 步 ========\n平均奖励: {reward(s)}\n平均长度: {length(s)}\n本步耗时: {seconds(s)} 秒",
    "done in": lambda s: f"Finished step {s} of 40 in {seconds(s)} seconds: reward={reward(s)}, mean_len={length(s)}",
    "behind a remark": lambda s: f"step {s} -> reward {reward(s)} (best 0.9) | len {length(s)} | in {seconds(s)}s",
    "a logger's name": lambda s: f"        INFO     myrl - myrl - INFO: step: {s}, reward: {reward(s)}, mean_len: {length(s)}, step_time: {seconds(s)}s",
    "Japanese word for a step": lambda s: f"ステップ {s}/40 | reward: {reward(s)} | len: {length(s)} | time: {seconds(s)}s",
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_reward_length_and_time(name: str) -> None:
    run = loop(LINES[name])
    assert column(run, "reward") == [reward(step) for step in STEPS]
    assert column(run, "len_mean") == [length(step) for step in STEPS]
    assert column(run, "step_s") == [seconds(step) for step in STEPS]


def test_statistics_with_slashes_tell_the_longest_and_the_shortest() -> None:
    run = loop(LINES["statistics with slashes"])
    assert set(column(run, "len_max")) == {512}
    assert set(column(run, "len_min")) == {12}


def test_printed_expressions() -> None:
    run = loop(lambda s: f"step={s}, loss.item()=0.05, rewards.mean().item()={reward(s)}")
    assert column(run, "reward") == [reward(step) for step in STEPS]
    assert set(column(run, "loss")) == {0.05}


def test_a_factor_in_brackets_scales() -> None:
    assert set(column(loop(lambda s: f"step {s} | loss 0.5 | reward 0.1 | lr(1e-3) 0.25"), "lr")) == {0.00025}


def test_a_plural_is_no_unit() -> None:
    run = loop(lambda s: f"step {s} | reward {reward(s)} | loss 0.5 | rollout(s): 64")
    assert run.phases.is_empty()


def test_a_moving_average_gives_way_to_the_steps_own_reward() -> None:
    run = loop(lambda s: f"Episode {s}/40, Reward: {reward(s)}, Avg Reward (last 100): 0.111, Loss: 0.5")
    assert column(run, "reward") == [reward(step) for step in STEPS]


def test_tagged_lines_tell_the_times_of_phases() -> None:
    run = loop(
        lambda s: (
            f"[Rollout] step {s}: mean len {length(s)}, mean reward {reward(s)}, took {seconds(s)}s\n[Train] step {s}: loss 0.04, kl 0.01, took 6.5s"
        )
    )
    assert column(run, "step_s") == [None] * len(STEPS)
    assert phase(run, "rollout") == [seconds(step) for step in STEPS]
    assert phase(run, "update") == [6.5] * len(STEPS)


def test_a_tag_before_every_line_is_no_phase() -> None:
    run = loop(lambda s: f"[Train] step {s} | reward {reward(s)} | kl 0.01 | time {seconds(s)}s")
    assert run.phases.is_empty()
    assert column(run, "step_s") == [seconds(step) for step in STEPS]


def test_a_loop_around_the_steps_is_no_step() -> None:
    text = "Iteration 1/3\nReference model created.\nAverage Reward: 0.21\n"
    text += "".join(
        f"Iteration 1/3, Step {s}/40, GRPO iter 1/1, loss: 0.04\nAverage Reward: {reward(s + 1)}\n" for s in STEPS
    )
    run = parsers.read(text.encode(), name="train.log")
    assert column(run, "reward") == [reward(step) for step in STEPS]


def test_saved_answers_between_the_lines_are_no_rows() -> None:
    run = loop(
        lambda s: (
            f'{{"step": {s + 900}, "prompt": "2+2?", "completion": "Step 1: 4", "reward": 1.0}}\nstep {s} | reward {reward(s)} | kl 0.01'
        )
    )
    assert column(run, "reward") == [reward(step) for step in STEPS]


def test_a_settings_document_is_no_log() -> None:
    text = '{\n  "max_steps": 40,\n  "learning_rate": 1e-6,\n  "maxLength": 1024,\n  "kl": 0.1\n}\n'
    with pytest.raises(UnknownFormat):
        parsers.read(text.encode(), name="spec.json")


@pytest.mark.parametrize("tag", ["[pod/train-0/trainer]", "[train]", "[Train]"])
def test_a_tag_beside_phases_of_the_same_line_leaves_the_steps_time(tag: str) -> None:
    run = loop(lambda s: f"{tag} step {s} | reward {reward(s)} | rollout 12.0s | update 8.0s | time {seconds(s)}s")
    assert column(run, "step_s") == [seconds(step) for step in STEPS]
    assert phase(run, "update") == [8.0] * len(STEPS)
