"""Runs below folders: what is found, what is passed over, and which files belong together."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path

import pytest

from parsers import discover, read, read_all, read_paths, read_uploads
from parsers.homes import home_of
from parsers.walk import MAX_DEPTH, MAX_FILES, may_be_log, walk
from tests.parsers import samples
from timeledger.errors import BadLog, UnknownFormat, UnreadableSource


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def run_folder(folder: Path, *, steps: int = 8, start: float = 1_772_359_200.0, rate: float = 1.0) -> Path:
    """What one TRL run leaves behind. `rate` makes its numbers its own."""
    put(folder / "console.log", changed(samples.trl(steps), rate))
    put(folder / "output" / f"checkpoint-{steps}" / "trainer_state.json", changed_state(steps, rate))
    put(folder / "output" / f"checkpoint-{steps}" / "training_args.bin", b"PK\x03\x04 not a log")
    put(folder / "output" / "checkpoint-2" / "trainer_state.json", changed_state(2, rate))
    rows = {s: {f"train/{k}": v * rate for k, v in samples.metrics(s).items()} for s in range(1, steps + 1)}
    put(
        folder / "output/runs/Mar01_10-00-00_host/events.out.tfevents.1772359200.host.1.0",
        samples.event_file(rows, start),
    )
    put(folder / "requirements.txt", "torch==2.9\n")
    put(
        folder / "truth.jsonl",
        "".join(json.dumps({"event": "phase", "step": s, "time": 3.0 * s, "loss": 7.7 * s}) + "\n" for s in range(9)),
    )
    return folder


def changed(text: str, rate: float) -> str:
    for step in range(1, 30):
        for name in (
            "reward",
            "reward_std",
            "grad_norm",
            "entropy",
            "step_time",
            "completions/mean_length",
            "completions/max_length",
        ):
            number = samples.metrics(step)[name]
            text = text.replace(f"'{name}': {number},", f"'{name}': {number * rate},")
    return text


def changed_state(steps: int, rate: float) -> str:
    state = json.loads(samples.trainer_state(steps))
    for row in state["log_history"]:
        for name in row:
            row[name] = row[name] * rate if name not in {"step", "epoch"} else row[name]
    return json.dumps(state)


# --- one run -----------------------------------------------------------------------------------------------------------


def test_a_runs_folder_is_one_run(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "exp-7")
    (found,) = discover(folder)
    assert found.name == "exp-7"
    assert [path.relative_to(folder).as_posix() for path in found.paths] == [
        "console.log",
        "output/checkpoint-8/trainer_state.json",
        "output/runs/Mar01_10-00-00_host/events.out.tfevents.1772359200.host.1.0",
    ]
    assert {each.format for each in found.files} == {"trl", "trainer_state", "tensorboard"}
    (run,) = read_all(folder)
    assert run.steps["step"].to_list() == list(range(1, 9))
    assert run.name == "exp-7"
    assert run.info.columns_from["at"].startswith("output/runs/")
    assert run.progress.height


def test_an_engines_log_beside_the_trainer_belongs_to_it(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "exp")
    put(folder / "vllm.log", samples.vllm())
    (run,) = read_all(folder)
    assert run.engine.height == samples.STEPS
    assert run.has_steps


def test_only_the_furthest_whole_checkpoint_is_read(tmp_path: Path) -> None:
    put(tmp_path / "out/checkpoint-5/trainer_state.json", samples.trainer_state(5))
    put(tmp_path / "out/checkpoint-10/trainer_state.json", samples.trainer_state(10))
    put(tmp_path / "out/checkpoint-12/trainer_state.json", samples.trainer_state(12)[:-300])  # being written just now
    (found,) = discover(tmp_path)
    assert [path.parent.name for path in found.paths] == ["checkpoint-10"]
    assert read(tmp_path).steps.height == 10


def test_the_links_and_loops_of_wandb_are_walked_once(tmp_path: Path) -> None:
    put(tmp_path / "wandb/offline-run-20260301_100000-abc/run-abc.wandb", samples.samples()["wandb"][1])
    (tmp_path / "wandb/latest-run").symlink_to("offline-run-20260301_100000-abc")
    (tmp_path / "wandb/offline-run-20260301_100000-abc/up").symlink_to("../..")
    (tmp_path / "a-latest.log").symlink_to(put(tmp_path / "logs/z.log", samples.trl()))
    paths = [path.relative_to(tmp_path).as_posix() for found in discover(tmp_path) for path in found.paths]
    assert sorted(paths) == ["logs/z.log", "wandb/offline-run-20260301_100000-abc/run-abc.wandb"]


def test_a_compressed_log_is_found(tmp_path: Path) -> None:
    put(tmp_path / "train.log.1.gz", gzip.compress(samples.keyvalue().encode()))
    assert read(tmp_path).steps.height == samples.STEPS


def test_a_hand_written_loops_bar_and_rows_are_one_run(tmp_path: Path) -> None:
    bar = "".join(f"\r {5 * s}%|#   | {s}/20 [0{s}:10<09:00, 31.00s/it]" for s in range(1, 9))
    put(tmp_path / "exp/console.log", bar + "\n")
    put(tmp_path / "exp/metrics.jsonl", samples.jsonl())
    (run,) = read_all(tmp_path / "exp")
    assert (run.steps.height, run.progress.height) == (8, 8)


def test_a_list_of_events_is_no_run_beside_a_trainer_that_just_began(tmp_path: Path) -> None:
    put(tmp_path / "exp/console.log", "\r  0%|    | 0/20 [00:00<?, ?it/s]\n  5%|#   | 1/20 [00:31<09:00, 31.00s/it]\n")
    steps = (s - n % 2 for s in range(1, 9) for n in range(4))
    rows = ({"event": "phase", "step": s, "t": 1.75e9 + 3 * n, "seconds": 0.25 + 0.01 * n} for n, s in enumerate(steps))
    put(tmp_path / "exp/events.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    (run,) = read_all(tmp_path / "exp")
    assert (run.steps.height, run.progress.height) == (0, 2)


def test_rows_of_no_known_origin_do_not_join_a_trainers_run(tmp_path: Path) -> None:
    (run,) = read_all(run_folder(tmp_path / "exp"))
    assert "truth.jsonl" not in run.info.sources
    assert any("truth.jsonl" in note.text for note in run.notes) or all(
        "truth" not in source for source in run.info.sources
    )


# --- several runs --------------------------------------------------------------------------------------------------------


def test_a_folder_of_many_logs_is_many_runs(tmp_path: Path) -> None:
    for number in range(1, 5):
        put(tmp_path / "logs" / f"exp{number}.log", changed(samples.trl(), 1 + number / 7))
    runs = read_all(tmp_path / "logs")
    assert sorted(run.name for run in runs) == ["exp1", "exp2", "exp3", "exp4"]
    assert sorted(found.name for found in discover(tmp_path)) == ["exp1", "exp2", "exp3", "exp4"]


def test_run_folders_below_one_root_stay_apart(tmp_path: Path) -> None:
    for number in range(3):
        run_folder(tmp_path / f"exp{number}", rate=1 + number / 7)
    assert [run.name for run in read_all(tmp_path)] == ["exp0", "exp1", "exp2"]
    assert all(run.steps.height == 8 for run in read_all(tmp_path))


def test_logs_and_checkpoints_in_different_places_are_put_together_by_their_values(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / f"logs/run{number}.log", changed(samples.trl(), 1 + number / 7))
        put(tmp_path / f"outputs/run{number}/checkpoint-8/trainer_state.json", changed_state(8, 1 + number / 7))
    runs = read_all(tmp_path)
    assert len(runs) == 3
    assert all(run.info.format == "trainer_state + trl" for run in runs)


def test_many_logs_in_one_folder_are_put_together_in_time(tmp_path: Path) -> None:
    for number in range(60):
        put(tmp_path / f"run{number}.log", changed(samples.trl(), 1 + number / 77))
        put(tmp_path / f"run{number}.json", changed_state(8, 1 + number / 77))
    begun = time.process_time()
    runs = read_all(tmp_path)
    assert time.process_time() - begun < 20
    assert len(runs) == 60
    assert {run.info.format for run in runs} == {"trainer_state + trl"}


def test_two_fresh_starts_in_one_output_folder_are_two_runs(tmp_path: Path) -> None:
    for day, rate in (("Mar01_10-00-00_host", 1.0), ("Mar02_10-00-00_host", 1.3)):
        start = 1_772_359_200.0 + 86400 * (rate > 1)
        rows = {s: {f"train/{k}": v * rate for k, v in samples.metrics(s).items()} for s in range(1, 9)}
        put(tmp_path / "out/runs" / day / f"events.out.tfevents.{int(start)}.host.1.0", samples.event_file(rows, start))
    assert [run.steps.height for run in read_all(tmp_path)] == [8, 8]


def test_a_resume_in_one_output_folder_is_one_run(tmp_path: Path) -> None:
    start = 1_772_359_200.0
    put(tmp_path / f"runs/Mar01_10-00-00_h/events.out.tfevents.{int(start)}.h.1.0", samples.tensorboard(12, 1, start))
    put(
        tmp_path / f"runs/Mar01_12-00-00_h/events.out.tfevents.{int(start) + 7200}.h.1.0",
        samples.tensorboard(10, 9, start + 7200),
    )
    (run,) = read_all(tmp_path)
    assert [run.steps.filter(segment=segment)["step"].to_list() for segment in (0, 1)] == [
        list(range(1, 13)),
        list(range(9, 19)),
    ]


def test_event_files_of_one_folder_are_one_run_as_tensorboard_has_it(tmp_path: Path) -> None:
    start = 1_772_359_200.0
    put(tmp_path / f"tb/events.out.tfevents.{int(start)}.h.1.0", samples.tensorboard(3, 1, start))
    put(tmp_path / f"tb/events.out.tfevents.{int(start) + 900}.h.2.0", samples.tensorboard(8, 1, start + 900))
    (run,) = read_all(tmp_path)
    assert run.steps["segment"].to_list() == [0] * 3 + [1] * 8


def test_ranks_are_one_run(tmp_path: Path) -> None:
    for rank in range(3):
        put(tmp_path / f"rank{rank}.log", samples.keyvalue().replace("loss 0.0", f"loss {rank + 1}.0"))
    (run,) = read_all(tmp_path)
    assert run.steps.height == samples.STEPS


def test_names_are_never_the_same(tmp_path: Path) -> None:
    for place in ("a/exp", "b/exp", "c/exp"):
        put(tmp_path / place / "train.log", changed(samples.trl(), 1 + ord(place[0]) / 100))
    names = [run.name for run in read_all(tmp_path)]
    assert len(set(names)) == 3


# --- what is passed over, and what is said -----------------------------------------------------------------------------


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path / "notes.txt", "Dear diary, nothing was trained today.\n")
    for ask in (discover, read_all):
        with pytest.raises(UnreadableSource, match=r"2 folders and 1 files were looked at") as found:
            ask(tmp_path)
        assert "trainer_state.json" in str(found.value)


def test_a_missing_folder_says_so(tmp_path: Path) -> None:
    for ask in (discover, read_all):
        with pytest.raises(UnreadableSource, match="no such file or folder"):
            ask(tmp_path / "none")


@pytest.mark.parametrize("name", ["training_args.bin", "tokenizer.json", "model.safetensors", "train.parquet", "requirements.txt", "loop.py", "model.safetensors.index.json", "debug-internal.log", ".hidden.log"])  # fmt: skip
def test_names_that_are_no_logs(name: str) -> None:
    assert not may_be_log(name)


@pytest.mark.parametrize("name", ["train.log", "slurm-123.out", "train.log.2.gz", "nohup.out", "log", "demo-6", "run-abc.wandb", "events.out.tfevents.1.h", "job.o12345", "metrics.json"])  # fmt: skip
def test_names_that_may_be_logs(name: str) -> None:
    assert may_be_log(name)


def test_the_walk_is_bounded_and_says_so(tmp_path: Path) -> None:
    deep = tmp_path
    for level in range(MAX_DEPTH + 3):
        deep = deep / f"d{level}"
    put(deep / "train.log", samples.keyvalue())
    found = walk([tmp_path])
    assert found.files == []
    assert any("levels down" in note.text for note in found.notes)
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number}.log").touch()
    assert len(walk([tmp_path]).files) == MAX_FILES
    assert any("not looked at" in note.text for note in walk([tmp_path]).notes)


def test_pipes_and_unreadable_folders_do_not_stop_the_walk(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    put(tmp_path / "train.log", samples.keyvalue())
    assert [found.path.name for found in walk([tmp_path]).files] == ["train.log"]


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("/x/exp/console.log", "/x/exp"),
        ("/x/exp/output/checkpoint-40/trainer_state.json", "/x/exp"),
        ("/x/exp/output/runs/Nov30_08-05-43_vm/events.out.tfevents.1.h.2.0", "/x/exp"),
        ("/x/exp/wandb/offline-run-20261130_080543-ce7nlv3h/files/output.log", "/x/exp"),
        ("/x/exp/mlruns/0/2dbde2b8e80e4319a8f08647e2a75556/meta.yaml", "/x/exp"),
        ("/x/exp/trackio/project.db", "/x/exp"),
        ("/x/runs/exp1/events.out.tfevents.1.h", "/x/runs/exp1"),
        ("/x/logs/exp1.log", "/x"),
    ],
)
def test_the_home_of_a_file(path: str, home: str) -> None:
    assert home_of(Path(path), (Path("/x"),)) == Path(home)


# --- several paths, uploads, strictness ----------------------------------------------------------------------------------


def test_files_named_one_by_one_are_grouped_too(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "exp")
    runs = read_paths([folder / "console.log", folder / "output/checkpoint-8/trainer_state.json"])
    assert [run.info.format for run in runs] == ["trainer_state + trl"]
    other = put(tmp_path / "other.log", changed(samples.trl(), 1.4))
    assert len(read_paths([folder / "console.log", other])) == 2


def test_a_named_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    log, other = put(tmp_path / "a.log", samples.trl()), put(tmp_path / "b.txt", "hello, is this a log?\n")
    with pytest.raises(UnknownFormat, match=r"b\.txt: not a log"):
        read_paths([log, other])
    empty = put(tmp_path / "c.log", "")
    with pytest.raises(UnreadableSource, match=r"c\.log: the file is empty"):
        read_paths([log, empty])


def test_a_format_chosen_for_a_folder_reads_its_own_files_only(tmp_path: Path) -> None:
    put(tmp_path / "a/train.log", samples.keyvalue())
    put(tmp_path / "b/console.log", samples.trl())
    assert [run.info.format for run in read_paths([tmp_path], format="keyvalue")] == ["keyvalue"]
    assert [run.info.format for run in read_paths([tmp_path / "b/console.log"], format="keyvalue")] == ["keyvalue"]


def test_a_checkpoint_that_is_named_is_read_though_there_are_newer_ones(tmp_path: Path) -> None:
    for steps in (4, 8):
        put(tmp_path / f"out/checkpoint-{steps}/trainer_state.json", samples.trainer_state(steps))
    (run,) = read_paths(
        [tmp_path / "out/checkpoint-4/trainer_state.json", tmp_path / "out/checkpoint-8/trainer_state.json"]
    )
    assert len(run.info.sources) == 2


def test_uploads_are_grouped_and_merged_as_files_are() -> None:
    uploads = [
        ("console.log", samples.trl().encode()),
        ("trainer_state.json", samples.trainer_state().encode()),
        ("notes.txt", b"hello\n"),
    ]
    (run,) = read_uploads(uploads)
    assert run.info.format == "trainer_state + trl"
    assert run.steps.height == samples.STEPS


def test_uploads_without_a_log_are_refused() -> None:
    with pytest.raises(UnknownFormat, match="It begins"):
        read_uploads([("notes.txt", b"hello, is this a log?\n")])
    with pytest.raises(UnknownFormat, match="none of them"):
        read_uploads([("a.txt", b"hello, is this a log?\n"), ("b.txt", b"no, it is not one.\n")])


def test_strict_reading_refuses_what_had_to_be_skipped(tmp_path: Path) -> None:
    whole = gzip.compress(samples.keyvalue(300).encode())
    put(tmp_path / "train.log.gz", whole[:-40] + b"\xff" * 40)
    read_all(tmp_path)
    with pytest.raises(BadLog):
        read_all(tmp_path, strict=True)
