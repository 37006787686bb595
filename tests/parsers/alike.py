"""Comparing what readers say: the same bytes give the same runs, however they come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from parsers.base import Format, Origin
from timeledger.run import Run

_LOG = Origin("train.log")


def frames(runs: tuple[Run, ...]) -> list[Any]:
    """Everything a reader says, comparable."""
    return [
        (
            run.steps.to_dict(as_series=False), run.phases.to_dict(as_series=False), run.engine.to_dict(as_series=False),
            run.events.to_dict(as_series=False), run.progress.to_dict(as_series=False), run.extra.to_dict(as_series=False),
            run.info.model_dump(exclude={"last_write"}), run.notes,
        )
        for run in runs
    ]  # fmt: skip


def same(a: tuple[Run, ...], b: tuple[Run, ...]) -> bool:
    """Equal in all they say; nan equals nan."""
    return repr(frames(a)) == repr(frames(b))


def same_in_pieces(form: Format, pieces: Iterable[bytes], origin: Origin = _LOG) -> bool:
    """True when a reader that is fed piece by piece, and asked after each, says what one says that is fed at once."""
    whole, parted = form.open(origin), form.open(origin)
    pieces = list(pieces)
    whole.feed(b"".join(pieces))
    for piece in pieces:
        parted.feed(piece)
        parted.runs()
    return same(whole.runs(), parted.runs())
