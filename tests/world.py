"""A whole training run with a known cost of every part, so that a change can be made and the run done again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tests.engine_sim import START, Engine, engine_frame, generate, lengths
from timeledger import schema
from timeledger.analysis import analyse
from timeledger.results import Analysis, Facts
from timeledger.run import Run, RunInfo, Setting, SettingValue

#: Sequences of a training micro-batch, which are padded to the longest of them.
MICRO = 8


@dataclass(frozen=True)
class World:
    """What a run costs. Seconds, tokens and counts; every default is a plain GRPO run on one pool of GPUs."""

    steps: int = 40
    planned: int = 240
    prompts: int = 16
    group: int = 8
    mean: float = 400.0
    growth: float = 1.0
    sigma: float = 0.6
    limit: int = 8192
    engine: Engine | None = None
    decode_s: float = 0.02
    each_s: float = 0.0001
    speedup: float = 1.0
    train_s: float = 0.0004
    padded: bool = False
    recompute: bool = False
    old_pass: bool = False
    ref_pass: bool = False
    pass_overhead_s: float = 0.0
    slow_rank: float = 1.0
    reward_s: float = 0.0
    workers: int = 1
    sync_s: float = 0.0
    sleep_s: float = 0.0
    eval_every: int = 0
    eval_s: float = 0.0
    save_every: int = 0
    save_s: float = 0.0
    gen_batches: int = 1
    useful: float = 1.0
    silent: float = 0.0
    mu: int = 1
    overlap: bool = False
    stop_share: float = 0.0
    framework: str = "verl"
    settings: dict[str, SettingValue] = field(default_factory=dict)
    columns: dict[str, float] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    rewards: tuple[float, float] = (0.2, 0.6)
    rising_until: float = 1.0
    hidden: tuple[str, ...] = ()

    def answers(self, step: int) -> NDArray[np.int64]:
        """Lengths of a step's answers; `useful` below 1 leaves groups out (the same groups are learned from)."""
        mean = self.mean * (1 + (self.growth - 1) * step / self.planned)
        count = round(self.prompts * self.group * self.gen_batches * self.useful)
        return lengths(count, mean, self.sigma, self.limit, seed=step)

    def phases(self, step: int) -> dict[str, float]:
        """Seconds of each phase of a step."""
        made = self.answers(step)
        used = made[: max(len(made) // self.gen_batches, 1)]
        tokens = float(_padded(used) if self.padded else used.sum())
        update = tokens * self.train_s * (4 / 3 if self.recompute else 1.0) * self.slow_rank
        seconds = {"rollout": self._rollout(made, step), "update": update * self.mu}
        one_pass = tokens * self.train_s / 3 + self.pass_overhead_s
        seconds |= {"old_logprob": one_pass} if self.old_pass else {}
        seconds |= {"ref_logprob": one_pass} if self.ref_pass else {}
        seconds |= {"reward": len(made) * self.reward_s / self.workers} if self.reward_s else {}
        seconds |= {"weight_sync": self.sync_s} if self.sync_s else {}
        seconds |= {"sleep_wake": self.sleep_s} if self.sleep_s else {}
        seconds |= {"evaluation": self.eval_s} if self.eval_every and step % self.eval_every == 0 else {}
        seconds |= {"checkpoint": self.save_s} if self.save_every and step % self.save_every == 0 else {}
        return seconds

    def _rollout(self, made: NDArray[np.int64], step: int) -> float:
        if self.engine is not None:
            return generate(self.engine, made).seconds
        longest = np.sort(made)[-1 - int(self.stop_share * len(made))]
        return (self.decode_s * float(longest) + self.each_s * float(made.sum())) / self.speedup

    def step_s(self, step: int) -> float:
        """Seconds of a step: the sum of its phases, or the longer side where generation runs beside training."""
        seconds = self.phases(step)
        rollout = seconds.pop("rollout")
        rest = sum(seconds.values())
        return max(rollout, rest) if self.overlap else rollout + rest

    def remaining_s(self) -> float:
        """Seconds of the steps that the log does not hold yet."""
        return sum(self.step_s(step) for step in range(self.steps + 1, self.planned + 1))

    def run(self) -> Run:
        """The run as its log shows it."""
        steps = range(1, self.steps + 1)
        rows, phases, engine, now = [], [], [], 0.0
        for step in steps:
            seconds, made = self.phases(step), self.answers(step)
            if self.engine is not None and step <= 6:
                engine += generate(self.engine, made, window_s=5.0, start_s=now).rows
            now += sum(seconds.values())
            rows.append(self._row(step, made, seconds, now))
            phases += [
                {
                    "segment": 0,
                    "step": step,
                    "phase": phase,
                    "name": phase,
                    "outside": False,
                    "overlaps": False,
                    "seconds": value,
                }
                for phase, value in seconds.items()
            ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        extra = pl.DataFrame(
            {"segment": 0, "step": list(steps)} | {name: [value] * len(steps) for name, value in self.extra.items()}
        )
        return Run(
            info=RunInfo(
                name="world", format="world", framework=self.framework,
                settings={name: Setting(value=value, source="made") for name, value in self._settings().items()},
            ),
            steps=schema.conform(frame, schema.STEPS),
            phases=schema.conform(pl.DataFrame(phases), schema.PHASES),
            engine=engine_frame(engine),
            extra=extra,
        )  # fmt: skip

    def _row(self, step: int, made: NDArray[np.int64], seconds: dict[str, float], now: float) -> dict[str, Any]:
        low, high = self.rewards
        rise = min(step / (self.planned * self.rising_until), 1.0)
        noise = float(np.random.default_rng(1000 + step).normal(0, 0.01))
        row = {
            "segment": 0, "step": step, "span": 1, "line": step, "at": START + timedelta(seconds=now),
            "step_s": sum(seconds.values()), "len_mean": float(made.mean()), "len_max": float(made.max()),
            "truncated": float((made >= self.limit).mean()), "sequences": float(len(made)), "reward": low + (high - low) * rise + noise,
            "reward_std": 0.3, "zero_std": self.silent, "grad_norm": 0.5, "loss": 0.1, "prompt_len": 100.0, "clipfrac": 0.001,
        }  # fmt: skip
        row |= self.columns
        return {name: value for name, value in row.items() if name not in self.hidden}

    def _settings(self) -> dict[str, SettingValue]:
        known: dict[str, SettingValue] = {
            "total_steps": self.planned, "group_size": self.group, "prompts_per_step": self.prompts, "max_tokens": self.limit,
        }  # fmt: skip
        known |= {"eval_steps": self.eval_every} if self.eval_every else {}
        known |= {"save_steps": self.save_every} if self.save_every else {}
        known |= self.settings
        return {name: value for name, value in known.items() if name not in self.hidden}

    def analysis(self, **facts: Any) -> Analysis:
        """The model's view of the log."""
        return analyse(self.run(), Facts(**facts))

    def but(self, **changes: Any) -> World:
        """The same world with something changed."""
        return replace(self, **changes)


def _padded(made: NDArray[np.int64]) -> int:
    """Tokens when each micro-batch is padded to its longest."""
    whole = made[: len(made) // MICRO * MICRO].reshape(-1, MICRO)
    return int(whole.max(axis=1).sum() * MICRO)


#: A plain GRPO run in which every family has something to say.
RICH = World(
    engine=Engine(kv_tokens=15_000), steps=24, planned=120, prompts=16, sync_s=30.0, sleep_s=15.0, reward_s=0.1, old_pass=True,
    ref_pass=True, padded=True, train_s=0.0005, eval_every=4, eval_s=160.0, save_every=4, save_s=40.0, silent=0.4, limit=4096,
    settings={
        "enforce_eager": True, "gpu_memory_utilization": 0.5, "beta": 0.0, "num_iterations": 1, "gpus": 8, "model": "Qwen3-8B",
        "gradient_checkpointing": True, "per_device_batch": 2, "max_model_len": 32768, "max_prompt_tokens": 512, "max_num_seqs": 256,
        "tensor_parallel_size": 2, "actor_rollout_ref.model.use_remove_padding": False, "actor_rollout_ref.actor.use_dynamic_bsz": False,
        "actor_rollout_ref.actor.strategy": "fsdp", "actor_rollout_ref.rollout.enable_prefix_caching": False,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 16,
    },
    columns={"mem_gib": 30.0, "prompt_len": 300.0},
    extra={"training/rollout_probs_diff_mean": 0.001, "train/num_gen_batches": 2.0},
)  # fmt: skip
