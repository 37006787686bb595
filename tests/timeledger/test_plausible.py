"""Impossible numbers are missing numbers."""

from __future__ import annotations

import math

import polars as pl

from timeledger import schema
from timeledger.plausible import plausible
from timeledger.run import Run, RunInfo


def run_of(rows: list[dict[str, float | int | None]]) -> Run:
    return Run(RunInfo(name="x", format="x"), schema.conform(pl.DataFrame(rows), schema.STEPS))


def test_a_run_of_ordinary_numbers_is_the_same_object() -> None:
    run = run_of([{"segment": 0, "step": 1, "step_s": 3.5, "len_mean": 120.0, "reward": math.inf}])
    assert plausible(run) is run


def test_impossible_numbers_are_null_and_noted() -> None:
    run = run_of([{"segment": 0, "step": 1, "step_s": 1e300, "len_mean": 1e16, "reward": 0.5, "gen_tok_s": 5e9}])
    cleaned = plausible(run)
    row = cleaned.steps.row(0, named=True)
    assert (row["step_s"], row["len_mean"]) == (None, None)
    assert (row["reward"], row["gen_tok_s"]) == (0.5, 5e9)
    assert [(note.kind, note.count) for note in cleaned.notes] == [("skipped", 2)]
