"""Console captures of TRL and everything else that logs through the HF Trainer: SFT, DPO, GRPO, RLOO, PPO, Unsloth, ms-swift.

What such a console holds is a progress bar and metric dicts without a step; `trl_steps` says how the two are brought
together. A file may hold several sessions of one run (resume, restart) and several runs.
"""

from __future__ import annotations

import re
from typing import Final

from parsers import trl_dict
from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.text import bars
from parsers.trl_bars import TrainingBar, Turn
from parsers.trl_dict import Metrics
from parsers.trl_join import Joiner
from parsers.trl_reader import COPY, TrlReader

#: Words of a start-up that belong to an HF trainer.
_BANNERS: Final = re.compile(
    r"Total optimization steps|Unsloth - |\[transformers\]|transformers/trainer\.py|\btrl/trainer/|max_steps is given|"
    r"PAD/BOS/EOS tokens"
)


#: `Eval metrics: {'eval_loss': ..` was printed by a script: what else it printed is the log.
_NAMED: Final = re.compile(r"\b(?:eval\w*|metrics|results?)\W*$", re.IGNORECASE)
#: What `_BANNERS` needs: looked for in all lines at once.
_BANNER_MARKS: Final = (
    b"Total optimization steps", b"Unsloth - ", b"[transformers]", b"transformers/trainer.py", b"trl/trainer/",
    b"max_steps is given", b"PAD/BOS/EOS tokens",
)  # fmt: skip


def recognises(head: Head) -> Confidence:
    """A trainer's metric dict is certain; a banner with a bare bar is likely; one of the two is a last resort."""
    bar, banner, joiner, named = _LoneBar(), "", Joiner(), ""
    banners = any(mark in head.data for mark in _BANNER_MARKS)
    for line in head.lines:
        if line.lstrip().startswith('{"'):
            continue  # a JSON line: other formats read those
        if (joiner.waits or "{'" in line) and COPY not in line:
            text = joiner.take(line)
            begin = trl_dict.begins(text)
            found = trl_dict.read(text, begin)[0] if begin is not None else None
            if found is not None and found.kind == "eval" and _NAMED.search(text[: found.start]):
                named = named or text[found.start : found.start + 100]
            elif found is not None and _is_trainers(found):
                return Confidence(Sure.CERTAIN, text[found.start : found.start + 100])
        bar.take(line)
        if banners and not banner and _BANNERS.search(line):
            banner = line[:100]
    if bar.first and banner:
        return Confidence(Sure.LIKELY, banner.strip())
    if banner or bar.alone or named:
        return Confidence(Sure.MAYBE, (banner or bar.first or named).strip())
    return NO


class _LoneBar:
    """A bar without a description, and without any other sign of a trainer, may be any program's.

    It is taken for a training under way, or for the error stream of one, only while nothing speaks against it: no
    second such bar, and no results printed behind a full one.
    """

    def __init__(self) -> None:
        self.first = ""
        self._bar = TrainingBar()
        self._bars = 0
        self._behind = False

    def take(self, line: str) -> None:
        """Look at one line."""
        full = self.first and self._bar.step == self._bar.total
        if "%|" not in line:
            self._behind = self._behind or bool(full and not line.startswith("wandb:") and len(line.strip()) > 3)
            return
        for state in bars(line):
            turn = self._bar.see(state)
            if turn is not Turn.OTHER:
                self.first = self.first or line[:100]
            self._bars += turn in {Turn.SESSION, Turn.REPLACE}

    @property
    def alone(self) -> bool:
        """True when the bar may be a training's."""
        return bool(self.first) and self._bars <= 2 and not self._behind


def _is_trainers(found: Metrics) -> bool:
    names = found.numbers.keys() | found.words.keys()
    return found.kind is not None and (
        "epoch" in names or "global_step/max_steps" in names or {"eps", "episode"} <= names or found.kind != "train"
    )


TRL = Format(
    name="trl",
    title="TRL / HF Trainer console",
    kind="lines",
    recognises=recognises,
    open=TrlReader,
    reads="metric dicts, progress bar, step_time, lengths, rewards, evaluations, checkpoints, vLLM lines, crashes",
    lacks="phases (only AsyncGRPO prints them) and the configuration",
    more="logging_steps=1, and report_to=wandb, mlflow or trackio for the profiling times of the phases",
)
