"""The files below a folder that may be logs: bounded, safe against loops of links, without what is surely none."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from timeledger.run import Note
from timeledger.said import say

MAX_DEPTH: Final = 12
MAX_ENTRIES: Final = 50_000
MAX_FILES: Final = 2_000

_SKIP_FOLDERS: Final = {
    "__pycache__", "node_modules", "venv", "env", "site-packages",
    "completions", "media", "code", "artifacts", "rollout_data", "hf_cache", "datasets",
}  # fmt: skip
#: Weights; nothing below them but a trainer_state.json beside the weights is a log.
_CHECKPOINT: Final = re.compile(
    r"(?:checkpoint|ckpt)[-_]\d+$|global_?step_?\d+$|epoch[-_]?\d+[-_]step[-_]?\d+$|iter_\d+$"
)
_SKIP_ENDINGS: Final = {
    "bin", "pt", "pth", "ckpt", "safetensors", "gguf", "onnx", "npy", "npz", "pkl", "pickle", "parquet", "arrow",
    "feather", "h5", "hdf5", "msgpack", "tfrecord", "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "mp4", "wav",
    "html", "htm", "css", "js", "ts", "map", "py", "pyc", "pyi", "so", "o", "c", "h", "cc", "cpp", "cu", "rs", "go",
    "java", "sh", "bash", "slurm", "sbatch", "toml", "ini", "cfg", "yml", "yaml", "lock", "md", "rst", "tex", "bib",
    "zip", "tar", "tgz", "whl", "7z", "model", "spm", "tiktoken", "jinja", "patch", "diff", "pid", "sock",
    "db-wal", "db-shm", "db-journal", "prof", "nsys-rep", "pem", "crt", "key",
}  # fmt: skip
_SKIP_NAMES: Final = {
    "requirements.txt", "config.json", "generation_config.json", "adapter_config.json", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
    "preprocessor_config.json", "chat_template.json", "package.json", "package-lock.json", "wandb-metadata.json",
    "wandb-summary.json", "debug.log", "debug-internal.log", "debug-core.log", "conda-environment.yaml",
    "license", "readme", "makefile", "dockerfile", "sources.txt", "top_level.txt", "entry_points.txt",
}  # fmt: skip
_ROTATED: Final = re.compile(r"\.(?:gz|\d+)$")


@dataclass(frozen=True, slots=True)
class Found:
    """One file that may be a log. `named` is true when a person named the file itself."""

    path: Path
    size: int
    mtime_ns: int
    named: bool = False


@dataclass(slots=True)
class Walk:
    """What was found: files in the order of their paths, and the folders looked into with their time of change."""

    files: list[Found] = field(default_factory=list)
    folders: dict[Path, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    entries: int = 0
    full: bool = False
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def note(self, text: str, path: Path) -> None:
        """Say what was not looked at."""
        self.notes.append(Note("skipped", 0, text, 1, str(path)))


def walk(roots: Sequence[Path]) -> Walk:
    """Every file at or below the roots that may be a log; links are followed once, after all real places."""
    found = Walk()
    folders: deque[tuple[Path, int]] = deque()
    links: deque[tuple[Path, int]] = deque()
    for root in sorted(roots, key=str):
        if root.is_dir():
            folders.append((root, 0))
        else:
            _file(found, root, named=True)
    while (folders or links) and not found.full:
        path, depth = folders.popleft() if folders else links.popleft()
        if depth and path.is_file():
            _file(found, path)
        elif depth > MAX_DEPTH:
            found.note(
                say("folders more than {depth} levels down were not looked into: name one of them", depth=MAX_DEPTH),
                path,
            )
        else:
            for below, is_link in _enter(found, path):
                (links if is_link else folders).append((below, depth + 1))
    found.files.sort(key=lambda each: str(each.path))
    return found


def _enter(found: Walk, folder: Path) -> Iterator[tuple[Path, bool]]:
    """Look into one folder: its files are taken; its folders, and its links, are given back with "is it a link"."""
    try:
        at = folder.stat()
        if not _first_time(found, at):
            return
        found.folders[folder] = at.st_mtime_ns
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        found.note(say("the folder cannot be read ({error})", error=error.strerror or error), folder)
        return
    names = {entry.name for entry in entries}
    store = "meta.yaml" in names and "metrics" in names  # one run of an MLflow file store
    weights = _CHECKPOINT.match(folder.name) is not None
    for entry in entries:
        found.entries += 1
        if found.entries > MAX_ENTRIES or len(found.files) >= MAX_FILES:
            found.note(
                say(
                    "more than {entries} entries or {files} files: the rest was not looked at",
                    entries=MAX_ENTRIES,
                    files=MAX_FILES,
                ),
                folder,
            )
            found.full = True
            return
        if _is_folder(entry):
            if not store and not weights and _worth_entering(entry.name):
                yield Path(entry.path), entry.is_symlink()
        elif _wanted(entry.name, store=store, weights=weights):
            if entry.is_symlink():
                yield Path(entry.path), True
            else:
                _file(found, Path(entry.path))


def _worth_entering(name: str) -> bool:
    return name not in _SKIP_FOLDERS and not name.startswith(".") and not name.endswith((".egg-info", ".dist-info"))


def _wanted(name: str, *, store: bool, weights: bool) -> bool:
    if store:
        return name == "meta.yaml"
    return name == "trainer_state.json" or (not weights and may_be_log(name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _file(found: Walk, path: Path, *, named: bool = False) -> None:
    try:
        at = path.stat()
    except OSError as error:
        if named:
            found.note(say("cannot be read ({error})", error=error.strerror or error), path)
        return
    if (named or _regular(at)) and _first_time(found, at):
        found.files.append(Found(path, at.st_size, at.st_mtime_ns, named))


def _regular(at: os.stat_result) -> bool:
    """True for plain files: a pipe or a device in a folder would block the reader for ever."""
    return (at.st_mode & 0o170000) == 0o100000


def _first_time(found: Walk, at: os.stat_result) -> bool:
    key = (at.st_dev, at.st_ino)
    if at.st_ino and key in found._seen:
        return False
    found._seen.add(key)
    return True


def may_be_log(name: str) -> bool:
    """True unless the name says that the file is no log (weights, code, settings, tokenizers)."""
    if "tfevents" in name:
        return True  # ends in the host's name, whatever that is
    plain = _ROTATED.sub("", name.lower())
    if plain in _SKIP_NAMES or plain.startswith((".", "readme", "license")) or plain.endswith(".index.json"):
        return False
    return plain.rsplit(".", 1)[-1] not in _SKIP_ENDINGS if "." in plain else True
