"""Logs inside a collector's JSON (Docker, Kaggle, Cloud Logging) read as the output that they hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import parsers
from parsers.base import Origin
from parsers.source import Feeder
from timeledger.errors import UnknownFormat
from timeledger.run import Run

LINES = [
    "loading",
    *(f"step {step}/40 | len {150 + step} | reward 0.{30 + step} | time 2{step % 5}.5s" for step in range(1, 13)),
]


def docker(lines: list[str]) -> str:
    return "".join(
        json.dumps({"log": line + "\n", "stream": "stdout", "time": f"2026-03-02T10:{at:02d}:07.123456789Z"}) + "\n"
        for at, line in enumerate(lines)
    )


def kaggle(lines: list[str]) -> str:
    events = [{"stream_name": "stdout", "time": 3.5 + 20 * at, "data": line + "\n"} for at, line in enumerate(lines)]
    return "[" + "\n,".join(json.dumps(event) for event in events) + "\n]\n"


def cloud(lines: list[str]) -> str:
    return "".join(
        json.dumps({"insertId": str(at), "textPayload": line, "timestamp": f"2026-03-02T10:{at:02d}:07Z"}) + "\n"
        for at, line in enumerate(lines)
    )


def plain(lines: list[str]) -> Run:
    return parsers.read("".join(line + "\n" for line in lines).encode(), name="train.log")


@pytest.mark.parametrize("wrap", [docker, kaggle, cloud])
def test_the_output_is_read_and_not_its_envelope(wrap) -> None:  # type: ignore[no-untyped-def]
    run = parsers.read(wrap(LINES).encode(), name="container.log")
    expected = plain(LINES)
    assert run.info.format == "keyvalue"
    columns = ["step", "len_mean", "reward", "step_s"]
    assert run.steps.select(columns).rows() == expected.steps.select(columns).rows()
    assert run.info.setting("total_steps") == 40


def test_the_stamp_of_an_envelope_is_the_time_of_its_line() -> None:
    run = parsers.read(docker(LINES).encode(), name="container.log")
    assert run.steps["at"][0] == datetime(2026, 3, 2, 10, 1, 7, 123456, UTC)
    assert run.info.zone_known


@pytest.mark.parametrize("wrap", [docker, kaggle, cloud])
@pytest.mark.parametrize("size", [1, 7, 61, 400])
def test_blocks_of_any_size_read_the_same(wrap, size: int) -> None:  # type: ignore[no-untyped-def]
    data = wrap(LINES).encode()
    feeder = Feeder(Origin("container.log"))
    for start in range(0, len(data), size):
        feeder.feed(data[start : start + size])
    feeder.finish()
    whole = parsers.read(data, name="container.log")
    assert feeder.runs()[-1].steps.equals(whole.steps)


def test_rows_of_metrics_are_no_envelopes() -> None:
    rows = [
        {"time": 1772445600 + 20 * step, "level": "info", "message": "x", "step": step, "reward": 0.5, "loss": 0.1}
        for step in (1, 2, 3)
    ]
    run = parsers.read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="metrics.jsonl")
    assert run.info.format == "jsonl"
    assert run.steps["step"].to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("begins", "kind"), [(b"PK\x03\x04rest", "zip"), (b"\xfd7zXZ\0rest", "xz"), (b"\x28\xb5\x2f\xfdrest", "zstd")]
)
def test_an_archive_is_called_by_its_name(begins: bytes, kind: str) -> None:
    with pytest.raises(UnknownFormat, match=f"{kind}.*Unpack"):
        parsers.read_all(begins + bytes(100), name="log.bin")
