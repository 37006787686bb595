"""SGLang's decode and prefill lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from parsers.base import Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.sglang import SGLANG, recognises
from parsers.text import YearlessClock
from parsers.vllm import EngineLines
from timeledger.run import Run


def read(*lines: str) -> Run:
    reader = SGLANG.open(Origin("sglang.log"))
    reader.feed(("\n".join(lines) + "\n").encode())
    return reader.runs()[0]


def decode(stamp: str, rate: float, running: int = 8) -> str:
    return (
        f"[{stamp}] Decode batch. #running-req: {running}, #token: 62531, token usage: 0.12, "
        f"gen throughput (token/s): {rate}, #queue-req: 3"
    )


def test_decode_lines_are_samples_with_the_gap_as_window() -> None:
    run = read(decode("2025-02-27 04:46:39 TP0", 186.64), decode("2025-02-27 04:46:41 TP0", 185.93))
    first, second = run.engine.to_dicts()
    assert first["at"] == datetime(2025, 2, 27, 4, 46, 39, tzinfo=UTC)
    assert (first["gen_tok_s"], first["running"], first["waiting"], first["kv_cache"]) == (186.64, 8.0, 3.0, 0.12)
    assert (first["interval_s"], second["interval_s"]) == (None, 2.0)
    assert first["engine"] == "TP0"
    assert not run.info.zone_known


def test_newer_lines_with_more_fields() -> None:
    run = read(
        "[2025-09-01 10:00:00 DP1 TP0] Decode batch, #running-req: 1, #full token: 10, full token usage: 0.25, "
        "swa token usage: 0.75, accept len: 2.1, cuda graph: True, gen throughput (token/s): 84.5, #queue-req: 0,",
    )
    (row,) = run.engine.to_dicts()
    assert (row["gen_tok_s"], row["kv_cache"], row["engine"]) == (84.5, 0.75, "DP1 TP0")


def test_prefill_lines_make_no_sample_but_tell_the_next_one_what_the_cache_held() -> None:
    prefill = "Prefill batch. #new-seq: 1, #new-token: {}, #cached-token: {}, token usage: 0.00, #running-req: 0, #queue-req: 0"
    alone = read("[16:43:29 TP0] " + prefill.format(300, 0))
    assert alone.engine.is_empty()
    run = read(
        "[16:43:29 TP0] " + prefill.format(300, 0),
        "[16:43:30 TP0] " + prefill.format(100, 400),
        decode("16:43:31 TP0", 5.0),
    )
    assert run.engine["prefix_hit"].to_list() == [pytest.approx(0.5)]
    assert run.engine["at"].to_list() == [None], "a time of day alone is no moment"


def test_server_arguments_become_settings() -> None:
    run = read(
        "[2025-02-27 04:46:00] server_args=ServerArgs(model_path='org/m', context_length=None, mem_fraction_static=0.85, "
        "max_running_requests=64, tp_size=2, disable_cuda_graph=False)",
        "[2025-02-27 04:46:10 TP0] max_total_num_tokens=251920, chunked_prefill_size=8192, context_len=32768",
    )
    values = {name: setting.value for name, setting in run.info.settings.items()}
    assert values == {
        "model": "org/m", "gpu_memory_utilization": 0.85, "max_num_seqs": 64, "tensor_parallel_size": 2,
        "enforce_eager": False, "kv_cache_tokens": 251920, "max_model_len": 32768,
    }  # fmt: skip


def test_the_engine_collector_reads_them_inside_a_trainers_log() -> None:
    build = RunBuilder(Origin("verl.log"), "verl")
    lines = EngineLines(build)
    text = "(SGLangHttpServer pid=7, ip=10.0.0.3) " + decode("2025-02-27 04:46:39 TP0", 186.64)
    assert lines.take(text, 9, YearlessClock())
    (row,) = build.run().engine.to_dicts()
    assert (row["engine"], row["gen_tok_s"], row["line"]) == ("7, ip=10.0.0.3/TP0", 186.64, 9)


def test_recognition() -> None:
    def sure(line: str) -> Sure:
        return recognises(Head(Origin("x"), line.encode(), (line,), True)).sure

    assert sure(decode("16:43:31 TP0", 5.0)) is Sure.LIKELY
    assert sure("Decode batch of 7 images") is Sure.NO
    assert sure("step 3 gen throughput 5") is Sure.NO
