"""Results of `vllm bench serve`, `throughput` and `latency` (and of SGLang's bench_serving): console tables and JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from parsers.base import NO, Confidence, Format, Head, Origin, Sure
from parsers.build import RunBuilder
from parsers.documents import DocumentReader
from parsers.lines import LineReader
from parsers.text import Piece, YearlessClock
from parsers.values import real
from parsers.vllm import EngineLines
from timeledger import units
from timeledger.run import Run
from timeledger.said import say

_TITLE: Final = "Serving Benchmark Result"
_ROW: Final = re.compile(r"\s*([A-Z][^:]{2,60}):\s+([\d.,]+)\s*$")
_THROUGHPUT: Final = re.compile(
    r"^\s*Throughput: ([\d.]+) requests/s, ([\d.]+) (?:total )?tokens/s(?:, ([\d.]+) output tokens/s)?"
)
_TOTALS: Final = re.compile(r"Total num (prompt|output) tokens:\s+([\d,]+)")
_LATENCY: Final = re.compile(r"^\s*Avg latency: ([\d.]+) seconds")
_SHAPE: Final = re.compile(r"\b(batch_size|output_len)=(\d+)")
#: Rows of the serving table (without the unit in brackets, small letters) -> name in the JSON file.
_LABELS: Final = {
    "successful requests": "completed",
    "benchmark duration": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "request throughput": "request_throughput",
    "output token throughput": "output_throughput",
    "maximum request concurrency": "max_concurrency",
    "mean ttft": "mean_ttft_ms",
    "p99 ttft": "p99_ttft_ms",
    "mean tpot": "mean_tpot_ms",
    "mean itl": "mean_itl_ms",
}
_KEPT: Final = ("max_concurrency", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "mean_itl_ms")


def _number(found: Mapping[str, Any], name: str) -> float | None:
    return real(found.get(name))


def serving(build: RunBuilder, found: Mapping[str, Any], source: str, line: int = 0) -> None:
    """One result of a serving benchmark, under the names of its JSON file."""
    seconds, tokens = _number(found, "duration"), _number(found, "total_output_tokens")
    read = _number(found, "total_input_tokens")
    rate = _number(found, "output_throughput")
    build.engine(
        "bench",
        line=line,
        interval_s=seconds,
        gen_tok_s=rate,
        prompt_tok_s=read / seconds if read is not None and seconds else None,
        requests=_number(found, "completed"),
        gen_tokens=tokens,
    )
    build.setting("gen_tok_s", rate, f"{source}: output token throughput", replace=True)
    for name in _KEPT:
        build.setting(f"bench.{name}", _number(found, name), f"{source}: {name}", replace=True)
    if isinstance(model := found.get("model_id"), str):
        build.setting("model", model, f"{source}: model_id")


def offline(build: RunBuilder, found: Mapping[str, Any], source: str, line: int = 0) -> None:
    """One result of the throughput benchmark. Its JSON's `tokens_per_second` counts prompt tokens too: no generation rate."""
    rate, tokens = _number(found, "output_rate"), _number(found, "output_tokens")
    seconds = _number(found, "elapsed_time") or (tokens / rate if tokens and rate else None)
    per_second, prompts = _number(found, "requests_per_second"), _number(found, "prompt_tokens")
    count = _number(found, "num_requests")
    if count is None and seconds and per_second:
        count = float(round(seconds * per_second))
    build.engine(
        "bench",
        line=line,
        interval_s=seconds,
        gen_tok_s=rate,
        prompt_tok_s=prompts / seconds if prompts is not None and seconds else None,
        requests=count,
        gen_tokens=tokens,
    )
    build.setting("gen_tok_s", rate, f"{source}: output tokens/s", replace=True)
    build.setting("bench.total_tok_s", _number(found, "tokens_per_second"), f"{source}: total tokens/s", replace=True)


def latency(build: RunBuilder, found: Mapping[str, Any], source: str, line: int = 0) -> None:
    """One result of the latency benchmark: seconds of one batch; a rate only where the batch's shape is printed too."""
    seconds = _number(found, "avg_latency")
    batch, length = _number(found, "batch_size"), _number(found, "output_len")
    tokens = batch * length if batch and length else None
    rate = tokens / seconds if tokens and seconds else None
    build.engine("bench", line=line, interval_s=seconds, gen_tok_s=rate, requests=batch, gen_tokens=tokens)
    build.setting("gen_tok_s", rate, f"{source}: batch_size x output_len / average latency", "inferred", replace=True)
    build.setting("bench.avg_latency_s", seconds, f"{source}: average latency", replace=True)


class _ConsoleReader(LineReader):
    """The console of a benchmark, with the engine's own lines in front."""

    format_name = "vllm_bench"
    framework = "vLLM"

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._clock = YearlessClock(origin.modified)
        self._lines = EngineLines(self.build)
        self._table: dict[str, float] | None = None
        self._offline: dict[str, float] | None = None
        self._shape: dict[str, float] = {}
        self._line = 0

    def runs(self) -> tuple[Run, ...]:
        build = self.build.fork()  # what is open is told, and stays open: more of it may come
        self._tell(build)
        return (build.run(),)

    def take(self, piece: Piece) -> None:
        text = piece.text
        if self._table is not None:
            self._row(text)
        elif _TITLE in text:
            self._flush()
            self._table, self._line = {}, piece.no
        elif "requests/s" in text and (match := _THROUGHPUT.match(text)):
            self._flush()
            self._line = piece.no
            self._offline = {"requests_per_second": float(match[1]), "tokens_per_second": float(match[2])}
            if match[3]:
                self._offline["output_rate"] = float(match[3])
        elif self._offline is not None and (totals := _TOTALS.search(text)):
            self._offline[f"{totals[1]}_tokens"] = float(totals[2].replace(",", ""))
        elif "latency: " in text and (match := _LATENCY.match(text)):
            latency(self.build, {"avg_latency": float(match[1]), **self._shape}, "vLLM bench", piece.no)
        else:
            self._other(piece)

    def _row(self, text: str) -> None:
        assert self._table is not None
        if "====" in text:
            self._flush()
        elif match := _ROW.match(text):
            name = _LABELS.get(match[1].split(" (")[0].strip().lower())
            value = units.number(match[2])
            if name and value is not None:
                self._table[name] = value

    def _flush(self) -> None:
        self._tell(self.build)
        self._table, self._offline = None, None

    def _tell(self, build: RunBuilder) -> None:
        if self._table:
            serving(build, self._table, "vLLM bench", self._line)
        if self._offline is not None:
            offline(build, self._offline, "vLLM bench", self._line)

    def _other(self, piece: Piece) -> None:
        text = piece.text
        if "output_len=" in text and "batch_size=" in text:
            self._shape = {name: float(value) for name, value in _SHAPE.findall(text[:20_000])}
        if self._lines.take(text, piece.no, self._clock):
            return
        if text.startswith("Traceback (most recent call last)"):
            self.crashed(piece.no, text)


class _JsonReader(DocumentReader):
    """A result file: one object, a list of them, or one a line (`--append-result`)."""

    format_name = "vllm_bench_json"
    framework = "vLLM"

    def read(self) -> tuple[Run, ...]:
        """The one run."""
        build = self.builder()
        for found in _objects(self.text()):
            if "output_throughput" in found:
                serving(build, found, "bench result")
            elif "tokens_per_second" in found:
                offline(build, found, "bench result")
            elif "avg_latency" in found:
                latency(build, found, "bench result")
        if build.is_empty:
            build.note("skipped", say("no benchmark result could be read: the file may be cut off"))
        return (build.run(),)


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        whole = json.loads(text)
        parts = whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        parts = []
        for line in text.splitlines():
            try:
                parts.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    return [part for part in parts if isinstance(part, dict)]


def recognises(head: Head) -> Confidence:
    """CERTAIN: a result. LIKELY: a serving benchmark that is still running, or cut off."""
    weak = NO
    for line in head.lines:
        if f" {_TITLE} " in line and "====" in line:
            return Confidence(Sure.CERTAIN, line[:100])
        if _THROUGHPUT.match(line) or _LATENCY.match(line):
            return Confidence(Sure.CERTAIN, line[:100])
        if line.startswith(
            ("Burstiness factor: ", "Traffic request rate: ", "Starting initial single prompt test run")
        ):
            weak = Confidence(Sure.LIKELY, line[:100])
    return weak


_JSON_KEYS: Final = (
    (b'"output_throughput"', b'"total_output_tokens"'),
    (b'"requests_per_second"', b'"tokens_per_second"'),
    (b'"avg_latency"', b'"percentiles"'),
)


def recognises_json(head: Head) -> Confidence:
    """CERTAIN: a JSON object with the names of a benchmark's result."""
    if head.data.lstrip()[:1] not in {b"{", b"["}:
        return NO
    for keys in _JSON_KEYS:
        if all(key in head.data for key in keys):
            return Confidence(Sure.CERTAIN, " and ".join(key.decode() for key in keys))
    return NO


VLLM_BENCH: Final = Format(
    name="vllm_bench",
    title="vllm bench (console)",
    kind="lines",
    recognises=recognises,
    open=_ConsoleReader,
    reads="output tokens a second, tokens, requests, seconds, latencies",
    lacks="training steps: its rate can be used for a plan",
    more="vllm bench serve --save-result keeps the numbers unrounded",
    role="engine",
)
VLLM_BENCH_JSON: Final = Format(
    name="vllm_bench_json",
    title="vllm bench (JSON result)",
    kind="document",
    recognises=recognises_json,
    open=_JsonReader,
    reads="output tokens a second, tokens, requests, seconds, latencies",
    lacks="training steps; the throughput benchmark's file holds no rate of output tokens alone",
    more="the console of `vllm bench throughput` prints the output rate",
    role="engine",
)
