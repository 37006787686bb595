"""Metrics pages of engines: one scrape, two scrapes, restarts."""

from __future__ import annotations

import pytest

from parsers.base import Head, Origin, Sure
from parsers.prometheus import PROMETHEUS, recognises
from timeledger.run import Run


def page(
    generated: float, prompts: float = 0, hits: float = 0, queries: float = 0, engine: str = "0", time_ms: str = ""
) -> str:
    label = f'{{engine="{engine}",model_name="tiny"}}'
    return "\n".join(
        [
            "# HELP vllm:num_requests_running Number of requests.",
            "# TYPE vllm:num_requests_running gauge",
            f"vllm:num_requests_running{label} 3.0{time_ms}",
            f"vllm:num_requests_waiting{label} 2.0",
            f"vllm:kv_cache_usage_perc{label} 0.5",
            f"vllm:generation_tokens_total{label} {generated}",
            f"vllm:generation_tokens_created{label} 1.796026e+09",
            f"vllm:prompt_tokens_total{label} {prompts}",
            f"vllm:prefix_cache_hits_total{label} {hits}",
            f"vllm:prefix_cache_queries_total{label} {queries}",
            f'vllm:request_success_total{{engine="{engine}",finished_reason="stop"}} 2.0',
            f'vllm:request_success_total{{engine="{engine}",finished_reason="length"}} 170.0',
            f"vllm:num_preemptions_total{label} 4.0",
            'vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.6",num_gpu_blocks="100"} 1.0',
            "",
        ]
    )


def read(text: str) -> Run:
    reader = PROMETHEUS.open(Origin("metrics.txt"))
    reader.feed(text.encode())
    return reader.runs()[0]


def test_one_scrape_gives_gauges_and_counts_since_the_start_but_no_rate() -> None:
    run = read(page(32661, prompts=100, hits=25, queries=100))
    (row,) = run.engine.to_dicts()
    assert (row["kind"], row["engine"], row["running"], row["waiting"], row["kv_cache"]) == (
        "metrics",
        "0",
        3.0,
        2.0,
        0.5,
    )
    assert (row["gen_tokens"], row["requests"], row["preemptions"], row["prefix_hit"]) == (32661.0, 172.0, 4.0, 0.25)
    assert row["gen_tok_s"] is None
    assert row["interval_s"] is None
    assert run.info.number("kv_cache_tokens") == 1600
    assert run.info.number("gpu_memory_utilization") == 0.6
    assert any("one scrape" in note.text for note in run.notes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1796026900\n", "1796026910\n"),
        ("2026-11-30T08:21:40Z\n", "2026-11-30T08:21:50Z\n"),
        ("# at 1796026900\n", "# at 1796026910\n"),
    ],
)
def test_two_scrapes_with_their_times_give_rates(first: str, second: str) -> None:
    run = read(first + page(1000, prompts=10) + second + page(3000, prompts=60))
    row = run.engine.to_dicts()[1]
    assert (row["interval_s"], row["gen_tok_s"], row["prompt_tok_s"]) == (10.0, 200.0, 5.0)
    assert (row["gen_tokens"], row["requests"], row["preemptions"]) == (2000.0, 0.0, 0.0)
    assert row["at"].timestamp() == 1796026910


def test_times_behind_the_values_serve_too() -> None:
    run = read(page(1000, time_ms=" 1796026900000") + page(1500, time_ms=" 1796026905000"))
    assert run.engine["gen_tok_s"].to_list() == [None, 100.0]


def test_without_times_there_are_differences_and_a_note() -> None:
    run = read(page(1000) + page(3000))
    assert run.engine["gen_tokens"].to_list() == [1000.0, 2000.0]
    assert run.engine["gen_tok_s"].to_list() == [None, None]
    assert any("no time" in note.text for note in run.notes)


def test_engines_of_one_server_are_kept_apart() -> None:
    text = page(10, engine="0") + page(20, engine="1").replace("# TYPE", "# type")
    run = read(text.replace('vllm:cache_config_info{block_size="16"', 'vllm:other{a="1"', 1))
    assert run.engine["engine"].to_list() == ["0", "1"]
    assert run.engine["gen_tokens"].to_list() == [10.0, 20.0]


def test_counters_that_go_back_are_a_restart_not_a_rate() -> None:
    run = read("1796026900\n" + page(5000) + "1796026910\n" + page(100))
    assert run.engine["gen_tok_s"].to_list() == [None, None]
    assert any("restarted" in note.text for note in run.notes)


def test_older_and_other_engines() -> None:
    old = 'vllm:gpu_cache_usage_perc{model_name="m"} 0.25\nvllm:avg_generation_throughput_toks_per_s{model_name="m"} 812.5\n'
    (row,) = read(old).engine.to_dicts()
    assert (row["kv_cache"], row["gen_tok_s"], row["engine"]) == (0.25, 812.5, None)
    other = '# TYPE sglang:gen_throughput gauge\nsglang:gen_throughput{model_name="m"} 86.5\nsglang:num_queue_reqs 7\n'
    run = read(other)
    assert run.info.framework == "SGLang"
    assert (run.engine["gen_tok_s"][0], run.engine["waiting"][0]) == (86.5, 7.0)


def test_recognition_and_bad_lines() -> None:
    def sure(line: str) -> Sure:
        return recognises(Head(Origin("x"), line.encode(), (line,), True)).sure

    assert sure("# HELP vllm:num_requests_running Number") is Sure.CERTAIN
    assert sure('vllm:num_requests_running{engine="0"} 1.0') is Sure.CERTAIN
    assert sure("# HELP python_info Python") is Sure.NO
    assert sure("vllm: error: unrecognized arguments") is Sure.NO
    assert read('vllm:generation_tokens_total{engine="0"} many\nvllm:x{ 1\n\x00\n').engine.is_empty()
