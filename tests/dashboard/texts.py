"""The texts of the page as they stand in the code, for the tests of the catalogues."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

#: Functions whose first argument is a text for the catalogue: the page's own, and the model's.
NAMES = ("t", "mark", "say")


def modules(*folders: str) -> list[Path]:
    """Every Python file of the folders (default: the dashboard)."""
    return [path for folder in folders or ("dashboard",) for path in sorted((ROOT / folder).rglob("*.py"))]


def messages() -> dict[str, str]:
    """Every text that passes through the catalogue -> where it first stands."""
    found: dict[str, str] = {}
    for path, call in calls("dashboard", "timeledger", "parsers"):
        if isinstance(call.func, ast.Name) and call.func.id in NAMES and call.args:
            text = call.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value:
                found.setdefault(text.value, f"{path.relative_to(ROOT)}:{call.lineno}")
    return found


def placeholders(text: str) -> list[str]:
    """The `{names}` of a text."""
    return sorted(re.findall(r"\{(\w*)\}", text))


def calls(*folders: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call in the folders (default: the dashboard)."""
    for path in modules(*folders):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path, node
