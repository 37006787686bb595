"""What a rule is, what it finds, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from timeledger.advice.saving import Removes
from timeledger.results import Span
from timeledger.run import SettingValue

if TYPE_CHECKING:
    from timeledger.advice.case import Case

#: Tier -> its word. Advice of one tier never stands before that of a lower one, whatever it saves.
TIERS: Final = {0: "look first", 1: "free", 2: "same goal, another path", 3: "length", 4: "group size, last"}
#: How sure a saving is -> its weight in the order inside a tier.
CONFIDENCE: Final = {"high": 0.9, "medium": 0.6, "low": 0.3}
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule sees in a run: the symptom with the user's numbers, what a change removes, and the change itself.

    `change` names settings by concept (`advice.knobs`) with the new value as text.
    """

    symptom: str
    evidence: Mapping[str, SettingValue]
    removes: Removes = field(default_factory=dict)
    change: Mapping[str, str] = field(default_factory=dict)
    confidence: Confidence | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the table. `needs` is the evidence without which it is not judged (see `advice.needs`).

    `memory` and `effort` are what it costs (0 nothing, 1 much) and count against it inside its tier; `first` puts it
    before the others of its tier. `of` says which logs it speaks of: RL runs, any training run, or engine logs too.
    """

    id: str
    tier: int
    title: str
    judge: Callable[[Case], Found | None]
    needs: tuple[str, ...]
    cost: str
    confidence: Confidence
    sources: str
    published: str = ""
    memory: float = 0.0
    effort: float = 0.0
    first: bool = False
    of: Literal["rl", "any", "engine"] = "rl"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change.

    `saves_s` are seconds of what `of` names (the remaining run; the whole run when it is over), None where the log does
    not tell them; `share` is the middle of it as a share of that time, `ceiling` the most that is possible (Amdahl).
    `settings` are "now -> new" in the framework's own spelling. `published` is what others saw, never a promise.
    """

    rule: str
    tier: int
    title: str
    symptom: str
    saves_s: Span | None
    of: str
    share: float | None
    ceiling: float | None
    confidence: Confidence
    cost: str
    settings: dict[str, str]
    evidence: dict[str, SettingValue]
    source: str
    published: str
    removes: dict[str, Span]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A rule that this log cannot decide: what it lacks, and the ways to log that."""

    rule: str
    title: str
    lacks: tuple[str, ...]
    how: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advised:
    """All advice in order, the rules that could not be judged, and one sentence."""

    advice: tuple[Advice, ...]
    not_judged: tuple[NotJudged, ...]
    sentence: str

    def find(self, rule: str) -> Advice | None:
        """The advice of a rule, or None."""
        return next((each for each in self.advice if each.rule == rule), None)


@dataclass(frozen=True, slots=True)
class Combined:
    """What several changes together save: recomputed, never summed."""

    rules: tuple[str, ...]
    of: str
    share: Span
    saves_s: Span | None
    left_s: Span | None
    speedup: float
