"""`timeledger plan`: the calculator, before a run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from timeledger.errors import BadOption

if TYPE_CHECKING:
    from timeledger.document_plan import SweepPart
    from timeledger.plan import PlanInputs

HELP: Final = "how long a run will take, from measured throughputs and a measured mean length"
EPILOG: Final = """examples:
  timeledger plan --prompts 8 --group-size 8 --mean-length 400 --gen-tok-s 3000 --train-tok-s 9000 --fixed-s 5 --steps 200
  timeledger plan --from smoke-run.log --steps 400 --save plan.toml
  timeledger plan --gen-tok-s 2500..3500 --mean-length 350..500
  timeledger plan --sweep group_size=4,8,16
  timeledger plan --from smoke-run.log --ladder --framework trl
  timeledger plan --load plan.toml --against run/
"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from timeledger.cli.planning import add_plan_options

    add_plan_options(parser)
    parser.add_argument("--sweep", metavar="FIELD=A,B,C", help="one input swept, such as group_size=4,8,16")
    parser.add_argument("--ladder", action="store_true", help="the smoke tests before the run: 2, 10 and 20 steps")
    parser.add_argument("--load-s", metavar="S", help="seconds from the start of the process to the first step (140)")
    parser.add_argument("--save", metavar="FILE", help="save the plan as TOML")
    parser.add_argument("--against", metavar="PATH", help="compare the plan with the log of the run that followed")


def run(args: argparse.Namespace) -> int:
    """Calculate and print."""
    from timeledger.against import against
    from timeledger.cli import text_plan
    from timeledger.cli.planning import duration, one_run, planned, write
    from timeledger.document import to_json
    from timeledger.document_plan import plan_document
    from timeledger.ladder import ladder
    from timeledger.plan import estimate
    from timeledger.plan_file import to_toml

    made = planned(args)
    made.tell()
    answer = estimate(made.inputs)
    swept = _sweep(made.inputs, args.sweep) if args.sweep else None
    rungs = ladder(made.inputs, made.framework, duration("--load-s", args.load_s)) if args.ladder else None
    compared = against(made.inputs, one_run(args.against, "--against")) if args.against else None
    if args.save:
        write(args.save, to_toml(made.inputs))
        print(f"Saved {args.save}", file=sys.stderr)
    if args.json:
        for warning in answer.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        print(to_json(plan_document(answer, sweep=swept, ladder=rungs, against=compared)))
        return 0
    text_plan.plan(answer)
    if swept is not None:
        text_plan.sweep(swept)
    if rungs is not None:
        text_plan.ladder(rungs)
    if compared is not None:
        text_plan.against(compared)
    return 0


def _sweep(inputs: PlanInputs, text: str) -> SweepPart:
    """`FIELD=A,B,C` as estimates.

    Raises:
        BadOption: not of this form.
    """
    from timeledger.document_plan import sweep_part
    from timeledger.plan import sweep

    field, equals, values = text.partition("=")
    field = field.strip().replace("-", "_")
    wanted = [each.strip() for each in values.split(",") if each.strip()]
    if not equals or not wanted:
        raise BadOption(f'--sweep "{text}": wants FIELD=A,B,C, such as group_size=4,8,16.')
    return sweep_part(field, sweep(inputs, field, wanted))
