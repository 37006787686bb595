"""The state of a view is in its address: a link opens what its sender saw, in a session that knows nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.dashboard.test_views import ACCOUNT, APP, BUDGET, COMPARE, PLAN, RUN, SAMPLES, loop, said, visit


def shared(app: AppTest, view: str) -> AppTest:
    """The same address in a session of its own."""
    other = AppTest.from_file(APP, default_timeout=60)
    for name, values in app.query_params.items():
        other.query_params[name] = values
    other.run()
    other.switch_page(view).run()
    assert not other.exception, other.exception
    return other


def test_what_was_typed_about_a_run_is_in_the_link(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop().replace("/400", ""))
    app = visit(RUN, log)
    next(each for each in app.number_input if each.label == "GPUs").set_value(8).run()
    next(each for each in app.number_input if each.label == "Price of a GPU-hour").set_value(2.5).run()
    next(each for each in app.text_input if each.label == "Currency").set_value("EUR").run()
    asked = next(each for each in app.number_input if each.label == "How many steps are planned?")
    asked.set_value(400).run()
    assert "step 40 of 400" in said(app)
    assert all(each.label != "How many steps are planned?" for each in app.number_input), (
        "asked only while it is missed"
    )
    link = str(app.query_params["fact"])
    assert re.fullmatch(r"\w{12}~total_steps:400~gpus:8~price_per_gpu_hour:2.5~currency:EUR", link)
    other = said(shared(app, RUN))
    assert "step 40 of 400" in other
    assert "EUR" in other


@pytest.mark.parametrize(
    "told",
    [
        "total_steps:-4",
        "total_steps:0",
        "nonsense:3",
        "total_steps:yes",
        "total_steps:99999999999999999999",
        "currency:7",
        "eval_at_end:3",
        "level:2",
        "~:~",
    ],
)
def test_a_link_with_facts_that_cannot_be_opens_all_the_same(told: str, tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(RUN, log)
    app.query_params["fact"] = f"{app.query_params['run']}~{told}"
    assert "step 40 of 400" in said(shared(app, RUN))


def test_inputs_of_a_plan_are_in_the_link(tmp_path: Path) -> None:
    log = tmp_path / "loop.log"
    log.write_text(loop())
    app = visit(PLAN, log)
    assert app.selectbox[0].value == app.query_params["from"], "the only open run is what a plan starts from"
    next(each for each in app.number_input if each.label == "Answers per prompt, G").set_value(16).run()
    assert app.query_params["plan"] == "group_size:16"
    other = shared(app, PLAN)
    assert next(each for each in other.number_input if each.label == "Answers per prompt, G").value == 16
    other.button(key="plan_reset").click().run()
    assert "plan" not in other.query_params


def test_a_budget_and_an_account_are_in_the_link() -> None:
    app = visit(BUDGET)
    next(each for each in app.number_input if each.label == "Hours I have").set_value(0.5).run()
    app.toggle[0].set_value(True).run()
    assert app.query_params["hours"] == "0.5"
    assert app.query_params["keep"] == "sure"
    assert shared(app, BUDGET).toggle[0].value is True
    app = visit(ACCOUNT)
    next(each for each in app.number_input if each.label.startswith("Code at the desk")).set_value(7.5).run()
    assert "7 h 30 m" in said(shared(app, ACCOUNT))


def test_what_is_compared_and_in_which_order_is_in_the_link(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.log" for name in "abc"]
    for at, path in enumerate(paths):
        path.write_text(loop(last=40 + 10 * at))
    app = visit(COMPARE, *paths)
    first = list(app.multiselect[0].value)
    app.multiselect[0].set_value([first[2], first[0]]).run()
    app.segmented_control[0].set_value("share of a step").run()
    other = shared(app, COMPARE)
    assert list(other.multiselect[0].value) == [first[2], first[0]]
    heads = [re.findall(r"</i>(\w)</th>", str(each.proto.body)) for each in other.get("html")]
    assert ["c", "a"] in heads
    assert other.segmented_control[0].value == "share of a step"


def test_the_unit_of_a_profile_is_in_the_link() -> None:
    app = visit(RUN, SAMPLES / "phases-from-wandb")
    app.segmented_control[0].set_value("share of a step").run()
    assert app.query_params["view"] == "unit:share of a step"
    assert shared(app, RUN).segmented_control[0].value == "share of a step"
