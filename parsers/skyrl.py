"""SkyRL: the trainer's console, timers that start and finish, dicts of a step, and its console tracker."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.commands import CommandLine, overrides
from parsers.printed import numbers
from parsers.settings import from_config
from parsers.tagged import TaggedReader
from parsers.tags import Meaning, meaning
from parsers.text import Piece, bars, strip_actor
from parsers.yaml_lines import YamlDump
from timeledger.said import say

_STARTED: Final = re.compile(r"Started: '([\w/]+)'")
_FINISHED: Final = re.compile(r"Finished: '([\w/]+)', time cost: ([\d.]+)s")
_STATUS: Final = re.compile(r":train:\d+ - (\{.*)")
_STEP: Final = re.compile(r"- Step (\d{1,9}): ?$")
_RESUMED: Final = re.compile(r"(?:Resumed training from|checkpoint state from:?) global_step[ _](\d{1,9})")
_TOTAL: Final = re.compile(r"Total steps: (\d{1,9})\b")
_PAIR: Final = re.compile(r"\b([a-z][\w/]*): ([+-]?(?:\d[\d.]*(?:e[+-]?\d+)?|nan|inf))\b")
_CONFIG: Final = re.compile(r"\| .* - (?:SkyRL-Train config:\s*)?([a-z_]+:)?\s*$")
_SECTIONS: Final = {"data:", "trainer:", "generator:", "environment:", "defaults:"}
_BARS: Final = ("Training Batches Processed", "Training Step Progress")
#: Lines of `name: number` pairs that belong to the step.
_TELLING: Final = ("avg_final_rewards: ", "reward/avg_", "batch_num_seq: ")
_PREFIXED: Final = {"batch_num_seq": "generate/batch_num_seq", "batch_padded_seq_len": "generate/batch_padded_seq_len",
                    "avg_final_rewards": "loss/avg_final_rewards", "avg_response_length": "generate/avg_num_tokens"}  # fmt: skip
#: Only a step has these: a log whose beginning was cut off may open with one.
_INSIDE: Final = {
    "generate", "postprocess_generator_output", "convert_to_training_input", "fwd_logprobs_values_reward",
    "compute_advantages_and_returns", "train_critic_and_policy",
}  # fmt: skip
_CHECKPOINTS: Final = {"save_checkpoints", "save_hf_model"}
_MOST_LINES: Final = 500
#: The padded width of the batch under a name that promises the length.
_WIDTH: Final = "response_length"


class _SkyReader(TaggedReader):
    """No line but the console tracker's has a step number: steps are counted from the resume line or the bar.

    `Finished` is printed when an exception passes through too: a step counts once something follows it.
    """

    format_name = "skyrl"
    framework = "SkyRL"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._yaml = YamlDump()
        self._dict: tuple[int, str, list[str]] | None = None
        self._command = CommandLine()
        self._fresh()

    def _fresh(self) -> None:
        self._current = 0
        self._open = self._headless = False
        self._trained = self._over = False
        self._at: datetime | None = None
        self._tags: dict[str, float] = {}
        self._times: dict[str, float] = {}
        self._given: set[str] = set()

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        if (self._dict is not None or self._yaml.active) and self._of_several_lines(text, line):
            return
        if "ed: '" in text and self._timer(text, line):
            return
        if "%|" in text and any(name in text for name in _BARS):
            self._bar(text, line)
        elif " - {" in text and (match := _STATUS.search(text)):
            self._status(match[1], line)
        elif any(mark in text for mark in _TELLING):
            self._tags |= {_PREFIXED.get(name, name): float(raw) for name, raw in _PAIR.findall(text)}
        elif "Step " in text and (match := _STEP.search(text)):
            self._dict = (int(match[1]), strip_actor(text).actor, [])
        elif not self._start(text, line):
            self.rest(text, line)

    # --- timers -------------------------------------------------------------------------------------------

    def _timer(self, text: str, line: int) -> bool:
        if match := _STARTED.search(text):
            self._confirm(line)
            if match[1] == "step" or match[1] in _INSIDE:
                self._begin(whole=match[1] == "step")
            return True
        if (match := _FINISHED.search(text)) is None:
            return False
        name, seconds = match[1], float(match[2])
        if name in _INSIDE:
            self._begin(whole=False)
        if self._open:
            self._times[name] = self._times.get(name, 0.0) + seconds
            self._trained = self._trained or name == "train_critic_and_policy"
            if name == "step" and self._trained:
                self._over, self._at = True, self.moment(text)
        elif name == "eval" or self._current > 0:
            self._between(name, seconds, line)
        if name in _CHECKPOINTS and self._current > 0:
            self.build.event(
                "checkpoint", line=line, at=self.moment(text), step=self._current, seconds=seconds, text=name
            )
        return True

    def _begin(self, *, whole: bool) -> None:
        """A step begins, or was begun before the log does: its number is then what the bar says behind it."""
        if self._open:
            return
        self._current, self._open, self._given = self._current + 1, True, set()
        self._headless = not whole and self.rows.empty

    def _between(self, name: str, seconds: float, line: int) -> None:
        """Work after the step's own time."""
        if name == "eval":
            self.build.event("evaluation", line=line, step=self._current, seconds=seconds)
        what = meaning(f"timing/{name}")
        if self._current > 0 and what.role == "phase":
            self._phase(what, seconds, outside=True)

    def _confirm(self, line: int) -> None:
        """Something follows the finished step: give its row and its phases."""
        if not self._over:
            return
        times, self._times = self._times, {}
        self._open = self._over = self._trained = self._headless = False
        self._put(self._tags | {"timing/step": times.pop("step")}, line)
        self._tags = {}
        for name, seconds in times.items():
            what = meaning(f"timing/{name}")
            if what.role == "phase":
                self._phase(what, seconds, outside=False)
            else:
                self.build.phase(self._current, "other", seconds, name=f"timing/{name}")

    def _phase(self, what: Meaning, seconds: float, *, outside: bool) -> None:
        self.build.phase(self._current, what.target, seconds, name=what.name, parent=what.parent, outside=outside)

    def _put(self, tags: dict[str, float], line: int) -> None:
        """Metrics of the step; what was told before stays (the console tracker rounds)."""
        new = {tag: value for tag, value in tags.items() if tag not in self._given}
        self._given |= new.keys()
        self.put(self._current, new, line, self._at)

    # --- dicts --------------------------------------------------------------------------------------------

    def _status(self, raw: str, line: int) -> None:
        found = numbers(raw)
        if self._headless:
            self._tags |= {f"policy/{name}": value for name, value in found.items()}
            return
        self._confirm(line)
        if _WIDTH in found:
            self.build.note("info", say("response_length of the step's dict is the padded width, not a length"))
        if self._current > 0 and found:
            self._put({f"policy/{name.removeprefix('policy/')}": value for name, value in found.items()}, line)

    def _of_several_lines(self, text: str, line: int) -> bool:
        """One more line of the tracker's dict or of the configuration; False when it is another's."""
        plain = strip_actor(text)
        if self._yaml.active:
            if " | " in plain.text[:40] or not self._yaml.take(plain.text):
                self._yaml.end()
                from_config(self.build, self._yaml.found, "SkyRL: printed configuration")
                return False
            return True
        assert self._dict is not None
        step, actor, lines = self._dict
        if plain.actor != actor or (not lines and not plain.text.startswith("{")):
            return False
        lines.append(plain.text)
        if plain.text.rstrip().endswith("}") or len(lines) > _MOST_LINES:
            self._dict = None
            self._tracked(step, "\n".join(lines), line)
        return True

    def _tracked(self, step: int, raw: str, line: int) -> None:
        """What the console tracker has of a step; phases only where no timer line told them."""
        self._confirm(line)
        found = numbers(raw)
        if step != self._current:
            self._current, self._given, self._at = step, set(), None
        timed = {tag: value for tag, value in found.items() if tag.startswith("timing/")}
        self._put({tag: value for tag, value in found.items() if tag not in timed}, line)
        if "timing/step" in timed and "timing/step" not in self._given:
            self._put(timed, line)

    # --- everything else ----------------------------------------------------------------------------------

    def _bar(self, text: str, line: int) -> None:
        for bar in bars(text):
            if not bar.desc.endswith(_BARS) or not bar.total:
                continue
            if self._headless and self._over and bar.n > 0:
                self._current = bar.n
            self._confirm(line)
            self.build.setting("total_steps", bar.total, say("SkyRL: progress bar"))
            if self.rows.empty and not self._open and bar.elapsed_s == 0:
                self._current = max(self._current, bar.n)
            elif bar.n == self._current and not self._open:  # with dynamic sampling the bar counts batches
                self.build.progress(bar.n, total=bar.total, elapsed_s=bar.elapsed_s, remaining_s=bar.remaining_s, line=line)  # fmt: skip

    def _start(self, text: str, line: int) -> bool:
        """Lines of a start or an end; True when this was one."""
        if "global_step" in text and (match := _RESUMED.search(text)):
            if not self.rows.empty:
                self.session("resume", line, f"goes on at step {int(match[1]) + 1}")
                self._fresh()
            self._current = int(match[1])
        elif "Total steps: " in text and (match := _TOTAL.search(text)):
            if not self.rows.empty:
                self.session("restart", line)
                self._fresh()
            self.build.setting("total_steps", int(match[1]) or None, "SkyRL: Total steps", replace=True)
        elif "Training done!" in text:
            self._confirm(line)
            self.finish(line, at=self.moment(text))
        elif text.endswith(":") and (match := _CONFIG.search(text)) and (match[1] in _SECTIONS or "config:" in text):
            self._yaml.begin()
            if match[1]:
                self._yaml.take(match[1])
        elif self._command.is_open or ("skyrl" in text and ".entrypoints." in text):
            from_config(self.build, overrides(self._command.take(text) or ""), "command line")
        else:
            return False
        return True


def recognises(head: Head) -> Confidence:
    """CERTAIN: its timers, or the lines of a step's rewards and lengths."""
    weak = NO
    for line in head.lines:
        if (
            "time cost: " in line
            and (match := _FINISHED.search(line))
            and meaning(f"timing/{match[1]}").framework == "SkyRL"
        ):
            return Confidence(Sure.CERTAIN, line[:120])
        if "avg_final_rewards: " in line or ("time cost: " in line and _FINISHED.search(line) and "skyrl" in line):
            return Confidence(Sure.CERTAIN, line[:120])
        if "skyrl" in line and " | INFO " in line:
            weak = Confidence(Sure.LIKELY, line[:120])
    return weak


SKYRL_CONSOLE: Final = Format(
    name="skyrl",
    title="SkyRL console",
    kind="lines",
    recognises=recognises,
    open=_SkyReader,
    reads="step time and every timer, inside or outside the step as the lines show, rewards, mean length, update metrics, "
    "progress, evaluations and checkpoints, configuration, the console tracker",
    lacks="longest answers and truncation; vLLM's lines (they go to the infra log); step numbers (they are counted)",
    more="trainer.logger=tensorboard or wandb, SKYRL_DUMP_INFRA_LOG_TO_STDOUT=1",
)
