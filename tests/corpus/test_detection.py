"""Every real log is taken for what it is, by one format; what is no log is taken for none."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from parsers import detect
from parsers.base import HEAD_BYTES, Head, Origin, Sure
from parsers.formats import FORMATS
from parsers.formats import detect as detect_head
from parsers.plain import Plain
from parsers.source import origin_of
from parsers.walk import may_be_log
from parsers.windows import make_head
from tests.conftest import corpus_folder

CORPUS = corpus_folder()
#: What lies beside the logs of the corpus: truth, settings, answers.
BESIDE = {
    "source.json", "meta.json", "spec.json", "truth.jsonl", "truth.json", "expected.json", "wandb_history_decoded.json",
    "lines.jsonl", "truth.csv", "expected.csv",
}  # fmt: skip


def logs(part: str) -> list[Path]:
    if CORPUS is None:
        return []
    found = (path for path in (CORPUS / part).rglob("*") if path.is_file())
    return sorted(
        path
        for path in found
        if path.name not in BESIDE
        and ".truth." not in path.name
        and "completion-" not in path.name
        and not {"media", "completions", "metrics", "params", "tags"} & set(path.parts)
        and (may_be_log(path.name) or path.name == "meta.yaml")
        # a run of evaluations only, which `trainer.evaluate()` opens after training, is none of training
        and not (path.name == "meta.yaml" and not (path.parent / "metrics" / "loss").is_file())
    )


def expected(path: Path) -> set[str]:
    """What a person says that the file is, from its name and folder."""
    name, folder = path.name, path.parent.name
    if name.startswith("events.out"):
        return {"tensorboard"}
    by_suffix = {".wandb": {"wandb"}, ".db": {"tracker-db"}, ".ipynb": {"notebook"}, ".yaml": {"mlflow"}}
    if path.suffix in by_suffix:
        return by_suffix[path.suffix]
    if "vllm" in path.parts:
        if "metrics-" in name:
            return {"prometheus"}
        if name.startswith("bench-serve") or name.startswith("bench-throughput"):
            return {"vllm_bench_json"} if path.suffix == ".json" else {"vllm_bench"}
        return {"vllm"}
    if "trl" in path.parts and "made" in path.parts:
        return {"trainer_state"} if path.suffix == ".json" else {"trl"}
    if folder.startswith("verl-"):
        return {"verl_jsonl"} if path.suffix == ".jsonl" else {"verl"}
    if folder.startswith("areal-"):
        return {"areal"}
    if folder.startswith("vllm-"):
        return {"vllm"}
    if folder.startswith(("hand-", "tinker-")):
        return {"jsonl"} if path.suffix == ".jsonl" else {"keyvalue"}
    by_name = {"trainer_log.jsonl": {"llama_factory"}, "logging.jsonl": {"swift"}, "metrics.jsonl": {"jsonl"}}
    if name in by_name:
        return by_name[name]
    return {"trainer_state"} if path.suffix == ".json" else {"trl"}


def head_of(path: Path) -> Head:
    with path.open("rb") as stream:
        data = stream.read(HEAD_BYTES)
    plain = Plain()
    text = b"".join(plain.feed(data)) + b"".join(plain.finish())
    return make_head(origin_of(path), text, path.stat().st_size < HEAD_BYTES)


REAL = [*logs("fetched/hf"), *logs("fetched/console"), *logs("made")]


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: "/".join(path.parts[-3:]))
def test_a_real_log_is_taken_for_what_it_is(path: Path, corpus: Path) -> None:
    found, answer = detect(path)
    assert found is not None
    assert found.name in expected(path), answer.because
    assert answer.because


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: "/".join(path.parts[-3:]))
def test_one_format_at_most_is_certain(path: Path, corpus: Path) -> None:
    head = head_of(path)
    sure = {each.name: answer.sure for each in FORMATS if (answer := each.recognises(head)).sure is Sure.CERTAIN}
    assert len(sure) <= 1, sure


def ordinary_files(folder: Path, many: int) -> Iterator[Path]:
    """Text files of an installation, evenly chosen: sources, documents, settings, data."""
    found = sorted(path for path in islice(folder.rglob("*"), 60_000) if path.is_file() and not path.is_symlink())
    yield from found[:: max(1, len(found) // many)][:many]


def test_files_that_are_no_logs_are_taken_for_none() -> None:
    folders = [Path(sys.prefix), Path(sys.base_prefix) / "lib", Path("/usr/share"), Path("/var/log"), Path("/etc")]
    taken: list[str] = []
    seen = 0
    for folder in folders:
        for path in ordinary_files(folder, 400) if folder.is_dir() else ():
            try:
                with path.open("rb") as stream:
                    data = stream.read(HEAD_BYTES)
            except OSError:
                continue
            if len(data) < 40 or b"\0" in data:
                continue
            seen += 1
            found, answer = detect_head(make_head(Origin(path.name), data, len(data) < HEAD_BYTES))
            if found is not None:
                taken.append(f"{path}: {found.name}, {answer.because}")
    assert seen >= 500
    assert taken == []


@pytest.mark.corpus
def test_what_lies_beside_the_logs_is_no_log(corpus: Path) -> None:
    """Settings and answers of the made runs: JSON documents without rows of training."""
    for path in sorted((corpus / "made").rglob("*.json")):
        if path.name in {"meta.json", "spec.json"} or "completion-" in path.name:
            assert json.loads(path.read_bytes())
            assert detect(path)[0] is None, path
