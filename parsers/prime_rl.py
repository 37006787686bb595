"""prime-rl: the consoles of its orchestrator and its trainer, one line a step, in all the shapes they have had."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.tagged import TaggedReader
from parsers.text import Piece
from timeledger import units
from timeledger.said import say

_CLOCK: Final = re.compile(r"(?<!\d)(\d{2}):(\d{2}):(\d{2})\s+(?:TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR)\b")
_STEP: Final = re.compile(r"SUCCESS\s+(?:\[\w[\w.\- ]*\]\s*)?(?:\w+ \| )?[Ss]tep (\d{1,9}) \|(.*)")
#: The first shape: `Finished orchestrator step 3 in 12.34s (Avg. Reward: 0.50, Throughput: 812.3 tokens/s, ...)`.
_FINISHED: Final = re.compile(r"Finished (orchestrator|training) step (\d{1,9}) in ([\d.]+)s(?: \((.*)\))?")
_FIELD: Final = re.compile(r"([A-Za-z][A-Za-z.\- ]*?):?\s+([+-]?(?:\d|nan|inf).*)$")
_EVALUATED: Final = re.compile(r"Evaluated (\S.*?) (?:\(Step (\d{1,9})\)|in ([\d.]+)s)(.*)")
_RESUMED: Final = re.compile(r"Orchestrator resumed: checkpoint (\d{1,9}) ready \(after ([\d.]+)s\)")
_SAVING: Final = re.compile(r"Saving (?:weight )?checkpoint at step (\d{1,9})")
_FROM: Final = re.compile(r"(?:Resuming|Loading) (?:training |orchestrator )?(?:from|checkpoint).*?step[ _](\d{1,9})")
_ENDED: Final = re.compile(r"(?:Training finished!|RL trainer finished|Orchestrator finished)")
_PER_CENT: Final = 0.01
#: A field of a step line -> the name in metrics.jsonl, where there is one.
_NAMES: Final = {
    "reward": "reward/mean", "avg. reward": "reward/mean", "avg. advantage": "advantage/mean", "val. reward": "val_reward/mean",
    "seq. length": "seq_len/mean", "avg. seq. length": "seq_len/mean", "truncation": "is_truncated/mean",
    "async level": "batch/async_level", "max. off-policy level": "batch/off_policy_level/max",
    "max off-policy": "batch/off_policy_level/max", "turns": "num_turns/mean", "branches": "num_branches/mean",
    "error": "error/mean", "cancelled": "cancelled/mean", "loss": "loss/mean", "entropy": "entropy/all/mean",
    "avg. loss": "loss/mean", "mismatch kl": "mismatch_kl/all/mean", "grad. norm": "optim/grad_norm", "lr": "optim/lr",
    "mfu": "perf/mfu", "peak mem.": "perf/peak_memory", "max vio": "max_vio/mean",
}  # fmt: skip
#: Only the trainer has these.
_TRAINER: Final = {"loss/mean", "optim/grad_norm", "mismatch_kl/all/mean"}
_HALF_A_DAY: Final = 43_200
_DAY: Final = 86_400


class _PrimeReader(TaggedReader):
    """Orchestrator and trainer number their steps alike and run at once: where both print, the orchestrator's time is the step's."""

    format_name = "prime_rl"
    framework = "prime-rl"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._orchestrates = False
        self._newest = {"orchestrator": -1, "trainer": -1}
        self._clock_s: int | None = None
        self._days = 0
        self._begun_s: float | None = None
        self._at: datetime | None = None
        self._paused_s = 0.0

    def take(self, piece: Piece) -> None:
        text, line = piece.text, piece.no
        self._at = None
        if text.lstrip().startswith('{"timestamp"'):
            text = self._unpacked(text)
        self._tick(text)
        if "tep " in text and (match := _STEP.search(text)):
            self._step(int(match[1]), match[2].split("|"), line)
        elif "Finished " in text and (match := _FINISHED.search(text)):
            self._step(int(match[2]), [f"{match[3]}s", *(match[4] or "").split(", ")], line, match[1] == "training")
        elif "Evaluated " in text and (match := _EVALUATED.search(text)):
            self._evaluated(match, line)
        elif "rchestrator resumed" in text and (match := _RESUMED.search(text)):
            self._paused_s += float(match[2])
            self.build.event("weight_sync", line=line, at=self._at, seconds=float(match[2]), text="the orchestrator waited for a checkpoint")  # fmt: skip
        elif "heckpoint" in text and (match := _SAVING.search(text)):
            self.build.event("checkpoint", line=line, at=self._at, step=int(match[1]))
        elif "finished" in text and _ENDED.search(text):
            self.finish(line, at=self._at)
        elif "esum" in text and (match := _FROM.search(text)):
            self._begin_again(line, "resume")
        else:
            self.rest(text, line)

    # --- time ---------------------------------------------------------------------------------------------

    def _unpacked(self, text: str) -> str:
        """A JSON log entry as the line it would have been; its stamp has a date and a zone."""
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if not isinstance(entry, dict) or not isinstance(entry.get("message"), str):
            return ""
        self._at = self.moment(str(entry.get("timestamp", "")))
        return f"{entry.get('level', '')} {entry['message'].splitlines()[0] if entry['message'] else ''}"

    def _tick(self, text: str) -> None:
        """Follow the console's clock, which has no date, over midnight."""
        if ":" not in text or (match := _CLOCK.search(text)) is None:
            return
        now = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
        if self._clock_s is not None and now < self._clock_s - _HALF_A_DAY:
            self._days += 1
        self._clock_s = now
        if self._begun_s is None:
            self._begun_s = self._elapsed()

    def _elapsed(self) -> int:
        return self._days * _DAY + (self._clock_s or 0)

    # --- steps --------------------------------------------------------------------------------------------

    def _step(self, step: int, fields: list[str], line: int, trains: bool = False) -> None:
        tags: dict[str, float] = {}
        took = units.seconds(fields[0].removeprefix(" Time:").strip())
        for field in fields[1:]:
            self._field(field.strip(), tags)
        trains = trains or bool(_TRAINER & tags.keys())
        who = "trainer" if trains else "orchestrator"
        if step <= self._newest[who]:
            if step == self._newest[who]:
                return  # printed twice (console and file in one capture)
            self._begin_again(line, "restart")
        self._newest[who] = step
        throughput = tags.pop("throughput", None)
        if throughput is not None:
            tags[f"{who}/throughput"] = throughput
        if took is not None:
            tags["trainer/time" if trains and self._orchestrates else "time/step"] = took
        if not trains:
            self._of_orchestrator(step, tags)
        if took is not None and self.rows.empty and self._begun_s == self._elapsed():
            self._begun_s -= took  # the log begins with this step's end
        if not (trains and self._orchestrates) and self._clock_s is not None and self._begun_s is not None:
            tags["train_runtime"] = self._elapsed() - self._begun_s
        self.put(step, tags, line, self._at)

    def _of_orchestrator(self, step: int, tags: dict[str, float]) -> None:
        self._orchestrates = True
        if self._paused_s:
            self.build.phase(step, "wait", self._paused_s, name="orchestrator paused")
            self._paused_s = 0.0
        if "seq_len/mean" in tags:
            self.build.note("info", say("Seq. Length counts the prompt too"))
        if tags.get("batch/async_level", 0) > 0 or tags.get("batch/off_policy_level/max", 0) > 0:
            self.build.setting("async_mode", True, "prime-rl: answers of an older policy", "inferred")
            self.build.note(
                "info",
                say("prime-rl trains and generates at the same time: times of single steps jump, use their mean"),
            )

    @staticmethod
    def _field(field: str, tags: dict[str, float]) -> None:
        """`Reward: 0.3887`, `Truncation 3.1%`, `Trainable 96/128 (75.0%)`, `Peak Mem. 61.2 GiB`."""
        match = _FIELD.match(field)
        if match is None:
            return
        name, first = match[1].strip().lower(), match[2].split()[0]
        part, slash, whole = first.partition("/")
        value = units.number(part.rstrip("%,)"))
        if value is None:
            return
        if name == "trainable" and slash:
            tags["trainable"] = value
            if (all_of_them := units.number(whole)) is not None:
                tags["orchestrator/sequences"] = all_of_them
            return
        tag = _NAMES.get(name, name)
        tags[tag] = value * _PER_CENT if first.endswith("%") and tag != "perf/mfu" else value

    # --- everything else ----------------------------------------------------------------------------------

    def _evaluated(self, match: re.Match[str], line: int) -> None:
        step = int(match[2]) if match[2] else None
        seconds = float(match[3]) if match[3] else None
        if seconds is None:
            seconds = next(
                (took for part in match[4].split("|") if (took := units.seconds(part.strip())) is not None), None
            )
        text = f"{match[1]}{match[4].rstrip()}"
        self.rows.flush()
        self.build.event("evaluation", line=line, at=self._at, step=step, seconds=seconds, text=text)

    def _begin_again(self, line: int, kind: str) -> None:
        if not self.rows.empty:
            self.session("resume" if kind == "resume" else "restart", line, "the steps go back")
            self._newest = dict.fromkeys(self._newest, -1)
            self._begun_s = self._elapsed() if self._clock_s is not None else None
            self._orchestrates, self._paused_s = False, 0.0


_TELLING: Final = re.compile(r"\| ?(?:(?:Avg\. )?Reward|Loss|Seq\. Length|Mismatch KL|Trainable|Entropy)\b")


def recognises(head: Head) -> Confidence:
    """CERTAIN: a step line of either process, plain or as a JSON entry."""
    for line in head.lines:
        if "tep " in line and "|" in line and _TELLING.search(line):
            if _STEP.search(line) or ('"SUCCESS"' in line and '"message": "Step ' in line):
                return Confidence(Sure.CERTAIN, line[:120])
        elif "Finished orchestrator step" in line or "Orchestrator paused: waiting for trainer" in line:
            return Confidence(Sure.CERTAIN, line[:120])
    return NO


PRIME_RL_CONSOLE: Final = Format(
    name="prime_rl",
    title="prime-rl console",
    kind="lines",
    recognises=recognises,
    open=_PrimeReader,
    reads="orchestrator and trainer lines merged by step, step time, reward, length, throughput of both, truncation, memory, "
    "pauses for weights, evaluations; plain and JSON logging",
    lacks="a date (plain logging has only HH:MM:SS); lengths and generation throughput in versions of 2026; phases",
    more="metrics.jsonl in the output folder holds time/*, lengths and tokens of every step",
)
