"""Hand-written training loops: one line a step in any syntax, or a block of lines, between prose, samples and bars.

What counts as a metric line is decided in `keyvalue_lines`; `keyvalue_reader` joins the lines to steps.
"""

from __future__ import annotations

from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.keyvalue_reader import KeyValueReader
from parsers.keyvalue_runs import KeyValueRuns
from parsers.text import Piece

#: A source of so few lines may be a run although it names no step.
_SHORT: Final = 40
#: In a longer source one row alone must tell so many things.
_RICH: Final = 4
#: So many rows settle what a source is, when they are alike.
_ENOUGH: Final = 8
#: So many counted rows that tell their time are no chance.
_MANY: Final = 50


def recognises(head: Head) -> Confidence:
    """LIKELY: two rows of one shape and different steps. MAYBE: one row, or a short source with metrics and no step."""
    reader = KeyValueReader(Origin(head.name))
    first, enough = "", _ENOUGH
    for no, text in enumerate(head.lines, 1):
        reader.take(Piece(no, text))
        first = first or (text.strip()[:100] if reader.found or reader.evaluated else "")
        if reader.rows >= enough:
            if reader.alike:  # the rest of the head would say the same
                break
            enough *= 2
    if (reader.rows >= 2 and reader.alike) or (reader.rows >= _MANY and reader.counted):
        return Confidence(Sure.LIKELY, first)
    few = head.whole and len(head.lines) <= _SHORT
    if (
        (reader.rows and (few or reader.richest >= _RICH))
        or ((reader.found or reader.evaluated) and few)
        or reader.shown
        or reader.counted
    ):
        return Confidence(Sure.MAYBE, first)
    return NO


KEYVALUE: Final = Format(
    name="keyvalue",
    title="Hand-written loop",
    kind="lines",
    recognises=recognises,
    open=KeyValueRuns,
    reads="one line or block a step in any syntax: `step 3 | len 152 | reward 0.53 | time 33.1s`, `[step 3/200] loss=0.1 dt=12s`, "
    "dicts, progress bars with metrics, markdown tables; English and Chinese names; phases with a unit (`rollout=12.0s`)",
    lacks="whatever is not printed; without any time the progress bar's clock or the logger's time stamps are used",
    more='print(f"step {step}/{total} | len {length:.0f} | reward {reward:.3f} | rollout {gen:.1f}s | update {train:.1f}s | time {dt:.1f}s")',
    role="own",
    most=Sure.LIKELY,
)
