"""Metrics pages of inference engines (`curl .../metrics`): one scrape, or several after each other.

A scrape gives gauges, and counters since the engine's start. Two scrapes give what happened between them, and rates
where both moments are known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from parsers.base import NO, Confidence, Format, Head, Sure
from parsers.build import RunBuilder
from parsers.documents import DocumentReader
from parsers.literals import plain
from parsers.text import stamp
from timeledger.run import Run
from timeledger.said import say

_SAMPLE: Final = re.compile(
    r"(?P<name>(?:vllm|sglang):[\w:]+)(?:\{(?P<labels>.*)\})?\s+(?P<value>[^\s]+)(?:\s+(?P<ms>\d{12,14}))?\s*$"
)
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_EPOCH: Final = re.compile(r"^(?:#\D{0,40})?(1[5-9]\d{8}|2\d{9})(\.\d+)?\s*$")

#: Metric -> what it is here; several names of one thing are of several versions.
_GAUGES: Final = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_cache",
    "vllm:gpu_cache_usage_perc": "kv_cache",
    "vllm:avg_generation_throughput_toks_per_s": "gen_tok_s",
    "vllm:avg_prompt_throughput_toks_per_s": "prompt_tok_s",
    "sglang:num_running_reqs": "running",
    "sglang:num_queue_reqs": "waiting",
    "sglang:token_usage": "kv_cache",
    "sglang:gen_throughput": "gen_tok_s",
    "sglang:cache_hit_rate": "prefix_hit",
}
_COUNTERS: Final = {
    "vllm:generation_tokens_total": "gen_tokens",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:request_success_total": "requests",
    "vllm:prefix_cache_queries_total": "queries",
    "vllm:prefix_cache_hits_total": "hits",
    "vllm:gpu_prefix_cache_queries_total": "queries",
    "vllm:gpu_prefix_cache_hits_total": "hits",
    "sglang:generation_tokens_total": "gen_tokens",
    "sglang:prompt_tokens_total": "prompt_tokens",
    "sglang:num_requests_total": "requests",
}


@dataclass(slots=True)
class Scrape:
    """One scrape: gauges and counters an engine (label `engine`, "" when there is none)."""

    at: datetime | None = None
    line: int = 0
    gauges: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    counters: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    config: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


def scrapes(text: str) -> Iterator[Scrape]:
    """The scrapes of a text. A metric that comes again, or a time stamp on a line of its own, begins the next."""
    now = Scrape()
    for no, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#") or ":" not in line or (match := _SAMPLE.match(line)) is None:
            at = _moment(line)
            if at is not None:
                if now.seen:
                    yield now
                    now = Scrape()
                now.at = at
            continue
        key = line[: match.start("value")]
        if key in now.seen:
            yield now
            now = Scrape()
        now.line = now.line or no
        now.seen.add(key)
        _add(now, match)
    if now.seen:
        yield now


def _moment(line: str) -> datetime | None:
    """The moment a line of its own names: a date and time, or seconds since 1970."""
    if line.startswith(("# HELP", "# TYPE")) or not line.strip() or len(line) > 120 or "{" in line:
        return None
    if (match := _EPOCH.match(line)) is not None:
        return datetime.fromtimestamp(float(match.group(1) + (match.group(2) or "")), UTC)
    return stamp(line)


def _add(now: Scrape, match: re.Match[str]) -> None:
    try:
        value = float(match["value"])
    except ValueError:
        return
    name, labels = match["name"], dict(_LABEL.findall(match["labels"] or ""))
    engine = labels.get("engine", "")
    if match["ms"] and now.at is None:
        now.at = datetime.fromtimestamp(int(match["ms"]) / 1000, UTC)
    if name in _GAUGES:
        now.gauges[engine].setdefault(_GAUGES[name], value)
    elif name in _COUNTERS:
        now.counters[engine][_COUNTERS[name]] += value
    elif name.endswith(":cache_config_info"):
        now.config.update(labels)
    if "model_name" in labels:
        now.config.setdefault("model_name", labels["model_name"])


def add(build: RunBuilder, now: Scrape, before: Scrape | None) -> None:
    """Add one scrape as engine samples: against `before`, when there is one; rates when the time between is known."""
    seconds = None
    if before is not None and now.at is not None and before.at is not None and now.at > before.at:
        seconds = (now.at - before.at).total_seconds()
    for engine in sorted(now.gauges.keys() | now.counters.keys()):
        counted = dict(now.counters[engine]) if engine in now.counters else {}
        if before is not None and engine in before.counters:
            counted = {name: value - before.counters[engine].get(name, 0.0) for name, value in counted.items()}
            if any(value < 0 for value in counted.values()):
                build.note(
                    "warning", say("the counters went back between two scrapes: the engine was restarted"), now.line
                )
                counted = {}
        gauges = now.gauges.get(engine, {})
        hits, queries = counted.get("hits"), counted.get("queries")
        rate = {
            name: counted[what] / seconds if seconds is not None and what in counted else gauges.get(name)
            for name, what in (("gen_tok_s", "gen_tokens"), ("prompt_tok_s", "prompt_tokens"))
        }
        build.engine(
            "metrics",
            line=now.line,
            at=now.at,
            engine=engine or None,
            interval_s=seconds,
            running=gauges.get("running"),
            waiting=gauges.get("waiting"),
            kv_cache=gauges.get("kv_cache"),
            prefix_hit=hits / queries if hits is not None and queries else gauges.get("prefix_hit"),
            preemptions=counted.get("preemptions"),
            requests=counted.get("requests"),
            gen_tokens=counted.get("gen_tokens"),
            **rate,
        )


def _settings(build: RunBuilder, config: dict[str, str]) -> None:
    source = "metrics: cache_config_info"
    build.setting("model", config.get("model_name"), "metrics: model_name")
    blocks, size = config.get("num_gpu_blocks", ""), config.get("block_size", "")
    if blocks.isdigit() and size.isdigit():
        build.setting("kv_cache_tokens", int(blocks) * int(size), f"{source}: num_gpu_blocks x block_size", "inferred")
    if isinstance(share := plain(config.get("gpu_memory_utilization", "")), float):
        build.setting("gpu_memory_utilization", share, source)


class _Reader(DocumentReader):
    """A file of one or several scrapes."""

    format_name = "prometheus"

    def read(self) -> tuple[Run, ...]:
        """The one run."""
        text, build, found = self.text(), self.builder(), list[Scrape]()
        build.framework = "SGLang" if "\nsglang:" in text and "\nvllm:" not in text else "vLLM"
        for now in scrapes(text):
            add(build, now, found[-1] if found else None)
            _settings(build, now.config)
            found.append(now)
        if len(found) == 1:
            build.note("info", say("one scrape: its counters are since the engine's start; two scrapes give rates"))
        elif any(now.at is None for now in found):
            build.note(
                "missing", say("the scrapes carry no time: differences, but no rates (print `date +%s` before each)")
            )
        return (build.run(),)


def recognises(head: Head) -> Confidence:
    """CERTAIN: an exposition page with metrics of an engine."""
    for line in head.lines:
        if line.startswith(("# HELP vllm:", "# TYPE vllm:", "# HELP sglang:", "# TYPE sglang:")):
            return Confidence(Sure.CERTAIN, line[:100])
        if line.startswith(("vllm:", "sglang:")) and _SAMPLE.match(line):
            return Confidence(Sure.CERTAIN, line[:100])
    return NO


PROMETHEUS: Final = Format(
    name="prometheus",
    title="engine metrics page (Prometheus text)",
    kind="document",
    recognises=recognises,
    open=_Reader,
    reads="running and waiting requests, KV cache use, tokens, requests, preemptions; rates between two scrapes",
    lacks="training steps; times, unless printed before each scrape",
    more="while true; do date +%s; curl -s localhost:8000/metrics; sleep 10; done > metrics.txt",
    role="engine",
)
