"""Two languages: no text of the page is missing, no placeholder differs, numbers read as people write them."""

from __future__ import annotations

import ast
import re
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import language, localised, samples, summary
from dashboard.language import catalogue, retold, t
from parsers import FORMATS
from tests.conftest import ROOT
from tests.dashboard.synthetic import NOW, analysis
from tests.dashboard.texts import calls, messages, placeholders
from timeledger import moment
from timeledger.headline import headline
from timeledger.palette import LOOKS
from timeledger.results import State
from timeledger.said import Said, say
from timeledger.units import show_seconds

APP = str(ROOT / "dashboard" / "app.py")
SAMPLES = ROOT / "sample_logs"
OTHERS = [code for code in language.LANGUAGES if code != "en"]
CHINESE = re.compile(r"[一-鿿]")


@pytest.mark.parametrize("code", OTHERS)
def test_no_text_is_missing_and_none_is_left_over(code: str) -> None:
    known, wanted = catalogue(code), messages()
    missing = [f"{where}: {text}" for text, where in wanted.items() if text not in known]
    assert not missing, f"texts without a translation in dashboard/texts: {missing}"
    lost = sorted(text for text in _format_texts() if text not in known)
    assert not lost, f"texts of formats without a translation: {lost}"
    names = {look.label for look in LOOKS.values()} | {each.shows for each in samples.bundled()}
    left = sorted(text for text in known if text not in {*wanted, *names, *_format_texts()})
    assert not left, f"translations of texts that nobody shows: {left}"


def _format_texts() -> set[str]:
    """What the help says of every format."""
    return {text for each in FORMATS for text in (each.title, each.reads, each.lacks, each.more)}


@pytest.mark.parametrize("code", OTHERS)
def test_every_placeholder_is_kept(code: str) -> None:
    for text, told in catalogue(code).items():
        assert placeholders(text) == placeholders(told), text
        for mark in ("`", "**"):
            assert text.count(mark) == told.count(mark), text


@pytest.mark.parametrize("code", OTHERS)
def test_names_of_the_model_are_translated(code: str) -> None:
    for look in LOOKS.values():
        assert look.label in catalogue(code), look.label


def test_every_call_gives_the_placeholders_of_its_text() -> None:
    for path, call in calls("dashboard", "timeledger", "parsers"):
        if not (isinstance(call.func, ast.Name) and call.func.id in {"t", "say"}):
            continue
        if not isinstance(call.args[0], ast.Constant) or any(each.arg is None for each in call.keywords):
            continue
        given = sorted(each.arg for each in call.keywords if each.arg)
        assert given == sorted(set(placeholders(str(call.args[0].value)))), f"{path.name}:{call.lineno}"


def test_what_the_model_says_is_a_literal() -> None:
    """A template that is put together at run time has no translation."""
    for path, call in calls("timeledger", "parsers"):
        if isinstance(call.func, ast.Name) and call.func.id == "say":
            text = call.args[0]
            assert isinstance(text, ast.Constant), f"{path.name}:{call.lineno}"
            assert isinstance(text.value, str), f"{path.name}:{call.lineno}"


def test_no_words_reach_the_page_past_the_catalogue() -> None:
    """Text written straight into a Streamlit call would stay English in every language."""
    for path, call in calls():
        made_by = ast.unparse(call.func)
        if not made_by.startswith(("st.", "parts.", "left.", "right.", "close.")) or made_by.startswith(
            ("st.session_state", "st.query")
        ):
            continue
        shown = [
            *call.args,
            *(
                each.value
                for each in call.keywords
                if each.arg in {"label", "help", "placeholder", "alt", "title", "missing", "caption"}
            ),
        ]
        for each in shown:
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
                continue
            words = re.findall(r"[A-Za-z]{3,} [a-z]{2,}", re.sub(r"<[^>]*>|/[\w/.-]+|step 3 \|.*", "", each.value))
            assert not words, f"{path.name}:{each.lineno}: {each.value!r}"


def test_the_reader_of_catalogues_understands_gettext() -> None:
    text = '# note\n#, fuzzy\nmsgid ""\nmsgstr "Language: zh\\n"\n\n#: a.py\nmsgid "one \\"two\\"\\n"\n"three"\nmsgstr ""\n"一"\n"二"\n\nmsgid "empty"\nmsgstr ""\n'
    assert language.read_po(text) == {'one "two"\nthree': "一二"}


@pytest.mark.parametrize(
    ("locale", "code"),
    [("zh-CN", "zh"), ("zh", "zh"), ("zh_TW", "zh"), ("en-GB", "en"), ("de-DE", "en"), ("", "en"), (None, "en")],
)
def test_the_browser_chooses(locale: str | None, code: str) -> None:
    assert language.preferred(locale) == code


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.014, "14 毫秒"),
        (33.6, "33.6 秒"),
        (252, "4 分 12 秒"),
        (6720, "1 小时 52 分"),
        (183600, "2 天 3 小时"),
        (None, "—"),
    ],
)
def test_durations(seconds: float | None, told: str) -> None:
    language.speak("zh")
    assert localised.seconds(seconds) == told


@pytest.mark.parametrize(
    ("hours", "english", "told"),
    [(1, "today 19:00", "今天 19:00"), (9, "tomorrow 03:00", "明天 03:00"), (48, "Wed 18:00", "周三 18:00"), (24 * 20, "22 Mar 18:00", "3 月 22 日 18:00"), (24 * 400, "6 Apr 2027 18:00", "2027 年 4 月 6 日 18:00"), (-24, "yesterday 18:00", "昨天 18:00")],
)  # fmt: skip
def test_moments(hours: float, english: str, told: str) -> None:
    at = NOW + timedelta(hours=hours)
    assert localised.moment(at, NOW, UTC) == english
    language.speak("zh")
    assert localised.moment(at, NOW, UTC) == told


def test_shares_and_phases() -> None:
    language.speak("zh")
    assert localised.share(0.683) == "68%"
    assert localised.signed_share(-0.12) == "−12%"
    assert localised.phase("rollout") == "采样"
    assert localised.phase("my_phase") == "my phase"


def test_an_unknown_text_and_an_unknown_language_stay_english() -> None:
    language.speak("zh")
    assert t("a text of nobody {x}", x=1) == "a text of nobody 1"
    language.speak("tlh")
    assert language.spoken() == "en"


def test_the_headline_says_the_same_in_both_languages() -> None:
    run = moment.at(analysis(), NOW, UTC)
    assert "87 of 200 steps done" in retold(run.headline)
    language.speak("zh")
    told = retold(run.headline)
    assert summary.finish(run, UTC).value in told
    assert "87 / 200 步" in told
    assert "62%" in told


@pytest.mark.parametrize("state", ["finished", "ended early", "stalled", "unknown"])
def test_every_state_has_its_sentence(state: State) -> None:
    run = analysis()
    told = headline(run.run, run.clock, run.breakdown, run.growth, run.projection, state, run.facts, UTC)
    language.speak("zh")
    told = retold(told)
    assert CHINESE.search(told)
    assert not re.search(r"[{}]|[A-Za-z]{3,}\s[a-z]{3,}", told)


def test_what_is_not_said_stays_as_it_is() -> None:
    """A run may be called like a word of the page."""
    language.speak("zh")
    assert t("steps") == "步数"
    assert retold("steps") == "steps"
    assert (
        retold(say("{b} keeps the pace of {a}: {there}.", a="steps", b="reward", there="x"))
        == "reward 与 steps 速度相同：x。"
    )


def test_a_sentence_without_a_translation_stays_english_as_a_whole() -> None:
    language.speak("zh")
    untold = Said("nobody says 4 m", "nobody says {time}", {"time": show_seconds(240)})
    assert retold(untold) == "nobody says 4 m"
    assert retold(say("{a} {b}", a=untold, b=say("No pauses worth naming."))) == "nobody says 4 m没有值得一提的停顿。"


def test_no_space_stands_between_two_chinese_words() -> None:
    language.speak("zh")
    assert retold(say("{a} and {b}", a=say("training throughput"), b=say("fixed overhead"))) == "训练吞吐和固定开销"
    assert retold(say("{a} and {b}", a="lr", b="KL")) == "lr 和 KL"


def labels(app: AppTest) -> list[str]:
    """What widgets, headings and HTML of a page say."""
    kinds = (
        "button",
        "selectbox",
        "number_input",
        "checkbox",
        "toggle",
        "text_input",
        "multiselect",
        "expander",
        "tabs",
    )
    told = [str(getattr(each, "label", "")) for kind in kinds for each in app.get(kind) if getattr(each, "label", "")]
    return told + [
        line.lstrip("# ") for each in app.markdown for line in str(each.value).splitlines() if line.startswith("#")
    ]


VIEWS = ("run", "optimise", "compare", "plan", "budget", "account", "help", "runs")


def test_a_chinese_page_is_chinese(tmp_path: Path) -> None:
    """Every label and heading holds Chinese, apart from names of logs and the names that all languages share."""
    paths = [SAMPLES / "phases-from-wandb", SAMPLES / "hand-written"]
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params["path"] = [str(each) for each in paths]
    app.query_params["lang"] = "zh"
    app.run()
    for view in VIEWS:
        app.switch_page(f"views/{view}.py").run()
        assert not app.exception, view
        for each in labels(app):
            own = each in {"English", "KL"} or any(path.name in each for path in (*paths, *SAMPLES.iterdir()))
            assert own or CHINESE.search(each), f"{view}: {each}"
    assert app.query_params["lang"] == "zh"


def test_the_switch_is_kept_in_the_address() -> None:
    app = AppTest.from_file(APP, default_timeout=60).run()
    assert "lang" not in app.query_params
    app.button(key="speak_zh").click().run()
    assert app.query_params["lang"] == "zh"
    assert any("训练" in each for each in labels(app))
    app.switch_page("views/plan.py").run()
    assert app.query_params["lang"] == "zh"
    app.button(key="speak_en").click().run()
    assert any("Plan a run" in each for each in labels(app))
    assert app.query_params["lang"] == "en"
