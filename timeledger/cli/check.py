"""`timeledger check`: smoke-test gates with an exit code for launch scripts."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from timeledger.cli import options
from timeledger.errors import BadOption

HELP: Final = "is this run worth letting go on? gates at 2, 10 and 20 steps"
EPILOG: Final = """exit codes: 0 pass, 1 fail, 2 cannot tell (or bad input)

examples:
  timeledger check smoke.log && sbatch long-run.sh
  timeledger check runs/grpo-1 --gpu-gib 80 --limit truncated_fail=0.5
  timeledger check smoke.log --limit list
"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options.add_reading(parser, several=False)
    options.add_facts(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help='another threshold; may repeat; "list" shows all',
    )


def run(args: argparse.Namespace) -> int:
    """Read, check, print; the verdict is the exit code."""
    from timeledger.analysis import analyse
    from timeledger.cli import text_advice
    from timeledger.document import to_json
    from timeledger.report import check_document
    from timeledger.smoke import check

    if args.limit == ["list"]:
        text_advice.limits()
        return 0
    limits = _limits(args.limit)
    runs = options.read(args)
    if len(runs) > 1:
        print(f"timeledger: {len(runs)} runs in {args.paths[0]}; the newest is checked.", file=sys.stderr)
    checked = check(analyse(runs[-1], options.facts(args)), limits)
    document = check_document(checked)
    if args.json:
        print(to_json(document))
    else:
        text_advice.check(document)
    return {"pass": 0, "fail": 1, "unknown": 2}[checked.verdict]


def _limits(texts: list[str]) -> dict[str, float]:
    """The --limit options as numbers.

    Raises:
        BadOption: not NAME=VALUE, or no number.
    """
    found: dict[str, float] = {}
    for each in texts:
        name, equals, value = each.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise BadOption(f'--limit "{each}": wants NAME=VALUE with a number, such as truncated_fail=0.5.') from None
        if not equals:
            raise BadOption(f'--limit "{each}": wants NAME=VALUE.')
    return found
