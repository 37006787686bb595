"""Following paths and keeping what was made of them: nothing twice, nothing stale, nothing of another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dashboard import ways_in
from dashboard.follower import Follower, Newest
from timeledger.errors import TimeledgerError


def lines(first: int, last: int, length: float = 90.0) -> str:
    return "".join(
        f"step {step}/400 | len {length + step} | reward 0.5 | time 30.0s\n" for step in range(first, last + 1)
    )


@pytest.fixture(autouse=True)
def _look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.follower.POLL_S", 0.0)


def test_a_follower_changes_its_version_only_with_the_log(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(lines(1, 10))
    follower = Follower(str(log))
    first, runs = follower.look()
    assert follower.look()[0] == first
    assert runs[0].steps.height == 10
    with log.open("a") as stream:
        stream.write(lines(11, 12))
    second, runs = follower.look()
    assert second > first
    assert runs[0].steps.height == 12


def test_another_file_under_the_old_name_is_read_anew(tmp_path: Path) -> None:
    log, other = tmp_path / "a.log", tmp_path / "b.log"
    log.write_text(lines(1, 10))
    follower = Follower(str(log))
    first, _ = follower.look()
    other.write_text(lines(1, 4, length=500.0))
    other.replace(log)
    second, runs = follower.look()
    assert second > first
    assert runs[0].steps["len_mean"].to_list() == [501.0, 502.0, 503.0, 504.0]


def test_versions_are_unlike_over_all_paths(tmp_path: Path) -> None:
    seen = []
    for name in "abc":
        (tmp_path / name).write_text(lines(1, 5))
        seen.append(Follower(str(tmp_path / name)).look()[0])
    assert len(set(seen)) == 3


def test_what_was_read_stays_when_the_file_goes(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(lines(1, 10))
    follower = Follower(str(log))
    follower.look()
    log.unlink()
    try:
        _, runs = follower.look()
    except TimeledgerError:
        return
    assert runs[0].steps.height == 10


def test_the_newest_is_made_once_and_older_ones_are_let_go() -> None:
    place: Newest[str] = Newest()
    made: list[int] = []

    def wanted(version: int) -> str:
        def make() -> str:
            made.append(version)
            return f"of {version}"

        return place.of(version, make)

    assert [wanted(each) for each in (1, 1, 2, 2, 1)] == ["of 1", "of 1", "of 2", "of 2", "of 1"]
    assert made == [1, 2, 1]


def test_a_costly_thing_is_not_made_at_every_change() -> None:
    place: Newest[int] = Newest()
    assert place.of(1, lambda: 1) == 1
    place.cost_s = 1000.0
    assert place.of(2, lambda: 2, patient=True) == 1
    assert place.of(2, lambda: 2) == 2
    place.cost_s = 0.0
    assert place.of(3, lambda: 3, patient=True) == 3


def test_files_that_were_taken_are_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may tell of a drop once more when its bytes have been let go of: Streamlit then hands out stand-ins."""
    kept: list[object] = []
    monkeypatch.setattr("dashboard.state.keep_dropped", kept.append)
    monkeypatch.setattr("dashboard.ways_in.st.session_state", {"drop": [DeletedFile("gone")], "none": None})
    ways_in._hold("drop")
    ways_in._hold("none")
    ways_in._hold("never")
    assert kept == []
