"""Spans of a step in one list: `{"step": 3, "spans": [{"name": "rollout", "duration": 8.1, "wall_start": 0.2, "wall_end": 8.3}]}`.

Spans that lie inside another one take their time from it, so that what is left can be added. What ran at once cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from parsers.fields import resolve
from parsers.values import EARLIEST, real

_NAMES: Final = ("name", "span", "label")
_TIMES: Final = {"duration": 1.0, "seconds": 1.0, "duration_s": 1.0, "elapsed": 1.0, "dur": 1.0, "duration_ms": 1e-3}
_STARTS: Final = ("wall_start", "start", "start_time", "begin")
_ENDS: Final = ("wall_end", "end", "end_time")
_MOST: Final = 200
#: Two clocks of one span differ by so many seconds, or by this share of it.
_NEAR: Final = 2e-3
_SHARE: Final = 0.02
#: A span so named beside others is the optimizer's.
_STEP: Final = frozenset({"step", "optim_step", "train_step"})
#: So much of a span lies in the one that holds it.
_INSIDE: Final = 0.9


@dataclass(slots=True, eq=False)
class _Span:
    name: str
    start: float
    end: float
    took: float
    own: float
    around: _Span | None = None
    holds: bool = False


def spread(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the spans of its first list of them as times by name (`time/rollout`), and the end of the last as `time`."""
    for key, raw in record.items():
        if isinstance(raw, list) and raw and isinstance(raw[0], dict) and (found := _read(raw)):
            rest = {name: value for name, value in record.items() if name != key}
            return {**_told(found), **rest}
    return record


def _read(raw: list[Any]) -> list[_Span]:
    """The spans of a list; none when one of them lacks its name, its start or its end."""
    found: list[_Span] = []
    for each in raw[:_MOST]:
        if not isinstance(each, dict):
            return []
        name = next((each[key] for key in _NAMES if isinstance(each.get(key), str)), "")
        start, end = (next((real(each[key]) for key in keys if key in each), None) for keys in (_STARTS, _ENDS))
        took = next(
            (value * scale for key, scale in _TIMES.items() if (value := real(each.get(key))) is not None), None
        )
        if start is not None and end is None and took is not None:
            end = start + took
        if not name or start is None or end is None or end < start:
            return []
        took = end - start if took is None else took
        found.append(_Span(name, start, end, took, took))
    return found if len(raw) <= _MOST else []


def _told(spans: list[_Span]) -> dict[str, float]:
    """What a step's spans took by their names, and when the last one ended."""
    first, last = min(span.start for span in spans), max(span.end for span in spans)
    told = {"timestamp": last} if first >= EARLIEST else {"time": last}
    parts = _apart(spans)
    if sum(parts.values()) > (last - first) * (1 + _SHARE) + _NEAR:
        return told  # some ran at once
    return told | parts


def _apart(spans: list[_Span]) -> dict[str, float]:
    """Seconds by name, each without those of the spans inside it."""
    ordered = sorted(spans, key=lambda span: -span.took)
    for place, span in enumerate(ordered):
        span.around = next((outer for outer in reversed(ordered[:place]) if _holds(outer, span)), None)
        if span.around is not None:
            span.around.own -= span.took
            span.around.holds = True
    parts: dict[str, float] = {}
    for span in spans:
        key = _key(span)
        parts[key] = parts.get(key, 0.0) + max(span.own, 0.0)
    return parts


def _holds(outer: _Span, inner: _Span) -> bool:
    """True when nearly all of a span lies inside another; the ends of both are told to a few milliseconds."""
    if inner.end - inner.start <= _NEAR:
        return outer.start - _NEAR <= inner.start <= inner.end <= outer.end + _NEAR
    return min(outer.end, inner.end) - max(outer.start, inner.start) >= _INSIDE * (inner.end - inner.start)


def _key(span: _Span) -> str:
    """The name of a span as a time; one that says nothing of its work is named after what it was called for."""
    rest = ": rest" if span.holds else ""
    if span.name in _STEP:
        return f"time/step{rest}" if rest else "time/optim_step"
    around = span.around
    while around is not None and not _says(span.name):
        if _says(around.name):
            return f"time/{around.name}: {span.name}{rest}"
        around = around.around
    return f"time/{span.name}{rest}"


def _says(name: str) -> bool:
    found = resolve(f"time/{name}")
    return found.kind == "phase" and found.name != "other"
