"""`timeledger budget`: what has to give when there are only so many hours."""

from __future__ import annotations

import argparse
from typing import Final

from timeledger.errors import BadOption

HELP: Final = "what to cut, and in which order, so that a run fits into the hours you have"
EPILOG: Final = """Cuts in this order and stops as soon as it fits: steps, data, max_tokens (only where few answers are cut now),
G (never below 4), evaluation questions. Exit code 0: fits, 1: does not, even with every cut.

examples:
  timeledger budget --hours 3 --from smoke-run.log --steps 400 --eval-questions 1319
  timeledger budget --hours 3 --pin steps --framework verl
  timeledger budget --hours 6 --days 2 --most
"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from timeledger.cli.planning import add_plan_options

    parser.add_argument("--hours", required=True, metavar="H", help="hours there are for the run (3, 2.5, or 2h30m)")
    add_plan_options(parser)
    parser.add_argument("--pin", action="append", default=[], metavar="WHAT", help="never cut this; may repeat")
    parser.add_argument("--least-steps", type=int, metavar="N", help="never fewer steps (40 %% of the planned ones)")
    parser.add_argument("--sure", action="store_true", help="let the upper end of the interval fit, not its middle")
    parser.add_argument("--most", action="store_true", help="also: the most of each input that fits")
    parser.add_argument("--days", type=int, metavar="D", help="also: how many runs fit into D days of --hours each")


def run(args: argparse.Namespace) -> int:
    """Solve and print; exit code 0 when it fits, 1 when it does not."""
    from timeledger.budget import solve
    from timeledger.cli import text_plan
    from timeledger.cli.planning import planned
    from timeledger.document import to_json
    from timeledger.document_plan import budget_document
    from timeledger.ladder import LOAD_S
    from timeledger.most import most_within, runs_within

    made, hours = planned(args), _hours(args.hours)
    made.tell()
    if args.least_steps is not None and args.least_steps < 1:
        raise BadOption(f"--least-steps {args.least_steps}: must be at least 1.")
    found = solve(made.inputs, hours, args.pin, made.framework, args.least_steps, sure=args.sure)
    most = most_within(made.inputs, hours) if args.most else ()
    weekend = None if args.days is None else runs_within(found.plan.inputs, args.days, hours, LOAD_S)
    document = budget_document(found, most, weekend)
    if args.json:
        print(to_json(document))
    else:
        text_plan.budget(document.budget, found.plan)
    return 0 if found.fits else 1


def _hours(text: str) -> float:
    """Hours of a number or of a duration such as 2h30m.

    Raises:
        BadOption: neither, or not greater than 0.
    """
    from timeledger import units

    value = units.number(text)
    if value is None and (seconds := units.seconds(text)) is not None:
        value = seconds / units.HOUR
    if value is None or not 0 < value < float("inf"):
        raise BadOption(f"--hours {text}: wants hours greater than 0, such as 3, 2.5 or 2h30m.")
    return value
