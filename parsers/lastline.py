"""The last line of a source that is still being written: when it counts although it is not ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from parsers.text import bars, strip_ansi
from timeledger import schema
from timeledger.run import Run

#: A `{...}` line longer than this is not looked into before it is ended.
_LONG_LINE: Final = 1024 * 1024


def is_whole_object(tail: bytearray) -> bool:
    """True for one `{...}` whose braces balance: nothing is missing but the line end."""
    if len(tail) > _LONG_LINE:
        return False
    text = bytes(tail).strip()
    return text.startswith(b"{") and text.endswith(b"}") and text.count(b"{") == text.count(b"}")


def with_last_bar(run: Run, tail: bytes) -> Run:
    """The run with the bar state that stands unended at the end of its log, when it continues the run's own bar."""
    if b"%|" not in tail or run.progress.is_empty():
        return run
    text = strip_ansi(tail.decode("utf-8", errors="replace"))
    found = [bar for bar in bars(text) if not text[bar.end :].strip()]
    last = run.progress.row(-1, named=True)
    if not found or last["total"] is None or found[-1].total != last["total"] or found[-1].n <= last["step"]:
        return run
    bar = found[-1]
    row = {**last, "step": bar.n, "elapsed_s": bar.elapsed_s, "remaining_s": bar.remaining_s}
    if bar.elapsed_s < last["elapsed_s"]:
        return run
    more = pl.DataFrame([row], schema=schema.PROGRESS)
    return replace(run, progress=pl.concat([run.progress, more]))
