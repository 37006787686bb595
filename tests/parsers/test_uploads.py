"""Files in memory: read without a second copy, packed or not, and the reader is told how far it is."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from parsers import read_uploads

STEPS = "".join(f"step {n}/400 | len {90 + n} | reward 0.3 | time {30 + n % 3}.0s\n" for n in range(1, 41))
#: Long lines, so that counting every allocation takes no time.
NOISE = ("a line of a start-up that says nothing of a step, over and over again; " * 40 + "\n") * 25_000


def log() -> bytes:
    """Seventy megabytes with forty steps: what is kept while the format is open (4 MB) is little beside it."""
    return (STEPS + NOISE).encode()


def peak_of(name: str, data: bytes) -> int:
    """Bytes that reading needed beside the data."""
    tracemalloc.start()
    try:
        runs = read_uploads([(name, data)])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        assert runs[0].steps.height == 40


@pytest.mark.parametrize("packed", [False, True])
def test_the_bytes_are_never_copied_as_a_whole(packed: bool) -> None:
    data = log()
    given = gzip.compress(data, 1) if packed else data
    assert peak_of("train.log.gz" if packed else "train.log", given) < len(data) / 2


def test_the_reader_is_told_how_far_it_is() -> None:
    first, second = log(), STEPS.encode()
    told: list[int] = []
    read_uploads([("a.log", first), ("b.log", second)], told=told.append)
    assert told == sorted(told)
    assert len(told) > 10
    assert told[-1] == len(first) + len(second)
