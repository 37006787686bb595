"""The built wheel holds exactly our packages, and works outside the checkout in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the tree (building writes into it)."""
    work = tmp_path_factory.mktemp("build")
    source = work / "source"
    ignore = shutil.ignore_patterns(
        ".git", ".venv", "*_cache", "*.egg-info", "__pycache__", "build", "screenshots", ".hypothesis"
    )
    shutil.copytree(ROOT, source, ignore=ignore)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(work.glob("*.whl"))


def test_it_holds_exactly_our_packages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"timeledger", "parsers", "dashboard", "sample_logs"}
    for needed in (
        "timeledger/report.schema.json",
        "timeledger/py.typed",
        "sample_logs/growing-answers/console.log",
        "sample_logs/SOURCES.md",
        "dashboard/app.py",
    ):
        assert needed in names, needed


def test_show_runs_from_it_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    # Its own environment, and the dependencies that this test run already has: nothing is downloaded.
    site = next((home / "lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    dependencies = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"import sys; sys.path.append({dependencies!r})\n")
    log = tmp_path / "loop.log"
    log.write_text(
        "".join(f"step {n}/40 | len {100 + n} | reward 0.{n % 9} | time {2 + n / 50:.2f}s\n" for n in range(1, 21))
    )
    done = subprocess.run(
        [str(home / "bin" / "python"), "-P", "-m", "timeledger", "show", str(log), "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["runs"][0]
    assert run["run"]["step"] == 20
    assert run["run"]["total_steps"] == 40
