"""Documents that arrive in pieces: what they say does not depend on where a block ends, nor on being asked meanwhile."""

from __future__ import annotations

import json

import pytest

from parsers import formats
from parsers.base import Origin
from timeledger.run import Run

_PAGE = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\nvllm:generation_tokens_total {}\n"
_ROWS = [{"step": step, "loss": 0.5 / step, "epoch": step / 4, "learning_rate": 1e-6} for step in range(1, 5)]
DOCUMENTS = {
    "prometheus": f"1796026900\n{_PAGE.format(1000)}1796026910\n{_PAGE.format(3000)}",
    "vllm_bench_json": json.dumps(
        [{"output_throughput": 100.0 + at, "total_output_tokens": 5000, "duration": 50.0} for at in range(5)], indent=1
    ),
    "csv": "step,reward,step_time\n1,0.25,20.5\n2,0.5,21\n3,0.75,21.5\n",
    "json": json.dumps([{"step": step, "reward": step / 10, "time": 3.5} for step in range(1, 6)]),
    "trainer_state": json.dumps({"log_history": _ROWS, "max_steps": 8, "global_step": 4}),
    "notebook": json.dumps({"cells": [], "nbformat": 4}),
}  # fmt: skip


def read(name: str, *pieces: bytes) -> Run:
    form = formats.by_name(name)
    reader = form.open(Origin("document"))
    for piece in pieces:
        reader.feed(piece)
        assert reader.runs()
    (run,) = reader.runs()
    return run


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("at", [1, 40, 70, -9])
def test_pieces_make_the_whole(name: str, at: int) -> None:
    data = DOCUMENTS[name].encode()
    whole, parted = read(name, data), read(name, data[:at], data[at:])
    assert parted.info == whole.info
    assert parted.notes == whole.notes
    for frame in ("steps", "phases", "engine", "events", "progress", "extra"):
        assert getattr(parted, frame).equals(getattr(whole, frame))


def test_the_documents_say_something() -> None:
    """The comparison above would hold for empty runs too."""
    assert read("prometheus", DOCUMENTS["prometheus"].encode()).engine["gen_tok_s"].to_list() == [None, 200.0]
    assert read("vllm_bench_json", DOCUMENTS["vllm_bench_json"].encode()).engine.height == 5
    for name, steps in (("csv", 3), ("json", 5), ("trainer_state", 4)):
        assert read(name, DOCUMENTS[name].encode()).steps.height == steps
