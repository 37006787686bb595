"""The README is true: its outputs are what the commands print, its table is the table of formats, its links exist.

`TIMELEDGER_REFRESH=1 python -m pytest tests/test_docs.py` writes outputs and table anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from parsers import FORMATS
from tests.conftest import ROOT
from timeledger.cli import COMMANDS, main

README = ROOT / "README.md"
CHINESE = ROOT / "README.zh-CN.md"
BOTH = pytest.mark.parametrize("readme", [README, CHINESE], ids=lambda each: each.name)
REFRESH = bool(os.environ.get("TIMELEDGER_REFRESH"))
OUTPUT = re.compile(r"(<!-- output: (?P<command>[^>]+) -->\n```text\n)(?P<text>.*?)(```\n)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: formats(?: in short)? -->\n)(?P<text>.*?)(?=\n`timeledger formats`)", re.DOTALL)


def scrub(text: str) -> str:
    """Without trailing blanks, and without clock times, which depend on the moment."""
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("Finishes")).strip()


def formats_table() -> str:
    rows = ["| format | what it is | read | not in it |", "|---|---|---|---|"]
    rows += [f"| `{each.name}` | {each.title} | {each.reads} | {each.lacks} |" for each in FORMATS]
    return "\n".join(rows) + "\n"


def short_table() -> str:
    rows = ["| 格式 | 来源 |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{each.name}` | {each.title} |" for each in FORMATS)]) + "\n"


@BOTH
def test_outputs_are_real(readme: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = readme.read_text()
    assert OUTPUT.search(text)
    for block in OUTPUT.finditer(text):
        assert main(block["command"].split()) == 0
        printed = scrub(capsys.readouterr().out) + "\n"
        if REFRESH:
            readme.write_text(readme.read_text().replace(block.group(0), f"{block.group(1)}{printed}```\n"))
        else:
            assert scrub(block["text"]) == printed.strip(), f"timeledger {block['command']}"


@BOTH
def test_the_table_is_the_table_of_formats(readme: Path) -> None:
    text, table = readme.read_text(), formats_table() if readme == README else short_table()
    found = TABLE.search(text)
    assert found
    if REFRESH:
        readme.write_text(text.replace(found.group(0), f"{found.group(1)}{table}"))
    else:
        assert found["text"].strip() == table.strip()


def test_the_chinese_readme_has_the_same_sections_commands_and_numbers() -> None:
    english, chinese = (TABLE.sub("", OUTPUT.sub("", each.read_text())) for each in (README, CHINESE))

    def found(pattern: str, text: str) -> list[str]:
        return sorted(set(re.findall(pattern, text)))

    for pattern in (r"`(timeledger [a-z]+[^`]*)`", r"(?<![\w.])\d[\d,.]* (?:s|%|m)(?![a-z])", r"`make \w+[^`]*`"):
        assert found(pattern, english) == found(pattern, chinese), pattern
    for sign in ("## ", "- **", "| "):
        assert english.count(f"\n{sign}") == chinese.count(f"\n{sign}"), sign


@BOTH
def test_every_command_and_link_is_real(readme: Path) -> None:
    text = readme.read_text()
    for command in re.findall(r"timeledger (\w+)", text, re.ASCII):
        assert command in COMMANDS or command in {"is", "reads", "cannot"}, command
    for link in re.findall(r"\]\(([^)h#][^)]*)\)", text):
        assert (ROOT / link).exists(), link


def test_every_make_target_is_documented_in_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    for target in targets:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target
