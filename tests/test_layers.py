"""Imports point one way, and no module shadows another."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("timeledger", "parsers", "dashboard")
RECORD = {
    "timeledger.run", "timeledger.schema", "timeledger.errors", "timeledger.units", "timeledger.said", "timeledger",
}  # fmt: skip


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module name that a file imports, members of packages included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def top(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("path", modules("parsers"), ids=lambda path: path.name)
def test_parsers_see_the_record_only(path: Path) -> None:
    for name in imported(path):
        assert top(name) not in {"dashboard", "streamlit", "plotly"}, name
        if top(name) == "timeledger" and (ROOT / f"{name.replace('.', '/')}.py").exists():
            assert name in RECORD, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", [p for p in modules("timeledger") if "cli" not in p.parts], ids=lambda path: path.name)
def test_the_model_reads_no_file_and_draws_nothing(path: Path) -> None:
    for name in imported(path):
        if name == "timeledger.cli" and path.name == "__main__.py":
            continue
        assert top(name) not in {"parsers", "dashboard", "streamlit", "plotly", "rich"}, name
        assert not name.startswith("timeledger.cli") or path.name == "__main__.py", name


@pytest.mark.parametrize("path", modules("timeledger/cli"), ids=lambda path: path.name)
def test_the_command_line_never_imports_the_dashboard(path: Path) -> None:
    assert not {top(name) for name in imported(path)} & {"dashboard", "streamlit", "plotly"}


def test_modules_form_no_circle() -> None:
    """A module can be read without the ones that build on it, late imports included."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path for each in PACKAGES for path in modules(each)
    }
    needs = {name: set(imported(path)) & files.keys() for name, path in files.items()}
    for name in ("parsers.json_rows", "parsers.notebook"):  # documents that hold the text of any other format
        needs[name].remove("parsers.source")
    assert len(list(TopologicalSorter(needs).static_order())) == len(files)


def test_no_dashboard_module_hides_the_standard_library() -> None:
    """Streamlit puts the dashboard's folder first on the path."""
    for path in modules("dashboard"):
        assert path.stem == "__init__" or path.stem not in sys.stdlib_module_names, path


def test_help_starts_without_polars() -> None:
    code = (
        "import sys; from timeledger.cli import build_parser; build_parser().format_help(); "
        "print(sorted({'polars', 'pydantic', 'streamlit', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", [p for folder in PACKAGES for p in modules(folder)], ids=lambda path: str(path.name))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400, f"{path.name} holds more than one thing"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or node.lineno) - node.lineno < 80, f"{path.name}: {node.name}"
