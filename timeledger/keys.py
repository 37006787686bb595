"""Rows that belong together by (segment, step). In a run without resumes both sides have the same rows in the same order: then nothing is searched."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

KEYS: Final = ["segment", "step"]


def one_a_step(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a (segment, step), sorted; of several the last one counts."""
    return frame if _rises(frame) else frame.unique(KEYS, keep="last").sort(KEYS)


def one_a_name(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a (segment, step, name), in their order; of several the last one counts."""
    return frame if single(frame, "name") else frame.unique([*KEYS, "name"], keep="last", maintain_order=True)


def single(frame: pl.DataFrame, column: str) -> bool:
    """Do the rows rise by (segment, step) for each value of the column? Then no two of them belong together."""
    return all(_rises(each) for each in frame.select(*KEYS, column).partition_by(column))


def joined(rows: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of `more` (one row a key) beside them, null where it has none; order and number stay."""
    if all(rows[key].equals(more[key]) for key in KEYS) and _rises(more):
        return rows.hstack(more.drop(KEYS))
    return rows.join(more, on=KEYS, how="left", maintain_order="left")


def _rises(frame: pl.DataFrame) -> bool:
    """Is every row's key larger than the one before it? Not when a key is missing."""
    if any(frame[key].null_count() for key in KEYS):
        return False
    segment, step = (frame[key].to_numpy() for key in KEYS)
    same, later = segment[1:] == segment[:-1], segment[1:] > segment[:-1]
    return bool(np.all(later | (same & (step[1:] > step[:-1]))))
