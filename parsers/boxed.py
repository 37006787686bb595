"""Tables of two columns in a box, one a step: the console of Stable-Baselines3, OpenAI Baselines and Spinning Up.

`| time/ | |` heads a section, `|    time_elapsed | 641 |` below it is `time/time_elapsed`. A box ends where its rule does.
"""

from __future__ import annotations

import re
from typing import Final

from parsers import clocks, values
from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.evaluations import Evaluations, believed, with_sparse
from parsers.lines import LineReader
from parsers.renames import Resolver, resolver
from parsers.row_axis import COUNTERS
from parsers.rows import RowWriter
from parsers.sorting import Pair, Sorted, sort_out
from parsers.text import Piece
from timeledger import units
from timeledger.run import Run
from timeledger.said import say

_RULE: Final = re.compile(r"\s*[-=+]{8,}\s*$")
_ROW: Final = re.compile(r"\s*\|(?P<indent> +)(?P<key>[^|]{1,80}?) *\|(?P<value>[^|]{0,80})\|\s*$")
_PLANNED: Final = re.compile(r"\b(?:total[_ ]?)?timesteps\s*[:=]\s*(\d[\d,_]*)\b", re.IGNORECASE)
#: `Stage 1/5: timesteps=50000` plans a part of the run.
_PART: Final = re.compile(
    r"\b(?:stage|phase|level|part|lesson|round|task)\W{0,3}\d{1,4}\s*(?:/|of)\s*(?!1\b)\d{1,4}", re.IGNORECASE
)
#: A box has at least so many rows with a value.
_FEWEST: Final = 3
#: What only these trainers' boxes hold together.
_TELLING: Final = ({"time/total_timesteps", "time/fps"}, {"total_timesteps", "fps"}, {"misc/total_timesteps", "fps"})


class Box:
    """Follows a text line by line and gives each box, as its keys and values, where it closes."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str]] = []
        self._head = ""
        self._open = False

    def take(self, text: str) -> list[tuple[str, str]] | None:
        """The rows of the box that this line closes; None for any other line."""
        if _RULE.match(text):
            rows, self._rows, self._head, self._open = self._rows, [], "", True
            return rows if len(rows) >= _FEWEST else None
        if not self._open:
            return None
        if (row := _ROW.match(text)) is not None:
            self._row(row)
        elif not text.lstrip().startswith("|"):
            self._open = bool(self._rows)  # a rule alone is no box; a warning may stand inside one
        return None

    def _row(self, row: re.Match[str]) -> None:
        key, value = row["key"], row["value"].strip()
        if key.endswith("/") and not value:
            self._head = key
        elif value:
            inside = self._head if len(row["indent"]) > 2 else ""
            self._rows.append((f"{inside}{key}", value))


class _BoxedReader(LineReader):
    """One row a box."""

    format_name = "boxed"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._look = resolver(origin.mapping)
        self._box = Box()
        self._rows = RowWriter(self.build)
        self._evaluations = Evaluations(self.build)
        self._planned: int | None = None
        self._rollout = 1
        #: timesteps and iterations of the last box
        self._counts: tuple[int, int] | None = None

    def take(self, piece: Piece) -> None:
        """Read one line."""
        found = self._box.take(piece.text)
        if found is None:
            if not self._rows.rows and (planned := _PLANNED.search(piece.text)) is not None:
                whole = values.whole(units.number(planned.group(1).replace("_", "")))
                self._planned = None if _PART.search(piece.text) else whole
            return
        row = _sorted(found, self._look)
        if row.step is None:
            self.build.note("skipped", say("a box without a step"), piece.no)
        elif row.known:
            self._count(found)
            self._rows.write(row.step, row, piece.no)
        elif any(key.startswith("eval") for key in row.extra):
            text = ", ".join(f"{key} {value:.4g}" for key, value in row.extra.items() if key.startswith("eval"))
            self._evaluations.tell(row.step, None, line=piece.no, at=None, text=text)

    def _count(self, rows: list[tuple[str, str]]) -> None:
        """Learn the timesteps of one rollout: what they rise by from one iteration to the next, else from the start."""
        now, before = _counts(rows), self._counts
        if now is None:
            return
        steps, iterations = now
        if before is not None and iterations > before[1] and steps > before[0]:
            steps, iterations = steps - before[0], iterations - before[1]
        elif before is not None:
            steps = 0  # the iterations begin anew, the timesteps go on
        if steps and steps % iterations == 0:
            self._rollout = steps // iterations
        self._counts = now

    def runs(self) -> tuple[Run, ...]:
        """The run so far."""
        build = self.build.fork()
        if self._planned is not None:  # whole rollouts are collected: the last one may go on past what was planned
            whole = -(-self._planned // self._rollout) * self._rollout
            if (self._rows.last or 0) <= whole:  # else: it was a part of the run that was planned
                build.setting("total_steps", whole, say("the planned timesteps, in whole rollouts"))
        return (with_sparse(believed(clocks.settle(build.run(), self._rows.step_key))),)


def _sorted(rows: list[tuple[str, str]], look: Resolver) -> Sorted:
    """A box's values by what they mean; a count of what the environment did is the step where nothing else is."""
    pairs = [Pair(key, found[0]) for key, text in rows if (found := values.take(text, 0)) is not None]
    row = sort_out(pairs, look)
    if row.step is None:
        counts = {
            pair.key.lower().rpartition("/")[2]: pair.value.number
            for pair in pairs
            if isinstance(pair.value, values.Value)
        }
        row.step = next((step for name in COUNTERS if (step := values.whole(counts.get(name))) is not None), row.epoch)
    return row


def _counts(rows: list[tuple[str, str]]) -> tuple[int, int] | None:
    """Timesteps and iterations of a box that counts both."""
    told = {key.rpartition("/")[2]: values.whole(units.number(text)) for key, text in rows}
    steps, iterations = told.get("total_timesteps"), told.get("iterations") or told.get("nupdates")
    return (steps, iterations) if steps and iterations else None


def recognises(head: Head) -> Confidence:
    """CERTAIN: a box with the counts of these trainers. LIKELY: two boxes of which the steps rise."""
    box, look, steps, first = Box(), resolver(()), [], ""
    for text in head.lines:
        if (found := box.take(text)) is None:
            continue
        row = _sorted(found, look)
        if row.step is None or not row.known:
            continue
        first = first or f"| {found[0][0]} | {found[0][1]} |"
        steps.append(row.step)
        if any(telling <= {key for key, _ in found} for telling in _TELLING):
            return Confidence(Sure.CERTAIN, first)
        if len(steps) > 1:
            return Confidence(Sure.LIKELY, first) if steps[0] < steps[1] else NO
    return Confidence(Sure.MAYBE, first) if steps else NO


BOXED: Final = Format(
    name="boxed",
    title="Boxed tables of Stable-Baselines3, Baselines or Spinning Up",
    kind="lines",
    recognises=recognises,
    open=_BoxedReader,
    reads="one row a box: timesteps, elapsed time, rewards, losses, KL, clipping; evaluations; planned timesteps where they are printed",
    lacks="phases; times finer than a second",
    more="progress.csv or TensorBoard beside it (`configure(folder, ['stdout', 'csv', 'tensorboard'])`)",
)
