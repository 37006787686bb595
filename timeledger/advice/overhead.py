"""What a step pays besides sampling and training: sync, sleeping, rewards, evaluations, checkpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger.advice.base import Found
from timeledger.advice.case import Case, between
from timeledger.advice.knobs import present
from timeledger.forecast import steps_done
from timeledger.results import Periodic, Span
from timeledger.run import SettingValue
from timeledger.said import say, sentences
from timeledger.schedule import times_to_come
from timeledger.units import show_number, show_seconds, show_share

_FIXED: Final = ("weight_sync", "sleep_wake")
#: Advice aims at evaluations and checkpoints that take no more than this.
_EVALUATION_GOAL: Final = 0.05
_CHECKPOINT_GOAL: Final = 0.015


def amortise(case: Case) -> Found | None:
    """A good part of a step does not depend on how much is sampled in it."""
    measured = case.share(*_FIXED)
    if measured:
        if measured <= 0.15:
            return None
        removes: dict[str, Span] = {phase: Span(0.4, 0.5, 0.5) for phase in _FIXED if phase in case.phases}
        evidence: dict[str, SettingValue] = {
            "fixed_share": round(measured, 3),
            "fixed_s": round(case.seconds(*_FIXED), 2),
            "from": "phases",
        }
        symptom = say(
            "Weight sync and sleep/wake take {time} of each step ({share}), however large the batch.",
            time=show_seconds(case.seconds(*_FIXED)),
            share=show_share(measured),
        )
        return Found(symptom, evidence, removes, _batch(case), "medium")
    fixed, step = case.analysis.timing.fixed_s, case.step_s
    if case.has_phases or fixed is None or not step or fixed.low <= 0.15 * step:
        return None
    # The fit's constant is what does not follow the answers' length; a part of it may still follow their number.
    removes = {"fixed": between(0.0, 0.25, 0.5)}
    evidence = {"fixed_share": round(fixed.mid / step, 3), "fixed_s": round(fixed.mid, 2), "from": "fit"}
    symptom = say(
        "{time} of a step ({share}) do not follow the answers' length.",
        time=show_seconds(fixed.mid),
        share=show_share(fixed.mid / step),
    )
    return Found(symptom, evidence, removes, _batch(case), "low")


def _batch(case: Case) -> dict[str, str]:
    now = case.number("steps_per_generation") if case.framework in {"trl", "swift"} else case.number("prompts_per_step")
    return {"generation_batch": f"{round(2 * now)}" if now else say("twice as many")}


def colocate(case: Case) -> Found | None:
    """Generation and training take turns on two sets of GPUs: each set idles while the other works."""
    idle = _idle_ratios(case)
    if idle is not None:
        trainer, rollouter = idle
        if abs(trainer - rollouter) <= 0.2:
            return None
        shown = {"trainer": show_share(trainer), "generators": show_share(rollouter)}
        title = say("Move GPUs to training")
        symptom = say("The trainer idles {trainer} and the generators {generators}: give training more GPUs.", **shown)
        if trainer > rollouter:
            title = say("Move GPUs to generation")
            symptom = say(
                "The trainer idles {trainer} and the generators {generators}: give generation more GPUs.", **shown
            )
        evidence = {"trainer_idle": round(trainer, 3), "rollouter_idle": round(rollouter, 3)}
        most = abs(trainer - rollouter) / 2
        return Found(
            symptom,
            evidence,
            {"wait": between(0.0, most, 2 * most)} if "wait" in case.phases else {},
            {},
            title=title,
        )
    if case.setting("vllm_mode") != "server" or case.says("async_mode") is True:
        return None
    shares = {phase: share for phase, share in case.phases.items() if phase in {"rollout", "update"}}
    symptom = say(
        "The engine has GPUs of its own (server mode) and training waits for it: one of the two always idles."
    )
    return Found(
        symptom, {"vllm_mode": "server"}, {phase: Span(0.0, 0.2, 0.5) for phase in shares}, {"vllm_mode": "colocate"}
    )


def _idle_ratios(case: Case) -> tuple[float, float] | None:
    """(trainer, rollouter) idle ratios of a fully asynchronous run."""
    for prefix in ("fully_async/", ""):
        trainer, rollouter = case.extra(f"{prefix}trainer/idle_ratio"), case.extra(f"{prefix}rollouter/idle_ratio")
        if trainer is not None and rollouter is not None:
            return trainer, rollouter
    return None


def no_sleep(case: Case) -> Found | None:
    """The engine is put to sleep and woken in every step, and memory may not need it."""
    seconds, step = _sleep_s(case), case.step_s
    if seconds is None or not step or seconds <= 0.08 * step or (case.memory_used or 0.0) >= 0.7:
        return None
    part = next((phase for phase in ("sleep_wake", "rollout", "other") if case.seconds(phase) >= 0.95 * seconds), None)
    share = min(seconds / case.seconds(part), 1.0) if part else 0.0
    taken = {"time": show_seconds(seconds), "share": show_share(seconds / step)}
    symptom = say("Sleeping and waking take {time} of each step ({share}).", **taken)
    if case.memory_used is not None:
        peak = show_share(case.memory_used)
        symptom = say(
            "Sleeping and waking take {time} of each step ({share}); peak memory is {peak}.", **taken, peak=peak
        )
    change = {"enable_sleep_mode": "off"}
    change |= {name: "off" for name in ("param_offload", "optimizer_offload") if present(case, name) is True}
    evidence = {"sleep_wake_s": round(seconds, 2), "share": round(seconds / step, 3)}
    return Found(symptom, evidence, {part: between(0.8 * share, share, share)} if part else {}, change)


def _sleep_s(case: Case) -> float | None:
    """Seconds of sleeping and waking in a step: the phase, else the engine's own reports spread over the steps."""
    if "sleep_wake" in case.phases:
        return case.seconds("sleep_wake")
    steps = case.run.steps.height
    engine = case.engine
    return engine.sleep_s / steps if engine.sleep_s and engine.sleeps >= 0.5 * steps > 0 else None


def parallel_reward(case: Case) -> Found | None:
    """The reward is computed one answer after another; verl waits for an asynchronous one among the advantages."""
    waited = case.framework == "verl" and case.share("advantage") > 0.02
    phases = [phase for phase in ("reward", "advantage") if case.share(phase) > 0 and (phase == "reward" or waited)]
    share = case.share(*phases)
    if share <= 0.05:
        return None
    taken = {"time": show_seconds(case.seconds(*phases)), "share": show_share(share)}
    symptom = say("The reward takes {time} of each step ({share}).", **taken)
    if waited:
        symptom = say("The reward takes {time} of each step ({share}) (waited for among the advantages).", **taken)
    removes = {phase: Span(0.0, 0.6, 0.95) for phase in phases}
    return Found(symptom, {"reward_share": round(share, 3)}, removes, {"reward_workers": "more"})


def evaluate_less(case: Case) -> Found | None:
    """Evaluation takes a good part of the time."""
    share, work = case.share("evaluation"), _periodic(case, "evaluation")
    if share <= 0.10:
        return None
    return _rarer(case, "evaluation", work, _EVALUATION_GOAL, "eval_steps")[0]


def save_less(case: Case) -> Found | None:
    """Checkpoints take a good part of the time."""
    share, work = case.share("checkpoint"), _periodic(case, "checkpoint")
    if share <= 0.03:
        return None
    found, every = _rarer(case, "checkpoint", work, _CHECKPOINT_GOAL, "save_steps")
    if every is None or not case.step_s:
        return found
    risk = show_seconds(every * case.step_s)
    told = say("At risk in a crash then: up to {time} of work.", time=risk)
    return replace(found, symptom=sentences(found.symptom, told))


def _rarer(case: Case, phase: str, work: Periodic | None, goal: float, concept: str) -> tuple[Found, int | None]:
    """The finding that work should come less often, and its new interval in steps (None: the present one is not known)."""
    share, now = case.share(phase), _every(case, phase, work, concept)
    factor = _stretch(share, goal, now, case.analysis.projection.total_steps)
    evidence: dict[str, float] = {"share": round(share, 3)} | ({"every": now} if now else {})
    every = round(factor * now) if now else None
    gone = 1 - _times_left(case, work, every, factor)
    new = f"{every}" if every else say("{factor} times rarer", factor=factor)
    symptom = say("{done}.", done=_weight(share, now, work, phase))
    return Found(symptom, evidence, {phase: Span(gone, gone, gone)}, {concept: new}), every


def _weight(share: float, now: float | None, work: Periodic | None, phase: str) -> str:
    """How much of the time the work takes, how often it comes, what one costs."""
    taken = show_share(share)
    told = say("Evaluation takes {share} of the time", share=taken)
    if phase == "checkpoint":
        told = say("Checkpoints take {share} of the time", share=taken)
    if now and now > 1:
        told = say("{told}, every {steps} steps", told=told, steps=show_number(now))
    elif now:
        told = say("{told}, in every step", told=told)
    if work is None or not work.seconds:
        return told
    return say("{told}, {time} each", told=told, time=show_seconds(work.seconds))


def _every(case: Case, phase: str, work: Periodic | None, concept: str) -> float | None:
    """Steps between two of this work, or None."""
    if work is not None and work.every:
        return float(work.every)
    rows = (
        case.run.phases.filter((pl.col("phase") == phase) & (pl.col("seconds") > 0))
        .select("segment", "step")
        .n_unique()
    )
    return 1.0 if rows >= 0.9 * case.run.steps.height > 0 else case.number(concept)


def _stretch(share: float, goal: float, now: float | None, total: int | None) -> int:
    """How much rarer the work must come to take about `goal` of the time, so that it still comes twice in the run."""
    wanted = next((factor for factor in (2, 3, 4, 5, 10) if share / factor <= 1.2 * goal), 10)
    return max(2, min(wanted, int(total / (2 * now)))) if now and total else wanted


def _times_left(case: Case, work: Periodic | None, every: int | None, factor: int) -> float:
    """How often the work comes with the new interval, as a share of how often it would come: counted where that is possible."""
    total = case.analysis.projection.total_steps
    if work is None or not work.every or every is None or total is None or case.base.of != "the remaining run":
        return 1 / factor
    done = steps_done(case.run, case.analysis.clock)
    before = times_to_come(work, done, total)
    return min(times_to_come(replace(work, every=every), done, total) / before, 1.0) if before else 1.0


def _periodic(case: Case, kind: str) -> Periodic | None:
    return next((each for each in case.analysis.clock.periodic if each.kind == kind), None)


def faster_sync(case: Case) -> Found | None:
    """Sending the new weights to the engine takes a good part of a step."""
    share = case.share("weight_sync")
    if share <= 0.05:
        return None
    symptom = say(
        "Weight sync takes {time} of each step ({share}).",
        time=show_seconds(case.seconds("weight_sync")),
        share=show_share(share),
    )
    evidence = {"weight_sync_share": round(share, 3), "weight_sync_s": round(case.seconds("weight_sync"), 2)}
    return Found(symptom, evidence, {"weight_sync": Span(0.0, 0.4, 0.9)}, {"sync": "fast"})
