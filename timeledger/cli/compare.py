"""`timeledger compare`: several runs side by side, and why one is slower."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from timeledger.cli import options
from timeledger.errors import BadOption

HELP: Final = "several runs side by side, and why a step of one takes longer"
EPILOG: Final = """example:
  timeledger compare run-a.log run-b/ run-c/trainer_state.json
"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_reading(parser)
    options.add_facts(parser)
    options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Read, analyse, compare, print."""
    from timeledger.analysis import analyse
    from timeledger.cli import text
    from timeledger.compare import compare
    from timeledger.document import to_json
    from timeledger.report import compare_document

    runs = options.read(args)
    if len(runs) < 2:
        raise BadOption(f"{', '.join(args.paths)}: only one run was found; name at least two to compare.")
    given = options.facts(args)
    comparison = compare([analyse(each, given) for each in runs])
    document = compare_document(comparison)
    if args.json:
        print(to_json(document))
    elif args.html or args.md:
        from timeledger import render

        target = Path(args.html or args.md)
        render.write_comparison(comparison, target, html=bool(args.html))
        print(f"Wrote {target}")
    else:
        text.compare(document)
    return 0
