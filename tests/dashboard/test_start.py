"""What the first page costs before it is drawn: which modules it needs, and that they are loaded ahead of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

#: A process of its own: the modules that the first page loads beyond those loaded ahead, and all that are loaded then.
SCRIPT = f"""
import json, sys
from importlib import import_module
from streamlit.testing.v1 import AppTest
from dashboard.__main__ import FIRST
for name in FIRST:
    import_module(name)
ahead = set(sys.modules)
app = AppTest.from_file({str(ROOT / "dashboard" / "app.py")!r}, default_timeout=120)
app.query_params["path"] = [{str(ROOT / "sample_logs" / "growing-answers")!r}]
app.run()
assert not app.exception
print(json.dumps([sorted(set(sys.modules) - ahead), sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def modules() -> tuple[set[str], set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    late, loaded = json.loads(done.stdout)
    return set(late), set(loaded)


def test_the_first_page_waits_for_no_module_of_ours(modules: tuple[set[str], set[str]]) -> None:
    late, _ = modules
    heavy = {"dashboard", "parsers", "timeledger", "sample_logs", "polars", "pydantic", "plotly", "pyarrow"}
    assert not sorted(name for name in late if name.split(".")[0] in heavy)


def test_the_first_page_does_without_pandas(modules: tuple[set[str], set[str]]) -> None:
    _, loaded = modules
    assert "polars" in loaded
    assert "pandas" not in loaded
