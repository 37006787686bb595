"""Files that hold several runs, told apart by a column: a sweep's table, runs appended to one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from parsers.fields import resolve
from parsers.values import whole

#: Keys that name a run and nothing else, best first.
RUN_KEYS: Final = ("run_id", "run_name", "run", "exp_name", "experiment", "experiment_name", "experiment_id", "exp",
                   "trial_id", "trial", "variant")  # fmt: skip
_SEED: Final = "seed"
_STEADY: Final = 3
_NAMES: Final = frozenset({*RUN_KEYS, "job_id", "config_name", "config", "condition", "method", "algo", "algorithm", "model",
                           "name", _SEED})  # fmt: skip
#: A run in a table of several has at least so many rows.
_FEWEST: Final = 2
_LONGEST: Final = 60
Key = tuple[str, ...]


def column_of(names: Sequence[str]) -> list[str]:
    """Those of the names that name a run."""
    return [name for name in names if name.strip().lower() in _NAMES]


def label(file: str, columns: Sequence[str], key: Sequence[str]) -> str:
    """How a run of a file is called: by its own name, or as `metrics seed=3`."""
    if len(key) == 1 and "name" in columns[0].lower():
        return key[0][:_LONGEST]
    parts = ", ".join(f"{column}={value}" for column, value in zip(columns, key, strict=True))
    return f"{file} {parts}"[: 2 * _LONGEST]


def groups(rows: Sequence[Mapping[str, str]], steps: Sequence[int]) -> tuple[list[str], list[Key]]:
    """The columns that tell a table's runs apart, and each row's key by them; no columns where it is one run.

    Columns that name a run do, however their rows are mixed. So does any other column that is no metric, where it keeps
    its value from one start of the step count to the next: `workers` in a table of timings with 1, 2 and 4 workers.
    Every run must begin where the first one began: a key that changes as the steps go on is a run that went on.
    """
    backs = _backs(steps)
    if not backs or not rows:
        return [], []
    header = list(dict.fromkeys(name for row in rows[:50] for name in row))
    for columns in (_changing(rows, column_of(header)), _constant(rows, steps, header)):
        keys = [tuple(row.get(column, "") for column in columns) for row in rows]
        if columns and _are_runs(keys, steps, backs):
            return columns, keys
    return [], []


def _backs(steps: Sequence[int]) -> int:
    return sum(after <= before for before, after in pairwise(steps))


def _changing(rows: Sequence[Mapping[str, str]], columns: list[str]) -> list[str]:
    return [name for name in columns if len({row.get(name) for row in rows}) > 1]


def _constant(rows: Sequence[Mapping[str, str]], steps: Sequence[int], header: list[str]) -> list[str]:
    """Columns of no metric that change only where the step count goes back, in the order of the table."""
    starts = [0, *(at + 1 for at, (before, after) in enumerate(pairwise(steps)) if after <= before), len(steps)]
    stretches = [rows[begin:end] for begin, end in pairwise(starts)]
    if any(len(each) < _FEWEST for each in stretches):
        return []
    return [
        name
        for name in header
        if resolve(name).kind in {"extra", "total"}
        and all(len({row.get(name) for row in each}) == 1 for each in stretches)
        and len({each[0].get(name) for each in stretches}) > 1
    ]


def _are_runs(keys: Sequence[Key], steps: Sequence[int], backs: int) -> bool:
    """True when the rows of each key count up, from where the first one began."""
    last: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    begun: list[int] = []
    still = 0
    for key, step in zip(keys, steps, strict=True):
        if key in last:
            still += step <= last[key]
        else:
            begun.append(step)
        last[key], counts[key] = step, counts.get(key, 0) + 1
    return 2 * still < backs and max(begun) <= begun[0] + 1 and min(counts.values()) >= _FEWEST


class RunKeys:
    """Tells the objects of a growing file apart by the run that they name.

    A new name is a run of its own where its steps begin where the first run's began; else that run goes on under another
    name. A seed does so only after it has been the same for some rows: it may be drawn for each.
    """

    def __init__(self) -> None:
        self.column = self.first = ""
        self._step = ""
        self._begun: int | None = None
        self._held = 0
        self._runs: dict[str, str] = {}
        self._now = ""

    def of(self, record: Mapping[str, Any]) -> str:
        """The run of an object: "" for the first one, else its name; an object that names none is of the run before."""
        name = self._name(record)
        step = whole(record.get(self._step)) if name is not None else None
        if name is None or (step is None and name not in self._runs):
            return self._now
        if name not in self._runs:
            self._runs[name] = self._new(name, step or 0)
        self._held += len(self._runs) == 1
        self._now = self._runs[name]
        return self._now

    def _new(self, name: str, step: int) -> str:
        if self._begun is None:
            self._begun, self.first = step, name
            return self._now
        told = self.column != _SEED or self._held >= _STEADY
        return name if told and step <= self._begun else self._now

    def _name(self, record: Mapping[str, Any]) -> str | None:
        if not self.column and not self._choose(record):
            return None
        raw = record.get(self.column)
        return str(raw) if isinstance(raw, str | int) else None

    def _choose(self, record: Mapping[str, Any]) -> bool:
        """The key by which the runs are told apart, from the first row that has one beside a step."""
        column = next((key for key in (*RUN_KEYS, _SEED) if isinstance(record.get(key), str | int)), "")
        ranked = [(resolve(key).rank, key) for key in record if resolve(key).kind == "step"] if column else []
        if ranked:
            self.column, self._step = column, min(ranked)[1]
        return bool(ranked)
