"""Real vLLM logs, benchmarks and metrics pages against counted tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from timeledger.run import Run

pytestmark = pytest.mark.corpus


def made(corpus: Path, name: str) -> Path:
    return corpus / "made" / "vllm" / name


def read(corpus: Path, name: str, form: str) -> Run:
    path = made(corpus, name)
    found, _ = parsers.detect(path)
    assert found is not None
    assert found.name == form
    return parsers.read(path)


@pytest.mark.parametrize("name", ["offline-eager", "offline-graph"])
def test_bars_give_the_tokens_that_were_counted(corpus: Path, name: str) -> None:
    run = read(corpus, f"{name}.console.log", "vllm")
    truth = [json.loads(line) for line in made(corpus, f"{name}.truth.jsonl").read_text().splitlines()]
    rounds = [one for one in truth if one["ev"] == "generate"]
    bars = run.engine.filter(pl.col("kind") == "bar").to_dicts()
    assert len(bars) == len(rounds) == 3
    for row, one in zip(bars, rounds, strict=True):
        assert row["requests"] == one["prompts"] * one["n"]
        # The bar's clock begins after the prompts are queued: its rate is a little above tokens over the whole call.
        assert row["gen_tok_s"] == pytest.approx(one["out_tokens"] / one["seconds"], rel=0.05)
        assert abs(row["interval_s"] - one["seconds"]) <= 1.1
    assert run.info.setting("enforce_eager") is (name == "offline-eager")
    assert run.info.number("gpu_memory_utilization") == {"offline-eager": 0.3, "offline-graph": 0.5}[name]


def test_a_refused_sleep_mode_is_a_crash(corpus: Path) -> None:
    run = read(corpus, "offline-sleep.console.log", "vllm")
    assert run.info.ended == "crashed"
    assert run.info.setting("enable_sleep_mode") is True


@pytest.mark.parametrize("name", ["server-eager", "server-graph-smallkv"])
def test_server_lines_add_up_to_the_counter(corpus: Path, name: str) -> None:
    run = read(corpus, f"{name}.console.log", "vllm")
    after = read(corpus, f"{name}.metrics-after.txt", "prometheus").engine.to_dicts()[0]
    rows = run.engine.to_dicts()
    counted = sum(row["gen_tok_s"] * (row["interval_s"] or 10.0) for row in rows)
    assert counted == pytest.approx(after["gen_tokens"], rel=0.01)
    assert all(row["interval_s"] == pytest.approx(10.0, abs=1.0) for row in rows[1:])
    assert run.info.ended == "finished"
    truth = json.loads(made(corpus, f"{name}.truth.json").read_text())
    assert all(truth["server_start"] <= row["at"].timestamp() <= truth["server_end"] for row in rows)


def test_a_full_cache_shows(corpus: Path) -> None:
    run = read(corpus, "server-graph-smallkv.console.log", "vllm")
    busy = run.engine.filter(pl.col("waiting") > 0)
    assert busy.height == 6
    assert busy["kv_cache"].min() == pytest.approx(0.949)
    assert run.info.number("kv_cache_tokens") == 5120
    assert run.info.number("max_num_seqs") == 64
    page = read(corpus, "server-graph-smallkv.metrics-after.txt", "prometheus")
    assert page.engine["preemptions"].to_list() == [475.0]
    assert page.engine["prefix_hit"][0] == pytest.approx(0.112, abs=1e-3)


@pytest.mark.parametrize("name", ["bench-serve", "bench-serve-smallkv"])
def test_serving_benchmark_on_the_console_and_in_its_file(corpus: Path, name: str) -> None:
    console = read(corpus, f"{name}.console.log", "vllm_bench")
    document = read(corpus, f"{name}.result.json", "vllm_bench_json")
    truth = json.loads(made(corpus, f"{name}.result.json").read_text())
    (row,) = document.engine.to_dicts()
    assert row["gen_tok_s"] == truth["output_throughput"]
    assert row["gen_tokens"] == truth["total_output_tokens"]
    assert row["interval_s"] == truth["duration"]
    assert row["requests"] == truth["completed"]
    assert row["gen_tokens"] / row["interval_s"] == pytest.approx(row["gen_tok_s"])
    rounded = console.engine.filter(pl.col("kind") == "bench").to_dicts()[0]
    assert rounded["gen_tok_s"] == pytest.approx(row["gen_tok_s"], abs=0.005)
    assert console.info.number("gen_tok_s") == rounded["gen_tok_s"]


def test_throughput_benchmark(corpus: Path) -> None:
    console = read(corpus, "bench-throughput.console.log", "vllm_bench")
    truth = json.loads(made(corpus, "bench-throughput.result.json").read_text())
    row = console.engine.filter(pl.col("kind") == "bench").to_dicts()[0]
    assert (row["gen_tok_s"], row["gen_tokens"], row["requests"]) == (9757.99, 12800.0, truth["num_requests"])
    assert row["interval_s"] == pytest.approx(truth["elapsed_time"], rel=1e-5)
    document = read(corpus, "bench-throughput.result.json", "vllm_bench_json")
    assert document.info.setting("gen_tok_s") is None, "the file's rate counts prompt tokens too"


def test_two_metrics_pages(corpus: Path) -> None:
    truth = json.loads(made(corpus, "server-eager.truth.json").read_text())
    pages = {when: made(corpus, f"server-eager.metrics-{when}.txt").read_text() for when in ("before", "after")}
    start, end = truth["bench_start"], truth["bench_end"]
    seconds = end - start
    both = f"{start}\n{pages['before']}\n{end}\n{pages['after']}"
    row = parsers.read(both.encode(), name="metrics.txt").engine.to_dicts()[-1]
    assert (row["gen_tokens"], row["requests"], row["preemptions"]) == (32661.0, 172.0, 0.0)
    assert row["gen_tok_s"] == pytest.approx(32661 / seconds)


def test_a_long_server_log(corpus: Path) -> None:
    path = corpus / "fetched" / "console" / "vllm-server-memsuit" / "vllm_lme.log"
    run = parsers.read(path, format="vllm")
    assert run.engine.height == path.read_bytes().count(b"Avg prompt throughput") == 3811
    assert run.steps.is_empty()
    assert run.engine.null_count().select("gen_tok_s", "running", "waiting", "kv_cache", "at").row(0) == (0,) * 5
    assert run.engine["at"].is_sorted()
    assert run.engine["interval_s"].drop_nulls().median() == 10.0
    assert run.info.ended == "finished"
    assert run.info.number("kv_cache_tokens") == 1890400


@pytest.mark.parametrize("start", ["015", "017", "019", "021", "025", "027", "029"])
def test_snippets(corpus: Path, start: str) -> None:
    folder = corpus / "fetched" / "snippets"
    (path,) = folder.glob(f"{start}-*")
    want: dict[str, Any] = json.loads((folder / "expected.json").read_text())[path.name]["expected"]
    engine = parsers.read(path).engine
    rates = engine["gen_tok_s"].to_list()
    if "engine" in want:
        (one,) = want["engine"]
        row = engine.to_dicts()[0]
        assert (rates, row["prompt_tok_s"], row["running"]) == ([one["gen_tok_s"]], one["prompt_tok_s"], one["running"])
        assert (row["waiting"], row["kv_cache"]) == (one["waiting"], one["kv"])
        return
    assert len(rates) == want["engine_lines"]
    assert rates == want["gen_tok_s"]
    if "interval_s" in want:
        assert engine["interval_s"].to_list()[1:] == want["interval_s"]
    if "running" in want:
        assert engine["running"].to_list() == want["running"]
