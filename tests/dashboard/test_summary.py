"""The numbers at the top of a run, for every state, and text of a log made inert."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import polars as pl
import pytest

from dashboard import parts, sentences, summary
from tests.dashboard.synthetic import NOW, analysis
from timeledger.clock import clock
from timeledger.results import Facts, Span


def test_a_running_run_says_when_it_ends_between_what_and_at_worst() -> None:
    card = summary.finish(analysis(), UTC)
    assert card.title == "Finishes"
    assert card.value.startswith("today 19:")
    assert card.kind == "inferred"
    assert card.under[0].startswith("between 18:")
    assert card.under[0].endswith("(80 %)")
    assert "if every answer reaches the limit" in card.under[1]


def test_a_bound_on_another_day_names_the_day() -> None:
    late = NOW.replace(hour=23, minute=30)
    assert summary.near(late, late, NOW, UTC) == "23:30"
    assert summary.near(late + timedelta(hours=2), late, NOW, UTC) == "tomorrow 01:30"


def test_states_other_than_running() -> None:
    assert summary.finish(analysis(200, 200, state="finished"), UTC).title == "Finished"
    early = summary.finish(analysis(state="ended early"), UTC)
    assert early.value == "at step 87 of 200"
    stalled = summary.finish(analysis(state="stalled"), UTC)
    assert stalled.title == "Still needs, once it goes on"
    unknown = summary.finish(analysis(40, None), UTC)
    assert unknown.value == "cannot tell yet"
    assert summary.finish(analysis(0, None), UTC).value == "—"


def test_a_log_that_counts_from_zero_has_done_one_step_more_than_its_last_number() -> None:
    run = analysis(state="ended early")
    zero = run.run.steps.with_columns(pl.col("step") - 1, loss=pl.lit(0.5))
    counted = replace(run, run=replace(run.run, steps=zero))
    counted = replace(counted, clock=clock(counted.run))
    assert counted.clock.position == 86
    assert summary.finish(counted, UTC).value == "at step 87 of 200"


def test_a_finish_known_only_from_the_file_is_not_called_measured() -> None:
    run = analysis(200, 200, state="finished")
    steps = run.run.steps.with_columns(at=None).cast(run.run.steps.schema)
    bare = replace(run, run=replace(run.run, steps=steps, info=run.run.info.model_copy(update={"last_write": NOW})))
    card = summary.finish(bare, UTC)
    assert card.kind == "inferred"
    assert any("last written" in line for line in card.under)


def test_stamps_without_a_zone_end_on_the_logs_own_clock() -> None:
    """Nobody knows how far that clock is from the reader's, so that no moment is told, but its digits are."""
    run = analysis(state="unknown")
    info = run.run.info.model_copy(update={"zone_known": False, "last_write": None})
    bare = replace(run, run=replace(run.run, info=info), projection=replace(run.projection, finish_at=None))
    assert bare.projection.remaining_s is not None
    last = bare.clock.steps["at"][-1]
    card = summary.finish(bare, timezone(timedelta(hours=9)))
    assert card.title == "Still needs"
    end = last + timedelta(seconds=bare.projection.remaining_s.mid)
    assert f"ends about {end.day} {end:%b %H:%M} by the log's own clock" in card.under
    assert not any("own clock" in line for line in summary.finish(replace(bare, state="stalled"), UTC).under)


def test_too_early_gives_a_range_only() -> None:
    run = analysis(3)
    run = replace(
        run,
        projection=replace(
            run.projection, remaining_s=Span(2400.0, 5000.0, 10800.0), why="5 ordinary steps are needed, 3 seen"
        ),
    )
    card = summary.finish(run, UTC)
    assert card.value == "too early to say"
    assert card.under == ("so far between 40 m and 3 h", "5 ordinary steps are needed, 3 seen")


def test_cost_of_what_is_spent_and_of_the_whole() -> None:
    run = analysis(100, 200, facts=Facts(now=NOW, gpus=8, price_per_gpu_hour=2.0, currency="EUR"))
    total = run.projection.total_s
    elapsed = run.clock.elapsed_s
    assert total is not None
    assert elapsed is not None
    card = summary.cost(run)
    spent, whole = (float(each.replace("EUR", "").strip()) for each in card.value.split("→"))
    assert whole == pytest.approx(8 * total.mid / 3600 * 2, rel=0.01)
    assert spent == pytest.approx(8 * elapsed / 3600 * 2, rel=0.01)
    assert card.kind == "assumed"


def test_a_share_is_never_zero_where_nothing_was_measured() -> None:
    card = summary.sampling(analysis(phases=False))
    assert card.value == "not measured"
    assert card.kind is None


def test_sentences_name_the_largest_part_first() -> None:
    words = sentences.breakdown(analysis())
    assert words.index("sampling") < words.index("forward-backward")
    assert "not explained" in words


HOSTILE = "<img src=x onerror=alert(1)> **b** _i_ $x$ :red[c] :smile: [l](javascript:1) `c` # h | t | ~~s~~ <script>"


def test_text_of_a_log_is_inert_in_html() -> None:
    told = parts.safe(HOSTILE + "\x00\x1b[31m\u202e")
    assert "<" not in told
    assert ">" not in told
    assert "\x00" not in told
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_text_of_a_log_is_inert_in_markdown() -> None:
    told = parts.quiet(HOSTILE)
    for special in "*_$`[]<>#|~":
        assert all(told[at - 1] == "\\" for at, each in enumerate(told) if each == special), special
    assert ":smile:" not in told
    assert parts.quiet("- item").startswith("\\-")
    assert parts.quiet("1. item").startswith("1\\.")
    assert parts.quiet("a-b.c") == "a-b.c"


def test_numbers_stay_with_their_units() -> None:
    assert parts.together("between 5 m and 12 % of 3 x") == "between 5\u00a0m and 12\u00a0% of 3 x"
