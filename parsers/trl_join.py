"""Metric dicts that a terminal wrapped at its edge, or that a bar was written into: joined again."""

from __future__ import annotations

from typing import Final

from parsers import trl_dict

#: A dict of 60 metrics at 80 columns takes about 50 lines.
_MOST_PIECES: Final = 80
_MOST_TEXT: Final = 16_000


class Joiner:
    """Holds the beginning of a dict until its end comes. `lost` counts those whose end never came."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.lost = 0

    @property
    def waits(self) -> bool:
        """True while a dict is open."""
        return bool(self._parts)

    def take(self, text: str) -> str:
        """The text to read now: the piece itself, a joined dict, or "" while one is still open."""
        begin = trl_dict.begins(text)
        if self._parts:
            if begin is None and self._add(text):
                return self._joined()
            self._give_up()
        if begin is not None and text.find("}", begin) < 0 and trl_dict.read(text, begin)[1]:
            self._parts, self._length = [text], len(text)
            return ""
        return text

    def _add(self, text: str) -> bool:
        self._parts.append(text)
        self._length += len(text)
        return len(self._parts) <= _MOST_PIECES and self._length <= _MOST_TEXT

    def _joined(self) -> str:
        if "}" not in self._parts[-1]:
            return ""
        whole = "".join(self._parts)
        self._parts = []
        if trl_dict.read(whole, trl_dict.begins(whole) or 0)[0] is None:
            self.lost += 1
        return whole

    def _give_up(self) -> None:
        begin = self._parts[0]
        self._parts = []
        self.lost += not ("{'eval_" in begin or "{'train_" in begin)
