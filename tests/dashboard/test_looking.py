"""One step: its row, and the right line of the right file or none."""

from __future__ import annotations

import gzip
from pathlib import Path

from dashboard import looking
from tests.dashboard.synthetic import analysis


def test_a_line_is_found_by_its_number(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    text = "one\ntwo \xe9\nthree\n"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    for file in (plain, packed):
        assert looking.line_of(file, 2) == "two \xe9"
        assert looking.line_of(file, 4) is None
    assert looking.line_of(tmp_path / "none", 1) is None


def test_binary_files_and_broken_archives_give_no_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\x01\x02\n\x00")
    (tmp_path / "b.gz").write_bytes(b"not an archive\n")
    assert looking.line_of(tmp_path / "a", 1) is None
    assert looking.line_of(tmp_path / "b.gz", 1) is None


def test_a_very_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 100_000)
    assert len(looking.line_of(tmp_path / "a", 1) or "") == 4000


def test_only_a_line_that_holds_a_value_of_the_row_is_shown() -> None:
    row = {"segment": 0, "step": 41, "span": 1, "line": 7, "at": None, "reward": 0.531, "acc": None}
    assert looking.holds("step 41 | reward 0.53", row)
    assert looking.holds("{'reward': '0.531'}", row)
    assert not looking.holds("loading shards 7 of 9", row)
    assert not looking.holds("no number at all", row)


def test_the_facts_of_a_step_are_its_own() -> None:
    run = analysis(40)
    row = run.run.steps.row(9, named=True)
    told = dict(looking.facts(run, row))
    wall = run.clock.steps["wall_s"][9]
    assert told["step"] == "10"
    assert told["seconds of the step"].startswith(f"{wall:.1f} s")
    assert told["Sampling"].startswith(f"{0.62 * wall:.1f} s")
    assert "segment" not in told
