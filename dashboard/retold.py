"""The model's main sentences in other languages, built anew from the numbers they stand on. English keeps the model's own.

What is not built here (reasons of a projection, notes, the evidence of advice) is shown in English in every language.
"""

from __future__ import annotations

import math
from datetime import tzinfo
from typing import TYPE_CHECKING

from dashboard.language import mark, spoken, t
from dashboard.localised import moment, seconds, share
from timeledger.forecast import steps_done
from timeledger.results import Analysis, Growth, Timing
from timeledger.units import show_number

if TYPE_CHECKING:
    from timeledger.budget import Cut
    from timeledger.compare import Ledger
    from timeledger.plan import Estimate

_EARLY_LATE = (mark("the early part"), mark("the late part"))
_LONGER = mark("A step of {b} takes {time} longer than one of {a} ({there})")
_SHORTER = mark("A step of {b} takes {time} less than one of {a} ({there})")
_CAUSES = {
    "longer answers": (mark("longer answers"), mark("shorter answers")),
    "batch": (mark("a larger batch"), mark("a smaller batch")),
    "seconds a token": (mark("more seconds a token"), mark("fewer seconds a token")),
    "fixed overhead": (mark("more fixed overhead"), mark("less fixed overhead")),
    "evaluation and checkpoints": (mark("more evaluation and checkpoints"), mark("less evaluation and checkpoints")),
    "warm-up": (mark("more warm-up"), mark("less warm-up")),
    "lost time": (mark("more lost time"), mark("less lost time")),
    "rest": (mark("what this log cannot split"), mark("what this log cannot split")),
}


def headline(analysis: Analysis, zone: tzinfo | None = None) -> str:
    """The one sentence a colleague could say aloud."""
    run, clock = analysis.run, analysis.clock
    if spoken() == "en":
        return analysis.headline
    if not run.has_steps:
        engine_only = t("This is an engine's log: throughput, but no training steps.")
        return engine_only if run.engine.height else t("This log has no training steps.")
    if clock.elapsed_s is None:
        return analysis.headline
    told = [_lead(analysis, zone)]
    breakdown, growth = analysis.breakdown, analysis.growth
    if breakdown.sampling_share:
        told.append(t("sampling takes {share} of a step", share=share(breakdown.sampling_share)))
    if growth.growth is not None and growth.growth > 0 and abs(math.log(growth.growth)) > 0.1:
        told.append(_lengths(growth))
    return t("{done}.", done=t("; ").join(told))


def _lead(analysis: Analysis, zone: tzinfo | None) -> str:
    clock, projection, state = analysis.clock, analysis.projection, analysis.state
    spent, rest, total = seconds(clock.elapsed_s), projection.remaining_s, projection.total_steps
    steps = f"{steps_done(analysis.run, clock):,}"
    done = t("{done} of {total} steps", done=steps, total=f"{total:,}") if total else t("{done} steps", done=steps)
    if state == "finished":
        return t("Finished: {done} in {time}", done=done, time=spent)
    if state == "ended early":
        return t("Ended early after {done}, {time} in", done=done, time=spent)
    if rest is None:
        return t("{done} in {time}, and no planned number of steps in this log", done=done, time=spent)
    between = t("between {low} and {high}", low=seconds(rest.low), high=seconds(rest.high))
    if projection.too_early:
        return t("{done} done, too early for more than a range: {between} to go", done=done, between=between)
    if state == "stalled":
        return t(
            "Stalled after {done}: {time} of work would be left ({between})",
            done=done,
            time=seconds(rest.mid),
            between=between,
        )
    if projection.finish_at is not None and state == "running":
        low, mid, high = (moment(each, analysis.facts.now, zone) for each in projection.finish_at)
        between = t("between {low} and {high}", low=low, high=high)
        return t("Finishes {when}, {between}: {done} done", when=mid, between=between, done=done)
    return t("{done} done, {time} to go ({between})", done=done, time=seconds(rest.mid), between=between)


def _lengths(growth: Growth) -> str:
    first, last = show_number(growth.first), show_number(growth.last)
    if (growth.growth or 1.0) >= 1:
        return t("answers grew from {first} to {last} tokens", first=first, last=last)
    return t("answers shrank from {first} to {last} tokens", first=first, last=last)


def growth(found: Growth) -> str:
    """What the answers' length did."""
    if spoken() == "en" or found.growth is None or found.first is None or found.last is None:
        return found.sentence
    told = _lengths(found)
    if found.limit is not None:
        told += t("; the limit is {limit}", limit=f"{found.limit:,.0f}")
    if found.truncated_last is not None:
        told += t(", {share} cut", share=share(found.truncated_last))
    return t("{done}.", done=told)


def timing(found: Timing) -> str:
    """What a token and a step cost."""
    if spoken() == "en" or found.s_per_token is None or found.fixed_s is None or found.driver == "none":
        return found.sentence
    drivers = {"mean": t("of the mean answer"), "max": t("of the longest answer"), "tokens": t("of the step")}
    return t(
        "Each extra token {driver} costs {cost}; {fixed} a step is fixed.",
        driver=drivers[found.driver], cost=seconds(found.s_per_token.mid), fixed=seconds(found.fixed_s.mid),
    )  # fmt: skip


def difference(found: Ledger) -> str:
    """Why a step of one takes longer than a step of the other."""
    if spoken() == "en" or found.step_s is None:
        text = found.sentence
        return text[:1].upper() + text[1:] if text.startswith("the ") else text
    a, b, total = side(found.a), side(found.b), found.step_s
    there = t("{b} against {a} a step", b=seconds(found.to_s), a=seconds(found.from_s))
    if found.verdict == "same pace":
        return t("{b} keeps the pace of {a}: {there}.", a=a, b=b, there=there)
    told = sorted(
        (each for each in found.parts if abs(each.seconds) > 0.05 * abs(total)), key=lambda each: -each.seconds / total
    )
    causes = [_cause(each.part, each.seconds) for each in told if each.seconds * total > 0]
    against = [_cause(each.part, each.seconds) for each in told if each.seconds * total < 0]
    words = _LONGER if total > 0 else _SHORTER
    head = t(words, a=a, b=b, time=seconds(abs(total)), there=there)
    if causes:
        head += t(": {causes}", causes=t(", ").join(causes))
    if causes and against:
        head += t("; against it, {causes}", causes=t(", ").join(against))
    return t("{done}.", done=head)


def side(name: str) -> str:
    """A side of a difference: a run's own name, or a part of one run."""
    return t(name) if name in _EARLY_LATE else name


def _cause(part: str, cost_s: float) -> str:
    words = _CAUSES[part][0 if cost_s > 0 else 1]
    return t("{time} by {cause}", time=seconds(abs(cost_s)), cause=t(words))


_EFFECTS = {
    "steps": mark("A shorter piece of the same curve: the trend stays readable, the end point is lower."),
    "data": mark("Fewer questions: almost no effect, RL is not driven by the amount of data."),
    "max_tokens": mark("A tighter limit: only because few answers are cut now; long answers get no reward."),
    "group_size": mark("A smaller group: the baseline is noisier and more groups carry no signal; never below 4."),
    "eval_questions": mark("Fewer evaluation questions: a larger error, fine for trends."),
}


def effect(cut: Cut) -> str:
    """What a cut does to the conclusion."""
    return cut.effect if spoken() == "en" else t(_EFFECTS[cut.what])


def hints(answer: Estimate) -> list[str]:
    """The calculator's hints; the lesson's three in the page's language, the others as they are."""
    if spoken() == "en":
        return list(answer.hints)
    sampling, training = answer.share("sampling"), answer.share("forward-backward")
    fixed = sum(answer.share(name) for name in ("fixed overhead", "weight sync", "sleep/wake"))
    told = {
        "Sampling is": t("{sampling} of a step is sampling: raise the engine's memory utilisation and keep CUDA graphs on before touching length or group size; neither changes the result.", sampling=share(sampling)),
        "Training is": t("Training is {training}: gradient checkpointing would slow that end, so check first that memory is really short.", training=share(training)),
        "Fixed overhead is": t("Fixed overhead is {fixed} of a step: a larger batch per step dilutes it.", fixed=share(fixed)),
    }  # fmt: skip
    return [next((own for start, own in told.items() if each.startswith(start)), each) for each in answer.hints]
