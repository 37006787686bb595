"""The command line: one file a command, and the only place that prints an error.

Modules of commands are imported only when their command runs, and heavy libraries only inside `run`, so that
`timeledger --help` starts at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from timeledger import __version__
from timeledger.errors import TimeledgerError

#: Command -> module below `timeledger.cli`. Each has HELP, EPILOG, `prepare(parser)` and `run(args) -> int`.
COMMANDS: Final = {
    "show": "show",
    "compare": "compare",
    "plan": "plan",
    "budget": "budget",
    "steps": "steps",
    "account": "account",
    "check": "check",
    "watch": "watch",
    "open": "open_page",
    "formats": "formats",
    "export": "export",
}

DESCRIPTION: Final = (
    "Where did the time of this RL run go, when will it end, what should I change? "
    "Reads the logs you already have; sends nothing anywhere."
)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="timeledger", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"timeledger {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = _load(module)
        sub = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP,
            epilog=getattr(command, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.prepare(sub)
        sub.set_defaults(run=command.run)
    return parser


def _load(module: str) -> ModuleType:
    return import_module(f"timeledger.cli.{module}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Exit codes: 0 fine, 1 the answer is "no", 2 bad input or usage."""
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else 2
    try:
        return int(args.run(args))
    except TimeledgerError as error:
        print(f"timeledger: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `timeledger show ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
