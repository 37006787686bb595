"""vLLM's lines in the shape of each generation, read alone and inside another program's log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from parsers.base import Head, Origin, Reader, Sure
from parsers.build import RunBuilder
from parsers.text import Pieces, YearlessClock
from parsers.vllm import VLLM, EngineLines, recognises
from tests.parsers.alike import same_in_pieces
from timeledger.run import Run

MODIFIED = datetime(2026, 3, 1, tzinfo=UTC)
TAIL = "GPU KV cache usage: 95.9%, Prefix cache hit rate: 12.5%"
RATES = "Avg prompt throughput: 100.5 tokens/s, Avg generation throughput: 2001.5 tokens/s, "


def open_vllm(name: str = "server.log") -> Reader:
    return VLLM.open(Origin(name, modified=MODIFIED))


def read(*lines: str) -> Run:
    reader = open_vllm()
    reader.feed(("\n".join(lines) + "\n").encode())
    return reader.runs()[0]


def head(*lines: str, whole: bool = True) -> Head:
    data = "\n".join(lines).encode()
    return Head(Origin("x"), data, tuple(piece.text for piece in Pieces().split(data)), whole)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            f"INFO 02-14 02:38:02 metrics.py:345] {RATES}Running: 18 reqs, Swapped: 2 reqs, Pending: 43 reqs, "
            "GPU KV cache usage: 95.9%, CPU KV cache usage: 1.0%.",
            {"running": 18.0, "waiting": 43.0, "kv_cache": 0.959, "prefix_hit": None, "engine": None},
        ),
        (
            f"INFO 02-14 02:38:02 loggers.py:78] {RATES}Running: 18 reqs, Waiting: 43 reqs GPU KV cache usage: 95.9%.",
            {"running": 18.0, "waiting": 43.0, "kv_cache": 0.959},
        ),
        (
            f"INFO 02-14 02:38:02 [loggers.py:80] {RATES}Running: 18 reqs, Waiting: 43 reqs, {TAIL}",
            {"running": 18.0, "waiting": 43.0, "kv_cache": 0.959, "prefix_hit": 0.125, "preemptions": None},
        ),
        (
            f"(APIServer pid=36) INFO 02-14 02:38:02 [loggers.py:118] Engine 003: {RATES}Running: 18 reqs, "
            f"Waiting: 43 reqs, Preemptions: 7, {TAIL}, External prefix cache hit rate: 99.0%",
            {"running": 18.0, "waiting": 43.0, "preemptions": 7.0, "prefix_hit": 0.125, "engine": "36/003"},
        ),
        (
            f"(APIServer pid=36) INFO 02-14 02:38:02 [loggers.py:335] 4 Engines Aggregated: {RATES}Running: 18 reqs, "
            "Waiting: 40 reqs, Deferred: 3 reqs, XPU KV cache usage: 95.9%, Prefix cache hit rate: 12.5%",
            {"running": 18.0, "waiting": 40.0, "kv_cache": 0.959, "engine": "36/4 engines"},
        ),
        (
            f"(RolloutRayActor pid=9, ip=10.0.0.2) (EngineCore_DP0 pid=1) INFO 02-14 02:38:02 [loggers.py:257] "
            f"Engine 000: {RATES}Running: 18 reqs, Waiting: 43 reqs, CPU KV cache usage: 95.9%",
            {"kv_cache": 0.959, "prefix_hit": None, "engine": "1/000"},
        ),
    ],
)
def test_statistics_line_of_each_generation(line: str, expected: dict[str, Any]) -> None:
    (row,) = read(line).engine.to_dicts()
    assert (row["gen_tok_s"], row["prompt_tok_s"], row["kind"]) == (2001.5, 100.5, "log")
    assert row["at"] == datetime(2026, 2, 14, 2, 38, 2, tzinfo=UTC)
    assert row["kv_cache"] == pytest.approx(0.959)
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_prefix_hits_of_version_0_stand_on_a_line_of_their_own() -> None:
    (row,) = read(
        "INFO 02-14 02:38:02 metrics.py:360] Prefix cache hit rate: GPU: 12.50%, CPU: 0.00%"
    ).engine.to_dicts()
    assert row["prefix_hit"] == pytest.approx(0.125)
    assert row["gen_tok_s"] is None


def line_at(clock: str, rate: float, *, v0: bool = False, pid: int = 1) -> str:
    queue = "Pending: 0 reqs" if v0 else "Waiting: 0 reqs"
    where = "metrics.py:1]" if v0 else "[loggers.py:1] Engine 000:"
    return (
        f"(APIServer pid={pid}) INFO 12-31 {clock} {where} Avg prompt throughput: 0.0 tokens/s, "
        f"Avg generation throughput: {rate} tokens/s, Running: 1 reqs, {queue}, GPU KV cache usage: 1.0%"
    )


def test_the_window_is_the_gap_and_after_an_idle_line_one_tick() -> None:
    run = read(
        *(line_at(*pair) for pair in [("23:59:30", 5.0), ("23:59:40", 0.0)]),
        line_at("23:59:50", 0.0).replace("12-31", "01-01").replace("23:59:50", "00:10:00"),
    )
    assert run.engine["interval_s"].to_list() == [None, 10.0, 10.0]
    gap = run.engine["at"][2] - run.engine["at"][1]
    assert gap.total_seconds() == 620.0, "the year steps up at New Year"


def test_version_0_measures_over_the_whole_gap() -> None:
    run = read(line_at("10:00:00", 0.0, v0=True), line_at("10:00:30", 7.0, v0=True))
    assert run.engine["interval_s"].to_list() == [None, 30.0]


def test_windows_of_two_engines_are_kept_apart() -> None:
    run = read(
        line_at("10:00:00", 1.0, pid=1), line_at("10:00:04", 1.0, pid=2),
        line_at("10:00:10", 1.0, pid=1), line_at("10:00:14", 1.0, pid=2),
    )  # fmt: skip
    assert run.engine["interval_s"].to_list() == [None, None, 10.0, 10.0]


def test_a_stamp_with_a_year_wins_over_one_without() -> None:
    run = read("2024-05-12T08:01:39.5Z " + line_at("08:01:39", 1.0).replace("12-31", "05-12"))
    assert run.engine["at"][0] == datetime(2024, 5, 12, 8, 1, 39, 500000, tzinfo=UTC)
    assert run.info.zone_known


def bar(done: int, rate: str, elapsed: str = "00:12") -> str:
    share = 100 * done // 16
    return f"Processed prompts: {share}%|███| {done}/16 [{elapsed}<00:00,  1.25it/s, {rate}]"


@pytest.mark.parametrize(
    "rate", ["est. speed input: 123.45 toks/s, output: 456.78 toks/s", "Generation Speed: 456.78 toks/s"]
)
def test_only_a_full_bar_is_a_sample_and_it_counts_once(rate: str) -> None:
    run = read("\r" + bar(8, rate) + "\r" + bar(16, rate) + "\r" + bar(16, rate), "done")
    (row,) = run.engine.to_dicts()
    assert (row["kind"], row["gen_tok_s"], row["requests"], row["interval_s"]) == ("bar", 456.78, 16.0, 12.0)
    assert row["prompt_tok_s"] is None, "the bar counts a prompt once a sample"


def test_a_line_inside_a_bar_is_read_too() -> None:
    run = read("\r" + bar(0, "est. speed input: 0.00 toks/s, output: 0.00 toks/s") + line_at("10:00:00", 77.0))
    assert run.engine["gen_tok_s"].to_list() == [77.0]
    assert run.engine["engine"].to_list() == ["1/000"]


def test_start_up_lines_become_settings() -> None:
    run = read(
        "(APIServer pid=1) INFO 11-30 08:00:00 [api.py:1] non-default args: {'model': 'org/m', 'max_model_len': 1024, "
        "'served_model_name': ['tiny'], 'gpu_memory_utilization': 0.6, 'enable_sleep_mode': True, 'max_num_seqs': 64}",
        "(EngineCore pid=2) INFO 11-30 08:00:01 [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: "
        "model='other', max_seq_len=2048, tensor_parallel_size=2, enforce_eager=False, dtype=torch.bfloat16, ",
        "(EngineCore pid=2) INFO 11-30 08:00:02 [kv.py:1] GPU KV cache size: 251,920 tokens, "
        "Maximum concurrency for 1,024 tokens per request: 6.15x",
        "(EngineCore pid=2) INFO 11-30 08:00:09 [core.py:2] init engine (profile, create kv cache, warmup model) took "
        "44.51 s (compilation: 18.40 s)",
        "(Worker_TP0 pid=3) INFO 11-30 08:00:09 [gpu.py:2] Graph capturing finished in 14 secs, took 0.84 GiB",
    )
    values = {name: setting.value for name, setting in run.info.settings.items()}
    assert values["model"] == "org/m"
    assert values["max_model_len"] == 1024
    assert values["gpu_memory_utilization"] == 0.6
    assert values["enable_sleep_mode"] is True
    assert values["max_num_seqs"] == 64
    assert values["tensor_parallel_size"] == 2
    assert values["enforce_eager"] is False
    assert values["kv_cache_tokens"] == 251920
    assert values["vllm.max_concurrency"] == 6.15
    (start,) = run.events.to_dicts()
    assert (start["kind"], start["seconds"]) == ("start", 44.51)


def test_version_0_cache_in_blocks_becomes_tokens() -> None:
    run = read(
        "INFO 02-14 02:38:02 executor.py:1] # GPU blocks: 15745, # CPU blocks: 2048",
        "INFO 02-14 02:38:02 executor.py:2] Maximum concurrency for 40960 tokens per request: 6.15x",
        "INFO 02-14 02:38:02 w.py:2] the current vLLM instance can use total_gpu_memory (79.33GiB) x "
        "gpu_memory_utilization (0.85) = 67.43GiB",
        "WARNING 02-14 02:38:02 c.py:3] Cudagraph is disabled under eager mode",
    )
    tokens = run.info.settings["kv_cache_tokens"]
    assert (tokens.value, tokens.kind) == (15745 * 16, "inferred")
    assert run.info.number("gpu_memory_utilization") == 0.85
    assert run.info.setting("enforce_eager") is True


def test_replicas_that_sleep_together_are_one_event_as_long_as_the_slowest() -> None:
    run = read(
        "(EngineCore_DP0 pid=1) INFO 11-30 08:00:00 [e.py:1] It took 3.152677 seconds to fall asleep.",
        "(EngineCore_DP1 pid=2) INFO 11-30 08:00:01 [e.py:1] It took 4.5 seconds to fall asleep.",
        "(EngineCore_DP0 pid=1) INFO 11-30 08:01:00 [e.py:1] It took 0.5 seconds to wake up tags {'weights'}.",
        "(EngineCore_DP1 pid=2) INFO 11-30 08:01:00 [e.py:1] It took 0.4 seconds to wake up tags {'weights'}.",
        "(EngineCore_DP0 pid=1) INFO 11-30 08:01:02 [e.py:1] It took 0.2 seconds to wake up tags ['kv_cache'].",
        "(EngineCore_DP0 pid=1) INFO 11-30 08:02:00 [e.py:1] It took 2.0 seconds to fall asleep.",
        "(EngineCore_DP0 pid=1) INFO 11-30 08:02:01 [b.py:1] Successfully reset prefix cache",
    )
    found = [(row["kind"], row["seconds"]) for row in run.events.to_dicts()]
    assert found == [("sleep", 4.5), ("wake", 0.5), ("wake", 0.2), ("sleep", 2.0), ("weight_sync", None)]


def test_without_process_ids_the_other_kind_ends_a_group() -> None:
    lines = [f"INFO 11-30 08:00:00 [e.py:1] It took {seconds} seconds to fall asleep." for seconds in (1.0, 2.0)]
    wake = "INFO 11-30 08:00:30 [e.py:1] It took 0.5 seconds to wake up."
    found = [(row["kind"], row["seconds"]) for row in read(*lines, wake, lines[0]).events.to_dicts()]
    assert found == [("sleep", 2.0), ("wake", 0.5), ("sleep", 1.0)]


def test_preemption_warning_is_an_event() -> None:
    run = read(
        "WARNING 02-14 02:38:02 scheduler.py:1] Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode because "
        "there is not enough KV cache space. total_num_cumulative_preemption=51"
    )
    assert run.events["kind"].to_list() == ["warning"]


def test_embedded_collector_leaves_other_lines_alone() -> None:
    build = RunBuilder(Origin("train.log"), "trl")
    lines, clock = EngineLines(build), YearlessClock(MODIFIED)
    assert not lines.take("{'loss': 0.1, 'reward': 0.5, 'epoch': 1.0}", 1, clock)
    assert not lines.take("perf/throughput:120.5", 2, clock)
    assert not lines.take("INFO 02-14 02:38:02 [a.py:1] nothing of note", 3, clock)
    assert not lines.take("", 4, clock)
    assert lines.take(f"INFO 02-14 02:38:02 [l.py:1] {RATES}Running: 1 reqs, Waiting: 0 reqs, {TAIL}", 5, clock)
    assert build.run().engine["line"].to_list() == [5]


def test_recognition_is_never_certain_and_needs_more_than_a_start() -> None:
    stat = f"INFO 02-14 02:38:02 [l.py:1] {RATES}Running: 1 reqs, Waiting: 0 reqs, {TAIL}"
    start = "INFO 02-14 02:38:02 [l.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='m'"
    assert recognises(head("x", stat)).sure is Sure.LIKELY
    assert recognises(head(start, whole=False)).sure is Sure.NO
    assert recognises(head(start)).sure is Sure.MAYBE
    assert recognises(head("Processed prompts: 0%|", whole=False)).sure is Sure.MAYBE
    assert recognises(head("INFO something", "loss 0.5")).sure is Sure.NO


def test_any_split_gives_the_same_run() -> None:
    text = "\n".join(
        [
            line_at("10:00:00", 1.0),
            "\r" + bar(16, "output: 5.00 toks/s") + "\r" + bar(16, "output: 5.00 toks/s"),
            line_at("10:00:10", 2.0),
            "(EngineCore pid=1) INFO 12-31 10:00:10 [e.py:1] It took 3.1 seconds to fall asleep.",
            "(EngineCore pid=2) INFO 12-31 10:00:10 [e.py:1] It took 4.1 seconds to fall asleep.",
        ]
    )
    assert same_in_pieces(
        VLLM, (text + "\n").encode().splitlines(keepends=True), Origin("server.log", modified=MODIFIED)
    )


def test_bad_content_never_raises() -> None:
    run = read(
        "Avg prompt throughput: 1.2.3 tokens/s, Avg generation throughput: ... tokens/s, ",
        "INFO non-default args: {'max_model_len': [[[, 'gpu_memory_utilization': }",
        "It took seconds to fall asleep INFO",
        "Processed prompts: 100%|█| 16/16 [00:12<00:00, 1.25it/s, output: 1.2.3 toks/s]",
        "\x00\ufffd INFO KV cache size: tokens",
    )
    assert run.engine.is_empty()
    assert run.events.is_empty()


def test_a_server_that_shuts_down_has_ended() -> None:
    assert (
        read("INFO:     Application startup complete.", "INFO:     Application shutdown complete.").info.ended
        == "finished"
    )
    assert read("Traceback (most recent call last):", "ValueError: x").info.ended == "crashed"
