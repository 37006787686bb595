"""Lists of spans: what each step took in all, and what of it its parts, none of them twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parsers import read
from parsers.spans import spread
from timeledger.breakdown import breakdown
from timeledger.clock import clock
from timeledger.run import Run


def _span(name: str, start: float, end: float) -> dict[str, Any]:
    return {"name": name, "duration": end - start, "wall_start": start, "wall_end": end}


def _step(n: int, base: float = 0.0) -> list[dict[str, Any]]:
    """Generation, and a batch that is handed in and waited for: the optimizer's step and now and then an evaluation lie inside."""
    spans = [_span("rollout", base + 0.01, base + 8 + n % 3)]
    at = base + 8 + n % 3 + 0.002
    if n % 5 == 4:
        spans += [_span("run_evaluator", at + 0.003, at + 30), _span("evals", at + 0.002, at + 30.001)]
        spans.append(_span("submit_batch", at, at + 30.01))
        at += 30.02
    return [*spans, _span("step", at, at + 4), _span("finish_batch", at, at + 4.01)]


def _run(rows: list[dict[str, Any]]) -> Run:
    return read("".join(json.dumps(row) + "\n" for row in rows).encode(), name="timing_spans.jsonl")


def test_the_last_span_ends_the_step_and_parts_are_counted_once() -> None:
    rows: list[dict[str, Any]] = [{"step": n, "spans": _step(n)} for n in range(40)]
    run = _run(rows)
    ends = [max(span["wall_end"] for span in row["spans"]) for row in rows]
    assert run.steps["step_s"].to_list() == ends
    found = clock(run)
    assert found.elapsed_s == pytest.approx(sum(ends))
    told = {phase.phase: phase.seconds for phase in breakdown(run, found).phases}
    assert told["update"] == pytest.approx(4.0, abs=0.05)
    assert told["evaluation"] == pytest.approx(30.0 / 5, rel=0.02)
    assert told["rollout"] == pytest.approx(sum(8 + n % 3 for n in range(40)) / 40, rel=0.02)


def test_moments_of_spans_date_the_rows() -> None:
    rows = [{"step": n, "spans": _step(n, 1.76e9 + 60.0 * n)} for n in range(12)]
    run = _run(rows)
    assert run.steps["at"].null_count() == 0
    assert clock(run).source == "timestamps"


def test_spans_of_one_clock_through_the_run_make_a_clock() -> None:
    run = _run([{"step": n, "spans": _step(n, 60.0 * n)} for n in range(12)])
    assert run.steps["step_s"].null_count() == 12
    assert run.steps["elapsed_s"].null_count() == 0


def test_spans_that_run_at_once_are_not_added() -> None:
    spans = [_span("rollout", 0.0, 10.0), _span("train", 5.0, 14.0)]
    run = _run([{"step": n, "loss": 0.5, "spans": [*spans, _span("save", 14.0, 14.5 + n % 2)]} for n in range(8)])
    assert run.phases.is_empty()
    assert run.steps["step_s"].to_list() == [14.5 + n % 2 for n in range(8)]


@pytest.mark.parametrize(
    "spans",
    [[], [{}], ["a"], [{"name": "a", "duration": 3.0}], [{"name": "a", "start": 3.0, "end": 1.0}], [{"name": 3, "start": 1, "end": 2}],
     [_span("a", 0, 1), {"text": "b"}], [{"role": "user", "content": "hi"}]],
)  # fmt: skip
def test_other_lists_stay_as_they_are(spans: list[Any]) -> None:
    record = {"step": 1, "spans": spans}
    assert spread(record) == record
