"""The texts of the page as they stand in the code, for the tests of the catalogues."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

#: Functions whose first argument is a text for the catalogue.
NAMES = ("t", "mark")


def modules() -> list[Path]:
    """Every Python file of the dashboard."""
    return sorted((ROOT / "dashboard").rglob("*.py"))


def messages() -> dict[str, str]:
    """Every text that passes through the catalogue -> where it first stands."""
    found: dict[str, str] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and node.args:
                text = node.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value:
                    found.setdefault(text.value, f"dashboard/{path.relative_to(ROOT / 'dashboard')}:{node.lineno}")
    return found


def placeholders(text: str) -> list[str]:
    """The `{names}` of a text."""
    return sorted(re.findall(r"\{(\w*)\}", text))


def calls() -> Iterator[tuple[Path, ast.Call]]:
    """Every call in the dashboard."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path, node
