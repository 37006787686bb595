"""The commands before a run: documents, exit codes, one clear message."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT
from timeledger.cli import main
from timeledger.document import json_schema

GROWING = str(ROOT / "sample_logs" / "growing-answers")
EIGHT_HOURS = [
    "--prompts",
    "32",
    "--group-size",
    "16",
    "--mean-length",
    "700",
    "--gen-tok-s",
    "3180",
    "--train-tok-s",
    "14000",
    "--fixed-s",
    "5",
    "--steps",
    "200",
    "--eval-questions",
    "1319",
    "--eval-s",
    "480",
    "--accuracy",
    "0.6",
]


def document(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    assert main([*argv, "--json"]) == code
    loaded = json.loads(capsys.readouterr().out)
    jsonschema.validate(loaded, json_schema()[argv[0]])
    assert loaded["schema"] == 1
    assert isinstance(loaded, dict)
    return loaded


def test_the_budgets_document_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "budget", "--hours", "5", *EIGHT_HOURS, "--framework", "trl")["budget"]
    assert found["fits"] is True
    cut = found["cuts"][0]
    assert (cut["what"], cut["from"]) == ("steps", 200)
    assert 80 <= cut["to"] < 200
    assert found["after_s"] <= 5 * 3600 < found["before_s"]
    assert found["settings"]["max_steps"] == str(cut["to"])
    assert found["plan"]["inputs"]["steps"] == cut["to"]
    assert cut["effect"]


def test_the_budget_says_no_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "budget", "--hours", "0.25", *EIGHT_HOURS, code=1)["budget"]
    assert found["fits"] is False
    assert found["nearest"]["steps"] < 80
    assert main(["budget", "--hours", "0.25", *EIGHT_HOURS]) == 1
    assert "Does not fit" in capsys.readouterr().out


def test_the_budget_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(
        ["budget", "--hours", "1h", *EIGHT_HOURS, "--eval-every", "10", "--pin", "group_size", "--most", "--days", "2"]
    ) in {0, 1}
    text = capsys.readouterr().out
    assert "steps 200 -> 80" in text
    assert "group size G (pinned)" in text
    assert "evaluation questions 1,319 -> 300" in text
    assert "±5.5 points" in text
    assert "2 days of 1 h" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_budget_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "budget", "--hours", "1", "--from", GROWING, "--steps", "5000", "--pin", "group_size", code=1
    )["budget"]
    assert found["plan"]["inputs"]["sources"]["mean_length"]["kind"] == "measured"
    assert found["settings"]["num_generations"] == "8"
    assert found["settings"]["max_steps"] == str(found["plan"]["inputs"]["steps"])
    assert main(["budget", "--hours", "100", "--from", GROWING]) == 0
    assert "nothing has to give" in capsys.readouterr().out


def test_a_sweep_and_the_ladder(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "plan", "--sweep", "group-size=4,8,16", "--ladder", "--framework", "verl")
    assert [row["value"] for row in found["sweep"]["rows"]] == [4, 8, 16]
    assert [round(row["step_s"], 2) for row in found["sweep"]["rows"]] == [10.69, 16.38, 27.76]
    assert [rung["steps"] for rung in found["ladder"]["rungs"]] == [2, 10, 20, 200]
    assert "trainer.total_training_steps=2" in found["ladder"]["rungs"][0]["command"]
    assert main(["plan", "--sweep", "mode=colocate,one-step-off", "--ladder"]) == 0
    text = capsys.readouterr().out
    assert "one-step-off" in text
    assert "The tests together" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_ranges_and_where_the_interval_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    wide = document(capsys, "plan", "--gen-tok-s", "1000..9000")["plan"]
    assert wide["inputs"]["gen_tok_s"] == pytest.approx(3000)
    assert wide["total_s"]["high"] / wide["total_s"]["mid"] > 1.9
    assert any("1,000..9,000" in reason for reason in wide["because"])


def test_a_plan_is_saved_loaded_and_held_against_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "plan.toml")
    assert main(["plan", "--from", GROWING, "--steps", "120", "--save", path]) == 0
    assert tomllib.loads(Path(path).read_text())["inputs"]["steps"] == 120
    capsys.readouterr()
    loaded = document(
        capsys, "plan", "--load", path, "--mean-length", "200", "--max-tokens", "512", "--against", GROWING
    )
    assert loaded["plan"]["inputs"]["group_size"] == 8
    assert loaded["plan"]["inputs"]["sources"]["mean_length"]["text"] == "typed in"
    assert "longer" in loaded["against"]["sentence"]
    assert main(["plan", "--load", path, "--against", GROWING]) == 0
    assert "as planned" in capsys.readouterr().out


def test_the_steps_of_a_framework_and_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [
        "steps",
        "--framework",
        "unsloth",
        "--per-device",
        "1",
        "--grad-accumulation",
        "4",
        "--group-size",
        "8",
        "--data-size",
        "128",
        "--epochs",
        "3",
    ]
    assert document(capsys, *argv)["steps"]["total_steps"] == 96
    assert main(argv) == 0
    text = capsys.readouterr().out
    assert "96 steps in all" in text
    assert "Unsloth changes per_device_train_batch_size" in text
    found = document(capsys, "steps", "--from", GROWING, "--data-size", "800", "--epochs", "1")["steps"]
    assert found["framework"] == "trl"
    assert found["total_steps"] == 400


def test_the_account(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, sheet = tmp_path / "a.html", tmp_path / "a.md"
    argv = [
        "account",
        "--eval-questions",
        "1319",
        "--gpus",
        "2",
        "--price",
        "1.5",
        "--currency",
        "EUR",
        "--watts",
        "300",
    ]
    found = document(capsys, *argv, "--html", str(page), "--md", str(sheet))["account"]
    assert found["cost"]["money"] == pytest.approx(1.5 * found["cost"]["gpu_hours"])
    assert found["energy_kwh"] == pytest.approx(0.3 * found["cost"]["gpu_hours"])
    assert "Smoke tests" in page.read_text()
    assert "| Each run: The run" in sheet.read_text()
    assert main([*argv, "--setup", "30m", "--reruns", "1"]) == 0
    text = capsys.readouterr().out
    assert "Re-runs" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_limit_as_mean_is_loud(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--mean-length", "512", "--max-tokens", "512"]) == 0
    assert capsys.readouterr().out.startswith("! The mean length of 512 is (almost) the limit")
    assert main(["plan", "--mean-length", "1024", "--json"]) == 0
    captured = capsys.readouterr()
    assert "warning: A mean length of exactly 1024 looks like a limit" in captured.err
    assert json.loads(captured.out)["plan"]["warnings"]


def test_what_a_log_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "loop.log"
    log.write_text("".join(f"step {n}/40 | len {100 + n} | reward 0.5 | time 2.00s\n" for n in range(1, 21)))
    assert main(["plan", "--from", str(log)]) == 0
    captured = capsys.readouterr()
    assert "a default stands in: prompts per step, group size G" in captured.err
    assert "2.0 s a step" in captured.out
    assert main(["plan", "--from", str(log), "--prompts", "4", "--group-size", "8"]) == 0
    captured = capsys.readouterr()
    assert "default stands in" not in captured.err
    assert "2.0 s a step" in captured.out


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["plan", "--gen-tok-s", "0"], "generation throughput"),
        (["plan", "--mean-length", "-5"], "mean answer length"),
        (["plan", "--max-tokens", "100"], "limit on answer tokens"),
        (["plan", "--sequences", "60", "--group-size", "8"], "group size G"),
        (["plan", "--prompts", "many"], "prompts per step"),
        (["plan", "--prompts", "4", "--sequences", "32"], "--sequences and --prompts"),
        (["plan", "--sweep", "group_size"], "--sweep"),
        (["plan", "--sweep", "colour=1,2"], "colour"),
        (["plan", "--sweep", "steps=1,0"], "steps"),
        (["plan", "--load", "nowhere.toml"], "nowhere.toml"),
        (["plan", "--load", "x", "--from", "y"], "--from and --load"),
        (["plan", "--framework", "mine"], "--framework"),
        (["plan", "--ladder", "--load-s", "soon"], "--load-s"),
        (["plan", "--save", "/nowhere/plan.toml"], "/nowhere/plan.toml"),
        (["budget", "--hours", "0"], "--hours"),
        (["budget", "--hours", "soon"], "--hours"),
        (["budget", "--hours", "3", "--pin", "colour"], "pin"),
        (["budget", "--hours", "3", "--least-steps", "0"], "--least-steps"),
        (["budget", "--hours", "30", "--days", "2"], "days"),
        (["steps"], "--framework"),
        (["steps", "--framework", "trl", "--per-device", "6", "--group-size", "8"], "num_generations"),
        (["account", "--setup", "-3"], "--setup"),
        (["account", "--runs", "0"], "runs"),
    ],
)
def test_nonsense_gets_one_message_that_names_the_field(
    argv: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert named in captured.err
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
