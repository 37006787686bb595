"""Which folder a log belongs to: the run's own folder, seen through the folders that tools put into it."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Final

#: File names (without ending) that say what a file is, not which run it is of: the folder names the run then.
PLAIN_NAMES: Final = {
    "console", "log", "logs", "output", "out", "stdout", "stderr", "train", "training", "trainer_state", "metrics",
    "trainer_log", "logging", "events", "nohup", "run", "main", "driver", "ray-driver", "job-driver", "history",
    "training_history", "training_log", "train_log", "server", "vllm", "sglang", "mlflow", "meta", "trackio", "progress",
}  # fmt: skip
#: Folders that say what a file is, not which run it is of.
_PLAIN: Final = {
    "output", "outputs", "out", "logs", "log", "runs", "files", "results", "result", "tensorboard", "tensorboard_log",
    "tensorboard_logs", "tensorboard-logs", "tb", "tb_log", "tb_logs", "tblogs", "events", "event", "metrics", "console",
    "stdout", "stderr", "trackio", "mlruns", "wandb", "swanlog", "checkpoints", "ckpts", "ckpt", "train", "eval",
    "summaries", "summary", "history", "server", "vllm", "sglang", "trainer", "driver", "engine",
}  # fmt: skip
_MADE: Final = re.compile(
    r"checkpoint-\d+$|global_?step_?\d+$"
    r"|[A-Z][a-z]{2}\d{2}_\d{2}-\d{2}-\d{2}_"  # runs/Nov30_08-05-43_host, the default of the HF Trainer
    r"|(?:offline-)?run-\d{8}_\d{6}-\w+$|latest-run$"  # wandb
    r"|version_\d+$"  # lightning
    r"|rank[_-]?\d+$|node[_-]?\d+$|worker[_-]?\d+$|attempt[_-]?\d+$"
)
_MLFLOW_RUN: Final = re.compile(r"[0-9a-f]{32}$")


def home_of(path: PurePath, roots: tuple[PurePath, ...] = ()) -> PurePath:
    """The run's folder of a file: the nearest one whose name tells of a run; never above the root that holds it."""
    folder = path.parent
    floor = max((root for root in roots if folder.is_relative_to(root)), key=lambda root: len(root.parts), default=None)
    while folder != floor and folder.name and folder != folder.parent:
        if _MLFLOW_RUN.match(folder.name) and folder.parent.name.isdigit():
            folder = folder.parent.parent  # mlruns/<experiment>/<run>
        elif folder.name.lower() in _PLAIN or _MADE.match(folder.name):
            folder = folder.parent
        else:
            break
        if floor is not None and not folder.is_relative_to(floor):
            return floor
    return folder


def nested(a: PurePath, b: PurePath) -> bool:
    """True when two homes may hold files of one run: equal, one inside the other, or of one name in two places."""
    return a == b or a.is_relative_to(b) or b.is_relative_to(a) or (bool(a.name) and a.name == b.name)


def is_plain(name: str) -> bool:
    """True for a folder name that says nothing of a run."""
    return name.lower() in _PLAIN or _MADE.match(name) is not None


def shown(path: Path | PurePath, home: PurePath) -> str:
    """The path as notes and provenance show it: below its home where it is, else its name."""
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.name
