"""The clock of a log that tells nothing but what is left: `Epoch:[1/1](10/39695), loss: 8.9, epoch_time: 130.0min`.

What is left of a run was reckoned from the mean pace since its start: left = passed * (total - done) / done, so that the
time that has passed follows. A countdown in whole minutes is sharpest where it changes, and good to half a minute over its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from parsers.fields import spell
from timeledger.run import Note, NoteKind, Run
from timeledger.said import say

_LEFT: Final = "remaining_s"
#: The countdown's own resolution over its size at which the time that has passed is still told by it.
_SHARP: Final = 0.02
_GRIDS: Final = (60.0, 1.0, 0.1, 0.01)
#: So many rows show that a time falls, and for this share of them.
_FEW: Final = 3
_MOSTLY: Final = 0.95
#: No honest countdown moves by such a factor from one row to the next: it went over its own end (24 hours).
_JUMP: Final = 2.0
#: A time since the start that falls more often follows from no countdown of this kind.
_FALLS: Final = 0.2


@dataclass(frozen=True, slots=True)
class _Course:
    """The rows' countdown: steps done and planned of what it counts to the end of, by row."""

    place: list[int]
    part: list[tuple[int, int]]
    done: list[float]
    left: list[float]
    steps: float


def counted_down(run: Run, planned: float | None = None) -> Run:
    """The run with the time since its start where nothing but a countdown tells it; `planned` are the exact steps to its end."""
    name = _countdown(run)
    if name is None:
        return run
    timed = any(run.steps[each].count() for each in ("at", "elapsed_s", "step_s"))
    if timed or run.progress.height or run.phases.height:
        return run
    found = max((_told(run, name, parts, planned) for parts in _parts(run, name)), key=len, default={})
    if len(found) < _FEW:
        text = say("{name} is the time that is left, too coarse to tell how much has passed", name=_shown(name))
        return _noted(run, "missing", text)
    clock = [found.get(place) for place in range(run.steps.height)]
    steps = run.steps.with_columns(pl.Series("elapsed_s", clock, dtype=pl.Float64))
    text = say(
        "{name} is the time that is left: the time since the start is reckoned from it and the steps done",
        name=_shown(name),
    )
    return _noted(replace(run, steps=steps), "guessed", text)


def _noted(run: Run, kind: NoteKind, text: str) -> Run:
    source = run.info.sources[0] if run.info.sources else ""
    return run.with_notes(Note(kind, 0, text, 1, source))


def _shown(name: str) -> str:
    return "ETA" if name == _LEFT else name.removesuffix(" (s)")


def _countdown(run: Run) -> str | None:
    """The metric that counts down, if there is one: by its name, or because a time of the epoch only falls."""
    if _LEFT in run.extra.columns:
        return _LEFT
    for name in run.extra.columns:
        if name.endswith(" (s)") and {"epoch", "time"} <= set(spell(name).split("_")) and _falls(run, name):
            return name
    return None


def _falls(run: Run, name: str) -> bool:
    """True for a time that only falls while an epoch goes on."""
    rows = run.extra.select("segment", "step", value=name).drop_nulls()
    epochs = run.steps.select("segment", "step", epoch=pl.col("epoch").fill_null(0).floor())
    moves = rows.join(epochs, on=["segment", "step"], how="left", maintain_order="left").select(
        pl.col("value").diff().over("segment", "epoch")
    )["value"].drop_nulls()  # fmt: skip
    return moves.len() >= _FEW - 1 and bool((moves <= 0).mean() >= _MOSTLY) and bool((moves < 0).any())  # type: ignore[operator]


def _parts(run: Run, name: str) -> list[int]:
    """Into how many parts the countdown may divide the run: its epochs, or none."""
    epochs = int(run.info.number("epochs") or 1)
    if name != _LEFT:
        return [epochs]
    return sorted({1, epochs})


def _told(run: Run, name: str, parts: int, planned: float | None) -> dict[int, float]:
    """The time since the start by row, as far as the countdown tells it."""
    total = planned or run.info.number("total_steps")
    if total is None or parts < 1 or total < parts:
        return {}
    course = _course(run, name, total / parts)
    grid = next((each for each in _GRIDS if all(_on(each, value) for value in course.left)), 0.0)
    passed: dict[int, float] = {}
    offset, segment = 0.0, None
    for part in dict.fromkeys(course.part):
        offset = offset if part[0] == segment else 0.0
        segment = part[0]
        rows = [at for at, each in enumerate(course.part) if each == part]
        found = _sharp(course, rows, grid)
        if found is None:
            return {}
        passed.update({course.place[at]: offset + seconds for at, seconds in found.items()})
        if found:
            last = max(found)
            offset += found[last] * course.steps / course.done[last]
    return passed


def _on(grid: float, value: float) -> bool:
    return abs(value / grid - round(value / grid)) < 1e-6


def _course(run: Run, name: str, steps: float) -> _Course:
    place = ["segment", "step"]
    rows = run.steps.select(place).with_row_index("row").join(run.extra.select(*place, left=name), on=place, how="left")
    rows = rows.drop_nulls("left").sort("row")
    part = ((rows["step"] - 1).clip(0) // steps).cast(pl.Int64)
    done = rows["step"] - part * steps
    return _Course(
        rows["row"].to_list(),
        list(zip(rows["segment"].to_list(), part.to_list(), strict=True)),
        done.cast(pl.Float64).to_list(),
        rows["left"].to_list(),
        steps,
    )


def _sharp(course: _Course, rows: list[int], grid: float) -> dict[int, float] | None:
    """Seconds since the start of a part, at the rows where the countdown is sharp; None when it is no such countdown."""
    found: dict[int, float] = {}
    before: float | None = None
    falls = 0
    for at in rows:
        left, done = course.left[at], course.done[at]
        rest = course.steps - done
        jumps = before is not None and max(before, left) > _JUMP * min(before, left) + 10 * grid
        if jumps and _SHARP * rest >= 0.5:  # towards its end a countdown halves at every row
            found.clear()
        moved, before = before is not None and left != before, left
        # how the steps done were counted may be off by half a one
        if not moved or done <= 0 or rest <= 0 or grid / 2 > _SHARP * left or _SHARP * rest < 0.5:
            continue
        seconds = (left + grid / 2) * done / rest
        last = next(reversed(found.values()), 0.0)
        falls += seconds < last
        found[at] = max(seconds, last)
    return None if falls > _FALLS * max(len(found), 1) else found
