"""The breakdown: parents or children, never both; shares add up to the step; what cannot be split is said, with how to log it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate import Plan, simulate
from tests.timeledger.test_projection import rows_run
from timeledger import schema
from timeledger.breakdown import breakdown
from timeledger.clock import clock
from timeledger.phases import top_level
from timeledger.results import Breakdown, Facts, Span, Timing
from timeledger.run import Run

STEPS = 40
Phase = tuple[str, str, float, str | None]


def run_with(
    phases: list[Phase],
    step_s: float | None,
    *,
    outside: Any = None,
    overlaps: tuple[str, ...] = (),
    steps: int = STEPS,
) -> Run:
    """A run whose every step takes `step_s` and has the phases (canonical, own name, seconds, parent)."""
    run, _ = simulate(Plan(steps=steps), "step_s")
    own = pl.lit(step_s, pl.Float64).alias("step_s")
    rows = [
        {
            "segment": 0, "step": step, "phase": phase, "name": name, "parent": parent, "seconds": seconds,
            "outside": outside, "overlaps": name in overlaps,
        }
        for step in range(1, steps + 1)
        for phase, name, seconds, parent in phases
    ]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else schema.empty(schema.PHASES)
    return replace(run, steps=run.steps.with_columns(own), phases=schema.conform(frame, schema.PHASES))


def split(run: Run, **more: Any) -> Breakdown:
    found = breakdown(run, clock(run), **more)
    adds_up(found)
    return found


def adds_up(found: Breakdown) -> None:
    """Phases and the unexplained rest are the step, to the last digit; nothing is negative."""
    if found.step_s is None or found.unexplained_s is None:
        return
    assert sum(each.seconds for each in found.phases) + found.unexplained_s == pytest.approx(found.step_s, rel=1e-9)
    assert found.unexplained_s >= 0
    assert all(each.seconds >= 0 and 0 <= each.share <= 1 + 1e-9 for each in found.phases)
    if "fixed" not in found.parts:
        assert sum(found.parts.values()) == pytest.approx(found.step_s, rel=1e-9)
    assert (found.by_step["seconds"] >= 0).all()


def seconds(found: Breakdown) -> dict[str, float]:
    return {each.phase: each.seconds for each in found.phases}


# --- parents and children, by framework --------------------------------------------------------------------------


def test_verl_gen_holds_generate_sequences_and_reshard() -> None:
    run = run_with(
        [
            ("rollout", "gen", 40.0, None), ("rollout", "generate_sequences", 30.0, "gen"), ("weight_sync", "reshard", 8.0, "gen"),
            ("old_logprob", "old_log_prob", 5.0, None), ("update", "update_actor", 14.0, None),
        ],
        60.0,
    )  # fmt: skip
    found = split(run)
    assert seconds(found) == pytest.approx({"rollout": 40, "old_logprob": 5, "update": 14})
    assert found.unexplained_s == pytest.approx(1)
    assert found.sampling_share == pytest.approx(40 / 60)
    assert found.training_share == pytest.approx(19 / 60)
    assert found.fixed_share is None  # no overhead phase was logged: not measured is not 0


def test_verl_phases_of_workers_that_no_table_knows_are_not_added_twice() -> None:
    """`update_policy` and `offload_param` ran inside update_actor: the other phases already fill the step."""
    run = run_with(
        [
            ("rollout", "gen", 40.0, None), ("update", "update_actor", 19.5, None), ("other", "update_policy", 15.0, None),
            ("sleep_wake", "offload_param", 3.0, None),
        ],
        60.0,
    )  # fmt: skip
    run = replace(
        run,
        phases=run.phases.with_columns(
            pl.when(pl.col("name").is_in(["gen", "update_actor"])).then(False).alias("outside")
        ),
    )
    assert seconds(split(run)) == pytest.approx({"rollout": 40, "update": 19.5})


def test_slime_train_holds_log_probs_and_actor_train_and_sleeps_outside() -> None:
    run = run_with(
        [
            ("wait", "train_wait", 20.0, None), ("update", "train", 30.0, None), ("old_logprob", "log_probs", 6.0, "train"),
            ("update", "actor_train", 23.0, "train"),
        ],
        50.0,
        outside=False,
    )  # fmt: skip
    rows = [
        {"segment": 0, "step": s, "phase": p, "name": n, "outside": True, "overlaps": False, "seconds": v}
        for s in range(1, STEPS + 1)
        for p, n, v in (
            ("sleep_wake", "sleep", 2.0),
            ("sleep_wake", "wake_up", 3.0),
            ("weight_sync", "update_weights", 5.0),
        )
    ]
    run = replace(run, phases=pl.concat([run.phases, schema.conform(pl.DataFrame(rows), schema.PHASES)]))
    found = split(run)
    assert found.step_s == pytest.approx(60)  # the framework's step of 50 s and 10 s that it leaves out
    assert seconds(found) == pytest.approx({"wait": 20, "update": 30, "sleep_wake": 5, "weight_sync": 5})
    assert found.fixed_share == pytest.approx(10 / 60)
    assert found.unexplained_s == pytest.approx(0, abs=1e-9)


def test_nemo_rl_preparation_holds_the_weight_transfer() -> None:
    run = run_with(
        [
            ("rollout", "generation", 30.0, None), ("sleep_wake", "prepare_for_generation/total", 6.0, None),
            ("weight_sync", "prepare_for_generation/transfer_and_update_weights", 4.0, "prepare_for_generation/total"),
            ("update", "policy_training", 20.0, None),
        ],
        60.0,
    )  # fmt: skip
    found = split(run)
    assert seconds(found) == pytest.approx({"rollout": 30, "update": 20, "sleep_wake": 6})
    assert found.unexplained_s == pytest.approx(4)


def test_nemo_rl_validation_is_in_the_step_but_never_a_phase() -> None:
    run = run_with([("rollout", "generation", 30.0, None), ("update", "policy_training", 20.0, None)], None)
    step_s = [50.0 + (36.0 if s % 10 == 0 else 0.0) for s in range(1, STEPS + 1)]
    run = replace(run, steps=run.steps.with_columns(pl.Series("step_s", step_s)))
    settings = {"eval_steps": run.info.settings["total_steps"].model_copy(update={"value": 10})}
    found = split(run.with_settings(**settings))
    assert seconds(found)["evaluation"] == pytest.approx(3.6)
    assert found.unexplained_s == pytest.approx(0, abs=1e-6)
    assert next(each.kind for each in found.phases if each.phase == "evaluation") == "inferred"


def test_areal_phases_without_a_step_time_are_the_step() -> None:
    run = run_with(
        [
            ("rollout", "timeperf/rollout", 2.0, None),
            ("update", "timeperf/train_step", 7.0, None),
            ("weight_sync", "timeperf/update_weights", 11.0, None),
        ],
        None,
    )
    found = split(run)
    assert found.step_s == pytest.approx(20)
    assert seconds(found)["weight_sync"] == pytest.approx(11)
    assert found.fixed_share == pytest.approx(0.55)


def test_a_child_alone_counts_for_its_parent() -> None:
    run = run_with([("rollout", "generate_sequences", 30.0, "gen"), ("update", "update_actor", 20.0, None)], 52.0)
    assert seconds(split(run)) == pytest.approx({"rollout": 30, "update": 20})


def test_a_grandchild_is_not_added_beside_its_grandparent() -> None:
    run = run_with(
        [
            ("rollout", "prepare", 30.0, None),
            ("rollout", "generate", 20.0, "middle"),
            ("other", "middle", 25.0, "prepare"),
        ],
        31.0,
    )
    assert seconds(split(run)) == pytest.approx({"rollout": 30})
    without_middle = replace(run, phases=run.phases.filter((pl.col("name") != "middle") | (pl.col("step") == 1)))
    assert seconds(split(without_middle)) == pytest.approx({"rollout": 30})


def test_skyrl_train_holds_policy_and_critic() -> None:
    run = run_with(
        [
            ("rollout", "generate", 10.0, None), ("update", "train_critic_and_policy", 20.0, None), ("update", "policy_train", 12.0, "train_critic_and_policy"),
            ("update_critic", "critic_train", 8.0, "train_critic_and_policy"),
        ],
        30.0,
    )  # fmt: skip
    assert seconds(split(run)) == pytest.approx({"rollout": 10, "update": 20})


# --- outside the step, overlap -----------------------------------------------------------------------------------


def test_work_outside_the_step_is_spread_over_all_steps() -> None:
    run = run_with([("rollout", "gen", 6.0, None), ("update", "update_actor", 3.0, None)], 9.0)
    testing = [
        {"segment": 0, "step": s, "phase": "evaluation", "name": "testing", "overlaps": False, "seconds": 20.0}
        for s in (10, 20, 30, 40)
    ]
    run = replace(run, phases=pl.concat([run.phases, schema.conform(pl.DataFrame(testing), schema.PHASES)]))
    found = split(run)
    assert found.step_s == pytest.approx(11)
    assert seconds(found) == pytest.approx({"rollout": 6, "update": 3, "evaluation": 2})
    assert found.parts == pytest.approx({"sampling": 6, "forward-backward": 3, "evaluation": 2})


def test_generation_beside_training_is_not_added() -> None:
    run = run_with(
        [
            ("update", "update_actor", 20.0, None),
            ("weight_sync", "sync_rollout_weights", 2.0, None),
            ("rollout", "generate_async", 35.0, None),
        ],
        36.0,
        outside=False,
        overlaps=("generate_async",),
    )
    found = split(run)
    assert found.overlapped
    assert found.step_s == pytest.approx(36)
    assert seconds(found) == pytest.approx({"update": 20, "weight_sync": 2, "wait": 13})
    assert found.unexplained_s == pytest.approx(1)
    assert found.why is not None
    assert "overlap" in found.why


def test_training_that_does_not_fit_beside_generation_runs_at_the_same_time() -> None:
    """A loop of one's own, whose table says nothing: 30 s of rollout and 20 s of training in a step of 31 s."""
    found = split(run_with([("rollout", "rollout", 30.0, None), ("update", "train", 20.0, None)], 31.0))
    assert found.overlapped
    assert seconds(found) == pytest.approx({"rollout": 30})
    assert found.unexplained_s == pytest.approx(1)


def test_who_waits_for_answers_does_not_make_them_meanwhile() -> None:
    phases: list[Phase] = [("wait", "wait_for_rollout", 11.5, None), ("update", "train", 20.0, None), ("rollout", "rollout_async", 30.0, None)]  # fmt: skip
    found = split(run_with(phases, 32.0))
    assert found.overlapped
    assert seconds(found) == pytest.approx({"update": 20, "wait": 11.5})
    assert found.unexplained_s == pytest.approx(0.5)


def test_what_does_not_fit_is_named() -> None:
    phases: list[Phase] = [("rollout", "rollout_time", 20.0, None), ("update", "train_time", 10.0, None), ("reward", "reward_time", 5.0, None)]  # fmt: skip
    found = split(run_with(phases, 31.0))
    assert seconds(found) == pytest.approx({"rollout": 20, "update": 10})
    assert not found.overlapped
    assert "reward_time" in (found.why or "")


def test_a_validation_before_training_is_no_step() -> None:
    run = run_with([("rollout", "gen", 40.0, None), ("update", "update_actor", 19.0, None)], 60.0)
    zero = {"segment": 0, "step": 0, "phase": "evaluation", "name": "testing", "overlaps": False, "seconds": 880.0}
    row = schema.conform(pl.DataFrame({"segment": [0], "step": [0], "span": [1]}), schema.STEPS)
    before = schema.conform(pl.DataFrame([zero]), schema.PHASES)
    found = split(replace(run, steps=pl.concat([row, run.steps]), phases=pl.concat([before, run.phases])))
    assert not found.overlapped
    assert seconds(found) == pytest.approx({"rollout": 40, "update": 19})


def test_phases_that_exceed_the_step_are_never_a_negative_rest() -> None:
    run = run_with([("rollout", "generation", 30.0, None), ("update", "train", 25.0, None)], 40.0, outside=False)
    found = split(run)
    assert found.overlapped
    assert found.unexplained_s == 0
    assert found.step_s == pytest.approx(40)
    assert found.why is not None
    assert "same time" in found.why


def test_a_slow_start_does_not_count() -> None:
    run = run_with([("rollout", "gen", 6.0, None)], 10.0)
    slow = pl.when(pl.col("step") == 1).then(300.0).otherwise(pl.col("step_s"))
    run = replace(run, steps=run.steps.with_columns(slow.alias("step_s")))
    assert split(run).step_s == pytest.approx(10)


def test_every_step_has_its_own_parts() -> None:
    run = run_with([("rollout", "gen", 6.0, None), ("update", "update_actor", 3.0, None)], 10.0)
    by_step = split(run).by_step
    assert by_step.filter(pl.col("step") == 7).sort("phase").rows() == [
        (7, "rollout", 6.0),
        (7, "unexplained", 1.0),
        (7, "update", 3.0),
    ]
    assert by_step["step"].n_unique() == STEPS


# --- without phases ----------------------------------------------------------------------------------------------


def timing(fixed: float | None, per_token: float, gen_tok_s: float | None = None) -> Timing:
    span = None if fixed is None else Span(fixed, fixed, fixed)
    return Timing(
        driver="mean", fixed_s=span, s_per_token=Span(per_token, per_token, per_token), gen_tok_s=gen_tok_s, gen_tok_s_from=None,
        train_tok_s=None, train_tok_s_from=None, quality=None, points=pl.DataFrame(), sentence="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("framework", "word"),
    [
        ("TRL", "report_to"),
        ("verl", "trainer.logger"),
        ("OpenRLHF", "0.9.6"),
        ("ms-swift", "report_to"),
        (None, "gen_s="),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_the_framework(framework: str | None, word: str) -> None:
    run, _ = simulate(Plan(steps=30), "step_s")
    run = replace(run, info=run.info.model_copy(update={"framework": framework}))
    found = split(run)
    assert found.phases == ()
    assert found.sampling_share is None
    assert found.why is not None
    assert "cannot be told apart" in found.why
    assert word in found.why


def test_nothing_known_is_none_and_not_zero() -> None:
    run, _ = simulate(Plan(steps=30))
    run = replace(run, steps=run.steps.with_columns(pl.lit(None, schema.UTC_TIME).alias("at")))
    found = breakdown(run, clock(run))
    assert (found.step_s, found.unexplained_s, found.phases, found.sampling_share) == (None, None, (), None)
    assert found.why is not None


def test_the_fit_tells_fixed_from_per_token() -> None:
    run, _ = simulate(Plan(steps=60, fixed_s=5, s_per_token=0.02, noise=0, len_noise=0), "step_s")
    found = split(run, timing=timing(5.0, 0.04))
    assert found.parts == pytest.approx({"fixed": 5.0, "per token": 8.0})
    assert found.fixed_share == pytest.approx(5 / 13)
    assert found.sampling_share is None


def test_measured_throughput_splits_the_per_token_part() -> None:
    """64 sequences x 200 tokens at 3,200 tok/s are 4 s of the 8 s that follow the tokens."""
    run, _ = simulate(Plan(steps=60, fixed_s=5, s_per_token=0.02, noise=0, len_noise=0), "step_s")
    for found in (
        split(run, timing=timing(5.0, 0.04, 3200.0)),
        split(run, timing=timing(5.0, 0.04), facts=Facts(gen_tok_s=3200.0)),
    ):
        assert found.parts == pytest.approx({"fixed": 5.0, "sampling": 4.0, "forward-backward": 4.0})
        assert found.sampling_share == pytest.approx(4 / 13)
        assert found.why is not None
        assert "not measured by phase" in found.why


def test_periodic_work_is_named_without_phases() -> None:
    run, _ = simulate(Plan(steps=200, eval_every=20, eval_s=40, after_row=False), "stamps", settings={"eval_steps": 20})
    found = split(run)
    assert seconds(found)["evaluation"] == pytest.approx(2.0, rel=0.1)
    assert found.phases[0].kind == "inferred"


# --- anything ----------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.sampled_from(schema.PHASE_NAMES), st.sampled_from("abcdef"), st.floats(0, 1e4), st.sampled_from([None, *"abcdef"]),
            st.sampled_from([None, True, False]), st.booleans(), st.integers(1, 12),
        ),
        max_size=40,
    ),
    st.one_of(st.none(), st.floats(0.01, 1e4)),
)  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_any_phases_add_up(rows: list[Any], step_s: float | None) -> None:
    names = ("phase", "name", "seconds", "parent", "outside", "overlaps", "step")
    run = run_with([], step_s, steps=12)
    frame = pl.DataFrame(
        [dict(zip(names, row, strict=True)) | {"segment": 0} for row in rows],
        schema={name: schema.PHASES[name] for name in (*names, "segment")},
    )
    run = replace(run, phases=schema.conform(frame, schema.PHASES))
    adds_up(breakdown(run, clock(run)))
    top = top_level(run).frame
    assert top.select("segment", "step", "name").is_unique().all()


def test_a_clock_that_stands_still_splits_nothing_and_never_raises() -> None:
    run = run_with([("rollout", "gen", 4.0, None)], step_s=5.0)
    still = clock(run)
    still = replace(still, steps=still.steps.with_columns(pl.lit(0.0).alias("wall_s")))
    found = breakdown(run, still)
    assert found.step_s is None
    assert found.why


def test_a_generation_cycle_splits_a_step_without_phases() -> None:
    """Of eight steps one generates for 97 s more than the others take: 12.1 s of every mean step."""
    wall = np.where(np.arange(48) % 8 == 0, 100.0, 3.0)
    run = rows_run(wall, 96)
    run = replace(run, steps=run.steps.with_columns(pl.lit(0.5).alias("reward")))
    found = breakdown(run, clock(run))
    assert found.step_s == pytest.approx(wall.mean())
    assert [(each.phase, each.kind) for each in found.phases] == [("rollout", "inferred")]
    assert found.phases[0].seconds == pytest.approx(97 / 8, rel=0.01)
    assert found.unexplained_s == pytest.approx(3.0, rel=0.02)
    assert found.why is not None
    assert "One step in 8 generates" in found.why
    sums = found.by_step.group_by("step").agg(pl.col("seconds").sum()).sort("step")["seconds"].to_numpy()
    assert sums == pytest.approx(wall, rel=0.01)


def test_what_a_slow_step_in_a_few_does_is_not_said_where_nothing_shows_that_the_run_generates() -> None:
    """It may as well be an evaluation, a save or a slow disk: nothing is called sampling."""
    run = rows_run(np.where(np.arange(48) % 8 == 0, 100.0, 3.0), 96)
    time = clock(run)
    found = breakdown(run, time)
    assert (time.cycle, time.generates) == (8, False)
    assert (found.phases, found.sampling_share) == ((), None)
    assert "One step in 8 takes 1 m 40 s, the others 3.0 s: what it does beyond them is not in this log." in str(
        found.why
    )


def test_rows_with_an_evaluation_alone_do_not_show_what_the_others_spend() -> None:
    """An evaluation of 20 s after every tenth step of 5 s is 2 s of each, not most of it."""
    phases = [
        {"segment": 0, "step": step, "phase": "evaluation", "name": "eval", "outside": True, "seconds": 20.0}
        for step in range(10, 101, 10)
    ]
    run = replace(rows_run(np.full(100, 5.0), 200), phases=schema.conform(pl.DataFrame(phases), schema.PHASES))
    found = breakdown(run, clock(run))
    assert found.step_s == pytest.approx(7.0)
    assert found.parts["evaluation"] == pytest.approx(2.0)
    assert found.unexplained_s == pytest.approx(5.0)


def test_a_time_that_one_row_of_many_tells_is_no_breakdown() -> None:
    """A tokenizer that was trained before, say: the step is as unexplained as without it."""
    stray = [{"segment": 0, "step": 1, "phase": "update", "name": "Training time", "seconds": 180.0}]
    run = replace(rows_run(np.full(100, 5.0), 200), phases=schema.conform(pl.DataFrame(stray), schema.PHASES))
    found = breakdown(run, clock(run))
    assert found.step_s == pytest.approx(5.0)
    assert not found.phases
    assert found.unexplained_s == pytest.approx(5.0)
