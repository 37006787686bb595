"""What to change first: rules over a run's own evidence, in the order of what they cost the result."""

from __future__ import annotations

from collections.abc import Sequence

from timeledger.advice.base import CONFIDENCE, TIERS, Advice, Advised, Combined, Found, NotJudged, Rule
from timeledger.advice.case import Case
from timeledger.advice.knobs import settings
from timeledger.advice.needs import how_to_log, missing, words
from timeledger.advice.rules import RULES
from timeledger.advice.saving import in_seconds, removed
from timeledger.results import Analysis, Span
from timeledger.said import lower, say, sentences
from timeledger.units import show_seconds, show_share

__all__ = ["RULES", "TIERS", "Advice", "Advised", "Combined", "NotJudged", "Rule", "advise", "combine"]

#: Below this share of the time no change in tier 1 is worth the trouble.
_CHEAP = 0.03


def advise(analysis: Analysis, rules: Sequence[Rule] = RULES) -> Advised:
    """Everything that the run's evidence supports, in order, and what could not be judged. Never raises on odd logs.

    Tiers never mix; inside one, saved share x confidence over cost decides. A rule whose evidence is not in the log does
    not fire and is listed with how to log it.
    """
    case = Case(analysis)
    made: list[Advice] = []
    unknown: list[NotJudged] = []
    for rule in rules:
        if not _speaks_of(rule, case):
            continue
        lacks = missing(case, rule.needs)
        if lacks:
            unknown.append(NotJudged(rule.id, rule.title, tuple(map(words, lacks)), how_to_log(case, lacks)))
        elif (found := rule.judge(case)) is not None:
            made.append(_advice(rule, found, case))
    first = {rule.id for rule in rules if rule.first}
    place = {rule.id: at for at, rule in enumerate(rules)}
    made.sort(key=lambda each: (each.tier, each.rule not in first, -each.score, place[each.rule]))
    return Advised(tuple(made), tuple(unknown), _sentence(made, unknown))


def _speaks_of(rule: Rule, case: Case) -> bool:
    """True when the rule is about this kind of log."""
    if not case.run.has_steps:
        return rule.of == "engine" and case.run.engine.height > 0
    return rule.of == "any" or case.is_rl


def _advice(rule: Rule, found: Found, case: Case) -> Advice:
    """A finding with its saving on this run, its settings and its place in the order."""
    base = case.base
    known = {part: span for part, span in found.removes.items() if part in base.shares}
    share = removed(base.shares, [known]) if known else None
    confidence = found.confidence or rule.confidence
    weight = 1 + rule.memory + rule.effort
    return Advice(
        rule=rule.id,
        tier=rule.tier,
        title=found.title or rule.title,
        symptom=found.symptom,
        saves_s=None if share is None else in_seconds(base, share),
        of=base.of,
        share=None if share is None else share.mid,
        ceiling=None if share is None else share.high,
        confidence=confidence,
        cost=rule.cost,
        settings=settings(case, found.change),
        evidence=dict(found.evidence),
        source=rule.sources,
        published=rule.published,
        removes=known,
        score=(share.mid if share else 0.0) * CONFIDENCE[confidence] / weight,
    )


def combine(analysis: Analysis, chosen: Sequence[Advice | str]) -> Combined:
    """What the chosen changes (advice, or ids of rules that fired) save together, recomputed on the run's parts.

    Two changes of one part multiply what is left of it; their savings are never added. A change without a known saving
    counts nothing.
    """
    case = Case(analysis)
    fired = (
        {each.rule: each for each in advise(analysis).advice} if any(isinstance(each, str) for each in chosen) else {}
    )
    picked = [found for each in chosen if (found := fired.get(each) if isinstance(each, str) else each) is not None]
    share = removed(case.base.shares, [each.removes for each in picked])
    whole = case.base.seconds
    left = (
        None
        if whole is None
        else Span(whole.low * (1 - share.high), whole.mid * (1 - share.mid), whole.high * (1 - share.low))
    )
    return Combined(
        rules=tuple(each.rule for each in picked),
        of=case.base.of,
        share=share,
        saves_s=in_seconds(case.base, share),
        left_s=left,
        speedup=1 / max(1 - share.mid, 1e-9),
    )


def _sentence(made: Sequence[Advice], unknown: Sequence[NotJudged]) -> str:
    """The best change in a sentence, or that nothing cheap is left."""
    best = next((each for each in made if each.tier > 0), None)
    free = any(each.tier == 1 and (each.ceiling is None or each.ceiling >= _CHEAP) for each in made)
    limit = say("{count} rules could not be judged.", count=len(unknown)) if unknown else ""
    if best is None:
        return sentences(say("Nothing to change that this log shows."), limit)
    change = _with_gain(best)
    if free:
        return say("Change first: {change}.", change=change)
    return sentences(say("Nothing cheap is left that this log shows; next: {change}.", change=change), limit)


def _with_gain(advice: Advice) -> str:
    """The change and what it saves, in the middle of a sentence."""
    change = lower(advice.title)
    if advice.saves_s:
        time = show_seconds(advice.saves_s.mid)
        return say("{change}, about {time} of {of}", change=change, time=time, of=advice.of)
    if advice.share:
        return say("{change}, about {share} of a step", change=change, share=show_share(advice.share))
    return change
