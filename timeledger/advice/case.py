"""A run as the rules see it: its parts, its late values, its settings, its engine; None is "the log does not say"."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import polars as pl

from timeledger.advice.saving import Base, make_base
from timeledger.engine import EngineReading, read_engine
from timeledger.results import Analysis, Span
from timeledger.run import SettingValue
from timeledger.throughput import sequences_per_step

#: First letters of a framework's name -> its key in the tables of settings.
_FRAMEWORKS: Final = {
    "trl": "trl", "unsloth": "trl", "verl": "verl", "openrlhf": "openrlhf", "ms-swift": "swift", "swift": "swift",
    "vllm": "vllm",
}  # fmt: skip
#: Columns and settings that only a run with generated answers has.
_RL_COLUMNS: Final = ("len_mean", "len_max", "reward", "reward_std", "zero_std", "adv_mean", "adv_std")
_BILLIONS: Final = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,2})?)\s?([bm])(?![a-z\d])", re.IGNORECASE)


class Case:
    """A lens on one analysis; every property is computed once, on demand."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.run = analysis.run

    @cached_property
    def framework(self) -> str | None:
        """The key of the framework's settings, or None."""
        name = (self.run.info.framework or "").lower()
        return next((key for start, key in _FRAMEWORKS.items() if name.startswith(start)), None)

    @cached_property
    def engine(self) -> EngineReading:
        """What the engine's samples say."""
        return read_engine(self.run)

    @cached_property
    def engine_used(self) -> bool | None:
        """True or False where the log tells whether an inference engine generates, else None."""
        if self.run.engine.height or self.says("use_vllm") is True:
            return True
        own = self.run.phases["name"].str.contains("transformers.generate", literal=True).any()
        if self.says("use_vllm") is False or own:
            return False
        return True if self.setting("actor_rollout_ref.rollout.name", "gpu_memory_utilization") is not None else None

    @cached_property
    def is_rl(self) -> bool:
        """True when the run samples answers (SFT and DPO runs do not)."""
        columns = any(self.run.steps[name].null_count() < self.run.steps.height for name in _RL_COLUMNS)
        return columns or self.run.info.number("group_size") is not None or "rollout" in self.phases

    # --- time -------------------------------------------------------------------------------------------------

    @cached_property
    def phases(self) -> dict[str, float]:
        """Shares of the mean step by phase, only those that the log measures (evaluation and checkpoint: or the clock)."""
        return {each.phase: each.share for each in self.analysis.breakdown.phases}

    @cached_property
    def shares(self) -> dict[str, float]:
        """Shares of the mean step by part, for savings: phases, else what the fit splits."""
        found = self.analysis.breakdown
        if self.has_phases or not found.step_s:
            return self.phases | ({"unexplained": self.unexplained} if self.unexplained else {})
        names = {"sampling": "rollout", "forward-backward": "update"}
        return {names.get(part, part): seconds / found.step_s for part, seconds in found.parts.items()}

    @cached_property
    def has_phases(self) -> bool:
        """True when phases of a training step were logged (evaluation and checkpoint alone are not a split)."""
        return any(phase not in {"evaluation", "checkpoint", "other"} for phase in self.phases)

    @cached_property
    def unexplained(self) -> float | None:
        """Share of the step that no phase explains."""
        found = self.analysis.breakdown
        return found.unexplained_s / found.step_s if found.unexplained_s is not None and found.step_s else None

    @cached_property
    def base(self) -> Base:
        """The time that savings are counted on."""
        running = self.engine.running_s if self.engine.timed else None
        return make_base(self.analysis, self.shares, running)

    def share(self, *phases: str) -> float:
        """The phases' share of the mean step together; a phase that is not there adds nothing, so ask `needs` first."""
        return sum(self.phases.get(phase, 0.0) for phase in phases)

    def seconds(self, *phases: str) -> float:
        """The phases' seconds in a mean step together."""
        return self.share(*phases) * (self.analysis.breakdown.step_s or 0.0)

    @property
    def step_s(self) -> float | None:
        """Seconds of a mean step."""
        return self.analysis.breakdown.step_s

    # --- values -----------------------------------------------------------------------------------------------

    def late(self, column: str) -> float | None:
        """The mean of a column's last quarter (at least 5 rows), finite values only."""
        return _late_mean(self.run.steps[column])

    def extra(self, name: str) -> float | None:
        """The mean of the last quarter of a metric without a column."""
        return _late_mean(self.run.extra[name]) if name in self.run.extra.columns else None

    def setting(self, *names: str) -> SettingValue | None:
        """The first of these settings that the log tells."""
        return next((value for name in names if (value := self.run.info.setting(name)) is not None), None)

    def number(self, *names: str) -> float | None:
        """The first of these settings that is a number."""
        return next((value for name in names if (value := self.run.info.number(name)) is not None), None)

    def says(self, *names: str) -> bool | None:
        """True or False where the log tells one of these switches, else None."""
        value = self.setting(*names)
        return value if isinstance(value, bool) else None

    @cached_property
    def sequences(self) -> float | None:
        """Sequences of a step."""
        return self.late("sequences") or sequences_per_step(self.run)

    @cached_property
    def tail(self) -> float | None:
        """The longest answer over the mean one, late in the run."""
        longest, mean = self.late("len_max"), self.late("len_mean")
        return longest / mean if longest and mean else None

    @cached_property
    def gpus(self) -> float | None:
        """GPUs of the job."""
        return self.analysis.facts.gpus or self.number("gpus")

    @cached_property
    def gpu_gib(self) -> float | None:
        """Memory of one GPU (GiB): typed in, or from the log."""
        return self.analysis.facts.gpu_gib or self.number("gpu_gib")

    @cached_property
    def memory_used(self) -> float | None:
        """Peak share of a GPU's memory."""
        peak = self.run.steps["mem_gib"].filter(self.run.steps["mem_gib"].is_finite()).max()
        return float(peak) / self.gpu_gib if isinstance(peak, int | float) and self.gpu_gib else None

    @cached_property
    def billions(self) -> float | None:
        """Parameters of the model in billions, by its name; a guess."""
        name = self.setting("model")
        found = _BILLIONS.findall(name.replace("_", "-").rsplit("/", 1)[-1]) if isinstance(name, str) else []
        if not found:
            return None
        number, unit = found[0]
        return float(number) / (1000 if unit.lower() == "m" else 1)


def _late_mean(values: pl.Series) -> float | None:
    kept = values.drop_nulls().drop_nans()
    kept = kept.filter(kept.is_finite())
    middle = kept.tail(max(5, kept.len() // 4)).mean() if kept.len() else None
    return float(middle) if isinstance(middle, int | float) else None


def between(low: float, mid: float, high: float) -> Span:
    """A span kept in order and inside 0..1."""
    high = min(max(high, 0.0), 1.0)
    mid = min(max(mid, 0.0), high)
    return Span(min(max(low, 0.0), mid), mid, high)
