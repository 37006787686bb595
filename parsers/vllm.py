"""vLLM engine lines: a collector that any trainer's reader can embed, and the log of a server or an offline run."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.lines import LineReader
from parsers.moments import printed_at
from parsers.sglang import SglangLines
from parsers.text import Piece, YearlessClock
from parsers.vllm_facts import PID, EngineFacts
from parsers.vllm_stats import FinishedBar, Stats, finished_bars, prefix_hit, stats

#: Where the levels stand in a line that vLLM's (or a framework's) logger wrote.
_HEADER: Final = 200


#: What every line that `EngineLines.take` reads holds one of.
_MARKS: Final = (
    b"toks/s",
    b"throughput",
    b"#running-req",
    b"ServerArgs(",
    b"max_total_num_tokens=",
    b"INFO",
    b"WARNING",
)


def mentions_engine(data: bytes) -> bool:
    """False for a block of lines in which no line can be an engine's: told for a megabyte at the price of a few lines."""
    return any(mark in data for mark in _MARKS)


class EngineLines:
    """Reads the lines of inference engines (vLLM, SGLang) into engine samples, settings and events of `build`.

    Trainers' readers own one and offer it every piece they do not use themselves, process prefixes left on
    (`(EngineCore_DP0 pid=12)` tells replicas apart). `build` may be replaced when the reader begins another run.
    """

    def __init__(self, build: RunBuilder) -> None:
        self._sglang = SglangLines(build)
        self._facts = EngineFacts()
        self._last: dict[str, tuple[datetime, bool]] = {}
        self._shortest: dict[str, float] = {}
        self._bar: FinishedBar | None = None
        self.build = build

    @property
    def build(self) -> RunBuilder:
        """Where samples go."""
        return self._sglang.build

    @build.setter
    def build(self, build: RunBuilder) -> None:
        self._sglang.build = build

    def take(self, text: str, line: int, clock: YearlessClock) -> bool:
        """Read one piece if it is an engine's; True when it was. `clock` completes vLLM's stamps, which have no year."""
        used = False
        if "toks/s" in text:
            used = self._bars(text, line)
        if "throughput" in text and (found := stats(text)) is not None:
            self._stats(found, text, line, clock)
            return True
        if "#running-req" in text or "ServerArgs(" in text or "max_total_num_tokens=" in text:
            used = self._sglang.take(text, line) or used
        elif (
            "INFO" in (head := text[:_HEADER]) or "WARNING" in head
        ) and " HTTP/1." not in text:  # a server's requests
            used = self._fact(text, line, clock) or used
        return used

    def _bars(self, text: str, line: int) -> bool:
        if "Processed prompts" not in text:
            return False
        last, self._bar = self._bar, None
        for bar in finished_bars(text) if "100%" in text else ():
            if bar != last:  # a bar is printed full twice: when it fills and when it closes
                self.build.engine(
                    "bar",
                    line=line,
                    interval_s=bar.elapsed_s or None,
                    gen_tok_s=bar.gen_tok_s,
                    requests=float(bar.requests),
                )
            last = self._bar = bar
        return True

    def _stats(self, found: Stats, text: str, line: int, clock: YearlessClock) -> None:
        before = text[max(0, found.at - 110) : found.at]
        at = printed_at(self.build, clock, before)
        pids = PID.findall(text[max(0, found.at - 220) : found.at]) if "pid=" in text else ()
        engine = "/".join(part for part in (pids[-1] if pids else "", found.engine) if part)
        self.build.engine(
            "log",
            line=line,
            at=at,
            engine=engine or None,
            interval_s=self._window(engine, found, at),
            gen_tok_s=found.gen_tok_s,
            prompt_tok_s=found.prompt_tok_s,
            running=found.running,
            waiting=found.waiting,
            kv_cache=found.kv_cache,
            prefix_hit=found.prefix_hit,
            preemptions=found.preemptions,
        )

    def _window(self, engine: str, found: Stats, at: datetime | None) -> float | None:
        """Seconds that a line's rates cover; None when not known.

        Version 0 measures from the line before. Version 1 runs a timer whose idle ticks are not printed: after an idle
        line the window is one tick, the shortest gap seen so far.
        """
        if at is None:
            return None
        last, self._last[engine] = self._last.get(engine), (at, found.idle)
        if last is None or (gap := (at - last[0]).total_seconds()) <= 0:
            return None
        tick = self._shortest.get(engine)
        if found.classic or not last[1] or (tick is not None and gap <= 1.5 * tick):
            self._shortest[engine] = min(gap, tick or gap)
            return gap
        return tick

    def _fact(self, text: str, line: int, clock: YearlessClock) -> bool:
        at = (
            printed_at(self.build, clock, text[:_HEADER])
            if " took " in text or "prefix cache" in text or "is preempted" in text
            else None
        )
        if "refix cache hit rate: GPU" in text:
            self.build.engine("log", line=line, at=at, prefix_hit=prefix_hit(text))
            return True
        return self._facts.take(self.build, text, line, at)


class _VllmReader(LineReader):
    """A server's log, or the console of an offline run: engine samples, no training steps."""

    format_name = "vllm"
    framework = "vLLM"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._clock = YearlessClock(origin.modified)
        self._lines = EngineLines(self.build)

    def take(self, piece: Piece) -> None:
        text = piece.text
        if self._lines.take(text, piece.no, self._clock):
            return
        if "Application shutdown complete" in text:
            self.build.event("finish", line=piece.no, text="server shut down")
            self.build.ended = "finished"
        elif "Application startup complete" in text:
            self.build.event("start", line=piece.no, text="server ready")
            self.build.ended = None
        elif text.startswith("Traceback (most recent call last)") or "Engine core initialization failed" in text:
            self.crashed(piece.no, text)


#: What only a server or a program around `LLM` prints.
_SERVER: Final = ("(APIServer pid=", "vLLM API server version", "Available routes are:")
_ENGINE: Final = ("LLM engine (v", "LLM engine with config", "non-default args: {", "KV cache size: ")


def recognises(head: Head) -> Confidence:
    """LIKELY: statistics lines or a server's start. MAYBE: generation bars, or an engine's start and nothing else.

    Never CERTAIN: a trainer prints the same lines, and its own rows decide.
    """
    weak = NO
    for line in head.lines:
        if "Avg prompt throughput: " in line and stats(line) is not None:
            return Confidence(Sure.LIKELY, line[:100])
        if any(mark in line for mark in _SERVER):
            weak = Confidence(Sure.LIKELY, line[:100])
        elif weak is NO and ("Processed prompts:" in line or (head.whole and any(mark in line for mark in _ENGINE))):
            weak = Confidence(Sure.MAYBE, line[:100])
    return weak


VLLM: Final = Format(
    name="vllm",
    title="vLLM server or offline log",
    kind="lines",
    recognises=recognises,
    open=_VllmReader,
    reads="generation and prompt rates, running and waiting requests, KV cache and prefix cache use, preemptions, "
    "sleep and wake times, engine settings",
    lacks="training steps: put it beside the trainer's log",
    more="LLM(disable_log_stats=False) offline, VLLM_LOG_STATS_INTERVAL=5 for more lines",
    role="engine",
    most=Sure.LIKELY,
)
