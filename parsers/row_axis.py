"""What counts the steps of rows that name none: what an environment did, or a total that rises with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger.run import Run

#: Counts which stand for the step where no name says of any that it is the step, best first.
COUNTERS: Final = ("total_timesteps", "timesteps_total", "num_timesteps", "timesteps", "total_env_steps", "env_steps",
                    "num_env_steps", "totalenvinteracts", "total_frames", "frames", "nupdates", "n_updates", "total_steps",
                    "total_episodes", "num_episodes", "episodes")  # fmt: skip
#: The name under which a row's `total_steps` waits among its other metrics: planned, or done so far.
TOTAL: Final = "\0total/total_steps"
_FEWEST: Final = 3
_KEY: Final = ["segment", "step"]


def on_counter(run: Run, counted: str) -> Run:
    """A run of counted rows with the steps of a counter among its metrics, where one rises from row to row.

    `counted` is the note that the rows were counted. A total that rises with them is no plan.
    """
    tails = {name.lower().rpartition("/")[2]: name for name in run.extra.columns}
    name = next((tails[plain] for plain in COUNTERS if plain in tails and _rises(run, tails[plain])), None)
    if name is not None:
        axis = run.extra.select(*_KEY, axis=pl.col(name).cast(pl.Int64))
        steps, phases, events, extra = (_moved(frame, axis) for frame in (run.steps, run.phases, run.events, run.extra))
        settings = {key: value for key, value in run.info.settings.items() if key != "total_steps" or name != TOTAL}
        notes = tuple(note for note in run.notes if note.text != counted)
        info = run.info.model_copy(update={"settings": settings})
        run = replace(run, info=info, steps=steps, phases=phases, events=events, extra=extra, notes=notes)
    return replace(run, extra=run.extra.drop(TOTAL, strict=False))


def _rises(run: Run, name: str) -> bool:
    counts = run.extra[name]
    whole = len(counts) == run.steps.height >= _FEWEST and not counts.null_count() and run.steps["segment"][-1] == 0
    return bool(
        whole and (counts >= 0).all() and (counts == counts.round()).all() and (counts.diff().drop_nulls() > 0).all()
    )


def _moved(frame: pl.DataFrame, axis: pl.DataFrame) -> pl.DataFrame:
    joined = frame.join(axis, on=_KEY, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("axis", "step").alias("step")).drop("axis")
