"""Fragments of real logs, as people quote them: every value that is expected of one, against what is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parsers
from timeledger.errors import UnknownFormat
from timeledger.run import Run

pytestmark = pytest.mark.corpus

#: Expected names -> columns of a step, phases of a step, columns of an engine's sample.
STEPS = {
    "step_s": "step_s",
    "len_mean": "len_mean",
    "len_max": "len_max",
    "reward": "reward",
    "tokens": "tokens",
    "tok_s": "gen_tok_s",
}
PHASES = {
    "gen_s": "rollout",
    "gen_s_avg": "rollout",
    "update_actor_s": "update",
    "train_s": "update",
    "old_log_prob_s": "old_logprob",
    "logprob_s": "old_logprob",
    "logprob_s_avg": "old_logprob",
    "ref_s": "ref_logprob",
    "adv_s": "advantage",
    "weight_sync_s": "weight_sync",
    "teacher_forward_s": "other",
}
ENGINE = {
    "prompt_tok_s": "prompt_tok_s",
    "gen_tok_s": "gen_tok_s",
    "running": "running",
    "waiting": "waiting",
    "kv": "kv_cache",
}
#: Tables and averages over a whole run: no line of a log, and no step. They must stay unknown.
NO_LOG = {
    "011": "a table written into an issue: mean durations of a run, without a step",
    "023": "a table written into an issue: latencies of an engine's sleep and wake, no run",
    "033": "a list written into an issue: sums over three steps, without a step",
    "041": "averages over 45 steps of a benchmark, without a step",
}
#: Single values that are not read, with the reason.
NOT_READ = {
    ("003", "steps.0.step"): "94 stands in the prose around the fragment only; the row is counted, and that is noted",
    ("007", "slime.rollout_s"): "two loose keys of another framework beside verl's line, in no form that it prints",
    ("007", "slime.step_s"): "as above",
    ("007", "verl.gen_engine_s"): "a maximum over engines is no phase of the step: kept as an extra metric",
    ("009", "steps.0.step"): "the fragment has no step number: the row is counted, and that is noted",
    ("015", "engine.0.swapped"): "engines of today do not swap: no column",
}
NOTHING = object()


def expectations(corpus: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((corpus / "fetched" / "snippets" / "expected.json").read_text())
    return {name[:3]: each["expected"] for name, each in found.items()}


def snippet(corpus: Path, number: str) -> Path:
    (path,) = (corpus / "fetched" / "snippets").glob(f"{number}-*")
    return path


def told(run: Run, want: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, expected value, read value) of every leaf of an expectation that has a place in a run."""
    verl = {"steps": [want["verl"]]} if "verl" in want else {}
    for at, step in enumerate({**want, **verl}.get("steps", [])):
        row = run.steps.to_dicts()[at] if at < run.steps.height else {}
        of_step = run.phases.filter(step=row.get("step"))
        seconds = {one["phase"]: one["seconds"] for one in of_step.to_dicts()}
        for name, value in step.items():
            where = f"verl.{name}" if verl else f"steps.{at}.{name}"
            read = seconds.get(PHASES[name], NOTHING) if name in PHASES else row.get(STEPS.get(name, name), NOTHING)
            yield where, value, read
    for name in ("slime",):
        for key, value in want.get(name, {}).items():
            yield f"{name}.{key}", value, NOTHING
    for key, column in (("len_mean", "len_mean"), ("reward", "reward"), ("step_s", "step_s")):
        if isinstance(want.get(key), list):
            yield key, want[key], run.steps[column].to_list()
    for at, sample in enumerate(want.get("engine", [])):
        row = run.engine.to_dicts()[at]
        for name, value in sample.items():
            yield f"engine.{at}.{name}", value, row.get(ENGINE.get(name, name), NOTHING)
    for name in ("gen_tok_s", "running", "interval_s"):
        if name in want:
            values = run.engine[name].to_list()
            yield name, want[name], values[1:] if name == "interval_s" else values
    sizes = {"engine_lines": run.engine.height, "rows": run.steps.height, "rl": run.steps["reward"].count() > 0}
    for name in sizes.keys() & want.keys():
        yield name, want[name], sizes[name]
    if isinstance(want.get("steps"), list):
        yield "number of steps", len(want["steps"]), run.steps.height or len(set(run.phases["step"]))
    yield from told_beside(run, want)


def told_beside(run: Run, want: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What stands outside of the rows: the plan, the bar, sums and validations."""
    if "total_steps" in want:
        yield "total_steps", want["total_steps"], run.info.setting("total_steps")
    for name, column in (("done", "step"), ("elapsed_s", "elapsed_s"), ("remaining_s", "remaining_s")):
        if "progress" in want:
            yield f"progress.{name}", want["progress"][name], run.progress[column][-1]
    if "phase_sum" in want:
        yield "phase_sum", want["phase_sum"], run.phases["seconds"].sum()
    evaluations = run.events.filter(kind="evaluation").to_dicts()
    for at, validation in enumerate(want.get("validation", [])):
        event = evaluations[at] if at < len(evaluations) else {}
        yield f"validation.{at}.step", validation["step"], event.get("step", NOTHING)
        if "seconds" in validation:
            yield f"validation.{at}.seconds", validation["seconds"], event.get("seconds", NOTHING)
        shown = f"{validation['reward']:.3f}"
        yield f"validation.{at}.reward", shown, shown if shown in event.get("text", "") else NOTHING


def leaves(run: Run, want: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The same with every item of a list for itself."""
    for name, value, read in told(run, want):
        if isinstance(value, list):
            assert len(value) == len(read), name
            yield from ((f"{name}.{at}", *pair) for at, pair in enumerate(zip(value, read, strict=True)))
        else:
            yield name, value, read


def test_every_expected_value_is_right_or_missing_for_a_reason(corpus: Path) -> None:
    right, wrong, missing, unused = 0, [], [], dict(NOT_READ)
    for number, want in expectations(corpus).items():
        if number in NO_LOG:
            continue
        for name, value, read in leaves(parsers.read(snippet(corpus, number)), want):
            if unused.pop((number, name), None) is not None:
                assert read is NOTHING or read == 1, (number, name)  # no value, or a counted step
            elif read == value or (value is not None and read == pytest.approx(value, rel=1e-3)):
                right += 1
            elif read is NOTHING or read is None:
                missing.append((number, name))
            else:
                wrong.append((number, name, value, read))
    assert wrong == []
    assert unused == {}
    assert right >= 80
    assert len(missing) <= 0.05 * right, missing


def test_no_expectation_is_left_out(corpus: Path) -> None:
    """Each fragment gives at least one comparison, so that none passes by not being looked at."""
    for number, want in expectations(corpus).items():
        if number not in NO_LOG:
            assert list(told(parsers.read(snippet(corpus, number)), want)), number


@pytest.mark.parametrize("number", NO_LOG)
def test_tables_and_averages_are_no_log(corpus: Path, number: str) -> None:
    with pytest.raises(UnknownFormat):
        parsers.read(snippet(corpus, number))
