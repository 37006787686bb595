"""Where a step's time went: phases that may be added, amortised evaluation and checkpoints, and what nothing explains."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from timeledger import schema
from timeledger.keys import single
from timeledger.phases import TopPhases, top_level
from timeledger.results import Breakdown, Clock, Facts, PhaseShare, Timing
from timeledger.run import Kind, Run
from timeledger.said import say, sentences
from timeledger.throughput import sequences_per_step
from timeledger.units import show_seconds, show_share

BY_STEP: Final = schema.columns({"step": pl.Int64, "phase": pl.String, "seconds": pl.Float64})
#: Phases that sum to this much more than the step cannot be an error of rounding: some ran at the same time.
_OVERLAP: Final = 0.05
#: Rows of these kinds say nothing of a usual step.
_UNUSUAL: Final = ("warmup", "restart", "pause")
_AMORTISED: Final = {"evaluation": "evaluation", "checkpoint": "checkpoint", "periodic": "other"}
_FIXED: Final = ("weight_sync", "sleep_wake")
#: Fewer rows with phases than this, among so many times as many without, do not tell of a usual step.
_FEW: Final = 3
_MANY: Final = 10
#: Steps that generate take at least this many times those that reuse answers.
_GENERATES: Final = 1.15

#: How to log phases, by framework; the first words of `RunInfo.framework` decide.
HOW_TO_LOG: Final = {
    "trl": say(
        'TRL logs phases only to W&B, MLflow and Trackio: set report_to="wandb" (offline is enough), "mlflow" or '
        '"trackio", and logging_steps=1.'
    ),
    "verl": say(
        'verl logs timing_s/* to every logger: trainer.logger=["console","file"] or "tensorboard"; '
        "actor_rollout_ref.rollout.disable_log_stats=False adds the engine's lines."
    ),
    "openrlhf": say("OpenRLHF logs timing/* from version 0.9.6 on, to W&B or TensorBoard (--use_tensorboard)."),
    "ms-swift": say('ms-swift: set report_to="wandb" or "tensorboard" and logging_steps=1; or add the engine\'s log.'),
    "unsloth": say(
        'Unsloth runs TRL\'s trainer: set report_to="wandb" (offline is enough) or "trackio", and logging_steps=1.'
    ),
}
HOW_TO_LOG_ANY: Final = say(
    "Print or log the seconds of generation and of the update of each step (for example gen_s=8.1 train_s=2.4), "
    "or type in the measured generation throughput."
)


def breakdown(
    run: Run, clock: Clock, timing: Timing | None = None, facts: Facts | None = None, top: TopPhases | None = None
) -> Breakdown:
    """The breakdown of a mean step: warm-up, restarts and pauses left out, evaluation and checkpoints spread over all steps.

    Top-level phases only; a phase and its children are never both added, phases that overlap others not at all.
    Without phases the step is split into a fixed and a per-token part by `timing`, and further only with a measured
    generation throughput (`timing.gen_tok_s` or `facts.gen_tok_s`).
    """
    top = top_level(run) if top is None else top
    rows = _used_rows(clock, top)
    told = _telling(rows, top)
    if told is None:
        return _without_phases(run, clock, timing, facts or Facts())
    return _with_phases(told, top)


# --- with phases -----------------------------------------------------------------------------------------------


def _telling(rows: pl.DataFrame, top: TopPhases) -> pl.DataFrame | None:
    """The rows with phases of the step itself; None where there are none, or hardly any of many (a line beside the training).

    Rows with an evaluation or a save alone do not show what the others spend.
    """
    phases = pl.concat([each.select("segment", "step", "phase") for each in (top.frame, top.overlapping)])
    own = phases.filter(~pl.col("phase").is_in(list(_AMORTISED))).select("segment", "step").unique()
    if own.is_empty():
        return None
    told = rows.join(own, on=["segment", "step"], how="semi")
    stray = own.height < _FEW and rows.height > _MANY * own.height
    return None if stray else told


def _used_rows(clock: Clock, top: TopPhases) -> pl.DataFrame:
    """(segment, step, span, wall_s, extra_s, kind) of the rows that count; from the phases alone when there is no clock."""
    wanted = ["segment", "step", "span", "wall_s", "extra_s", "kind"]
    timed = clock.steps.filter(pl.col("wall_s").is_not_null()).select(wanted)
    usual = timed.filter(~pl.col("kind").is_in(_UNUSUAL))
    if usual.height >= 2 or usual.height == timed.height > 0:
        return usual
    if timed.height:
        return timed
    sums = top.frame.group_by("segment", "step").agg(pl.col("seconds").sum().alias("wall_s")).sort("segment", "step")
    return sums.select(
        "segment",
        "step",
        pl.lit(1, pl.Int64).alias("span"),
        "wall_s",
        pl.lit(0.0).alias("extra_s"),
        pl.lit("ordinary").alias("kind"),
    )


def _with_phases(rows: pl.DataFrame, top: TopPhases) -> Breakdown:
    keys = ["segment", "step"]
    if rows.is_empty():
        return _none(None, say("No step that tells its time also tells its phases."))
    phases = top.frame.join(rows.select(*keys, "span"), on=keys, maintain_order="left")
    found = _amortised(rows, set(phases["phase"].unique().to_list()))
    steps = float(rows["span"].sum())
    wall = float((rows["wall_s"] * rows["span"]).sum()) / steps
    if wall <= 0:  # a clock that stands still, such as a bar that is never drawn again
        return _none(None, say("No step that tells its time also tells its phases."))
    sums = phases.group_by("phase", maintain_order=True).agg(  # sums do not depend on threads
        (pl.col("seconds") * pl.col("span")).sum() / steps, pl.col("name").unique().sort()
    )
    seconds = dict(sums.select("phase", "seconds").iter_rows())
    names = {phase: tuple(own) for phase, own in sums.select("phase", "name").iter_rows()}
    kinds: dict[str, Kind] = dict.fromkeys(seconds, "measured")
    for phase, amount in found.items():
        seconds[phase] = seconds.get(phase, 0.0) + amount
        kinds.setdefault(phase, "inferred")
    _take_from_wait(seconds, kinds, sum(found.values()), wall)
    why: str | None = None
    overlapped = top.overlapped
    total = sum(seconds.values())
    if total > wall * (1 + _OVERLAP):
        overlapped = True
        share = show_share(total / wall)
        why = say("The phases add up to {share} of the step: some of them run at the same time.", share=share)
        seconds, kinds = _longest_first(seconds, kinds, wall)
    elif total > wall:
        wall = total  # rounding, or a phase that lies just outside the step: the sum is the better measure
    rest = max(wall - sum(seconds.values()), 0.0)
    if overlapped and rest > 0 and "wait" not in seconds and top.overlapped:
        beside = _mean_overlapping(rows, top, steps)
        waiting = min(rest, max(beside - sum(seconds.values()), 0.0))
        if waiting > 0:
            seconds["wait"], kinds["wait"] = waiting, "inferred"
            rest -= waiting
    if not overlapped and top.within:
        why = say(
            "{names} would fill more than the step: taken as a part of another phase.", names=", ".join(top.within)
        )
    if overlapped and why is None:
        why = say(
            "Generation and training overlap: a step takes as long as the longer of them; only what was waited for is shown."
        )
    return _assembled(wall, seconds, kinds, names, rest, _by_step(rows, phases, found), overlapped, why)


def _amortised(rows: pl.DataFrame, logged: set[str]) -> dict[str, float]:
    """Evaluation, checkpoints and other periodic work that the clock found and no phase names, in seconds of one step."""
    steps = float(rows["span"].sum())
    made: dict[str, float] = {}
    for kind, phase in _AMORTISED.items():
        spent = float(rows.filter(pl.col("kind") == kind)["extra_s"].sum() or 0.0)
        if spent > 0 and (phase not in logged or kind == "periodic"):
            made[phase] = spent / steps
    return made


def _take_from_wait(seconds: dict[str, float], kinds: dict[str, Kind], found: float, wall: float) -> None:
    """A trainer that waits also waits for the evaluation and the checkpoint that the clock found: they are not added to it."""
    twice = min(sum(seconds.values()) - wall, seconds.get("wait", 0.0), found)
    if twice > 0:
        seconds["wait"] -= twice
        kinds["wait"] = "inferred"


def _longest_first(
    seconds: dict[str, float], kinds: dict[str, Kind], wall: float
) -> tuple[dict[str, float], dict[str, Kind]]:
    """Phases that overlap without saying so: the longest keep their time until the step is full, the others ran beside them."""
    kept: dict[str, float] = {}
    left = wall
    for phase in sorted(seconds, key=lambda name: -seconds[name]):
        if left <= 0:
            break
        kept[phase] = min(seconds[phase], left)
        left -= kept[phase]
    return kept, {phase: (kinds[phase] if kept[phase] == seconds[phase] else "inferred") for phase in kept}


def _mean_overlapping(rows: pl.DataFrame, top: TopPhases, steps: float) -> float:
    """Seconds a step of the longest phase that runs beside the others."""
    beside = top.overlapping.join(rows.select("segment", "step", "span"), on=["segment", "step"])
    sums = beside.group_by("phase").agg((pl.col("seconds") * pl.col("span")).sum() / steps)
    longest = sums["seconds"].max() if sums.height else 0.0
    return float(longest) if isinstance(longest, int | float) else 0.0


def _by_step(rows: pl.DataFrame, phases: pl.DataFrame, found: dict[str, float]) -> pl.DataFrame:
    """(step, phase, seconds of one step), the unexplained rest included; a row's rest is never negative."""
    keys = ["segment", "step"]
    alone = single(phases, "phase")
    own = phases.select(*keys, "phase", "seconds")
    own = own if alone else own.group_by(*keys, "phase", maintain_order=True).agg(pl.col("seconds").sum())
    extra = rows.filter(pl.col("kind").is_in([kind for kind, phase in _AMORTISED.items() if phase in found])).select(
        *keys,
        pl.col("kind").replace_strict(_AMORTISED, default="other").alias("phase"),
        (pl.col("extra_s") / pl.col("span")).alias("seconds"),
    )
    named = pl.concat([own, extra])
    sums = named.group_by(keys, maintain_order=True).agg(pl.col("seconds").sum().alias("sum_s"))
    rest = rows.join(sums, on=keys, how="left").select(
        *keys,
        pl.lit("unexplained").alias("phase"),
        (pl.col("wall_s") - pl.col("sum_s").fill_null(0.0)).clip(0.0).alias("seconds"),
    )
    rises = (rows["step"].diff().drop_nulls() > 0).all()
    every = pl.concat([named, rest]).drop("segment")
    if not (rises and alone and extra.is_empty()):  # several sessions, or several parts of one phase
        every = every.group_by("step", "phase", maintain_order=True).agg(pl.col("seconds").sum())
    return schema.conform(every if rises and named.is_empty() else every.sort("step", "phase"), BY_STEP)


def _assembled(
    wall: float, seconds: dict[str, float], kinds: dict[str, Kind], names: dict[str, tuple[str, ...]],
    rest: float, by_step: pl.DataFrame, overlapped: bool, why: str | None,
) -> Breakdown:  # fmt: skip
    order = {name: at for at, name in enumerate(schema.PHASE_NAMES)}
    shares = tuple(
        PhaseShare(phase, seconds[phase], seconds[phase] / wall if wall else 0.0, kinds[phase], names.get(phase, ()))
        for phase in sorted(seconds, key=lambda name: order.get(name, len(order)))
    )
    parts: dict[str, float] = {}
    for each in shares:
        part = schema.ROLLUP.get(each.phase, "other")
        parts[part] = parts.get(part, 0.0) + each.seconds
    if rest > 0:
        parts["unexplained"] = rest
    fixed = [seconds[phase] for phase in _FIXED if phase in seconds]
    return Breakdown(
        step_s=wall,
        phases=shares,
        unexplained_s=rest,
        by_step=by_step,
        parts=parts,
        sampling_share=_share(parts.get("sampling"), wall),
        training_share=_share(parts.get("forward-backward"), wall),
        fixed_share=_share(sum(fixed), wall) if fixed else None,
        overlapped=overlapped,
        why=why,
    )


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else part / whole


# --- without phases --------------------------------------------------------------------------------------------


def _without_phases(run: Run, clock: Clock, timing: Timing | None, facts: Facts) -> Breakdown:
    """What can be said without phases: periodic work by the clock, fixed and per-token parts by the fit."""
    timed = clock.steps.filter(pl.col("wall_s").is_not_null() & ~pl.col("kind").is_in(_UNUSUAL))
    if timed.is_empty():
        return _none(clock.step_s, _how(run, clock.step_s is None))
    steps = float(timed["span"].sum())
    wall = float((timed["wall_s"] * timed["span"]).sum()) / steps
    found = _amortised(timed, set())
    generation, why = _by_cycle(timed, clock)
    if generation.height:
        found["rollout"] = float(generation["seconds"].sum()) / steps
    rest = max(wall - sum(found.values()), 0.0)
    kinds: dict[str, Kind] = dict.fromkeys(found, "inferred")
    by_step = _by_step(timed, generation, found)
    told = _how(run, False) if why is None else sentences(why, _how_to_log(run))
    made = _assembled(wall, found, kinds, {}, rest, by_step, False, told)
    return made if generation.height else _split_by_fit(run, made, timing, facts)


def _by_cycle(timed: pl.DataFrame, clock: Clock) -> tuple[pl.DataFrame, str | None]:
    """Generation by the rows that do it, where one generation serves several steps: what those take beyond the others."""
    rows = timed.filter((pl.col("kind") == "ordinary") & (pl.col("span") == 1))
    if clock.cycle <= 1 or rows.height < 2 * clock.cycle:
        return _no_phases(), None
    rows = rows.with_columns(place=pl.col("step") % clock.cycle)
    usual = rows.group_by("place").agg(pl.col("wall_s").median()).sort("wall_s")
    slow, fast = usual["wall_s"][-1], usual["wall_s"][:-1].median()
    if usual.height < clock.cycle or not isinstance(fast, float) or slow <= _GENERATES * fast:
        return _no_phases(), None
    words = {"cycle": clock.cycle, "slow": show_seconds(slow), "fast": show_seconds(fast)}
    if not clock.generates:
        return _no_phases(), say(
            "One step in {cycle} takes {slow}, the others {fast}: what it does beyond them is not in this log.", **words
        )
    made = rows.filter(pl.col("place") == usual["place"][-1]).select(
        "segment", "step", pl.lit("rollout").alias("phase"), (pl.col("wall_s") - fast).clip(0.0).alias("seconds")
    )
    return made, say(
        "One step in {cycle} generates and takes {slow}, the others {fast}: the difference is generation with its rewards and log-probs.",
        **words,
    )


def _no_phases() -> pl.DataFrame:
    return schema.empty(schema.PHASES).select("segment", "step", "phase", "seconds")


def _split_by_fit(run: Run, made: Breakdown, timing: Timing | None, facts: Facts) -> Breakdown:
    """The unexplained rest as fixed and per-token parts; the latter as sampling and training where throughput was measured."""
    rest = made.unexplained_s or 0.0
    if timing is None or timing.fixed_s is None or made.step_s is None or rest <= 0:
        return made
    fixed = min(max(timing.fixed_s.mid, 0.0), rest)
    per_token = rest - fixed
    parts = {name: value for name, value in made.parts.items() if name != "unexplained"} | {"fixed": fixed}
    sampling = _sampling_s(run, timing, facts)
    why = made.why
    if sampling is None:
        parts["per token"] = per_token
        return replace(made, parts=parts, fixed_share=fixed / made.step_s, why=why)
    sampling = min(sampling, per_token)
    parts |= {"sampling": sampling, "forward-backward": per_token - sampling}
    return replace(
        made,
        parts=parts,
        fixed_share=fixed / made.step_s,
        sampling_share=sampling / made.step_s,
        training_share=(per_token - sampling) / made.step_s,
        why=sentences(say("Split by the fit and the generation throughput, not measured by phase."), why),
    )


def _sampling_s(run: Run, timing: Timing, facts: Facts) -> float | None:
    """Seconds of generation a step: response tokens of a late step over the measured throughput."""
    rate = facts.gen_tok_s if facts.gen_tok_s is not None else timing.gen_tok_s
    if not rate or rate <= 0:
        return None
    per_step = sequences_per_step(run)
    made = run.steps.select(
        (pl.col("len_mean") * pl.coalesce("sequences", pl.lit(per_step, pl.Float64))).alias("tokens")
    )["tokens"]
    made = made.drop_nulls().drop_nans()
    middle = made.tail(max(made.len() // 4, 3)).median() if made.len() else None
    return float(middle) / rate if isinstance(middle, int | float) else None


def _none(step_s: float | None, why: str) -> Breakdown:
    return Breakdown(step_s=step_s, phases=(), unexplained_s=step_s, by_step=schema.empty(BY_STEP), why=why)


def _how(run: Run, no_time: bool) -> str:
    """What is missing and how to log it with the run's framework."""
    lack = (
        say("This log tells neither times nor phases.")
        if no_time
        else say("Sampling and training cannot be told apart: this log has no phases.")
    )
    return sentences(lack, _how_to_log(run))


def _how_to_log(run: Run) -> str:
    name = (run.info.framework or run.info.format or "").lower()
    return next((text for key, text in HOW_TO_LOG.items() if name.startswith(key)), HOW_TO_LOG_ANY)
