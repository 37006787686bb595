"""open-instruct: the console of its GRPO and PPO trainers, one rich panel of metrics a step."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.reprs import ReprDump
from parsers.tagged import TaggedReader
from parsers.text import Piece, strip_actor
from parsers.values import whole
from timeledger import units
from timeledger.run import SettingValue
from timeledger.said import say

_TITLE: Final = re.compile(r"╭─+ Metrics ─+╮")
#: A row: the category, two blanks, `name: value | name: value`; a row that goes on has an empty category.
_ROW: Final = re.compile(r"│\s{1,2}(?P<category>\S+)?\s{2,}(?P<rest>\S.*?)\s*│?\s*$")
_STARTS: Final = ("[Args(", "[GRPOConfig(", "[GRPOExperimentConfig(", "[ExperimentConfig(", "[GRPOArgs(")
_SAVED: Final = re.compile(r"Saving model at step (\d{1,9})")
#: Printed with two decimals: what is smaller is lost.
_LOST: Final = frozenset({"0.00", "-0.00"})
_STEP: Final = "training_step"
_SOURCE: Final = "open-instruct: printed arguments"
_SETTINGS: Final = {
    "num_training_steps": "total_steps", "num_samples_per_prompt_rollout": "group_size",
    "num_unique_prompts_rollout": "prompts_per_step", "response_length": "max_tokens",
    "max_prompt_token_length": "max_prompt_tokens", "learning_rate": "learning_rate", "beta": "beta",
    "temperature": "temperature", "num_epochs": "num_iterations", "per_device_train_batch_size": "per_device_batch",
    "local_eval_every": "eval_steps", "save_freq": "save_steps", "vllm_tensor_parallel_size": "tensor_parallel_size",
    "vllm_gpu_memory_utilization": "gpu_memory_utilization", "vllm_enforce_eager": "enforce_eager",
    "gradient_checkpointing": "gradient_checkpointing", "model_name_or_path": "model",
}  # fmt: skip
_KEPT: Final = ("total_episodes", "num_mini_batches", "async_steps", "vllm_num_engines", "deepspeed_stage", "pack_length")  # fmt: skip
_POSITIVE: Final = {"eval_steps", "save_steps", "total_steps"}


class _PanelReader(TaggedReader):
    """A panel counts when its lower edge is there; its step stands in the row `other`."""

    format_name = "open_instruct"
    framework = "open-instruct"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._dump = ReprDump()
        self._panel: dict[str, str] | None = None
        self._category = ""
        self._now: datetime | None = None

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if self._panel is not None and "│" in text:
            self._row(self._panel, text)
        elif self._panel is not None and "╰─" in text:
            self._close(self._panel, text, line)
        elif "Metrics" in text and _TITLE.search(text):
            self._panel, self._category = {}, ""
        elif self._dump.active:
            self._config(text)
        elif text.lstrip().startswith("[") and (plain := strip_actor(text).text.lstrip()).startswith(_STARTS):
            self._dump.begin()
            self._config(plain)
        elif "Saving model at step" in text and (match := _SAVED.search(text)):
            self.build.event("checkpoint", line=line, at=self.moment(text), step=int(match[1]))
        else:
            if text.startswith("20") and (at := self.moment(text)) is not None:
                self._now = at
            self.rest(text, line)

    def _row(self, panel: dict[str, str], text: str) -> None:
        match = _ROW.search(text)
        if match is None:
            return
        if match["category"]:
            self._category = match["category"]
        if self._category:
            panel[self._category] = f"{panel.get(self._category, '')} {match['rest']}"

    def _close(self, panel: dict[str, str], text: str, line: int) -> None:
        self._panel = None
        tags: dict[str, float] = {}
        lost = 0
        for category, joined in panel.items():
            for part in joined.split("|"):
                name, _, raw = part.strip().rpartition(":")
                name, raw = name.strip().replace(" ", ""), raw.strip()
                if raw in _LOST:
                    lost += 1
                elif name and (value := units.number(raw)) is not None:
                    tags[name if category == "other" else f"{category}/{name}"] = value
        step = whole(tags.get(_STEP))
        if lost:
            self.build.note(
                "missing", say("values are printed with two decimals: a smaller one shows as 0.00 and is unknown"), line
            )
        if step is None and any(name.startswith("eval/") for name in tags):
            self.rows.flush()
            shown = ", ".join(f"{name} {value:g}" for name, value in tags.items() if name.startswith("eval/"))
            self.build.event("evaluation", line=line, at=self.moment(text) or self._now, text=shown)
            return
        if step is None:
            self.build.note("skipped", say("a panel of metrics without training_step"), line)
            return
        self.put(step, tags, line, self.moment(text) or self._now)
        total = self.build.settings.get("total_steps")
        if total is not None and total.value == step:
            self.finish(line)

    def _config(self, text: str) -> None:
        found = self._dump.take(strip_actor(text).text)
        if found is not None:
            _settle(self.build, {path.rpartition(".")[2]: value for path, value in reversed(found.items())})


def _settle(build: RunBuilder, found: dict[str, SettingValue]) -> None:
    for key, name in _SETTINGS.items():
        value = found.get(key)
        if name not in _POSITIVE or (isinstance(value, int) and value > 0):
            build.setting(name, value, f"{_SOURCE}: {key}")
    for key in _KEPT:
        build.setting(key, found.get(key), f"{_SOURCE}: {key}")
    prompts, group = found.get("num_unique_prompts_rollout"), found.get("num_samples_per_prompt_rollout")
    if not (isinstance(prompts, int) and isinstance(group, int) and prompts * group > 0):
        return
    build.setting("sequences_per_step", prompts * group, f"{_SOURCE}: prompts x samples a prompt", "inferred")
    if isinstance(episodes := found.get("total_episodes"), int) and episodes >= prompts * group:
        build.setting(
            "total_steps", episodes // (prompts * group), f"{_SOURCE}: total_episodes / sequences a step", "inferred"
        )
    if isinstance(ahead := found.get("async_steps"), int):
        build.setting("async_mode", ahead > 0, f"{_SOURCE}: async_steps", "inferred")


def recognises(head: Head) -> Confidence:
    """CERTAIN: a panel of metrics with its row of times, or with its step."""
    panel = False
    for line in head.lines:
        if "Metrics" in line and _TITLE.search(line):
            panel = True
        elif "│" in line and ((panel and _STEP in line) or ("│  time  " in line and "total: " in line)):
            return Confidence(Sure.CERTAIN, line[:120])
    return NO


OPEN_INSTRUCT_CONSOLE: Final = Format(
    name="open_instruct",
    title="open-instruct console",
    kind="lines",
    recognises=recognises,
    open=_PanelReader,
    reads="panels of metrics at any width: step time, training, weight sync, waiting and generation beside it, lengths, stop rate, "
    "tokens, scores, printed arguments",
    lacks="values below 0.005 (two decimals): learning rate, KL, clipping",
    more="with_tracking (W&B) keeps all digits",
)
