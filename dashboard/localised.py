"""Numbers, durations, moments and names of things as the page's language writes them. No Streamlit here."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

from dashboard.language import mark, retold, spoken, t
from timeledger import palette, units

#: The names of `timeledger.palette`, of kinds, of phases of a plan and of parts of a difference, for the catalogue.
NAMES: Final = (
    mark("Sampling"), mark("Reward"), mark("Old log-probs"), mark("Reference log-probs"), mark("Log-probs"), mark("Follows the answers"), mark("Critic values"),
    mark("Advantages"), mark("Forward-backward"), mark("Critic training"), mark("Weight sync"), mark("Sleep/wake"),
    mark("Fixed overhead"), mark("Data loading"), mark("Evaluation"), mark("Checkpoints"), mark("Waiting"),
    mark("Other"), mark("Unexplained"), mark("measured"), mark("inferred"), mark("assumed"), mark("not split"),
    mark("longer answers"), mark("shorter answers"), mark("batch"), mark("seconds a token"), mark("fixed overhead"),
    mark("evaluation and checkpoints"), mark("warm-up"), mark("lost time"), mark("rest"),
)  # fmt: skip


def seconds(value: float | None, *, short: bool = False) -> str:
    """A duration for people: `1 h 52 m`, `1 小时 52 分`."""
    return retold(units.show_seconds(value, short=short))


def share(value: float | None) -> str:
    """A share of 0..1 as per cent."""
    return retold(units.show_share(value))


def signed_share(change: float) -> str:
    """A change of 0..1 as per cent with its sign: `+12 %`."""
    told = f"{change:+.0%}".replace("-", "−")
    return told.replace("%", " %") if spoken() == "en" else told


def signed(value: float | None) -> str:
    """A difference in seconds with its sign: `+4.1 s`."""
    return "—" if value is None else ("+" if value > 0 else "") + seconds(value)


def moment(at: datetime | None, now: datetime | None = None, zone: tzinfo | None = None) -> str:
    """A moment near `now` in the reader's zone: `tomorrow 02:40`, `明天 02:40`."""
    return retold(units.show_time(at, now, zone))


def phase(name: str) -> str:
    """A phase as people call it."""
    return t(palette.look(name).label)


def lower(text: str) -> str:
    """A name in the middle of a sentence."""
    return text[:1].lower() + text[1:]
