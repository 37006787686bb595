"""Values such as `12:31:05` under `time`: a time of day, or a time that passed. Which of them shows over the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from parsers import clocks
from parsers.behaviour import role
from parsers.build import RunBuilder
from parsers.fields import Meaning
from parsers.sorting import Sorted
from parsers.text import stamp
from timeledger import units
from timeledger.run import Run

#: The name under which such a time waits among the other metrics.
WAITING: Final = "\0of day:time"
_KEYS: Final = frozenset(
    {"time", "timestamp", "clock", "t", "ts", "datetime", "time_of_day", "wall_time", "wall_clock", "logged_at"}
)
_CLOCK: Final = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?")
_DATE: Final = re.compile(r"\d{4}[-/]\d\d[-/]\d\d")
_DATES: Final = ("date", "day")
_HALF_DAY: Final = 43_200.0
#: A time that passed falls now and then; one of day falls at midnight alone.
_FALLS: Final = 0.1


def key_of(row: Mapping[str, Any]) -> str | None:
    """The key of a row's time of day, or of a time that passed written alike."""
    for key, raw in row.items():
        if isinstance(raw, str) and ":" in raw and key.lower().lstrip("_") in _KEYS and _CLOCK.fullmatch(raw.strip()):
            return key
    return None


def tell(build: RunBuilder, row: Mapping[str, Any], key: str, found: Sorted) -> None:
    """Give what was found in a row the time under `key`, where no full time stamp is known: it waits, or a date makes it one."""
    if found.at is not None:
        return
    if (at := _moment(row, key)) is not None:
        found.at, build.zone_known = at, False
    elif (since := units.seconds(row[key].strip())) is not None:
        found.extra[WAITING] = since


def _moment(row: Mapping[str, Any], key: str) -> datetime | None:
    """The moment that a row names in two cells, a date and a time of day."""
    for name, raw in row.items():
        if name.lower() in _DATES and isinstance(raw, str) and _DATE.fullmatch(raw.strip()):
            return stamp(f"{raw.strip()} {str(row[key]).strip()}")
    return None


def placed(run: Run) -> Run:
    """The run with its waiting times named after what they are: clocks of the day, of the run, or times of single steps."""
    if WAITING not in run.extra.columns:
        return run
    told = run.extra.select("segment", "step", WAITING).join(
        run.steps.select("segment", "step", "at"), on=["segment", "step"], how="left", maintain_order="left"
    )
    gains = told[WAITING].drop_nulls().diff().drop_nulls()
    name = clocks.DAY_CLOCK
    if role(told, WAITING, "step_s") == "elapsed_s":
        name = clocks.key("time", Meaning("clock", "elapsed_s"))
    elif ((gains < 0) & (gains > -_HALF_DAY)).sum() > _FALLS * len(gains) or len(gains) == 0:
        name = f"{clocks.STEP}time"
    return replace(run, extra=run.extra.rename({WAITING: name}))
