"""An analysis at another moment says what one made at that moment would have said."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from parsers import read, read_paths
from tests.conftest import ROOT
from timeledger.analysis import analyse
from timeledger.moment import at
from timeledger.results import Facts

SAMPLES = sorted(each for each in (ROOT / "sample_logs").iterdir() if each.is_dir() and each.name[0] not in "._")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.name)
@pytest.mark.parametrize("days", [0, 400])
def test_it_is_the_analysis_of_that_moment(sample: object, days: int) -> None:
    now = datetime.now(UTC) + timedelta(days=days)
    for run in read_paths([str(sample)]):
        then, made = analyse(run, Facts(now=now)), at(analyse(run, Facts()), now)
        assert (made.state, made.headline, made.facts) == (then.state, then.headline, then.facts)
        assert made.projection.finish_at == then.projection.finish_at


def test_a_run_in_progress_never_ends_before_now_and_stalls_in_time() -> None:
    stamped = "".join(
        f"[2026-03-02T10:{minute:02d}:00Z] step {minute}/100 | len 90 | reward 0.5 | time 60.0s\n"
        for minute in range(1, 31)
    )

    made = analyse(read(stamped.encode(), name="live"), Facts())
    soon, late = (at(made, datetime(2026, 3, 2, hour, 31, tzinfo=UTC)) for hour in (10, 23))
    assert soon.projection.finish_at is not None
    assert late.projection.finish_at is not None
    assert min(late.projection.finish_at) >= datetime(2026, 3, 2, 23, 31, tzinfo=UTC)
    assert soon.projection.remaining_s == late.projection.remaining_s


def test_moments_are_told_in_the_readers_zone() -> None:

    text = "".join(
        f"[2026-03-02T10:{minute:02d}:00+00:00] step {minute}/100 | len 90 | reward 0.5 | time 60.0s\n"
        for minute in range(1, 31)
    )
    made = analyse(read(text.encode(), name="live"), Facts())
    now = datetime(2026, 3, 2, 10, 31, tzinfo=UTC)
    here, there = at(made, now, UTC), at(made, now, ZoneInfo("Asia/Tokyo"))
    assert here.state == there.state
    if here.state == "running":
        assert here.headline != there.headline


def test_stamps_without_a_zone_do_not_tell_when_it_ends(tmp_path: Path) -> None:
    """Written in Shanghai, read as UTC: eight hours late. When the file was written says more; without a file nothing does."""
    begun = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    there = begun.astimezone(ZoneInfo("Asia/Shanghai"))
    text = "".join(
        f"{there + timedelta(minutes=step):%Y-%m-%d %H:%M:%S} step {step}/100 | len 9{step} | reward 0.5\n"
        for step in range(1, 31)
    )
    (tmp_path / "live.log").write_text(text)
    written = begun + timedelta(minutes=30, seconds=2)
    os.utime(tmp_path / "live.log", (written.timestamp(), written.timestamp()))
    facts = Facts(now=written + timedelta(seconds=5))
    found = analyse(read(tmp_path / "live.log"), facts)
    assert found.state == "running"
    assert found.projection.finish_at is not None
    assert abs((found.projection.finish_at[1] - begun).total_seconds() - 6000) < 120
    alone = analyse(read(text.encode(), name="live"), facts)
    assert (alone.state, alone.projection.finish_at) == ("unknown", None)
    assert alone.projection.remaining_s is not None
