"""What vLLM says once: its arguments, the size of its cache, how long it took to start, fall asleep and wake up."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from parsers.build import RunBuilder
from parsers.literals import plain
from timeledger import units
from timeledger.run import SettingValue

_Kind = Literal["sleep", "wake", "start", "weight_sync"]
#: vLLM's own argument -> the setting's name here.
_ARGUMENTS: Final = {
    "gpu_memory_utilization": "gpu_memory_utilization",
    "max_model_len": "max_model_len",
    "max_seq_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "vllm.max_num_batched_tokens",
    "enforce_eager": "enforce_eager",
    "enable_sleep_mode": "enable_sleep_mode",
    "tensor_parallel_size": "tensor_parallel_size",
    "data_parallel_size": "vllm.data_parallel_size",
    "enable_prefix_caching": "vllm.enable_prefix_caching",
    "dtype": "vllm.dtype",
    "model": "model",
}
_NAMES: Final = "|".join(_ARGUMENTS)
_VALUE: Final = r"(?P<value>'[^']*'|\"[^\"]*\"|[^,()\s{}]+)"
_AS_DICT: Final = re.compile(rf"'(?P<key>{_NAMES})': {_VALUE}")
_AS_CALL: Final = re.compile(rf"\b(?P<key>{_NAMES})={_VALUE}")

#: Marker, pattern with the setting's value as group 1 (None: the marker alone says True or False), setting.
_LINES: Final[tuple[tuple[str, str | None, str, SettingValue | None], ...]] = (
    ("Using max model len", r"Using max model len (\d+)", "max_model_len", None),
    ("KV cache size", r"KV cache size: ([\d,]+) tokens", "kv_cache_tokens", None),
    ("Maximum concurrency for", r"Maximum concurrency for ([\d,]+) tokens", "max_model_len", None),
    ("Maximum concurrency for", r"tokens per request: ([\d.]+)x", "vllm.max_concurrency", None),
    ("x gpu_memory_utilization (", r"gpu_memory_utilization \(([\d.]+)\)", "gpu_memory_utilization", None),
    ("Available KV cache memory", r"Available KV cache memory: ([\d.]+) GiB", "vllm.kv_cache_gib", None),
    ("enable_sleep_mode: ", r"enable_sleep_mode: (True|False)", "enable_sleep_mode", None),
    ("Chunked prefill is enabled", r"max_num_batched_tokens=(\d+)", "vllm.max_num_batched_tokens", None),
    ("Enforce eager set", None, "enforce_eager", True),
    ("Cudagraph is disabled under eager mode", None, "enforce_eager", True),
    ("Graph capturing finished in", None, "enforce_eager", False),
    ("Graph capturing finished in", r"finished in (\d+) secs", "vllm.graph_capture_s", None),
    ("Model loading took", r"Model loading took ([\d.]+) G", "vllm.model_gib", None),
    ("Loading model weights took", r"weights took ([\d.]+) GB", "vllm.model_gib", None),
    ("torch.compile t", r"torch\.compile t(?:akes|ook) ([\d.]+) s in total", "vllm.compile_s", None),
    ("Sleep mode freed", r"Sleep mode freed ([\d.]+) GiB", "vllm.sleep_frees_gib", None),
)
_SETTING_LINES: Final = tuple(
    (mark, re.compile(pattern) if pattern else None, name, value) for mark, pattern, name, value in _LINES
)
_SLEEP: Final = re.compile(r"It took ([\d.]+) seconds to (fall asleep|wake up)(?: tags (.*?))?\.?\s*$")
_INIT: Final = re.compile(r"init engine \([^)]*\) took ([\d.]+) s")
_BLOCKS: Final = re.compile(r"# (?:GPU|cuda|\w+) blocks: ([\d,]+), # CPU blocks: ")
_CONCURRENCY: Final = re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")
PID: Final = re.compile(r"pid=(\d+(?:, ip=[\d.]+)?)\)")
#: Processes of one engine group fall asleep within this time of each other.
_TOGETHER: Final = timedelta(seconds=120)


@dataclass(slots=True)
class _Group:
    """Reports of one event by several processes: the event's row, who has reported, and whether more may follow."""

    row: dict[str, Any]
    at: datetime | None
    members: set[str] = field(default_factory=set)
    more: bool = True


class EngineFacts:
    """Reads the lines that are printed once an engine, or once a sleep, into settings and events of `build`."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._blocks: float | None = None

    def take(self, build: RunBuilder, text: str, line: int, at: datetime | None) -> bool:
        """Read one line (process prefixes left on: they tell replicas apart); True when it told something."""
        if "non-default args" in text:
            return self._arguments(build, text, _AS_DICT, "vLLM: non-default args")
        if "LLM engine" in text and "with config" in text:
            return self._arguments(build, text, _AS_CALL, "vLLM: engine config")
        if "args: Namespace(" in text:
            return self._arguments(build, text, _AS_CALL, "vLLM: server arguments")
        if "blocks: " in text and (blocks := _BLOCKS.search(text)):
            self._blocks = units.number(blocks.group(1))
            return True
        return self._setting(build, text) | self._concurrency(build, text) | self._event(build, text, line, at)

    def _concurrency(self, build: RunBuilder, text: str) -> bool:
        """Version 0 prints the cache in blocks: the size of a block that fits the printed concurrency gives tokens."""
        if self._blocks is None or (match := _CONCURRENCY.search(text)) is None:
            return False
        length, times = units.number(match.group(1)), units.number(match.group(2))
        size = round(times * length / self._blocks) if times and length and self._blocks else 0
        if size in {8, 16, 32, 64, 128}:
            build.setting("kv_cache_tokens", int(self._blocks * size), "vLLM: GPU blocks and concurrency", "inferred")
        self._blocks = None
        return True

    @staticmethod
    def _arguments(build: RunBuilder, text: str, pattern: re.Pattern[str], source: str) -> bool:
        for match in pattern.finditer(text[:20_000]):
            build.setting(_ARGUMENTS[match["key"]], plain(match["value"]), f"{source}: {match['key']}")
        return True

    @staticmethod
    def _setting(build: RunBuilder, text: str) -> bool:
        told = False
        for mark, pattern, name, value in _SETTING_LINES:
            if mark not in text:
                continue
            told = True
            if pattern is None:
                build.setting(name, value, f"vLLM: {mark}", "inferred")
            elif match := pattern.search(text):
                build.setting(name, plain(match.group(1)), f"vLLM: {mark.strip()}")
        return told

    def _event(self, build: RunBuilder, text: str, line: int, at: datetime | None) -> bool:
        if (" seconds to " in text) and (match := _SLEEP.search(text)):
            kind: _Kind = "sleep" if match.group(2) == "fall asleep" else "wake"
            what = f"vLLM {kind}" + (f", {_tags(match.group(3))}" if match.group(3) else "")
            self._reported(build, kind, what, text, line, at, units.number(match.group(1)))
        elif "init engine (" in text and (match := _INIT.search(text)):
            self._reported(build, "start", "vLLM engine ready", text, line, at, units.number(match.group(1)))
        elif "uccessfully reset prefix cache" in text:
            self._reported(
                build, "weight_sync", "vLLM prefix cache reset (new weights, or sleep)", text, line, at, None
            )
        elif " is preempted by " in text:
            build.event("warning", line=line, at=at, text="vLLM preempts sequences: not enough KV cache")
        else:
            return False
        return True

    def _reported(
        self,
        build: RunBuilder,
        kind: _Kind,
        what: str,
        text: str,
        line: int,
        at: datetime | None,
        seconds: float | None,
    ) -> None:
        """One process reports an event: replicas that report the same one make one event, as long as the slowest took."""
        pids = PID.findall(text[:300])
        who = pids[-1] if pids else ""
        group = self._groups.get(what)
        if group is not None and self._same(group, who, at, build.last_step):
            group.members.add(who)
            if seconds is not None:
                group.row["seconds"] = max(seconds, group.row["seconds"] or 0.0)
            return
        if not who:  # without process ids, another kind of event is what ends a group
            for other in self._groups.values():
                other.more = False
        row = build.event(kind, line=line, at=at, seconds=seconds, text=what)
        self._groups[what] = _Group(row, at, {who})

    @staticmethod
    def _same(group: _Group, who: str, at: datetime | None, step: int | None) -> bool:
        if not group.more or group.row["step"] != step or (who and who in group.members):
            return False
        return at is None or group.at is None or abs(at - group.at) <= _TOGETHER


def _tags(text: str) -> str:
    """The tags of a wake-up, in one order: they are printed as a list, or as a set in any order."""
    return " and ".join(sorted(re.findall(r"\w+", text))) or "all"
