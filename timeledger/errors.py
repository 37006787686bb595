"""Everything timeledger refuses, as one small tree.

TimeledgerError
 ├─ UnreadableSource   the path is missing, a folder without logs, or cannot be opened
 ├─ UnknownFormat      the bytes are readable but no format recognises them
 ├─ BadLog             a known format, broken at a known line (only with strict=True, or nothing readable)
 ├─ NotEnoughSteps     the log is fine but too short for the question asked
 ├─ ImpossiblePlan     numbers a person typed that cannot describe a run
 └─ BadOption          an option of the command line or the page that cannot be used

A message says what, where, what was looked for and what to do. Only `timeledger.cli.main` and the dashboard show one.
"""

from __future__ import annotations

from timeledger.said import say


class TimeledgerError(Exception):
    """Base of every error a user may see. `str(error)` is the whole message, `text` the same as it was said."""

    @property
    def text(self) -> str:
        """The whole message."""
        return self.args[0] if self.args and isinstance(self.args[0], str) else str(self)


class UnreadableSource(TimeledgerError):
    """A path that does not exist, cannot be opened, or holds nothing to read."""


class UnknownFormat(TimeledgerError):
    """Readable bytes that no format recognises."""


class BadLog(TimeledgerError):
    """A log of a known format that is broken at `line` (1-based; 0 when the place is unknown)."""

    def __init__(self, path: str, line: int, text: str) -> None:
        self.path = path
        self.line = line
        where = say("{path}, line {line}", path=path, line=line) if line else path
        super().__init__(say("{where}: {text}", where=where, text=text))


class NotEnoughSteps(TimeledgerError):
    """Too few steps to answer: `have` were found, `need` are needed."""

    def __init__(self, have: int, need: int, what: str = "this") -> None:
        self.have = have
        self.need = need
        super().__init__(f"{need} ordinary steps are needed for {what}, {have} seen so far.")


class ImpossiblePlan(TimeledgerError):
    """A typed-in number that cannot describe a run; `field` names it."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(say("{where}: {text}", where=field, text=text))


class BadOption(TimeledgerError):
    """An option whose value cannot be used."""
