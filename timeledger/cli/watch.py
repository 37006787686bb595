"""`timeledger watch`: a live run in the terminal, redrawn as its log grows."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from timeledger.cli import options
from timeledger.errors import BadOption

HELP: Final = "follow a live run in the terminal (Ctrl-C ends it)"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_reading(parser)
    options.add_facts(parser)
    parser.add_argument("--every", type=float, default=2.0, metavar="S", help="seconds between two looks (default 2)")
    parser.add_argument("--once", action="store_true", help="one look, then end")


def run(args: argparse.Namespace) -> int:
    """Poll, and print when something changed."""
    import parsers
    from timeledger.analysis import analyse
    from timeledger.cli import text
    from timeledger.report import show_document

    if args.every <= 0:
        raise BadOption(f"--every {args.every:g}: must be greater than 0.")
    live = parsers.Live(args.paths, mapping=options.mapping(args))
    while True:
        runs = live.poll()
        if live.changed:
            analyses = [analyse(each, options.facts(args)) for each in runs]
            if sys.stdout.isatty() and not args.once:
                print("\x1b[H\x1b[2J\x1b[3J", end="")
            text.show(show_document(analyses))
            sys.stdout.flush()
        if args.once:
            return 0
        time.sleep(args.every)
