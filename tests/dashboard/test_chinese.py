"""The Chinese page is Chinese throughout: no English sentence is left on any view, whatever the log says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT
from tests.dashboard.english import sentences, texts

APP = str(ROOT / "dashboard" / "app.py")
SAMPLES = sorted(each for each in (ROOT / "sample_logs").iterdir() if each.is_dir() and each.name[0] not in "._")
VIEWS = ("runs", "run", "optimise", "compare", "plan", "budget", "account", "help")
#: The field's own terms, and commands, as the help shows them.
OWN = {"truncation rate", "vllm bench serve", "vllm bench throughput"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TIMELEDGER_PATHS", raising=False)
    yield
    st.cache_resource.clear()


def page(*paths: Path, code: str = "zh", **more: str) -> AppTest:
    """The app with these paths open, in a language."""
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params["path"] = [str(each) for each in paths]
    app.query_params["lang"] = code
    for name, value in more.items():
        app.query_params[name] = value
    return app.run()


def left(app: AppTest, *views: str) -> set[tuple[str, str]]:
    """English sentences by view."""
    found = set()
    for view in views:
        app.switch_page(f"views/{view}.py").run()
        assert not app.exception, (view, app.exception)
        found |= {(view, each) for each in sentences(app) if each not in OWN}
    return found


def growing() -> str:
    """A loop whose answers grow up to their limit; nobody says how many steps are planned."""
    dice = random.Random(1)
    return "max_tokens: 512\n" + "".join(
        f"step {step} | len {100 + 3 * step + dice.gauss(0, 4):.1f} | len_max {min(220 + 6 * step, 512)} | truncated {step / 400:.3f} | "
        f"reward {0.3 + dice.gauss(0, 0.02):.3f} | zero_std {min(step / 90, 1):.2f} | grad_norm {dice.random():.3f} | "
        f"time {8 + 0.05 * step + dice.gauss(0, 0.1):.2f}s | rollout {5 + 0.05 * step:.2f}s | update 2.4s\n"
        for step in range(1, 90)
    )


def crashed() -> str:
    """A loop that learns nothing, loses its reward and ends in a traceback."""
    rows = "".join(
        f"step {step}/300 reward={'nan' if step > 20 else '1.0'} acc=0.5 ratio=1.4 adv_std=0.0 entropy={1 / step**2:.5f} grad_norm=0.0 dt=12s\n"
        for step in range(1, 41)
    )
    return rows + "Traceback (most recent call last):\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n"


def rows() -> str:
    """JSON lines, some of them damaged, with rare long stops."""
    made = [
        json.dumps(
            {"step": step, "loss": 0.1, "reward": step % 7 / 7, "time": 1_700_000_000 + 5 * step + 300 * (step // 50)}
        )
        for step in range(1, 160)
    ]
    return "\n".join([*made[:30], '{"loss": 0.', "no row", *made[30:]]) + "\n"


def verl() -> str:
    """Phases that take most of their time where it can be saved."""
    return "training_args: {}\n" + "".join(
        f"step:{step} - timing_s/gen:41.0 - timing_s/old_log_prob:9.0 - timing_s/ref:8.0 - timing_s/update_actor:24.0 - timing_s/reward:7.0 - "
        f"timing_s/testing:{30.0 if step % 5 == 0 else 0.0} - timing_s/save_checkpoint:6.0 - timing_s/step:{95.0 + 30 * (step % 5 == 0)} - "
        f"response_length/mean:{600 + step}.0 - response_length/max:4096.0 - response_length/clip_ratio:0.2 - prompt_length/mean:900.0 - "
        f"actor/grad_norm:0.3 - actor/pg_clipfrac:0.001 - critic/rewards/mean:0.41 - training/global_step:{step} - "
        f"global_seqlen/mean:5000 - global_seqlen/max:9000 - global_seqlen/min:3000 - perf/max_memory_allocated_gb:30.0\n"
        for step in range(1, 31)
    )


LOGS = {"growing": growing, "crashed": crashed, "rows": rows, "verl": verl}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.name)
def test_a_sample_in_chinese(sample: Path) -> None:
    assert not left(page(sample), "run", "optimise")


@pytest.mark.parametrize("name", LOGS)
def test_an_odd_log_in_chinese(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.log"
    path.write_text(LOGS[name]())
    assert not left(page(path), "run", "optimise", "plan")


def test_every_view_in_chinese() -> None:
    assert not left(page(*SAMPLES), *VIEWS)


def test_a_budget_that_does_not_fit_in_chinese() -> None:
    app = page(hours="0.05")
    assert not left(app, "budget")
    assert app.warning


def test_what_cannot_be_read_is_told_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    bad, empty = tmp_path / "bad.log", tmp_path / "empty.log"
    bad.write_text("two eggs and one bread\n")
    empty.write_text("")
    app = page(tmp_path / "nothing", tmp_path / "gone", bad, empty)
    assert len(app.error) == 4
    assert {each for each in sentences(app) if each not in "two eggs and one bread"} == set()


def test_the_look_for_english_finds_it() -> None:
    """The same pages in English are full of sentences, so finding none in Chinese means something."""
    app = page(SAMPLES[0], code="en")
    for view in VIEWS:
        app.switch_page(f"views/{view}.py").run()
        assert len(sentences(app)) >= 10, view
    app.switch_page("views/run.py").run()
    told = "\n".join(texts(app))
    for part in ("Answers grew from", "Look at a step", "a step: click it, or type", "elapsed, "):
        assert part in told, part
