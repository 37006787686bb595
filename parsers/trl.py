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


def recognises(head: Head) -> Confidence:
    """A trainer's metric dict is certain; a banner with a bare bar is likely; one of the two is a last resort."""
    bar, banner, joiner = "", "", Joiner()
    for line in head.lines:
        if line.lstrip().startswith('{"'):
            continue  # a JSON line: other formats read those
        if (joiner.waits or "{'" in line) and COPY not in line:
            text = joiner.take(line)
            begin = trl_dict.begins(text)
            found = trl_dict.read(text, begin)[0] if begin is not None else None
            if found is not None and _is_trainers(found):
                return Confidence(Sure.CERTAIN, text[found.start : found.start + 100])
        if not bar and "%|" in line:
            bar = next((line[:100] for state in bars(line) if TrainingBar().see(state) is not Turn.OTHER), "")
        if not banner and _BANNERS.search(line):
            banner = line[:100]
    if bar and banner:
        return Confidence(Sure.LIKELY, banner.strip())
    return Confidence(Sure.MAYBE, (bar or banner).strip()) if bar or banner else NO


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
