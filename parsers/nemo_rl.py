"""NVIDIA NeMo-RL: the driver's console, with its blocks of results, timers and validation below each step's header."""

from __future__ import annotations

import re
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.printed import numbers
from parsers.reprs import ReprDump
from parsers.settings import from_config
from parsers.tag_tables import NEMO_RL, Ph
from parsers.tagged import TaggedReader
from parsers.text import Piece
from parsers.values import whole
from timeledger import units
from timeledger.run import SettingValue
from timeledger.said import say

_STEP: Final = re.compile(r"={10,} Step (\d{1,9})/(\d{1,9}) ={10,}")
_EPOCH: Final = re.compile(r"={10,} Epoch (\d{1,9})/(\d{1,9}) ={10,}")
_BULLET: Final = re.compile(r"(?:•|^\s+-|\s{3}-)\s+(.{1,120}?): (.*)")
_SHARE: Final = re.compile(r"\s*\([\d.]+%\)\s*$")
_ADVANTAGES: Final = re.compile(r"Advantages stats: (.*)")
_PAIR: Final = re.compile(r"(\w+)=(\S+?)(?:,|$)")
_VALIDATING: Final = re.compile(r"Starting validation at step (\d{1,9})")
_GENERATING: Final = re.compile(r"Generating responses for batch of size (\d{1,9})")
_SAVING: Final = re.compile(r"Saving checkpoint for step (\d{1,9})")
_SINGLE: Final = re.compile(r"train step (\d{1,9})/(\d{1,9})\s+trainer_v=")
_TIMED: Final = re.compile(r"[\d.]+s(?: \([\d.]+%\))?$")
_SETUP: Final = re.compile(r"Total setup time: ([\d.]+)s")
_LIMIT: Final = re.compile(r"(?:Max number of (?:steps|epochs)|Timeout) has been reached")
#: Titles of blocks, in the order in which they are looked for (one is part of another).
_TITLES: Final = {
    "Validation Timing:": "validation timing", "Validation Results": "validation", "Training Results:": "training",
    "Performance Metrics:": "performance", "Timing:": "timing",
}  # fmt: skip
#: What stands in a block -> the name under which trackers have it.
_TRAINING: Final = {
    "Loss": "train/loss", "Draft Loss": "train/draft_loss", "Generation KL Error": "train/gen_kl_error",
    "Avg Reward": "train/reward", "Avg Total Reward": "train/reward", "Avg Filtered Reward": "train/filtered_reward",
    "Mean Generation Length": "train/mean_gen_tokens_per_sample", "Buffer Size": "train/buffer_size",
    "Avg Trajectory Age": "train/avg_trajectory_age",
}  # fmt: skip
_VALIDATION: Final = {"Accuracy": "validation/accuracy", "Average response length": "validation/avg_length"}
_TOTAL: Final = "Total step time"
_TIMER: Final = "timing/train/"


class _NemoReader(TaggedReader):
    """Step numbers restart with every epoch: the record counts on."""

    format_name = "nemo_rl"
    framework = "NeMo-RL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._dump = ReprDump()
        self._epoch, self._epochs = 1, 1
        self._limit: int | None = None
        self._step: int | None = None
        self._last = 0
        self._blocks: set[str] = set()
        self._block = ""
        self._validated: int | None = None
        self._made = 0

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if self._dump.active and "pid=" not in text[:80]:
            if (found := self._dump.take(text)) is not None:
                self._config(found)
        elif "•" in text or (self._block and " - " in text):
            self._bullet(text, line)
        elif "=====" in text and self._header(text):
            pass
        elif (":" in text or "Results" in text) and (title := next((name for name in _TITLES if name in text), None)):
            self._open_block(_TITLES[title], line)
        elif not self._words(text, line):
            self.rest(text, line)

    # --- steps and blocks ---------------------------------------------------------------------------------

    def _header(self, text: str) -> bool:
        if match := _EPOCH.search(text):
            self._epoch, self._epochs = int(match[1]), int(match[2])
            self.build.setting("epochs", self._epochs, "NeMo-RL: epoch line", replace=True)
        elif match := _STEP.search(text):
            step, of = int(match[1]), int(match[2])
            self._step, self._blocks, self._block, self._made = (self._epoch - 1) * of + step, set(), "", 0
            self._last = self._step
            total = min(self._epochs * of, self._limit or self._epochs * of)
            several = self._epochs > 1
            self.build.setting(
                "total_steps", total or None, "NeMo-RL: step line" + (" x epochs" if several else ""),
                "inferred" if several else "measured", replace=True,
            )  # fmt: skip
        else:
            return False
        return True

    def _open_block(self, block: str, line: int) -> None:
        self._block = block
        if block not in {"training", "timing"}:
            return
        if self._step is None or block in self._blocks:
            self._last += 1
            self._step, self._blocks, self._made = self._last, set(), 0
            self.build.note("guessed", say("results without a step line: the step is counted"), line)
        self._blocks.add(block)
        if block == "training" and self._made:
            self.put(self._step, {"train/num_samples": float(self._made)}, line)

    def _bullet(self, text: str, line: int) -> None:
        match = _BULLET.search(text)
        if match is None:
            return
        name, raw = match[1].strip(), match[2].strip()
        block = self._block or _block_of(name, raw)  # excerpts leave titles out
        if block == "validation" or block == "validation timing":
            self._validation(name, raw, line)
        elif self._step is None:
            return
        elif block == "timing":
            self._timer(self._step, name, units.seconds(_SHARE.sub("", raw)), text, line)
        elif (value := units.number(raw.split(" ")[0].rstrip("%"))) is not None:
            if block == "training":
                self.put(self._step, {_TRAINING.get(name, f"train/{name}"): value}, line)
                if name == "Avg Trajectory Age":
                    self._asynchronous()
            elif block == "performance":
                self.put(self._step, {f"performance/{name}": value}, line)

    def _timer(self, step: int, name: str, seconds: float | None, text: str, line: int) -> None:
        if seconds is None:
            return
        if name == _TOTAL:
            at = self.moment(text)
            self.put(step, {f"{_TIMER}total_step_time": seconds}, line, at)
            if step == self._total:
                self.finish(line, at=at)
            return
        if name == "exposed_generation":
            self._asynchronous()
        tag = _TIMER + name
        if isinstance(NEMO_RL.get(tag), Ph):
            self.put(step, {tag: seconds}, line)
        elif "per_sec" not in name:  # a fork's own timer
            above = f"{_TIMER}{name.rsplit('/', 1)[0]}/total" if "/" in name else None
            self.build.phase(step, "other", seconds, name=tag, parent=above, overlaps=name.startswith("idle/"))

    @property
    def _total(self) -> int | None:
        known = self.build.settings.get("total_steps")
        return known.value if known is not None and isinstance(known.value, int) else None

    def _asynchronous(self) -> None:
        self.build.setting("async_mode", True, "NeMo-RL: only the exposed part of generation is timed", "inferred")

    def _validation(self, name: str, raw: str, line: int) -> None:
        """Validation runs before the results of its step are printed, and inside its total time."""
        step = self._validated if self._validated is not None else self._step or 0
        if name == "Total validation time":
            if (seconds := units.seconds(raw)) is not None:
                self.put(step, {"eval/runtime": seconds}, line)
                if step > 0:
                    self.build.phase(step, "evaluation", seconds, name="timing/validation/total_validation_time", outside=False)  # fmt: skip
            self._block, self._validated = "", None
        elif (value := units.number(raw.split(" ")[0])) is not None:
            if name == "Samples processed":
                self.build.setting("eval_questions", whole(value), "NeMo-RL: validation results", replace=True)
            else:
                self.put(step, {_VALIDATION.get(name, f"validation/{name}"): value}, line)

    # --- everything else ----------------------------------------------------------------------------------

    def _words(self, text: str, line: int) -> bool:
        """Single lines that say something; True when this was one."""
        if match := _VALIDATING.search(text):
            self._validated = int(match[1])
        elif match := _GENERATING.search(text):
            self._made += int(match[1])
        elif match := _SAVING.search(text):
            self.build.event("checkpoint", line=line, at=self.moment(text), step=int(match[1]))
        elif match := _ADVANTAGES.search(text):
            self._advantages(match[1], line)
        elif match := _SETUP.search(text):
            self.build.event("start", line=line, at=self.moment(text), seconds=float(match[1]), text="set-up")
        elif "SETUP COMPLETE" in text:
            self._again(line)
        elif text.rstrip().endswith("Final config:"):
            self._again(line)
            self._dump.begin()
        elif "Running initial validation" in text:
            self._validated = 0
        elif self._step is not None and text.lstrip().startswith("step_metrics={"):
            self.put(self._step, {f"train/{key}": value for key, value in numbers(text).items()}, line)
        elif match := _SINGLE.search(text):  # the single controller names the step behind its times
            self._last = int(match[1])
            self.build.setting("total_steps", int(match[2]) or None, "NeMo-RL: train step line", replace=True)
        elif _LIMIT.search(text):
            self.finish(line, text.strip(), self.moment(text))
        else:
            return False
        return True

    def _again(self, line: int) -> None:
        if not self.rows.empty:
            self.session("restart", line, "set-up runs again")
            self._epoch, self._step, self._last, self._blocks, self._block = 1, None, 0, set(), ""

    def _advantages(self, raw: str, line: int) -> None:
        if self._step is None:
            return
        found = {name: units.number(value.rstrip(",")) for name, value in _PAIR.findall(raw)}
        self.put(
            self._step, {f"train/advantages/{name}": value for name, value in found.items() if value is not None}, line
        )

    def _config(self, found: dict[str, SettingValue]) -> None:
        limit = found.get("grpo.max_num_steps")
        self._limit = limit if isinstance(limit, int) and limit > 0 else None
        from_config(self.build, found, "NeMo-RL: printed configuration")


def _block_of(name: str, raw: str) -> str:
    """The block that a bullet without a title over it belongs to."""
    return "timing" if _TIMED.match(raw) else "training" if name in _TRAINING else ""


def recognises(head: Head) -> Confidence:
    """CERTAIN: a step header above its words, or a block of results with its timers."""
    weak = NO
    for line in head.lines:
        if "Total step time: " in line and "•" in line:
            return Confidence(Sure.CERTAIN, line[:100])
        if "=====" in line and _STEP.search(line):
            weak = Confidence(Sure.LIKELY, line[:100])
        elif "▶ " in line and ("Generating responses for batch" in line or "Computing logprobs" in line):
            return Confidence(Sure.CERTAIN, line[:100])
    return weak


NEMO_RL_CONSOLE: Final = Format(
    name="nemo_rl",
    title="NeMo-RL console",
    kind="lines",
    recognises=recognises,
    open=_NemoReader,
    reads="steps over epochs, total step time, every timer with its children, rewards, mean length, validation, checkpoints, "
    "set-up time, configuration, engine lines",
    lacks="time stamps; longest answer, truncation and token counts (they are in its TensorBoard and W&B logs)",
    more="logger.tensorboard_enabled=true beside the console",
)
