"""The two lines in which vLLM says how fast it generates: the periodic statistics line and the bar of `LLM.generate`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from parsers.text import bars

_RATES: Final = re.compile(
    r"Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, Avg generation throughput: (?P<gen>[\d.]+) tokens/s"
)
_ENGINE: Final = re.compile(r"Engine (\d+): $")
_AGGREGATED: Final = re.compile(r"(\d+) Engines Aggregated: $")
_RUNNING: Final = re.compile(r"\bRunning: (\d+)")
_WAITING: Final = re.compile(r"\b(?:Waiting|Pending): (\d+)")
_PREEMPTIONS: Final = re.compile(r"\bPreemptions: (\d+)")
#: The device's name comes first (`GPU`, `CPU`, `XPU`); version 0 adds the host's cache behind it.
_KV: Final = re.compile(r"KV cache usage: ([\d.]+)%")
_HIT: Final = re.compile(r"Prefix cache hit rate: (?:GPU: )?([\d.]+)%")
#: The order of version 1, which is read at once.
_USUAL: Final = re.compile(
    r", Running: (\d+) reqs, Waiting: (\d+) reqs, \w+ KV cache usage: (\d+\.\d+)%(?:, Prefix cache hit rate: (\d+\.\d+)%)?"
)
_OUTPUT: Final = re.compile(r"(?:output|Generation Speed): ([\d.]+) toks/s")


@dataclass(frozen=True, slots=True)
class Stats:
    """One statistics line. `at` is where it begins in its text, `engine` its number as printed, `classic` version 0's form."""

    at: int
    engine: str
    classic: bool
    gen_tok_s: float
    prompt_tok_s: float
    running: float | None
    waiting: float | None
    kv_cache: float | None
    prefix_hit: float | None
    preemptions: float | None

    @property
    def idle(self) -> bool:
        """True when nothing was read or generated in the line's window."""
        return self.gen_tok_s == 0 and self.prompt_tok_s == 0


def _find(pattern: re.Pattern[str], text: str, scale: float = 1.0) -> float | None:
    match = pattern.search(text)
    return float(match.group(1)) / scale if match and match.group(1).count(".") < 2 else None


def stats(text: str) -> Stats | None:
    """The statistics in a piece of text, or None. Knows the forms of vLLM 0.4 to 0.33.

    `Pending` (version 0) and `Waiting` are the same queue; `Preemptions` counts within the line's window;
    usage and hit rates are shares 0..1.
    """
    match = _RATES.search(text)
    if match is None:
        return None
    before, tail = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 400]
    number = (_ENGINE.search(before) or _AGGREGATED.search(before)) if before.endswith(": ") else None
    try:
        gen, prompt = float(match["gen"]), float(match["prompt"])
    except ValueError:
        return None
    usual = _USUAL.match(tail)
    running, waiting, kv_cache, hit = usual.groups() if usual else (None, None, None, None)
    return Stats(
        at=match.start(),
        engine=number.group(1) + (" engines" if number.re is _AGGREGATED else "") if number else "",
        classic="Pending: " in tail,
        gen_tok_s=gen,
        prompt_tok_s=prompt,
        running=float(running) if running else _find(_RUNNING, tail),
        waiting=float(waiting) if waiting else _find(_WAITING, tail),
        kv_cache=float(kv_cache) / 100 if kv_cache else _find(_KV, tail, 100),
        prefix_hit=float(hit) / 100 if hit else _find(_HIT, tail, 100),
        preemptions=_find(_PREEMPTIONS, tail) if "Preemptions: " in tail else None,
    )


def prefix_hit(text: str) -> float | None:
    """The share of version 0's own line `Prefix cache hit rate: GPU: 12.30%, CPU: 0.00%`."""
    return _find(_HIT, text, 100)


@dataclass(frozen=True, slots=True)
class FinishedBar:
    """A full bar of `LLM.generate`: sequences done, seconds by the bar's clock (whole seconds), generated tokens a second."""

    requests: int
    elapsed_s: float
    gen_tok_s: float


def finished_bars(text: str) -> Iterator[FinishedBar]:
    """The full `Processed prompts` bars of a piece of text. Their `input` rate is left out: it counts a prompt once a sample."""
    for bar in bars(text):
        rate = _OUTPUT.search(bar.post) if bar.total and bar.n == bar.total else None
        if rate is not None and rate.group(1).count(".") < 2 and "Processed prompts" in bar.desc:
            yield FinishedBar(bar.n, bar.elapsed_s, float(rate.group(1)))
