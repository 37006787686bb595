"""Files from the page: nothing lost, no formula in a spreadsheet, names that every system takes."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import polars as pl
import pytest

from dashboard import saving
from tests.dashboard.synthetic import analysis
from timeledger import document
from timeledger.compare import compare
from timeledger.report import show_document


def test_steps_hold_the_clock_and_metrics_without_a_column() -> None:
    run = analysis(10)
    extra = pl.DataFrame(
        {"segment": [0] * 10, "step": list(range(1, 11)), "my/metric": [float(each) for each in range(10)]}
    )
    run = replace(run, run=replace(run.run, extra=extra))
    frame = saving.steps(run)
    assert frame.height == 10
    assert frame["my/metric"].to_list() == [float(each) for each in range(10)]
    assert frame["wall_s"].to_list() == pytest.approx(run.clock.steps["wall_s"].to_list())
    again = pl.read_parquet(io.BytesIO(saving.parquet(frame)))
    assert again.equals(frame)
    assert pl.read_csv(io.BytesIO(saving.csv(frame)))["len_mean"].to_list() == pytest.approx(
        frame["len_mean"].to_list()
    )


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@sum", "\tx"])
def test_a_name_from_a_log_is_no_formula(name: str) -> None:
    told = saving.csv(pl.DataFrame({"run": [name, "plain"], "value": [1.0, -2.0]})).decode()
    assert f"'{name}" in told
    assert "-2.0" in told
    assert "'plain" not in told


def test_a_run_as_json_holds_its_rows() -> None:
    told = json.loads(document.to_json(show_document([analysis(10)], with_steps=True)))
    assert len(told["runs"][0]["steps"]) == 10


def test_names_of_files_are_harmless() -> None:
    hostile = analysis(5, name="../../etc/pass wd<script>")
    told = saving.names(compare([hostile, analysis(5, name="b")]).analyses)
    assert "/" not in told
    assert "<" not in told
    assert told.endswith("-vs-b")
