"""What a hand-written loop prints around its rows: settings in front of them, and how long the training took at the end."""

from __future__ import annotations

import re
from typing import Final

from parsers import fields
from parsers.build import RunBuilder
from parsers.prefixes import strip_prefix
from parsers.rates import tokens_of_step
from timeledger import units

#: What `_WHOLE` needs: looked for in every line.
TRAINED: Final = "raining "
#: `Training completed in 132.16 minutes.`, `Training complete in 3m 20s`, `Total training time: 1:22:33`.
_WHOLE: Final = re.compile(
    r"\W*(?:(?:model|total|full) )?training (?:(?:was |is )?(?:complet\w+|finished|done|ended)|took|run ?time|time|duration)"
    r"(?: (?:in|after|took))?\W{1,4}(?P<time>\d[\w.:, ]*?)[\s.!*=-]*",
    re.IGNORECASE,
)
_LONGEST: Final = 200


class Trained:
    """How long the training took, where the log says so once: said again and again it is the time of a part."""

    def __init__(self, build: RunBuilder) -> None:
        self._build = build
        self._told = False

    def take(self, text: str) -> None:
        """Read a line that speaks of training."""
        whole = _WHOLE.fullmatch(strip_prefix(text)[1]) if len(text) <= _LONGEST else None
        took = None if whole is None else units.seconds(whole["time"])
        if took:
            self._build.train_runtime_s = None if self._told else took
            self._told = True


def setting(build: RunBuilder, text: str, no: int) -> None:
    """Record what a line in front of the rows says, if it is a setting: `group_size: 8`, `epochs = 3`."""
    tokens_of_step(build, text, no)
    key, sep, raw = text.strip(" -*│|").partition(":" if ":" in text else "=")
    name = fields.setting(key.rsplit("|", 1)[-1].strip()) if sep and len(key) < 80 else None
    value = fields.setting_value(name, raw.strip(" ,'\"")) if name is not None else None
    if name == "epochs" and "epochs" not in key.lower():  # the first one, not how many
        return
    if name is not None and value is not None:
        build.setting(name, value, f"line {no}: {text.strip()[:80]}")
