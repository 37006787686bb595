"""Real logs fed as they grew: every poll equals reading anew what is there, and never a number that the whole log lacks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from parsers import Live
from parsers.base import Origin
from parsers.source import Feeder
from tests.conftest import corpus_folder
from tests.parsers.test_live import anew, append, told

CORPUS = corpus_folder()
#: A log of every kind that grows: made runs, and real consoles with bars, buffers, prefixes and engine lines.
GROWING = [
    "made/trl/grpo-g8-l64-log1-tb/console.log", "made/trl/grpo-crash-buffered/console.log", "made/trl/grpo-resumed-append/console.log",
    "made/trl/grpo-tty-80col/console.log", "made/trl/grpo-none-notqdm/console.log", "made/trl/old-0.15.2-ppo/console.log",
    "made/trl/grpo-2proc/output/runs/Nov30_08-25-29_vm/events.out.tfevents.1796027129.vm.4521.0",
    "made/trl/grpo-sigint/wandb/offline-run-20261130_083146-cb9s0d4z/run-cb9s0d4z.wandb",
    "made/vllm/server-eager.console.log", "made/vllm/offline-eager.console.log",
    "fetched/console/verl-game2048/2048_log_20260309_152521.txt", "fetched/console/hand-rookworld-console/training_output.txt",
    "fetched/console/tinker-leetcode-1b-easy52/metrics.jsonl",
]  # fmt: skip
FOLDERS = ["grpo-killed-buffered", "grpo-resumed-append", "grpo-growth-slow"]

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("place", GROWING)
def test_a_growing_log_equals_the_whole_one_at_every_poll(place: str, corpus: Path, tmp_path: Path) -> None:
    data = (corpus / place).read_bytes()
    path = tmp_path / Path(place).name
    path.touch()
    live = Live([tmp_path])
    rng = random.Random(place)
    cuts = sorted(rng.randrange(len(data)) for _ in range(10))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        append(path, data[start:end])
        assert told(live.poll()) == anew(tmp_path), (start, end)
        assert live.bytes_read <= max(end - start, 64) or start < 300


@pytest.mark.parametrize("name", FOLDERS)
def test_a_growing_folder_equals_the_whole_one_at_every_poll(name: str, corpus: Path, tmp_path: Path) -> None:
    """Every file at its own speed, some appearing late, checkpoints whole."""
    source = corpus / "made" / "trl" / name
    files = sorted(path for path in source.rglob("*") if path.is_file() and path.suffix not in {".db", ".bin"})
    rng = random.Random(name)
    late = {path: rng.choice([0.0, 0.2, 0.5]) for path in files}
    live = Live([tmp_path])
    parts = 8
    for part in range(1, parts + 1):
        for path in files:
            share = (part / parts - late[path]) / (1 - late[path])
            target = tmp_path / path.relative_to(source)
            if share <= 0:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            size = len(data) if path.suffix == ".json" else int(len(data) * min(1.0, share))
            done = target.stat().st_size if target.exists() else 0
            append(target, data[done:size])
        assert told(live.poll()) == anew(tmp_path), part
    (run,) = live.poll()
    assert run.steps["step"].max() == {"grpo-killed-buffered": 53, "grpo-growth-slow": 120}.get(name, 100)


@pytest.mark.parametrize("place", [each for each in GROWING if each.startswith("made")])
def test_blocks_of_any_size_read_the_same(place: str, corpus: Path) -> None:
    data = (corpus / place).read_bytes()
    rng = random.Random(place)
    answers = []
    for size in (len(data), 65_536, rng.randrange(3_000, 9_000)):
        feeder = Feeder(Origin(Path(place).name))
        for start in range(0, len(data), size):
            feeder.feed(data[start : start + size])
        feeder.finish()
        answers.append(told(feeder.runs()))
    assert answers[0] == answers[1] == answers[2]
