"""Settings that an HF-Trainer console reveals in passing: start-up banners and printed configurations."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from parsers import settings
from parsers.build import RunBuilder
from parsers.text import stamp, stamp_has_zone
from parsers.trl_plan import Plan

#: `name = number` in the banners of transformers, Unsloth and LLaMA-Factory -> settings.
_BANNER: Final = {
    "num epochs": "epochs",
    "instantaneous batch size per device": "per_device_batch",
    "batch size per device": "per_device_batch",
    "total train batch size": "sequences_per_step",
    "total batch size": "sequences_per_step",
    "gradient accumulation steps": "grad_accumulation",
    "total optimization steps": "total_steps",
    "total training steps": "total_steps",
    "total steps": "total_steps",
    "num gpus used": "gpus",
    "num sequences": "max_num_seqs",
}
_BANNER_PART: Final = re.compile(
    r"(" + "|".join(sorted([*_BANNER, "num examples"], key=len, reverse=True)) + r")(?: \([^)]*\))? = (\d[\d,]*)",
    re.IGNORECASE,
)
#: A data set without a known length is shown with 9,223,372,036,854,775,807 epochs.
_ENDLESS: Final = 10**12
_GPU_SHARE: Final = re.compile(r"actual GPU utilization = ([\d.]+)%")
#: One line of a printed TrainingArguments: `max_completion_length=256,`.
_ARGUMENT: Final = re.compile(r"\s*(?:\w+\()?([a-z_]\w{2,60})=('[^']*'|[^,()\[\]{}]+),\s*$")
_SCRIPT: Final = re.compile(r"Script started on ")
#: A trainer's class in a start-up line, a warning or a traceback tells the algorithm.
_TRAINER: Final = re.compile(
    r"\b(GRPO|RLOO|PPO|OnlineDPO|NashMD|XPO|DPO|KTO|ORPO|CPO|SFT|Reward|PRM|GKD)(?:v2)?Trainer\b"
)
_WANDB_RUN: Final = re.compile(r"(?:offline-)?run-(\d{8})_(\d{6})-\w+")


class Facts:
    """Reads settings of the run from lines that are neither bar nor metrics."""

    def __init__(self) -> None:
        self.plan = Plan()
        self._arguments: dict[str, object] = {}

    def take(self, text: str, build: RunBuilder) -> None:
        """Put what the line says into `build`; most lines say nothing."""
        if len(text) > 2000:
            return
        if " = " in text:
            told = [(match[1], int(match[2].replace(",", ""))) for match in _BANNER_PART.finditer(text)]
            told = [(name, number) for name, number in told if 0 < number < _ENDLESS]
            self.plan = self.plan.take((name.lower(), number) for name, number in told)
            for name, number in told:
                if (setting := _BANNER.get(name.lower())) is not None:
                    build.setting(setting, number, f"start-up banner: {name}")
            if share := _GPU_SHARE.search(text):
                build.setting(
                    "gpu_memory_utilization", round(float(share[1]) / 100, 6), "Unsloth: actual GPU utilization"
                )
        if text.endswith(",") and (argument := _ARGUMENT.match(text)):
            self._argument(argument[1], argument[2].strip())
        if "Trainer" in text and (trainer := _TRAINER.search(text)):
            build.setting("algorithm", trainer[1].lower(), f"console: {trainer[0]}", "inferred")
        if build.started_at is None and ("wandb" in text or "Script started" in text):
            self._start(text, build)

    def _argument(self, name: str, value: str) -> None:
        if len(self._arguments) >= 400:
            return
        plain = value.strip("'\"")
        self._arguments[name] = plain.rsplit(".", 1)[-1].lower() if name.endswith("_strategy") else plain

    def finish(self, build: RunBuilder) -> None:
        """Put what the printed configuration says into `build` (training begins, or the state is asked for)."""
        if self._arguments:
            settings.from_config(build, self._arguments, "printed configuration")

    def _start(self, text: str, build: RunBuilder) -> None:
        if _SCRIPT.match(text):
            build.started_at = stamp(text)
            build.zone_known = stamp_has_zone(text)
        elif "wandb" in text and (run := _WANDB_RUN.search(text)):
            try:
                build.started_at = datetime.strptime(run[1] + run[2], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
            except ValueError:
                return
            build.zone_known = False
