"""`timeledger check` and the advice that `show` prints: exit codes, documents, text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from timeledger.cli import main
from timeledger.document import json_schema


def loop_log(folder: Path, steps: int = 30, *, reward: str = "0.{n}", truncated: float = 0.02, more: str = "") -> Path:
    """A hand-written log of `steps` of 60 steps."""
    path = folder / "loop.log"
    path.write_text(
        "".join(
            f"step {n}/60 | len {150 + n} | reward {reward.format(n=10 + n)} | truncated {truncated} | grad_norm 0.5 | time 2.{n:02}s{more}\n"
            for n in range(1, steps + 1)
        )
    )
    return path


def checked(capsys: pytest.CaptureFixture[str], code: int, *argv: str) -> dict[str, Any]:
    assert main(["check", *argv, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json_schema()["check"])
    assert isinstance(found, dict)
    return found


def test_pass_is_0_and_the_document_is_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = checked(capsys, 0, str(loop_log(tmp_path)))
    assert found["schema"] == 1
    assert found["verdict"] == "pass"
    assert {"name", "status", "value", "want", "why"} <= set(found["checks"][0])


def test_fail_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = checked(capsys, 1, str(loop_log(tmp_path, truncated=0.97)))
    assert found["verdict"] == "fail"
    assert [each["name"] for each in found["checks"] if each["status"] == "fail"] == ["truncation"]


def test_cannot_tell_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, 2, str(loop_log(tmp_path, steps=1)))["verdict"] == "unknown"


def test_bad_input_is_2_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nothing.log")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_limits_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(loop_log(tmp_path, truncated=0.3))
    checked(capsys, 0, log)
    checked(capsys, 1, log, "--limit", "truncated_fail=0.2")
    for wrong in ("truncation=0.2", "truncated_fail", "truncated_fail=much"):
        assert main(["check", log, "--limit", wrong]) == 2
        assert "--limit" in capsys.readouterr().err
    assert main(["check", log, "--limit", "list"]) == 0
    assert "truncated_fail" in capsys.readouterr().out


def test_the_text_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(loop_log(tmp_path, truncated=0.97))]) == 1
    text = capsys.readouterr().out
    assert text.startswith("loop: fail")
    assert "97 %" in text
    assert "never shorten" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_show_tells_what_to_change_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(loop_log(tmp_path, truncated=0.3, more=" | gen_time 1.6 | train_time 0.3 | sync_time 0.4"))
    assert main(["show", log]) == 0
    text = capsys.readouterr().out
    assert "Change first" in text
    assert "free" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert main(["show", log, "--advice"]) == 0
    everything = capsys.readouterr().out
    assert "Source:" in everything
    assert "Not judged" in everything
    assert all(len(line) <= 80 for line in everything.splitlines())


def test_the_report_holds_advice_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = loop_log(tmp_path, truncated=0.3, more=" | gen_time 1.6 | train_time 0.3 | sync_time 0.4")
    assert main(["show", str(log), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json_schema()["show"])
    run = document["runs"][0]
    sync = next(each for each in run["advice"] if each["rule"] == "R21")
    assert sync["saves_s"]["low"] <= sync["saves_s"]["mid"] <= sync["saves_s"]["high"]
    assert sync["of"] == "the remaining run"
    assert {"symptom", "ceiling", "confidence", "published", "evidence", "source", "cost"} <= set(sync)
    assert run["not_judged"]
    assert {each["status"] for each in run["checks"]} <= {"pass", "warn", "fail", "unknown"}
    for option, name in (("--html", "report.html"), ("--md", "report.md")):
        assert main(["show", str(log), option, str(tmp_path / name)]) == 0
        capsys.readouterr()
        report = (tmp_path / name).read_text()
        assert "Faster weight sync" in report
        assert "30 % of the answers are cut" in report


def test_an_engine_log_is_worth_showing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = (
        "INFO 03-02 12:00:{at:02} [loggers.py:118] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation "
        "throughput: {rate:.1f} tokens/s, Running: 256 reqs, Waiting: 740 reqs, GPU KV cache usage: 99.7%, Prefix cache hit rate: 0.0%\n"
    )
    log = tmp_path / "server.log"
    log.write_text("".join(line.format(at=10 * n, rate=3000.0 + n) for n in range(6)))
    assert main(["show", str(log)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The engine makes 3,0" in text
    assert "It waits for memory 100 % of its running time: KV cache up to 99.7 % full, 740 requests waiting" in text
    assert "Give the engine more memory" in text
    assert main(["check", str(log)]) == 2
