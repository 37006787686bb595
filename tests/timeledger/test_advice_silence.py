"""Advice never rests on what a log does not say: a missing quantity is not 0, and what is missing is listed with how to log it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pytest

from tests.engine_sim import server_log
from tests.simulate import Plan, simulate
from tests.world import RICH, World
from timeledger import schema
from timeledger.advice import RULES, advise
from timeledger.advice.base import Rule
from timeledger.analysis import analyse
from timeledger.results import Facts
from timeledger.run import Run

CARD = Facts(gpu_gib=80.0)
BY_ID = {rule.id: rule for rule in RULES}


def fired(run: Run) -> set[str]:
    return {each.rule for each in advise(analyse(run, CARD)).advice}


def removals(run: Run) -> Iterator[tuple[str, Run]]:
    """Every way to take one column, phase, setting, metric or engine column away, as a need is named."""
    for name in run.steps.columns:
        if name not in {"segment", "step", "span", "line"} and run.steps[name].null_count() < run.steps.height:
            gone = pl.lit(None, dtype=schema.STEPS[name]).alias(name)
            yield f"column:{name}", replace(run, steps=run.steps.with_columns(gone))
    for phase in run.phases["phase"].unique().to_list():
        yield f"phase:{phase}", replace(run, phases=run.phases.filter(pl.col("phase") != phase))
    for name in run.info.settings:
        left = {key: value for key, value in run.info.settings.items() if key != name}
        yield f"setting:{name}", replace(run, info=run.info.model_copy(update={"settings": left}))
    for name in run.extra.columns:
        if name not in {"segment", "step"}:
            yield f"extra:{name}", replace(run, extra=run.extra.drop(name))
    for name in ("running", "waiting", "kv_cache", "prefix_hit", "preemptions", "gen_tok_s"):
        gone = pl.lit(None, dtype=schema.ENGINE[name]).alias(name)
        yield f"engine:{name}", replace(run, engine=run.engine.with_columns(gone))
    yield "all phases", replace(run, phases=schema.empty(schema.PHASES))
    yield "all engine lines", replace(run, engine=schema.empty(schema.ENGINE))


#: What another source tells when the phases do not: the fit's constant, and the clock's own evaluations and checkpoints.
OTHER_EVIDENCE = {
    "all phases": {"R3", "R19", "R20"}, "phase:weight_sync": {"R3"}, "phase:sleep_wake": {"R3"},
    "phase:evaluation": {"R19", "R20"}, "phase:checkpoint": {"R19", "R20"},
}  # fmt: skip


def only_need(rule: Rule, need: str) -> bool:
    """True when a rule cannot do without this need."""
    return need in rule.needs


@pytest.mark.parametrize(
    "world",
    [RICH, World(sync_s=1.0), World(limit=400, silent=0.5), World(framework="TRL", hidden=("truncated",))],
    ids=["rich", "plain", "cut", "hidden"],
)
def test_taking_evidence_away_never_makes_advice(world: World) -> None:
    """What is not measured is not 0: without it fewer rules fire, never others, and none that needs it."""
    run = world.run()
    before = fired(run)
    assert before
    for need, less in removals(run):
        after = fired(less)
        assert not {rule for rule in after if only_need(BY_ID[rule], need)}, need
        created = {rule for rule in after - before if BY_ID[rule].tier > 0}
        assert created <= OTHER_EVIDENCE.get(need, set()), (need, created)


def test_without_phases_no_phase_advice_but_how_to_log_them() -> None:
    run = replace(RICH.run(), phases=schema.empty(schema.PHASES))
    advised = advise(analyse(run, CARD))
    phase_rules = {
        rule.id for rule in RULES if any(need.startswith("phase:") and "|" not in need for need in rule.needs)
    }
    assert not {each.rule for each in advised.advice} & phase_rules
    assert advised.advice[0].rule == "R0a"
    listed = {each.rule: each for each in advised.not_judged}
    assert {"R8", "R21", "R31", "R33"} <= set(listed)
    assert "timing_s" in " ".join(listed["R21"].how)
    assert "weight sync" in listed["R21"].lacks[0]


def test_an_unknown_limit_or_truncation_is_listed_not_assumed() -> None:
    advised = advise(World(hidden=("truncated",), prompts=64, sigma=0.8, limit=4096).analysis())
    assert advised.find("R37") is None
    assert advised.find("R39") is None
    assert {each.rule for each in advised.not_judged} >= {"R37", "R39"}


def test_a_run_that_samples_nothing_gets_no_advice_on_sampling() -> None:
    run, _ = simulate(
        Plan(steps=40, planned=80, eval_every=10, eval_s=60.0),
        "stamps",
        lengths_shown=False,
        settings={"eval_steps": 10},
    )
    sft = replace(
        run, steps=run.steps.with_columns(pl.lit(0.5).alias("loss"), pl.lit(None, dtype=pl.Float64).alias("sequences"))
    )
    advised = advise(analyse(sft))
    assert {BY_ID[each.rule].of for each in advised.advice} <= {"any"}
    assert {BY_ID[each.rule].of for each in advised.not_judged} <= {"any"}
    assert advised.find("R19") is not None


def test_a_fitted_overhead_is_told_as_such() -> None:
    plan = Plan(
        steps=60, planned=200, fixed_s=12.0, s_per_token=0.02, len_first=100, len_last=500, driver="mean", noise=0.01
    )
    run, _ = simulate(plan, "stamps")
    found = advise(analyse(run)).find("R3")
    assert found is not None
    assert found.evidence["from"] == "fit"
    assert found.confidence == "low"
    assert found.saves_s is not None
    # Half as many steps of twice the batch: the fixed part is paid half as often.
    assert found.saves_s.low <= 140 * 12.0 / 2 <= 1.1 * found.saves_s.high


def test_empty_runs_are_survived() -> None:
    assert advise(analyse(server_log([]))).advice == ()
    run, _ = simulate(Plan(steps=1))
    assert advise(analyse(run)).sentence


def test_looking_first() -> None:
    """Tier 0: phases that are not logged, an engine that says nothing, time that is no pace."""
    silent_engine = World(settings={"gpu_memory_utilization": 0.5})
    assert "R0c" in fired(silent_engine.run())
    assert "R0c" not in fired(RICH.run())
    assert "R0c" not in fired(World(settings={"use_vllm": False}).run())
    paused, _ = simulate(Plan(steps=60, pauses=((30, 900.0),)), "stamps")
    assert "R0b" in fired(paused)
    assert "R0b" not in fired(simulate(Plan(steps=60), "stamps")[0])
    assert "R0a" in fired(paused)
    assert "R0a" not in fired(RICH.run())
