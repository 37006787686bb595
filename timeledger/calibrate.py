"""The calculator calibrated on a run: throughputs, fixed overhead, length and growth, each with where it comes from.

Whatever a log can tell of one step is shared out so that the calculator, given this run's own batch and length, gives
this run's own step time again. What the log cannot split is split by the usual shares and marked as assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from timeledger.forecast import Forecast, make_forecast, steps_done
from timeledger.plan_inputs import LABELS, Bounds, Mode, PlanInputs, Source, plan_inputs
from timeledger.results import Analysis
from timeledger.run import Kind
from timeledger.said import commas, say
from timeledger.schedule import times_to_come
from timeledger.step_split import Split, split_step
from timeledger.throughput import sequences_per_step, single_tok_s

#: A change of the mean length to come below this is no growth.
_NO_GROWTH: Final = 0.02
#: Measured means are 3 to 7 times below the limit.
_BELOW_LIMIT: Final = 4
#: A run of so many steps that is over is taken as it was at its end; a shorter one as it would go on.
_LONG_RUN: Final = 30
_SPREAD_LEVEL: Final = 0.8
#: How periodic work is known, in words.
_KNOWN_FROM: Final = {
    "phase": say("phase"), "event": say("event"), "setting": say("setting"), "residuals": say("residuals"), "given": say("given"),
}  # fmt: skip
Known = dict[str, tuple[float | int, Source]]


@dataclass(slots=True)
class Calibration:
    """What a run tells: field -> (value, source), ranges, the run's own spread of the total, and its mode."""

    name: str
    values: Known = field(default_factory=dict)
    spread: Bounds | None = None
    mode: Mode | None = None
    notes: list[str] = field(default_factory=list)

    def take(self, name: str, value: float | None, kind: Kind, text: str, *, whole: bool = False) -> None:
        """Keep a value that is known and greater than 0; what is not known is left out, never filled in."""
        if value is not None and value > 0:
            source = Source(kind=kind, text=say("{what} of {run}", what=text, run=self.name))
            self.values[name] = (round(value) if whole else value, source)

    def number(self, name: str) -> float | None:
        """A value kept so far."""
        return self.values[name][0] if name in self.values else None


def from_analysis(analysis: Analysis, given: Mapping[str, Any] | None = None) -> Known:
    """What a run can tell the calculator: field -> (value, source). Fields it cannot tell are left out, never filled in."""
    return calibrate(analysis, given).values


def from_run(analysis: Analysis, given: Mapping[str, Any] | None = None) -> PlanInputs:
    """The calculator's inputs of the next run, from this one and from what is given beside it.

    Raises:
        ImpossiblePlan: a given value cannot describe a run.
    """
    return with_given(calibrate(analysis, given), given or {})


def with_given(found: Calibration, given: Mapping[str, Any]) -> PlanInputs:
    """Inputs from a calibration with typed values put over it.

    Raises:
        ImpossiblePlan: a given value cannot describe a run.
    """
    typed = {name: value for name, value in given.items() if value is not None}
    values: dict[str, Any] = {name: value for name, (value, _) in found.values.items()}
    if "sequences" in typed:
        values.pop("prompts", None)
    for whole, parts in (("fixed_s", ("sync_s", "sleep_wake_s")), ("mean_length", ("first_length", "length_growth"))):
        if whole in typed:
            for name in parts:
                values.pop(name, None)
    if "logprob_s" in typed:
        values.pop("logprob_tok_s", None)
    if "longest" in values and values["longest"] < float(_plain(typed.get("mean_length"), 0.0)):
        del values["longest"]
    if found.mode is not None:
        values["mode"] = found.mode
    sources = {name: source for name, (_, source) in found.values.items() if name not in typed and name in values}
    return plan_inputs({**values, **typed}, sources, spread=found.spread)


def calibrate(analysis: Analysis, given: Mapping[str, Any] | None = None) -> Calibration:
    """Everything a run tells. `given` are typed values: they stand in for what the log does not say of its own batch."""
    found = Calibration(analysis.run.name)
    given = given or {}
    _batch(found, analysis)
    _lengths(found, analysis, given)
    _settings(found, analysis)
    made = _forecast(analysis, given)
    over = analysis.state in {"finished", "ended early"} and steps_done(analysis.run, analysis.clock) >= _LONG_RUN
    step_s = analysis.clock.step_s if made is None or (over and analysis.clock.step_s) else made.level.recent
    if step_s is None or step_s <= 0:
        found.take(
            "gen_tok_s", analysis.timing.gen_tok_s, "measured", analysis.timing.gen_tok_s_from or say("throughput")
        )
        found.take(
            "train_tok_s",
            analysis.timing.train_tok_s,
            "measured",
            analysis.timing.train_tok_s_from or say("throughput"),
        )
        found.notes += _lacking(found, given)
        return found
    split = split_step(analysis, step_s, _tokens(found, given))
    _throughputs(found, analysis, split, _tokens(found, given) or _default_tokens(found, given))
    _extra_work(found, analysis)
    _fixed(found, analysis, split, made)
    found.take("startup_s", analysis.clock.warmup_s, "measured", say("slow first steps"))
    if made is not None:
        left = made.remaining(_SPREAD_LEVEL)
        found.spread = (left.low / left.mid, left.high / left.mid) if left.mid > 0 else None
    found.notes += _lacking(found, given)
    return found


def _lacking(found: Calibration, given: Mapping[str, Any]) -> list[str]:
    """What the log does not tell of the calculator's main inputs."""
    main = ("prompts", "group_size", "mean_length", "gen_tok_s", "train_tok_s", "fixed_s")
    missing = [LABELS[name] for name in main if name not in found.values and given.get(name) is None]
    if "sequences" in given:
        missing = [name for name in missing if name != LABELS["prompts"]]
    if not missing:
        return []
    if len(missing) == len(main):
        return [
            say(
                "{run} holds no throughput, no step time and no length that a plan could use: every number is a default.",
                run=found.name,
            )
        ]
    return [
        say(
            "Not in {run}, so a default stands in: {names}. Type what you measured.",
            run=found.name,
            names=commas(missing),
        )
    ]


def _batch(found: Calibration, analysis: Analysis) -> None:
    """Prompts and G of a step; where only the number of answers is known, G is the calculator's own default."""
    info = analysis.run.info
    group, prompts = info.number("group_size"), info.number("prompts_per_step")
    sequences = sequences_per_step(analysis.run) or _late(analysis, "sequences") or _from_tokens(analysis)
    prompts_kind = _kind(analysis, "prompts_per_step")
    if prompts is None and sequences and group:
        prompts = sequences / group
    if group is None and sequences and prompts:
        group = sequences / prompts
    if group is None and prompts is None and sequences:
        guess = next(size for size in (PlanInputs().group_size, 4, 2, 1) if round(sequences) % size == 0)
        prompts, prompts_kind = sequences / guess, "inferred"
        found.take(
            "group_size",
            guess,
            "assumed",
            say("G is not in the log; it divides the {answers} answers a step", answers=f"{sequences:g}"),
            whole=True,
        )
    found.take("group_size", group, _kind(analysis, "group_size"), say("settings"), whole=True)
    found.take(
        "prompts",
        prompts,
        prompts_kind,
        say("settings") if info.number("prompts_per_step") else say("answers a step over G"),
        whole=True,
    )


def _kind(analysis: Analysis, setting: str) -> Kind:
    """How a setting of the run is known."""
    known = analysis.run.info.settings.get(setting)
    return "measured" if known is None else known.kind


def _from_tokens(analysis: Analysis) -> float | None:
    """Answers of a step from its tokens (prompts included) and the mean lengths of prompt and answer."""
    tokens, answer, prompt = (_late(analysis, name) for name in ("tokens", "len_mean", "prompt_len"))
    if not tokens or not answer or prompt is None:
        return None
    return max(float(round(tokens / (answer + prompt))), 1.0)


def _lengths(found: Calibration, analysis: Analysis, given: Mapping[str, Any]) -> None:
    growth = analysis.growth
    found.take("mean_length", growth.last, "measured", say("late mean length"))
    guessed = growth.limit_from is not None and growth.limit_from.startswith("inferred")
    kind: Kind = "inferred" if guessed else _kind(analysis, "max_tokens")
    found.take("max_tokens", growth.limit, kind, growth.limit_from or say("limit"), whole=True)
    found.take("truncated", growth.truncated_last, "measured", say("late truncated share"))
    found.take("first_length", growth.first, "measured", say("mean length at the start"))
    longest = _late(analysis, "len_max")
    if longest is not None and growth.last is not None and longest >= growth.last:
        found.take("longest", longest, "measured", say("late longest answer"))
    limit = found.number("max_tokens")
    if limit is not None and growth.last is not None and limit < growth.last:
        del found.values["max_tokens"]  # an inferred limit that later answers passed
    if limit is not None and growth.last is None and given.get("mean_length") is None:
        text = say("no lengths in the log; a share of 1/{part} of the limit", part=_BELOW_LIMIT)
        found.take("mean_length", limit / _BELOW_LIMIT, "assumed", text)
    done, total = steps_done(analysis.run, analysis.clock), _horizon(analysis, given)
    ahead = growth.forecast.filter(growth.forecast["step"] <= total)
    followed = analysis.timing.driver != "none"  # else longer answers have not cost more time so far
    if followed and growth.curve != "constant" and growth.last and total > done and ahead.height:
        middle = ahead["mid"].mean()
        ratio = float(middle) / growth.last if isinstance(middle, int | float) else 1.0
        if abs(ratio - 1) > _NO_GROWTH:
            found.take("length_growth", ratio, "inferred", say("forecast ({curve}) of the length", curve=growth.curve))


def _settings(found: Calibration, analysis: Analysis) -> None:
    info = analysis.run.info
    found.take("steps", analysis.projection.total_steps, "measured", say("planned steps"), whole=True)
    found.take("gpus", info.number("gpus"), "measured", say("settings"), whole=True)
    found.take("measured_gpus", info.number("gpus"), "measured", say("settings"), whole=True)
    found.take("eval_questions", info.number("eval_questions"), "measured", say("settings"), whole=True)
    accuracy = _late(analysis, "acc")
    if accuracy is not None and 0 < accuracy <= 1:
        found.take("accuracy", accuracy, "measured", say("late accuracy"))


def _throughputs(found: Calibration, analysis: Analysis, split: Split, tokens: float) -> None:
    """Tokens of a step over the seconds of its parts: what makes the calculator give this run's step again."""
    found.mode = "one-step-off" if split.overlapped else None
    if split.note:
        found.notes.append(split.note)
    found.take("gen_tok_s", tokens / max(split.sampling_s, 1e-9), split.kinds["sampling"], split.words["sampling"])
    found.take("train_tok_s", tokens / max(split.training_s, 1e-9), split.kinds["training"], split.words["training"])
    if split.logprob_s > 0:
        found.take("logprob_tok_s", tokens / split.logprob_s, "measured", say("log-prob phases over response tokens"))
    longest, alone = found.number("longest"), single_tok_s(analysis.run)
    if longest is None or split.sampling_s <= 0:
        return
    if alone is not None and longest / alone <= split.sampling_s:
        found.take("single_tok_s", alone, "measured", say("engine lines with one or two requests running"))
    elif analysis.timing.driver == "max":
        found.take(
            "single_tok_s", longest / split.sampling_s, "inferred", say("step time that follows the longest answer")
        )


def _extra_work(found: Calibration, analysis: Analysis) -> None:
    """Evaluations and checkpoints that come back."""
    names = {"evaluation": ("eval_every", "eval_s"), "checkpoint": ("save_every", "save_s")}
    for periodic in analysis.clock.periodic:
        fields = names.get(periodic.kind)
        if fields and periodic.every and periodic.seconds:
            how = _KNOWN_FROM.get(periodic.known_from, periodic.known_from)
            found.take(fields[0], periodic.every, "measured", how, whole=True)
            found.take(fields[1], periodic.seconds, "measured", how)


def _fixed(found: Calibration, analysis: Analysis, split: Split, made: Forecast | None) -> None:
    """Fixed seconds a step with their known parts, and other slow work at the rate at which it is to be expected."""
    found.take("sync_s", split.sync_s, "measured", say("weight sync phase"))
    found.take("sleep_wake_s", split.sleep_wake_s, "measured", say("sleep/wake phase"))
    found.take("reward_s", split.reward_s, "measured", say("reward phase"))
    other = 0.0
    if made is not None and made.steps_left > 0:
        scheduled = sum(
            times_to_come(each, made.position, made.total) * each.seconds
            for each in analysis.clock.periodic
            if each.every and each.seconds and each.kind in {"evaluation", "checkpoint"}
        )
        other = max(made.extra_s - scheduled, 0.0) / made.steps_left
    what = split.words["fixed"]
    if other > 0.01 * split.fixed_s:
        what = say("{what} and other slow work, spread over the steps,", what=what)
    source = Source(kind=split.kinds["fixed"], text=say("{what} of {run}", what=what, run=found.name))
    found.values["fixed_s"] = (split.fixed_s + other, source)


def _forecast(analysis: Analysis, given: Mapping[str, Any]) -> Forecast | None:
    """The model's own forecast over the planned steps, as if this run went on."""
    total = _horizon(analysis, given)
    return make_forecast(analysis.run, analysis.clock, analysis.timing, analysis.growth, analysis.facts, total)


def _horizon(analysis: Analysis, given: Mapping[str, Any]) -> int:
    """The step up to which is looked: the planned steps, or as many again as were done."""
    done = max(steps_done(analysis.run, analysis.clock), 1)
    planned = int(_plain(given.get("steps"), analysis.projection.total_steps or 0))
    return planned if planned > done else 2 * done


def _tokens(found: Calibration, given: Mapping[str, Any]) -> float | None:
    """Answer tokens of a step of this run, None when the log (and what was typed) does not tell."""
    names = ("prompts", "group_size", "mean_length")
    values = [found.number(name) or _plain(given.get(name), 0.0) for name in names]
    if "prompts" not in found.values and given.get("sequences") is not None:
        values[:2] = [_plain(given["sequences"], 0.0), 1.0]
    return values[0] * values[1] * values[2] if all(values) else None


def _default_tokens(found: Calibration, given: Mapping[str, Any]) -> float:
    """Tokens of a step with defaults for what nobody knows: the plan holds as long as they stay."""
    default = PlanInputs()
    prompts, group, length = (
        found.number(name) or _plain(given.get(name), float(getattr(default, name)))
        for name in ("prompts", "group_size", "mean_length")
    )
    return prompts * group * length


def _plain(value: Any, default: float) -> float:
    """A typed number, or the middle of a typed range."""
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError):
        return plan_inputs({"gen_tok_s": value}).gen_tok_s


def _late(analysis: Analysis, column: str) -> float | None:
    values = analysis.run.steps[column].drop_nulls().drop_nans().tail(20)
    median = values.median() if values.len() else None
    return float(median) if isinstance(median, int | float) else None
