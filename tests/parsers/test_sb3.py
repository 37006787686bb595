"""Stable-Baselines3 and its kin: progress.csv, boxed tables, event files; the timesteps are the step in all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from parsers import read
from tests.parsers import wire
from tests.parsers.made_frameworks import two_columns
from timeledger.clock import clock
from timeledger.run import Run

PPO = "time/iterations,time/fps,time/time_elapsed,rollout/ep_len_mean,time/total_timesteps,rollout/ep_rew_mean,train/loss,train/approx_kl,eval/mean_reward"


def ppo_rows(count: int) -> Iterator[str]:
    for n in range(1, count + 1):
        yield f"{n},{2048 // 6},{6 * n},200.0,{2048 * n},{-100.0 + n},{'' if n == 1 else 0.5},{'' if n == 1 else 0.0125},"
        if n % 4 == 0:
            yield f",,,,{2048 * n + 500},,0.5,0.0125,{-90.0 + n}"


def total(run: Run) -> float | None:
    return clock(run).elapsed_s


def test_iterations_are_no_seconds() -> None:
    run = read(("\n".join([PPO, *ppo_rows(12)]) + "\n").encode(), name="progress.csv")
    assert run.steps["step"].to_list()[:4] == [2048, 4096, 6144, 8192]
    assert run.steps["step_s"].null_count() == run.steps.height
    rows = run.steps.drop_nulls("elapsed_s")
    assert rows["elapsed_s"].to_list() == [6.0 * n for n in range(1, 13)]
    assert rows["reward"].to_list() == [-100.0 + n for n in range(1, 13)]
    assert total(run) == pytest.approx(72.0, abs=2.0)  # an evaluation of a later step is the last row
    assert clock(run).position in {2048 * 12, 2048 * 12 + 500}


def test_episodes_of_an_off_policy_learner() -> None:
    header = "time/episodes,time/fps,time/time_elapsed,time/total_timesteps,rollout/ep_rew_mean,train/loss"
    rows = [f"{4 * n},200,{5 * n},{997 * n},{0.5 * n},0.25" for n in range(1, 9)]
    run = read(("\n".join([header, *rows]) + "\n").encode(), name="progress.csv")
    assert run.steps["step"].to_list() == [997 * n for n in range(1, 9)]
    assert total(run) == pytest.approx(40.0, abs=1.0)


def test_the_json_of_the_same_logger() -> None:
    rows = [
        {"time/iterations": n, "time/total_timesteps": 512 * n, "time/time_elapsed": 3 * n, "time/fps": 170, "rollout/ep_rew_mean": 1.0 * n}
        for n in range(1, 7)
    ]  # fmt: skip
    run = read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="progress.json")
    assert run.steps["step"].to_list() == [512 * n for n in range(1, 7)]
    assert run.steps["elapsed_s"].to_list() == [3.0 * n for n in range(1, 7)]


def test_counts_in_event_files_and_histories_are_no_step_times() -> None:
    rows = [
        (512 * n, 3.0 * n, {"time/iterations": float(n), "time/fps": 170.0, "train/loss": 0.5}) for n in range(1, 7)
    ]
    run = read(wire.events(1.8e9, rows), name="events.out.tfevents.1.host")
    assert run.steps["step_s"].null_count() == run.steps.height == 6
    assert total(run) == pytest.approx(18.0, abs=0.6)


def test_a_row_counts_its_iteration_where_no_timesteps_are_logged() -> None:
    rows = [f"{n},{6 * n},{0.5 * n}" for n in range(1, 7)]
    run = read(
        ("\n".join(["time/iterations,time/time_elapsed,train/loss", *rows]) + "\n").encode(), name="progress.csv"
    )
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5, 6]


def test_the_columns_of_baselines() -> None:
    header = "eplenmean,eprewmean,fps,nupdates,policy_entropy,serial_timesteps,time_elapsed,total_timesteps,value_loss"
    rows = [f"200,{n},300,{n},1.25,{128 * n},{4.25 * n},{1024 * n},0.5" for n in range(1, 7)]
    run = read(("\n".join([header, *rows]) + "\n").encode(), name="progress.csv")
    assert run.steps["step"].to_list() == [1024 * n for n in range(1, 7)]
    assert run.steps["elapsed_s"].to_list() == [4.25 * n for n in range(1, 7)]


def test_the_columns_of_rllib() -> None:
    header = "episode_reward_mean,timesteps_total,training_iteration,time_this_iter_s,time_total_s,timestamp"
    rows = [f"{n},{4000 * n},{n},{9.5 + n % 2},{10.0 * n},{1_772_359_200 + 10 * n}" for n in range(1, 7)]
    run = read(("\n".join([header, *rows]) + "\n").encode(), name="progress.csv")
    assert run.steps["step"].to_list() == [1, 2, 3, 4, 5, 6]
    assert run.steps["step_s"].to_list() == [9.5 + n % 2 for n in range(1, 7)]
    assert run.steps["elapsed_s"].to_list() == [10.0 * n for n in range(1, 7)]
    assert run.steps["at"].null_count() == 0


def test_timesteps_and_a_clock_are_enough() -> None:
    header = "timesteps,wall_time,num_episodes,mean_episode_rewards,mean_episode_len"
    rows = [f"{512 * n}.0,{6.5 * n},{40.0 * n},{n / 8},31.5" for n in range(1, 7)]
    run = read(("\n".join([header, *rows]) + "\n").encode(), name="log.csv")
    assert run.steps["step"].to_list() == [512 * n for n in range(1, 7)]
    assert run.steps["elapsed_s"].to_list() == [6.5 * n for n in range(1, 7)]
    assert run.steps["reward"].to_list() == [n / 8 for n in range(1, 7)]


def test_a_count_over_all_epochs_is_the_step_before_one_within_them() -> None:
    header = "batch_idx,global_batch_idx,timestamp,avg_reward,avg_loss"
    rows = [f"{n % 5},{n},{1_747_400_000 + 90 * n},1.5,0.25" for n in range(15)]
    run = read(("\n".join([header, *rows]) + "\n").encode(), name="stats.csv")
    assert run.steps["step"].to_list() == list(range(15))
    assert run.steps["segment"].unique().to_list() == [0]


# --- boxes -------------------------------------------------------------------------------------------------------


def boxes(count: int, reward: float = 80.0, before: int = 0) -> str:
    """`before`: iterations of an earlier call, whose timesteps go on."""
    out = []
    for n in range(1, count + 1):
        sections: dict[str, dict[str, float | str]] = {
            "rollout/": {"ep_rew_mean": reward + n},
            "time/": {
                "fps": "86",
                "iterations": f"{n}",
                "time_elapsed": f"{23 * n}",
                "total_timesteps": f"{2048 * (before + n)}",
            },
        }
        if n > 1:
            sections["train/"] = {"approx_kl": 0.0125, "loss": 8.5}
        out.append(two_columns(sections))
        if n % 3 == 0:
            out.append(two_columns({"eval/": {"mean_ep_length": 200.0, "mean_reward": 75.5}, "time/": {"total_timesteps": str(2048 * (before + n) + 9)}}))  # fmt: skip
    return "".join(out)


def test_boxes_are_steps() -> None:
    text = "Using cpu device\nTimesteps: 12,000\n[warn] grab took 0.122s (> 0.02s)\n" + boxes(6) + "saved model\n"
    run = read(text.encode(), name="train.log")
    assert run.info.format == "boxed"
    assert run.steps["step"].to_list() == [2048 * n for n in range(1, 7)]
    assert run.steps["elapsed_s"].to_list() == [23.0 * n for n in range(1, 7)]
    assert run.steps["reward"].to_list() == [80.0 + n for n in range(1, 7)]
    assert run.steps["kl"].null_count() == 1
    assert run.info.setting("total_steps") == 12_288  # whole rollouts of 2048
    assert run.events.filter(kind="evaluation")["step"].to_list() == [6153, 12_297]
    assert total(run) == pytest.approx(138.0, abs=0.6)


@pytest.mark.parametrize("first", ["Stage 1/3: timesteps=8000", "timesteps=8000"])
def test_the_plan_of_a_part_is_none_of_the_run(first: str) -> None:
    text = f"[12:00:01] {first}\n{boxes(4)}[12:02:01] Stage 2/3: timesteps=20000\n{boxes(10, 90.0, before=4)}"
    run = read(text.encode(), name="train.log")
    assert run.steps["step"].to_list() == [2048 * n for n in range(1, 15)]
    assert run.steps["segment"].n_unique() == 1
    assert run.info.setting("total_steps") is None


def test_a_run_that_goes_on_from_a_model_plans_in_whole_rollouts() -> None:
    text = f"continuing\ntotal_timesteps=200000\n{boxes(5, before=50)}"
    run = read(text.encode(), name="train.log")
    assert run.info.setting("total_steps") == 200_704  # 98 rollouts of 2048


def test_a_second_learn_is_a_session() -> None:
    run = read((boxes(4) + boxes(3, 90.0)).encode(), name="train.log")
    assert run.steps["segment"].n_unique() == 2


def test_a_warning_inside_a_box_and_one_that_is_still_being_printed() -> None:
    lines = boxes(3).splitlines(keepends=True)
    lines.insert(4, "UserWarning: something\n")
    whole = read("".join(lines).encode(), name="train.log")
    assert whole.steps["step"].to_list() == [2048, 4096, 6144]
    cut = read("".join(lines[:-12]).encode(), name="train.log")
    assert cut.steps["step"].to_list() == [2048, 4096]


def test_boxes_without_sections() -> None:
    box = "-" * 36 + "\n| approxkl           | {kl} |\n| ep_reward_mean     | {n}.5 |\n| fps                | 300 |\n| nupdates           | {n} |\n| time_elapsed       | {t} |\n| total_timesteps    | {s} |\n" + "-" * 36 + "\n"  # fmt: skip
    text = "".join(box.format(kl=0.0125, n=n, t=4.25 * n, s=128 * n) for n in range(1, 6))
    run = read(text.encode(), name="log.txt")
    assert run.info.format == "boxed"
    assert run.steps["step"].to_list() == [128 * n for n in range(1, 6)]
    assert run.steps["elapsed_s"].to_list() == [4.25 * n for n in range(1, 6)]


def test_boxes_of_spinning_up() -> None:
    box = "-" * 40 + "\n|             Epoch |               {n} |\n|      AverageEpRet |            {n}.5 |\n|            LossPi |            -0.5 |\n|           Entropy |            1.25 |\n| TotalEnvInteracts |            {s} |\n|              Time |            {t} |\n" + "-" * 40 + "\n"  # fmt: skip
    text = "".join(box.format(n=n, s=4000 * (n + 1), t=3.5 * (n + 1)) for n in range(6))
    run = read(text.encode(), name="log.txt")
    assert run.steps["step"].to_list() == [4000 * (n + 1) for n in range(6)]
    assert run.steps["elapsed_s"].to_list() == [3.5 * (n + 1) for n in range(6)]
    assert run.steps["entropy"].to_list() == [1.25] * 6


def test_a_box_of_settings_is_no_run() -> None:
    rule = "-" * 30 + "\n"
    box = rule + "| learning_rate | 0.0003 |\n| batch_size | 64 |\n| gamma | 0.99 |\n" + rule
    run = read((box + boxes(3)).encode(), name="train.log")
    assert run.steps["step"].to_list() == [2048, 4096, 6144]
