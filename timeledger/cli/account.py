"""`timeledger account`: the time, GPU-hours and money of a whole experiment."""

from __future__ import annotations

import argparse
import sys
from typing import Final

HELP: Final = "the whole experiment: set-up, smoke tests, run, evaluation; GPU-hours and money"
EPILOG: Final = """examples:
  timeledger account --from smoke-run.log --steps 200 --eval-questions 1319 --gpus 1 --price 2 --currency EUR
  timeledger account --load plan.toml --runs 3 --reruns 1 --html account.html
"""
#: Option -> (field, help).
TIMES: Final = {
    "setup": ("setup_s", "installing the environment (1h)"),
    "download": ("download_s", "model and data (10m)"),
    "baseline": ("baseline_s", "measuring the throughput before planning (15m)"),
    "coding": ("coding_s", "writing and debugging code at the desk (2h to 4h)"),
    "load-s": ("load_s", "from the start of a process to its first step (140s)"),
    "debug": ("debug_s", "debugging on the GPU beyond the smoke tests (none)"),
}


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from timeledger.cli.planning import add_plan_options

    add_plan_options(parser)
    group = parser.add_argument_group("around the run (times such as 90m, 1h30m, 600s)")
    for name, (_, text) in TIMES.items():
        group.add_argument(f"--{name}", metavar="T", help=text)
    group.add_argument("--runs", type=int, metavar="N", help="experiments of this size (1)")
    group.add_argument("--reruns", type=int, metavar="N", help="runs that are done again in full (0)")
    group.add_argument("--watts", type=float, metavar="W", help="power of one GPU, for the energy")
    parser.add_argument("--html", metavar="FILE", help="write a page to print")
    parser.add_argument("--md", metavar="FILE", help="write it as Markdown")


def run(args: argparse.Namespace) -> int:
    """Add up and print."""
    from timeledger.account import account, account_inputs
    from timeledger.account_page import to_html, to_markdown
    from timeledger.cli import text_plan
    from timeledger.cli.planning import duration, planned, write
    from timeledger.document import to_json
    from timeledger.document_plan import AccountDocument, plan_part
    from timeledger.plan import estimate

    made = planned(args)
    made.tell()
    values: dict[str, float | int | None] = {
        field: duration(f"--{name}", getattr(args, name.replace("-", "_"))) for name, (field, _) in TIMES.items()
    }
    values |= {name: getattr(args, name) for name in ("runs", "reruns", "watts")}
    found = account(made.inputs, account_inputs(values), made.framework)
    for path, make in ((args.html, to_html), (args.md, to_markdown)):
        if path:
            write(path, make(found))
            print(f"Wrote {path}", file=sys.stderr)
    if args.json:
        print(to_json(AccountDocument(account=found, plan=plan_part(estimate(made.inputs)))))
    else:
        text_plan.account(found)
    return 0
