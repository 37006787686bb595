"""The calculator on real logs: benchmark results, step counts that real trainers had, and plans of whole runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import parsers
from timeledger.analysis import analyse
from timeledger.calibrate import calibrate
from timeledger.plan import estimate, from_run
from timeledger.plan_file import from_toml, to_toml
from timeledger.steps import batch_settings, count_steps

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("name", ["bench-serve", "bench-serve-smallkv"])
@pytest.mark.parametrize("ending", [".result.json", ".console.log"])
def test_a_benchmarks_output_throughput_is_taken(name: str, ending: str, corpus: Path) -> None:
    folder = corpus / "made" / "vllm"
    truth = json.loads((folder / f"{name}.result.json").read_text())["output_throughput"]
    found = calibrate(analyse(parsers.read_paths([str(folder / f"{name}{ending}")])[0]))
    value, source = found.values["gen_tok_s"]
    assert value == pytest.approx(truth, rel=0.01)
    assert source.kind == "measured"


def test_total_tokens_of_a_benchmark_are_no_generation_throughput(corpus: Path) -> None:
    run = parsers.read_paths([str(corpus / "made" / "vllm" / "bench-throughput.result.json")])[0]
    found = calibrate(analyse(run))
    assert found.values == {}
    assert "every number is a default" in found.notes[0]


def test_the_epochs_run_has_the_steps_of_the_formula(corpus: Path) -> None:
    meta = json.loads((corpus / "made" / "trl" / "grpo-epochs" / "meta.json").read_text())
    config = meta["config"]
    counted = count_steps(
        batch_settings(
            "trl",
            {
                "per_device": config["per_device_train_batch_size"],
                "group_size": config["num_generations"],
                "epochs": config["num_train_epochs"],
                "data_size": 40,
            },
        )
    )
    assert counted.total_steps == meta["max_steps"] == 80


@pytest.mark.parametrize(
    "name", ["grpo-growth-slow", "grpo-longer", "grpo-g8-l64-log1-tb", "grpo-mu2-spg", "old-0.19.1-grpo", "rloo"]
)
def test_a_plan_of_a_run_gives_its_late_step_again(name: str, corpus: Path) -> None:
    analysis = analyse(parsers.read_paths([str(corpus / "made" / "trl" / name / "console.log")])[0])
    inputs = from_run(analysis)
    answer = estimate(inputs.model_copy(update={"length_growth": None}))
    plain = sum(part.seconds for part in answer.parts if part.phase not in {"evaluation", "checkpoint"})
    assert analysis.clock.step_s is not None
    assert plain == pytest.approx(analysis.clock.step_s, rel=0.25)
    assert from_toml(to_toml(inputs), "plan.toml") == inputs
