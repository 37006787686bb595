"""Extra work to come: by its schedule, by what a person typed, and by its odds where nothing is sure."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.simulate import Plan, simulate
from tests.timeledger.test_projection import projection_of, rows_run
from timeledger import schema
from timeledger.clock import clock
from timeledger.cutting import cut_after
from timeledger.results import CLOCK_STEPS, Clock, Facts, Periodic
from timeledger.rows import Rows, make_rows
from timeledger.schedule import UNPRICED_SHARE, extras_to_come, is_round, round_interval, times_to_come, with_facts
from timeledger.suspect import CYCLES, LAST_ODDS, likely_cycles, open_cycles, suspected, unseen


def clock_of(kinds: dict[int, tuple[str, float]] | None = None, *periodic: Periodic, steps: int = 120) -> Clock:
    """A clock of 10 s steps; `kinds` names some of them with their extra seconds."""
    step = np.arange(1, steps + 1)
    kind = [(kinds or {}).get(int(each), ("ordinary", 0.0)) for each in step]
    frame = pl.DataFrame(
        {
            "segment": np.zeros(steps, dtype=int), "step": step, "span": np.ones(steps, dtype=int),
            "wall_s": [10.0 + extra for _, extra in kind], "extra_s": [extra for _, extra in kind], "kind": [name for name, _ in kind],
        }
    )  # fmt: skip
    total = float(sum(10.0 + extra for _, extra in kind))
    return Clock(
        "step times", 0.0, total, total, 0.0, (), schema.conform(frame, CLOCK_STEPS), steps, 1,
        warmup_steps=sum(name == "warmup" for name, _ in kind), step_s=10.0, periodic=periodic,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("every", "position", "total", "at_end", "times"),
    [
        (20, 0, 100, False, 5),
        (20, 40, 100, False, 3),
        (20, 39, 100, False, 4),
        (30, 60, 100, False, 1),
        (30, 60, 100, True, 2),
        (20, 60, 100, True, 2),
    ],
)
def test_times_to_come(every: int, position: int, total: int, at_end: bool, times: int) -> None:
    assert times_to_come(Periodic("evaluation", every, 5.0, 2, "phase", at_end), position, total) == times


def test_an_evaluation_only_at_the_end_comes_once() -> None:
    assert times_to_come(Periodic("evaluation", None, 300.0, 0, "given", at_end=True), 50, 100) == 1


def test_typed_values_win_and_keep_what_was_measured() -> None:
    found = with_facts((Periodic("evaluation", 20, 12.0, 3, "phase"),), Facts(eval_every=50))
    assert found[0].every == 50
    assert found[0].seconds == 12.0
    assert found[0].known_from == "given"


def test_seconds_to_come_and_their_words() -> None:
    extras = extras_to_come(clock_of(None, Periodic("evaluation", 20, 12.0, 6, "phase")), Facts(), 120, 200)
    assert [each.seconds for each in extras] == [48.0]
    assert extras[0].words == "4 evaluations to come (every 20 steps, 12.0 s each): 48.0 s."


def test_announced_work_without_a_price_is_taken_in_steps_and_doubted() -> None:
    extras = extras_to_come(clock_of(None, Periodic("evaluation", 50, None, 0, "setting"), steps=30), Facts(), 30, 200)
    assert extras[0].seconds == pytest.approx(4 * UNPRICED_SHARE * 50 * 10.0)
    assert extras[0].reach_s(0.9) > extras[0].seconds
    assert "none seen yet" in extras[0].words


def test_work_that_was_seen_and_not_timed_is_not_called_unseen() -> None:
    seen = clock_of(None, Periodic("evaluation", 10, None, 3, "event"), steps=30)
    (extra,) = extras_to_come(seen, Facts(), 30, 60)
    assert "not timed in this log" in extra.words
    assert "none seen" not in extra.words


def test_work_too_short_to_be_seen_costs_nothing() -> None:
    assert extras_to_come(clock_of(None, Periodic("evaluation", 10, 0.0, 3, "event"), steps=30), Facts(), 30, 60) == ()


def test_a_validation_before_training_is_no_schedule() -> None:
    start = clock_of({1: ("evaluation", 80.0)}, Periodic("evaluation", None, 80.0, 1, "phase"))
    assert extras_to_come(start, Facts(), 120, 1000) == ()


@pytest.mark.parametrize("step", [10, 20, 25, 50, 100, 200, 250, 500, 1000, 2500])
def test_round_steps(step: int) -> None:
    assert is_round(step)


@pytest.mark.parametrize("step", [1, 5, 9, 11, 30, 70, 99, 110, 333])
def test_other_steps(step: int) -> None:
    assert not is_round(step)


def test_round_interval_must_explain_every_multiple() -> None:
    assert round_interval([100], [10], 110) == 100
    assert round_interval([110], [10], 130) == 100, "paid in the row after"
    assert round_interval([100, 200], [10, 10], 250) == 100
    assert round_interval([100], [10], 250) is None, "nothing came at 200"
    assert round_interval([100, 260], [10, 10], 270) is None


def test_one_long_stop_at_a_round_step_is_counted_with_its_odds() -> None:
    doubt = suspected(clock_of({100: ("pause", 300.0)}), _no_rows(), 120, 500)
    assert doubt is not None
    assert 0.5 < doubt.odds < 1
    assert doubt.seconds == 4 * 300, "what is likely is counted whole"
    assert doubt.reach_s(0.9) + doubt.seconds == pytest.approx(4 * 300)
    assert doubt.reach_s(0.01) == -4 * 300, "and may still not come"


def test_a_stop_anywhere_else_is_a_pause() -> None:
    assert suspected(clock_of({83: ("pause", 300.0)}), _no_rows(), 120, 500) is None


def test_a_stop_like_the_first_step_is_the_next_generation() -> None:
    doubt = suspected(clock_of({1: ("warmup", 100.0), 9: ("pause", 90.0)}, steps=12), _no_rows(), 12, 32)
    assert doubt is not None
    assert "serves 8 steps" in doubt.words
    assert doubt.most_s == 2 * 90.0


def test_a_huge_first_step_without_lengths_may_come_again() -> None:
    wall = np.array([100.0, 3.0, 3.1, 3.0, 2.9, 3.0])
    said = projection_of(rows_run(wall, 30))
    plain = float(wall.sum() + 24 * 3.0)
    again = float(wall.sum() + 24 * 3.0 + 3 * 97.0)
    assert said.total_s is not None
    assert said.total_s.low <= plain < again <= said.total_s.high
    assert any("slow start, or a generation" in each for each in said.because)


def first_doubt(later: tuple[float, ...], *, generates: bool) -> float:
    """Odds that a first step of 100 s is a generation that comes again."""
    run = rows_run(np.array([100.0, *later]), 40)
    own = clock(run)
    doubt = suspected(own, make_rows(run, own), 1 + len(later), 40, generates)
    assert doubt is not None
    return doubt.odds


def test_steps_that_must_generate_and_are_all_alike_make_a_cycle_likely() -> None:
    alike, unlike = (3.0, 3.05, 2.95, 3.0, 3.0), (3.0, 4.2, 2.1, 3.6, 2.6)
    assert first_doubt(alike, generates=True) > 0.85
    assert first_doubt(alike, generates=False) < first_doubt(alike, generates=True)
    assert first_doubt(unlike, generates=True) < 0.6


def cycles_of_eight(done: int) -> np.ndarray:
    """Seconds of steps of which every eighth generates."""
    step = np.arange(done)
    return np.where(step % 8 == 0, 100.0, 3.0) * (1 + 0.02 * np.sin(step))


@pytest.mark.parametrize("done", [17, 20, 24, 31])
def test_three_huge_steps_at_one_distance_are_a_cycle(done: int) -> None:
    assert clock(rows_run(cycles_of_eight(done), 60)).cycle == 8


def test_huge_steps_at_odd_distances_are_none() -> None:
    wall = np.full(30, 3.0)
    wall[[0, 7, 20]] = 100.0
    assert clock(rows_run(wall, 60)).cycle == 1


@pytest.mark.parametrize(("done", "total"), [(27, 30), (27, 33), (24, 30), (31, 64)])
def test_what_is_left_of_a_cycle_costs_what_its_own_steps_cost(done: int, total: int) -> None:
    said = projection_of(rows_run(cycles_of_eight(done), total))
    truth = float(cycles_of_eight(total)[done:].sum())
    assert said.remaining_s is not None
    assert said.remaining_s.mid == pytest.approx(truth, rel=0.06)
    assert said.remaining_s.low <= truth <= said.remaining_s.high


def test_a_cycle_that_has_not_come_yet_is_at_least_as_long_as_what_was_seen() -> None:
    for steps in (1, 2, 3, 8, 9, 33, 64):
        left = open_cycles(steps, 1000)
        assert [cycle for cycle, _ in left] == [each for each in CYCLES if each >= steps]
        assert sum(weight for _, weight in left) == pytest.approx(1)
        assert [weight for _, weight in left] == sorted((weight for _, weight in left), reverse=True)
    assert open_cycles(200, 1000) == ((64, 1.0),)


def test_the_likely_cycles_are_ones_that_were_left_possible_and_that_the_plan_repeats() -> None:
    for steps in (3, 8, 30):
        for total in (31, 100, 5000):
            short, middle, long = likely_cycles(steps, total)
            assert steps <= short <= middle <= long < max(total, 65)
    assert likely_cycles(8, 30) == (8, 8, 16)
    assert likely_cycles(2, 5000) == (2, 4, 32)
    assert all(cycle < 30 for cycle, _ in open_cycles(2, 30))


def test_doubts_reach_up_only_and_fade_with_progress() -> None:
    early, late = (unseen(clock_of(), Facts(), (), 10.0, at, 1000)[0] for at in (50, 500))
    assert early.seconds == 0
    assert early.reach_s(0.1) == 0
    assert early.reach_s(0.9) > late.reach_s(0.9) > 0
    assert unseen(clock_of(), Facts(eval_every=0), (), 10.0, 50, 1000) == []


def test_one_more_evaluation_may_come_at_the_end() -> None:
    known = (Periodic("evaluation", 30, 60.0, 4, "phase"),)
    doubt = unseen(clock_of(None, *known), Facts(), (), 10.0, 120, 200)
    assert [(each.odds, each.most_s) for each in doubt] == [(LAST_ODDS, 60.0)]
    assert unseen(clock_of(None, *known), Facts(), (), 10.0, 120, 210) == []


def _no_rows() -> Rows:
    return make_rows(rows_run(np.zeros(0), 10), clock_of(steps=1)).pick(np.zeros(1, dtype=bool))


@pytest.mark.parametrize(("cut", "left"), [(39, 4), (40, 4), (41, 3), (60, 3)])
def test_what_is_due_at_the_step_the_run_stands_at_still_comes(cut: int, left: int) -> None:
    """Evaluations that are paid after their step's row: at step 40 the one after it has not been seen."""
    run, _ = simulate(Plan(steps=100, eval_every=20, eval_s=300.0, noise=0.01), "stamps", settings={"eval_steps": 20})
    here = clock(cut_after(run, 0, cut))
    (extra,) = [each for each in extras_to_come(here, Facts(), cut, 100) if each.kind == "evaluation"]
    assert extra.seconds == pytest.approx(300.0 * left, rel=0.05)


def test_what_its_own_row_holds_is_over_with_that_row() -> None:
    plan = Plan(steps=100, eval_every=20, eval_s=300.0, noise=0.01, after_row=False)
    run, _ = simulate(plan, "stamps", settings={"eval_steps": 20})
    here = clock(cut_after(run, 0, 40))
    (extra,) = [each for each in extras_to_come(here, Facts(), 40, 100) if each.kind == "evaluation"]
    assert extra.seconds == pytest.approx(900.0, rel=0.05)
