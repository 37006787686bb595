"""Benchmark results: the console tables of vLLM's tools and their JSON files."""

from __future__ import annotations

import json

import pytest

from parsers.base import Format, Head, Origin, Sure
from parsers.text import Pieces
from parsers.vllm_bench import VLLM_BENCH, VLLM_BENCH_JSON
from timeledger.run import Run


def read(data: str, form: Format = VLLM_BENCH) -> Run:
    reader = form.open(Origin("bench.log"))
    reader.feed(data.encode())
    return reader.runs()[0]


def sure(data: str, form: Format) -> Sure:
    raw = data.encode()
    return form.recognises(Head(Origin("x"), raw, tuple(piece.text for piece in Pieces().split(raw)), True)).sure


SERVE = """\
Maximum request concurrency: 16
============ Serving Benchmark Result ============
Successful requests:                     160
Failed requests:                         0
Benchmark duration (s):                  10.00
Total input tokens:                      20000
Total generated tokens:                  32,000
Request throughput (req/s):              16.00
Output token throughput (tok/s):         3200.00
Peak output token throughput (tok/s):    3838.00
{total} throughput (tok/s):         5200.00
---------------Time to First Token----------------
Mean TTFT (ms):                          65.45
==================================================
Mean TTFT (ms):                          99.99
"""


@pytest.mark.parametrize("total", ["Total Token", "Total token"])
def test_serving_table(total: str) -> None:
    text = SERVE.format(total=total)
    run = read(text)
    (row,) = run.engine.to_dicts()
    assert (row["kind"], row["gen_tok_s"], row["interval_s"]) == ("bench", 3200.0, 10.0)
    assert (row["requests"], row["gen_tokens"], row["prompt_tok_s"]) == (160.0, 32000.0, 2000.0)
    assert run.info.number("gen_tok_s") == 3200.0
    assert run.info.number("bench.mean_ttft_ms") == 65.45
    assert sure(text, VLLM_BENCH) is Sure.CERTAIN


def test_a_table_cut_off_keeps_what_it_has() -> None:
    (row,) = read(SERVE.format(total="Total token").split("Output token")[0]).engine.to_dicts()
    assert (row["gen_tok_s"], row["gen_tokens"]) == (None, 32000.0)


def test_throughput_line_and_its_totals() -> None:
    text = (
        "Throughput: 50.00 requests/s, 9000.00 total tokens/s, 6400.00 output tokens/s\n"
        "Total num prompt tokens:  5200\nTotal num output tokens:  12800\n"
    )
    run = read(text)
    (row,) = run.engine.to_dicts()
    assert (row["gen_tok_s"], row["gen_tokens"], row["interval_s"]) == (6400.0, 12800.0, 2.0)
    assert (row["requests"], row["prompt_tok_s"]) == (100.0, 2600.0)
    assert sure(text, VLLM_BENCH) is Sure.CERTAIN


def test_a_rate_of_all_tokens_is_not_a_generation_rate() -> None:
    run = read("Throughput: 50.00 requests/s, 9000.00 tokens/s\n")
    assert run.engine["gen_tok_s"].to_list() == [None]
    assert run.info.setting("gen_tok_s") is None
    assert run.info.number("bench.total_tok_s") == 9000.0
    document = json.dumps(
        {"elapsed_time": 2.0, "num_requests": 100, "requests_per_second": 50, "tokens_per_second": 9000}
    )
    run = read(document, VLLM_BENCH_JSON)
    assert run.info.setting("gen_tok_s") is None
    assert run.engine["interval_s"].to_list() == [2.0]
    assert sure(document, VLLM_BENCH_JSON) is Sure.CERTAIN


def test_latency_gives_a_rate_only_with_the_shape_of_the_batch() -> None:
    assert read("Avg latency: 1.250 seconds\n").engine["gen_tok_s"].to_list() == [None]
    run = read("Namespace(input_len=32, output_len=128, batch_size=8, n=1)\nAvg latency: 2.0 seconds\n")
    assert run.engine["gen_tok_s"].to_list() == [512.0]
    assert run.info.settings["gen_tok_s"].kind == "inferred"


SERVE_JSON = {
    "model_id": "m", "duration": 10.0, "completed": 160, "total_input_tokens": 20000, "total_output_tokens": 32000,
    "output_throughput": 3200.0, "mean_ttft_ms": 65.45, "input_lens": [1, 2],
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [json.dumps(SERVE_JSON), json.dumps([SERVE_JSON]), json.dumps(SERVE_JSON) + "\n", json.dumps(SERVE_JSON, indent=1)],
)
def test_serving_result_file(text: str) -> None:
    run = read(text, VLLM_BENCH_JSON)
    (row,) = run.engine.to_dicts()
    assert (row["gen_tok_s"], row["prompt_tok_s"], row["requests"]) == (3200.0, 2000.0, 160.0)
    assert run.info.setting("model") == "m"
    assert sure(text, VLLM_BENCH_JSON) is Sure.CERTAIN


def test_appended_results_are_several_samples_and_the_last_one_counts() -> None:
    second = SERVE_JSON | {"output_throughput": 3300.0}
    run = read(f"{json.dumps(SERVE_JSON)}\n{json.dumps(second)}\n", VLLM_BENCH_JSON)
    assert run.engine["gen_tok_s"].to_list() == [3200.0, 3300.0]
    assert run.info.number("gen_tok_s") == 3300.0


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"output_throughput": "fast", "total_output_tokens": null}'])
def test_bad_result_files_never_raise(text: str) -> None:
    run = read(text, VLLM_BENCH_JSON)
    assert run.info.setting("gen_tok_s") is None


def test_other_documents_are_not_claimed() -> None:
    assert sure('{"loss": 0.1, "throughput": 5}', VLLM_BENCH_JSON) is Sure.NO
    assert sure("Throughput: fine\nstep 1 loss 0.5\n", VLLM_BENCH) is Sure.NO
    assert sure("Burstiness factor: 1.0 (Poisson process)\n", VLLM_BENCH) is Sure.LIKELY
