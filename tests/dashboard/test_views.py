"""Every view with no run, one, several, a bad file, an empty folder, an engine log, and a live one: no exception, the right words."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT

APP = str(ROOT / "dashboard" / "app.py")
SAMPLES = ROOT / "sample_logs"
VIEWS = tuple(
    f"views/{name}.py" for name in ("runs", "run", "compare", "plan", "help", "optimise", "budget", "account")
)
RUNS, RUN, COMPARE, PLAN, HELP, OPTIMISE, BUDGET, ACCOUNT = VIEWS


def loop(first: int = 1, last: int = 40, total: int = 400) -> str:
    """Lines of a hand-written loop."""
    return "".join(
        f"step {step}/{total} | len {90 + step * 0.5:.1f} | len_max {250 + step} | reward {0.3 + step * 0.001:.3f} "
        f"| adv_std 0.97 | ratio 1.001 | time {30 + step * 0.02:.2f}s\n"
        for step in range(first, last + 1)
    )


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIMELEDGER_PATHS", raising=False)


def visit(view: str, *paths: Path | str) -> AppTest:
    """A view on open paths, run once; an exception fails the test."""
    app = AppTest.from_file(APP, default_timeout=60)
    if paths:
        app.query_params["path"] = [str(each) for each in paths]
    app.run()
    if view != RUNS:
        app.switch_page(view).run()
    assert not app.exception, app.exception
    return app


def every_view(*paths: Path | str) -> dict[str, str]:
    """Each view on open paths, one after the other in one session; an exception in any fails the test."""
    app, seen = visit(RUNS, *paths), {}
    for view in VIEWS:
        app.switch_page(view).run()
        assert not app.exception, (view, app.exception)
        seen[view] = said(app)
    return seen


def said(app: AppTest) -> str:
    """All text of a page, HTML included."""
    kinds = ("markdown", "caption", "error", "warning", "info", "text", "subheader", "title")
    told = [str(each.value) for kind in kinds for each in getattr(app, kind)]
    told += [str(each.proto.body) for each in app.get("html")]
    told += [each.label for each in app.button]
    return "\n".join(told)


def test_without_a_run_every_view_says_what_to_do() -> None:
    words = {
        RUNS: "growing-answers", RUN: "No run is open", COMPARE: "No run is open", PLAN: "16.38 s", HELP: "measured",
        OPTIMISE: "No run is open", BUDGET: "659 steps", ACCOUNT: "Smoke tests",
    }  # fmt: skip
    for view, page in every_view().items():
        assert words[view] in page, view


@pytest.mark.parametrize(
    "sample", [each.name for each in sorted(SAMPLES.iterdir()) if each.is_dir() and each.name[0] not in "._"]
)
def test_every_view_shows_every_sample(sample: str) -> None:
    every_view(SAMPLES / sample)


def test_several_runs(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(loop())
    (tmp_path / "b.log").write_text(loop(first=100, last=180))
    paths = (tmp_path / "a.log", tmp_path / "b.log", SAMPLES / "growing-answers")
    assert "Why one is slower" in every_view(*paths)[COMPARE]
    assert len(visit(COMPARE, *paths).get("plotly_chart")) >= 3


@pytest.mark.parametrize("view", [RUNS, RUN, COMPARE, OPTIMISE])
def test_a_bad_file_is_one_message_and_the_rest_works(view: str, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.log", tmp_path / "good.log"
    bad.write_text("two eggs\none bread\n")
    good.write_text(loop())
    app = visit(view, bad, good)
    assert len(app.error) == 1
    assert "bad" in app.error[0].value
    assert "Traceback" not in said(app)


@pytest.mark.parametrize("view", [PLAN, BUDGET, ACCOUNT])
def test_a_bad_file_does_not_trouble_the_calculators(view: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.log"
    bad.write_text("two eggs\none bread\n")
    assert not visit(view, bad).error


@pytest.mark.parametrize("what", ["missing", "empty folder", "empty file", "zeros"])
def test_nothing_to_read(what: str, tmp_path: Path) -> None:
    path = tmp_path / "it"
    if what == "empty folder":
        path.mkdir()
    elif what != "missing":
        path.write_bytes(b"" if what == "empty file" else b"\0" * 5000)
    app = visit(RUNS, path)
    for view in (RUNS, RUN, COMPARE, OPTIMISE):
        app.switch_page(view).run()
        assert not app.exception
        assert len(app.error) == 1


def test_the_run_view_answers_first(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(RUN, log)
    page = said(app)
    assert "step 40 of 400" in page
    assert "Step now" in page
    assert "30.8 s" in page or "30.7 s" in page  # the last ten steps take 30.62 .. 30.80 s
    assert "entropy" in page  # not in this log: how to log it is said


def test_facts_are_used_at_once(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop().replace("/400", ""))
    app = visit(RUN, log)
    total = next(each for each in app.number_input if each.label == "Total steps")
    total.set_value(400).run()
    assert not app.exception
    assert "step 40 of 400" in said(app)
    next(each for each in app.number_input if each.label == "GPUs").set_value(8).run()
    assert "GPU-hours" in said(app)


def test_a_growing_log_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.follower.POLL_S", 0.0)
    log = tmp_path / "live.log"
    log.write_text(loop(1, 20))
    app = visit(RUN, log)
    assert "step 20 of 400" in said(app)
    assert "Following the log" in said(app)
    with log.open("a") as stream:
        stream.write(loop(21, 23))
    app.run()
    assert "step 23 of 400" in said(app)


def test_uploads_are_read_and_kept() -> None:
    app = visit(RUNS)
    app.file_uploader[0].upload("mine.log.gz", gzip.compress(loop().encode())).run()
    assert not app.exception
    assert not app.error
    assert "step 40 of 400" in said(app), "a single run is shown at once"
    assert app.session_state["tl_dropped"] == (), "the runs are kept, the bytes are not"


def test_a_wrong_upload_is_one_message() -> None:
    app = visit(RUNS)
    app.file_uploader[0].upload("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(200)).run()
    assert not app.exception
    assert len(app.error) == 1
    assert "photo" in app.error[0].value


def test_paths_of_the_command_line_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMELEDGER_PATHS", json.dumps([str(SAMPLES / "hand-written")]))
    app = AppTest.from_file(APP, default_timeout=60).run()
    assert not app.exception
    assert app.query_params["path"] == str(SAMPLES / "hand-written")
    assert "step 160 of 160" in said(app)


def test_a_sample_is_one_click() -> None:
    app = visit(RUNS)
    next(each for each in app.button if "hand" in each.label).click().run()
    assert not app.exception
    assert "step 160 of 160" in said(app), "a single run is shown at once"


def test_markdown_and_html_of_a_log_are_inert(tmp_path: Path) -> None:
    log = tmp_path / "<img src=x onerror=alert(1)> **b** $x$.log"
    log.write_text(loop())
    app = visit(RUNS, log)
    for view in VIEWS:
        app.switch_page(view).run()
        assert not app.exception
        for each in app.get("html"):
            assert "<img" not in each.proto.body
        for kind in ("markdown", "caption", "error", "warning"):
            for each in getattr(app, kind):
                assert not re.search(r"(?<!\\)<img", str(each.value))
                assert " **b** " not in str(each.value)


def test_the_calculator_is_the_lessons() -> None:
    app = visit(PLAN)
    page = said(app)
    for words in ("16.38 s", "64 sequences", "25,600 tokens", "52 %", "training 17 %", "fixed 31 %", "54 m 36 s"):
        assert words in page
    next(each for each in app.button if each.label.startswith("Group size doubled")).click().run()
    assert "27.76 s" in said(app)
    assert next(each for each in app.number_input if each.label.endswith("G")).value == 16
    app.button(key="plan_reset").click().run()
    assert "16.38 s" in said(app)


def test_the_calculator_refuses_what_cannot_be() -> None:
    app = visit(PLAN)
    next(each for each in app.number_input if each.label.startswith("Limit")).set_value(100).run()
    assert not app.exception
    assert "no answer can be longer than the limit" in app.error[0].value


def test_the_calculator_starts_from_a_run(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(RUN, log)
    next(each for each in app.button if each.label.startswith("Plan the next run")).click().run()
    assert not app.exception
    length = next(each for each in app.number_input if each.label.startswith("Mean answer length"))
    assert length.value == pytest.approx(109, abs=4)  # late lengths: 90 + 0.5 x step
    assert "late mean length" in said(app)


def test_a_typed_path_is_opened_and_closed_again(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(RUNS)
    app.text_input(key="path").set_value(f" '{log}' ").run()
    assert not app.exception
    assert not app.error
    assert app.query_params["path"] == str(log)
    app.switch_page(RUNS).run()
    next(each for each in app.button if each.label == "Close").click().run()
    assert "path" not in app.query_params
    assert "growing-answers" in said(app)


def test_a_wrong_path_is_one_message_and_is_not_opened() -> None:
    app = visit(RUNS)
    app.text_input(key="path").set_value("/no/such/place").run()
    assert not app.exception
    assert len(app.error) == 1
    assert "no such file or folder" in app.error[0].value
    assert "path" not in app.query_params


def test_a_log_that_is_empty_now_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.follower.POLL_S", 0.0)
    log = tmp_path / "soon.log"
    log.touch()
    app = visit(RUN, log)
    assert "Looking again" in said(app)
    log.write_text(loop())
    app.run()
    assert not app.error
    assert "step 40 of 400" in said(app)


def test_the_state_of_the_page_is_in_its_address(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(loop())
    app = visit(RUN, tmp_path / "a.log", tmp_path / "b.log")
    app.selectbox[0].select_index(1).run()
    key = app.query_params["run"]
    again = AppTest.from_file(APP, default_timeout=60)
    again.query_params["path"] = [str(tmp_path / "a.log"), str(tmp_path / "b.log")]
    again.query_params["run"] = key
    again.run()
    again.switch_page(RUN).run()
    assert again.selectbox[0].index == 1


def test_the_same_file_dropped_twice_is_one_run() -> None:
    app = visit(RUNS)
    for _ in range(2):
        app.switch_page(RUNS).run()
        app.file_uploader[0].upload("mine.log", loop().encode()).run()
    assert not app.exception
    app.switch_page(RUNS).run()
    assert not app.dataframe
    assert said(app).count("step 40 of 400") == 1


def test_names_of_a_log_of_ones_own_are_typed_once_and_kept_in_the_link(tmp_path: Path) -> None:
    """A key that no table knows becomes a column; the link carries it; a wrong one gets one message."""
    log = tmp_path / "own.log"
    log.write_text(
        "".join(f"step {n}/40 | zork {100 + n} | reward 0.{n % 9} | time {2 + n / 50:.2f}s\n" for n in range(1, 21))
    )
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params["path"] = [str(log)]
    app.query_params["map"] = ["zork=len_mean"]
    app.run()
    app.switch_page("views/run.py").run()
    assert not app.exception
    assert re.search(r"Answers grew from 10\d to 11\d tokens", said(app))

    wrong = AppTest.from_file(APP, default_timeout=60).run()
    names = next(each for each in wrong.text_input if each.label == "Names only your log uses")
    names.set_value("zork=nonsense").run()
    assert any("nonsense" in each.value for each in wrong.error)


def test_one_input_is_swept_on_the_plan_view() -> None:
    """The group size from half to four times: the lesson's 27.8 s at G 16 stands in the table."""
    app = visit(PLAN)
    assert "27.8" in said(app)
    app.selectbox(key="sweep").select("mean_length").run()
    assert not app.exception
    assert "From 200 to 1,600" in said(app)


def test_a_page_that_is_held_still_does_not_redraw_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.follower.POLL_S", 0.0)
    log = tmp_path / "live.log"
    log.write_text(loop(1, 20))
    app = visit(RUN, log)
    app.button(key="tl_hold").click().run()
    assert "Held still" in said(app)
    app.button(key="tl_hold").click().run()
    with log.open("a") as stream:
        stream.write(loop(21, 23))
    app.run()
    assert "step 23 of 400" in said(app)
    assert "Following the log" in said(app)


def test_no_chart_of_a_page_is_empty_grey_where_a_log_has_no_phases(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(RUN, log)
    assert "How long each step takes" in said(app)
    assert "An ordinary step takes 30.4 s" in said(app)
    assert "Where each step's time goes" not in said(app)
