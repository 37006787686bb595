"""The README is true: its outputs are what the commands print, its table is the table of formats, its links exist.

`TIMELEDGER_REFRESH=1 python -m pytest tests/test_docs.py` writes outputs and table anew.
"""

from __future__ import annotations

import os
import re

import pytest

from parsers import FORMATS
from tests.conftest import ROOT
from timeledger.cli import COMMANDS, main

README = ROOT / "README.md"
REFRESH = bool(os.environ.get("TIMELEDGER_REFRESH"))
OUTPUT = re.compile(r"(<!-- output: (?P<command>[^>]+) -->\n```text\n)(?P<text>.*?)(```\n)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: formats -->\n)(?P<text>.*?)(?=\n`timeledger formats`)", re.DOTALL)


def scrub(text: str) -> str:
    """Without trailing blanks, and without clock times, which depend on the moment."""
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("Finishes")).strip()


def formats_table() -> str:
    rows = ["| format | what it is | read | not in it |", "|---|---|---|---|"]
    rows += [f"| `{each.name}` | {each.title} | {each.reads} | {each.lacks} |" for each in FORMATS]
    return "\n".join(rows) + "\n"


def test_outputs_are_real(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = README.read_text()
    assert OUTPUT.search(text)
    for block in OUTPUT.finditer(text):
        assert main(block["command"].split()) == 0
        printed = scrub(capsys.readouterr().out) + "\n"
        if REFRESH:
            README.write_text(README.read_text().replace(block.group(0), f"{block.group(1)}{printed}```\n"))
        else:
            assert scrub(block["text"]) == printed.strip(), f"timeledger {block['command']}"


def test_the_table_is_the_table_of_formats() -> None:
    text = README.read_text()
    found = TABLE.search(text)
    assert found
    if REFRESH:
        README.write_text(text.replace(found.group(0), f"{found.group(1)}{formats_table()}"))
    else:
        assert found["text"].strip() == formats_table().strip()


def test_every_command_and_link_is_real() -> None:
    text = README.read_text()
    for command in re.findall(r"timeledger (\w+)", text):
        assert command in COMMANDS or command in {"is", "reads", "cannot"}, command
    for link in re.findall(r"\]\(([^)h#][^)]*)\)", text):
        assert (ROOT / link).exists(), link


def test_every_make_target_is_documented_in_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    for target in targets:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target
