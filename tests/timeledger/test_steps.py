"""Step counts by framework, against counts that the frameworks' own trainers printed, and their formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeledger.errors import ImpossiblePlan
from timeledger.steps import StepCount, batch_settings, count_steps


def count(framework: str, **values: Any) -> StepCount:
    return count_steps(batch_settings(framework, values))


@pytest.mark.parametrize(
    ("framework", "values", "total"),
    [
        # A run of TRL 1.16: 40 prompts, 2 epochs, its bar said 80.
        ("trl", {"per_device": 8, "group_size": 8, "data_size": 40, "epochs": 2}, 80),
        # Unsloth's banner: 128 examples, 3 epochs, batch 1 changed to 8, accumulation 4: Total steps = 96.
        ("unsloth", {"per_device": 1, "group_size": 8, "grad_accumulation": 4, "data_size": 128, "epochs": 3}, 96),
        (
            "ms-swift",
            {"per_device": 8, "gpus": 8, "grad_accumulation": 2, "group_size": 8, "data_size": 7473, "epochs": 1},
            467,
        ),
        ("verl", {"batch": 256, "group_size": 5, "data_size": 7473, "epochs": 15}, 435),
        ("openrlhf", {"batch": 128, "group_size": 8, "mini_batch": 1024, "data_size": 7473}, 59),
        ("trl", {"max_steps": 50, "data_size": 7473}, 50),
    ],
)
def test_totals(framework: str, values: dict[str, Any], total: int) -> None:
    assert count(framework, **values).total_steps == total


def test_generations_repeat_over_iterations() -> None:
    once = count("trl", per_device=8, grad_accumulation=4, group_size=8, data_size=800, epochs=1)
    twice = count("trl", per_device=8, grad_accumulation=4, group_size=8, data_size=800, epochs=1, num_iterations=2)
    assert once.total_steps == once.generations == 200
    assert twice.total_steps == 400
    assert twice.generations == 200
    served = count("trl", per_device=8, group_size=8, max_steps=80, steps_per_generation=4, num_iterations=2)
    assert served.generations == 10
    assert served.prompts_per_generation == 4
    assert served.prompts_per_step == 1


def test_a_larger_group_means_more_steps_where_the_batch_counts_answers() -> None:
    steps = [count("trl", per_device=16, group_size=g, data_size=1600, epochs=1).total_steps for g in (4, 8, 16)]
    assert steps == [400, 800, 1600]
    verl = [
        count("verl", batch=16, mini_batch=16, group_size=g, data_size=1600, epochs=1).total_steps for g in (4, 8, 16)
    ]
    assert verl == [100, 100, 100]


def test_optimizer_steps_inside_a_step() -> None:
    verl = count("verl", batch=1024, mini_batch=256, group_size=8, max_steps=100, num_iterations=2)
    assert verl.optimizer_steps_per_step == 8
    assert verl.optimizer_steps == 800
    assert verl.sequences_per_step == 8192
    rlhf = count("openrlhf", batch=128, mini_batch=128, group_size=8, data_size=1280)
    assert rlhf.optimizer_steps_per_step == 8
    assert (rlhf.total_steps, rlhf.optimizer_steps) == (10, 80)


def test_what_is_left_out_and_what_was_not_given_is_said() -> None:
    found = count("trl", per_device=8, grad_accumulation=4, group_size=8, data_size=7473)
    text = " ".join(found.notes)
    assert "1 of 7473" in text
    assert "num_iterations" in text
    assert any("floor(7473 / 4)" in line.formula for line in found.lines)
    assert count("trl").total_steps is None


def test_a_step_may_hold_less_than_a_group() -> None:
    found = count("trl", per_device=4, group_size=8, steps_per_generation=2, max_steps=10)
    assert found.prompts_per_step == 0.5
    assert found.prompts_per_generation == 1
    assert any("0.5 groups" in note for note in found.notes)


@pytest.mark.parametrize(
    ("framework", "values", "named"),
    [
        ("trl", {"per_device": 6, "group_size": 8}, "num_generations"),
        ("trl", {"per_device": 0}, "per_device_train_batch_size"),
        ("trl", {"per_device": 8, "group_size": 1, "data_size": 3}, "questions in the training data"),
        ("trl", {"batch": 8}, "batch"),
        ("ms-swift", {"per_device": 8, "grad_accumulation": 4, "steps_per_generation": 6}, "steps_per_generation"),
        ("verl", {"batch": 64, "mini_batch": 128}, "ppo_mini_batch_size"),
        ("verl", {"batch": 64, "mini_batch": 64, "data_size": 10}, "questions in the training data"),
        ("verl", {"epochs": -1}, "total_epochs"),
        ("openrlhf", {"max_steps": 5}, "max_steps"),
        ("mine", {}, "framework"),
    ],
)
def test_nonsense_names_the_setting(framework: str, values: dict[str, Any], named: str) -> None:
    with pytest.raises(ImpossiblePlan, match=named):
        count(framework, **values)


def sampled_steps(data: int, per_device: int, gpus: int, ga: int, group: int, spg: int, mu: int, epochs: int) -> int:
    """The trainer's own way to the number: what its sampler yields, in batches, in accumulated steps."""
    unique = per_device * gpus * spg // group
    yielded = 0
    for _ in range(data // unique):
        yielded += unique * group * mu * spg
    batches = yielded // (per_device * spg * gpus)
    return math.ceil(epochs * max(batches // ga + (batches % ga > 0), 1))


@given(
    per_device=st.integers(1, 16),
    gpus=st.integers(1, 8),
    ga=st.integers(1, 8),
    group=st.integers(2, 16),
    times=st.integers(1, 3),
    mu=st.integers(1, 3),
    data=st.integers(1, 3000),
    epochs=st.integers(1, 3),
)
def test_the_formula_is_the_samplers_count(
    per_device: int, gpus: int, ga: int, group: int, times: int, mu: int, data: int, epochs: int
) -> None:
    spg = ga * times
    unique, rest = divmod(per_device * gpus * spg, group)
    if rest or data < unique:
        return
    found = count(
        "trl", per_device=per_device, gpus=gpus, grad_accumulation=ga, group_size=group, steps_per_generation=spg,
        num_iterations=mu, data_size=data, epochs=epochs,
    )  # fmt: skip
    assert found.total_steps == sampled_steps(data, per_device, gpus, ga, group, spg, mu, epochs)
