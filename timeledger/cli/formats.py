"""`timeledger formats`: what is read, what each log does not hold, and how to log more."""

from __future__ import annotations

import argparse
from typing import Final

HELP: Final = "the formats that are read, and how to log more"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from parsers import FORMATS

    if args.json:
        import json

        rows = [
            {"name": each.name, "title": each.title, "reads": each.reads, "lacks": each.lacks, "more": each.more}
            for each in FORMATS
        ]
        print(json.dumps({"schema": 1, "formats": rows}, indent=2, ensure_ascii=False))
        return 0
    from timeledger.cli import text

    text.formats(FORMATS)
    return 0
