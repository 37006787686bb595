"""Several logs of one run become one: whose value, whose clock, which session, and nothing twice."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from parsers import merge
from parsers.base import Origin
from parsers.build import RunBuilder
from tests.parsers.made_runs import START, Log, by_step, rounded, value
from timeledger.run import Note, Run

# --- one session -------------------------------------------------------------------------------------------------------


def test_the_exact_log_gives_the_values_and_the_stamped_one_the_clock() -> None:
    console = Log("console.log", "trl", console=True).steps(1, 20, names=("reward", "len_mean", "step_s", "kl")).run()
    board = Log("events.out", "tensorboard", start=START).steps(1, 20).run()
    state = Log("trainer_state.json", "trainer_state").steps(1, 20).run()
    run = merge([console, board, state])
    assert run.steps.height == 20
    assert by_step(run, "reward") == {step: value("reward", step) for step in range(1, 21)}
    assert by_step(run, "at")[3] == START + timedelta(seconds=60)
    assert by_step(run, "kl")[3] == rounded(value("kl", 3))
    assert run.info.columns_from["reward"] == "trainer_state.json"
    assert run.info.columns_from["at"] == "events.out"
    assert run.info.columns_from["kl"] == "console.log"
    assert run.info.format == "trainer_state + tensorboard + trl"
    assert set(run.info.sources) == {"console.log", "events.out", "trainer_state.json"}
    assert by_step(run, "line")[3] == 30


def test_gaps_are_filled_and_both_sources_are_named() -> None:
    ends_early = Log("trainer_state.json", "trainer_state").steps(1, 10).run()
    goes_on = Log("console.log", "trl", console=True).steps(1, 15).run()
    run = merge([ends_early, goes_on])
    assert run.steps["step"].to_list() == list(range(1, 16))
    assert by_step(run, "reward")[12] == rounded(value("reward", 12))
    assert run.info.columns_from["reward"] == "trainer_state.json + console.log"


def test_the_order_of_the_logs_does_not_matter() -> None:
    logs = [
        Log("console.log", "trl", console=True).steps(1, 12).run(),
        Log("events.out", "tensorboard", start=START).steps(1, 12).run(),
        Log("run.wandb", "wandb", start=START).steps(1, 11).run(),
    ]
    first = merge(logs)
    for _ in range(5):
        random.Random(1).shuffle(logs)
        again = merge(logs)
        assert again.steps.equals(first.steps)
        assert again.info == first.info
        assert again.notes == first.notes


def test_one_log_alone_comes_back_as_it_is() -> None:
    run = Log("console.log", "trl", console=True).steps(1, 3).run()
    assert merge([run]) is run
    assert merge([run], name="mine").name == "mine"
    with pytest.raises(ValueError, match="nothing"):
        merge([])


def test_logs_that_count_from_0_are_moved_when_their_values_say_so() -> None:
    zero = Log("events.out", "tensorboard", start=START).steps(1, 12, ahead=-1).run()
    one = Log("console.log", "trl", console=True).steps(1, 12).run()
    run = merge([zero, one])
    assert run.steps["step"].to_list() == list(range(1, 13))
    assert by_step(run, "reward") == {step: value("reward", step) for step in range(1, 13)}
    assert any("count from 0" in note.text and note.source == "events.out" for note in run.notes)


def test_logs_that_count_from_0_and_disagree_are_not_moved() -> None:
    zero = Log("events.out", "tensorboard").steps(0, 11, seed=5).run()
    one = Log("console.log", "trl", console=True).steps(1, 12).run()
    run = merge([zero, one])
    assert sorted(run.steps["step"]) == sorted([*range(12), *range(1, 13)])


def test_a_disagreement_is_noted_with_the_log_that_was_kept() -> None:
    a = Log("trainer_state.json", "trainer_state").steps(1, 10).run()
    b = Log("console.log", "trl", console=True).steps(1, 10).run()
    b = Run(b.info, b.steps.with_columns(pl.col("reward") * 2))
    run = merge([a, b])
    assert by_step(run, "reward")[4] == value("reward", 4)
    noted = [note for note in run.notes if note.kind == "warning"]
    assert [(note.text, note.count, note.source) for note in noted] == [
        ("reward differs from trainer_state.json (kept)", 10, "console.log")
    ]


def test_means_over_ten_steps_do_not_overwrite_single_steps() -> None:
    fine = Log("metrics.jsonl", "jsonl").steps(1, 20).run()
    coarse = RunBuilder(Origin("trainer_state.json"), "trainer_state")
    for step in (10, 20):
        coarse.row(step, {"reward": -5.0, "kl": 0.25, "span": 10})
    run = merge([fine, coarse.run()])
    assert by_step(run, "reward")[10] == value("reward", 10)
    assert by_step(run, "kl")[10] == 0.25
    assert by_step(run, "kl")[11] is None


# --- sessions ----------------------------------------------------------------------------------------------------------


def resumed() -> list[Run]:
    """Killed at 53, resumed at 41: an appended console, two event files, and the state that survived."""
    console = Log("console.log", "trl", console=True).steps(1, 53)
    console.build.new_segment()
    console.steps(41, 100, seed=1)
    state = Log("trainer_state.json", "trainer_state").steps(1, 40).steps(41, 100, seed=1)
    return [
        console.run(),
        Log("events.1", "tensorboard", start=START).steps(1, 53).run(),
        Log("events.2", "tensorboard", start=START + timedelta(hours=2)).steps(41, 100, seed=1).run(),
        state.run(),
    ]


@pytest.mark.parametrize("left_out", [None, 0, 1, 2, 3])
def test_a_resumed_run_keeps_its_sessions_in_order(left_out: int | None) -> None:
    logs = [log for place, log in enumerate(resumed()) if place != left_out]
    run = merge(logs)
    assert by_step(run, "reward", 0).keys() == set(range(1, 54))
    redone = {step: (by_step(run, "reward", 0)[step], by_step(run, "reward", 1)[step]) for step in range(41, 54)}
    for step, (before, after) in redone.items():
        assert before == pytest.approx(value("reward", step, 0), rel=1e-3)
        assert after == pytest.approx(value("reward", step, 1), rel=1e-3)
    assert by_step(run, "reward", 1).keys() == set(range(41, 101))
    assert run.steps.height == 113


def test_stamps_order_sessions_even_when_the_later_one_begins_lower() -> None:
    late = Log("events.2", "tensorboard", start=START + timedelta(hours=3)).steps(21, 60, seed=1).run()
    early = Log("events.1", "tensorboard", start=START).steps(31, 50).run()
    run = merge([late, early])
    assert (min(by_step(run, "reward", 0)), min(by_step(run, "reward", 1))) == (31, 21)


def test_settings_of_the_last_session_count() -> None:
    logs = resumed()
    first, second = (RunBuilder(Origin(name), "tensorboard") for name in ("events.1", "events.2"))
    for build, log, steps in ((first, logs[1], 100), (second, logs[2], 200)):
        build.setting("total_steps", steps, "args")
        for row in log.steps.to_dicts():
            build.row(row["step"], {"reward": row["reward"], "len_mean": row["len_mean"]}, at=row["at"])
    assert merge([first.run(), second.run()]).info.setting("total_steps") == 200
    assert merge([second.run(), first.run()]).info.setting("total_steps") == 200


def test_ranks_of_one_job_are_folded() -> None:
    logs = [
        Log(f"rank{rank}.log", "trl", console=True).steps(1, 10, names=("reward", "len_mean")).run()
        for rank in range(4)
    ]
    run = merge(logs)
    assert run.steps.height == 10
    assert run.info.columns_from["reward"] == "rank0.log"


# --- clocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [-8.0, 5.5, 9.0])
def test_a_log_in_local_time_is_moved_to_the_one_with_a_zone(hours: float) -> None:
    board = Log("events.out", "tensorboard", start=START).steps(1, 30).run()
    local = Log("train.log", "verl", console=True, start=START + timedelta(hours=hours, seconds=1.4), zone_known=False)
    run = merge([board, local.steps(1, 33).run()])
    assert by_step(run, "at")[33] == START + timedelta(seconds=30 * 32 + 1.4)
    assert run.info.zone_known
    assert any(note.kind == "guessed" and f"{hours:+g} h" in note.text for note in run.notes)


def engine_log(start: datetime, minutes: int, *, zone_known: bool = False) -> Run:
    build = RunBuilder(Origin("server.log"), "vllm")
    build.zone_known = zone_known
    for minute in range(minutes):
        build.engine("log", at=start + timedelta(minutes=minute), gen_tok_s=2000.0 + minute, running=8.0)
    return build.run()


def test_engine_samples_are_moved_into_the_trainers_time() -> None:
    trainer = Log("events.out", "tensorboard", start=START).steps(1, 240).run()  # two hours
    run = merge([trainer, engine_log(START + timedelta(hours=8, minutes=1), 110)])
    assert run.engine["at"].min() == START + timedelta(minutes=1)
    assert any("+8" in note.text or "-8" in note.text for note in run.notes if note.kind == "guessed")


def test_a_guessed_year_gives_way_to_the_trainers() -> None:
    trainer = Log("events.out", "tensorboard", start=START).steps(1, 240).run()
    copied_later = engine_log(START.replace(year=2028) - timedelta(hours=7) + timedelta(minutes=1), 110)
    with_year = merge([trainer, copied_later])
    assert with_year.engine["at"].min() == START.replace(year=2028) - timedelta(hours=7) + timedelta(minutes=1)
    note = Note(
        "guessed", 0, "time stamps carry no year: the latest one before the file's last write is taken", 1, "server.log"
    )
    run = merge([trainer, copied_later.with_notes(note)])
    assert run.engine["at"].min() == START + timedelta(minutes=1)


def test_engine_samples_that_fit_are_not_moved() -> None:
    trainer = Log("events.out", "tensorboard", start=START).steps(1, 240).run()
    run = merge([trainer, engine_log(START + timedelta(minutes=1), 110)])
    assert run.engine["at"].min() == START + timedelta(minutes=1)
    assert run.notes == ()


def test_engine_samples_with_a_known_zone_are_never_moved() -> None:
    trainer = Log("events.out", "tensorboard", start=START).steps(1, 240).run()
    run = merge([trainer, engine_log(START + timedelta(hours=8), 110, zone_known=True)])
    assert run.engine["at"].min() == START + timedelta(hours=8)


def test_copies_of_an_engines_lines_count_once_and_two_engines_stay_apart() -> None:
    trainer = Log("events.out", "tensorboard", start=START).steps(1, 240).run()
    one = engine_log(START + timedelta(minutes=1), 50)
    copy = Run(one.info.model_copy(update={"sources": ("copy.log",)}), one.steps, engine=one.engine)
    other = Run(
        one.info.model_copy(update={"sources": ("other.log",)}),
        one.steps,
        engine=one.engine.with_columns(pl.col("gen_tok_s") + 7),
    )
    run = merge([trainer, one, copy, other])
    assert run.engine.height == 100
    assert set(run.engine["engine"]) == {"copy.log", "other.log"}


# --- everything else -----------------------------------------------------------------------------------------------------


def test_an_evaluation_seen_by_two_logs_is_one_event() -> None:
    console = Log("console.log", "trl", console=True).steps(1, 20)
    board = Log("events.out", "tensorboard", start=START).steps(1, 20)
    for step, seconds in ((10, 12.25), (20, 13.5)):
        console.build.event("evaluation", step=step, seconds=rounded(seconds), text="eval")
        board.build.event("evaluation", step=step, at=START + timedelta(seconds=30 * step))
    console.build.event("evaluation", step=20, seconds=99.0, text="another set")
    for each in (console, board):
        each.build.event("finish", step=20)
    run = merge([console.run(), board.run()])
    events = run.events.select("step", "kind", "seconds").to_dicts()
    assert events == [
        {"step": 10, "kind": "evaluation", "seconds": 12.25},
        {"step": 20, "kind": "evaluation", "seconds": 13.5},
        {"step": 20, "kind": "evaluation", "seconds": 99.0},
        {"step": 20, "kind": "finish", "seconds": None},
    ]
    assert run.events["at"][0] == START + timedelta(seconds=300)


def test_a_late_console_line_of_the_same_evaluation_is_the_same_event() -> None:
    console = Log("console.log", "trl", console=True).steps(1, 20)
    board = Log("events.out", "tensorboard", start=START).steps(1, 20)
    console.build.event("evaluation", step=13, seconds=12.25)
    board.build.event("evaluation", step=10, seconds=12.2504)
    assert merge([console.run(), board.run()]).events.height == 1


def test_bars_come_from_one_console_a_session() -> None:
    a, b = (Log(name, "trl", console=True).steps(1, 10) for name in ("console.log", "output.log"))
    for step in range(11):
        a.build.progress(step, total=10, elapsed_s=3.0 * step)
        if step % 3 == 0:
            b.build.progress(step, total=10, elapsed_s=3.0 * step + 1)
    run = merge([a.run(), b.run()])
    assert run.progress["elapsed_s"].to_list() == [3.0 * step for step in range(11)]
    assert run.info.columns_from["progress"] == "console.log"


def test_phases_are_not_told_twice() -> None:
    rich = Log("run.wandb", "wandb", start=START).steps(1, 5)
    poor = Log("console.log", "trl", console=True).steps(1, 5)
    for step in range(1, 6):
        rich.build.phase(step, "rollout", 10.0, name="profiling/generate")
        rich.build.phase(step, "update", 5.0, name="profiling/backward")
        poor.build.phase(step, "rollout", 10.0, name="gen")
        poor.build.phase(step, "checkpoint", 2.0, name="save")
    run = merge([rich.run(), poor.run()])
    assert run.phases.group_by("phase").len().sort("phase").rows() == [("checkpoint", 5), ("rollout", 5), ("update", 5)]
    assert run.info.columns_from["phases"] == "run.wandb + console.log"


def test_metrics_without_a_column_join_under_one_name() -> None:
    console, board = RunBuilder(Origin("console.log"), "trl"), RunBuilder(Origin("events.out"), "tensorboard")
    for step in range(1, 6):
        console.row(
            step,
            {"reward": rounded(value("reward", step))},
            extra={"my_metric": rounded(value("mine", step)), "eval_x": 1.0},
        )
        board.row(
            step,
            {"reward": value("reward", step)},
            extra={"train/my_metric": value("mine", step), "eval/x": 1.0, "eval/only": 2.0},
        )
    run = merge([console.run(), board.run()])
    assert set(run.extra.columns) == {"segment", "step", "my_metric", "eval_x", "eval/only"}
    assert run.extra["my_metric"].to_list() == [value("mine", step) for step in range(1, 6)]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("finished", None), "finished"),
        (("finished", "crashed"), "crashed"),
        (("interrupted", "crashed"), "interrupted"),
        ((None, None), None),
    ],
)
def test_how_the_run_ended(ends: tuple[Any, Any], expected: str | None) -> None:
    logs = [Log(name, "trl").steps(1, 5) for name in ("a.log", "b.log")]
    for log, ended in zip(logs, ends, strict=True):
        log.build.ended = ended
    assert merge(log.run() for log in logs).info.ended == expected


def test_the_end_of_an_earlier_session_is_not_the_runs() -> None:
    logs = resumed()
    crashed = Run(logs[1].info.model_copy(update={"ended": "crashed"}), logs[1].steps)
    assert merge([crashed, logs[2]]).info.ended is None


def test_notes_that_two_copies_give_are_kept_once() -> None:
    logs = [Log(name, "trl", console=True).steps(1, 5) for name in ("console.log", "output.log")]
    for log in logs:
        log.build.note("guessed", "rows are counted", 3)
        log.build.note("missing", "no timing in this file", 0)
    kept = merge(log.run() for log in logs).notes
    assert [(note.kind, note.text) for note in kept] == [("guessed", "rows are counted")]


def test_rows_of_a_general_shape_fill_gaps_but_do_not_win() -> None:
    own = Log("metrics.jsonl", "jsonl").steps(1, 10, names=("reward", "len_mean", "kl")).run()
    own = Run(own.info, own.steps.with_columns(pl.col("reward") * 1.0001))
    console = Log("console.log", "trl", console=True).steps(1, 10).run()
    run = merge([own, console])
    assert run.info.columns_from["reward"] == "console.log"
    assert run.info.columns_from["kl"] == "metrics.jsonl"
    assert by_step(run, "reward")[4] == rounded(value("reward", 4))


def test_settings_that_two_logs_tell_differently_are_noted() -> None:
    state, console = (
        Log("trainer_state.json", "trainer_state").steps(1, 10),
        Log("console.log", "trl", console=True).steps(1, 10),
    )
    state.build.setting("total_steps", 200, "max_steps")
    console.build.setting("total_steps", 100, "bar")
    console.build.setting("max_tokens", 512, "longest answer", "inferred")
    state.build.setting("max_tokens", 1024, "args")
    run = merge([console.run(), state.run()])
    assert (run.info.setting("total_steps"), run.info.setting("max_tokens")) == (200, 1024)
    assert [note.text for note in run.notes] == ["total_steps is 100 here, 200 in trainer_state.json (kept)"]
