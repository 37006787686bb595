"""`timeledger show`: one or several runs, each with its three answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from timeledger.cli import options

HELP: Final = "where a run's time goes, when it ends, what it depends on"
EPILOG: Final = """examples:
  timeledger show train.log
  timeledger show runs/grpo-1 --total-steps 400 --gpus 8 --price 2.1 --currency EUR
  timeledger show train.log --json --steps > run.json
"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_reading(parser)
    options.add_facts(parser)
    options.add_output(parser)
    parser.add_argument("--steps", action="store_true", help="with --json: the rows of the run as well")
    parser.add_argument("--advice", action="store_true", help="all advice in full, and the rules this log cannot judge")
    parser.add_argument("--notes", action="store_true", help="everything that was skipped, repaired or guessed")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print."""
    from timeledger.analysis import analyse
    from timeledger.cli import text
    from timeledger.cli.waiting import waiting
    from timeledger.document import to_json
    from timeledger.report import show_document

    runs = options.read(args)
    given = options.facts(args)
    with waiting("Analysing"):
        analyses = [analyse(each, given) for each in runs]
    document = show_document(analyses, with_steps=args.steps)
    if args.json:
        print(to_json(document))
    elif args.html or args.md:
        from timeledger import render

        target = Path(args.html or args.md)
        render.write(analyses, target, html=bool(args.html))
        print(f"Wrote {target}")
    else:
        text.show(document, all_notes=args.notes, all_advice=args.advice)
    return 0
