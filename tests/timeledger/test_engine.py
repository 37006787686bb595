"""What the engine's samples say, against an engine whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from tests.engine_sim import START, Engine, engine_frame, generate, lengths, line, server_log
from tests.simulate import Plan, simulate
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.engine import STATES, read_engine
from timeledger.report import show_document
from timeledger.run import Run


def stamped(rows: list[dict[str, object]], gap: float = 10.0) -> list[dict[str, object]]:
    """Rows 10 s apart, as a server prints them."""
    return [
        each | {"at": START + timedelta(seconds=gap * at), "interval_s": gap if at else None}
        for at, each in enumerate(rows)
    ]


def test_throughput_leaves_idle_windows_out() -> None:
    busy, idle = line(running=40.0, gen_tok_s=3000.0, kv_cache=0.3), line(gen_tok_s=0.0)
    found = read_engine(server_log(stamped([idle, busy, busy, busy, idle, idle, busy, busy])))
    assert found.gen_tok_s == 3000
    assert found.request_tok_s == 75
    assert found.states == {"busy": 50.0, "idle": 30.0}
    assert found.share("busy") == 1.0
    assert found.share("idle") == pytest.approx(3 / 8)


def test_half_idle_windows_do_not_lower_the_throughput() -> None:
    """The first window of a batch holds the pause before it."""
    rows = [line(running=40.0, gen_tok_s=rate) for rate in (700.0, 3000.0, 3000.0)] + [line(gen_tok_s=900.0)]
    found = read_engine(server_log(stamped(rows)))
    assert found.gen_tok_s == 3000
    assert found.peak_tok_s == 3000


def test_silence_of_an_idle_engine_counts_as_idle() -> None:
    rows = stamped([line(running=4.0), line(gen_tok_s=0.0), line(running=4.0)])
    rows[2]["at"], rows[2]["interval_s"] = START + timedelta(seconds=110), 10.0
    found = read_engine(server_log(rows))
    assert found.states["idle"] == pytest.approx(10 + 90)
    assert found.running_s == pytest.approx(20)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"running": 260.0, "waiting": 740.0, "kv_cache": 0.997}, "memory"),
        ({"running": 32.0, "waiting": 90.0, "kv_cache": 0.2}, "concurrency"),
        ({"running": 32.0, "waiting": 9.0, "kv_cache": 0.8}, "queued"),
        ({"running": 60.0, "waiting": 20.0, "kv_cache": 0.99, "preemptions": 4.0}, "preempted"),
        ({"running": 32.0}, "busy"),
        ({"gen_tok_s": 0.0}, "idle"),
        ({"running": 9.0, "waiting": None, "kv_cache": None}, "busy"),
    ],
)
def test_each_state(values: dict[str, float], state: str) -> None:
    assert read_engine(server_log([line(**values)])).states == {state: 1.0}
    assert state in STATES


def test_the_tail_is_the_end_of_a_batch_not_a_quiet_server() -> None:
    batch = [
        line(running=n, prompt_tok_s=p) for n, p in ((64.0, 900.0), (60.0, 0.0), (30.0, 0.0), (9.0, 0.0), (2.0, 0.0))
    ]
    assert read_engine(server_log(batch)).states == {"busy": 3.0, "tail": 2.0}
    server = [line(running=n, prompt_tok_s=50.0) for n in (8.0, 1.0, 2.0, 1.0, 1.0, 2.0)]
    assert read_engine(server_log(server)).states == {"busy": 6.0}


def test_a_tight_cache_is_read_as_memory_bound() -> None:
    answers = lengths(256, 600.0)
    tight = generate(Engine(kv_tokens=20_000), answers)
    found = read_engine(server_log(tight.rows))
    assert found.share("memory") + found.share("preempted") > 0.5
    assert found.preemptions == tight.preemptions
    roomy = read_engine(server_log(generate(Engine(kv_tokens=10**7), answers).rows))
    assert roomy.share("memory") == roomy.share("preempted") == 0
    assert roomy.share("tail") > 0.2


def test_a_limit_on_sequences_is_read_as_concurrency_bound() -> None:
    found = read_engine(server_log(generate(Engine(kv_tokens=10**7, max_seqs=32), lengths(256, 600.0)).rows))
    assert found.share("concurrency") > 0.5
    assert found.stuck_running == pytest.approx(32, abs=1)


def test_throughput_of_a_simulated_batch() -> None:
    """Tokens over the seconds in which the engine was full: 32 sequences, one token each a step."""
    engine = Engine(kv_tokens=10**7, max_seqs=32, prefill_s=0.0)
    found = read_engine(server_log(generate(engine, lengths(256, 600.0)).rows))
    assert found.gen_tok_s == pytest.approx(32 / (engine.base_s + 32 * engine.each_s), rel=0.05)


def test_replicas_add_up() -> None:
    rows = [line(running=40.0, gen_tok_s=3000.0, engine=str(n % 2)) for n in range(6)]
    found = read_engine(server_log(rows))
    assert found.engines == 2
    assert found.gen_tok_s == 6000
    assert found.running == 40


def test_preemptions_by_window_by_scrape_and_by_warning() -> None:
    assert read_engine(server_log([line(running=4.0, preemptions=3.0)] * 2)).preemptions == 6
    scraped = server_log([line(kind="metrics", running=0.0, preemptions=475.0)])
    assert read_engine(scraped).preemptions == 475
    warned = replace(
        server_log([line(running=4.0)]),
        events=events([("warning", 0.0, None, "vLLM preempts sequences: not enough KV cache")]),
    )
    assert read_engine(warned).preemptions == 1
    assert read_engine(server_log([line(running=4.0)])).preemptions is None


def events(rows: list[tuple[str, float, float | None, str]]) -> pl.DataFrame:
    frame = pl.DataFrame(
        [
            {
                "segment": 0,
                "line": 1,
                "at": START + timedelta(seconds=at),
                "kind": kind,
                "seconds": seconds,
                "text": text,
            }
            for kind, at, seconds, text in rows
        ]
    )
    return schema.conform(frame, schema.EVENTS)


def test_sleep_and_wake_cost_and_the_time_asleep() -> None:
    turns = events(
        [("sleep", 30.0, 2.0, ""), ("wake", 70.0, 1.0, ""), ("sleep", 100.0, 2.4, ""), ("wake", 150.0, 1.2, "")]
    )
    rows = stamped([line(running=4.0)] * 3)
    more = [
        each | {"at": START + timedelta(seconds=80 + 10 * n), "interval_s": 10.0}
        for n, each in enumerate([line(running=4.0)] * 2)
    ]
    found = read_engine(replace(server_log([*rows, *more]), events=turns))
    assert found.sleeps == 2
    assert found.sleep_s == pytest.approx(6.6)
    assert found.states["asleep"] == pytest.approx(90)
    assert "2 times asleep" in found.sentence


def test_nothing_is_made_up() -> None:
    found = read_engine(server_log([]))
    assert found.samples == 0
    assert found.gen_tok_s is found.running is found.kv_cache is found.preemptions is None
    assert found.states == {}
    assert found.sentence == ""
    bare = read_engine(server_log([{"kind": "bar", "gen_tok_s": 4000.0}]))
    assert bare.gen_tok_s == 4000
    assert bare.kv_cache is None
    assert bare.states == {}


def test_windows_are_placed_in_steps() -> None:
    run, _ = simulate(Plan(steps=3, fixed_s=30.0, s_per_token=0.0, noise=0.0), "stamps")
    rows = [line(running=9.0) | {"at": START + timedelta(seconds=at), "interval_s": 10.0} for at in (40, 50, 70, 200)]
    both = replace(run, engine=engine_frame(rows))
    placed = read_engine(both, analyse(both).clock).by_step
    assert placed.select("step", "seconds").rows() == [(2, 20.0), (3, 10.0)]


def show(run: Run) -> str:
    return show_document([analyse(run)]).runs[0].engine.sentence  # type: ignore[union-attr]


def test_an_engine_log_alone_tells_what_it_waits_for() -> None:
    said = show(server_log(stamped([line(running=9.0, waiting=39.0, kv_cache=1.0, gen_tok_s=2200.0)] * 6)))
    assert "2,200 tok/s while it runs" in said
    assert "waits for memory 100 %" in said
    assert "39 requests waiting" in said
