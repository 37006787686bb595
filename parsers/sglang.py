"""SGLang engine lines: `Decode batch. #running-req: 8, ..., gen throughput (token/s): 186.64, #queue-req: 0`."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.lines import LineReader
from parsers.literals import plain
from parsers.text import Piece, stamp, stamp_has_zone
from timeledger import units

_RATE: Final = re.compile(r"\bgen throughput \(token/s\): ([\d.]+)")
_RUNNING: Final = re.compile(r"#running-req: (\d+)")
_QUEUE: Final = re.compile(r"#queue-req: (\d+)")
#: `token usage`, or `full token usage` where a sliding window has a cache of its own (the fuller one counts).
_USAGE: Final = re.compile(r"token usage: ([\d.]+)")
_NEW: Final = re.compile(r"#new-token: (\d+)")
_CACHED: Final = re.compile(r"#cached-token: (\d+)")
#: `[2025-02-27 04:46:39 DP1 TP0]`: which engine of a data-parallel group prints.
_TAG: Final = re.compile(r"\[[^\]]*?\d{2}:\d{2}:\d{2}[^\]]*?((?: [A-Z]+\d+)+)\]")
_PID: Final = re.compile(r"pid=(\d+(?:, ip=[\d.]+)?)\)")
_ARGUMENT: Final = re.compile(
    r"\b(max_total_num_tokens|mem_fraction_static|context_len(?:gth)?|max_running_requests|tp_size|dp_size|disable_cuda_graph|model_path|enable_memory_saver)"
    r"=('[^']*'|[^,()\s]+)"
)
_NAMES: Final = {
    "max_total_num_tokens": "kv_cache_tokens",
    "mem_fraction_static": "gpu_memory_utilization",
    "context_length": "max_model_len",
    "context_len": "max_model_len",
    "max_running_requests": "max_num_seqs",
    "tp_size": "tensor_parallel_size",
    "dp_size": "sglang.dp_size",
    "disable_cuda_graph": "enforce_eager",
    "model_path": "model",
    "enable_memory_saver": "enable_sleep_mode",
}


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return units.number(match.group(1)) if match else None


class SglangLines:
    """Reads SGLang's lines into engine samples of `build`.

    A decode line's rate covers the time since the decode line before it (40 decode steps by default). Prefill lines
    make no sample of their own: what they found in the prefix cache since the last decode line goes into the next one.
    """

    def __init__(self, build: RunBuilder) -> None:
        self.build = build
        self._last: dict[str, datetime] = {}
        self._prefilled: dict[str, tuple[float, float]] = {}

    def take(self, text: str, line: int) -> bool:
        """Read one line if it is SGLang's; True when it was."""
        if "Decode batch" in text:
            return self._decode(text, line)
        if "Prefill batch" in text:
            return self._prefill(text)
        if "server_args=ServerArgs(" in text or "max_total_num_tokens=" in text:
            for name, value in _ARGUMENT.findall(text[:20_000]):
                self.build.setting(_NAMES[name], plain(value), f"SGLang: {name}")
            return True
        return False

    def _decode(self, text: str, line: int) -> bool:
        rate = _number(_RATE, text)
        if rate is None:
            return False
        engine, at = _engine(text), stamp(text)
        new, cached = self._prefilled.pop(engine, (0.0, 0.0))
        usages = [float(found) for found in _USAGE.findall(text) if found.count(".") < 2]
        self.build.engine(
            "log",
            line=line,
            at=at,
            engine=engine or None,
            interval_s=self._window(engine, at),
            gen_tok_s=rate,
            running=_number(_RUNNING, text),
            waiting=_number(_QUEUE, text),
            kv_cache=max(usages) if usages else None,
            prefix_hit=cached / (new + cached) if new + cached > 0 else None,
        )
        if at is not None and not stamp_has_zone(text):
            self.build.zone_known = False
        return True

    def _window(self, engine: str, at: datetime | None) -> float | None:
        """Seconds since this engine's last decode line; None for the first, and within one second (the stamps' resolution)."""
        last = self._last.get(engine)
        if at is None:
            return None
        self._last[engine] = at
        seconds = (at - last).total_seconds() if last else 0.0
        return seconds if seconds > 0 else None

    def _prefill(self, text: str) -> bool:
        new, cached = _number(_NEW, text), _number(_CACHED, text)
        if new is None or cached is None:
            return False
        engine = _engine(text)
        before = self._prefilled.get(engine, (0.0, 0.0))
        self._prefilled[engine] = (before[0] + new, before[1] + cached)
        return True


def _engine(text: str) -> str:
    """Which engine prints: its process (inside a trainer's log) and its place in the parallel group."""
    tag = _TAG.search(text[:200])
    pids = _PID.findall(text[:200])
    return "/".join(part for part in (pids[-1] if pids else "", tag.group(1).strip() if tag else "") if part)


class _SglangReader(LineReader):
    """A server log: engine samples only."""

    format_name = "sglang"
    framework = "SGLang"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._lines = SglangLines(self.build)

    def take(self, piece: Piece) -> None:
        self._lines.take(piece.text, piece.no)


def recognises(head: Head) -> Confidence:
    """LIKELY: a decode or prefill line, or the server's arguments. Trainers print them too, with rows of their own."""
    for line in head.lines:
        if ("ecode batch" in line and _RATE.search(line)) or ("Prefill batch" in line and "#new-token" in line):
            return Confidence(Sure.LIKELY, line[:100])
        if "server_args=ServerArgs(" in line:
            return Confidence(Sure.LIKELY, line[:100])
    return NO


SGLANG: Final = Format(
    name="sglang",
    title="SGLang server log",
    kind="lines",
    recognises=recognises,
    open=_SglangReader,
    reads="generation rate, running and queued requests, KV cache and prefix cache use, server arguments",
    lacks="training steps: put it beside the trainer's log",
    more="--decode-log-interval 10 prints more often",
    role="engine",
    most=Sure.LIKELY,
)
