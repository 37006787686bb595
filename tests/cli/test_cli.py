"""The command line's contract: documents, exit codes, messages."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from tests.conftest import ROOT
from timeledger.cli import COMMANDS, main
from timeledger.document import SCHEMA_FILE, json_schema, schema_text

SAMPLES = ROOT / "sample_logs"
GROWING = SAMPLES / "growing-answers"


def loop_log(folder: Path, steps: int = 20, name: str = "loop.log", pace: float = 2.0) -> Path:
    """A hand-written log of `steps` of 40 steps."""
    path = folder / name
    path.write_text(
        "".join(
            f"step {n}/40 | len {100 + 3 * n} | reward 0.{n % 9} | time {pace + n / 50:.2f}s\n"
            for n in range(1, steps + 1)
        )
    )
    return path


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main(list(argv)) == 0
    loaded = json.loads(capsys.readouterr().out)
    assert isinstance(loaded, dict)
    return loaded


def test_show_prints_the_three_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(GROWING)]) == 0
    text = capsys.readouterr().out
    assert "step 120 / 120" in text
    assert "Finished: 120 of 120 steps in 5 m" in text
    assert "the limit is 256" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_show_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "show", str(GROWING), "--json", "--steps", "--gpus", "2", "--price", "1.5", "--currency", "EUR"
    )
    jsonschema.validate(found, json_schema()["show"])
    assert found["schema"] == 1
    run = found["runs"][0]
    wanted = {
        "run",
        "clock",
        "breakdown",
        "timing",
        "length",
        "projection",
        "advice",
        "checks",
        "cost",
        "steps",
        "notes",
    }
    assert wanted <= set(run)
    assert run["run"]["step"] == 120
    assert run["run"]["total_steps"] == 120
    assert run["clock"]["from"]
    assert len(run["steps"]) == 120
    assert run["cost"]["money"] == pytest.approx(run["cost"]["gpu_hours"] * 1.5)


def test_a_running_log_has_an_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = document(capsys, "show", str(loop_log(tmp_path)), "--json")["runs"][0]
    total = run["projection"]["total_s"]
    assert total["low"] <= total["mid"] <= total["high"]
    assert run["projection"]["remaining_s"]["mid"] > 0
    assert run["steps"] is None


def test_facts_change_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(loop_log(tmp_path))
    short = document(capsys, "show", path, "--json")["runs"][0]["projection"]
    long = document(capsys, "show", path, "--json", "--total-steps", "400")["runs"][0]["projection"]
    assert long["remaining_s"]["mid"] > 5 * short["remaining_s"]["mid"]


def test_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = loop_log(tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert document(capsys, "show", "-", "--json")["runs"][0]["run"]["step"] == 20


@pytest.mark.parametrize(
    "fact", ["--total-steps=0", "--total-steps=99999999999999999999", "--eval-s=1e300", "--gpus=-1"]
)
def test_facts_that_no_run_can_have_are_refused(fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(loop_log(tmp_path)), fact]) == 2
    assert fact.partition("=")[0] in capsys.readouterr().err


def test_compare_parts_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = loop_log(tmp_path, 40, "a.log"), loop_log(tmp_path, 40, "b.log", pace=5.0)
    found = document(capsys, "compare", str(a), str(b), "--json")
    jsonschema.validate(found, json_schema()["compare"])
    difference = found["differences"][0]
    assert difference["step_s"] == pytest.approx(3.0, rel=0.05)
    assert sum(part["seconds"] for part in difference["parts"]) == pytest.approx(difference["step_s"])
    assert main(["compare", str(a), str(b)]) == 0
    assert difference["sentence"].split()[0] in capsys.readouterr().out


def test_compare_wants_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(loop_log(tmp_path))]) == 2
    assert "at least two" in capsys.readouterr().err


def test_plan_is_the_lessons(capsys: pytest.CaptureFixture[str]) -> None:
    argv = (
        "plan --prompts 8 --group-size 8 --mean-length 400 --gen-tok-s 3000 --train-tok-s 9000 --fixed-s 5 --steps 200"
    )
    found = document(capsys, *argv.split(), "--json")
    jsonschema.validate(found, json_schema()["plan"])
    plan = found["plan"]
    assert plan["sequences_per_step"] == 64
    assert plan["tokens_per_step"] == 25_600
    assert plan["step_s"] == pytest.approx(16.38, abs=0.005)
    assert main(argv.split()) == 0
    text = capsys.readouterr().out
    assert "16.4 s a step" in text
    assert "31 %" in text


def test_plan_from_a_run_says_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    plan = document(capsys, "plan", "--from", str(GROWING), "--steps", "500", "--json")["plan"]
    assert plan["inputs"]["sources"]["mean_length"]["kind"] == "measured"
    assert plan["inputs"]["mean_length"] == pytest.approx(256, rel=0.02)
    assert plan["inputs"]["steps"] == 500


def test_plan_names_the_field_that_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--gen-tok-s", "0"]) == 2
    captured = capsys.readouterr()
    assert "generation throughput" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_export_holds_every_row(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / f"out.{ending}"
    assert main(["export", str(loop_log(tmp_path)), "--to", str(target)]) == 0
    assert "Wrote" in capsys.readouterr().out
    if ending == "parquet":
        frame = pl.read_parquet(target)
    else:
        frame = pl.read_csv(target) if ending == "csv" else pl.read_ndjson(target)
    assert frame["step"].to_list() == list(range(1, 21))
    assert frame["len_mean"].to_list() == [100 + 3 * n for n in range(1, 21)]


def test_formats_lists_what_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    text = capsys.readouterr().out
    assert "keyvalue" in text
    found = document(capsys, "formats", "--json")
    assert {row["name"] for row in found["formats"]} >= {
        "trl",
        "trainer_state",
        "tensorboard",
        "verl",
        "vllm",
        "keyvalue",
        "jsonl",
        "csv",
    }


def test_reports_are_written_and_inert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = loop_log(tmp_path, name="<img src=x onerror=alert(1)>.log")
    page, text = tmp_path / "r.html", tmp_path / "r.md"
    assert main(["show", str(hostile), "--html", str(page)]) == 0
    assert main(["show", str(hostile), "--md", str(text)]) == 0
    assert "<img" not in page.read_text()
    assert "http" not in page.read_text().replace("http://www.w3.org", "")
    assert "<img" not in text.read_text()
    assert "Wrote" in capsys.readouterr().out


BAD = {
    "a.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    "empty.log": b"",
    "prose.txt": b"The quick brown fox jumps over the lazy dog, again and again.\n" * 170_000,
    "nul.bin": b"\0" * 5000,
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_file_gets_one_clear_message(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name])
    assert main(["show", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert name in captured.err
    assert "Traceback" not in captured.err


def test_a_missing_path_and_a_folder_without_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path / "nowhere")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["show", str(tmp_path / "empty")]) == 2
    assert "empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "{log}", "--level", "2"],
        ["show", "{log}", "--eval-s", "nan"],
        ["show", "{log}", "--gen-tok-s", "inf"],
        ["show", "{log}", "--total-steps", "-3"],
        ["show", "{log}", "--format", "nonsense"],
        ["show", "{log}", "--map", "x=nonsense"],
        ["export", "{log}", "--to", "x.docx"],
        ["open", "{log}.missing"],
        ["nonsense"],
        [],
    ],
)
def test_bad_usage_is_exit_code_2(argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(loop_log(tmp_path))
    assert main([part.replace("{log}", log) for part in argv]) == 2
    assert capsys.readouterr().err.strip()


def test_watch_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(loop_log(tmp_path)), "--once"]) == 0
    assert "step 20 / 40" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: timeledger {command}")


def test_the_published_schema_is_the_models() -> None:
    assert SCHEMA_FILE.read_text() == schema_text()
